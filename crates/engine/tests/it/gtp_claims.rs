//! Claims of the GTP thesis for every run, and consequences of its rules: promises without
//! contention, few remappings, a mapping that nothing disturbs, failures at any moment.
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::{Change, grid, simulate, workflow};
use proptest::prelude::*;
use slackline_engine::{Ending, Settings};
use slackline_model::{FileId, HostId, Problem, Schedule, TaskId, Workflow, approx};
use slackline_react::gtp::{Costing, Gtp, Period, Variant, rewound_tasks};
use slackline_react::{Decision, Event, Policy, Situation, StaticPlan, TaskState, Transfers};
use slackline_schedule::list::{Partial, heft, ranks};
use slackline_schedule::registry::find;
use slackline_schedule::{Algorithm, PlanError};
use std::collections::HashSet;

/// Rows of execution times and edges with data.
type Graph = (Vec<Vec<f64>>, Vec<(u32, u32, f64)>);

fn graphs(tasks: std::ops::Range<usize>) -> impl Strategy<Value = Graph> {
    (tasks, 2usize..5).prop_flat_map(|(tasks, hosts)| {
        let times = prop::collection::vec(prop::collection::vec(1u32..11, hosts), tasks);
        let edges = prop::collection::vec((0..tasks as u32, 0..tasks as u32, 1u32..9), 0..30);
        (times, edges).prop_map(|(times, edges)| {
            let times = times.into_iter().map(|r| r.into_iter().map(f64::from).collect()).collect();
            let mut seen = HashSet::new();
            let edges = edges
                .into_iter()
                .filter(|&(a, b, _)| a < b && seen.insert((a, b)))
                .map(|(a, b, data)| (a, b, f64::from(data)))
                .collect();
            (times, edges)
        })
    })
}

/// HEFT that appends: a task never starts before another that was placed on its processor.
const APPENDING: Algorithm =
    Algorithm { name: "heft-appending", plan: |problem, _| append(problem), ..heft::HEFT };

fn append(problem: &Problem<'_>) -> Result<Schedule, PlanError> {
    let rank = ranks::upward(problem);
    // Equal ranks in topological order, as GTP has them.
    let mut order: Vec<TaskId> = problem.workflow().topological_order().to_vec();
    let key = |t: &TaskId| approx::sort_key(rank[t.index()]);
    order.sort_by(|a, b| key(b).total_cmp(&key(a)));
    let mut partial = Partial::appending(problem);
    for task in order {
        let slot = partial.earliest_finish(task)?;
        partial.place(task, slot);
    }
    Ok(partial.into_schedule())
}

fn promised(w: &Workflow, p: &slackline_model::Platform) -> f64 {
    let problem = Problem::new(w, p).unwrap();
    find("heft").unwrap().plan(&problem, &Default::default()).unwrap().makespan()
}

proptest! {
    #![proptest_config(slackline_testkit::cases(100))]

    /// Alone on its links a plan takes as long as promised; with contention never less.
    #[test]
    fn contention_only_delays((times, edges) in graphs(2..20)) {
        let w = workflow(&times, &edges);
        let p = grid(times[0].len(), &[]);
        let promised = promised(&w, &p);
        let run = |transfers, model| {
            let mut policy = StaticPlan::new(find("heft").unwrap(), transfers);
            simulate(&w, &p, &mut policy, model, Settings::default()).makespan
        };
        let free = run(Transfers::Push, "matrix");
        prop_assert!((free - promised).abs() < 1e-9 * promised, "{free} for {promised}");
        for transfers in [Transfers::Push, Transfers::Pull { window: 1 }] {
            let real = run(transfers, "fifo");
            prop_assert!(real > promised * (1.0 - 1e-9), "{real} beats {promised}");
        }
    }

    /// With results sent at once over free links and nothing changing, every other place can only
    /// have become worse: GTP keeps its mapping.
    #[test]
    fn nothing_disturbed_nothing_moved((times, edges) in graphs(2..20), period in 1u32..9) {
        let w = workflow(&times, &edges);
        let p = grid(times[0].len(), &[]);
        let costing = Costing { running_blocks: true, ..Costing::default() };
        let variant = Variant {
            transfers: Transfers::Push,
            period: Period::Seconds(f64::from(period)),
            costing,
            ..Variant::default()
        };
        let outcome = simulate(&w, &p, &mut Gtp::new(variant, &APPENDING), "matrix", Settings::default());
        let plan = append(&Problem::new(&w, &p).unwrap()).unwrap();
        for task in w.tasks() {
            let (real, planned) = (outcome.schedule.placement(task), plan.placement(task));
            prop_assert_eq!(real.unwrap().proc(), planned.unwrap().proc());
        }
        prop_assert_eq!(outcome.counters.migrations, 0);
        prop_assert!((outcome.makespan - plan.makespan()).abs() < 1e-9 * plan.makespan());
    }

    /// GTP re-maps at most once per cycle.
    #[test]
    fn at_most_one_remapping_per_cycle(
        (times, edges) in graphs(2..20),
        slow in prop::collection::vec((0usize..4, 1u32..40, 1u32..10), 0..6),
        push in any::<bool>(),
    ) {
        let hosts = times[0].len();
        let mut dates = HashSet::new();
        let mut changes: Vec<(u32, Change)> = slow
            .into_iter()
            .filter(|&(h, date, _)| h < hosts && dates.insert((h, date)))
            .map(|(h, date, l)| (date, Change::Host(h, f64::from(date), f64::from(l) / 10.0)))
            .collect();
        changes.sort_by_key(|c| c.0);
        let changes: Vec<Change> = changes.into_iter().map(|c| c.1).collect();
        let (w, p) = (workflow(&times, &edges), grid(hosts, &changes));
        let period = 5.0;
        let transfers = if push { Transfers::Push } else { Transfers::default() };
        let variant =
            Variant { transfers, period: Period::Seconds(period), ..Variant::default() };
        let mut policy = Gtp::new(variant, find("heft").unwrap());
        let outcome = simulate(&w, &p, &mut policy, "fifo", Settings::default());
        prop_assert_eq!(&outcome.ending, &Ending::Finished);
        let cycles = (outcome.makespan / period * (1.0 + 1e-12)).floor() as usize;
        prop_assert!(outcome.counters.replannings <= cycles);
        prop_assert!(outcome.counters.remappings <= outcome.counters.replannings);
    }
}

/// The tasks to repeat, from below: begin with nothing, add any finished task whose data is needed and
/// gone, until nothing is missing. The least such set.
fn least_rewound(now: &Situation, reuse_copies: bool) -> HashSet<TaskId> {
    let problem = now.problem().unwrap();
    let w = &now.workflow;
    let mut again: HashSet<TaskId> = HashSet::new();
    let holds = |file: FileId, host: HostId| now.is_alive(host) && now.has(file, host);
    loop {
        let before = again.len();
        for task in w.tasks() {
            let TaskState::Done(placement) = now.task(task) else { continue };
            let home = problem.host_of(placement.proc());
            let missing = w.successors(task).any(|(child, edge)| {
                let redone = again.contains(&child);
                let open = redone || !now.task(child).is_done();
                let site = now.task(child).procs().map(|p| problem.host_of(p[0]));
                open && w.edge_files(edge).any(|file| {
                    let anywhere = reuse_copies && now.holders(file).next().is_some();
                    let at_reader = !redone && site.is_some_and(|s| holds(file, s));
                    !(holds(file, home) || anywhere || at_reader)
                })
            });
            if missing {
                again.insert(task);
            }
        }
        if again.len() == before {
            return again;
        }
    }
}

/// GTP/r or GTP/c/r, checked at every look.
struct Checked {
    inner: Gtp,
    copies: bool,
}

impl Policy for Checked {
    fn wants(&mut self, events: &[Event], now: &Situation) -> bool {
        self.inner.wants(events, now)
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        if !events.contains(&Event::Start) {
            let [plain, saved] = [false, true].map(|copies| {
                let chosen: HashSet<TaskId> = rewound_tasks(now, copies).into_iter().collect();
                assert_eq!(chosen, least_rewound(now, copies), "at {}, copies {copies}", now.now);
                chosen
            });
            assert!(saved.is_subset(&plain), "copies make more to be done again");
        }
        let from = decisions.len();
        self.inner.react(events, now, decisions);
        for decision in &decisions[from..] {
            if let Decision::Rewind(tasks) = decision {
                let tasks: HashSet<TaskId> = tasks.iter().copied().collect();
                assert_eq!(tasks, least_rewound(now, self.copies));
            }
        }
    }
}

proptest! {
    #![proptest_config(slackline_testkit::cases(40))]

    /// Every processor dies once, just before every look: all runs end, and no more is done again
    /// than must be.
    #[test]
    fn any_failure_at_any_moment_is_survived((times, edges) in graphs(4..10)) {
        let w = workflow(&times, &edges);
        let hosts = times[0].len();
        let period = 4.0;
        let run = |copies, changes: &[Change]| {
            let variant = Variant {
                copies,
                rewind: true,
                period: Period::Seconds(period),
                ..Variant::default()
            };
            let mut policy = Checked { inner: Gtp::new(variant, find("heft").unwrap()), copies };
            simulate(&w, &grid(hosts, changes), &mut policy, "fifo", Settings::default())
        };
        for copies in [false, true] {
            let looks = (run(copies, &[]).makespan / period) as usize;
            for host in 0..hosts {
                for look in 1..=looks {
                    let at = look as f64 * period - 0.5;
                    let outcome = run(copies, &[Change::Host(host, at, 0.0)]);
                    prop_assert_eq!(&outcome.ending, &Ending::Finished, "{} at {}", host, at);
                }
            }
        }
    }
}
