//! `slackline centre adopt`: should this policy, or this machine, replace the present one?

use crate::failure::Failure;
use crate::output::Output;
use crate::path_check::Files;
use clap::Args;
use serde::Serialize;
use slackline_analysis::statistics::wilson;
use slackline_centre::batch::{Machine, Policy, Site};
use slackline_core::schema::names;
use slackline_formats::batch_log::{self, BatchLog, Wrong};
use slackline_generate::workload::Lublin;
use slackline_lab::adopt::{Adoption, FALSE_GAIN_RATE, Question, Side, Trials, Workload};
use slackline_lab::compare::{Change, Limits, Verdict};
use slackline_model::units::fmt_seconds;
use slackline_report::compare::html::{STYLE, escaped, picture};
use slackline_report::table::{Table, count};
use slackline_view::plot::{self, BoxPlot};
use std::collections::HashMap;
use std::fmt::Write;
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

#[derive(Serialize)]
struct AdoptionDocument<'a> {
    schema: &'static str,
    baseline: String,
    candidate: String,
    workload: String,
    replicas: usize,
    metrics: &'a [Change],
    verdict: Verdict,
    gains: &'a [String],
    adopt: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    trials: Option<TrialsLine>,
}

#[derive(Serialize)]
struct TrialsLine {
    trials: usize,
    gains: usize,
    losses: usize,
    low: f64,
    high: f64,
}

/// Names of the two sides on the page and in the report.
struct Words {
    baseline: String,
    candidate: String,
    workload: String,
}

fn site(path: &Path, output: &Output) -> Result<Site, Failure> {
    let text = output.files.read_text(path)?;
    Site::parse(&text, None).map_err(|error| Failure::input(format!("{}: {error}", path.display())))
}

fn machine(site: &Site) -> String {
    match site.machine {
        Machine::Cores(cores) => count(cores as usize, "core"),
        Machine::Nodes { nodes, cores_per_node } => {
            format!(
                "{} of {}",
                count(nodes as usize, "node"),
                count(cores_per_node as usize, "core")
            )
        }
    }
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
        let words = self.words(&question);
        if let Some(path) = &self.output {
            let html = page(&words, &question, &answer, trials);
            output.files.write(path, |out| out.write_all(html.as_bytes()))?;
        }
        if self.json {
            output.json(&AdoptionDocument {
                schema: names::CENTRE_ADOPT,
                baseline: words.baseline,
                candidate: words.candidate,
                workload: words.workload,
                replicas: answer.replicas.len(),
                metrics: &answer.regression.metrics,
                verdict: answer.regression.verdict,
                gains: &answer.gains,
                adopt: answer.is_adopted,
                trials: trials.map(line),
            })?;
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

    fn words(&self, question: &Question<'_>) -> Words {
        let side = |side: &Side| {
            let faster = if side.speed == 1.0 {
                String::new()
            } else {
                format!(", {} times as fast", side.speed)
            };
            format!("{} on {}{faster}", side.policy.name(), machine(&side.site))
        };
        let same =
            if self.independent { "each side its own draws" } else { "both sides the same draws" };
        let workload = match &question.workload {
            Workload::Generated(lublin) => format!(
                "{} replicas of {} from the generator of Lublin and Feitelson at load {}, seed {}, {same}",
                question.replicas,
                count(lublin.jobs as usize, "job"),
                self.load,
                self.seed
            ),
            Workload::Log { log, .. } => format!(
                "{} replicas of a log of {}, made of blocks of {} days drawn with replacement, seed {}, {same}",
                question.replicas,
                count(log.jobs.len(), "job"),
                self.block,
                self.seed
            ),
        };
        Words { baseline: side(&question.baseline), candidate: side(&question.candidate), workload }
    }
}

fn line(trials: Trials) -> TrialsLine {
    let interval = wilson(trials.adopted, trials.trials);
    TrialsLine {
        trials: trials.trials,
        gains: trials.adopted,
        losses: trials.losses,
        low: interval.low,
        high: interval.high,
    }
}

/// The metrics as people call them.
fn plain(metric: &str) -> &str {
    match metric {
        "waiting_time" => "mean wait",
        "waiting_p95" => "wait of the slowest 5 %",
        "bounded_slowdown" => "bounded slowdown",
        "turnaround" => "time from submission to end",
        "utilisation" => "part of the machine that is used",
        "refused" => "refused jobs",
        "energy" => "energy",
        "pledge_deviation" => "deviation from the pledges",
        other => other,
    }
}

fn value(metric: &str, value: Option<f64>) -> String {
    let Some(value) = value else { return "-".into() };
    match metric {
        "waiting_time" | "waiting_p95" | "turnaround" => fmt_seconds(value),
        "utilisation" => format!("{:.1} %", 100.0 * value),
        "energy" => format!("{:.1} kWh", value / 3.6e6),
        _ => format!("{value:.3}"),
    }
}

fn shown(change: &Change, value: Option<f64>) -> String {
    match (value, change.kind) {
        (None, _) => "unknown".into(),
        (Some(value), "ratio") => format!("{:+.1} %", (value - 1.0) * 100.0),
        (Some(value), _) => format!("{value:+.3}"),
    }
}

fn verdict(change: &Change, gains: &[String]) -> &'static str {
    match change.verdict {
        Verdict::Loss => "worse",
        Verdict::Open => "not decided",
        _ if gains.contains(&change.metric) => "better",
        Verdict::Gain | Verdict::Held => "not worse",
    }
}

/// The answer in a sentence.
fn answer_in_words(answer: &Adoption) -> String {
    let names = |list: Vec<&str>| list.into_iter().map(plain).collect::<Vec<_>>().join(", ");
    let of = |verdict: Verdict| {
        let some = answer.regression.metrics.iter().filter(move |c| c.verdict == verdict);
        some.map(|change| change.metric.as_str()).collect::<Vec<_>>()
    };
    let gains = names(answer.gains.iter().map(String::as_str).collect());
    if answer.regression.verdict == Verdict::Loss {
        return format!("No: it makes this worse: {}.", names(of(Verdict::Loss)));
    }
    let open = of(Verdict::Open);
    match (open.is_empty(), answer.gains.is_empty()) {
        (true, false) => format!("Yes: nothing gets worse, and this gets better: {gains}."),
        (true, true) => {
            "It makes no difference that was found: nothing gets worse, nothing better.".into()
        }
        (false, false) => format!(
            "Not decided: this gets better: {gains}; but it is not excluded that this gets worse: {}.",
            names(open)
        ),
        (false, true) => format!("Not decided: more replicas are needed for: {}.", names(open)),
    }
}

fn trials_in_words(trials: Trials) -> String {
    let interval = wilson(trials.adopted, trials.trials);
    format!(
        "In {} of {} repetitions with other seeds a gain was found: {:.1} % (95 % interval after Wilson {:.1} to {:.1} %). Between \
         equals a gain is found in at most {:.1} % of repetitions.",
        trials.adopted,
        trials.trials,
        100.0 * trials.adopted as f64 / trials.trials as f64,
        100.0 * interval.low,
        100.0 * interval.high,
        100.0 * FALSE_GAIN_RATE
    )
}

fn text(
    words: &Words,
    answer: &Adoption,
    trials: Option<Trials>,
    output: &mut Output,
) -> Result<(), Failure> {
    output.say(&format!("baseline   {}\ncandidate  {}\n", words.baseline, words.candidate))?;
    output.say(&format!("{}\n\n", words.workload))?;
    let mut table = Table::new(&[
        "<metric",
        ">baseline",
        ">candidate",
        ">change",
        "<95 % interval",
        "<verdict",
    ]);
    for change in &answer.regression.metrics {
        table.row([
            change.metric.clone(),
            value(&change.metric, change.old),
            value(&change.metric, change.new),
            shown(change, change.change),
            format!("{} to {}", shown(change, change.low), shown(change, change.high)),
            verdict(change, &answer.gains).to_string(),
        ]);
    }
    let text = table.render(output.width);
    output.text(&text)?;
    if let Some(trials) = trials {
        output.say(&format!("{}\n", trials_in_words(trials)))?;
    }
    let bold = output.bold(&answer_in_words(answer));
    output.say(&format!("\n{bold}\n"))
}

/// A page that an operator can read, with nothing outside of it.
fn page(
    words: &Words,
    question: &Question<'_>,
    answer: &Adoption,
    trials: Option<Trials>,
) -> String {
    let mut out = String::new();
    let title = format!("{} instead of {}?", words.candidate, words.baseline);
    let name = escaped(&title);
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <link rel=\"icon\" href=\"data:,\"><title>{name}</title><style>{STYLE}</style></head><body>\n<h1>{name}</h1>\n"
    );
    let _ = writeln!(out, "<p class=\"lead\"><b>{}</b></p>", escaped(&answer_in_words(answer)));
    out.push_str(
        "<div class=\"wide\"><table><tr><th>What the site reports</th><th>today</th><th>with the candidate</th><th>change</th>\
         <th>95 % interval</th><th>tolerated loss</th><th class=\"l\">verdict</th></tr>\n",
    );
    for change in &answer.regression.metrics {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{} to {}</td><td>{} %</td><td class=\"l\">{}</td></tr>",
            escaped(plain(&change.metric)),
            value(&change.metric, change.old),
            value(&change.metric, change.new),
            shown(change, change.change),
            shown(change, change.low),
            shown(change, change.high),
            100.0 * change.tolerance,
            verdict(change, &answer.gains)
        );
    }
    out.push_str("</table></div>\n<h2>Replica by replica</h2>\n");
    let names = ["today", "candidate"];
    for (k, metric) in answer.metrics.iter().enumerate().take(4) {
        let boxes: Vec<BoxPlot> = (0..2)
            .map(|side| BoxPlot {
                name: names[side].to_string(),
                values: answer.replicas.iter().map(|values| values[side][k]).collect(),
            })
            .collect();
        let unit = if matches!(k, 0 | 1 | 3) { "seconds" } else { "" };
        let label = format!("{} {unit}", plain(metric));
        picture(&mut out, &plot::boxes(plain(metric), label.trim(), &boxes), plain(metric));
    }
    out.push_str("<h2>How to read this</h2>\n<ul>\n");
    let mut item = |text: &str| {
        let _ = writeln!(out, "<li>{}</li>", escaped(text));
    };
    item(
        "A change of +10 % of a time means that it gets longer. The interval is where the true mean change is with 95 % \
         certainty, as far as the workload is like the one tried.",
    );
    item(
        "Not worse: even the bad end of the interval is within the tolerated loss. Worse: even the good end is beyond it. Not \
         decided: the interval holds both; more replicas make it narrower.",
    );
    item(
        "Better: the whole interval, widened because several metrics are looked at, is on the good side. Between equals this is \
         found in at most 2.5 % of comparisons.",
    );
    if let Some(trials) = trials {
        item(&trials_in_words(trials));
    }
    out.push_str("</ul>\n<h2>What this rests on</h2>\n<ul>\n");
    let mut item = |text: &str| {
        let _ = writeln!(out, "<li>{}</li>", escaped(text));
    };
    item(&format!("Workload: {}.", words.workload));
    if let Workload::Log { .. } = question.workload {
        item(
            "Weeks of one log share their backlog and are not independent, so blocks are drawn with replacement; order and backlog \
             between blocks are those of the draw, not of the log.",
        );
    } else {
        item(
            "The generator is a model of logs of parallel machines; try the log of the site itself, too.",
        );
    }
    item(
        "Simulated: the batch system with its queue, policy and limits. Injected: submissions, run times and requested times of \
         jobs. Left out: failures, dependencies, users who react to waits, time to start a job.",
    );
    item(&format!("slackline {}", env!("CARGO_PKG_VERSION")));
    out.push_str("</ul>\n</body></html>\n");
    out
}
