//! `slackline simulate`: what happens when work shares a platform.

mod activities;
mod curve;
pub(super) mod document;
pub(super) mod report;
mod several;
mod stage;
mod stream;
mod sweep;
mod why;
pub(super) mod workflow;
mod worlds;

use crate::failure::Failure;
use crate::input::{LimitOptions, OverheadOptions, Sources, seconds};
use crate::model::ModelOptions;
use crate::output::Output;
use crate::told::SetOptions;
use crate::verbs::run::{Outputs, repeat};
use clap::{Args, ValueEnum};
use slackline_formats::trace::TraceFormat;
use slackline_model::parameter::Given;
use std::path::PathBuf;

/// Simulate a workflow under a plan or a policy, or a graph of placed activities
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
  slackline simulate --arrivals stream.toml -p priced-cloud --compare owm,fdws
  slackline simulate --activities activities.json --config network/model:CM02")]
pub(crate) struct Simulate {
    /// The workflow
    #[arg(required_unless_present_any = ["instance", "activities", "arrivals", "replay"])]
    workflow: Option<PathBuf>,
    /// A graph of activities that are already placed, instead of a workflow
    #[arg(long, value_name = "PLAN.json", conflicts_with_all = NOT_OF_ACTIVITIES)]
    activities: Option<PathBuf>,
    /// Workflows that arrive over time: a file of [[arrival]] as in a scenario, instead of a workflow
    #[arg(long, value_name = "STREAM.toml", conflicts_with_all = ["workflow", "instance", "activities", "schedule"])]
    arrivals: Option<PathBuf>,
    /// Repeat a real run from its folder, without a machine; fails unless every decision comes out
    /// as it was
    #[arg(long, value_name = "RUN", conflicts_with_all = ["workflow", "instance", "activities", "arrivals", "schedule", "policy", "compare", "scenario", "algorithm"])]
    replay: Option<PathBuf>,
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
    /// Run several policies, or all, in the same world and compare them; fails only if none of
    /// them can finish
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "policy")]
    compare: Vec<String>,
    /// How the world changes while the workflow runs; a folder of such files is as many worlds
    #[arg(long, value_name = "FILE|FOLDER")]
    scenario: Option<PathBuf>,
    /// Draw so many worlds from the scenario, with its seed and those that follow: means and
    /// intervals
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    worlds: Option<u32>,
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
    /// What planners and policies know of run times: exactly, the workflow's estimates, the
    /// means of each kind of task, or nothing
    #[arg(long, value_enum, default_value_t = Knows::Estimates)]
    knows: Knows,
    #[command(flatten)]
    model: ModelOptions,
    /// Where files live: on the hosts that made them, or on a store (the platform's origin, or at
    /// mean latency and bandwidth) that tasks read from, one file after the other, while they hold
    /// their processor
    #[arg(long, value_enum, default_value_t = Data::Hosts)]
    data: Data,
    /// How far what a policy sees of the platform lies behind, e.g. 30s
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = seconds)]
    monitoring_delay: f64,
    /// Time between a call of the policy and its decisions taking effect
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = seconds)]
    decision_time: f64,
    /// How often a task or transfer that fails of itself is tried again
    #[arg(long, value_name = "TIMES", default_value_t = 3)]
    retries: u32,
    /// Break the run off at this date, e.g. 2h
    #[arg(long, value_name = "DATE", value_parser = seconds, conflicts_with = "activities")]
    until: Option<f64>,
    /// Draw the run into this file (.svg or .png); of several runs one file each, FILE.POLICY.svg
    #[arg(short, long, value_name = "FILE")]
    gantt: Option<PathBuf>,
    /// Draw how many tasks were done when into this file (.svg or .png), one curve
    /// per policy
    #[arg(long, value_name = "FILE", conflicts_with = "activities")]
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

/// What means nothing to a graph of placed activities.
const NOT_OF_ACTIVITIES: [&str; 31] = [
    "fastest",
    "overhead",
    "queue_wait",
    "workflow",
    "instance",
    "from",
    "reference_speed",
    "schedule",
    "algorithm",
    "policy",
    "compare",
    "scenario",
    "transfers",
    "period",
    "threshold",
    "budget",
    "deadline",
    "set",
    "seed",
    "alone",
    "knows",
    "inputs",
    "data",
    "monitoring_delay",
    "decision_time",
    "retries",
    "gantt",
    "trace",
    "decisions",
    "same_decisions",
    "why",
];

/// What is known of run times.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Knows {
    Exact,
    Estimates,
    Kinds,
    Nothing,
}

/// Where files live.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Data {
    Hosts,
    Central,
}

impl Simulate {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        self.sources
            .files()
            .reads(self.workflow.as_ref())
            .reads(self.activities.as_ref())
            .reads(self.schedule.as_ref())
            .reads(self.scenario.as_ref())
            .reads(self.arrivals.as_ref())
            .reads(self.same_decisions.as_ref())
            .draws("--gantt", self.gantt.as_ref())
            .draws("--progress", self.progress.as_ref())
            .writes("--trace", self.trace.as_ref())
            .writes("--decisions", self.decisions.as_ref())
            .json(self.json)
            .check(output)?;
        self.trace.as_deref().map(TraceFormat::of_path).transpose()?;
        if let Some(run) = &self.replay {
            let outputs = Outputs::new(self.gantt, self.trace, self.json);
            return repeat(run, &outputs, output);
        }
        match &self.activities {
            Some(plan) => activities::simulate(plan, &self, output),
            None if worlds::asked_for(&self) => worlds::simulate(&self, output),
            None => workflow::simulate(&self, output),
        }
    }

    /// Whether transfers count as begun when their file was made.
    fn anticipated(&self) -> bool {
        self.transfers.as_deref() == Some("anticipated")
    }

    /// The parameters of policy and planner; some have an option of their own.
    fn given(&self) -> Given {
        let options = [
            ("transfers", &self.transfers),
            ("period", &self.period),
            ("threshold", &self.threshold),
        ];
        // What is anticipated holds for the run, whatever the policy.
        let given =
            options.into_iter().filter(|(name, _)| *name != "transfers" || !self.anticipated());
        let named = given.filter_map(|(name, value)| {
            value.as_ref().map(|value| (name.to_string(), value.clone()))
        });
        let named = named.chain(self.parameters.set.iter().cloned());
        named.chain(self.limits.given().filter(|_| self.algorithm.is_none())).collect()
    }
}
