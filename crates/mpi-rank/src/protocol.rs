//! Requests of a rank to the simulator, and the replies: flat records, little-endian.

/// Name of the environment variable that describes a rank:
/// `PATH RANK SIZE MODE SPEED HOST`, the path being that of the shared memory.
pub const VARIABLE: &str = "SLACKLINE_MPI";

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CallKind {
    /// Begins.
    Init,
    /// Ends.
    Finalize,
    /// Computes `amount` flop.
    Compute,
    /// Does nothing for `amount` seconds.
    Sleep,
    /// Blocking send of the data.
    Send,
    /// Non-blocking send of the data.
    Isend,
    /// Blocking receive.
    Recv,
    /// Non-blocking receive.
    Irecv,
    /// Waits for all `numbers`.
    Wait,
    /// Waits for one of `numbers`.
    Waitany,
    /// Waits for at least one of `numbers`.
    Waitsome,
    /// Tests whether all `numbers` are done.
    Test,
    /// Tests whether one of `numbers` is done.
    Testany,
    /// Tests which of `numbers` are done.
    Testsome,
    /// Cancels `numbers`.
    Cancel,
    /// Waits for a message.
    Probe,
    /// Tests whether a message is there.
    Iprobe,
    /// A collective.
    Collective,
    /// A collective in the background.
    Icollective,
    /// Makes communicators by colour (`peer`, negative: none) and key (`tag`).
    Split,
    /// Duplicates the communicator.
    Dup,
    /// Makes a communicator of `numbers`.
    Create,
    /// Requests the date.
    Date,
    /// Ends the program with code `peer`; the data are a message.
    Abort,
    /// Requests a decision whether to execute the sample named by the data, `number` times in all.
    Sample,
    /// Reports the `amount` of seconds that the sample named by the data took.
    Sampled,
    /// Requests the memory named by the data, of `bytes` bytes: the reply has a descriptor of the simulator.
    Share,
    /// Makes a communicator of `numbers`; only these ranks call.
    Group,
    /// Makes the communicator of a window.
    Window,
    /// Sends the data at once.
    Put,
    /// Fetches from `peer`.
    Get,
}

impl CallKind {
    const ALL: [CallKind; 31] = [
        CallKind::Init,
        CallKind::Finalize,
        CallKind::Compute,
        CallKind::Sleep,
        CallKind::Send,
        CallKind::Isend,
        CallKind::Recv,
        CallKind::Irecv,
        CallKind::Wait,
        CallKind::Waitany,
        CallKind::Waitsome,
        CallKind::Test,
        CallKind::Testany,
        CallKind::Testsome,
        CallKind::Cancel,
        CallKind::Probe,
        CallKind::Iprobe,
        CallKind::Collective,
        CallKind::Icollective,
        CallKind::Split,
        CallKind::Dup,
        CallKind::Create,
        CallKind::Date,
        CallKind::Abort,
        CallKind::Sample,
        CallKind::Sampled,
        CallKind::Share,
        CallKind::Group,
        CallKind::Window,
        CallKind::Put,
        CallKind::Get,
    ];
}

/// The rule by which the result of a rank follows from the inputs of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Plan {
    /// There is none.
    #[default]
    Nothing,
    /// The root's input.
    FromRoot,
    /// All inputs, for the root.
    ToRoot,
    /// A block of the root's input.
    BlockOfRoot,
    /// All inputs.
    All,
    /// A block of every input.
    Blocks,
    /// The reduction of all, for the root.
    ReduceToRoot,
    /// The reduction of all.
    Reduce,
    /// A block of the reduction of all.
    ReduceBlock,
    /// The reduction of the inputs of the lower ranks and of the rank itself.
    Scan,
    /// The reduction of the lower ranks'.
    Exscan,
}

impl Plan {
    const ALL: [Plan; 11] = [
        Plan::Nothing,
        Plan::FromRoot,
        Plan::ToRoot,
        Plan::BlockOfRoot,
        Plan::All,
        Plan::Blocks,
        Plan::ReduceToRoot,
        Plan::Reduce,
        Plan::ReduceBlock,
        Plan::Scan,
        Plan::Exscan,
    ];
}

/// A request of a rank.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The kind.
    pub what: CallKind,
    /// Whether the rank waits for a [`Reply`].
    pub answer: bool,
    /// Rule for the result of a collective.
    pub plan: Plan,
    /// Kind of a collective by its position in `slackline_mpi::action::Kind::ALL`; 1 for a synchronous send.
    pub kind: u8,
    /// Number of the communicator, or of the new one.
    pub comm: u32,
    /// Number of the new communicator.
    pub new_comm: u32,
    /// Number of the request.
    pub number: u32,
    /// Partner, root, colour or code; -1 for any source.
    pub peer: i32,
    /// Tag or key; -1 for any; 1 for a reduction in rank order.
    pub tag: i32,
    /// Size of what is sent, or room.
    pub bytes: u64,
    /// Size of what is received from each.
    pub recv_bytes: u64,
    /// Bytes of an element.
    pub unit: u32,
    /// Operation of a reduction; 0: one of the program, for which the rank gets all inputs.
    pub op: u32,
    /// Datatype of a reduction.
    pub datatype: u32,
    /// Seconds of CPU time since the last request.
    pub burst: f64,
    /// Flop or seconds.
    pub amount: f64,
    /// Bytes of data that follow.
    pub data: u64,
    /// Requests, or members of a communicator.
    pub numbers: Vec<u32>,
    /// Sizes by rank, as the call states them.
    pub counts: Vec<u64>,
    /// Sizes by rank of what is received.
    pub recv_counts: Vec<u64>,
    /// Sizes of the blocks of the data.
    pub blocks: Vec<u64>,
}

impl Request {
    /// A request without anything.
    pub fn new(what: CallKind) -> Request {
        Request {
            what,
            answer: false,
            plan: Plan::Nothing,
            kind: 0,
            comm: 0,
            new_comm: 0,
            number: u32::MAX,
            peer: 0,
            tag: 0,
            bytes: 0,
            recv_bytes: 0,
            unit: 1,
            op: 0,
            datatype: 0,
            burst: 0.0,
            amount: 0.0,
            data: 0,
            numbers: Vec::new(),
            counts: Vec::new(),
            recv_counts: Vec::new(),
            blocks: Vec::new(),
        }
    }

    /// Appends the record, with its length in front.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&[self.what as u8, self.answer as u8, self.plan as u8, self.kind]);
        for value in [self.comm, self.new_comm, self.number, self.peer as u32, self.tag as u32] {
            out.extend_from_slice(&value.to_le_bytes());
        }
        for value in [self.unit, self.op, self.datatype] {
            out.extend_from_slice(&value.to_le_bytes());
        }
        for value in
            [self.bytes, self.recv_bytes, self.burst.to_bits(), self.amount.to_bits(), self.data]
        {
            out.extend_from_slice(&value.to_le_bytes());
        }
        put_list(out, self.numbers.iter().map(|&n| u64::from(n)));
        for list in [&self.counts, &self.recv_counts, &self.blocks] {
            put_list(out, list.iter().copied());
        }
        let length = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    }

    /// Reads a record without its length.
    pub fn decode(bytes: &[u8]) -> Option<Request> {
        let mut from = Fields(bytes);
        let [what, answer, plan, kind] = from.take::<4>()?;
        let mut request = Request::new(*CallKind::ALL.get(what as usize)?);
        request.answer = answer != 0;
        request.plan = *Plan::ALL.get(plan as usize)?;
        request.kind = kind;
        request.comm = from.u32()?;
        request.new_comm = from.u32()?;
        request.number = from.u32()?;
        request.peer = from.u32()? as i32;
        request.tag = from.u32()? as i32;
        request.unit = from.u32()?;
        request.op = from.u32()?;
        request.datatype = from.u32()?;
        request.bytes = from.u64()?;
        request.recv_bytes = from.u64()?;
        request.burst = f64::from_bits(from.u64()?);
        request.amount = f64::from_bits(from.u64()?);
        request.data = from.u64()?;
        request.numbers = from.list()?.into_iter().map(|n| n as u32).collect();
        request.counts = from.list()?;
        request.recv_counts = from.list()?;
        request.blocks = from.list()?;
        Some(request)
    }
}

fn put_list(out: &mut Vec<u8>, list: impl ExactSizeIterator<Item = u64>) {
    out.extend_from_slice(&(list.len() as u32).to_le_bytes());
    for value in list {
        out.extend_from_slice(&value.to_le_bytes());
    }
}

struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn list(&mut self) -> Option<Vec<u64>> {
        let count = self.u32()? as usize;
        if self.0.len() < 8 * count {
            return None;
        }
        (0..count).map(|_| self.u64()).collect()
    }
}

/// Data that a completed request gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delivery {
    /// Number of the request.
    pub number: u32,
    /// Rank of the world that sent it.
    pub src: i32,
    /// Its tag.
    pub tag: i32,
    /// Sizes of the parts of the data.
    pub parts: Vec<u64>,
    /// The data, after the record on the wire.
    pub data: Vec<u8>,
}

/// The answer to a rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The date.
    pub date: f64,
    /// Whether a test, a probe or a cancellation succeeded, or a sample is to be executed.
    pub flag: bool,
    /// The message that a probe found: source in the world, tag, bytes.
    pub found: (i32, i32, u64),
    /// Requests that are done.
    pub completed: Vec<u32>,
    /// Data of some of them.
    pub deliveries: Vec<Delivery>,
}

impl Reply {
    /// Appends the record, with its length in front and without the data.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.date.to_le_bytes());
        out.extend_from_slice(&u32::from(self.flag).to_le_bytes());
        let (src, tag, bytes) = self.found;
        out.extend_from_slice(&src.to_le_bytes());
        out.extend_from_slice(&tag.to_le_bytes());
        out.extend_from_slice(&bytes.to_le_bytes());
        put_list(out, self.completed.iter().map(|&n| u64::from(n)));
        out.extend_from_slice(&(self.deliveries.len() as u32).to_le_bytes());
        for delivery in &self.deliveries {
            out.extend_from_slice(&delivery.number.to_le_bytes());
            out.extend_from_slice(&delivery.src.to_le_bytes());
            out.extend_from_slice(&delivery.tag.to_le_bytes());
            out.extend_from_slice(&(delivery.data.len() as u64).to_le_bytes());
            put_list(out, delivery.parts.iter().copied());
        }
        let length = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    }

    /// Reads a record without its length; the data of its deliveries are zeros yet.
    pub fn decode(bytes: &[u8]) -> Option<Reply> {
        let mut from = Fields(bytes);
        let mut reply = Reply { date: f64::from_le_bytes(from.take()?), ..Reply::default() };
        reply.flag = from.u32()? != 0;
        reply.found = (from.u32()? as i32, from.u32()? as i32, from.u64()?);
        reply.completed = from.list()?.into_iter().map(|n| n as u32).collect();
        for _ in 0..from.u32()? {
            let mut delivery = Delivery {
                number: from.u32()?,
                src: from.u32()? as i32,
                tag: from.u32()? as i32,
                ..Delivery::default()
            };
            delivery.data = vec![0; usize::try_from(from.u64()?).ok()?];
            delivery.parts = from.list()?;
            reply.deliveries.push(delivery);
        }
        Some(reply)
    }
}
