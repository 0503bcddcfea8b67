//! Worlds in which runs got stuck, or did not end, though somebody could have gone on; by cause.
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

mod common;

use common::world::World;
use slackline_execute::Ending;
use std::collections::BTreeMap;

/// How each of some policies ends, or of all that survive.
fn endings(world: &World, names: &[&str]) -> Vec<(&'static str, Ending)> {
    let wanted = |name: &str| names.is_empty() || names.contains(&name);
    let policies = world.policies().filter(|(name, _)| wanted(name));
    let end = |(name, mut policy): (&'static str, Box<dyn slackline_react::Policy>)| {
        let (outcome, seen) = world.watched(name, policy.as_mut(), None);
        world.replay(&outcome, &seen).unwrap();
        (name, outcome.ending)
    };
    policies.map(end).collect()
}

fn all_finish(world: &World, names: &[&str]) {
    for (name, ending) in endings(world, names) {
        assert_eq!(ending, Ending::Finished, "{name}");
    }
}

/// The only copy of an input is gone for ever. A policy that wakes up more often than it can decide
/// always has a decision pending: that it will be woken up again is no hope.
#[test]
fn a_policy_that_is_always_about_to_decide_ends() {
    let world = World {
        files: vec![(4, None, vec![0, 1])],
        origin: true,
        outages: vec![vec![(1, None, false)], Vec::new()],
        delays: (0.0, 1.5),
        ..World::still(vec![vec![1.0, 1.0], vec![3.0, 1.0]], &[])
    };
    for (name, ending) in endings(&world, &[]) {
        assert!(matches!(ending, Ending::CannotFinish(_)), "{name}");
    }
}

/// A policy that looks every 7 s plans at 21 on the third host, which has been gone for a second and
/// has lost all it had, which is seen at 28. That the host is seen again after 36.5 is news, though it
/// was thought to be there at 21: since then work has been taken back.
#[test]
fn the_same_hosts_are_a_new_hope_when_the_work_has_changed() {
    let times =
        vec![vec![4.0, 4.0, 1.0], vec![1.0, 1.0, 2.0], vec![5.0, 1.0, 1.0], vec![3.0, 2.0, 4.0]];
    let edges = [(1, 2, 4.0), (0, 1, 0.0), (2, 3, 1.0), (0, 3, 5.0)];
    let world = World {
        outages: vec![
            vec![(17, None, true)],
            vec![(9, Some(12), true), (23, None, false)],
            vec![(20, Some(14), false)],
        ],
        levels: vec![BTreeMap::from([(3, 1), (4, 6)]), BTreeMap::new(), BTreeMap::new()],
        cores: vec![2, 2, 1],
        model: "matrix",
        delays: (2.5, 0.0),
        ..World::still(times, &edges)
    };
    all_finish(&world, &["gtp/r", "gtp/c/r"]);
}

/// All results are lost with the only host that has the memory. When it is back, the plan that
/// `slackline` has is as good as any: it is followed again, and what is lost is done again for it.
#[test]
fn what_is_lost_is_done_again_under_the_same_plan() {
    let times = vec![vec![3.0, 1.0], vec![10.0, 1.0], vec![7.0, 1.0], vec![2.0, 1.0]];
    let edges = [(0, 1, 6.0), (1, 2, 7.0), (2, 3, 2.0)];
    let world = World {
        large: vec![false, true, true, false],
        roomy: vec![true, false],
        outages: vec![vec![(21, Some(14), false)], vec![(0, None, false)]],
        ..World::still(times, &edges)
    };
    all_finish(&world, &[]);
}
