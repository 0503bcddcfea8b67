//! The same worlds behind a backend that answers late, in another order, twice, or not at all,
//! and whose operations fail by themselves.
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::cases;
use common::late::{DelayedBackend, Disorder};
use common::world::{World, harsh, plain};
use proptest::prelude::*;
use slackline_engine::{Ending, Execution};
use slackline_model::trace::Happening;
use slackline_react::registry::Options;
use slackline_schedule::registry::find;
use std::collections::{HashMap, HashSet};

fn disorder() -> impl Strategy<Value = Disorder> {
    let late = prop::sample::select(vec![0.0, 0.5, 3.0]);
    let percents = (0u32..20, 0u32..60, 0u32..30);
    let silence = prop::sample::select(vec![None, Some((11.0, 2.0)), Some((20.0, 6.0))]);
    (any::<u64>(), late, percents, silence).prop_map(|(seed, late, percents, silence)| {
        let (failing, waiting, twice) = percents;
        Disorder { seed, late, failing, waiting, twice, silence, keeps_all: false }
    })
}

proptest! {
    #![proptest_config(cases(100))]
    #[test]
    fn late_answers_break_nothing(world in plain(), disorder in disorder()) {
        let world = World { retries: 60, ..world };
        let keeps_all = world.outages.iter().all(Vec::is_empty);
        let disorder = Disorder { keeps_all, ..disorder };
        for (name, mut policy) in world.policies() {
            let (outcome, seen) = world.watched(name, policy.as_mut(), Some(disorder));
            let verdict = world.replay(&outcome, &seen, true);
            prop_assert!(verdict.is_ok(), "{name}: {}", verdict.unwrap_err());
            prop_assert_eq!(&outcome.ending, &Ending::Finished, "{}", name);
        }
    }

    #[test]
    fn late_answers_of_hosts_that_come_and_go_break_nothing(
        world in harsh(),
        disorder in disorder(),
    ) {
        let world = World { retries: 60, ..world };
        for (name, mut policy) in world.policies() {
            let (outcome, seen) = world.watched(name, policy.as_mut(), Some(disorder));
            let verdict = world.replay(&outcome, &seen, true);
            prop_assert!(verdict.is_ok(), "{name}: {}", verdict.unwrap_err());
        }
    }
}

/// Two hosts, three tasks in a row.
fn chain() -> World {
    World::still(vec![vec![2.0, 3.0]; 3], &[(0, 1, 2.0), (1, 2, 2.0)])
}

const PUNCTUAL: Disorder = Disorder {
    seed: 1,
    late: 0.0,
    failing: 0,
    waiting: 0,
    twice: 0,
    silence: None,
    keeps_all: true,
};

#[test]
fn what_fails_of_itself_is_tried_again_elsewhere_first() {
    let (mut failed, mut moved) = (0, 0);
    for seed in 0..40 {
        let disorder = Disorder { seed, failing: 15, ..PUNCTUAL };
        for (name, mut policy) in chain().policies() {
            let (outcome, _) =
                World { retries: 30, ..chain() }.watched(name, policy.as_mut(), Some(disorder));
            assert_eq!(outcome.ending, Ending::Finished, "{name}, {seed}");
            assert_eq!(outcome.counters.abandoned, 0, "{name}, {seed}");
            let mut last = HashMap::new();
            let mut fell = HashSet::new();
            for record in outcome.trace.records() {
                match &record.what {
                    Happening::TaskStarted { task, procs } => {
                        let before = last.insert(*task, procs.clone());
                        if fell.remove(task) {
                            moved += usize::from(before.as_ref() != Some(procs));
                        }
                    }
                    Happening::TaskFailed { task, .. } => {
                        failed += 1;
                        fell.extend(last.contains_key(task).then_some(*task));
                    }
                    _ => {}
                }
            }
        }
    }
    assert!(failed > 100 && moved > failed / 8, "{failed} failures, {moved} moved");
}

#[test]
fn what_fails_for_ever_is_abandoned_and_says_what_it_blocks() {
    let options = Options::new(find("heft").unwrap());
    let mut policy = slackline_react::registry::find("static").unwrap().policy(&options).unwrap();
    let world = World { retries: 2, ..chain() };
    let disorder = Disorder { failing: 100, ..PUNCTUAL };
    let outcome = world.with_backend(|backend| {
        let mut late = DelayedBackend::new(backend, disorder);
        let execution: Execution<'_> = world.execution();
        execution.run(policy.as_mut(), &mut late).unwrap()
    });
    let Ending::CannotFinish(why) = &outcome.ending else { panic!("nothing ever succeeds") };
    assert!(why.contains("'v0' was abandoned: it failed 3 times"), "{why}");
    assert!(why.contains("2 tasks depend on it"), "{why}");
    assert_eq!(outcome.counters.abandoned, 1);
    let told =
        |r: &&slackline_model::trace::Record| matches!(r.what, Happening::TaskAbandoned { .. });
    assert_eq!(outcome.trace.records().iter().filter(told).count(), 1);
}
