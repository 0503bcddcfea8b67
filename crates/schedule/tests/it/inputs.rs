//! Inputs on the origin, shared storage and charged networks: every planner's plan is valid, no bound exceeds
//! its makespan, and files go to a place once.

#![allow(clippy::unwrap_used)]

use crate::random;

use proptest::prelude::*;
use random::Clusters;
use slackline_model::platform::{Band, Charges, Contention};
use slackline_model::problem::{Inputs, Staging};
use slackline_model::schedule::{Limits, validate};
use slackline_model::{HostId, Problem, TaskId, approx};
use slackline_schedule::list::{Partial, Slot};
use slackline_schedule::{Request, bounds, registry, retime};
use std::collections::HashSet;

/// Factors by size, a window and acknowledgements.
fn charges(kind: u8) -> Charges {
    let band = |above, latency, bandwidth| Band { above, latency, bandwidth };
    match kind {
        0 => Charges::default(),
        1 => Charges {
            bands: vec![band(f64::NEG_INFINITY, 13.01, 0.97)],
            link_factor: 0.97,
            window: 4.0,
            window_scaled: true,
            acknowledgements: 0.05,
            contention: Contention::Shared,
            ..Charges::default()
        },
        _ => Charges {
            bands: vec![
                band(f64::NEG_INFINITY, 1.0, 1.0),
                band(4.0, 3.0, 0.8),
                band(9.0, 5.0, 0.9),
            ],
            ..Charges::default()
        },
    }
}

proptest! {
    #![proptest_config(slackline_testkit::cases(60))]

    #[test]
    fn plans_with_inputs_are_valid_and_above_the_bound(
        seed in any::<u64>(),
        tasks in 1u32..12,
        shared in any::<[bool; 2]>(),
        kind in 0u8..3,
    ) {
        let clusters = Clusters { shared: Some(shared), free_of_contention: false };
        let platform = random::user_and_clusters(seed, clusters);
        let workflow = random::with_inputs(seed, tasks, 0);
        let inputs = Inputs::of(&platform);
        let problem = Problem::charged(&workflow, &platform, &charges(kind), inputs).unwrap();
        let bound = bounds::lower_bound(&problem);
        let request = Request { iterations: Some(40), ..Request::seeded(7) };
        for algorithm in registry::ALL.iter().filter(|a| a.needs.is_empty()) {
            let name = algorithm.name;
            let plan = algorithm.plan(&problem, &request).unwrap();
            let broken = validate(&problem, &plan, &Limits::default());
            prop_assert!(broken.is_empty(), "{name}: {broken:?}");
            let makespan = plan.makespan();
            prop_assert!(bound <= makespan * (1.0 + 1e-9), "{name}: {makespan} under {bound}");
            let mut sent = HashSet::new();
            for t in &plan.transfers {
                prop_assert!(sent.insert((t.file, platform.place_of(t.to))), "{name} sends twice");
            }
            // The same order on the same processors is never later than planned.
            let again = retime::retimed(&problem, &plan);
            prop_assert!(again.makespan() <= makespan * (1.0 + 1e-9), "{name}");
            prop_assert!(validate(&problem, &again, &Limits::default()).is_empty(), "{name}");
        }
    }

    /// Evaluating all hosts together gives the same as evaluating each, whatever was sent before.
    #[test]
    fn looks_at_all_hosts_agree(
        seed in any::<u64>(),
        tasks in 1u32..12,
        shared in any::<[bool; 2]>(),
        kind in 0u8..3,
        sends in prop::collection::vec(any::<[u32; 2]>(), 0..30),
    ) {
        let clusters = Clusters { shared: Some(shared), free_of_contention: false };
        let platform = random::user_and_clusters(seed, clusters);
        let workflow = random::with_inputs(seed, tasks, 0);
        let inputs = Inputs::of(&platform);
        let problem = Problem::charged(&workflow, &platform, &charges(kind), inputs).unwrap();
        let Some(mut staging) = Staging::new(&problem) else { return Ok(()) };
        let hosts = platform.hosts().len() as u32;
        for [task, host] in sends {
            for task in workflow.tasks() {
                let each = platform.host_ids().map(|host| staging.ready_on(task, host));
                let each: Vec<f64> = each.collect();
                prop_assert_eq!(staging.ready(task), each);
            }
            staging.send(TaskId(task % tasks), HostId(host % hosts));
        }
    }
    /// The search over promising hosts finds the same slot as the evaluation of every processor, with insertion
    /// and without.
    #[test]
    fn searches_agree_with_looks_at_every_processor(
        seed in any::<u64>(),
        tasks in 1u32..40,
        free_of_contention in any::<bool>(),
        appending in any::<bool>(),
    ) {
        let shared = (!free_of_contention).then_some([true, false]);
        let platform = random::user_and_clusters(seed, Clusters { shared, free_of_contention });
        let workflow = random::with_inputs(seed, tasks, 0);
        let inputs = Inputs::of(&platform);
        let problem = Problem::charged(&workflow, &platform, &charges(1), inputs).unwrap();
        let mut partial =
            if appending { Partial::appending(&problem) } else { Partial::new(&problem) };
        for &task in workflow.topological_order() {
            let mut best: Option<Slot> = None;
            for slot in problem.proc_ids().map(|proc| partial.slot_on(task, proc)) {
                if slot.possible() && best.is_none_or(|b| approx::lt(slot.finish, b.finish)) {
                    best = Some(slot);
                }
            }
            let found = partial.earliest_finish(task).unwrap();
            prop_assert_eq!(Some(found), best);
            partial.place(task, found);
        }
    }
}
