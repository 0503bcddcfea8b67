//! One rank, or one collective that a rank does in the background.

use super::live::Outcome;
use super::mail::Handle;
use super::{CHORUS, Lines, NO_TICKET, idle};
use crate::action::{Activity, Envelope, Line, Mode};
use crate::collectives::Script;
use slackline_model::HostId;

/// The operation behind a request of a rank.
#[derive(Clone, Debug)]
pub(super) enum Pending {
    /// One side of a message.
    Side(Handle),
    /// A test has found it done; a later wait has nothing to wait for.
    Tested,
    /// A collective done by another agent.
    Background(u32),
    /// A prepared send or receive, and its message while it is started.
    Prepared(Envelope, Option<Mode>, Option<Handle>),
}

/// A request of a rank.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) src: i32,
    pub(super) dst: i32,
    pub(super) tag: i32,
    pub(super) number: Option<u32>,
    pub(super) comm: u32,
    pub(super) pending: Pending,
}

/// A rank and its progress.
pub(super) struct Agent {
    pub(super) rank: u32,
    pub(super) host: HostId,
    /// Its own date, at or ahead of the simulation's.
    pub(super) clock: f64,
    /// Flop/s of a core without other users; `None` where computations share.
    pub(super) speed: Option<f64>,
    /// No computation begins before this date.
    pub(super) idle_until: f64,
    pub(super) cursor: Lines,
    /// A running rank's action has not been answered.
    pub(super) unanswered: bool,
    /// Number of the request its action makes.
    pub(super) ticket: u32,
    pub(super) outcome: Outcome,
    /// The present line.
    pub(super) line: Line,
    pub(super) active: Option<Activity>,
    pub(super) began: f64,
    pub(super) step: u32,
    /// The line continues after the wait.
    pub(super) again: bool,
    pub(super) script: Script,
    /// Next step of the script.
    pub(super) at: usize,
    pub(super) script_requests: Vec<Handle>,
    pub(super) chorus_comm: u32,
    pub(super) chorus_context: u32,
    /// Number of operations it waits for; with `any`, the first of them is enough.
    pub(super) waiting: u32,
    pub(super) any: bool,
    /// Waits for any message that fits its probe.
    pub(super) probing: bool,
    /// Waits for a message of unknown size; the date of the poll that will find the first one known.
    pub(super) polling: Option<f64>,
    /// Whether it was scheduled to check for such a message.
    pub(super) called: bool,
    pub(super) requests: Vec<Request>,
    /// Communicators by the numbers of the trace.
    pub(super) comms: Vec<(u32, u32)>,
    /// Sends that found no receive yet.
    pub(super) unmatched: u32,
    /// The date it was last woken for.
    pub(super) woken: f64,
    pub(super) computing: bool,
    /// Whether actions have dates: `init` and `finalize` do not.
    pub(super) counts: bool,
    pub(super) initialised: bool,
    pub(super) finalized: bool,
    pub(super) over: bool,
    pub(super) end: f64,
    pub(super) times: [f64; Activity::COUNT],
    /// The agent that waits for this one, if it is in the background.
    pub(super) waiter: Option<u32>,
    pub(super) done: Option<f64>,
    /// Messages of a collective in the background, in the order of posting, and the dates of their ends.
    pub(super) parts: Vec<(Handle, f64)>,
    /// A test of a collective in the background has seen a message that was not over.
    pub(super) missed: bool,
    /// Seconds that the waiter pays for the messages that came, if this agent is in the background.
    pub(super) owed: f64,
}

impl Agent {
    pub(super) fn new(rank: u32, host: HostId, speed: Option<f64>, cursor: Lines) -> Agent {
        Agent {
            rank,
            host,
            clock: 0.0,
            speed,
            idle_until: 0.0,
            cursor,
            unanswered: false,
            ticket: NO_TICKET,
            outcome: Outcome::default(),
            line: idle(),
            active: None,
            began: 0.0,
            step: 0,
            again: false,
            script: Script::default(),
            at: 0,
            script_requests: Vec::new(),
            chorus_comm: 0,
            chorus_context: CHORUS,
            waiting: 0,
            any: false,
            probing: false,
            polling: None,
            called: false,
            requests: Vec::new(),
            comms: vec![(0, 0)],
            unmatched: 0,
            woken: -1.0,
            computing: false,
            counts: true,
            initialised: false,
            finalized: false,
            over: false,
            end: 0.0,
            times: [0.0; Activity::COUNT],
            waiter: None,
            done: None,
            parts: Vec::new(),
            missed: false,
            owed: 0.0,
        }
    }

    /// Whether it has to be woken for messages that are sent to it.
    pub(super) fn watches(&self) -> bool {
        self.probing || self.polling.is_some()
    }

    /// Charges the overhead of a message that it took, in seconds; in the background, the agent that waits for it is charged.
    pub(super) fn pay(&mut self, overhead: f64) {
        match self.cursor {
            Some(_) => self.clock += overhead,
            None => self.owed += overhead,
        }
    }

    /// The last action is over.
    pub(super) fn finish(&mut self) {
        self.end = self.clock;
        self.finalized = true;
    }

    /// Replaces the handle of a receive from any source by that of the message that it has matched.
    pub(super) fn redirect(&mut self, from: Handle, to: Handle) {
        for handle in &mut self.script_requests {
            if *handle == from {
                *handle = to;
            }
        }
        for request in &mut self.requests {
            match &mut request.pending {
                Pending::Side(handle) | Pending::Prepared(_, _, Some(handle))
                    if *handle == from =>
                {
                    *handle = to;
                }
                _ => {}
            }
        }
    }
}
