//! `slackline simulate`: what happens when work shares a platform.

mod replications;
mod workflow;

use crate::input::{LimitOptions, OverheadOptions, Sources, factor, seconds};
use crate::model::ModelOptions;
use crate::output::Output;
use crate::request::printed;
use crate::set_option::SetOptions;
use crate::verbs::activities::Activities;
use crate::verbs::centre;
use crate::verbs::choices;
use crate::verbs::run::{self, repeat};
use clap::{Args, ValueEnum};
use slackline_core::choices::may_have_choices;
use slackline_core::request::{DataPlace, Knows as Known, Pairs, SimulationSetup};
use slackline_core::{CompareRequest, Context, Failure, Silent, SimulateRequest};
use slackline_formats::trace::TraceFormat;
use std::path::{Path, PathBuf};

/// Simulate a workflow under a plan or a policy
#[derive(Args)]
#[command(after_help = "\
A workflow runs as its plan says (mapping and order kept), or as a policy decides while the \
platform changes: real contention on the links, transfers as flows.

Examples:
  slackline simulate montage -p two-site-grid --gantt run.svg --trace run.jsonl
  slackline simulate montage --platform two-site-grid --policy slackline
  slackline generate scenario failure -p small-cluster --seed 2 -o bad.toml
  slackline simulate montage --scenario bad.toml --compare static,slackline
  slackline generate scenario failure -p small-cluster --count 5 -o worlds
  slackline simulate montage --scenario worlds/ --compare static,slackline
  slackline simulate --arrivals stream.toml -p priced-cloud --compare owm,fdws")]
pub(crate) struct Simulate {
    /// The workflow
    #[arg(required_unless_present_any = ["instance", "activities", "arrivals", "replay"])]
    workflow: Option<PathBuf>,
    /// Another spelling of the verb `activities`
    #[arg(long, value_name = "PLAN.json", hide = true)]
    activities: Option<PathBuf>,
    /// Workflows that arrive over time: a file of [[arrival]] as in a scenario, instead of a workflow
    #[arg(long, value_name = "STREAM.toml", conflicts_with_all = ["workflow", "instance", "activities", "schedule"])]
    arrivals: Option<PathBuf>,
    /// Another spelling of the verb `replay`
    #[arg(long, value_name = "RUN", hide = true, conflicts_with_all = ["workflow", "instance", "activities", "arrivals", "schedule", "policy", "compare", "scenario", "algorithm"])]
    replay: Option<PathBuf>,
    /// Run the workflow on the services of a production centre: pilots, catalogue, transfer queues, links
    /// (a case of `centre stack` without tasks), instead of on a platform
    #[arg(long, value_name = "STACK.toml", conflicts_with_all = ["activities", "arrivals", "replay", "schedule", "policy", "compare", "scenario", "algorithm"])]
    stack: Option<PathBuf>,
    #[command(flatten)]
    sources: Sources,
    /// Follow this schedule: a file of plan -o, a document of plan or simulate --json, a trace
    #[arg(long, value_name = "FILE", conflicts_with_all = ["policy", "compare", "algorithm"])]
    schedule: Option<PathBuf>,
    /// The planner that plans before and, where a policy asks for it, during the run
    #[arg(short, long, value_name = "NAME")]
    algorithm: Option<String>,
    /// The policy that steers the run; `static` follows the plan
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// Run several policies, or all, under the same scenario and compare them; fails only if none of
    /// them can finish
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "policy")]
    compare: Vec<String>,
    /// Changes while the workflow runs; a folder of such files is as many scenarios
    #[arg(long, value_name = "FILE|FOLDER")]
    scenario: Option<PathBuf>,
    /// Simulate so many replications: draws from the scenario, with its seed and those that follow, shown
    /// as means and intervals; or runs 0 to N-1 of a workflow with choices and loops under a budget,
    /// shown as distributions of makespan and cost (--gantt draws them)
    #[arg(long, alias = "worlds", value_name = "N", conflicts_with = "run", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    runs: Option<u32>,
    /// Number of the run of a workflow with choices and loops: each draws its own decisions [default: 0]
    #[arg(long, value_name = "R")]
    run: Option<u64>,
    /// Outcomes of decisions, as a JSON object such as {"quality": "bad", "polish#1": "again"}; those
    /// left out are drawn
    #[arg(long, value_name = "FILE")]
    choices: Option<PathBuf>,
    /// When inputs travel: push, pull, or pull:N to fetch for the next N tasks of a queue;
    /// anticipated lets a transfer count as begun when its file was made, wherever it is wanted
    /// later (only where transfers do not disturb each other) [default: push]
    #[arg(long, value_name = "WHEN")]
    transfers: Option<String>,
    /// Time between two looks of a periodic policy: a part of the planned makespan, or e.g. 30s
    /// [default: 0.1]
    #[arg(long, value_name = "PART|TIME")]
    period: Option<String>,
    /// The GTP family moves a placed task only if it ends this much earlier, in its mean times
    /// [default: 0]
    #[arg(long, value_name = "TIMES")]
    threshold: Option<String>,
    #[command(flatten)]
    limits: LimitOptions,
    #[command(flatten)]
    overheads: OverheadOptions,
    #[command(flatten)]
    parameters: SetOptions,
    /// Seed of planners and policies that draw random numbers [default: 0]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Also run each workflow of a stream by itself under the same policy, for its stretch
    #[arg(long)]
    alone: bool,
    /// Knowledge of planners and policies about run times: exactly, the workflow's estimates, the
    /// means of each kind of task, or nothing
    #[arg(long, value_enum, default_value_t = Knows::Estimates)]
    knows: Knows,
    #[command(flatten)]
    model: ModelOptions,
    /// Place of files: on the hosts that made them (`hosts`), or on a store that tasks read from,
    /// one file after the other, while they hold their processor: `central` (the platform's origin,
    /// or at mean latency and bandwidth), or a storage of the platform by its name
    #[arg(long, value_name = "WHERE", default_value = "hosts", value_parser = data)]
    data: Data,
    /// Age of the platform's state as policies see it, e.g. 30s
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = seconds)]
    monitoring_delay: f64,
    /// Time between a call of the policy and its decisions taking effect
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = seconds)]
    decision_time: f64,
    /// Maximum retries of a failed task or transfer
    #[arg(long, value_name = "TIMES", default_value_t = 3)]
    retries: u32,
    /// Factor on the memory of a task that ran out of it
    #[arg(long, value_name = "FACTOR", default_value_t = 2.0, value_parser = factor)]
    memory_factor: f64,
    /// Break the run off at this date, e.g. 2h
    #[arg(long, value_name = "DATE", value_parser = seconds)]
    until: Option<f64>,
    /// Draw the run into this file (.svg or .png); of several runs one file each, FILE.POLICY.svg
    #[arg(short, long, value_name = "FILE")]
    gantt: Option<PathBuf>,
    /// Draw under the chart how much is held of this pool over time: memory, gpus:KIND, or the name of a
    /// resource (repeatable)
    #[arg(long = "pool", value_name = "NAME", requires = "gantt")]
    pools: Vec<String>,
    /// Draw how many tasks were done when into this file (.svg or .png), one curve
    /// per policy
    #[arg(long, value_name = "FILE")]
    progress: Option<PathBuf>,
    /// Write the event trace: .jsonl (ours), .json (Chrome, Perfetto) or .paje
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Write what the policy was told and what it decided, call by call
    #[arg(long, value_name = "FILE.jsonl")]
    decisions: Option<PathBuf>,
    /// Fail unless the policy decides as in this log of another run
    #[arg(long, value_name = "FILE.jsonl")]
    same_decisions: Option<PathBuf>,
    /// Print what the policy weighed at each call, what it expected of it and why it chose (policies
    /// that say so: slackline)
    #[arg(long, conflicts_with = "json")]
    why: bool,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
}

/// The policy that is taken where none is named.
const STATIC: &str = "static";

/// The same for choices and loops under a budget.
const COMBINED: &str = "combined";

/// Knowledge of run times.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Knows {
    Exact,
    Estimates,
    Kinds,
    Nothing,
}

/// Places of files.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Data {
    Hosts,
    Central,
    Storage(String),
}

fn data(word: &str) -> Result<Data, String> {
    Ok(match word {
        "" => return Err("hosts, central, or the name of a storage".into()),
        "hosts" => Data::Hosts,
        "central" => Data::Central,
        name => Data::Storage(name.into()),
    })
}

impl Simulate {
    /// Whether a simulated run is asked for, instead of what has a verb of its own.
    pub(super) fn makes_request(&self) -> bool {
        self.activities.is_none() && self.replay.is_none() && self.stack.is_none()
    }

    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        self.sources
            .files()
            .reads(self.workflow.as_ref())
            .reads(self.activities.as_ref())
            .reads(self.schedule.as_ref())
            .reads(self.scenario.as_ref())
            .reads(self.stack.as_ref())
            .reads(self.arrivals.as_ref())
            .reads(self.same_decisions.as_ref())
            .reads(self.choices.as_ref())
            .draws("--gantt", self.gantt.as_ref())
            .draws("--progress", self.progress.as_ref())
            .writes("--trace", self.trace.as_ref())
            .writes("--decisions", self.decisions.as_ref())
            .json(self.json)
            .check(output)?;
        self.trace.as_deref().map(TraceFormat::of_path).transpose()?;
        if let Some(run) = &self.replay {
            let outputs = run::Outputs::new(self.gantt, self.trace, self.json);
            return repeat(run, &outputs, output);
        }
        if let (Some(workflow), Some(stack)) = (&self.workflow, &self.stack) {
            if self.setup(output)?.input.platform.is_some() {
                return Err(Failure::input(
                    "--stack describes sites and links itself: leave out the platform",
                ));
            }
            return centre::simulate_on_stack(
                workflow,
                stack,
                self.gantt.as_deref(),
                self.json,
                output,
            );
        }
        let setup = self.setup(output)?;
        if let Some(plan) = &self.activities {
            let mut rest = setup;
            let platform = rest.input.platform.take();
            rest.models.settings = Pairs::default();
            let is_alone = rest == SimulationSetup::default()
                && self.policy.is_none()
                && self.compare.is_empty()
                && self.outputs().is_none();
            if !is_alone {
                return Err(Failure::input(
                    "--activities cannot be used with other options than --platform, --config and --json",
                )
                .with_help("slackline activities PLAN.json is the verb for it"));
            }
            let (plan, settings) = (plan.clone(), self.model.settings);
            return Activities { plan, platform, settings, json: self.json }.run(output);
        }
        if self.compare.is_empty() {
            let policy = match &self.policy {
                Some(policy) => policy.clone(),
                None if self.is_under_budget(output)? => COMBINED.to_string(),
                None => STATIC.to_string(),
            };
            let request = SimulateRequest { policy, setup, ..SimulateRequest::default() };
            if printed(&request, output)? {
                return Ok(());
            }
            return carry_out(request.setup, vec![request.policy], &self.outputs(), output);
        }
        let policies = self.compare.clone();
        let request = CompareRequest { policies, setup, ..CompareRequest::default() };
        if printed(&request, output)? {
            return Ok(());
        }
        carry_out(request.setup, request.policies, &self.outputs(), output)
    }

    /// Whether choices and loops are simulated under a budget, which their own methods know how to spend.
    fn is_under_budget(&self, output: &mut Output) -> Result<bool, Failure> {
        let file = self.sources.instance.as_deref().or(self.workflow.as_deref());
        let Some(file) = file.filter(|_| self.limits.settings().budget.is_some()) else {
            return Ok(false);
        };
        self.has_choices(file, output)
    }

    /// Whether the workflow has choices or loops.
    fn has_choices(&self, file: &Path, output: &Output) -> Result<bool, Failure> {
        if !may_have_choices(&output.files, file) || self.arrivals.is_some() {
            return Ok(false);
        }
        let mut silent = Silent;
        let mut quiet = Context::new(output.files.clone(), &mut silent);
        let sources = self.sources.request(self.workflow.as_slice());
        let world = sources.read(self.workflow.as_deref(), &mut quiet)?;
        Ok(world.workflow.control().is_some())
    }

    fn outputs(&self) -> Outputs {
        Outputs {
            json: self.json,
            gantt: self.gantt.clone(),
            pools: self.pools.clone(),
            progress: self.progress.clone(),
            trace: self.trace.clone(),
            decisions: self.decisions.clone(),
            same_decisions: self.same_decisions.clone(),
        }
    }

    fn setup(&self, output: &Output) -> Result<SimulationSetup, Failure> {
        let file = self.sources.instance.as_deref().or(self.workflow.as_deref());
        let file = file.filter(|_| self.runs.is_some());
        let has_choices = file.map_or(Ok(false), |file| self.has_choices(file, output))?;
        let workflow = self.workflow.as_slice();
        let mut input = self.sources.request(workflow);
        input.arrivals = self.arrivals.clone();
        Ok(SimulationSetup {
            input,
            planner: self.algorithm.clone(),
            schedule: self.schedule.clone(),
            scenario: self.scenario.clone(),
            replications: self.runs.filter(|_| !has_choices),
            transfers: self.transfers.clone(),
            period: self.period.clone(),
            threshold: self.threshold.clone(),
            parameters: self.parameters.request(),
            limits: self.limits.settings(),
            overheads: self.overheads.request(),
            seed: self.seed,
            alone: self.alone,
            knows: match self.knows {
                Knows::Exact => Known::Exact,
                Knows::Estimates => Known::Estimates,
                Knows::Kinds => Known::Kinds,
                Knows::Nothing => Known::Nothing,
            },
            data: match self.data {
                Data::Hosts => DataPlace::Hosts,
                Data::Central | Data::Storage(_) => DataPlace::Central,
            },
            storage: match &self.data {
                Data::Storage(name) => Some(name.clone()),
                _ => None,
            },
            monitoring_delay: self.monitoring_delay,
            decision_time: self.decision_time,
            retries: self.retries,
            memory_factor: self.memory_factor,
            until: self.until,
            models: self.model.request()?,
            explain: self.why,
            run: self.run,
            runs: self.runs.filter(|_| has_choices),
            choices: self.choices.clone(),
        })
    }
}

/// Outputs of the verb.
#[derive(Clone, Default)]
pub(crate) struct Outputs {
    json: bool,
    gantt: Option<PathBuf>,
    pools: Vec<String>,
    progress: Option<PathBuf>,
    trace: Option<PathBuf>,
    decisions: Option<PathBuf>,
    same_decisions: Option<PathBuf>,
}

impl Outputs {
    /// Whether no file is named.
    fn is_none(&self) -> bool {
        let named =
            [&self.gantt, &self.progress, &self.trace, &self.decisions, &self.same_decisions];
        named.iter().all(|path| path.is_none())
    }

    /// Tables or the JSON document.
    pub(crate) fn only(json: bool) -> Outputs {
        Outputs { json, ..Outputs::default() }
    }
}

/// Simulates as a request says.
pub(crate) fn carry_out(
    setup: SimulationSetup,
    policies: Vec<String>,
    outputs: &Outputs,
    output: &mut Output,
) -> Result<(), Failure> {
    if let Some(input) = setup.choices(&policies, &mut output.context(false))? {
        let rest = Outputs { json: false, gantt: None, ..outputs.clone() };
        if !rest.is_none() {
            let method = input.options.method.name();
            let message = format!("{method} has no trace, progress or decisions to write");
            return Err(Failure::input(message).with_help(
                "--gantt draws the run; policies such as static or slackline take the others",
            ));
        }
        return choices::simulate(&input, outputs.json, outputs.gantt.as_deref(), output);
    }
    if setup.is_replicated() {
        replications::simulate(&setup, &policies, outputs, output)
    } else {
        workflow::simulate(setup, policies, outputs, output)
    }
}
