//! What must hold in any world: each task is done exactly once in effect, nothing computes
//! without its data, processors run one task at a time, runs repeat to the byte.
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

mod common;

use common::{Change, grid, simulate, with_backend, workflow};
use proptest::prelude::*;
use slackline_execute::{
    Backend, DecisionLog, Dispatch, Ending, Execution, Journal, Journaled, Logged, Outcome, Record,
    Repeat, Resumed, Settings, run,
};
use slackline_model::platform::Charges;
use slackline_model::trace::Happening;
use slackline_model::{FileId, HostId, Platform, ProcId, TaskId, Workflow};
use slackline_react::gtp::Period;
use slackline_react::registry::{self, Options};
use slackline_react::{Policy, Situation, TaskState, Transfers};
use slackline_schedule::Need;
use slackline_schedule::registry::find;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

#[derive(Clone, Debug)]
struct World {
    times: Vec<Vec<f64>>,
    edges: Vec<(u32, u32, f64)>,
    changes: Vec<Change>,
    model: &'static str,
    transfers: Transfers,
    dispatch: Dispatch,
    /// Of monitoring, and time to decide.
    delays: (f64, f64),
}

fn worlds() -> impl Strategy<Value = World> {
    let size = (2usize..14, 2usize..5);
    size.prop_flat_map(|(tasks, hosts)| {
        let times = prop::collection::vec(prop::collection::vec(1u32..11, hosts), tasks);
        let edges = prop::collection::vec((0..tasks as u32, 0..tasks as u32, 0u32..9), 0..30);
        let slow = prop::collection::vec((0..hosts, 0u32..60, 1u32..10), 0..8);
        let links = prop::collection::vec((0..hosts, 0..hosts, 0u32..60, 1u32..10), 0..8);
        // One host may die; the others go on.
        let death = prop::option::of((0..hosts, 1u32..40));
        let model = prop::sample::select(vec!["fifo", "matrix", "CM02"]);
        let transfers = prop::sample::select(vec![
            Transfers::Push,
            Transfers::Pull { window: 1 },
            Transfers::Pull { window: 3 },
        ]);
        let dispatch = prop::sample::select(vec![Dispatch::InOrder, Dispatch::FirstReady]);
        let delays = prop::sample::select(vec![(0.0, 0.0), (2.5, 0.0), (0.0, 1.5), (4.0, 0.5)]);
        ((times, edges, slow, links, death), (model, transfers, dispatch, delays))
    })
    .prop_map(|((times, edges, slow, links, death), (model, transfers, dispatch, delays))| {
        let times: Vec<Vec<f64>> =
            times.into_iter().map(|r| r.into_iter().map(f64::from).collect()).collect();
        let mut seen = HashSet::new();
        let edges = edges
            .into_iter()
            .filter(|&(a, b, _)| a < b && seen.insert((a, b)))
            .map(|(a, b, data)| (a, b, f64::from(data)))
            .collect();
        let mut dated = Vec::new();
        for (host, date, level) in slow {
            let dies = death.is_some_and(|(h, d)| h == host && date >= d);
            if !dies {
                dated.push((date, Change::Host(host, f64::from(date), f64::from(level) / 10.0)));
            }
        }
        for (a, b, date, level) in links {
            if a < b {
                dated.push((date, Change::Link(a, b, f64::from(date), f64::from(level) / 10.0)));
            }
        }
        if let Some((host, date)) = death {
            dated.push((date, Change::Host(host, f64::from(date), 0.0)));
        }
        dated.sort_by_key(|d| d.0);
        // One change per resource and date: a profile goes forward.
        let mut used = HashSet::new();
        let changes = dated
            .into_iter()
            .filter(|(date, change)| match *change {
                Change::Host(h, ..) => used.insert((h, usize::MAX, *date)),
                Change::Link(a, b, ..) => used.insert((a, b, *date)),
            })
            .map(|(_, change)| change)
            .collect();
        World { times, edges, changes, model, transfers, dispatch, delays }
    })
}

/// Every policy that can survive a lost host.
fn policies(world: &World) -> impl Iterator<Item = (&'static str, Box<dyn Policy>)> {
    let planner = find("heft").unwrap();
    let period = Period::Seconds(7.0);
    let options = Options { transfers: world.transfers, period, ..Options::new(planner) };
    registry::ALL
        .iter()
        .filter(|e| e.survives && !e.needs.contains(&Need::Independent))
        .map(move |entry| (entry.name, entry.policy(&options).unwrap()))
}

/// What the engine's situation says at the end of an instant.
#[derive(Debug, Default, PartialEq)]
struct Snapshot {
    done: BTreeSet<TaskId>,
    running: BTreeMap<TaskId, Vec<ProcId>>,
    there: BTreeSet<(FileId, HostId)>,
}

impl Snapshot {
    fn of(now: &Situation) -> Snapshot {
        let mut found = Snapshot::default();
        for task in now.workflow.tasks() {
            match now.task(task) {
                TaskState::Done(_) => {
                    found.done.insert(task);
                }
                TaskState::Running { procs, .. } => {
                    found.running.insert(task, procs.to_vec());
                }
                _ => {}
            }
        }
        for file in now.workflow.files() {
            found.there.extend(now.holders(file).map(|h| (file, h)));
        }
        found
    }
}

/// Runs a policy and keeps what its situation was at each date.
fn watched(
    w: &Workflow,
    p: &Platform,
    policy: &mut dyn Policy,
    model: &str,
    settings: Settings,
) -> (Outcome, Vec<(f64, Snapshot)>) {
    let mut seen: Vec<(f64, Snapshot)> = Vec::new();
    let mut watch = |now: &Situation| {
        seen.pop_if(|last| last.0 == now.now);
        seen.push((now.now, Snapshot::of(now)));
        assert!(seen.len() < 100_000, "the run does not end");
    };
    let (wa, pa) = (Arc::new(w.clone()), Arc::new(p.clone()));
    let execution = Execution { settings, watch: Some(&mut watch), ..Execution::new(wa, pa) };
    let outcome = with_backend(w, p, model, |b| execution.run(policy, b).unwrap());
    (outcome, seen)
}

/// The work a host does between two dates, in seconds at full speed.
fn work(changes: &[Change], host: usize, from: f64, to: f64) -> f64 {
    let (mut done, mut at, mut level) = (0.0, 0.0f64, 1.0);
    let of_host = changes.iter().filter_map(|c| match *c {
        Change::Host(h, date, level) if h == host => Some((date, level)),
        _ => None,
    });
    for (date, next) in of_host.chain([(f64::INFINITY, 0.0)]) {
        done += level * (date.min(to) - at.max(from)).max(0.0);
        (at, level) = (date, next);
    }
    done
}

/// Every computation that ended got exactly the work it needed from its processor.
fn work_is_conserved(world: &World, outcome: &Outcome) -> Result<(), String> {
    let mut begun: HashMap<TaskId, (usize, f64)> = HashMap::new();
    for record in outcome.trace.records() {
        match &record.what {
            Happening::TaskStarted { task, procs } => {
                begun.insert(*task, (procs[0].index(), record.at));
            }
            Happening::TaskFinished { task } => {
                let (host, start) = begun[task];
                let needed = world.times[task.index()][host];
                let got = work(&world.changes, host, start, record.at);
                if (got - needed).abs() > 1e-6 * needed {
                    return Err(format!("{task:?} got {got} of {needed}"));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Follows the trace with nothing but the workflow, checks every step, and compares with what
/// the situation was.
fn replay(w: &Workflow, outcome: &Outcome, seen: &[(f64, Snapshot)]) -> Result<(), String> {
    let host = |p: ProcId| HostId(p.0); // one core per host here
    let mut running: HashMap<TaskId, Vec<ProcId>> = HashMap::new();
    let mut busy: HashMap<ProcId, TaskId> = HashMap::new();
    let mut done: HashSet<TaskId> = HashSet::new();
    let mut there: HashSet<(FileId, HostId)> = HashSet::new();
    let mut last = 0.0;
    let mut seen = seen.iter().peekable();
    for record in outcome.trace.records() {
        while let Some((date, snapshot)) = seen.next_if(|(date, _)| *date < record.at) {
            let same = snapshot.done.iter().eq(done.iter().collect::<BTreeSet<_>>())
                && snapshot.running.iter().eq(running.iter().collect::<BTreeMap<_, _>>())
                && snapshot.there.iter().all(|copy| there.contains(copy));
            if !same {
                return Err(format!("at {date}: {snapshot:?}, but {done:?}, {running:?}"));
            }
        }
        if record.at < last {
            return Err(format!("time goes back to {}", record.at));
        }
        last = record.at;
        match &record.what {
            Happening::TaskStarted { task, procs } => {
                if done.contains(task) || running.contains_key(task) {
                    return Err(format!("{task:?} starts twice"));
                }
                for &p in procs {
                    if let Some(other) = busy.insert(p, *task) {
                        return Err(format!("{task:?} and {other:?} share {p:?}"));
                    }
                    if let Some(f) = w.inputs(*task).find(|&f| !there.contains(&(f, host(p)))) {
                        return Err(format!("{task:?} at {} without {f:?}", record.at));
                    }
                }
                running.insert(*task, procs.clone());
            }
            Happening::TaskFinished { task } => {
                let procs = running.remove(task).ok_or("an end without a start")?;
                for p in procs {
                    busy.remove(&p);
                    there.extend(w.outputs(*task).map(|f| (f, host(p))));
                }
                done.insert(*task);
            }
            Happening::TaskFailed { task, .. } | Happening::TaskCancelled { task } => {
                for p in running.remove(task).into_iter().flatten() {
                    busy.remove(&p);
                }
            }
            Happening::TaskRewound { task } if !done.remove(task) => {
                return Err(format!("{task:?} is rewound without being done"));
            }
            Happening::TaskRestored { task } => {
                let lies = |f: FileId| there.iter().any(|&(file, _)| file == f);
                if !w.outputs(*task).all(lies) || running.contains_key(task) {
                    return Err(format!("{task:?} counts again without its results"));
                }
                done.insert(*task);
            }
            Happening::TransferStarted { file, from, .. } if !there.contains(&(*file, *from)) => {
                return Err(format!("{file:?} leaves {from:?} without being there"));
            }
            Happening::TransferFinished { file, to, .. } => {
                there.insert((*file, *to));
            }
            Happening::HostLost { host } => there.retain(|(_, h)| h != host),
            _ => {}
        }
    }
    match outcome.ending {
        Ending::Finished if done.len() == w.len() => Ok(()),
        _ => Err(format!("{:?}, {} of {} tasks done", outcome.ending, done.len(), w.len())),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]
    #[test]
    fn every_run_is_whole(world in worlds()) {
        let w = workflow(&world.times, &world.edges);
        let p = grid(world.times[0].len(), &world.changes);
        for (name, mut policy) in policies(&world) {
            let settings = Settings {
                monitoring_delay: world.delays.0,
                decision_seconds: world.delays.1,
                dispatch: world.dispatch,
                ..Settings::default()
            };
            let (outcome, seen) = watched(&w, &p, policy.as_mut(), world.model, settings);
            let verdict = replay(&w, &outcome, &seen);
            prop_assert!(verdict.is_ok(), "{name}: {}", verdict.unwrap_err());
            let verdict = work_is_conserved(&world, &outcome);
            prop_assert!(verdict.is_ok(), "{name}: {}", verdict.unwrap_err());
            prop_assert_eq!(outcome.counters.rejected, 0, "{}", name);
            // Again, watched: the same to the byte.
            let fresh = || policies(&world).find(|p| p.0 == name).unwrap().1;
            let (wa, pa) = (Arc::new(w.clone()), Arc::new(p.clone()));
            let again = |policy: &mut dyn Policy, backend: &mut dyn Backend| {
                run(wa.clone(), pa.clone(), policy, backend, settings).unwrap()
            };
            let mut policy = fresh();
            let mut logged = Logged::new(policy.as_mut());
            let (mut journal, mut charges) = (Journal::default(), Charges::default());
            let repeated = with_backend(&w, &p, world.model, |backend| {
                let keep = Box::new(|record: &Record| {
                    journal.records.push(record.clone());
                    Ok(())
                });
                charges = backend.charges();
                again(&mut logged, &mut Journaled::new(backend, keep))
            });
            let expected = format!("{outcome:?}");
            prop_assert_eq!(&expected, &format!("{repeated:?}"), "{}", name);
            // Without a world, from what its backend answered: the same decisions.
            let log = logged.log;
            let mut policy = fresh();
            let mut logged = Logged::new(policy.as_mut());
            let played = again(&mut logged, &mut Resumed::repeat(journal, charges));
            prop_assert_eq!(&expected, &format!("{played:?}"), "{}", name);
            prop_assert_eq!(log.first_difference(&logged.log), None, "{}", name);
            // Without a policy, from what it decided, through a file: the same run.
            let mut file = Vec::new();
            log.write(&mut file).unwrap();
            let read = DecisionLog::read(&mut &file[..]).unwrap();
            prop_assert_eq!(&log, &read, "{}", name);
            let mut repeat = Repeat::new(read);
            let outcome = simulate(&w, &p, &mut repeat, world.model, settings);
            prop_assert_eq!(&expected, &format!("{outcome:?}"), "{}", name);
        }
    }
}
