//! Log of the events a policy received and the decisions it made, call by call: kept, compared and repeated.
//!
//! A policy is a function of what it is told; two runs of it that are told the same must decide
//! the same, on whatever backend. [`DecisionLog::first_difference`] says where two logs part,
//! [`Repeat`] follows a log instead of thinking.

use crate::journal::JournalError;
use serde::{Deserialize, Serialize};
use slackline_react::{Around, Decision, Event, Explanation, Monitoring, Policy, Situation};
use std::io::{BufRead, Write};

const SCHEMA: &str = "slackline/decisions/1";

/// One call of a policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// When.
    pub at: f64,
    /// Events it received.
    pub events: Vec<Event>,
    /// Decisions it made.
    pub decisions: Vec<Decision>,
    /// Explanation, where it gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Explanation>,
}

/// All calls of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DecisionLog {
    /// When the policy was told of the platform.
    pub monitoring: Monitoring,
    /// Whether it let the decision time pass itself.
    pub keeps_time: bool,
    /// In order of time.
    pub calls: Vec<Call>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    schema: String,
    #[serde(default, skip_serializing_if = "told_at_once")]
    monitoring: Monitoring,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    keeps_time: bool,
}

fn told_at_once(monitoring: &Monitoring) -> bool {
    *monitoring == Monitoring::Continuous
}

impl DecisionLog {
    /// First difference of two logs: the number of the call, and a description.
    pub fn first_difference(&self, other: &DecisionLog) -> Option<(usize, String)> {
        for (index, (a, b)) in self.calls.iter().zip(&other.calls).enumerate() {
            let differs = if a.at != b.at {
                format!("called at {} here, at {} there", a.at, b.at)
            } else if a.events != b.events {
                format!("at {}: told {:?} here, {:?} there", a.at, a.events, b.events)
            } else if a.decisions != b.decisions {
                let pairs = a.decisions.iter().zip(&b.decisions);
                let same = pairs.take_while(|(x, y)| x == y).count();
                let show = |call: &Call| match call.decisions.get(same) {
                    Some(decision) => format!("{decision:?}"),
                    None => "nothing more".to_string(),
                };
                format!("at {}: decides {} here, {} there", a.at, show(a), show(b))
            } else {
                continue;
            };
            return Some((index, differs));
        }
        let (mine, theirs) = (self.calls.len(), other.calls.len());
        let shorter = mine.min(theirs);
        (mine != theirs).then(|| (shorter, format!("{mine} calls here, {theirs} there")))
    }

    /// Writes one JSON object a line: a header, then the calls.
    pub fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let DecisionLog { monitoring, keeps_time, .. } = *self;
        let header = Header { schema: SCHEMA.to_string(), monitoring, keeps_time };
        writeln!(out, "{}", serde_json::to_string(&header)?)?;
        for call in &self.calls {
            writeln!(out, "{}", serde_json::to_string(call)?)?;
        }
        Ok(())
    }

    /// Reads what [`write`](DecisionLog::write) wrote; an error names the line.
    pub fn read(input: &mut dyn BufRead) -> Result<DecisionLog, JournalError> {
        let mut lines = input.lines().enumerate();
        let at = JournalError::at;
        let (_, first) = lines.next().ok_or_else(|| JournalError::of("it is empty"))?;
        let header: Header =
            serde_json::from_str(&first.map_err(|e| at(0, &e))?).map_err(|e| at(0, &e))?;
        if header.schema != SCHEMA {
            return Err(at(0, &format!("schema '{}', not '{SCHEMA}'", header.schema)));
        }
        let Header { monitoring, keeps_time, .. } = header;
        let mut log = DecisionLog { monitoring, keeps_time, calls: Vec::new() };
        for (number, line) in lines {
            let line = line.map_err(|e| at(number, &e))?;
            log.calls.push(serde_json::from_str(&line).map_err(|e| at(number, &e))?);
        }
        Ok(log)
    }
}

/// A policy whose calls are written down.
pub struct Logged<'p> {
    policy: &'p mut dyn Policy,
    /// The calls so far.
    pub log: DecisionLog,
}

impl<'p> Logged<'p> {
    /// Listens to a policy.
    pub fn new(policy: &'p mut dyn Policy) -> Logged<'p> {
        let (monitoring, keeps_time) = (policy.monitoring(), policy.keeps_time());
        let log = DecisionLog { monitoring, keeps_time, calls: Vec::new() };
        Logged { policy, log }
    }
}

impl Around for Logged<'_> {
    fn inner(&self) -> &dyn Policy {
        &*self.policy
    }

    fn inner_mut(&mut self) -> &mut dyn Policy {
        &mut *self.policy
    }

    fn call(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        let before = decisions.len();
        self.policy.react(events, now, decisions);
        let (events, decisions) = (events.to_vec(), decisions[before..].to_vec());
        let why = self.policy.reasons();
        self.log.calls.push(Call { at: now.now, events, decisions, why });
    }
}

/// Decides what a log says; gives up when it is told something else.
#[derive(Clone, Debug)]
pub struct Repeat {
    log: DecisionLog,
    next: usize,
}

impl Repeat {
    /// Follows a log.
    pub fn new(log: DecisionLog) -> Repeat {
        Repeat { log, next: 0 }
    }
}

impl Policy for Repeat {
    fn monitoring(&self) -> Monitoring {
        self.log.monitoring
    }

    fn collects(&self) -> bool {
        self.next < self.log.calls.len()
    }

    fn keeps_time(&self) -> bool {
        self.log.keeps_time
    }

    /// Skips events that the log skips; an event that comes later than logged is a departure.
    fn wants(&mut self, events: &[Event], now: &Situation) -> bool {
        let next = self.log.calls.get(self.next);
        next.is_some_and(|c| now.now > c.at || (now.now == c.at && c.events == events))
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        match self.log.calls.get(self.next) {
            Some(call) if call.at == now.now && call.events == events => {
                self.next += 1;
                decisions.extend_from_slice(&call.decisions);
            }
            Some(call) => {
                let (at, told) = (call.at, &call.events);
                decisions.push(Decision::GiveUp(format!(
                    "the run departs from the log at call {}: told {events:?} at {}, the log has {told:?} at {at}",
                    self.next, now.now
                )));
            }
            None => {} // what followed was of no interest to the policy
        }
    }
}
