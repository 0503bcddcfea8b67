//! Guarantees of `slackline`, over random small cases: where nothing happens it ends no later than
//! `static` with any window and moves nothing; anywhere, it follows another plan only where that was shown
//! to end sooner than the one under way.
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::cases;
use common::world::{World, plain};
use proptest::prelude::*;
use slackline_engine::{DecisionLog, Dispatch, Ending, Logged, Outcome};
use slackline_react::{Decision, Policy, Slackline, StaticPlan, Transfers};
use slackline_schedule::registry::find;
use std::collections::BTreeMap;

const WINDOWS: [Transfers; 4] = [
    Transfers::Push,
    Transfers::Pull { window: 6 },
    Transfers::Pull { window: 2 },
    Transfers::Pull { window: 1 },
];

/// Largest accepted ratio to the end of `static` where nothing happens.
const LATER: f64 = 1.005;

fn run(world: &World, policy: &mut dyn Policy) -> Outcome {
    let outcome = world.with_backend(|backend| world.execution().run(policy, backend).unwrap());
    assert_eq!(outcome.ending, Ending::Finished);
    outcome
}

fn ours(world: &World) -> (Outcome, DecisionLog) {
    let mut policy = Slackline::default();
    let mut logged = Logged::new(&mut policy);
    let outcome = run(world, &mut logged);
    (outcome, logged.log)
}

fn stilled(world: World) -> World {
    World {
        levels: vec![BTreeMap::new(); world.levels.len()],
        outages: vec![Vec::new(); world.outages.len()],
        links: BTreeMap::new(),
        delays: (0.0, 0.0),
        dispatch: Dispatch::InOrder,
        ..world
    }
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn where_nothing_happens_it_is_never_later_than_static(world in plain()) {
        let world = stilled(world);
        let (outcome, _) = ours(&world);
        prop_assert_eq!(outcome.counters.migrations, 0, "moves without cause");
        for window in WINDOWS {
            let plain = run(&world, &mut StaticPlan::new(find("heft").unwrap(), window)).makespan;
            let (end, most) = (outcome.makespan, plain * LATER);
            prop_assert!(end <= most + 1e-9, "{end} after {plain} of {window:?}");
        }
    }

    #[test]
    fn another_plan_was_shown_to_end_sooner(world in plain()) {
        let (_, log) = ours(&world);
        for call in &log.calls {
            let adopts = call.decisions.iter().any(|d| matches!(d, Decision::Adopt(_)));
            let Some(reasons) = call.why.as_ref().filter(|why| why.taken > 0) else { continue };
            let (kept, taken) = (&reasons.alternatives[0], &reasons.alternatives[reasons.taken]);
            // What is under way with another habit is under way already.
            let same = taken.plan == "as it is" || taken.plan.starts_with("as it is + ");
            prop_assert!(adopts || same, "weighed, taken and not followed");
            // Where what is under way leads nowhere anything is better.
            let shown = match (kept.mean, taken.mean) {
                (Some(kept), Some(taken)) => taken <= kept,
                _ => kept.forecast.is_none_or(|kept| taken.forecast.is_some_and(|f| f < kept)),
            };
            prop_assert!(shown, "at {}: {taken:?} for {kept:?}", call.at);
        }
    }
}
