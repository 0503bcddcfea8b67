//! Actions of a rank, one per line of a trace.

/// The collective operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// All ranks wait for each other.
    Barrier,
    /// The root's data to all.
    Bcast,
    /// The sum of all to the root.
    Reduce,
    /// The sum of all to all.
    Allreduce,
    /// A block of each to the root.
    Gather,
    /// A block of each to the root, of different sizes.
    Gatherv,
    /// A block of the root to each.
    Scatter,
    /// A block of the root to each, of different sizes.
    Scatterv,
    /// A block of each to all.
    Allgather,
    /// A block of each to all, of different sizes.
    Allgatherv,
    /// A block of each to each.
    Alltoall,
    /// A block of each to each, of different sizes.
    Alltoallv,
    /// A block of the sum to each.
    ReduceScatter,
    /// The sum of the lower ranks and this one.
    Scan,
    /// The sum of the lower ranks.
    Exscan,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 15] = [
        Kind::Barrier,
        Kind::Bcast,
        Kind::Reduce,
        Kind::Allreduce,
        Kind::Gather,
        Kind::Gatherv,
        Kind::Scatter,
        Kind::Scatterv,
        Kind::Allgather,
        Kind::Allgatherv,
        Kind::Alltoall,
        Kind::Alltoallv,
        Kind::ReduceScatter,
        Kind::Scan,
        Kind::Exscan,
    ];

    /// The name in settings: `smpi/NAME`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Barrier => "barrier",
            Kind::Bcast => "bcast",
            Kind::Reduce => "reduce",
            Kind::Allreduce => "allreduce",
            Kind::Gather => "gather",
            Kind::Gatherv => "gatherv",
            Kind::Scatter => "scatter",
            Kind::Scatterv => "scatterv",
            Kind::Allgather => "allgather",
            Kind::Allgatherv => "allgatherv",
            Kind::Alltoall => "alltoall",
            Kind::Alltoallv => "alltoallv",
            Kind::ReduceScatter => "reduce_scatter",
            Kind::Scan => "scan",
            Kind::Exscan => "exscan",
        }
    }

    /// Whether one rank is special.
    pub fn has_root(self) -> bool {
        matches!(
            self,
            Kind::Bcast
                | Kind::Reduce
                | Kind::Gather
                | Kind::Gatherv
                | Kind::Scatter
                | Kind::Scatterv
        )
    }
}

/// A call of a collective by one rank. Sizes are bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The operation.
    pub kind: Kind,
    /// The special rank, where there is one.
    pub root: u32,
    /// The whole message, or the block sent to (or by) each.
    pub bytes: u64,
    /// The block received from each.
    pub recv_bytes: u64,
    /// Bytes of one element: blocks are cut between elements.
    pub unit: u64,
    /// Blocks sent to each rank (or of each rank), where they differ.
    pub counts: Box<[u64]>,
    /// Blocks received from each rank, where they differ.
    pub recv_counts: Box<[u64]>,
    /// Computed by every rank after the communication, flop.
    pub flops: f64,
    /// Whether a reduction has to be made in rank order: the operation does not commute.
    pub ordered: bool,
}

impl Call {
    /// A call that moves `bytes`.
    pub fn new(kind: Kind, bytes: u64) -> Call {
        Call {
            kind,
            root: 0,
            bytes,
            recv_bytes: bytes,
            unit: 1,
            counts: Box::default(),
            recv_counts: Box::default(),
            flops: 0.0,
            ordered: false,
        }
    }
}

/// Stands for any rank or any tag in a receive.
pub const ANY: i32 = -1;

/// The mode of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Eager and detached below the sizes in the settings.
    Standard,
    /// The sender waits for the receiver.
    Synchronous,
}

/// A message as one side names it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Envelope {
    /// The other side; [`ANY`] in a receive.
    pub peer: i32,
    /// Its tag; [`ANY`] in a receive.
    pub tag: i32,
    /// Bytes; in a receive the room for them, `None` for the sender's size.
    pub bytes: Option<u64>,
}

/// The requests an action is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Which {
    /// The oldest with this source, destination and tag.
    Key(i32, i32, i32),
    /// The one posted last (version 1).
    Last,
    /// Those with these numbers (extended format).
    Numbers(Box<[u32]>),
}

/// One action of a rank.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// The rank begins.
    Init,
    /// The rank ends.
    Finalize,
    /// Computes, flop.
    Compute(f64),
    /// Does nothing, seconds.
    Sleep(f64),
    /// Sends and continues as the protocol allows.
    Send(Envelope, Mode),
    /// Begins to send.
    Isend(Envelope, Mode),
    /// Receives.
    Recv(Envelope),
    /// Begins to receive.
    Irecv(Envelope),
    /// Sends and receives at once.
    Sendrecv(Envelope, Envelope),
    /// Waits for requests.
    Wait(Which),
    /// Waits for all requests.
    Waitall,
    /// Tests whether requests are all done.
    Test(Which),
    /// Tests whether one of some requests is done.
    Testany(Which),
    /// Tests which of some requests are done.
    Testsome(Which),
    /// Cancels receives that have not matched a message.
    Cancel(Which),
    /// Waits until one of some requests is done.
    Waitany(Which),
    /// Waits until at least one of some requests is done, and takes all that are.
    Waitsome(Which),
    /// Waits until a message is there.
    Probe(Envelope),
    /// Tests whether a message is there.
    Iprobe(Envelope),
    /// Probes for a message repeatedly until it is there.
    Poll(Envelope),
    /// Prepares a send to be started again and again.
    SendInit(Envelope, Mode),
    /// Prepares a receive.
    RecvInit(Envelope),
    /// Starts prepared requests.
    Start(Which),
    /// A collective operation.
    Collective(Box<Call>),
    /// A collective operation, without waiting.
    Icollective(Box<Call>),
    /// Makes communicators by colour; order by key.
    CommSplit {
        /// Number of the new communicator.
        id: u32,
        /// Ranks with the same colour go together; none: in no new one.
        colour: Option<i32>,
        /// Order within.
        key: i32,
    },
    /// A communicator with the same ranks.
    CommDup(u32),
    /// A communicator with these ranks of the present one.
    CommCreate(u32, Box<[u32]>),
    /// A communicator with these ranks of the present one, which they alone make.
    CommGroup(u32, Box<[u32]>),
    /// A communicator with the same ranks, made without messages: that of a window.
    CommWindow(u32),
    /// Sends at once, also where the receive is still to come. A standard one is over for the sender, a synchronous one
    /// (an accumulation) with the transfer.
    Put(Envelope, Mode),
    /// Fetches from a rank that does nothing for it; a request of the one that fetches.
    Get(Envelope),
    /// Has no effect on time.
    Nothing,
}

/// An action with what the extended format adds to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The action.
    pub action: Action,
    /// Number of the communicator; 0 is the world.
    pub comm: u32,
    /// Number given to the request, where there is one.
    pub request: Option<u32>,
}

impl Line {
    /// An action in the world, without number.
    pub fn plain(action: Action) -> Line {
        Line { action, comm: 0, request: None }
    }
}

/// The kind of time an action takes; for profiles and pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Activity {
    /// Computing.
    Compute,
    /// Sleeping.
    Sleep,
    /// In a send.
    Send,
    /// In a receive.
    Receive,
    /// In a wait or a test.
    Wait,
    /// In a collective.
    Collective(Kind),
    /// Anything else.
    Other,
}

impl Activity {
    /// Number of kinds.
    pub const COUNT: usize = 6 + Kind::ALL.len();

    /// A number below [`Activity::COUNT`].
    pub fn index(self) -> usize {
        match self {
            Activity::Compute => 0,
            Activity::Sleep => 1,
            Activity::Send => 2,
            Activity::Receive => 3,
            Activity::Wait => 4,
            Activity::Other => 5,
            Activity::Collective(kind) => 6 + kind as usize,
        }
    }

    /// All of them, by index.
    pub fn all() -> impl Iterator<Item = Activity> {
        use Activity::{Compute, Other, Receive, Send, Sleep, Wait};
        let plain = [Compute, Sleep, Send, Receive, Wait, Other];
        plain.into_iter().chain(Kind::ALL.into_iter().map(Activity::Collective))
    }

    /// Returns its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Activity::Compute => "compute",
            Activity::Sleep => "sleep",
            Activity::Send => "send",
            Activity::Receive => "receive",
            Activity::Wait => "wait",
            Activity::Other => "other",
            Activity::Collective(kind) => kind.name(),
        }
    }
}

impl Action {
    /// Returns the kind of time it takes.
    pub fn activity(&self) -> Activity {
        match self {
            Action::Compute(_) => Activity::Compute,
            Action::Sleep(_) => Activity::Sleep,
            Action::Send(..) | Action::Isend(..) | Action::Sendrecv(..) | Action::Put(..) => {
                Activity::Send
            }
            Action::Recv(_) | Action::Irecv(_) => Activity::Receive,
            Action::Wait(_)
            | Action::Waitall
            | Action::Test(_)
            | Action::Testany(_)
            | Action::Testsome(_)
            | Action::Waitany(_)
            | Action::Waitsome(_)
            | Action::Probe(_)
            | Action::Iprobe(_)
            | Action::Poll(_) => Activity::Wait,
            Action::Collective(call) | Action::Icollective(call) => Activity::Collective(call.kind),
            _ => Activity::Other,
        }
    }
}
