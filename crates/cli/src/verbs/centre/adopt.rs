//! `slackline centre adopt`: should this policy, or this machine, replace the present one?

use crate::failure::Failure;
use crate::output::Output;
use crate::path_check::Files;
use clap::Args;
use slackline_centre::batch::{Machine, Policy, Site};
use slackline_formats::batch_log;
use slackline_formats::batch_log::{BatchLog, Wrong};
use slackline_generate::workload::Lublin;
use slackline_lab::adopt::{MOST_BLOCKS, Question, Side, Workload, block_count};
use slackline_lab::compare::{Limits, Verdict};
use slackline_report::centre::adopt::{document, page, text, words};
use slackline_report::table::count;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Compare a batch policy or a machine with the present one: no loss on any metric, a gain on one
#[derive(Args)]
#[command(after_help = "\
Both sides get replicas of a workload: drawn from a generator, or, with LOG, made of its blocks \
drawn with replacement. Sides differ in the policy, or in the machine (--candidate-site, \
--candidate-cores, --candidate-speed), not in both. The verdict of every metric is that of \
`slackline compare --no-regression`; a gain has to stand at the level of all metrics together.

Examples:
  slackline centre adopt --baseline fcfs --candidate easy -o adopt.html
  slackline centre adopt log.swf --baseline easy --candidate conservative
  slackline centre adopt --baseline easy --candidate-cores 512 --jobs 300")]
pub(crate) struct Adopt {
    /// A log of a batch system whose blocks make the workload; drawn from a generator if left out
    log: Option<PathBuf>,
    /// The present policy
    #[arg(long, value_name = "POLICY", default_value = "fcfs")]
    baseline: Policy,
    /// The policy that may replace it; the same one if left out
    #[arg(long, value_name = "POLICY")]
    candidate: Option<Policy>,
    /// The present machine and its rules, JSON or TOML
    #[arg(long, value_name = "FILE")]
    site: Option<PathBuf>,
    /// Cores of the present machine [default: 256, or as the log names it]
    #[arg(long, value_name = "N", conflicts_with = "site")]
    cores: Option<u64>,
    /// The machine that may replace it, JSON or TOML
    #[arg(long, value_name = "FILE")]
    candidate_site: Option<PathBuf>,
    /// Cores of the machine that may replace it
    #[arg(long, value_name = "N", conflicts_with = "candidate_site")]
    candidate_cores: Option<u64>,
    /// Speed of its cores (or its network, for what the jobs do) over the present one, e.g. 1.05
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    candidate_speed: f64,
    /// Jobs of a generated replica
    #[arg(long, value_name = "N", default_value_t = 2000)]
    jobs: u64,
    /// Load of a generated replica on the present machine
    #[arg(long, value_name = "PART", default_value_t = 0.85)]
    load: f64,
    /// Length of the blocks of a log, in days
    #[arg(long, value_name = "DAYS", default_value_t = 7.0)]
    block: f64,
    /// Number of replicas
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(2..=100_000))]
    replicas: u64,
    /// Seed of the replicas
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,
    /// Give both sides workloads drawn independently of each other, instead of the same ones
    #[arg(long)]
    independent: bool,
    /// A loss that is tolerated, e.g. waiting_time=2% (repeatable)
    #[arg(long, value_name = "METRIC=SHARE")]
    tolerance: Vec<String>,
    /// Only a larger improvement counts as a gain, e.g. turnaround=1% (repeatable)
    #[arg(long, value_name = "METRIC=SHARE")]
    gain: Vec<String>,
    /// Repeat the whole comparison so often with other seeds, and say how often it finds a gain
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    trials: Option<u64>,
    /// Skip wrong lines of the log
    #[arg(long)]
    lenient: bool,
    /// Write one self-contained HTML page
    #[arg(short, long, value_name = "FILE.html")]
    output: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

fn site(path: &Path, output: &Output) -> Result<Site, Failure> {
    let text = output.files.read_text(path)?;
    Site::parse(&text, None).map_err(|error| Failure::input(format!("{}: {error}", path.display())))
}

impl Adopt {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default()
            .reads(self.log.as_ref())
            .reads(self.site.as_ref())
            .reads(self.candidate_site.as_ref())
            .writes("--output", self.output.as_ref())
            .json(self.json)
            .check(output)?;
        let log = match &self.log {
            Some(path) => {
                let wrong = if self.lenient { Wrong::Skip } else { Wrong::Refuse };
                let log = batch_log::read(&output.files, path, wrong)?;
                if !log.skipped.is_empty() {
                    output.warning(&format!("{} skipped", count(log.skipped.len(), "wrong line")));
                }
                if log.jobs.is_empty() {
                    return Err(Failure::input(format!("{}: there is no job", path.display())));
                }
                Some(log)
            }
            None => None,
        };
        let question = self.question(log.as_ref(), output)?;
        let answer = question.answer().map_err(Failure::input)?;
        let trials = match self.trials {
            Some(trials) => Some(question.trials(trials as usize).map_err(Failure::input)?),
            None => None,
        };
        let words = words(&question, self.load, self.block);
        if let Some(path) = &self.output {
            let html = page(&words, &question, &answer, trials);
            output.files.write(path, |out| out.write_all(html.as_bytes()))?;
        }
        if self.json {
            output.json(&document(words, &answer, trials))?;
        } else {
            text(&words, &answer, trials, output)?;
        }
        match answer.regression.verdict {
            Verdict::Loss => Err(Failure::work("the candidate is worse on at least one metric")),
            _ => Ok(()),
        }
    }

    fn question<'a>(
        &self,
        log: Option<&'a BatchLog>,
        output: &Output,
    ) -> Result<Question<'a>, Failure> {
        let named = self.cores.or(log.and_then(|log| log.machine_cores));
        let present = match &self.site {
            Some(path) => site(path, output)?,
            None => {
                let Some(cores) = named.or(log.is_none().then_some(256)) else {
                    return Err(Failure::input(
                        "the log does not say how many cores the machine has",
                    )
                    .with_help("give --cores N or --site FILE"));
                };
                Site::new(Machine::Cores(cores)).map_err(Failure::input)?
            }
        };
        let other = match (&self.candidate_site, self.candidate_cores) {
            (Some(path), _) => site(path, output)?,
            (None, Some(cores)) => {
                let other = Site { machine: Machine::Cores(cores), ..present.clone() };
                Site::new(other.machine).map_err(Failure::input)?;
                other
            }
            (None, None) => present.clone(),
        };
        if !(self.candidate_speed > 0.0 && self.candidate_speed < 1e6) {
            return Err(Failure::input("--candidate-speed: above 0"));
        }
        if !(self.block > 0.0 && self.block < 1e6) {
            return Err(Failure::input("--block: above 0 days"));
        }
        if let Some(blocks) = log.map(|log| block_count(log, self.block * 86400.0))
            && blocks > MOST_BLOCKS
        {
            return Err(Failure::input(format!(
                "--block: the log has {blocks} blocks of {} days; {MOST_BLOCKS} at most",
                self.block
            )));
        }
        let candidate = self.candidate.unwrap_or(self.baseline);
        let is_other_machine = other != present || self.candidate_speed != 1.0;
        if candidate != self.baseline && is_other_machine {
            return Err(Failure::input("the sides differ in the policy and in the machine")
                .with_help("compare one factor at a time: what changed would not be known"));
        }
        let limits = self.limits()?;
        let lublin = Lublin {
            jobs: self.jobs,
            cores: present.machine.cores(),
            load: Some(self.load),
            ..Lublin::default()
        };
        let question = Question {
            baseline: Side { policy: self.baseline, site: present, speed: 1.0 },
            candidate: Side { policy: candidate, site: other, speed: self.candidate_speed },
            workload: match log {
                Some(log) => Workload::Log { log, block: self.block * 86400.0 },
                None => Workload::Generated(lublin),
            },
            replicas: self.replicas as usize,
            seed: self.seed,
            independent: self.independent,
            limits,
        };
        let metrics = question.metrics();
        match question.limits.keys().find(|name| !metrics.contains(name)) {
            Some(name) => Err(Failure::input(format!(
                "there is no metric {name}; there are {}",
                metrics.join(", ")
            ))),
            None => Ok(question),
        }
    }

    fn limits(&self) -> Result<HashMap<String, Limits>, Failure> {
        let mut limits: HashMap<String, Limits> = HashMap::new();
        let given = self.tolerance.iter().map(|text| (false, text));
        for (is_gain, text) in given.chain(self.gain.iter().map(|text| (true, text))) {
            let option = if is_gain { "--gain" } else { "--tolerance" };
            let wrong = || {
                Failure::input(format!("{option} {text}: expected METRIC=SHARE"))
                    .with_help("write for example waiting_time=2%")
            };
            let (name, share) = text.split_once('=').ok_or_else(wrong)?;
            let (digits, unit) = match share.trim().strip_suffix('%') {
                Some(percent) => (percent, 0.01),
                None => (share.trim(), 1.0),
            };
            let share = digits.trim().parse::<f64>().map_err(|_| wrong())? * unit;
            if !(0.0..=1e6).contains(&share) {
                return Err(wrong());
            }
            let limit = limits.entry(name.trim().to_string()).or_default();
            *(if is_gain { &mut limit.gain } else { &mut limit.tolerance }) = share;
        }
        Ok(limits)
    }
}
