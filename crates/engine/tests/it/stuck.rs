//! Worlds in which runs got stuck, or did not end, though somebody could have gone on; by cause.
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::late::Disorder;
use common::world::World;
use slackline_engine::{Dispatch, Ending};
use slackline_react::Transfers;
use std::collections::BTreeMap;

/// Endings of the named policies, or of all that survive.
fn endings(world: &World, names: &[&str]) -> Vec<(&'static str, Ending)> {
    endings_with(world, names, None)
}

/// The same behind a backend with such disorder.
fn endings_with(
    world: &World,
    names: &[&str],
    disorder: Option<Disorder>,
) -> Vec<(&'static str, Ending)> {
    let wanted = |name: &str| names.is_empty() || names.contains(&name);
    let policies = world.policies().filter(|(name, _)| wanted(name));
    let end = |(name, mut policy): (&'static str, Box<dyn slackline_react::Policy>)| {
        let (outcome, seen) = world.watched(name, policy.as_mut(), disorder);
        world.replay(&outcome, &seen, disorder.is_some()).unwrap();
        (name, outcome.ending)
    };
    policies.map(end).collect()
}

fn all_finish(world: &World, names: &[&str]) {
    all_finish_with(world, names, None);
}

fn all_finish_with(world: &World, names: &[&str], disorder: Option<Disorder>) {
    for (name, ending) in endings_with(world, names, disorder) {
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

/// Times of tasks by host.
fn rows<const H: usize>(times: &[[u32; H]]) -> Vec<Vec<f64>> {
    times.iter().map(|row| row.map(f64::from).to_vec()).collect()
}

/// A child runs while its parent has to be done again for others. Then it fails: the plan that had it first
/// cannot be kept, for it waits for its parent now.
#[test]
fn a_plan_with_a_task_behind_its_child_is_not_kept() {
    let times = rows(&[[7, 1], [4, 1], [6, 3], [6, 2], [1, 1], [8, 8]]);
    let edges =
        [(3, 4, 2.0), (0, 1, 3.0), (1, 3, 2.0), (3, 5, 2.0), (1, 2, 3.0), (1, 5, 6.0), (2, 4, 0.0)];
    let world = World {
        files: vec![(6, None, vec![0])],
        levels: vec![BTreeMap::from([(6, 5)]), BTreeMap::from([(20, 0), (70, 5)])],
        outages: vec![vec![(29, Some(1), true)], vec![(26, None, false)]],
        origin: true,
        delays: (2.5, 0.0),
        ..World::still(times, &edges)
    };
    all_finish(&world, &["qos"]);
}

/// A file lay on a host over an outage that is told when the next one has arrived there: it is gone, and
/// its reader asks for it again.
#[test]
fn what_is_told_late_to_be_gone_is_fetched_again() {
    let times = rows(&[
        [1, 1, 1],
        [3, 1, 1],
        [2, 1, 1],
        [10, 1, 1],
        [1, 1, 1],
        [1, 1, 1],
        [9, 1, 1],
        [1, 1, 1],
    ]);
    let world = World {
        files: vec![(1, Some(6), vec![7])],
        large: (0..8).map(|task| task == 6).collect(),
        roomy: vec![true, false, true],
        cores: vec![1, 2, 1],
        outages: vec![vec![], vec![(28, Some(1), false)], vec![(8, None, false)]],
        delays: (4.0, 0.5),
        ..World::still(times, &[(3, 7, 8.0), (0, 6, 3.0)])
    };
    all_finish(&world, &["rep"]);
}

/// All hosts come back while a policy thinks, and are there to see when it is woken up in the meantime: it is
/// told of them afterwards.
#[test]
fn what_comes_back_while_a_policy_thinks_is_a_hope() {
    let times = rows(&[[1, 1, 5], [1, 1, 1], [1, 2, 5], [7, 9, 3], [4, 7, 6], [10, 4, 7]]);
    let world = World {
        files: vec![(6, Some(0), vec![5])],
        cores: vec![1, 1, 3],
        levels: vec![BTreeMap::new(), BTreeMap::from([(0, 1)]), BTreeMap::from([(13, 1)])],
        outages: vec![
            vec![(1, Some(6), false), (16, Some(8), false)],
            vec![(16, Some(8), false)],
            vec![(16, Some(8), false)],
        ],
        links: BTreeMap::from([((0, 1), BTreeMap::from([(2, 1)]))]),
        delays: (0.0, 1.5),
        ..World::still(times, &[])
    };
    all_finish(&world, &["slackline"]);
}

/// The only host that is left comes back while a policy thinks, and is stopped when it is told. When the
/// host moves again that is news: the policy has never seen it do so.
#[test]
fn what_a_policy_was_not_told_of_is_still_a_hope() {
    let times = rows(&[
        [6, 6, 6],
        [1, 1, 1],
        [2, 1, 1],
        [8, 7, 7],
        [8, 1, 1],
        [1, 1, 1],
        [3, 2, 3],
        [5, 7, 6],
        [3, 1, 1],
    ]);
    let world = World {
        large: (0..9).map(|task| task == 4 || task == 8).collect(),
        roomy: vec![true, false, false],
        cores: vec![2, 1, 1],
        levels: vec![
            BTreeMap::from([(14, 2), (38, 0), (70, 5)]),
            BTreeMap::new(),
            BTreeMap::from([(7, 1)]),
        ],
        outages: vec![
            vec![(10, Some(3), true), (27, Some(10), true)],
            vec![(10, Some(3), true), (16, None, false)],
            vec![(10, Some(3), true), (28, None, false)],
        ],
        links: BTreeMap::from([((0, 1), BTreeMap::from([(21, 1)]))]),
        delays: (0.0, 1.5),
        ..World::still(times, &[(0, 2, 0.0), (3, 6, 3.0), (6, 7, 2.0), (2, 6, 4.0)])
    };
    all_finish(&world, &["slackline"]);
}

/// A task fails and is tried on another host, which goes for ever: when it is rescued from there its inputs
/// have to be sent once more, though the policy's plan, which has it elsewhere, stays.
#[test]
fn inputs_follow_a_task_that_is_rescued() {
    let world = World {
        levels: vec![
            BTreeMap::from([(0, 3)]),
            BTreeMap::from([(23, 4), (47, 5)]),
            BTreeMap::from([(20, 6)]),
            BTreeMap::from([(23, 6), (26, 6)]),
        ],
        outages: vec![vec![(20, None, false)], vec![], vec![], vec![]],
        links: BTreeMap::from([
            ((0, 1), BTreeMap::from([(57, 8)])),
            ((2, 3), BTreeMap::from([(39, 1)])),
        ]),
        model: "matrix",
        transfers: Transfers::Pull { window: 1 },
        dispatch: Dispatch::FirstReady,
        delays: (2.5, 0.0),
        retries: 60,
        ..World::still(
            rows(&[[1, 1, 4, 1], [1, 1, 1, 1], [5, 1, 1, 1], [3, 1, 3, 1]]),
            &[(0, 3, 0.0), (1, 2, 0.0), (1, 3, 6.0), (0, 2, 1.0)],
        )
    };
    let disorder = Disorder {
        seed: 1_646_539_180_799_364_326,
        late: 3.0,
        failing: 12,
        waiting: 53,
        twice: 16,
        silence: Some((11.0, 2.0)),
        keeps_all: false,
    };
    all_finish_with(&world, &["slackline"], Some(disorder));
}

/// A task fails while a plan is thought of in which it runs, and which says nothing of it: it stays where it is
/// tried again.
#[test]
fn a_plan_that_is_older_than_a_failure_does_not_take_the_task_away() {
    let times = rows(&[
        [3, 4, 4, 3],
        [1, 1, 1, 1],
        [5, 1, 1, 1],
        [4, 6, 2, 5],
        [9, 3, 3, 5],
        [9, 7, 7, 9],
        [8, 10, 7, 7],
    ]);
    let edges = [
        (3, 6, 6.0),
        (0, 5, 5.0),
        (1, 6, 2.0),
        (3, 4, 2.0),
        (0, 6, 6.0),
        (0, 3, 0.0),
        (2, 3, 0.0),
        (1, 2, 8.0),
    ];
    let world = World {
        levels: vec![
            BTreeMap::from([(15, 3)]),
            BTreeMap::new(),
            BTreeMap::new(),
            BTreeMap::from([(17, 3)]),
        ],
        links: BTreeMap::from([((1, 2), BTreeMap::from([(49, 7)]))]),
        model: "matrix",
        transfers: Transfers::Pull { window: 1 },
        dispatch: Dispatch::FirstReady,
        delays: (0.0, 1.5),
        retries: 60,
        ..World::still(times, &edges)
    };
    let disorder = Disorder {
        seed: 4_257_838_586_439_539_596,
        late: 3.0,
        failing: 15,
        waiting: 21,
        twice: 18,
        silence: None,
        keeps_all: true,
    };
    all_finish_with(&world, &["always"], Some(disorder));
}

/// The news of an outage come when the host is back and has taken a task on that has not begun: nobody else
/// is sent to that processor until the backend says that it is free.
#[test]
fn a_processor_drains_though_its_host_was_gone() {
    let world = World {
        outages: vec![vec![(2, Some(1), true), (6, Some(1), true)]],
        retries: 60,
        ..World::still(vec![vec![2.0]; 4], &[(0, 1, 1.0)])
    };
    for seed in 0..40 {
        let disorder = Disorder {
            seed,
            late: 3.0,
            failing: 0,
            waiting: 100,
            twice: 0,
            silence: None,
            keeps_all: false,
        };
        all_finish_with(&world, &["static", "just-in-time"], Some(disorder));
    }
}

/// A task counts as done again while a policy thinks: what it wrote for a task that is done is not there, and not
/// needed. Then that task is to be done again, as was thought of before: the policy learns that its input is gone.
#[test]
fn what_is_taken_back_late_tells_of_inputs_that_are_gone() {
    let times = rows(&[
        [3, 1, 1, 1],
        [1, 1, 1, 1],
        [1, 1, 1, 1],
        [1, 3, 1, 2],
        [1, 1, 1, 1],
        [5, 5, 1, 9],
        [1, 3, 1, 1],
        [1, 1, 1, 9],
        [1, 2, 2, 5],
        [8, 6, 3, 7],
        [8, 7, 6, 3],
        [10, 4, 2, 2],
        [9, 2, 10, 9],
    ]);
    let edges = [
        (5, 8, 2.0),
        (4, 5, 1.0),
        (2, 6, 7.0),
        (6, 7, 5.0),
        (3, 5, 4.0),
        (7, 11, 1.0),
        (0, 2, 2.0),
        (4, 10, 1.0),
        (1, 11, 6.0),
        (0, 8, 4.0),
    ];
    let world = World {
        files: vec![(7, Some(3), vec![6]), (5, None, vec![10])],
        large: (0..13).map(|task| [2, 3, 5, 6, 11].contains(&task)).collect(),
        roomy: vec![true, true, false, true],
        cores: vec![1, 3, 3, 2],
        levels: vec![
            BTreeMap::from([(15, 3)]),
            BTreeMap::from([(14, 2)]),
            BTreeMap::from([(15, 0), (70, 5)]),
            BTreeMap::new(),
        ],
        outages: vec![
            vec![(25, Some(13), true)],
            vec![(7, Some(7), true), (32, Some(12), true)],
            vec![],
            vec![(25, Some(3), true), (37, None, false)],
        ],
        links: BTreeMap::from([((1, 3), BTreeMap::from([(55, 2)]))]),
        origin: true,
        model: "CM02",
        delays: (0.0, 1.5),
        ..World::still(times, &edges)
    };
    all_finish(&world, &["dmheft"]);
}

/// Two tasks failed and wait on the only host that is left, one of them for a result that is gone with the other
/// host: it lets the other pass, for which the policy waits before it has the result made again.
#[test]
fn who_waits_for_what_is_done_again_lets_others_pass() {
    let mut times = vec![vec![1.0, 1.0]; 11];
    times[0] = vec![10.0, 1.0];
    times[2] = vec![1.0, 4.0];
    let world = World {
        outages: vec![vec![], vec![(11, None, false)]],
        model: "CM02",
        transfers: Transfers::Pull { window: 3 },
        delays: (0.0, 1.5),
        retries: 60,
        ..World::still(times, &[(1, 3, 8.0), (2, 4, 7.0)])
    };
    let disorder = Disorder {
        seed: 8_575_048_056_678_823_865,
        late: 0.0,
        failing: 16,
        waiting: 15,
        twice: 24,
        silence: Some((11.0, 2.0)),
        keeps_all: false,
    };
    all_finish_with(&world, &["work-queue"], Some(disorder));
}

/// Nobody answers for six of every twenty seconds: what is tried again after long rests is not always tried then.
#[test]
fn long_rests_differ() {
    let times = rows(&[[8, 3], [1, 4], [3, 9], [1, 4], [3, 3], [7, 2]]);
    let world = World {
        levels: vec![BTreeMap::new(), BTreeMap::from([(14, 1)])],
        retries: 60,
        ..World::still(times, &[(2, 5, 0.0), (2, 3, 0.0)])
    };
    let disorder = Disorder {
        seed: 210_513_283_873_082_115,
        late: 0.5,
        failing: 19,
        waiting: 8,
        twice: 4,
        silence: Some((20.0, 6.0)),
        keeps_all: true,
    };
    all_finish_with(&world, &["slackline"], Some(disorder));
}

/// A policy that looks every 7 s takes work back at 35, for which it counts on a file that has been gone since an
/// outage between two looks. That is noticed when the work is to start, and is what the next look is for.
#[test]
fn what_is_missed_at_a_start_is_a_reason_to_wait_for_the_next_look() {
    let times = rows(&[
        [1, 1, 1],
        [1, 1, 1],
        [5, 1, 6],
        [8, 6, 1],
        [1, 1, 1],
        [1, 3, 3],
        [1, 1, 1],
        [1, 7, 1],
    ]);
    let world = World {
        large: (0..8).map(|task| task == 2).collect(),
        roomy: vec![true, false, true],
        cores: vec![2, 3, 2],
        levels: vec![BTreeMap::from([(0, 4)]), BTreeMap::new(), BTreeMap::new()],
        outages: vec![
            vec![(17, Some(4), true), (23, Some(3), false)],
            vec![(23, Some(3), false)],
            vec![(23, Some(3), false)],
        ],
        links: BTreeMap::from([
            ((0, 2), BTreeMap::from([(18, 2)])),
            ((1, 2), BTreeMap::from([(55, 2)])),
        ]),
        transfers: Transfers::Pull { window: 1 },
        dispatch: Dispatch::FirstReady,
        delays: (0.0, 1.5),
        ..World::still(times, &[(4, 7, 2.0), (3, 7, 0.0), (0, 2, 1.0), (2, 3, 2.0)])
    };
    all_finish(&world, &["gtp/r"]);
}
