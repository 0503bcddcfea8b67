//! Scenario files in TOML or JSON: reader and writer.
//!
//! ```toml
//! name = "one slow host, one failure"
//! seed = 7                                  # of the estimate errors
//!
//! [errors]
//! compute = { law = "uniform", bound = 0.2 }   # exact, uniform, normal, log-normal, bias
//! wrong = "actual"                          # or "estimate"
//! per = "task and host"                     # or "task", "kind"
//!
//! [[host]]
//! name = "p3"
//! availability = [[10, 0.7], [30, 0.9]]     # from 10 s on 70 % of the peak speed
//! down = [{ at = 50 }, { at = "50%", lasts = 20, keeps_data = true }]
//!
//! [[link]]
//! between = ["p1", "p2"]                    # or name = "backbone"
//! bandwidth = [[10, 0.8]]
//! period = 60                               # starts again every 60 s
//!
//! [[actual]]
//! task = "t1"
//! host = "p1"
//! seconds = 12
//!
//! [[actual]]
//! task = "t2"
//! memory = "21GB"                           # really uses so much: with a smaller grant it fails
//! at = 0.3                                  # after this part of its time; 0.5 if left out
//!
//! [[actual]]
//! file = "genome.fa"                        # really larger than stated in the workflow
//! bytes = 3e9
//!
//! [[copy]]                                  # there from the start, in addition to the origin
//! file = "genome.fa"
//! host = "p2"
//!
//! [[arrival]]
//! workflow = "montage.json"
//! at = 30                                   # or after_tasks = 0.3, after_deadline = 0.15
//! deadline = 600
//! ```
//!
//! Times are seconds, or text with a unit. In `down`, `at = "50%"` is half of the makespan that the plan has
//! without outages; in `[[actual]]`, `at` is the part of the task's run time after which memory runs out.
//! JSON has the same members.

use crate::error::{FormatError, Result, json_error, toml_error};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use slackline_io::FileAccess;
use slackline_model::Scenario;
use slackline_model::Terms;
use slackline_model::platform::{Profile, ProfileEvent};
use slackline_model::scenario::{
    Actual, ActualMemory, ActualSize, Arrival, ErrorLaw, EstimateErrors, Grain, HostStory,
    LinkName, LinkStory, Moment, Outage, SpreadCopy, When, Wrong,
};
use slackline_model::schedule::Limits;
use slackline_model::units::{parse_duration, parse_size};
use std::fmt::Write as _;
use std::path::Path;

/// Reads a scenario file.
pub fn read_scenario(files: &FileAccess, path: &Path) -> Result<Scenario> {
    let text = files.read_text(path)?;
    parse_scenario(&text).map_err(|e| e.in_file(path))
}

/// Reads a scenario from a text: JSON if it begins with a brace, else TOML.
pub fn parse_scenario(text: &str) -> Result<Scenario> {
    let raw: Raw = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(json_error)?
    } else {
        toml::from_str(text).map_err(|e| toml_error(text, &e))?
    };
    let scenario = raw.scenario()?;
    scenario.check().map_err(FormatError::new)?;
    Ok(scenario)
}

/// Writes a scenario file whole or not at all: JSON if its name ends in `.json`, else TOML.
pub fn write_scenario(files: &FileAccess, path: &Path, scenario: &Scenario) -> Result<()> {
    let json = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json"));
    let text = if json { to_json(scenario)? } else { to_toml(scenario) };
    files.write(path, |out| out.write_all(text.as_bytes()))
}

/// A scenario as JSON.
pub fn to_json(scenario: &Scenario) -> Result<String> {
    let raw = Raw::of(scenario);
    let mut text = serde_json::to_string_pretty(&raw).map_err(FormatError::new)?;
    text.push('\n');
    Ok(text)
}

/// A scenario as TOML, one line per course.
pub fn to_toml(scenario: &Scenario) -> String {
    let raw = Raw::of(scenario);
    let mut out = String::new();
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = writeln!(out, "{name} = {value}");
        }
    };
    line("name", raw.name.as_ref().map(quoted));
    line("note", raw.note.as_ref().map(quoted));
    line("seed", raw.seed.map(|s| s.to_string()));
    if let Some(errors) = &raw.errors {
        out.push_str("\n[errors]\n");
        let mut line = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                let _ = writeln!(out, "{name} = {value}");
            }
        };
        line("compute", errors.compute.as_ref().map(RawLaw::toml));
        line("transfer", errors.transfer.as_ref().map(RawLaw::toml));
        line("wrong", errors.wrong.as_ref().map(quoted));
        line("per", errors.per.as_ref().map(quoted));
    }
    for host in &raw.host {
        let _ = write!(out, "\n[[host]]\nname = {}\n", quoted(&host.name));
        course(&mut out, "availability", &host.availability, host.period);
        downs(&mut out, &host.down);
    }
    for link in &raw.link {
        out.push_str("\n[[link]]\n");
        if let Some(name) = &link.name {
            let _ = writeln!(out, "name = {}", quoted(name));
        }
        if let Some([a, b]) = &link.between {
            let _ = writeln!(out, "between = [{}, {}]", quoted(a), quoted(b));
        }
        course(&mut out, "bandwidth", &link.bandwidth, link.period);
        downs(&mut out, &link.down);
    }
    for actual in &raw.actual {
        out.push_str("\n[[actual]]\n");
        let texts = [("task", &actual.task), ("host", &actual.host), ("file", &actual.file)];
        for (name, text) in texts {
            if let Some(text) = text {
                let _ = writeln!(out, "{name} = {}", quoted(text));
            }
        }
        let numbers = [
            ("seconds", actual.seconds),
            ("memory", actual.memory),
            ("at", actual.at),
            ("bytes", actual.bytes),
        ];
        for (name, number) in numbers {
            if let Some(number) = number {
                let _ = writeln!(out, "{name} = {number}");
            }
        }
    }
    for copy in &raw.copy {
        let (file, host) = (quoted(&copy.file), quoted(&copy.host));
        let _ = write!(out, "\n[[copy]]\nfile = {file}\nhost = {host}\n");
    }
    for arrival in &raw.arrival {
        let _ = write!(out, "\n[[arrival]]\nworkflow = {}\n", quoted(&arrival.workflow));
        let numbers = [
            ("at", arrival.at),
            ("after_tasks", arrival.after_tasks),
            ("after_deadline", arrival.after_deadline),
            ("deadline", arrival.deadline),
            ("budget", arrival.budget),
            ("deadline_factor", arrival.deadline_factor),
            ("budget_factor", arrival.budget_factor),
            ("priority", arrival.priority),
        ];
        if let Some(owner) = &arrival.owner {
            let _ = writeln!(out, "owner = {}", quoted(owner));
        }
        for (name, value) in numbers {
            if let Some(value) = value {
                let _ = writeln!(out, "{name} = {value}");
            }
        }
    }
    out
}

/// A string of TOML.
fn quoted(text: impl AsRef<str>) -> String {
    toml::Value::String(text.as_ref().into()).to_string()
}

/// Writes a level over time, as `[[seconds, level], ...]`, and its period.
fn course(out: &mut String, name: &str, events: &[(f64, f64)], period: Option<f64>) {
    if !events.is_empty() {
        let list: Vec<String> = events.iter().map(|(t, v)| format!("[{t}, {v}]")).collect();
        let _ = writeln!(out, "{name} = [{}]", list.join(", "));
    }
    if let Some(period) = period {
        let _ = writeln!(out, "period = {period}");
    }
}

/// Writes outages as one line.
fn downs(out: &mut String, downs: &[RawDown]) {
    if downs.is_empty() {
        return;
    }
    let one = |down: &RawDown| {
        let mut text = match &down.at {
            NumberOrText::Number(at) => format!("{{ at = {at}"),
            NumberOrText::Text(share) => format!("{{ at = {}", quoted(share)),
        };
        if let Some(lasts) = down.lasts {
            let _ = write!(text, ", lasts = {lasts}");
        }
        if down.keeps_data {
            text.push_str(", keeps_data = true");
        }
        text + " }"
    };
    let list: Vec<String> = downs.iter().map(one).collect();
    let _ = writeln!(out, "down = [{}]", list.join(", "));
}

/// The document as written. The names of members are part of the format; units are those of the module's
/// example.
#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<RawErrors>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    host: Vec<RawHost>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    link: Vec<RawLink>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    actual: Vec<RawActual>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    copy: Vec<RawCopy>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    arrival: Vec<RawArrival>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct RawErrors {
    #[serde(skip_serializing_if = "Option::is_none")]
    compute: Option<RawLaw>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transfer: Option<RawLaw>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wrong: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    per: Option<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct RawLaw {
    law: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deviation: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sigma: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    factor: Option<f64>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct RawHost {
    name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    availability: Vec<(f64, f64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    period: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    down: Vec<RawDown>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct RawLink {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    between: Option<[String; 2]>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    bandwidth: Vec<(f64, f64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    period: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    down: Vec<RawDown>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct RawDown {
    at: NumberOrText,
    #[serde(default, deserialize_with = "seconds", skip_serializing_if = "Option::is_none")]
    lasts: Option<f64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    keeps_data: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum NumberOrText {
    /// In the base unit of the member: seconds, bytes, or a fraction.
    Number(f64),
    /// With a unit, or a percentage.
    Text(String),
}

/// Seconds, as a number or as text with a unit such as `"10min"`.
fn seconds<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<f64>, D::Error> {
    match NumberOrText::deserialize(deserializer)? {
        NumberOrText::Number(seconds) => Ok(Some(seconds)),
        NumberOrText::Text(text) => match parse_duration(&text) {
            Ok(seconds) => Ok(Some(seconds)),
            Err(error) => Err(D::Error::custom(error)),
        },
    }
}

/// Bytes, as a number or as text with a unit such as `"21GB"`.
fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<f64>, D::Error> {
    match NumberOrText::deserialize(deserializer)? {
        NumberOrText::Number(bytes) => Ok(Some(bytes)),
        NumberOrText::Text(text) => match parse_size(&text) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) => Err(D::Error::custom(error)),
        },
    }
}

/// A part of a whole, as a number or as a percentage such as `"30%"`.
fn part<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<f64>, D::Error> {
    match NumberOrText::deserialize(deserializer)? {
        NumberOrText::Number(part) => Ok(Some(part)),
        NumberOrText::Text(text) => {
            let percent = text.trim().strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
            let error = || D::Error::custom(format!("'{text}' is no part such as 0.3 or \"30%\""));
            percent.map(|percent| Some(percent / 100.0)).ok_or_else(error)
        }
    }
}

/// The run time or the memory of a task, or the size of a file.
#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct RawActual {
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "bytes")]
    memory: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "part")]
    at: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<f64>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct RawCopy {
    file: String,
    host: String,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct RawArrival {
    workflow: String,
    #[serde(default, deserialize_with = "seconds", skip_serializing_if = "Option::is_none")]
    at: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after_tasks: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after_deadline: Option<f64>,
    #[serde(default, deserialize_with = "seconds", skip_serializing_if = "Option::is_none")]
    deadline: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_factor: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_factor: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<f64>,
}

impl RawArrival {
    fn read(self, when: When) -> Result<Arrival> {
        for (name, one, other) in [
            ("deadline", self.deadline, self.deadline_factor),
            ("budget", self.budget, self.budget_factor),
        ] {
            if one.is_some() && other.is_some() {
                let why = format!("give `{name}` or `{name}_factor`, not both");
                return Err(FormatError::in_path(name, why));
            }
        }
        let limits = Limits { budget: self.budget, deadline: self.deadline };
        let (owner, priority) = (self.owner.unwrap_or_default(), self.priority.unwrap_or(0.0));
        Ok(Arrival {
            terms: Terms { owner, priority, limits },
            deadline_factor: self.deadline_factor,
            budget_factor: self.budget_factor,
            ..Arrival::new(self.workflow, when)
        })
    }
}

impl Raw {
    fn scenario(self) -> Result<Scenario> {
        let mut scenario = Scenario {
            name: self.name.unwrap_or_default(),
            note: self.note.unwrap_or_default(),
            seed: self.seed.unwrap_or_default(),
            ..Scenario::default()
        };
        if let Some(errors) = self.errors {
            scenario.errors = errors.read().map_err(|e| at("errors".into(), e))?;
        }
        for (index, host) in self.host.into_iter().enumerate() {
            let place = format!("host[{index}]");
            let read = || -> Result<HostStory> {
                Ok(HostStory {
                    availability: profile(&host.availability, host.period)?,
                    outages: outages(&host.down)?,
                    host: host.name,
                })
            };
            scenario.hosts.push(read().map_err(|e| at(place, e))?);
        }
        for (index, link) in self.link.into_iter().enumerate() {
            let place = format!("link[{index}]");
            let read = || -> Result<LinkStory> {
                let name = match (link.name, link.between) {
                    (Some(name), None) => LinkName::Named(name),
                    (None, Some([a, b])) => LinkName::Between(a, b),
                    _ => {
                        return Err(FormatError::new("a link needs either `name` or `between`"));
                    }
                };
                Ok(LinkStory {
                    link: name,
                    bandwidth: profile(&link.bandwidth, link.period)?,
                    outages: outages(&link.down)?,
                })
            };
            scenario.links.push(read().map_err(|e| at(place, e))?);
        }
        for (index, actual) in self.actual.into_iter().enumerate() {
            let bad = |why: &str| Err(FormatError::in_path(format!("actual[{index}]"), why));
            if actual.at.is_some() && actual.memory.is_none() {
                return bad("`at` says when `memory` runs out: give both");
            }
            match (actual.task, actual.file, actual.bytes) {
                (Some(task), None, None) if actual.seconds.or(actual.memory).is_some() => {
                    if let Some(bytes) = actual.memory {
                        if actual.host.is_some() && actual.seconds.is_none() {
                            return bad("`memory` is that on every host: leave out `host`");
                        }
                        let (task, at) = (task.clone(), actual.at);
                        let at = at.unwrap_or(ActualMemory::USUALLY_AT);
                        scenario.memory.push(ActualMemory { task, bytes, at });
                    }
                    if let Some(seconds) = actual.seconds {
                        scenario.actuals.push(Actual { task, host: actual.host, seconds });
                    }
                }
                (None, Some(file), Some(bytes))
                    if actual.host.is_none() && actual.seconds.or(actual.memory).is_none() =>
                {
                    scenario.sizes.push(ActualSize { file, bytes });
                }
                _ => {
                    return bad("give `task` with `seconds` or `memory`, or `file` and `bytes`");
                }
            }
        }
        let copy = |c: RawCopy| SpreadCopy { file: c.file, host: c.host };
        scenario.copies = self.copy.into_iter().map(copy).collect();
        for (index, arrival) in self.arrival.into_iter().enumerate() {
            let when = match (arrival.at, arrival.after_tasks, arrival.after_deadline) {
                (Some(at), None, None) => When::At(at),
                (None, Some(share), None) => When::AfterTasks(share),
                (None, None, Some(share)) => When::AfterDeadline(share),
                _ => {
                    let error = "give one of `at`, `after_tasks`, `after_deadline`";
                    return Err(FormatError::in_path(format!("arrival[{index}]"), error));
                }
            };
            scenario
                .arrivals
                .push(arrival.read(when).map_err(|e| e.under(|| format!("arrival[{index}]")))?);
        }
        Ok(scenario)
    }

    fn of(scenario: &Scenario) -> Raw {
        let text = |text: &String| (!text.is_empty()).then(|| text.clone());
        let is_exact = scenario.errors == EstimateErrors::default();
        Raw {
            name: text(&scenario.name),
            note: text(&scenario.note),
            seed: Some(scenario.seed),
            errors: (!is_exact).then(|| RawErrors::of(&scenario.errors)),
            host: scenario.hosts.iter().map(raw_host).collect(),
            link: scenario.links.iter().map(raw_link).collect(),
            actual: scenario
                .actuals
                .iter()
                .map(raw_time)
                .chain(scenario.memory.iter().map(raw_memory))
                .chain(scenario.sizes.iter().map(raw_size))
                .collect(),
            copy: scenario.copies.iter().map(raw_copy).collect(),
            arrival: scenario.arrivals.iter().map(raw_arrival).collect(),
        }
    }
}

/// Adds the place in the document to an error.
fn at(place: String, error: FormatError) -> FormatError {
    FormatError { help: error.help.clone(), ..FormatError::in_path(place, &error.message) }
}

fn profile(events: &[(f64, f64)], period: Option<f64>) -> Result<Option<Profile>> {
    if events.is_empty() {
        return match period {
            Some(_) => Err(FormatError::new("a period without anything that repeats")),
            None => Ok(None),
        };
    }
    let events = events.iter().map(|&(date, value)| ProfileEvent { date, value }).collect();
    let profile = match period {
        Some(period) => Profile::periodic(events, period),
        None => Profile::once(events),
    };
    profile.map(Some).map_err(FormatError::new)
}

fn outages(downs: &[RawDown]) -> Result<Vec<Outage>> {
    let one = |down: &RawDown| {
        let from = match &down.at {
            NumberOrText::Number(at) => Moment::Seconds(*at),
            NumberOrText::Text(text) => {
                let share = text.trim().strip_suffix('%').map(|n| n.trim().parse::<f64>());
                let no_moment = || {
                    let help = "give seconds, a time such as \"10min\", or a share of the makespan such as \"50%\"";
                    FormatError::new(format!("`at = \"{text}\"` is no moment")).with_help(help)
                };
                match share {
                    Some(share) => Moment::OfMakespan(share.map_err(|_| no_moment())? / 100.0),
                    None => Moment::Seconds(parse_duration(text).map_err(|_| no_moment())?),
                }
            }
        };
        Ok(Outage { from, lasts: down.lasts, keeps_data: down.keeps_data })
    };
    downs.iter().map(one).collect()
}

fn raw_down(outage: &Outage) -> RawDown {
    let at = match outage.from {
        Moment::Seconds(at) => NumberOrText::Number(at),
        Moment::OfMakespan(share) => NumberOrText::Text(format!("{}%", share * 100.0)),
    };
    RawDown { at, lasts: outage.lasts, keeps_data: outage.keeps_data }
}

fn raw_course(profile: Option<&Profile>) -> (Vec<(f64, f64)>, Option<f64>) {
    let events = profile.map_or(&[][..], |p| p.events());
    (events.iter().map(|e| (e.date, e.value)).collect(), profile.and_then(|p| p.period()))
}

fn raw_host(story: &HostStory) -> RawHost {
    let (availability, period) = raw_course(story.availability.as_ref());
    let down = story.outages.iter().map(raw_down).collect();
    RawHost { name: story.host.clone(), availability, period, down }
}

fn raw_link(story: &LinkStory) -> RawLink {
    let (bandwidth, period) = raw_course(story.bandwidth.as_ref());
    let (name, between) = match &story.link {
        LinkName::Named(name) => (Some(name.clone()), None),
        LinkName::Between(a, b) => (None, Some([a.clone(), b.clone()])),
    };
    let down = story.outages.iter().map(raw_down).collect();
    RawLink { name, between, bandwidth, period, down }
}

fn raw_time(actual: &Actual) -> RawActual {
    let (task, host) = (Some(actual.task.clone()), actual.host.clone());
    RawActual { task, host, seconds: Some(actual.seconds), ..RawActual::default() }
}

fn raw_memory(used: &ActualMemory) -> RawActual {
    let at = Some(used.at).filter(|at| *at != ActualMemory::USUALLY_AT);
    let (task, memory) = (Some(used.task.clone()), Some(used.bytes));
    RawActual { task, memory, at, ..RawActual::default() }
}

fn raw_size(size: &ActualSize) -> RawActual {
    let (file, bytes) = (Some(size.file.clone()), Some(size.bytes));
    RawActual { file, bytes, ..RawActual::default() }
}

fn raw_copy(copy: &SpreadCopy) -> RawCopy {
    RawCopy { file: copy.file.clone(), host: copy.host.clone() }
}

fn raw_arrival(arrival: &Arrival) -> RawArrival {
    let (mut at, mut after_tasks, mut after_deadline) = (None, None, None);
    match arrival.when {
        When::At(date) => at = Some(date),
        When::AfterTasks(share) => after_tasks = Some(share),
        When::AfterDeadline(share) => after_deadline = Some(share),
    }
    let Terms { owner, priority, limits } = &arrival.terms;
    RawArrival {
        workflow: arrival.workflow.clone(),
        at,
        after_tasks,
        after_deadline,
        deadline: limits.deadline,
        budget: limits.budget,
        deadline_factor: arrival.deadline_factor,
        budget_factor: arrival.budget_factor,
        owner: (!owner.is_empty()).then(|| owner.clone()),
        priority: Some(*priority).filter(|p| *p != 0.0),
    }
}

const WRONG: [(&str, Wrong); 2] = [("actual", Wrong::Actual), ("estimate", Wrong::Estimate)];
const PER: [(&str, Grain); 3] =
    [("task and host", Grain::TaskAndHost), ("task", Grain::Task), ("kind", Grain::Kind)];

/// The value of a member that is one of a few words; the first entry, its default, when it is absent.
fn word<T: Copy>(member: &str, text: Option<&str>, words: &[(&str, T)]) -> Result<T> {
    let known = || words.iter().map(|w| w.0).collect::<Vec<_>>().join("\", \"");
    let found = match text {
        None => words.first(),
        Some(text) => words.iter().find(|(word, _)| *word == text),
    };
    found.map(|&(_, value)| value).ok_or_else(|| {
        let text = text.unwrap_or_default();
        FormatError::new(format!("`{member} = \"{text}\"`: give one of \"{}\"", known()))
    })
}

impl RawErrors {
    fn read(self) -> Result<EstimateErrors> {
        let law = |law: Option<RawLaw>| law.map_or(Ok(ErrorLaw::Exact), RawLaw::read);
        Ok(EstimateErrors {
            compute: law(self.compute)?,
            transfer: law(self.transfer)?,
            wrong: word("wrong", self.wrong.as_deref(), &WRONG)?,
            per: word("per", self.per.as_deref(), &PER)?,
        })
    }

    fn of(errors: &EstimateErrors) -> RawErrors {
        let law = |law: &ErrorLaw| (*law != ErrorLaw::Exact).then(|| RawLaw::of(law));
        let name_of_wrong = WRONG.iter().find(|w| w.1 == errors.wrong).map(|w| w.0.to_string());
        let name_of_grain = PER.iter().find(|p| p.1 == errors.per).map(|p| p.0.to_string());
        RawErrors {
            compute: law(&errors.compute),
            transfer: law(&errors.transfer),
            wrong: name_of_wrong,
            per: name_of_grain,
        }
    }
}

impl RawLaw {
    fn read(self) -> Result<ErrorLaw> {
        let need = |name: &str, value: Option<f64>| {
            let law = &self.law;
            value.ok_or_else(|| FormatError::new(format!("the law \"{law}\" needs `{name}`")))
        };
        match self.law.as_str() {
            "exact" => Ok(ErrorLaw::Exact),
            "uniform" => Ok(ErrorLaw::Uniform { bound: need("bound", self.bound)? }),
            "normal" => Ok(ErrorLaw::Normal { deviation: need("deviation", self.deviation)? }),
            "log-normal" => Ok(ErrorLaw::LogNormal { sigma: need("sigma", self.sigma)? }),
            "bias" => Ok(ErrorLaw::Bias { factor: need("factor", self.factor)? }),
            other => Err(FormatError::new(format!("there is no law \"{other}\""))
                .with_help("the laws are: exact, uniform, normal, log-normal, bias")),
        }
    }

    fn of(law: &ErrorLaw) -> RawLaw {
        let none =
            RawLaw { law: String::new(), bound: None, deviation: None, sigma: None, factor: None };
        let named = |law: &str| RawLaw { law: law.into(), ..none };
        match *law {
            ErrorLaw::Exact => named("exact"),
            ErrorLaw::Uniform { bound } => RawLaw { bound: Some(bound), ..named("uniform") },
            ErrorLaw::Normal { deviation } => {
                RawLaw { deviation: Some(deviation), ..named("normal") }
            }
            ErrorLaw::LogNormal { sigma } => RawLaw { sigma: Some(sigma), ..named("log-normal") },
            ErrorLaw::Bias { factor } => RawLaw { factor: Some(factor), ..named("bias") },
        }
    }

    fn toml(&self) -> String {
        let numbers = [
            ("bound", self.bound),
            ("deviation", self.deviation),
            ("sigma", self.sigma),
            ("factor", self.factor),
        ];
        let mut text = format!("{{ law = {}", quoted(&self.law));
        for (name, value) in numbers {
            if let Some(value) = value {
                let _ = write!(text, ", {name} = {value}");
            }
        }
        text + " }"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the module's head.
    fn example() -> String {
        let head = include_str!("scenario.rs").lines().map_while(|l| l.strip_prefix("//!"));
        let inside = head.skip_while(|l| *l != " ```toml").skip(1).take_while(|l| *l != " ```");
        inside.map(|l| format!("{}\n", l.trim())).collect()
    }

    #[test]
    fn the_example_means_what_it_says() {
        let scenario = parse_scenario(&example()).unwrap();
        assert_eq!(scenario.seed, 7);
        assert_eq!(scenario.errors.compute, ErrorLaw::Uniform { bound: 0.2 });
        let p3 = &scenario.hosts[0];
        assert_eq!(p3.availability.as_ref().unwrap().value_at(31.0), Some(0.9));
        assert_eq!(p3.outages[1].from, Moment::OfMakespan(0.5));
        assert!(p3.outages[1].keeps_data && !p3.outages[0].keeps_data);
        assert_eq!(scenario.links[0].link, LinkName::Between("p1".into(), "p2".into()));
        assert_eq!(scenario.links[0].bandwidth.as_ref().unwrap().period(), Some(60.0));
        assert_eq!(scenario.actuals[0].seconds, 12.0);
        assert_eq!(scenario.arrivals[0].when, When::At(30.0));
    }

    #[test]
    fn both_forms_read_back_as_written() {
        let mut scenario = parse_scenario(&example()).unwrap();
        scenario.note = "made with \"quotes\" and\nlines".into();
        scenario.errors.transfer = ErrorLaw::LogNormal { sigma: 0.5 };
        scenario.errors.per = Grain::Kind;
        assert_eq!(parse_scenario(&to_toml(&scenario)).unwrap(), scenario);
        assert_eq!(parse_scenario(&to_json(&scenario).unwrap()).unwrap(), scenario);
        let unchanging = Scenario::default();
        assert_eq!(parse_scenario(&to_toml(&unchanging)).unwrap(), unchanging);
    }

    #[test]
    fn mistakes_are_placed() {
        let error = |text: &str| parse_scenario(text).unwrap_err().to_string();
        assert!(error("[[host]]\nname = \"p\"\nspeed = 1\n").contains("speed"));
        assert!(error("[[host]]\nname = \"p\"\ndown = [{ at = \"noon\" }]").contains("host[0]"));
        assert!(error("[[link]]\nbandwidth = [[1, 0.5]]").contains("`name` or `between`"));
        assert!(
            error("[[host]]\nname = \"p\"\navailability = [[5, 1], [1, 1]]").contains("before")
        );
        assert!(error("[[host]]\nname = \"p\"\navailability = [[5, 2]]").contains("0 to 1"));
        assert!(error("[errors]\ncompute = { law = \"uniform\" }").contains("bound"));
        assert!(error("[errors]\nwrong = \"both\"").contains("actual"));
        assert!(error("[[arrival]]\nworkflow = \"w\"").contains("arrival[0]"));
        assert!(error("{\"seed\": -1}").contains("seed") || !error("{\"seed\": -1}").is_empty());
        assert!(!error("seed = ").is_empty());
    }
}
