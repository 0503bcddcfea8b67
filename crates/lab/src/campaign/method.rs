//! The methods of a campaign by name: `heft`, `best?iterations=500`, `slackline:peft`.

use slackline_formats::{FormatError, Result};
use slackline_model::nearest::did_you_mean;
use slackline_model::parameter::{self, Given};
use slackline_model::{Problem, schedule::Limits};
use slackline_react::Policy;
use slackline_react::registry::{self as policies, Entry, Options};
use slackline_schedule::list::heft::HEFT;
use slackline_schedule::registry::{self as planners, usual};
use slackline_schedule::{Algorithm, Planner, Request};
use std::fmt;

/// Kind of evaluation of methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Their plans.
    Plan,
    /// Simulated runs.
    Simulate,
}

impl Kind {
    /// As in the file.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Plan => "plan",
            Kind::Simulate => "simulate",
        }
    }
}

/// A planner or policy with its parameters.
#[derive(Clone)]
pub struct Method {
    /// Kind of its evaluation.
    pub kind: Kind,
    /// As it was named.
    pub text: String,
    policy: Option<&'static Entry>,
    planner: Option<&'static Algorithm>,
    given: Given,
    iterations: Option<u64>,
}

impl PartialEq for Method {
    fn eq(&self, other: &Method) -> bool {
        self.kind == other.kind && self.text == other.text
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.name(), self.text)
    }
}

impl Method {
    /// Reads a planner, or a policy with the planner it follows.
    pub fn parse(kind: Kind, text: &str) -> Result<Method> {
        let (name, set) = text.split_once('?').unwrap_or((text, ""));
        let mut given = Given::new();
        let mut iterations = None;
        for pair in set.split('&').filter(|pair| !pair.is_empty()) {
            let Some((name, value)) = pair.split_once('=') else {
                return Err(FormatError::new(format!("{text}: expected name?parameter=value")));
            };
            match name {
                "time-limit" | "time_limit" => {
                    let why = "a time limit gives other results on other machines";
                    return Err(FormatError::new(format!("{text}: {why}"))
                        .with_help("limit iterations instead"));
                }
                "iterations" => {
                    let number = value.parse().ok().filter(|&n: &u64| n > 0);
                    let wrong =
                        || FormatError::new(format!("{text}: iterations is a whole number"));
                    iterations = Some(number.ok_or_else(wrong)?);
                }
                _ => given.push((name.to_string(), value.to_string())),
            }
        }
        let (policy, planner) = match kind {
            Kind::Plan => (None, Some(planner_named(name)?)),
            Kind::Simulate => {
                let (policy, planner) = match name.split_once(':') {
                    _ if policies::find(name).is_some() => (name, None),
                    Some((policy, planner)) => (policy, Some(planner_named(planner)?)),
                    None => (name, None),
                };
                let entry = policies::find(policy).ok_or_else(|| {
                    let near = did_you_mean(policy, policies::ALL.iter().map(|e| e.name));
                    FormatError::new(format!("there is no policy {policy}{near}"))
                })?;
                (Some(entry), planner)
            }
        };
        if !given.is_empty() {
            let policy = policy.map(|p| (p.name, p.parameters));
            let parts = policy.into_iter().chain(planner.map(|p| (p.name, p.parameters)));
            parameter::check_known(&given, parts).map_err(FormatError::new)?;
        }
        let method = Method { kind, text: text.to_string(), policy, planner, given, iterations };
        // Values that no run could take are refused now.
        if let Some(policy) = method.policy {
            policy.policy(&method.options(&HEFT, 0)).map_err(FormatError::new)?;
        }
        if let Some(planner) = method.planner {
            planner.values(&method.request(0)).map_err(FormatError::new)?;
        }
        Ok(method)
    }

    fn request(&self, seed: u64) -> Request {
        Request {
            seed,
            iterations: self.iterations,
            threads: Some(1),
            given: self.given.clone(),
            ..Request::default()
        }
    }

    fn options(&self, planner: &'static Algorithm, seed: u64) -> Options {
        let planner = Planner { algorithm: planner, request: self.request(seed) };
        Options { given: self.given.clone(), seed, ..Options::new(planner) }
    }

    /// The planner for a problem, or what the problem lacks.
    pub fn planner(
        &self,
        problem: &Problem<'_>,
        seed: u64,
    ) -> std::result::Result<Planner, String> {
        let algorithm = self.planner.unwrap_or_else(|| usual(problem));
        match algorithm.lacks(problem, &Limits::default()) {
            Some(need) => Err(format!("{} needs {}", algorithm.name, need.phrase())),
            None => Ok(Planner { algorithm, request: self.request(seed) }),
        }
    }

    /// The policy for a problem, or what the problem lacks.
    pub fn policy(
        &self,
        problem: &Problem<'_>,
        seed: u64,
    ) -> std::result::Result<Box<dyn Policy>, String> {
        let Some(entry) = self.policy else { return Err(format!("{} is no policy", self.text)) };
        let limits = Limits::default();
        if let Some(need) = entry.needs.iter().find(|need| !need.is_met(problem, &limits)) {
            return Err(format!("{} needs {}", entry.name, need.phrase()));
        }
        let planner = self.planner(problem, seed)?.algorithm;
        entry.policy(&self.options(planner, seed)).map_err(|error| error.to_string())
    }
}

fn planner_named(name: &str) -> Result<&'static Algorithm> {
    planners::find(name).ok_or_else(|| {
        let near = did_you_mean(name, planners::ALL.iter().map(|a| a.name));
        FormatError::new(format!("there is no planner {name}{near}"))
    })
}
