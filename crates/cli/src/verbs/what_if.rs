//! `slackline what-if`: the same run on changed platforms.

use crate::input::{LimitOptions, Sources, seconds};
use crate::model::ModelOptions;
use crate::output::Output;
use crate::set_option::SetOptions;
use clap::Args;
use slackline_core::Failure;
use slackline_core::request::{DataPlace, SimulationSetup};
use slackline_core::what_if::{parse_changes, usual, what_if};
use slackline_report::what_if::show;
use std::path::PathBuf;

/// Simulate a run on changed platforms: more cores, faster links, more hosts
#[derive(Args)]
#[command(after_help = "\
A change is \"WHAT xFACTOR\" or \"WHAT +NUMBER\", WHAT one of cores, speed, memory, hosts, bandwidth, latency, \
disks; \"speed:NAME x2\" changes only the host, class, zone, link or disk of that name. \"hosts +4\" adds hosts \
like those of the most frequent class (\"hosts:NAME +4\" like others), wired like them. Changes with \
commas between are made together.

Examples:
  slackline what-if montage -p two-site-grid
  slackline what-if montage -p two-site-grid cores x2 bandwidth x10 --together
  slackline what-if gauss hosts +4 speed x1.5 --policy just-in-time
  slackline what-if epigenomics cores x2, bandwidth x2 speed:fast-1 x3 -a peft")]
pub(crate) struct WhatIf {
    /// The workflow, then the changes; without any the usual ones: twice of each
    #[arg(value_name = "WORKFLOW | CHANGE")]
    words: Vec<String>,
    /// The workflow, where it is not the first word
    #[arg(long, value_name = "FILE")]
    workflow: Option<PathBuf>,
    #[command(flatten)]
    sources: Sources,
    /// Workflows that arrive over time: a file of [[arrival]] as in a scenario, instead of a workflow
    #[arg(long, value_name = "STREAM.toml", conflicts_with_all = ["instance", "workflow"])]
    arrivals: Option<PathBuf>,
    /// Also make all changes together
    #[arg(long)]
    together: bool,
    /// The policy that steers the runs; `static` follows the plan
    #[arg(long, value_name = "NAME", default_value = "static")]
    policy: String,
    /// The planner that plans before and, where the policy asks for it, during the run
    #[arg(short, long, value_name = "NAME")]
    algorithm: Option<String>,
    /// Scenario: changes of the platform during the runs
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Storage of files: on the hosts that made them (`hosts`), on a central store (`central`), or on a storage of the
    /// platform by its name
    #[arg(long, value_name = "WHERE", default_value = "hosts")]
    data: String,
    #[command(flatten)]
    limits: LimitOptions,
    #[command(flatten)]
    parameters: SetOptions,
    /// Seed of randomised planners and policies [default: 0]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    #[command(flatten)]
    model: ModelOptions,
    /// Cut the runs off at this date, e.g. 2h
    #[arg(long, value_name = "DATE", value_parser = seconds)]
    until: Option<f64>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
}

impl WhatIf {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let others = [&self.workflow, &self.sources.instance, &self.arrivals];
        let is_first = others.iter().all(|path| path.is_none());
        let (workflow, texts) = match self.words.split_first() {
            Some((first, rest)) if is_first => (Some(PathBuf::from(first)), joined(rest)),
            _ if is_first => {
                return Err(Failure::input("no workflow is named")
                    .with_help("slackline what-if WORKFLOW --platform FILE \"cores x2\""));
            }
            _ => (self.workflow.clone(), joined(&self.words)),
        };
        if is_first
            && workflow.as_ref().is_some_and(|path| !path.exists())
            && let Some(first) = joined(&self.words).first()
            && parse_changes(first).is_ok()
        {
            return Err(Failure::input(format!(
                "\"{first}\" is a change, and no workflow is named"
            ))
            .with_help("the workflow comes first"));
        }
        self.sources
            .files()
            .reads(workflow.as_ref())
            .reads(self.arrivals.as_ref())
            .reads(self.scenario.as_ref())
            .json(self.json)
            .check(output)?;
        let mut groups = texts
            .iter()
            .map(|text| {
                parse_changes(text).map_err(|why| Failure::input(format!("\"{text}\": {why}")))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut input = self.sources.request(workflow.as_slice());
        input.arrivals = self.arrivals.clone();
        let setup = SimulationSetup {
            input,
            planner: self.algorithm.clone(),
            scenario: self.scenario.clone(),
            parameters: self.parameters.request(),
            limits: self.limits.settings(),
            seed: self.seed,
            data: if self.data == "hosts" { DataPlace::Hosts } else { DataPlace::Central },
            storage: (!["hosts", "central"].contains(&self.data.as_str()))
                .then(|| self.data.clone()),
            models: self.model.request()?,
            until: self.until,
            ..SimulationSetup::default()
        };
        let mut context = output.context(true);
        if groups.is_empty() {
            groups = usual(&setup, &mut context)?;
        }
        if self.together && groups.len() > 1 {
            groups.push(groups.concat());
        }
        let report = what_if(setup, &self.policy, &groups, &mut context)?;
        if self.json {
            output.json(&report)?;
        } else {
            show(&report, output)?;
        }
        match report.base.why {
            Some(why) => Err(Failure::work(format!("{} cannot finish: {why}", report.policy))),
            None => Ok(()),
        }
    }
}

/// The words of changes as one text for each group: an amount belongs to the word before it, and so does what follows a
/// comma.
fn joined(words: &[String]) -> Vec<String> {
    let is_amount = |word: &str| {
        let rest = word.strip_prefix(['x', 'X', '×', '*', '+']);
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
    };
    let mut groups: Vec<String> = Vec::new();
    for word in words {
        match groups.last_mut() {
            Some(last) if is_amount(word) || last.ends_with(',') => *last += &format!(" {word}"),
            _ => groups.push(word.clone()),
        }
    }
    groups
}
