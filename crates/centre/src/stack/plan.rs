//! External input of a run: lives of pilots, speeds, and values injected from a record.

use super::case::{Case, CaseError, error};
use super::switches::{Component, Switches};
use super::{Attempt, AttemptResult, PilotEnd, PilotLife};
use crate::storage::unique::UniqueMap;
use serde::Deserialize;
use slackline_model::distribution::Distribution;
use slackline_model::rng::stream;

/// The record of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its makespan, in seconds.
    pub makespan: f64,
    /// Attempts by task.
    pub attempts: Vec<Vec<Attempt>>,
    /// Lives of pilots.
    pub pilots: Vec<PilotLife>,
}

#[derive(Deserialize)]
pub(super) struct RecordFile {
    makespan: Option<f64>,
    attempts: UniqueMap<Vec<AttemptFile>>,
    pilots: UniqueMap<PilotFile>,
}

#[derive(Deserialize)]
struct AttemptFile {
    queued: f64,
    pilot: Option<String>,
    start: Option<f64>,
    end: Option<f64>,
    result: Option<AttemptResult>,
    #[serde(default)]
    steps: Vec<f64>,
}

#[derive(Deserialize)]
struct PilotFile {
    submit: Option<f64>,
    start: Option<f64>,
    exit: Option<f64>,
    why: Option<PilotEnd>,
}

type Places<'a> = (usize, &'a dyn Fn(&str) -> Option<usize>);

impl Record {
    /// Checks dates and names.
    pub(super) fn check(
        file: RecordFile,
        (tasks, task): Places<'_>,
        (pilots, pilot): Places<'_>,
    ) -> Result<Record, CaseError> {
        let date = |value: f64, what: &dyn Fn() -> String| match value {
            value if (0.0..1e18).contains(&value) => Ok(value),
            _ => error(format!("record: {} is {value}; it has to be 0 or more", what())),
        };
        let mut attempts = vec![Vec::new(); tasks];
        let mut last: f64 = 0.0;
        for (name, list) in file.attempts.0 {
            let Some(place) = task(&name) else {
                return error(format!("record: there is no task `{name}`"));
            };
            for (k, file) in list.into_iter().enumerate() {
                let by = |what: &str| format!("{what} of attempt {} of `{name}`", k + 1);
                let queued = date(file.queued, &|| by("`queued`"))?;
                for (number, length) in file.steps.iter().enumerate() {
                    date(*length, &|| by(&format!("step {}", number + 1)))?;
                }
                let mut attempt = Attempt { queued, steps: file.steps, ..Attempt::default() };
                if let Some(ran) = file.pilot {
                    let Some(place) = pilot(&ran) else {
                        return error(format!("record: {} is unknown: `{ran}`", by("the pilot")));
                    };
                    let (Some(start), Some(end)) = (file.start, file.end) else {
                        return error(format!("record: {} is missing", by("start or end")));
                    };
                    date(start, &|| by("the start"))?;
                    if end < start || start < queued {
                        return error(format!(
                            "record: {} go backwards: queued {queued}, start {start}, end {end}",
                            by("the dates")
                        ));
                    }
                    last = last.max(end);
                    attempt.pilot = Some(place);
                    (attempt.start, attempt.end, attempt.result) = (start, end, file.result);
                }
                attempts[place].push(attempt);
            }
        }
        let mut lives = vec![PilotLife::default(); pilots];
        for (name, file) in file.pilots.0 {
            let Some(place) = pilot(&name) else {
                return error(format!("record: there is no pilot `{name}`"));
            };
            let by = |what: &str| format!("{what} of pilot `{name}`");
            let submit = date(file.submit.unwrap_or(0.0), &|| by("submission"))?;
            let start = file.start.map(|start| date(start, &|| by("start"))).transpose()?;
            if start.is_some_and(|start| start < submit)
                || start.zip(file.exit).is_some_and(|(start, exit)| exit < start)
            {
                return error(format!("record: {} go backwards", by("dates")));
            }
            lives[place] = PilotLife { submit, start, exit: file.exit, why: file.why };
        }
        let makespan = file.makespan.unwrap_or(last);
        Ok(Record { makespan, attempts, pilots: lives })
    }
}

/// Start of a pilot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Start {
    At(f64),
    Batch,
    Never,
}

/// When a pilot dies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Death {
    Never,
    At(f64),
    Age(f64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PilotPlan {
    pub(super) submit: f64,
    pub(super) start: Start,
    pub(super) death: Death,
}

/// External input of a run.
#[derive(Clone, Debug)]
pub(super) struct Plan<'a> {
    pub(super) case: &'a Case,
    pub(super) pilots: Vec<PilotPlan>,
    /// By site.
    pub(super) speeds: &'a [f64],
    /// By link.
    pub(super) bandwidths: &'a [f64],
    /// Injected entries, placement, computations, transfers.
    pub(super) entries: Option<&'a Record>,
    pub(super) placement: Option<&'a Record>,
    pub(super) application: Option<&'a Record>,
    pub(super) transfers: Option<&'a Record>,
    /// The record, where failures come from it.
    pub(super) failures: bool,
}

/// Speeds and bandwidths of a case as they are declared.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    speeds: Vec<f64>,
    bandwidths: Vec<f64>,
}

impl Declared {
    pub(super) fn of(case: &Case) -> Declared {
        Declared {
            speeds: case.sites.iter().map(|site| site.speed).collect(),
            bandwidths: case.links.iter().map(|link| link.bandwidth).collect(),
        }
    }
}

impl<'a> Plan<'a> {
    /// A run without a record: everything as the case declares it.
    pub(super) fn declared(case: &'a Case, declared: &'a Declared) -> Plan<'a> {
        let pilots = case.pilots.iter().enumerate().map(|(k, pilot)| {
            let start = match (pilot.start, &case.sites[pilot.site].batch) {
                (_, Some(_)) => Start::Batch,
                (Some(start), None) => Start::At(start),
                (None, None) => Start::At(pilot.submit + modelled_wait(case, k)),
            };
            let death = match pilot.dies {
                Some(date) => Death::At(date),
                None => modelled_death(case, k),
            };
            PilotPlan { submit: pilot.submit, start, death }
        });
        Plan {
            case,
            pilots: pilots.collect(),
            speeds: &declared.speeds,
            bandwidths: &declared.bandwidths,
            entries: None,
            placement: None,
            application: None,
            transfers: None,
            failures: false,
        }
    }

    /// A run of which parts are injected from a record.
    pub(super) fn switched(
        case: &'a Case,
        declared: &'a Declared,
        record: &'a Record,
        switches: Switches,
    ) -> Plan<'a> {
        let injects = |component| switches.injects(component);
        let given = |component| Some(record).filter(|_| switches.injects(component));
        let pacing = case.model.as_ref().map_or(0.0, |model| model.pacing);
        let pilots =
            case.pilots.iter().zip(&record.pilots).enumerate().map(|(k, (pilot, life))| {
                let submit =
                    if injects(Component::Provisioning) { life.submit } else { k as f64 * pacing };
                let start = if injects(Component::QueueWait) {
                    life.start
                        .map_or(Start::Never, |start| Start::At(submit + (start - life.submit)))
                } else if case.sites[pilot.site].batch.is_some() {
                    Start::Batch
                } else {
                    Start::At(submit + modelled_wait(case, k))
                };
                let death = if injects(Component::Failures) {
                    match (life.start, life.exit, life.why) {
                        (Some(start), Some(exit), Some(PilotEnd::Died)) => Death::Age(exit - start),
                        _ => Death::Never,
                    }
                } else {
                    modelled_death(case, k)
                };
                PilotPlan { submit, start, death }
            });
        let believed = case.platform_model.as_ref().filter(|_| !injects(Component::Platform));
        Plan {
            case,
            pilots: pilots.collect(),
            speeds: believed.map_or(&declared.speeds, |b| &b.speeds),
            bandwidths: believed.map_or(&declared.bandwidths, |b| &b.bandwidths),
            entries: given(Component::Workflow),
            placement: given(Component::Placement),
            application: given(Component::Application),
            transfers: given(Component::Transfers),
            failures: injects(Component::Failures),
        }
    }
}

fn drawn(case: &Case, distribution: Distribution, purpose: &str, pilot: usize) -> f64 {
    match distribution {
        Distribution::Constant(value) => value,
        drawn => drawn.draw(&mut stream(case.seed, purpose, pilot as u64)),
    }
}

fn modelled_wait(case: &Case, pilot: usize) -> f64 {
    let model = case.model.as_ref();
    model.map_or(0.0, |model| {
        drawn(case, model.latency[case.pilots[pilot].site], "stack/queue-wait", pilot)
    })
}

fn modelled_death(case: &Case, pilot: usize) -> Death {
    let lifetime = case.model.as_ref().and_then(|model| model.lifetime);
    lifetime.map_or(Death::Never, |l| Death::Age(drawn(case, l, "stack/lifetime", pilot)))
}
