//! A run that was cut off anywhere continues from its journal as if nothing had been: the same
//! decisions, the same end, nothing done twice.
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::forward;
use common::{Change, grid, with_backend, workflow};
use slackline_engine::{
    Accepted, Backend, BackendError, Computation, DecisionLog, Ending, Journal, Journaled, Logged,
    Movement, OpError, OpId, Outcome, Record, RecordError, Resumed, Settings, run,
};
use slackline_model::{Platform, Workflow};
use slackline_react::gtp::Period;
use slackline_react::registry::{self, Entry, Options};
use slackline_schedule::registry::find;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// Seven tasks on three machines; one is lost for ever, levels and links change.
fn world(seed: u64) -> (Workflow, Platform) {
    let number = |a: u64, b: u64, most: u64| (seed * 7919 + a * 104_729 + b * 1_299_709) % most;
    let times: Vec<Vec<f64>> =
        (0..7).map(|t| (0..3).map(|p| 1.0 + number(t, p, 9) as f64).collect()).collect();
    let mut edges = Vec::new();
    for to in 1..7u64 {
        for from in 0..to {
            if number(from, to, 3) == 0 {
                edges.push((from as u32, to as u32, number(to, from, 6) as f64));
            }
        }
    }
    let dead = number(1, 1, 3) as usize;
    let changes = [
        Change::Host((dead + 1) % 3, 3.0, 0.5),
        Change::Link(0, 1, 4.0, 0.6),
        Change::Host(dead, 5.0 + number(2, 2, 8) as f64, 0.0),
        Change::Host((dead + 1) % 3, 14.0, 0.9),
    ];
    (workflow(&times, &edges), grid(3, &changes))
}

fn drive(
    w: &Workflow,
    p: &Platform,
    entry: &Entry,
    backend: &mut dyn Backend,
) -> (Result<Outcome, BackendError>, DecisionLog) {
    let period = Period::Seconds(3.0);
    let options = Options { period, ..Options::new(find("heft").unwrap()) };
    let mut policy = entry.policy(&options).unwrap();
    let settings = Settings::default();
    let mut logged = Logged::new(policy.as_mut());
    let (w, p) = (Arc::new(w.clone()), Arc::new(p.clone()));
    let outcome = run(w, p, &mut logged, backend, settings);
    (outcome, logged.log)
}

/// A backend that counts how often each operation was begun.
struct Counting<'b> {
    inner: &'b mut dyn Backend,
    begun: BTreeMap<OpId, usize>,
}

impl Backend for Counting<'_> {
    forward!(abilities charges now cancel delete lease release reattach);
    forward!(measure observe next outlook);

    fn compute(&mut self, op: OpId, work: Computation<'_>) -> Result<Accepted, OpError> {
        *self.begun.entry(op).or_default() += 1;
        self.inner.compute(op, work)
    }
    fn transfer(&mut self, op: OpId, movement: Movement<'_>) -> Result<Accepted, OpError> {
        *self.begun.entry(op).or_default() += 1;
        self.inner.transfer(op, movement)
    }
}

#[test]
fn a_run_cut_off_after_any_record_goes_on() {
    let survivors: Vec<&Entry> =
        registry::ALL.iter().filter(|e| e.survives && e.is_general()).collect();
    let mut cuts = 0;
    for seed in 0..50 {
        let (w, p) = world(seed);
        let entry = survivors[seed as usize % survivors.len()];
        let whole = RefCell::new(Journal::default());
        let (expected, log) = with_backend(&w, &p, "fifo", |backend| {
            let keep = Box::new(|r: &Record| {
                whole.borrow_mut().records.push(r.clone());
                Ok(())
            });
            drive(&w, &p, entry, &mut Journaled::new(backend, keep))
        });
        let expected = expected.unwrap();
        assert_eq!(expected.ending, Ending::Finished, "{} {seed}", entry.name);
        let records = whole.borrow().records.len();
        // Through text, as a file would have it.
        let mut text = Vec::new();
        for record in &whole.borrow().records {
            Journal::write_record(&mut text, record).unwrap();
        }
        assert_eq!(Journal::read(&mut &text[..]).unwrap(), *whole.borrow());
        for length in 1..records {
            cuts += 1;
            with_backend(&w, &p, "fifo", |backend| {
                let mut counting = Counting { inner: backend, begun: BTreeMap::new() };
                let kept = Rc::new(RefCell::new(Journal::default()));
                let keep = kept.clone();
                let sink = Box::new(move |r: &Record| {
                    let mut journal = keep.borrow_mut();
                    if journal.records.len() == length {
                        return Err(RecordError("cut off".to_string()));
                    }
                    journal.records.push(r.clone());
                    Ok(())
                });
                let (cut, _) = drive(&w, &p, entry, &mut Journaled::new(&mut counting, sink));
                // What comes after the last word of the backend needs no record.
                let Err(why) = cut else { return };
                assert!(why.to_string().contains("cut off"), "{why}");
                let journal = kept.borrow().clone();
                assert_eq!(journal.records, whole.borrow().records[..length]);
                // The machines are still there; the engine and the policy begin again.
                let mut resumed = Resumed::new(journal, &mut counting);
                let (outcome, again) = drive(&w, &p, entry, &mut resumed);
                let at = format!("{} {seed} cut after {length} of {records}", entry.name);
                let outcome = outcome.unwrap_or_else(|e| panic!("{at}: {e}"));
                assert_eq!(log.first_difference(&again), None, "{at}");
                assert_eq!(expected.counters, outcome.counters, "{at}");
                assert_eq!(expected.trace, outcome.trace, "{at}");
                assert_eq!(expected.schedule, outcome.schedule, "{at}");
                // Of the operation at the cut nobody knows; it is asked for once more.
                let cut = match whole.borrow().records[length - 1] {
                    Record::Begin { op, .. } => Some(op),
                    _ => None,
                };
                let again = |(op, times): (&OpId, &usize)| *times > 1 && Some(*op) != cut;
                assert!(!counting.begun.iter().any(again), "{at}");
            });
        }
    }
    assert!(cuts > 1_500, "{cuts}");
}

#[test]
fn a_journal_says_what_is_wrong_with_it() {
    let read = |text: &str| Journal::read(&mut text.as_bytes()).unwrap_err().to_string();
    assert_eq!(read("{\"cancel\":1}\n"), "line 1: this is no journal of a run");
    let other = "{\"backend\":{\"schema\":\"x\",\"abilities\":{\"spans_hosts\":true}}}\n";
    assert_eq!(read(other), "line 1: schema 'x', not 'slackline/journal/1'");
    let good = other.replace("\"x\"", "\"slackline/journal/1\"");
    assert!(read(&format!("{good}nonsense\n{{\"cancel\":1}}\n")).starts_with("line 2: "));
    // A line that was being written when the run was cut off was never written.
    let cut = Journal::read(&mut format!("{good}{{\"cancel\":1}}\n{{\"canc").as_bytes()).unwrap();
    assert_eq!(cut.records[1..], [Record::Cancel(OpId(1))]);
}
