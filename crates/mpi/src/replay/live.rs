//! The boundary to a program whose ranks run while they are simulated.
//!
//! A [`Program`] supplies the actions of its ranks as they make MPI calls, and receives the
//! decisions of the simulation: the send that each receive gets, the participants of each
//! collective, and the date at which an action is over. Data never enter the simulation; numbers
//! represent them.

use super::ReplayError;
use crate::action::Line;

/// An action of a running rank.
#[derive(Clone, Debug)]
pub struct NextAction {
    /// The action. Its request number names the data sent or the buffer received into, also where
    /// the call is blocking.
    pub line: Line,
    /// A question about the date only: not an action of the trace.
    pub quiet: bool,
}

/// A message whose send and receive have met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matched {
    /// Rank that sent (of the world).
    pub src: u32,
    /// Number of the send among the requests of `src`.
    pub send: u32,
    /// Rank that receives (of the world).
    pub dst: u32,
    /// Number of the receive among the requests of `dst`.
    pub receive: u32,
    /// Tag of the message.
    pub tag: i32,
    /// Size of the message.
    pub bytes: u64,
}

/// The part of a rank in an operation of all members of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Rank of the world.
    pub rank: u32,
    /// Number of its request.
    pub request: u32,
    /// The communicator, the same number for all its members.
    pub comm: u32,
    /// Number of the operation in the communicator.
    pub sequence: u64,
    /// Rank in the communicator.
    pub me: u32,
    /// Members of the communicator.
    pub size: u32,
}

/// A message found by a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Rank of the world that sent it.
    pub src: u32,
    /// Its tag.
    pub tag: i32,
    /// Its size.
    pub bytes: u64,
}

/// The result of an action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Numbers of the requests that it completed.
    pub completed: Vec<u32>,
    /// Whether a test, a probe or a cancellation succeeded.
    pub flag: bool,
    /// The message that a probe found.
    pub found: Option<Found>,
}

/// A running program.
pub trait Program {
    /// Returns the next action of a rank, and waits for it if need be; `None` after `finalize`.
    fn next(&mut self, rank: u32) -> Result<Option<NextAction>, ReplayError>;
    /// Takes note of a message whose two sides are known.
    fn matched(&mut self, message: Matched) -> Result<(), ReplayError>;
    /// Takes note of a rank's part in a joint operation.
    fn joined(&mut self, joined: Joined) -> Result<(), ReplayError>;
    /// Whether all data that completed requests need have been supplied.
    fn has_data(&self, rank: u32, outcome: &Outcome) -> bool;
    /// Answers a rank whose action is over.
    fn done(&mut self, rank: u32, date: f64, outcome: &Outcome) -> Result<(), ReplayError>;
}

/// A source of actions that is not a file: how many came.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Live {
    pub(super) actions: u32,
}
