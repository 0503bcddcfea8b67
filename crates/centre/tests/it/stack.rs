//! The service stack: worked examples, laws of every run, records played back.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use slackline_centre::stack::{
    AttemptResult, Attribution, Case, Component, Outcome, PilotEnd, Switches, attribute,
    attribute_one, is_robust, run,
};
use std::fmt::Write;

fn case(text: &str) -> Case {
    Case::parse(text).unwrap()
}

/// Five jobs of 120 s; pilots at 30, 100 and 400.
fn five_jobs(first: &str) -> Case {
    let tasks: Vec<String> =
        (1..=5).map(|k| format!("{{\"id\": \"J{k}\", \"work\": 120}}")).collect();
    case(&format!(
        "{{\"tasks\": [{}], \"sites\": {{\"s\": {{\"speed\": 1}}}}, \"idle_timeout\": 1000, \"pilots\": [{first},
         {{\"id\": \"P2\", \"site\": \"s\", \"start\": 100}}, {{\"id\": \"P3\", \"site\": \"s\", \"start\": 400}}]}}",
        tasks.join(", ")
    ))
}

#[test]
fn pilots_pull_jobs() {
    let outcome = run(&five_jobs(r#"{"id": "P1", "site": "s", "start": 30}"#)).unwrap();
    assert_eq!(outcome.makespan(), Some(390.0));
    let exits: Vec<f64> = outcome.pilots.iter().map(|life| life.exit.unwrap()).collect();
    // 1000 s after the last job of each; the third never gets one.
    assert_eq!(exits, [1390.0, 1340.0, 1400.0]);
}

#[test]
fn the_job_of_a_dead_pilot_goes_to_the_end_of_the_queue() {
    let case = five_jobs(r#"{"id": "P1", "site": "s", "start": 30, "dies": 200}"#);
    let outcome = run(&case).unwrap();
    assert_eq!(outcome.done, [150.0, 220.0, 520.0, 340.0, 460.0].map(Some));
    assert_eq!(outcome.attempts[2][0].result, Some(AttemptResult::Lost));
    assert_eq!(outcome.pilots[0].why, Some(PilotEnd::Died));
}

#[test]
fn more_pilots_help_until_every_job_has_its_own() {
    // 240 jobs of 60 s on p pilots: ceil(240 / p) rounds.
    for (pilots, expected) in [(1, 14400.0), (3, 4800.0), (13, 1140.0), (50, 300.0), (100, 180.0)] {
        let case = case(&format!(
            "{{\"tasks\": [{{\"id\": \"job\", \"work\": 60, \"count\": 240}}], \"sites\": {{\"s\": {{\"speed\": 1}}}},
              \"idle_timeout\": 1, \"pilots\": [{{\"id\": \"p\", \"site\": \"s\", \"start\": 0, \"count\": {pilots}}}]}}"
        ));
        assert_eq!(run(&case).unwrap().makespan(), Some(expected));
        assert_eq!(run(&case.with_pilots(7)).unwrap().makespan(), Some(35.0 * 60.0));
    }
}

const TWO_STORAGES: &str = r#"{"tasks": [{"id": "u", "work": 10, "inputs": ["x"], "outputs": ["y"]}, {"id": "v", "work": 10, "inputs": ["x"]}],
 "files": {"x": 100, "y": 40}, "replicas": {"x": ["near", "far"]}, "storages": {"near": {"max_active": 1}, "far": {}},
 "default_storage": "far", "links": {"l": {"bandwidth": 10}, "m": {"bandwidth": 20}},
 "routes": {"near a": ["l"], "far a": ["m"], "far b": ["m"]}, "catalogue_latency": 2,
 "sites": {"a": {"speed": 2, "close": "near"}, "b": {"speed": 1}}, "idle_timeout": 10,
 "pilots": [{"id": "p", "site": "a", "start": 0}, {"id": "q", "site": "SITE", "start": 0}]}"#;

#[test]
fn replicas_are_chosen_and_storages_queue() {
    // p: 2 s look-up, 10 s from `near`, 5 s computing, 4 s to `near`, 2 s registration. q: 2 + 5 + 10.
    let apart = run(&case(&TWO_STORAGES.replace("SITE", "b"))).unwrap();
    assert_eq!(apart.done, [Some(23.0), Some(17.0)]);
    assert_eq!(apart.attempts[0][0].steps, [12.0, 5.0, 6.0]);
    assert_eq!((apart.transfers, apart.bytes), (3, 240.0));
    // On one site: one transfer at a time, 12 to 22, so that u writes from 22 on.
    let together = run(&case(&TWO_STORAGES.replace("SITE", "a"))).unwrap();
    assert_eq!(together.done, [Some(28.0), Some(27.0)]);
}

#[test]
fn black_boxes_bound_what_goes_in_and_out() {
    let case = case(
        r#"{"tasks": [{"id": "u", "work": 1, "inputs": ["x"], "outputs": ["y"]}], "files": {"x": 100, "y": 30}, "replicas": {"x": ["s"]},
        "storages": {"s": {"capacity": 130, "bandwidth_out": 50}}, "default_storage": "s", "routes": {"s a": []},
        "sites": {"a": {"speed": 1, "bandwidth_in": 20, "bandwidth_out": 10}}, "pilots": [{"id": "p", "site": "a"}]}"#,
    );
    assert_eq!(run(&case).unwrap().attempts[0][0].steps, [5.0, 1.0, 3.0]);
    let mut small = case;
    small.storages[0].capacity = Some(129.0);
    let outcome = run(&small).unwrap();
    assert_eq!((outcome.full, outcome.failed), (vec![(0, 0)], vec![true]));
}

#[test]
fn pilots_are_jobs_of_a_batch_system() {
    // Two cores; job 2 is the head, reserved for 100. A pilot of 60 s fits before it, one of 90 s does not.
    let case = case(
        r#"{"tasks": [{"id": "1", "work": 25}, {"id": "2", "work": 25}, {"id": "3", "work": 25}, {"id": "4", "work": 25}],
        "sites": {"a": {"speed": 1, "batch": {"cores": 2, "policy": "easy", "background": [[1, 0, 100, 1, 100], [2, 5, 50, 2, 50]]}}},
        "idle_timeout": 5, "pilots": [{"id": "p", "site": "a", "submit": 20, "walltime": 60}, {"id": "q", "site": "a", "submit": 30, "walltime": 90},
        {"id": "large", "site": "a", "submit": 0, "walltime": 1, "cores": 3}]}"#,
    );
    let short = r#"{"tasks": [], "sites": {"a": {"speed": 1, "batch": {"cores": 2, "policy": "easy", "max_walltime": 50}}},
        "pilots": [{"id": "p", "site": "a", "submit": 20, "walltime": 60}]}"#;
    assert!(Case::parse(short).unwrap_err().to_string().contains("allows 50 s"));
    let outcome = run(&case).unwrap();
    assert_eq!(outcome.done, [45.0, 70.0, 200.0, 175.0].map(Some));
    let why: Vec<_> = outcome.pilots.iter().map(|life| life.why.unwrap()).collect();
    assert_eq!(why, [PilotEnd::Walltime, PilotEnd::Idle, PilotEnd::Refused]);
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let base = TWO_STORAGES.replace("SITE", "a");
    for (from, to, named) in [
        ("\"id\": \"v\"", "\"id\": \"u\"", "task `u` is there twice"),
        ("\"site\": \"a\", \"start\": 0}]", "\"site\": \"z\"}]", "there is no site `z`"),
        ("\"work\": 10, \"inputs\": [\"x\"]}", "\"work\": -1}", "task `v`: its work is -1"),
        ("\"x\": [\"near\", \"far\"]", "", "file `x`: task `u` reads it, but no task writes it"),
        ("\"far\": {}", "\"near\": {}", "`near` is there twice"),
        ("\"near a\": [\"l\"], ", "", "no route between storage `near` and site `a`"),
        (
            "\"inputs\": [\"x\"], \"outputs\"",
            "\"inputs\": [\"y\"], \"outputs\"",
            "depends on itself",
        ),
        ("\"work\": 10, \"inputs\": [\"x\"]}", "\"work\": 1, \"after\": [\"w\"]}", "no task `w`"),
        ("\"start\": 0}, ", "\"start\": 5, \"dies\": 1}, ", "pilot `p`: it dies before it starts"),
    ] {
        assert!(base.contains(from), "{from}");
        let error = Case::parse(&base.replacen(from, to, 1)).unwrap_err();
        assert!(error.to_string().contains(named), "{error}");
    }
    let circle = r#"{"tasks": [{"id": "a", "work": 1, "after": ["b"]}, {"id": "b", "work": 1, "after": ["a"]}], "sites": {}, "pilots": []}"#;
    assert!(Case::parse(circle).unwrap_err().to_string().contains("circle: a on b"));
}

const PILOT_STACK: &str = include_str!("../../../../examples/centre/pilot-stack.json");

#[test]
fn everything_injected_gives_the_record() {
    let case = case(PILOT_STACK);
    let record = case.record.clone().unwrap();
    let again = attribute_one(&case, Switches::INJECTED).unwrap();
    assert!(again.error.unwrap().abs() < 1e-9);
    for (attempts, recorded) in again.outcome.attempts.iter().zip(&record.attempts) {
        assert_eq!(attempts.len(), recorded.len());
        for (a, b) in attempts.iter().zip(recorded) {
            assert_eq!((a.pilot, a.result), (b.pilot, b.result));
            assert!((a.start - b.start).abs() < 1e-6 && (a.end - b.end).abs() < 1e-6);
        }
    }
    // The platform alone acts through nothing that is not injected.
    let platform = attribute_one(&case, Switches::INJECTED.freeing(Component::Platform)).unwrap();
    assert_eq!(platform.outcome, again.outcome);
    let all = attribute(&case).unwrap();
    let last = Attribution::cumulative().last().unwrap().1;
    assert_eq!(last, Switches::FREE);
    assert!(all.run(last).unwrap().error.unwrap().abs() > 0.01);
}

#[test]
fn switches_have_names_and_values() {
    let set = |text: &str| Switches::INJECTED.set(text);
    assert!(!set("transfers=simulate").unwrap().injects(Component::Transfers));
    assert_eq!(set("transfers=inject").unwrap(), Switches::INJECTED);
    assert!(set("transfers=model").unwrap_err().to_string().contains("`simulate`"));
    assert!(set("colour=model").unwrap_err().to_string().contains("queue_wait"));
}

/// A random case: layers of tasks, one or two sites, pilots of which some die.
fn random(seed: &[u32]) -> Case {
    let at = |k: usize, below: u32| seed[k % seed.len()].wrapping_mul(k as u32 * 2 + 1) % below;
    let (mut tasks, mut files) = (String::new(), String::from("\"in\": 90"));
    for k in 0..12 {
        let input = if k < 4 { "in".to_string() } else { format!("f{}", at(k, k as u32 - 1)) };
        let work = 5 + at(k + 20, 60);
        let _ = write!(
            tasks,
            "{}{{\"id\": \"t{k}\", \"work\": {work}, \"inputs\": [\"{input}\"], \"outputs\": [\"f{k}\"]}}",
            if k == 0 { "" } else { ", " }
        );
        let _ = write!(files, ", \"f{k}\": {}", at(k + 40, 80));
    }
    let mut pilots = String::new();
    for k in 0..4 {
        let start = at(k + 60, 50);
        let dies = if k == 0 {
            String::new()
        } else {
            format!(", \"dies\": {}", start + 20 + at(k + 70, 300))
        };
        let site = ["a", "b"][at(k + 80, 2) as usize];
        let _ = write!(
            pilots,
            "{}{{\"id\": \"p{k}\", \"site\": \"{site}\", \"start\": {start}.{k}{dies}}}",
            if k == 0 { "" } else { ", " }
        );
    }
    case(&format!(
        "{{\"tasks\": [{tasks}], \"files\": {{{files}}}, \"replicas\": {{\"in\": [\"s\"]}}, \"sites\": {{\"a\": {{\"speed\": 1}}, \"b\": {{\"speed\": 2, \"close\": \"s2\"}}}},
          \"storages\": {{\"s\": {{\"max_active\": 2}}, \"s2\": {{\"max_active\": 1}}}}, \"default_storage\": \"s\",
          \"links\": {{\"l\": {{\"bandwidth\": 9}}, \"m\": {{\"bandwidth\": 7}}}},
          \"routes\": {{\"s a\": [\"l\"], \"s b\": [\"l\", \"m\"], \"s2 a\": [\"m\"], \"s2 b\": [\"m\"]}},
          \"catalogue_latency\": 0.3, \"idle_timeout\": 4000, \"max_attempts\": 3, \"pilots\": [{pilots}]}}"
    ))
}

fn laws(case: &Case, outcome: &Outcome) {
    let mut held: Vec<Vec<(f64, f64)>> = vec![Vec::new(); case.pilots.len()];
    for (k, attempts) in outcome.attempts.iter().enumerate() {
        let ready =
            case.tasks[k].dependencies.iter().map(|&d| outcome.done[d].unwrap_or(f64::INFINITY));
        let ready = ready.fold(0.0, f64::max);
        assert!(attempts.len() <= 3);
        for attempt in attempts {
            assert!(attempt.queued >= ready);
            let Some(pilot) = attempt.pilot else { continue };
            let life = outcome.pilots[pilot];
            assert!(attempt.start >= attempt.queued && attempt.start >= life.start.unwrap());
            assert!(attempt.end <= life.exit.unwrap() + 1e-9);
            let steps: f64 = attempt.steps.iter().sum();
            let took = attempt.end - attempt.start;
            match attempt.result.unwrap() {
                AttemptResult::Done => assert!((steps - took).abs() < 1e-9 * took.max(1.0)),
                AttemptResult::Lost => assert!(steps <= took + 1e-9),
            }
            held[pilot].push((attempt.start, attempt.end));
        }
        let ended = attempts.iter().filter(|a| a.result == Some(AttemptResult::Done)).count();
        assert_eq!(ended, usize::from(outcome.done[k].is_some()));
    }
    for mut spans in held {
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "two jobs on one pilot");
    }
}

proptest! {
    #![proptest_config(slackline_testkit::cases(64))]

    #[test]
    fn runs_keep_the_laws_and_repeat(seed in prop::collection::vec(1u32..1_000_000, 7)) {
        let case = random(&seed);
        let outcome = run(&case).unwrap();
        laws(&case, &outcome);
        prop_assert_eq!(&run(&case).unwrap(), &outcome);
        is_robust(&case, None, &outcome).unwrap();
    }
}
