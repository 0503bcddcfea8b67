//! Reactions of the slackline policy to changing levels: interim policies, plans that are changed between
//! evaluations where roll-outs show a benefit, and moves away from hosts that stay slow.
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use slackline_engine::{Ending, Logged, Recording};
use slackline_lab::shapes::{PLATFORMS, Shape, WORKFLOWS, WORLDS};
use slackline_react::{Slackline, StaticPlan, Transfers};
use slackline_schedule::list::heft::HEFT;

fn shape(workflow: &str, platform: &str, world: &str) -> Shape {
    Shape {
        workflow: WORKFLOWS.iter().position(|w| w.0 == workflow).unwrap(),
        platform: PLATFORMS.iter().position(|p| p.0 == platform).unwrap(),
        world: WORLDS.iter().position(|w| w.name == world).unwrap(),
    }
}

/// The plans that were taken, as reported.
fn taken(shape: Shape, seed: u64) -> (Vec<String>, f64, f64) {
    let stage = shape.stages(seed).unwrap().stage;
    let fixed = stage.run(&mut StaticPlan::new(&HEFT, Transfers::Push)).unwrap();
    let mut ours = Slackline::default();
    let mut logged = Logged::new(&mut ours);
    let outcome = stage.run_as(&mut logged, Recording::Nothing, None).unwrap();
    assert_eq!(outcome.ending, Ending::Finished);
    let why = logged.log.calls.iter().filter_map(|call| call.why.as_ref());
    let taken = why.map(|why| why.alternatives[why.taken].plan.clone()).collect();
    (taken, outcome.makespan, fixed.makespan)
}

/// Links that are full and estimates that are wrong: what is under way, changed as GTP/c would, ends well before
/// what is followed as it is.
#[test]
fn a_habit_is_taken_up_where_it_pays() {
    let (taken, ours, fixed) = taken(shape("montage, 50", "volunteers", "errors, uniform"), 9002);
    assert!(taken.iter().any(|plan| plan.ends_with(" + gtp/c")), "{taken:?}");
    assert!(ours < 0.3 * fixed, "{ours} and {fixed}");
}

/// Others' jobs come and go all the time, but stay for long: a host that has many now has many later. As long as every
/// change was taken for a new beginning nothing was moved, and these ended with `static`, or a fifth sooner.
#[test]
fn hosts_that_stay_slow_are_left() {
    let worlds = [("sipht", "cloud", 9100, 0.8), ("cybershake, 120", "multi-cluster", 9102, 0.5)];
    for (workflow, platform, seed, most) in worlds {
        let (taken, ours, fixed) = taken(shape(workflow, platform, "double load, long"), seed);
        assert!(ours < most * fixed, "{workflow}: {ours} and {fixed}, {taken:?}");
    }
}

/// Levels of all hosts change about once between two evaluations; reacting to observations still pays, because
/// roll-outs predict how soon a change passes.
#[test]
fn habits_pay_where_levels_pass() {
    let (taken, ours, fixed) = taken(shape("soykb", "four-sites", "double load, short"), 9100);
    assert!(taken.iter().any(|plan| plan.contains(" + ")), "{taken:?}");
    assert!(ours < 0.8 * fixed, "{ours} and {fixed}");
}
