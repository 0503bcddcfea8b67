//! Decisions: their names, how they are drawn, and outcomes that are given.

use super::walk::Due;
use super::{Choice, Control, Loop, Reads, Value};
use crate::rng::stream;
use rand::Rng;
use std::collections::BTreeMap;
use std::fmt;

/// The kind of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DecisionKind {
    /// Selection of a branch of the choice with this number.
    Choice(u32),
    /// Whether a loop goes round again after a pass.
    Loop {
        /// The loop.
        number: u32,
        /// The pass that has ended, from 1.
        pass: u64,
    },
}

/// A decision of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// `outer#2/c` for a choice, `outer#2/l#1` for a loop after its first pass.
    pub name: String,
    /// A branch to take, or another pass of a loop.
    pub kind: DecisionKind,
}

/// Outcomes that are given instead of drawn, by the name of the decision.
pub type Given = BTreeMap<String, String>;

/// An outcome that a decision does not have, or a decision that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeError(pub String);

impl fmt::Display for OutcomeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OutcomeError {}

/// Says how decisions fall: an outcome is a branch number, or for loops 1 for another pass and 0
/// for the end.
pub trait Decider {
    /// The outcome of a decision that is due.
    fn decide(&mut self, control: &Control, decision: &Decision) -> Result<u32, OutcomeError>;
}

/// Decisions drawn from one stream each, unless they are given.
#[derive(Clone, Debug, Default)]
pub struct Chances {
    /// The seed of all draws.
    pub seed: u64,
    /// The number of the run.
    pub run: u64,
    /// Outcomes that are not drawn.
    pub given: Given,
}

impl Chances {
    /// The number in [0, 1) that a decision is drawn with: the first of its own stream, so that no
    /// draw shifts another.
    pub fn unit(&self, decision: &str) -> f64 {
        let mut draws = stream(self.seed, &format!("choice/{decision}"), self.run);
        (draws.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

impl Decider for Chances {
    fn decide(&mut self, control: &Control, decision: &Decision) -> Result<u32, OutcomeError> {
        if let Some(outcome) = self.given.get(&decision.name) {
            return control.outcome_named(decision, outcome);
        }
        let u = self.unit(&decision.name);
        Ok(match decision.kind {
            DecisionKind::Choice(c) => control.choices[c as usize].drawn(u),
            DecisionKind::Loop { number, pass } => {
                u32::from(u < control.loops[number as usize].law.again(pass))
            }
        })
    }
}

impl Choice {
    /// The first branch whose cumulated probability exceeds `u`; the last one takes the rest.
    fn drawn(&self, u: f64) -> u32 {
        let mut sum = 0.0;
        let exceeds = |p: f64| {
            sum += p;
            sum > u
        };
        let found = self.branches.iter().map(|b| b.probability).position(exceeds);
        found.unwrap_or(self.branches.len() - 1) as u32
    }

    fn outcomes(&self) -> Vec<&str> {
        self.branches.iter().map(|b| b.name.as_str()).collect()
    }
}

impl Loop {
    /// Names of the outcomes: the end and another pass.
    pub const OUTCOMES: [&'static str; 2] = ["exit", "again"];
}

impl Control {
    /// Returns the name of an outcome: of a branch, or one of [`Loop::OUTCOMES`].
    pub fn outcome_name(&self, decision: &Decision, outcome: u32) -> &str {
        match decision.kind {
            DecisionKind::Choice(c) => &self.choices[c as usize].branches[outcome as usize].name,
            DecisionKind::Loop { .. } => Loop::OUTCOMES[(outcome > 0) as usize],
        }
    }

    /// The outcome of that name.
    pub fn outcome_named(&self, decision: &Decision, name: &str) -> Result<u32, OutcomeError> {
        let known = match decision.kind {
            DecisionKind::Choice(c) => self.choices[c as usize].outcomes(),
            DecisionKind::Loop { .. } => Loop::OUTCOMES.to_vec(),
        };
        let found = known.iter().position(|k| *k == name).map(|at| at as u32);
        let outcome = found.ok_or_else(|| {
            OutcomeError(format!(
                "decision '{}' has no outcome '{name}': it is one of {}",
                decision.name,
                known.join(", ")
            ))
        })?;
        match self.last_pass(decision) {
            Some(most) if outcome > 0 => Err(OutcomeError(format!(
                "decision '{}' cannot be 'again': the loop has at most {most} passes",
                decision.name
            ))),
            _ => Ok(outcome),
        }
    }

    /// The number of passes, where this is the decision after the last that the loop may have.
    pub fn last_pass(&self, decision: &Decision) -> Option<u64> {
        match decision.kind {
            DecisionKind::Choice(_) => None,
            DecisionKind::Loop { number, pass } => {
                self.loops[number as usize].law.most().filter(|&most| pass >= most)
            }
        }
    }

    /// The outcome that is certain whatever is read: that of a loop with a fixed number of passes.
    pub fn certain_outcome(&self, decision: &Decision) -> Option<u32> {
        match decision.kind {
            DecisionKind::Choice(_) => None,
            DecisionKind::Loop { number, pass } => {
                let passes = self.loops[number as usize].law.passes();
                let certain = passes.least == passes.most;
                certain.then(|| u32::from((pass as f64) < passes.most))
            }
        }
    }

    /// The task whose end decides, and what of it is read.
    pub fn read_by(&self, decision: &Decision) -> Option<(u32, &Reads)> {
        let (by, reads) = match decision.kind {
            DecisionKind::Choice(c) => {
                let choice = &self.choices[c as usize];
                (choice.by, &choice.reads)
            }
            DecisionKind::Loop { number, .. } => {
                let spec = &self.loops[number as usize];
                (spec.by, &spec.reads)
            }
        };
        Some((by?, reads.as_ref()?))
    }

    /// Name of the instance whose end decides.
    pub fn decider_of(&self, decision: &Decision) -> Option<String> {
        let (by, _) = self.read_by(decision)?;
        let path = match decision.kind {
            DecisionKind::Choice(_) => decision.name.rsplit_once('/').map_or("", |(path, _)| path),
            DecisionKind::Loop { .. } => decision.name.as_str(),
        };
        Some(match path {
            "" => self.task_name(by).to_string(),
            path => format!("{path}/{}", self.task_name(by)),
        })
    }

    /// Returns the outcome that follows from a value; none where the workflow does not say.
    pub fn outcome_of(&self, decision: &Decision, value: &Value) -> Option<u32> {
        match decision.kind {
            DecisionKind::Choice(c) => {
                let branches = &self.choices[c as usize].branches;
                let listed = branches.iter().position(|b| b.when.contains(value));
                let found = listed.or_else(|| branches.iter().position(|b| b.otherwise));
                found.map(|at| at as u32)
            }
            DecisionKind::Loop { number, .. } => {
                let spec = &self.loops[number as usize];
                if spec.again_when.contains(value) {
                    Some(1)
                } else if spec.stop_when.contains(value) {
                    Some(0)
                } else {
                    spec.otherwise.map(u32::from)
                }
            }
        }
    }

    /// The values that a decision understands, with what each leads to.
    pub fn values_of(&self, decision: &Decision) -> String {
        let all = |values: &[Value], outcome: &str| -> Vec<String> {
            values.iter().map(|value| format!("{value} ({outcome})")).collect()
        };
        match decision.kind {
            DecisionKind::Choice(c) => {
                let branches = self.choices[c as usize].branches.iter();
                branches.flat_map(|b| all(&b.when, &b.name)).collect::<Vec<_>>().join(", ")
            }
            DecisionKind::Loop { number, .. } => {
                let spec = &self.loops[number as usize];
                let [exit, again] = Loop::OUTCOMES;
                [all(&spec.again_when, again), all(&spec.stop_when, exit)].concat().join(", ")
            }
        }
    }

    /// Fails where the run of real tasks could not decide: a choice or loop without a decider, or a branch
    /// that no value leads to.
    pub fn check_decidable(&self) -> Result<(), OutcomeError> {
        let error = |message: String| Err(OutcomeError(message));
        let read = |what: &str, by: Option<u32>, reads: &Option<Reads>| match (by, reads) {
            (None, _) => error(format!(
                "{what} cannot be decided in a run: `by` names the task whose end decides"
            )),
            (_, None) => error(format!(
                "{what} cannot be decided in a run: `reads` says what of its task is read, \"exit-code\" or a place in an output"
            )),
            _ => Ok(()),
        };
        for choice in &self.choices {
            let what = format!("choice '{}'", choice.name);
            read(&what, choice.by, &choice.reads)?;
            let dead = choice.branches.iter().find(|b| b.when.is_empty() && !b.otherwise);
            if let Some(branch) = dead {
                return error(format!(
                    "{what}: no value leads to branch '{}'; `when` lists them, or else = true",
                    branch.name
                ));
            }
        }
        for spec in &self.loops {
            let passes = spec.law.passes();
            if passes.least == passes.most && spec.by.is_none() {
                continue;
            }
            let what = format!("loop '{}'", spec.name);
            read(&what, spec.by, &spec.reads)?;
            for (values, name, otherwise) in
                [(&spec.again_when, "again", true), (&spec.stop_when, "stop", false)]
            {
                if values.is_empty() && spec.otherwise != Some(otherwise) {
                    return error(format!("{what}: no value means `{name}`"));
                }
            }
        }
        Ok(())
    }

    /// Checks that given outcomes name decisions that can occur, and outcomes they have.
    pub fn check_given(&self, given: &Given) -> Result<(), OutcomeError> {
        for (name, outcome) in given {
            let decision = self.decision_named(name).map_err(OutcomeError)?;
            self.outcome_named(&decision, outcome)?;
        }
        Ok(())
    }

    /// Finds the decision that a name such as `outer#2/l#1` means.
    pub fn decision_named(&self, name: &str) -> Result<Decision, String> {
        let unknown = |why: String| format!("there is no decision '{name}': {why}");
        let (path, last) = name.rsplit_once('/').map_or(("", name), |(path, last)| (path, last));
        let numbered = |part: &str| -> Option<(String, u64)> {
            let (loop_name, pass) = part.rsplit_once('#')?;
            let plain = !pass.is_empty() && pass.bytes().all(|b| b.is_ascii_digit());
            let pass: u64 = pass.parse().ok().filter(|&p| p > 0 && plain)?;
            Some((loop_name.to_string(), pass))
        };
        let find_loop = |name: &str| self.loops.iter().position(|l| l.name == name);
        let (kind, item) = match numbered(last) {
            Some((loop_name, pass)) => {
                let Some(number) = find_loop(&loop_name) else {
                    return Err(unknown(format!("no loop has the name '{loop_name}'")));
                };
                let spec = &self.loops[number];
                if let Some(most) = spec.law.most().filter(|&most| pass > most) {
                    return Err(unknown(format!("'{loop_name}' has at most {most} passes")));
                }
                let number = number as u32;
                (DecisionKind::Loop { number, pass }, super::Item::Loop(number))
            }
            None => match self.choices.iter().position(|c| c.name == last) {
                Some(number) => {
                    (DecisionKind::Choice(number as u32), super::Item::Choice(number as u32))
                }
                None if find_loop(last).is_some() => {
                    let why = format!("a loop is decided after each pass: '{name}#1' and so on");
                    return Err(unknown(why));
                }
                None => return Err(unknown(format!("no choice has the name '{last}'"))),
            },
        };
        // The loops around it, the outermost first.
        let mut around = Vec::new();
        let mut region = self.region_of(item);
        while let Some(block) = self.block_of(region) {
            if let super::Item::Loop(l) = block {
                around.push(&self.loops[l as usize]);
            }
            region = self.region_of(block);
        }
        around.reverse();
        let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
        let fits = |(spec, part): (&&Loop, &&str)| {
            numbered(part).is_some_and(|(name, pass)| {
                name == spec.name && spec.law.most().is_none_or(|most| pass <= most)
            })
        };
        if around.len() != parts.len() || !around.iter().zip(&parts).all(fits) {
            let form: String = around.iter().map(|l| format!("{}#PASS/", l.name)).collect();
            return Err(unknown(format!("its name is {form}{last}")));
        }
        Ok(Decision { name: name.to_string(), kind })
    }

    /// A decision that is due, by name and kind; none for joins, which decide nothing.
    pub fn decision_of(&self, due: &Due) -> Option<Decision> {
        due.kind.map(|kind| Decision { name: due.name.clone(), kind })
    }
}
