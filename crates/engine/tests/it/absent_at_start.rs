//! Runs that begin before any host is there, as on a cluster whose batch jobs wait in a queue.
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::world::World;
use slackline_engine::Ending;

/// 24 tasks of 2 s; four hosts that come at 1, 2, 3 and 4 s.
fn world() -> World {
    let outages = (1..=4).map(|date| vec![(0, Some(date), true)]).collect();
    World { outages, ..World::still(vec![vec![2.0; 4]; 24], &[]) }
}

/// Runs the world under every policy. Where all hosts are used the run takes little more than one in which
/// nothing is ever away; who looks every 7 s only may lose that time, too.
fn all_use_what_comes(world: &World) {
    let calm = World { outages: vec![Vec::new(); 4], ..world.clone() };
    for ((name, mut policy), (_, mut same)) in world.policies().zip(world.policies()) {
        let (outcome, seen) = world.watched(name, policy.as_mut(), None);
        world.replay(&outcome, &seen, false).unwrap();
        assert_eq!(outcome.ending, Ending::Finished, "{name}");
        let (undisturbed, _) = calm.watched(name, same.as_mut(), None);
        let (took, could) = (outcome.makespan, undisturbed.makespan);
        assert!(took <= could + 10.0, "{name}: {took}, undisturbed {could}");
    }
}

#[test]
fn every_policy_works_with_all_hosts_that_come() {
    all_use_what_comes(&world());
}

#[test]
fn every_policy_works_with_all_hosts_that_come_back() {
    let mut world = world();
    for (outages, lasts) in world.outages.iter_mut().zip(1..) {
        *outages = vec![(3, Some(lasts), true)];
    }
    all_use_what_comes(&world);
}

/// A static plan is followed as long as there is a host; hosts that join later are not used.
#[test]
fn a_static_plan_is_kept_when_a_host_joins_others() {
    let mut world = world();
    world.outages[0].clear();
    let (_, mut policy) = world.policies().find(|(name, _)| *name == "static").unwrap();
    let (outcome, _) = world.watched("static", policy.as_mut(), None);
    assert_eq!((outcome.ending, outcome.makespan), (Ending::Finished, 48.0));
}
