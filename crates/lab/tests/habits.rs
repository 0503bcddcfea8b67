//! Changing plans between looks, where roll-outs show that to pay.
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use slackline_execute::{Ending, Logged, Recording};
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

/// The plans that were taken, as they are told.
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

/// Levels that pass within four looks are not chased.
#[test]
fn there_is_none_where_levels_pass() {
    let (taken, ..) = taken(shape("blast", "grid5000", "90 %, frequent"), 9004);
    let later = taken.iter().skip(taken.len() / 2);
    assert!(
        later.clone().count() > 3 && !later.clone().any(|plan| plan.contains(" + ")),
        "{taken:?}"
    );
}
