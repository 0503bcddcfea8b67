//! Worlds: what happens to a platform, how wrong estimates are, what arrives when. Each
//! resource draws from its own stream, named after it: a host more changes no other's fate.

mod load;
pub mod studied;

use crate::draw::{Draws, Seed};
use crate::error::{GenerateError, Result, bad};
use slackline_model::Scenario;
use slackline_model::parameter::{Kind, Parameter, Values};
use slackline_model::platform::{Network, Platform, Profile, ProfileEvent};
use slackline_model::scenario::{
    Arrival, ErrorLaw, EstimateErrors, Grain, HostStory, LinkName, LinkStory, Moment, Outage, When,
    Wrong,
};
use slackline_model::schedule::Limits;
use slackline_model::units::Quantity;

pub(crate) use load::{LOAD, load};

const SECONDS: Kind = Kind::Quantity(Quantity::Duration);

/// The platform and the workflows for which a scenario is made.
#[derive(Clone, Copy, Default)]
pub struct Surroundings<'a> {
    /// The platform whose hosts and links change.
    pub platform: Option<&'a Platform>,
    /// Names or files of the workflows that arrive.
    pub workflows: &'a [String],
}

impl<'a> Surroundings<'a> {
    fn platform(&self) -> Result<&'a Platform> {
        let why = "this scenario needs a platform: name one";
        self.platform.ok_or_else(|| GenerateError::Impossible(why.into()))
    }
}

/// A link, or a pair of hosts of a matrix network, with a name for its stream.
fn connections(platform: &Platform) -> Result<Vec<LinkName>> {
    match platform.network() {
        Network::Zones => {
            let name = |l: &slackline_model::platform::Link| LinkName::Named(l.name.to_string());
            Ok(platform.links().iter().map(name).collect())
        }
        Network::Matrix(_) => {
            let hosts = platform.hosts();
            if hosts.len() > 2000 {
                let why = "a matrix of more than 2000 hosts has too many links to change";
                return Err(GenerateError::Impossible(why.into()));
            }
            let mut pairs = Vec::with_capacity(hosts.len() * hosts.len() / 2);
            for (index, a) in hosts.iter().enumerate() {
                for b in &hosts[index + 1..] {
                    pairs.push(LinkName::Between(a.name.to_string(), b.name.to_string()));
                }
            }
            Ok(pairs)
        }
    }
}

pub(crate) const SCE: &[Parameter] = &[
    Parameter::new(
        "variability",
        Kind::Number(0.0, 100.0),
        "30",
        "z: a new level is in [1 - z/100, 1] of the peak",
    )
    .published("0, 10, ..., 90"),
    Parameter::new(
        "makespan",
        SECONDS,
        "100s",
        "of the workflow on the still platform: the scale of time",
    ),
    Parameter::new(
        "gap",
        Kind::Number(1e-6, 1e6),
        "3",
        "mean time between changes of one resource, in makespans",
    )
    .published("not given; 3 lets changes last, 0.1 is as frequent as re-planning"),
    Parameter::new(
        "horizon",
        Kind::Number(0.0, 1e6),
        "20",
        "changes happen until this many makespans",
    ),
    Parameter::new("links", Kind::Switch, "yes", "links change too").published("yes"),
    Parameter::new(
        "failure",
        Kind::Switch,
        "no",
        "one host, drawn at random, fails for ever at half of the makespan (TE2)",
    )
    .published("no (TE1), yes (TE2)"),
];

/// A level that changes after exponential gaps, to anything between the peak and a depth below it,
/// until a date; none where it never does.
pub fn levels(draws: &mut Draws, depth: f64, gap: f64, until: f64) -> Result<Option<Profile>> {
    let mut events = Vec::new();
    let mut date = draws.exponential(gap);
    while depth > 0.0 && date < until {
        events.push(ProfileEvent { date, value: 1.0 - draws.uniform(0.0, depth) });
        date += draws.exponential(gap);
    }
    Ok(if events.is_empty() { None } else { Some(Profile::once(events)?) })
}

/// SCE(x, y, z) of Hernandez 2008: levels of hosts and links change at random, bounded by z %.
pub(crate) fn sce(s: &Values, seed: Seed, around: &Surroundings<'_>) -> Result<Scenario> {
    let platform = around.platform()?;
    let depth = s.number("variability")? / 100.0;
    let makespan = s.number("makespan")?;
    let (gap, until) = (s.number("gap")? * makespan, s.number("horizon")? * makespan);
    if makespan <= 0.0 {
        return Err(bad("makespan", makespan, "it must be more than 0"));
    }
    let hosts = platform.hosts().len();
    let name = format!("SCE({hosts} hosts, {} %)", s.number("variability")?);
    let mut scenario = Scenario { name, seed: seed.seed, ..Scenario::default() };
    let course = |of: &str| levels(&mut seed.draws(&format!("sce/{of}")), depth, gap, until);
    for host in platform.hosts() {
        if let Some(profile) = course(&format!("host/{}", host.name))? {
            let story = HostStory { host: host.name.to_string(), ..HostStory::default() };
            scenario.hosts.push(HostStory { availability: Some(profile), ..story });
        }
    }
    if s.switch("links") {
        for link in connections(platform)? {
            if let Some(profile) = course(&format!("link/{link}"))? {
                scenario.links.push(LinkStory { link, bandwidth: Some(profile), outages: vec![] });
            }
        }
    }
    if s.switch("failure") {
        let victim = seed.draws("sce/victim").below(hosts);
        let outage = Outage { from: Moment::OfMakespan(0.5), lasts: None, keeps_data: false };
        fail(&mut scenario, &platform.hosts()[victim].name, vec![outage]);
    }
    Ok(scenario)
}

/// Adds outages to what is known of a host.
fn fail(scenario: &mut Scenario, host: &str, outages: Vec<Outage>) {
    match scenario.hosts.iter_mut().find(|story| story.host == host) {
        Some(story) => story.outages.extend(outages),
        None => {
            scenario.hosts.push(HostStory { host: host.into(), availability: None, outages });
        }
    }
}

pub(crate) const FAILURE: &[Parameter] = &[
    Parameter::new("at", Kind::Text, "50%", "when: seconds with unit, or a share of the makespan")
        .published("50% (TE2)"),
    Parameter::new("hosts", Kind::Count(1, 1_000_000), "1", "how many hosts, drawn at random")
        .published("1"),
    Parameter::new("host", Kind::Text, "auto", "this host instead"),
    Parameter::new("lasts", SECONDS, "auto", "until it is back; auto: for ever")
        .published("for ever"),
    Parameter::new("keeps-data", Kind::Switch, "no", "files are there again when it is back"),
];

/// Hosts that fail at one point in time.
pub(crate) fn failure(s: &Values, seed: Seed, around: &Surroundings<'_>) -> Result<Scenario> {
    let platform = around.platform()?;
    let text = s.word("at");
    let from = match text.strip_suffix('%') {
        Some(share) => {
            let share = share.trim().parse::<f64>().ok().filter(|p| p.is_finite() && *p >= 0.0);
            let why = "write a share such as 50%";
            Moment::OfMakespan(share.ok_or_else(|| bad("at", text, why))? / 100.0)
        }
        None => {
            let seconds = Quantity::Duration.parse_or_bare(text);
            Moment::Seconds(seconds.map_err(|e| bad("at", text, e.to_string()))?)
        }
    };
    let outage =
        Outage { from, lasts: s.maybe_number("lasts"), keeps_data: s.switch("keeps-data") };
    let mut scenario = Scenario { name: "failure".into(), seed: seed.seed, ..Scenario::default() };
    let named = s.word("host");
    if !named.is_empty() {
        if platform.host_named(named).is_none() {
            return Err(bad("host", named, "the platform has no such host"));
        }
        fail(&mut scenario, named, vec![outage]);
        return Ok(scenario);
    }
    let victims = seed.draws("failure/victims").distinct(s.count("hosts")?, platform.hosts().len());
    for victim in victims {
        fail(&mut scenario, &platform.hosts()[victim].name, vec![outage]);
    }
    Ok(scenario)
}

pub(crate) const FAILURES: &[Parameter] = &[
    Parameter::new(
        "law",
        Kind::Choice(&["exponential", "weibull"]),
        "exponential",
        "of the time to failure",
    ),
    Parameter::new("mtbf", SECONDS, "1d", "mean time between failures of one host"),
    Parameter::new(
        "shape",
        Kind::Number(0.05, 50.0),
        "0.7",
        "weibull: below 1 failures come in bursts",
    )
    .published("0.7 to 0.8 (Schroeder and Gibson 2010)"),
    Parameter::new("repair", SECONDS, "auto", "mean time to repair, exponential; auto: for ever"),
    Parameter::new("horizon", SECONDS, "1d", "failures happen until then"),
    Parameter::new("keeps-data", Kind::Switch, "no", "files are there again when a host is back"),
];

/// Hosts that fail by a rate.
pub(crate) fn failures(s: &Values, seed: Seed, around: &Surroundings<'_>) -> Result<Scenario> {
    let platform = around.platform()?;
    let (mean, until) = (s.number("mtbf")?, s.number("horizon")?);
    if mean <= 0.0 {
        return Err(bad("mtbf", mean, "it must be more than 0"));
    }
    let shape = s.number("shape")?;
    let weibull = s.word("law") == "weibull";
    // A Weibull law of this scale has the mean wanted.
    let scale = mean / gamma_function(1.0 + 1.0 / shape);
    let repair = s.maybe_number("repair");
    let name = format!("{} failures", s.word("law"));
    let mut scenario = Scenario { name, seed: seed.seed, ..Scenario::default() };
    for host in platform.hosts() {
        let mut draws = seed.draws(&format!("failures/{}", host.name));
        let next = |draws: &mut Draws| {
            if weibull { draws.weibull(shape, scale) } else { draws.exponential(mean) }
        };
        let mut outages = Vec::new();
        let mut date = next(&mut draws);
        while date < until {
            let lasts = repair.map(|mean| draws.exponential(mean));
            outages.push(Outage {
                from: Moment::Seconds(date),
                lasts,
                keeps_data: s.switch("keeps-data"),
            });
            let Some(lasts) = lasts else { break };
            date += lasts + next(&mut draws);
        }
        if !outages.is_empty() {
            fail(&mut scenario, &host.name, outages);
        }
    }
    Ok(scenario)
}

/// The gamma function for arguments of at least 1 (Lanczos).
fn gamma_function(x: f64) -> f64 {
    const C: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let sum = C[0] + (1..9).map(|i| C[i] / (x + i as f64)).sum::<f64>();
    let t = x + 7.5;
    (2.0 * std::f64::consts::PI).sqrt() * t.powf(x + 0.5) * (-t).exp() * sum
}

pub(crate) const ERRORS: &[Parameter] = &[
    Parameter::new(
        "law",
        Kind::Choice(&["exact", "uniform", "normal", "log-normal", "bias"]),
        "uniform",
        "of the error factor on run times",
    )
    .published("uniform: bounded percentage (SR, sweeps)"),
    Parameter::new(
        "error",
        Kind::Number(0.0, 1e6),
        "0.2",
        "bound, deviation, sigma or factor of the law",
    )
    .published("0.1, 0.2, 0.3, 0.4, 0.5 (SR)"),
    Parameter::new(
        "transfer-error",
        Kind::Number(0.0, 1e6),
        "0",
        "the same for transfers; 0: exact",
    )
    .published("0"),
    Parameter::new(
        "wrong",
        Kind::Choice(&["actual", "estimate"]),
        "actual",
        "which side is multiplied",
    )
    .published("actual (SR), estimate (sweeps)"),
    Parameter::new(
        "per",
        Kind::Choice(&["task-and-host", "task", "kind"]),
        "task-and-host",
        "what draws its own factor",
    ),
];

/// Wrong estimates on a still platform (quality of information).
pub(crate) fn errors(s: &Values, seed: Seed, _: &Surroundings<'_>) -> Result<Scenario> {
    let law = |size: f64| match s.word("law") {
        "uniform" => ErrorLaw::Uniform { bound: size },
        "normal" => ErrorLaw::Normal { deviation: size },
        "log-normal" => ErrorLaw::LogNormal { sigma: size },
        "bias" => ErrorLaw::Bias { factor: size },
        _ => ErrorLaw::Exact,
    };
    let transfer = s.number("transfer-error")?;
    let errors = EstimateErrors {
        compute: law(s.number("error")?),
        transfer: if transfer > 0.0 { law(transfer) } else { ErrorLaw::Exact },
        wrong: if s.word("wrong") == "estimate" { Wrong::Estimate } else { Wrong::Actual },
        per: match s.word("per") {
            "task" => Grain::Task,
            "kind" => Grain::Kind,
            _ => Grain::TaskAndHost,
        },
    };
    let name = format!("estimates wrong by {}", s.number("error")?);
    // Members of a population differ in the seed of the errors.
    let seed = seed.seed.wrapping_add(seed.member);
    Ok(Scenario { name, seed, errors, ..Scenario::default() })
}

pub(crate) const ARRIVALS: &[Parameter] = &[
    Parameter::new("workflows", Kind::Count(1, 1_000_000), "30", "how many arrive; the given ones in turn")
        .published("30, 50, 100"),
    Parameter::new("law", Kind::Choice(&["poisson", "interval", "tasks", "deadline"]), "poisson", "random or fixed gaps; when a share of the tasks, or of the deadline, of the one before is done")
        .published("poisson, tasks, deadline"),
    Parameter::new("gap", SECONDS, "100s", "poisson: mean; interval: fixed").published("0, 50, 100, 200"),
    Parameter::new("share", Kind::Number(0.0, 1.0), "0.3", "tasks, deadline: the share")
        .published("tasks 0 to 0.9; deadline 0.05, 0.15, 0.3"),
    Parameter::new("deadline", SECONDS, "auto", "of every workflow, after its arrival"),
    Parameter::new("budget", Kind::Number(0.0, f64::INFINITY), "auto", "of every workflow"),
    Parameter::new("owners", Kind::Count(0, 1_000_000), "0", "how many people send them, in turn"),
    Parameter::new("limits", Kind::Choice(&["given", "budgets", "both"]), "given", "as given; budgets drawn between the least and the most that a workflow can cost; deadlines and budgets drawn, tight ones of one with loose ones of the other")
        .published("budgets, both"),
];

/// Workflows that arrive one after another.
pub(crate) fn arrivals(s: &Values, seed: Seed, around: &Surroundings<'_>) -> Result<Scenario> {
    if around.workflows.is_empty() {
        let why = "name the workflows that arrive";
        return Err(GenerateError::Impossible(why.into()));
    }
    let (law, gap, share) = (s.word("law"), s.number("gap")?, s.number("share")?);
    let (deadline, budget) = (s.maybe_number("deadline"), s.maybe_number("budget"));
    let (limits, owners) = (s.word("limits"), s.count("owners")?);
    if law == "deadline" && deadline.is_none() && limits != "both" {
        return Err(bad("law", law, "arrivals by deadline need a --deadline, or --limits both"));
    }
    let given = [("deadline", deadline, limits == "both"), ("budget", budget, limits != "given")];
    if let Some((name, Some(value), _)) = given.into_iter().find(|g| g.1.is_some() && g.2) {
        return Err(bad(name, value, format!("--limits {limits} draws it")));
    }
    let mut scenario =
        Scenario { name: format!("{law} arrivals"), seed: seed.seed, ..Scenario::default() };
    let mut draws = seed.draws("arrivals");
    let mut wishes = seed.draws("limits");
    let mut date = 0.0;
    for (index, workflow) in around.workflows.iter().cycle().take(s.count("workflows")?).enumerate()
    {
        let when = match law {
            "tasks" if index > 0 => When::AfterTasks(share),
            "deadline" if index > 0 => When::AfterDeadline(share),
            _ => When::At(date),
        };
        let mut arrival = Arrival::new(workflow, when);
        arrival.terms.limits = Limits { deadline, budget };
        if owners > 0 {
            arrival.terms.owner = format!("owner{}", index % owners + 1);
        }
        match limits {
            "budgets" => arrival.budget_factor = Some(wishes.unit()),
            "both" => {
                let time = wishes.unit();
                arrival.deadline_factor = Some(time);
                arrival.budget_factor =
                    Some(wishes.unit() / 2.0 + if time < 0.5 { 0.5 } else { 0.0 });
            }
            _ => {}
        }
        scenario.arrivals.push(arrival);
        date += if law == "poisson" { draws.exponential(gap) } else { gap };
    }
    Ok(scenario)
}

/// Puts one world on top of another: the second one's courses replace the first one's, outages
/// and arrivals add up, estimate errors are the second one's where it has any.
pub fn onto(mut below: Scenario, above: Scenario) -> Scenario {
    for story in above.hosts {
        match below.hosts.iter_mut().find(|known| known.host == story.host) {
            Some(known) => {
                known.availability = story.availability.or(known.availability.take());
                known.outages.extend(story.outages);
            }
            None => below.hosts.push(story),
        }
    }
    for story in above.links {
        match below.links.iter_mut().find(|known| known.link == story.link) {
            Some(known) => {
                known.bandwidth = story.bandwidth.or(known.bandwidth.take());
                known.outages.extend(story.outages);
            }
            None => below.links.push(story),
        }
    }
    if above.errors != EstimateErrors::default() {
        below.errors = above.errors;
        below.seed = above.seed;
    }
    below.actuals.extend(above.actuals);
    below.memory.extend(above.memory);
    below.sizes.extend(above.sizes);
    below.copies.extend(above.copies);
    below.arrivals.extend(above.arrivals);
    let parts = [below.name, above.name];
    below.name = parts.into_iter().filter(|n| !n.is_empty()).collect::<Vec<_>>().join(", ");
    below
}

#[cfg(test)]
mod tests;
