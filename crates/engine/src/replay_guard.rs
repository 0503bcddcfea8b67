//! A policy whose decisions are kept, and compared with those that were kept before: the same
//! events must lead to the same decisions, or something is not what it was.

use crate::backend::RecordError;
use crate::journal::{Journal, Record};
use slackline_react::{Around, Decision, Event, Policy, Situation};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// Decisions of an earlier run, with how much the backend had been asked and had answered then.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decided {
    calls: VecDeque<(usize, Vec<Decision>)>,
    /// Number of all requests and answers of the backend so far.
    records: usize,
}

impl Journal {
    /// Takes the records of a log apart: what the backend was asked and answered, and what the
    /// policy decided. An operation that was requested again because its outcome was unknown counts once.
    pub fn of_log(records: impl IntoIterator<Item = Record>) -> (Journal, Decided) {
        let (mut journal, mut decided) = (Journal::default(), Decided::default());
        for record in records {
            match record {
                Record::Note(_) | Record::Chose(_) => {}
                Record::Decided(decisions) => {
                    decided.calls.push_back((journal.records.len(), decisions));
                }
                Record::Begin { .. } | Record::Delete { .. }
                    if journal.records.last() == Some(&record) => {}
                record => journal.records.push(record),
            }
        }
        decided.records = journal.records.len();
        (journal, decided)
    }
}

/// Receiver of decisions; a decision that cannot be kept is not carried out.
pub type Keep<'p> = Box<dyn FnMut(f64, Vec<Decision>) -> Result<(), RecordError> + 'p>;

/// A policy whose decisions are recorded, and compared with those recorded before.
pub struct Checked<'p> {
    policy: &'p mut dyn Policy,
    before: Decided,
    /// Number of journal records played.
    played: Rc<Cell<usize>>,
    keep: Keep<'p>,
    /// First difference of the decisions, shared with the lender of the policy.
    difference: Rc<RefCell<Option<String>>>,
}

impl<'p> Checked<'p> {
    /// A policy from the beginning of a run.
    pub fn new(policy: &'p mut dyn Policy, keep: Keep<'p>) -> Checked<'p> {
        Checked::against(policy, Decided::default(), Rc::default(), keep)
    }

    /// A policy that has to decide as before while a journal is played.
    pub fn against(
        policy: &'p mut dyn Policy,
        before: Decided,
        played: Rc<Cell<usize>>,
        keep: Keep<'p>,
    ) -> Checked<'p> {
        Checked { policy, before, played, keep, difference: Rc::default() }
    }

    /// First difference from the kept decisions, once there is one.
    pub fn difference(&self) -> Rc<RefCell<Option<String>>> {
        Rc::clone(&self.difference)
    }

    /// Compares with what was decided before, or keeps what is decided now.
    fn check(&mut self, at: f64, decisions: &[Decision]) -> Result<(), String> {
        let played = self.played.get();
        match self.before.calls.front() {
            None if played >= self.before.records => {
                (self.keep)(at, decisions.to_vec()).map_err(|e| e.to_string())
            }
            None => Err(format!("at {at} s: decides {}, nothing before", told(&decisions[0]))),
            Some((when, before)) if *when == played && before == decisions => {
                self.before.calls.pop_front();
                Ok(())
            }
            Some((when, _)) if *when > played => {
                Err(format!("at {at} s: decides {}, nothing before", told(&decisions[0])))
            }
            Some((_, before)) => {
                let same = before.iter().zip(decisions).take_while(|(a, b)| a == b).count();
                let show = |d: &[Decision]| d.get(same).map_or("nothing more".to_string(), told);
                let (then, now) = (show(before), show(decisions));
                Err(format!("at {at} s: decides {now}, before {then}"))
            }
        }
    }
}

/// A decision in few words: plans are long.
fn told(decision: &Decision) -> String {
    match decision {
        Decision::Adopt(plan) => {
            let first: Vec<String> = plan
                .assignments
                .iter()
                .take(3)
                .map(|a| {
                    format!(
                        "task {} on {:?}",
                        a.task.0,
                        a.procs.iter().map(|p| p.0).collect::<Vec<_>>()
                    )
                })
                .collect();
            format!("a plan for {} tasks ({}, …)", plan.assignments.len(), first.join(", "))
        }
        other => format!("{other:?}"),
    }
}

impl Around for Checked<'_> {
    fn inner(&self) -> &dyn Policy {
        &*self.policy
    }

    fn inner_mut(&mut self) -> &mut dyn Policy {
        &mut *self.policy
    }

    fn call(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        let before = decisions.len();
        self.policy.react(events, now, decisions);
        if decisions.len() == before {
            return;
        }
        if let Err(why) = self.check(now.now, &decisions[before..]) {
            decisions.truncate(before);
            decisions.push(Decision::GiveUp(why.clone()));
            self.difference.borrow_mut().get_or_insert(why);
        }
    }
}
