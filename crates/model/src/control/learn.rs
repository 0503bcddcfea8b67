//! Probabilities of decisions by how they fell in runs.

use super::decisions::DecisionKind;
use super::{Control, Iterations, Loop};

/// The longest table of passes; longer loops get a probability of another pass.
const MOST_LISTED: u64 = 100;

/// How often decisions fell in each way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DecisionCounts {
    /// Per choice: how often each branch was taken.
    choices: Vec<Vec<u64>>,
    /// Per loop: how often it ended after 1, 2, 3 … passes.
    loops: Vec<Vec<u64>>,
}

impl DecisionCounts {
    /// Adds a decision of a run. What the workflow does not have is left out: it was another version of it.
    pub fn add(&mut self, control: &Control, decision: &str, outcome: &str) {
        let Ok(decision) = control.decision_named(decision) else { return };
        let Ok(outcome) = control.outcome_named(&decision, outcome) else { return };
        match decision.kind {
            DecisionKind::Choice(choice) => count(&mut self.choices, choice, u64::from(outcome)),
            DecisionKind::Loop { number, pass } if outcome == 0 => {
                count(&mut self.loops, number, pass - 1);
            }
            DecisionKind::Loop { .. } => {}
        }
    }

    /// How often each branch of a choice was taken; empty where it was not decided.
    pub fn of_choice(&self, choice: usize) -> &[u64] {
        self.choices.get(choice).map_or(&[], Vec::as_slice)
    }

    /// How often a loop ended after 1, 2, 3 … passes; empty where it was not decided.
    pub fn of_loop(&self, number: usize) -> &[u64] {
        self.loops.get(number).map_or(&[], Vec::as_slice)
    }
}

fn count(all: &mut Vec<Vec<u64>>, block: u32, at: u64) {
    let (block, at) = (block as usize, at as usize);
    if all.len() <= block {
        all.resize(block + 1, Vec::new());
    }
    if all[block].len() <= at {
        all[block].resize(at + 1, 0);
    }
    all[block][at] += 1;
}

/// `(k + 1) / (n + all)` for each of so many outcomes: no one is impossible for not having been seen.
fn shares(counts: &[u64], all: usize) -> Vec<f64> {
    let seen: u64 = counts.iter().sum();
    let of = |at: usize| counts.get(at).copied().unwrap_or(0) + 1;
    (0..all).map(|at| of(at) as f64 / (seen + all as u64) as f64).collect()
}

impl Loop {
    /// The number of passes by how often the loop ended after 1, 2, 3 … passes. Its limit stays.
    fn learnt(&self, seen: &[u64]) -> Iterations {
        let most = self.law.most();
        if let Some(most) = most.filter(|most| *most <= MOST_LISTED) {
            return Iterations::Table(shares(seen, seen.len().max(most as usize)));
        }
        let ends: u64 = seen.iter().sum();
        let passes: u64 = (1..).zip(seen).map(|(pass, times): (u64, &u64)| pass * times).sum();
        Iterations::Again { again: (passes - ends + 1) as f64 / (passes + 2) as f64, max: most }
    }
}

impl Control {
    /// The same choices and loops with probabilities by how decisions fell; blocks that were not decided stay as they are.
    pub fn with_counts(&self, counts: &DecisionCounts) -> Control {
        let mut learnt = self.clone();
        for (number, choice) in learnt.choices.iter_mut().enumerate() {
            let seen = counts.of_choice(number);
            if seen.is_empty() {
                continue;
            }
            choice.is_known = true;
            let shares = shares(seen, choice.branches.len());
            for (branch, share) in choice.branches.iter_mut().zip(shares) {
                branch.probability = share;
            }
        }
        for (number, spec) in learnt.loops.iter_mut().enumerate() {
            let seen = counts.of_loop(number);
            if seen.is_empty() || matches!(spec.iterations, Iterations::Fixed(_)) {
                continue;
            }
            spec.iterations = spec.learnt(seen);
            spec.law = spec.iterations.law();
        }
        learnt
    }
}
