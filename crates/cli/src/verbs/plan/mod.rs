//! `slackline plan`: a workflow and a platform in, a schedule out.

use crate::input::{LimitOptions, OverheadOptions, Sources};
use crate::model::ModelOptions;
use crate::output::Output;
use crate::planner_options::SearchOptions;
use crate::request::printed;
use crate::set_option::SetOptions;
use crate::verbs::choices;
use clap::Args;
use slackline_core::plan::planner_name;
use slackline_core::{Failure, PlanRequest};
use slackline_formats::{ScheduleFormat, schedule_file};
use slackline_report::past::told;
use slackline_report::picture;
use slackline_report::plan::front;
use slackline_report::plan::text::{chart, tell};
use slackline_report::simulation::picture::add_pools;
use slackline_view::gantt;
use slackline_view::gantt::SvgOptions;
use std::path::PathBuf;

/// Plan a workflow on a platform: when and where every task runs
#[derive(Args)]
#[command(after_help = "\
The simulator follows the plan: the makespan shown is the simulated end, with transfers that share \
links. With several algorithms the plans are compared and the shortest is shown and written. With a budget \
the answer is the fastest plan found that keeps it, with a deadline alone the cheapest that meets it \
(--fastest: the fastest), else the one that breaks the limits least (exit code 1). Ctrl-C ends a search \
with the best plan it has.

Examples:
  slackline plan montage --platform two-site-grid --gantt plan.svg -o plan.json
  slackline plan montage -p two-site-grid --algorithm heft,peft,best --robust
  slackline plan --instance heft-2002 --algorithm heft --json
  slackline plan montage --platform priced-cloud --budget 3 --deadline 2h
  slackline plan montage --platform priced-cloud --front front.svg
  slackline generate platform cluster --hosts 16 -o cluster.toml
  slackline plan gauss fork-join --platform cluster.toml --algorithm mags
  slackline plan montage epigenomics --algorithm share-cp,group")]
pub(crate) struct Plan {
    /// The workflow; several are planned together
    #[arg(required_unless_present = "instance")]
    workflow: Vec<PathBuf>,
    #[command(flatten)]
    sources: Sources,
    /// Planners, separated by commas, or `all`; see `slackline algorithms`. Without it heft, or
    /// for moldable tasks bicpa-m on one cluster and hcpa on several, for several workflows mags
    #[arg(short, long, value_name = "NAME", value_delimiter = ',', value_parser = planner_name)]
    algorithm: Vec<String>,
    /// Most processors of a moldable task
    #[arg(long, value_name = "N")]
    max_width: Option<u32>,
    /// Instead of one plan show time against cost over planners and budgets; draw it into this file
    /// (.svg or .png)
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        conflicts_with_all = ["gantt", "output", "robust", "no_check"],
    )]
    front: Option<Option<PathBuf>>,
    /// Draw the plan into this file (.svg or .png)
    #[arg(short, long, value_name = "FILE")]
    gantt: Option<PathBuf>,
    /// Draw under the chart how much is held of this pool over time: memory, gpus:KIND, or the name of a
    /// resource (repeatable)
    #[arg(long = "pool", value_name = "NAME", requires = "gantt")]
    pools: Vec<String>,
    /// Write the schedule to this file: .json, .csv or .jed (Jedule)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Draw transfers between hosts into the picture too
    #[arg(long, requires = "gantt")]
    transfers: bool,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
    /// Show how the plan spreads when run times are off by up to ERROR (20 % if left out): mean,
    /// 95th percentile and slack of 1,000 samples
    #[arg(
        long,
        value_name = "ERROR",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "20%",
        value_parser = share,
    )]
    robust: Option<f64>,
    /// Do not let the simulator follow the plan
    #[arg(long)]
    no_check: bool,
    #[command(flatten)]
    limits: LimitOptions,
    #[command(flatten)]
    overheads: OverheadOptions,
    #[command(flatten)]
    parameters: SetOptions,
    #[command(flatten)]
    search: SearchOptions,
    #[command(flatten)]
    model: ModelOptions,
}

/// A share such as `20%` or `0.2`, at least 0 and below 1.
fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.trim().strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text.trim(), 1.0),
    };
    let value: f64 = number.trim().parse().map_err(|_| format!("'{text}' is not a share"))?;
    let value = value * scale;
    let fits = (0.0..1.0).contains(&value);
    fits.then_some(value).ok_or_else(|| format!("{text} is not between 0 % and 100 %"))
}

/// Outputs of the verb.
#[derive(Default)]
pub(crate) struct Outputs {
    json: bool,
    gantt: Option<PathBuf>,
    pools: Vec<String>,
    transfers: bool,
    output: Option<PathBuf>,
    front: Option<PathBuf>,
}

impl Outputs {
    /// Tables or the JSON document.
    pub(crate) fn only(json: bool) -> Outputs {
        Outputs { json, ..Outputs::default() }
    }
}

impl Plan {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        self.sources
            .files()
            .reads_all(&self.workflow)
            .draws("--gantt", self.gantt.as_ref())
            .writes("--output", self.output.as_ref())
            .draws("--front", self.front.as_ref().and_then(Option::as_ref))
            .json(self.json)
            .check(output)?;
        if let Some(path) = &self.output {
            ScheduleFormat::for_output(path)?;
        }
        let request = self.request()?;
        if printed(&request, output)? {
            return Ok(());
        }
        let Plan { json, gantt, pools, transfers, output: file, front, .. } = self;
        let front = front.flatten();
        let outputs = Outputs { json, gantt, pools, transfers, output: file, front };
        carry_out(request, &outputs, output)
    }

    fn request(&self) -> Result<PlanRequest, Failure> {
        let mut parameters = self.parameters.request();
        if let Some(width) = self.max_width {
            parameters.0.push(("max-width".to_string(), width.to_string()));
        }
        Ok(PlanRequest {
            input: self.sources.request(&self.workflow),
            planners: self.algorithm.clone(),
            parameters,
            limits: self.limits.settings(),
            overheads: self.overheads.request(),
            search: self.search.request(),
            models: self.model.request()?,
            robust: self.robust,
            check: !self.no_check,
            front: self.front.is_some(),
            ..PlanRequest::default()
        })
    }
}

/// Plans as a request says.
pub(crate) fn carry_out(
    request: PlanRequest,
    outputs: &Outputs,
    output: &mut Output,
) -> Result<(), Failure> {
    let is_checked = request.check;
    if let Some(input) = request.choices(&mut output.context(false))? {
        let method = input.options.method.name();
        let pictures =
            [("--gantt", outputs.gantt.is_some()), ("--output", outputs.output.is_some())];
        if let Some((option, _)) = pictures.iter().find(|(_, given)| *given) {
            let message =
                format!("{option}: {method} plans sub-workflows, which only a run puts together");
            return Err(Failure::input(message)
                .with_help("slackline simulate --policy combined --gantt FILE draws one run"));
        }
        return choices::plan(&input, outputs.json, output);
    }
    // One plan is written as it is, whatever becomes of it.
    let brief = output.quiet && !outputs.json && outputs.gantt.is_none();
    let mut context = output.context(brief);
    let input = request.read(&mut context)?;
    let problem = input.problem()?;
    if input.request.front {
        let found = input.front(&problem, &mut context)?;
        return front::show(
            &problem,
            &found,
            &input.request.limits.limits(),
            (outputs.front.as_deref(), outputs.json),
            output,
        );
    }
    let plans = input.plans(&problem, &mut context)?;
    let best = plans.best();
    if let Some(path) = &outputs.output {
        schedule_file::write_schedule(&output.files, path, &problem, &best.schedule)?;
    }
    if let Some(path) = &outputs.gantt {
        let mut chart = chart(&problem, best, plans.lower_bound);
        // Where there are too many rows for lines, a strip tells when transfers are under way.
        if outputs.transfers || chart.rows() > SvgOptions::default().most_rows {
            chart = chart.with_transfers(&problem, &best.schedule);
        }
        add_pools(&mut chart, &problem, &best.schedule, &outputs.pools)?;
        let svg = gantt::svg(&chart.without_idle_hosts(), &SvgOptions::default());
        picture::write(&output.files, path, &svg)?;
    }
    if outputs.json {
        output.json(&plans.report())?;
    } else {
        let written =
            [("Chart", outputs.gantt.as_deref()), ("Schedule", outputs.output.as_deref())];
        tell(&plans, is_checked, written, output)?;
        output.say(&told(input.loaded.past.as_ref(), output.width))?;
    }
    plans.verdict()
}
