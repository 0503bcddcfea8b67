//! A run with its log: everything asked, answered and decided is kept while it is under way, and a run
//! that was left is played up to where it was left, then continues.

use crate::folder::RunLog;
use slackline_engine::Execution;
use slackline_engine::Outcome;
use slackline_engine::{Backend, BackendError};
use slackline_engine::{Checked, Keep};
use slackline_engine::{Journal, Journaled, Record, Resumed, Sink};
use slackline_model::platform::Charges;
use slackline_react::Policy;
use std::cell::Cell;
use thiserror::Error;

/// Reason why a run has no outcome.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SessionError {
    /// The requests differ from those of the log.
    #[error("{0}")]
    Departed(String),
    /// The backend can no longer work.
    #[error("{0}")]
    Backend(#[from] BackendError),
}

/// Drives a run over a backend and keeps its log; `records` are those of the run so far.
pub fn drive(
    execution: Execution<'_>,
    policy: &mut dyn Policy,
    backend: &mut dyn Backend,
    log: &RunLog,
    records: Vec<(f64, Record)>,
) -> Result<Outcome, SessionError> {
    let date = Cell::new(records.last().map_or(0.0, |(at, _)| *at));
    let sink: Sink<'_> = Box::new(|record: &Record| {
        if let Record::Next { now, .. } = record {
            date.set(*now);
        }
        log.append(date.get(), record)
    });
    let keep: Keep<'_> = Box::new(|at, decisions| log.append(at, &Record::Decided(decisions)));
    let (journal, decided) = Journal::of_log(records.into_iter().map(|(_, record)| record));
    let run = |backend: &mut dyn Backend, mut policy: Checked<'_>| {
        let difference = policy.difference();
        let outcome = execution.run(&mut policy, backend);
        match difference.take() {
            Some(why) => Err(SessionError::Departed(why)),
            None => Ok(outcome?),
        }
    };
    if journal.records.is_empty() {
        run(&mut Journaled::new(backend, sink), Checked::new(policy, keep))
    } else {
        let mut live = Journaled::continuing(backend, sink);
        let mut resumed = Resumed::new(journal, &mut live);
        let checked = Checked::against(policy, decided, resumed.played(), keep);
        let outcome = run(&mut resumed, checked);
        match outcome {
            Err(SessionError::Backend(error)) if !resumed.is_faithful() => {
                Err(SessionError::Departed(error.to_string()))
            }
            other => other,
        }
    }
}

/// Result of a repetition.
#[derive(Debug)]
pub struct Repeated {
    /// The run, where the log holds all of it.
    pub outcome: Option<Outcome>,
    /// Number of records compared.
    pub records: usize,
}

/// Repeats a run from its log, without a machine; fails where anything is asked or decided that was
/// not asked or decided then.
pub fn repeat(
    execution: Execution<'_>,
    policy: &mut dyn Policy,
    charges: Charges,
    records: Vec<(f64, Record)>,
) -> Result<Repeated, SessionError> {
    let (journal, decided) = Journal::of_log(records.into_iter().map(|(_, record)| record));
    let records = journal.records.len();
    if records == 0 {
        return Ok(Repeated { outcome: None, records });
    }
    let mut resumed = Resumed::repeat(journal, charges);
    let played = resumed.played();
    let keep: Keep<'_> = Box::new(|_, _| Ok(()));
    let mut checked = Checked::against(policy, decided, resumed.played(), keep);
    let difference = checked.difference();
    let outcome = execution.run(&mut checked, &mut resumed);
    if let Some(why) = difference.take() {
        return Err(SessionError::Departed(why));
    }
    match outcome {
        Ok(outcome) if played.get() == records => Ok(Repeated { outcome: Some(outcome), records }),
        Ok(_) => Err(SessionError::Departed(format!(
            "the run is over after {} of {records} records",
            played.get()
        ))),
        Err(_) if played.get() == records => Ok(Repeated { outcome: None, records }),
        Err(error) => Err(SessionError::Departed(error.to_string())),
    }
}
