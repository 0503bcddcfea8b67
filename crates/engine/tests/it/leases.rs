//! Machines that exist only while leased: ordered in time, paid from when they are ready, given back
//! after their last task, and none computes without.
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::forward;
use common::{simulate, with_backend};
use slackline_engine::{
    Accepted, Backend, BackendError, Ending, Journal, Journaled, OpError, OpId, Order, Outcome,
    Reached, Record, RecordError, Resumed, Settings, Signal, SignalKind, run,
};
use slackline_model::platform::{Billing, HostSpec, Matrix, PlatformBuilder};
use slackline_model::schedule::{Lease, cost, leases};
use slackline_model::trace::Happening;
use slackline_model::{
    ClassId, HostId, Platform, Problem, ProcId, Task, TaskId, Workflow, WorkflowBuilder,
};
use slackline_react::registry::{self, Options};
use slackline_react::{Decision, Event, Policy, Situation, StaticPlan, Transfers};
use slackline_schedule::registry::find;
use std::cell::RefCell;
use std::sync::Arc;

/// `small` machines of speed 1, and one of speed 4 that nobody has to lease and that costs more.
fn cloud(small: usize, setup: f64) -> Platform {
    let mut b = PlatformBuilder::new("cloud");
    b.set_matrix(Matrix::Uniform { bandwidth: 1.0, latency: 0.0 });
    let root = b.root().unwrap();
    let billing = Some(Billing { quantum: 60.0, minimum: 0.0, setup });
    for i in 0..small {
        let spec = HostSpec {
            price: 1.0,
            leasable: true,
            billing,
            ..HostSpec::new(format!("vm{i}"), 1.0)
        };
        b.add_host(root, HostSpec { class: Some("vm".into()), ..spec }).unwrap();
    }
    b.build().unwrap()
}

/// A head of 50 s, two tails of 30 and 40 s, no data.
fn fork() -> Workflow {
    let mut b = WorkflowBuilder::new("fork");
    for (name, work) in [("head", 50.0), ("long", 40.0), ("short", 30.0)] {
        b.add_task(Task::new(name, work)).unwrap();
    }
    b.add_edge(TaskId(0), TaskId(1), 0.0).unwrap();
    b.add_edge(TaskId(0), TaskId(2), 0.0).unwrap();
    b.build().unwrap()
}

fn lease(host: u32, from: f64, to: f64) -> Lease {
    Lease { class: ClassId(0), host: HostId(host), from, to }
}

fn statically(workflow: &Workflow, platform: &Platform) -> Outcome {
    let mut policy = StaticPlan::new(find("heft").unwrap(), Transfers::Push);
    simulate(workflow, platform, &mut policy, "matrix", Settings::default())
}

#[test]
fn machines_come_for_their_first_task_and_go_after_their_last() {
    let (w, p) = (fork(), cloud(2, 20.0));
    let outcome = statically(&w, &p);
    assert_eq!(outcome.ending, Ending::Finished);
    // The second machine is ordered 20 s before the head ends.
    assert_eq!(outcome.leases, [lease(0, 20.0, 110.0), lease(1, 70.0, 100.0)]);
    assert_eq!(outcome.makespan, 110.0);
    let told: Vec<(f64, u32, bool)> = outcome
        .trace
        .records()
        .iter()
        .filter_map(|r| match r.what {
            Happening::LeaseReady { host } => Some((r.at, host.0, true)),
            Happening::LeaseEnded { host } => Some((r.at, host.0, false)),
            _ => None,
        })
        .collect();
    let expected = [(20.0, 0, true), (70.0, 1, true), (100.0, 1, false), (110.0, 0, false)];
    assert_eq!(told, expected);
    // A plan that comes true costs what it says.
    let problem = Problem::new(&w, &p).unwrap();
    let plan = find("heft").unwrap().plan(&problem, &Default::default()).unwrap();
    assert_eq!(leases(&problem, &plan), outcome.leases);
    assert_eq!(cost(&problem, &plan), 180.0);
}

/// Whatever a policy knows of leases: no task computes outside of one, and all ends.
#[test]
fn no_policy_computes_on_a_machine_that_is_not_leased() {
    let (w, p) = (fork(), cloud(3, 20.0));
    for entry in registry::ALL.iter().filter(|e| e.is_general()) {
        let mut policy = entry.policy(&Options::new(find("heft").unwrap())).unwrap();
        let outcome = simulate(&w, &p, policy.as_mut(), "matrix", Settings::default());
        assert_eq!(outcome.ending, Ending::Finished, "{}", entry.name);
        assert_eq!(outcome.counters.rejected, 0, "{}", entry.name);
        for placement in outcome.schedule.placements.iter().flatten() {
            let host = HostId(placement.proc().0);
            let inside = |l: &&Lease| {
                l.host == host && l.from <= placement.start && placement.finish <= l.to
            };
            assert!(outcome.leases.iter().any(|l| inside(&l)), "{}: {outcome:?}", entry.name);
        }
    }
}

/// Leases a machine, uses it, gives it back; tries what is not allowed on the way.
#[derive(Default)]
struct Tenant {
    events: Vec<Event>,
    refusals: Vec<String>,
}

impl Policy for Tenant {
    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        for event in events {
            match event {
                Event::Start => decisions.extend([
                    Decision::Lease(ClassId(0)),
                    Decision::Lease(ClassId(0)),
                    Decision::Lease(ClassId(0)),
                    Decision::Lease(ClassId(7)),
                    Decision::Release(HostId(9)),
                ]),
                Event::LeaseReady(HostId(1)) => {
                    for task in (0..3).rev() {
                        decisions.push(Decision::Start {
                            task: TaskId(task),
                            procs: [ProcId(1)].into(),
                        });
                    }
                    decisions.push(Decision::Release(HostId(0)));
                    decisions.push(Decision::Release(HostId(1)));
                }
                Event::Rejected { why, .. } => self.refusals.push(why.clone()),
                _ => {}
            }
        }
        let open = now.leases.iter().filter(|l| l.is_open()).count();
        assert!(open <= 2);
        let leased = |e: &&Event| matches!(e, Event::LeaseReady(_) | Event::LeaseEnded(_));
        self.events.extend(events.iter().filter(leased).cloned());
    }
}

#[test]
fn a_policy_leases_and_releases() {
    let (w, p) = (fork(), cloud(2, 20.0));
    let mut tenant = Tenant::default();
    let outcome = simulate(&w, &p, &mut tenant, "matrix", Settings::default());
    assert_eq!(outcome.ending, Ending::Finished);
    assert_eq!(outcome.leases, [lease(0, 20.0, 20.0), lease(1, 20.0, 140.0)]);
    let (zero, one) = (HostId(0), HostId(1));
    let told = [Event::LeaseReady(zero), Event::LeaseReady(one), Event::LeaseEnded(zero)];
    assert_eq!(tenant.events, told);
    let refusals = [
        "no machine of 'vm' is left to lease",
        "there is no such class of machines",
        "only a machine that is leased can be given back",
        "'vm1' still has tasks to run",
    ];
    assert_eq!(tenant.refusals, refusals);
}

/// A backend whose first leases end as a test says.
struct Fickle<'b> {
    inner: &'b mut dyn Backend,
    /// Fates of the first orders: refused, or ready and gone again at a date.
    fates: Vec<Fate>,
    orders: usize,
    ends: Vec<(f64, OpId)>,
}

#[derive(Clone, Copy)]
enum Fate {
    Refused,
    EndsAt(f64),
}

impl Backend for Fickle<'_> {
    forward!(abilities charges now compute transfer cancel delete release reattach);
    forward!(measure observe outlook);

    fn lease(&mut self, op: OpId, order: Order) -> Result<Accepted, OpError> {
        let fate = self.fates.get(self.orders).copied();
        self.orders += 1;
        match fate {
            Some(Fate::Refused) => return Err(OpError::Refused("sold out".to_string())),
            Some(Fate::EndsAt(date)) => self.ends.push((date, op)),
            None => {}
        }
        self.inner.lease(op, order)
    }
    fn next(&mut self, until: f64, signals: &mut Vec<Signal>) -> Result<Reached, BackendError> {
        let Some(&(date, op)) = self.ends.first().filter(|(date, _)| *date <= until) else {
            return self.inner.next(until, signals);
        };
        let reached = self.inner.next(date, signals)?;
        if self.inner.now() >= date {
            self.ends.remove(0);
            // What ran there is lost with it; the inner backend tells its end as one that was asked for.
            self.inner.release(op)?;
            let why = "time is up".to_string();
            signals.push(Signal {
                at: date,
                what: SignalKind::LeaseEnded(op, Some(OpError::Transient(why))),
            });
            return Ok(Reached::Instant);
        }
        Ok(reached)
    }
}

fn fickle(w: &Workflow, p: &Platform, fates: Vec<Fate>) -> Outcome {
    with_backend(w, p, "matrix", |inner| {
        let mut backend = Fickle { inner, fates, orders: 0, ends: Vec::new() };
        let mut policy = StaticPlan::new(find("heft").unwrap(), Transfers::Push);
        let (w, p) = (Arc::new(w.clone()), Arc::new(p.clone()));
        run(w, p, &mut policy, &mut backend, Settings::default()).unwrap()
    })
}

#[test]
fn a_machine_that_cannot_be_had_is_planned_around() {
    let outcome = fickle(&fork(), &cloud(2, 20.0), vec![Fate::Refused]);
    assert_eq!(outcome.ending, Ending::Finished);
    assert_eq!(outcome.leases, [lease(1, 20.0, 140.0)]);
}

#[test]
fn a_machine_that_goes_while_it_waits_is_ordered_again() {
    let mut b = WorkflowBuilder::new("two");
    b.add_task(Task::new("a", 50.0)).unwrap();
    let w = b.build().unwrap();
    // It goes before it is ready.
    let outcome = fickle(&w, &cloud(1, 20.0), vec![Fate::EndsAt(10.0)]);
    assert_eq!(outcome.ending, Ending::Finished);
    assert_eq!(outcome.leases, [lease(0, 30.0, 80.0)]);
    // It never comes.
    let outcome = fickle(
        &w,
        &cloud(1, 20.0),
        vec![Fate::EndsAt(10.0), Fate::EndsAt(15.0), Fate::EndsAt(16.0), Fate::EndsAt(17.0)],
    );
    assert!(matches!(outcome.ending, Ending::CannotFinish(_)), "{:?}", outcome.ending);
}

/// Cut off after any record, a run with leases continues from its journal.
#[test]
fn leases_survive_a_cut() {
    let (w, p) = (fork(), cloud(2, 20.0));
    let drive = |backend: &mut dyn Backend| {
        let mut policy = StaticPlan::new(find("heft").unwrap(), Transfers::Push);
        run(Arc::new(w.clone()), Arc::new(p.clone()), &mut policy, backend, Settings::default())
    };
    let whole = RefCell::new(Vec::new());
    let expected = with_backend(&w, &p, "matrix", |backend| {
        let keep = Box::new(|r: &Record| {
            whole.borrow_mut().push(r.clone());
            Ok(())
        });
        drive(&mut Journaled::new(backend, keep)).unwrap()
    });
    let records = whole.into_inner();
    assert!(records.iter().any(|r| matches!(r, Record::Release(_))));
    for length in 1..records.len() {
        with_backend(&w, &p, "matrix", |backend| {
            let mut kept = 0;
            let sink = Box::new(move |_: &Record| {
                kept += 1;
                if kept > length { Err(RecordError("cut off".to_string())) } else { Ok(()) }
            });
            let Err(why) = drive(&mut Journaled::new(backend, sink)) else { return };
            assert!(why.to_string().contains("cut off"), "{why}");
            let mut text = Vec::new();
            for record in &records[..length] {
                Journal::write_record(&mut text, record).unwrap();
            }
            let journal = Journal::read(&mut &text[..]).unwrap();
            let outcome = drive(&mut Resumed::new(journal, backend)).unwrap();
            assert_eq!(outcome.trace, expected.trace, "cut after {length}");
            assert_eq!(outcome.leases, expected.leases, "cut after {length}");
        });
    }
}
