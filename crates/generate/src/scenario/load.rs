//! Background load: jobs of other users start and end on every host.

use super::{SECONDS, Surroundings};
use crate::draw::Seed;
use crate::error::{Result, bad};
use slackline_model::Scenario;
use slackline_model::parameter::{Kind, Parameter, Values};
use slackline_model::platform::{Profile, ProfileEvent};
use slackline_model::scenario::HostStory;

pub(crate) const LOAD: &[Parameter] = &[
    Parameter::new(
        "jobs",
        Kind::Number(0.0, 1e6),
        "0.5",
        "mean number of other jobs per core at any time",
    ),
    Parameter::new("length", SECONDS, "5min", "mean length of a job"),
    Parameter::new("horizon", SECONDS, "1d", "jobs come until then"),
];

/// Jobs of other users arrive as a Poisson process and have exponential lengths; a host of c cores with k
/// such jobs leaves us the fraction c / (c + k) of its speed.
pub(crate) fn load(s: &Values, seed: Seed, around: &Surroundings<'_>) -> Result<Scenario> {
    let platform = around.platform()?;
    let (jobs, length, until) = (s.number("jobs")?, s.number("length")?, s.number("horizon")?);
    if length <= 0.0 {
        return Err(bad("length", length, "it must be more than 0"));
    }
    let expected = jobs * until / length * platform.total_cores() as f64;
    if expected > 1e8 {
        return Err(bad("horizon", until, format!("about {expected:.0} jobs are too many")));
    }
    let mut scenario =
        Scenario { name: "background load".into(), seed: seed.seed, ..Scenario::default() };
    for host in platform.hosts() {
        let mut draws = seed.draws(&format!("load/{}", host.name));
        let cores = f64::from(host.cores);
        // (date, +1 or -1 job). Arrivals begin 10 mean lengths before date 0, so that the jobs that run at
        // the start are as many as later; what happens before 0 is moved to 0, where the last value wins.
        let mut steps: Vec<(f64, f64)> = Vec::new();
        let mean_gap = length / (jobs * cores);
        let mut date = -10.0 * length;
        while jobs > 0.0 && date < until {
            date += draws.exponential(mean_gap);
            steps.push((date, 1.0));
            steps.push((date + draws.exponential(length), -1.0));
        }
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut running = 0.0;
        let mut events: Vec<ProfileEvent> = Vec::new();
        for (date, step) in steps {
            running += step;
            let (date, value) = (date.max(0.0), cores / (cores + running));
            match events.last_mut() {
                Some(last) if last.date == date => last.value = value,
                _ if date < until => events.push(ProfileEvent { date, value }),
                _ => {}
            }
        }
        if !events.is_empty() {
            let availability = Some(Profile::once(events)?);
            let host = host.name.to_string();
            scenario.hosts.push(HostStory { host, availability, outages: vec![] });
        }
    }
    Ok(scenario)
}
