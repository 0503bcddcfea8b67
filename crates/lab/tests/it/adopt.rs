//! Frequency with which a comparison finds a gain, for equal and for better candidates.

#![allow(clippy::unwrap_used)]

use slackline_analysis::statistics::wilson;
use slackline_centre::batch::{Machine, Site};
use slackline_generate::workload::Lublin;
use slackline_lab::adopt::{FALSE_GAIN_RATE, Question, Side, Workload};
use slackline_lab::compare::Verdict;
use std::collections::HashMap;

fn side(policy: &str) -> Side {
    let site = Site::new(Machine::Cores(64)).unwrap();
    Side { policy: policy.parse().unwrap(), site, speed: 1.0 }
}

fn question(baseline: &str, candidate: &str) -> Question<'static> {
    let lublin = Lublin { jobs: 80, cores: 64, load: Some(0.9), ..Lublin::default() };
    Question {
        baseline: side(baseline),
        candidate: side(candidate),
        workload: Workload::Generated(lublin),
        replicas: 12,
        seed: 1,
        independent: false,
        limits: HashMap::new(),
    }
}

#[test]
fn equals_on_independent_draws_rarely_win() {
    let equals = Question { independent: true, ..question("easy", "easy") };
    let found = equals.trials(60).unwrap();
    assert!(wilson(found.adopted, found.trials).low <= FALSE_GAIN_RATE, "{found:?}");
}

#[test]
fn a_machine_five_percent_faster_is_found() {
    let mut faster = question("easy", "easy");
    faster.candidate.speed = 1.05;
    let found = faster.trials(20).unwrap();
    assert!(found.adopted >= 16, "{found:?}");
}

#[test]
fn backfilling_is_adopted_and_its_opposite_is_not() {
    let answer = question("fcfs", "easy").answer().unwrap();
    assert!(answer.gains.contains(&"waiting_time".to_string()), "{:?}", answer.regression);
    assert_eq!(answer, question("fcfs", "easy").answer().unwrap());
    let back = question("easy", "fcfs").answer().unwrap();
    assert_eq!((back.regression.verdict, back.is_adopted), (Verdict::Loss, false));
    // The same side on the same draws changes nothing.
    let same = question("fcfs", "fcfs").answer().unwrap();
    assert!(same.gains.is_empty() && same.regression.verdict == Verdict::Held);
}
