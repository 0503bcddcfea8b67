//! State of a rank, and its connection to the simulator.

use crate::protocol::{CallKind, Delivery, Plan, Reply, Request, VARIABLE};
use crate::ring::{Reader, Shared, Writer};
use crate::types::{Datatype, predefined};
use std::collections::HashMap;
use std::ffi::{c_int, c_long, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub const COMM_WORLD: i32 = 0x4400_0000;
pub const COMM_SELF: i32 = 0x4400_0001;
pub const COMM_NULL: i32 = 0x0400_0000;
pub const DATATYPE_NULL: i32 = 0x0c00_0000;
pub const GROUP_EMPTY: i32 = 0x4800_0000;
pub const GROUP_NULL: i32 = 0x0800_0000;
pub const OP_NULL: i32 = 0x1800_0000;
pub const REQUEST_NULL: i32 = 0x2c00_0000;
pub const INFO_NULL: i32 = 0x1c00_0000;
pub const WIN_NULL: i32 = 0x2000_0000;
pub const ERRORS_ARE_FATAL: i32 = 0x5400_0000;
pub const ERRORS_RETURN: i32 = 0x5400_0001;
pub const ERRORS_ABORT: i32 = 0x5400_0003;
pub const KEYVAL_INVALID: i32 = 0x2400_0000;
pub const PROC_NULL: i32 = -1;
pub const ANY_SOURCE: i32 = -2;
pub const ANY_TAG: i32 = -1;
pub const UNDEFINED: i32 = -32766;
/// Largest tag; those above are for messages within the process.
pub const TAG_UB: i32 = (1 << 28) - 1;

/// First handles of what programs make.
pub const COMMS: i32 = 0x8400_0000_u32 as i32;
pub const GROUPS: i32 = 0x8800_0001_u32 as i32;
pub const TYPES: i32 = 0x8c00_0100_u32 as i32;
pub const ERRHANDLERS: i32 = 0x9400_0000_u32 as i32;
pub const OPS: i32 = 0x9800_0000_u32 as i32;
pub const INFOS: i32 = 0x9c00_0000_u32 as i32;
pub const WINS: i32 = 0xa000_0000_u32 as i32;
pub const KEYVALS: i32 = 0xa400_0000_u32 as i32;
pub const REQUESTS: i32 = 0xac00_0000_u32 as i32;

pub const SUCCESS: i32 = 0;

/// Classes of errors.
pub mod class {
    pub const COUNT: i32 = 2;
    pub const TYPE: i32 = 3;
    pub const TAG: i32 = 4;
    pub const COMM: i32 = 5;
    pub const RANK: i32 = 6;
    pub const ROOT: i32 = 7;
    pub const GROUP: i32 = 8;
    pub const OP: i32 = 9;
    pub const TOPOLOGY: i32 = 10;
    pub const DIMS: i32 = 11;
    pub const ARG: i32 = 12;
    pub const TRUNCATE: i32 = 14;
    pub const OTHER: i32 = 15;
    pub const IN_STATUS: i32 = 17;
    pub const REQUEST: i32 = 19;
    pub const INFO: i32 = 28;
    pub const INFO_NOKEY: i32 = 31;
    pub const WIN: i32 = 45;
    pub const KEYVAL: i32 = 48;
    pub const RMA_RANGE: i32 = 55;
}

/// A call that failed.
#[derive(Debug)]
pub struct Fault {
    pub class: i32,
    /// The communicator whose error handler handles it.
    pub comm: i32,
    pub text: String,
}

/// The result of a call.
pub type Outcome<T = ()> = Result<T, Fault>;

/// A failure in the world's communicator.
pub fn fault<T>(class: i32, text: impl Into<String>) -> Outcome<T> {
    Err(Fault { class, comm: COMM_WORLD, text: text.into() })
}

/// A status as C sees it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    pub count_lo: i32,
    /// The upper bits of the count, shifted by one; bit 0: cancelled.
    pub count_hi: i32,
    pub source: i32,
    pub tag: i32,
    pub error: i32,
}

impl Status {
    pub const EMPTY: Status =
        Status { count_lo: 0, count_hi: 0, source: ANY_SOURCE, tag: ANY_TAG, error: 0 };
    pub const OF_NO_RANK: Status = Status { source: PROC_NULL, ..Status::EMPTY };

    pub fn of(source: i32, tag: i32, bytes: u64) -> Status {
        let (count_lo, count_hi) = (bytes as u32 as i32, ((bytes >> 32) as i32) << 1);
        Status { count_lo, count_hi, source, tag, error: 0 }
    }

    pub fn bytes(&self) -> u64 {
        u64::from(self.count_lo as u32) | (self.count_hi as u32 as u64 >> 1) << 32
    }

    /// Writes it to the address that the program has given, unless that stands for no status.
    ///
    /// # Safety
    /// `to` is null, 1 (to be ignored) or points to a status.
    pub unsafe fn put(&self, to: *mut Status) {
        if to as usize > 1 {
            // The error field is only set by calls that complete several requests.
            let error = unsafe { (*to).error };
            unsafe { *to = Status { error, ..*self } };
        }
    }
}

/// Computed by the program itself.
pub type UserFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut c_int);

/// Copies an attribute: old handle, key, extra, value, new value, flag.
pub type CopyFunction =
    unsafe extern "C" fn(c_int, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
/// Deletes an attribute.
pub type DeleteFunction = unsafe extern "C" fn(c_int, c_int, *mut c_void, *mut c_void) -> c_int;

/// An operation of a reduction.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// Handle of a predefined one, else 0.
    pub predefined: u32,
    pub function: Option<UserFunction>,
    pub commutes: bool,
}

/// Copies an attribute, in Fortran: old handle, key, extra, value, new value, flag, error.
pub type FortranCopy = unsafe extern "C" fn(
    *mut c_int,
    *mut c_int,
    *mut isize,
    *mut isize,
    *mut isize,
    *mut c_int,
    *mut c_int,
);
/// Deletes an attribute, in Fortran: handle, key, value, extra, error.
pub type FortranDelete =
    unsafe extern "C" fn(*mut c_int, *mut c_int, *mut isize, *mut isize, *mut c_int);

/// The functions of the program for attributes of a key.
#[derive(Clone, Copy, Debug)]
pub enum Callbacks {
    C(Option<CopyFunction>, Option<DeleteFunction>),
    Fortran(FortranCopy, FortranDelete),
}

#[derive(Clone, Copy, Debug)]
pub struct Keyval {
    pub callbacks: Callbacks,
    pub extra: usize,
    /// Attributes that have it; a key that was given up lives until the last is gone.
    pub freed: bool,
}

/// A Cartesian grid or a graph on a communicator.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    pub dims: Vec<i32>,
    pub periods: Vec<bool>,
    /// Graph: where the neighbours of each rank end, and the neighbours.
    pub graph: Option<(Vec<i32>, Vec<i32>)>,
    /// A graph of which each rank knows its own edges.
    pub edges: Option<Edges>,
}

/// Edges of one rank, with their weights.
#[derive(Clone, Debug, Default)]
pub struct Edges {
    pub sources: Vec<(i32, i32)>,
    pub destinations: Vec<(i32, i32)>,
    pub is_weighted: bool,
}

#[derive(Clone, Debug)]
pub struct Comm {
    /// Its number in the trace; 0 is the world.
    pub id: u32,
    /// A communicator of one rank that only this process knows: from 1 on.
    pub own: i32,
    /// Ranks of the world.
    pub ranks: Arc<Vec<u32>>,
    pub me: usize,
    pub attributes: HashMap<i32, usize>,
    pub topology: Option<Topology>,
    /// The other group of an inter-communicator, whose number is that of both groups together.
    pub remote: Option<Remote>,
    pub errhandler: i32,
    pub name: String,
}

/// The other group of an inter-communicator.
#[derive(Clone, Debug)]
pub struct Remote {
    /// Ranks of the world.
    pub ranks: Arc<Vec<u32>>,
    /// Whether it comes after the local group where both are counted together.
    pub is_second: bool,
}

impl Comm {
    pub fn size(&self) -> usize {
        self.ranks.len()
    }

    /// The ranks that messages go to and come from.
    pub fn partners(&self) -> &Arc<Vec<u32>> {
        self.remote.as_ref().map_or(&self.ranks, |remote| &remote.ranks)
    }

    /// Rank of a partner for the simulator.
    pub fn index(&self, partner: i32) -> i32 {
        match &self.remote {
            Some(remote) if remote.is_second => partner + self.size() as i32,
            _ => partner,
        }
    }

    /// Rank of this process for the simulator.
    pub fn my_index(&self) -> usize {
        match &self.remote {
            Some(remote) if !remote.is_second => self.me + remote.ranks.len(),
            _ => self.me,
        }
    }

    /// Members, those of the other group included.
    pub fn total(&self) -> usize {
        self.size() + self.remote.as_ref().map_or(0, |remote| remote.ranks.len())
    }

    /// Rank here of a rank of the world.
    pub fn local(&self, world: i32) -> i32 {
        match self.id {
            0 if self.own == 0 => world,
            _ => {
                let place = self.partners().iter().position(|&r| r as i32 == world);
                place.map_or(UNDEFINED, |r| r as i32)
            }
        }
    }
}

/// Data that a call returns, in parts.
#[derive(Debug, Default)]
pub struct Parts {
    pub lengths: Vec<u64>,
    pub data: Vec<u8>,
}

/// The use of the data of a request, after the state is free again.
#[derive(Clone, Debug)]
pub enum Finish {
    /// Nothing.
    Nothing,
    /// Elements to an address.
    Elements { to: usize, count: usize, datatype: Arc<Datatype> },
    /// Part i to an address of its own: address, elements, type.
    Placed(Vec<(usize, usize, Arc<Datatype>)>),
    /// Part i to several addresses, one after the other.
    Spread(Vec<Vec<(usize, usize, Arc<Datatype>)>>),
    /// Some of the parts.
    Some(std::ops::Range<usize>, Box<Finish>),
    /// The inputs of ranks, reduced by an operation of MPI.
    Combine { to: usize, count: usize, datatype: Arc<Datatype>, op: u32 },
    /// The inputs of ranks, reduced by the program's function; of the result the elements from
    /// `skip` on.
    Reduce {
        to: usize,
        count: usize,
        skip: usize,
        all: usize,
        datatype: Arc<Datatype>,
        handle: i32,
        function: UserFunction,
    },
}

// SAFETY: function pointers and addresses are plain values here.
unsafe impl Send for Finish {}

impl Finish {
    /// Bytes that a message may have.
    pub fn room(&self) -> u64 {
        match self {
            Finish::Elements { count, datatype, .. } => (count * datatype.size) as u64,
            _ => u64::MAX,
        }
    }

    /// Does it.
    ///
    /// # Safety
    /// The addresses are those of buffers that the program gave for this.
    pub unsafe fn run(self, parts: &Parts) {
        match self {
            Finish::Nothing => {}
            Finish::Elements { to, count, datatype } => {
                unsafe { datatype.unpack(&parts.data, to as *mut c_void, count) };
            }
            Finish::Placed(places) => {
                let mut at = 0;
                for (&length, (to, count, datatype)) in parts.lengths.iter().zip(places) {
                    let end = at + length as usize;
                    unsafe { datatype.unpack(&parts.data[at..end], to as *mut c_void, count) };
                    at = end;
                }
            }
            Finish::Spread(places) => {
                let mut at = 0;
                for (&length, places) in parts.lengths.iter().zip(places) {
                    let end = at + length as usize;
                    let mut rest = &parts.data[at..end];
                    for (to, count, datatype) in places {
                        let used = unsafe { datatype.unpack(rest, to as *mut c_void, count) };
                        rest = &rest[used..];
                    }
                    at = end;
                }
            }
            Finish::Some(range, finish) => {
                let sum = |lengths: &[u64]| lengths.iter().sum::<u64>() as usize;
                let range =
                    range.start.min(parts.lengths.len())..range.end.min(parts.lengths.len());
                let start = sum(&parts.lengths[..range.start]);
                let lengths = parts.lengths[range].to_vec();
                let data = parts.data[start..start + sum(&lengths)].to_vec();
                unsafe { finish.run(&Parts { lengths, data }) };
            }
            Finish::Combine { to, count, datatype, op } => {
                let mut sum: Option<Vec<u8>> = None;
                let mut at = 0;
                for &length in &parts.lengths {
                    let mut next = parts.data[at..at + length as usize].to_vec();
                    at += length as usize;
                    if let Some(left) = &sum {
                        crate::reduce::combine(op, datatype.basic, left, &mut next);
                    }
                    sum = Some(next);
                }
                let sum = sum.unwrap_or_default();
                unsafe { datatype.unpack(&sum, to as *mut c_void, count) };
            }
            Finish::Reduce { to, count, skip, all, datatype, mut handle, function } => {
                // Typed buffers: the function knows the layout of the type, not the packed one.
                let (low, high) = datatype.true_bounds();
                let span = (all.max(1) as isize - 1) * datatype.extent + (high - low).max(0);
                let room = || vec![0u128; (span.max(0) as usize).div_ceil(16) + 1];
                let (mut left, mut right) = (room(), room());
                let base = |v: &mut Vec<u128>| v.as_mut_ptr().cast::<u8>().wrapping_offset(-low);
                let mut at = 0;
                for (k, &length) in parts.lengths.iter().enumerate() {
                    let end = at + length as usize;
                    let into = base(&mut right).cast();
                    unsafe { datatype.unpack(&parts.data[at..end], into, all) };
                    at = end;
                    if k > 0 && all > 0 {
                        let mut length = all as c_int;
                        let from = base(&mut left).cast();
                        unsafe { function(from, into, &mut length, &mut handle) };
                    }
                    std::mem::swap(&mut left, &mut right);
                }
                if !parts.lengths.is_empty() {
                    let mut packed = Vec::new();
                    let from = base(&mut left).wrapping_offset(skip as isize * datatype.extent);
                    unsafe { datatype.pack(from.cast(), count, &mut packed) };
                    unsafe { datatype.unpack(&packed, to as *mut c_void, count) };
                }
            }
        }
    }
}

/// A prepared send or receive.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub comm: i32,
    pub peer: i32,
    pub tag: i32,
    pub buffer: usize,
    pub count: usize,
    pub datatype: Arc<Datatype>,
    /// A send: 0 standard, 1 synchronous, 2 buffered; a receive: `None`.
    pub mode: Option<u8>,
}

/// The kind of an active request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    Send,
    Receive,
    Collective,
}

#[derive(Clone, Debug)]
pub struct Pending {
    /// Its number for the simulator; `None` when it is complete or not started.
    pub number: Option<u32>,
    pub kind: RequestKind,
    pub finish: Finish,
    pub comm: i32,
    /// Status of a request that is complete already.
    pub status: Status,
    /// Whether it is started: inactive ones have an empty status.
    pub active: bool,
    pub prepared: Option<Box<Prepared>>,
}

/// Handles of one kind.
#[derive(Debug)]
pub struct Table<T> {
    first: i32,
    entries: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Table<T> {
    pub const fn new(first: i32) -> Table<T> {
        Table { first, entries: Vec::new(), free: Vec::new() }
    }

    pub fn add(&mut self, value: T) -> i32 {
        let at = match self.free.pop() {
            Some(at) => {
                self.entries[at] = Some(value);
                at
            }
            None => {
                self.entries.push(Some(value));
                self.entries.len() - 1
            }
        };
        self.first.wrapping_add(at as i32)
    }

    fn index(&self, handle: i32) -> Option<usize> {
        let at = handle.wrapping_sub(self.first);
        (at >= 0 && (at as usize) < self.entries.len()).then_some(at as usize)
    }

    pub fn get(&self, handle: i32) -> Option<&T> {
        self.index(handle).and_then(|at| self.entries[at].as_ref())
    }

    pub fn get_mut(&mut self, handle: i32) -> Option<&mut T> {
        self.index(handle).and_then(|at| self.entries[at].as_mut())
    }

    pub fn remove(&mut self, handle: i32) -> Option<T> {
        let at = self.index(handle)?;
        let value = self.entries[at].take();
        if value.is_some() {
            self.free.push(at);
        }
        value
    }
}

/// The accounting of computations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Not at all.
    None,
    /// By CPU time.
    Measure,
    /// As the program says.
    Charged,
}

/// The phase of the process between `MPI_Init` and `MPI_Finalize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Before,
    Running,
    After,
}

/// The connection to the simulator.
pub struct Link {
    writer: Writer,
    reader: Reader,
    _shared: Shared,
    buffer: Vec<u8>,
}

pub struct State {
    pub phase: Phase,
    pub link: Option<Link>,
    pub rank: u32,
    pub size: u32,
    pub mode: Mode,
    /// Flop/s of the host.
    pub speed: f64,
    pub host: String,
    /// Process of the simulator.
    pub parent: String,
    /// The date of the last answer, and whether it still holds.
    pub date: f64,
    pub fresh: bool,
    next_number: u32,
    next_comm: u32,
    next_own: i32,
    pub comms: Table<Comm>,
    pub world: Option<Comm>,
    pub own: Option<Comm>,
    pub groups: Table<Arc<Vec<u32>>>,
    pub types: Table<Arc<Datatype>>,
    predefined: HashMap<i32, Arc<Datatype>>,
    pub ops: Table<Op>,
    pub requests: Table<Pending>,
    pub keyvals: Table<Keyval>,
    pub infos: Table<Vec<(String, String)>>,
    /// Entries of `MPI_INFO_ENV`: none.
    pub environment: Vec<(String, String)>,
    pub errhandlers: Table<usize>,
    pub wins: Table<crate::rma::Window>,
    /// Attributes of datatypes and windows, by their handles.
    pub attributes: HashMap<i32, HashMap<i32, usize>>,
    /// CPU time at the end of the last request.
    cpu: f64,
    pub error_strings: HashMap<i32, (i32, String)>,
    pub thread_level: i32,
    pub attached: (usize, i32),
}

// SAFETY: the addresses in it are the program's, and only used when it asks for that.
unsafe impl Send for State {}

static STATE: Mutex<Option<Box<State>>> = Mutex::new(None);
static RUNNING: AtomicBool = AtomicBool::new(false);
static DATE: AtomicU64 = AtomicU64::new(0);

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn open(path: *const std::ffi::c_char, flags: c_int, ...) -> c_int;
    fn close(fd: c_int) -> c_int;
    fn write(fd: c_int, from: *const c_void, count: usize) -> isize;
    fn prctl(option: c_int, ...) -> c_int;
    fn setenv(name: *const std::ffi::c_char, value: *const std::ffi::c_char, over: c_int) -> c_int;
    fn unsetenv(name: *const std::ffi::c_char) -> c_int;
    fn fflush(stream: *mut c_void) -> c_int;
    fn _exit(code: c_int) -> !;
}

#[cfg(target_arch = "x86_64")]
pub const SYS_CLOCK_GETTIME: c_long = 228;
#[cfg(target_arch = "aarch64")]
pub const SYS_CLOCK_GETTIME: c_long = 113;
#[cfg(target_arch = "x86_64")]
pub const SYS_NANOSLEEP: c_long = 35;
#[cfg(target_arch = "aarch64")]
pub const SYS_NANOSLEEP: c_long = 101;

/// A clock of the kernel, seconds and nanoseconds; never libc's function, which is ours.
pub fn kernel_clock(clock: c_int) -> (i64, i64) {
    let mut time = [0i64; 2];
    // SAFETY: the call writes the two words of `time`.
    unsafe { syscall(SYS_CLOCK_GETTIME, c_long::from(clock), time.as_mut_ptr()) };
    (time[0], time[1])
}

fn cpu_time() -> f64 {
    let (seconds, nanoseconds) = kernel_clock(3); // CLOCK_THREAD_CPUTIME_ID
    seconds as f64 + nanoseconds as f64 * 1e-9
}

fn lock() -> MutexGuard<'static, Option<Box<State>>> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the process is between init and finalize.
pub fn is_running() -> bool {
    RUNNING.load(Ordering::Relaxed)
}

/// The date if the state is in use by this thread or another.
pub fn last_date() -> f64 {
    f64::from_bits(DATE.load(Ordering::Relaxed))
}

/// Calls a function with the state, unless the state is in use.
pub fn try_with<R>(f: impl FnOnce(&mut State) -> R) -> Option<R> {
    let mut guard = STATE.try_lock().ok()?;
    guard.as_mut().map(|state| f(state))
}

/// Does something with the state.
pub fn with<R>(f: impl FnOnce(&mut State) -> R) -> R {
    f(lock().get_or_insert_with(|| Box::new(State::new())))
}

/// Calls a function with the state, between init and finalize only.
pub fn running<R>(f: impl FnOnce(&mut State) -> Outcome<R>) -> Outcome<R> {
    with(|state| match state.phase {
        Phase::Running => f(state),
        Phase::Before => fault(class::OTHER, "called before MPI_Init"),
        Phase::After => fault(class::OTHER, "called after MPI_Finalize"),
    })
}

/// Writes a line to standard error and ends the process.
pub fn die(text: &str) -> ! {
    let line = format!("slackline: {text}\n");
    // SAFETY: a plain write of bytes that live, then the end of the process.
    unsafe {
        fflush(std::ptr::null_mut());
        write(2, line.as_ptr().cast(), line.len());
        _exit(1)
    }
}

impl State {
    fn new() -> State {
        State {
            phase: Phase::Before,
            link: None,
            rank: 0,
            size: 0,
            mode: Mode::None,
            speed: 1e9,
            host: String::new(),
            parent: String::new(),
            date: 0.0,
            fresh: false,
            next_number: 0,
            next_comm: 1,
            next_own: 1,
            comms: Table::new(COMMS),
            world: None,
            own: None,
            groups: Table::new(GROUPS),
            types: Table::new(TYPES),
            predefined: HashMap::new(),
            ops: Table::new(OPS),
            requests: Table::new(REQUESTS),
            keyvals: Table::new(KEYVALS),
            infos: Table::new(INFOS),
            environment: Vec::new(),
            errhandlers: Table::new(ERRHANDLERS),
            wins: Table::new(WINS),
            attributes: HashMap::new(),
            cpu: 0.0,
            error_strings: HashMap::new(),
            thread_level: 0,
            attached: (0, 0),
        }
    }

    /// Joins the simulation.
    pub fn connect(&mut self) -> Outcome {
        let Ok(text) = std::env::var(VARIABLE) else {
            return fault(
                class::OTHER,
                "this program is linked with Slackline's MPI: start it with `slackline mpirun`",
            );
        };
        let fields: Vec<&str> = text.splitn(7, ' ').collect();
        let [path, parent, rank, size, mode, speed, host] = fields[..] else {
            return fault(class::OTHER, format!("{VARIABLE}={text} is not what mpirun sets"));
        };
        let name = format!("{path}\0");
        // SAFETY: a terminated name; the descriptor is closed once it is mapped.
        let shared = unsafe {
            let fd = open(name.as_ptr().cast(), 2 | 0o2000000);
            if fd < 0 {
                return fault(class::OTHER, format!("cannot open {path}: did the simulator end?"));
            }
            let shared = Shared::map(fd);
            close(fd);
            shared
        };
        let Some(shared) = shared else {
            return fault(class::OTHER, "cannot map the memory shared with the simulator");
        };
        // The rank ends with the process that started it. What the rank starts itself is no part of the
        // simulation.
        // SAFETY: calls without pointers but to terminated names.
        unsafe {
            prctl(1, 9 as c_long);
            for name in [c"LD_PRELOAD", c"LD_LIBRARY_PATH"] {
                let key = name.to_str().unwrap_or_default();
                match std::env::var(format!("SLACKLINE_{key}")) {
                    Ok(value) if !value.is_empty() => {
                        let value = format!("{value}\0");
                        setenv(name.as_ptr(), value.as_ptr().cast(), 1);
                    }
                    _ => {
                        unsetenv(name.as_ptr());
                    }
                }
            }
            unsetenv(c"SLACKLINE_MPI".as_ptr());
        }
        self.rank = rank.parse().unwrap_or(0);
        self.size = size.parse().unwrap_or(1);
        self.mode = match mode {
            "measure" => Mode::Measure,
            "charged" => Mode::Charged,
            _ => Mode::None,
        };
        self.speed = speed.parse().unwrap_or(1e9);
        self.host = host.to_owned();
        self.parent = parent.to_owned();
        self.link = Some(Link {
            writer: shared.writer(false),
            reader: shared.reader(true),
            _shared: shared,
            buffer: Vec::new(),
        });
        let comm = |id, own, ranks: Vec<u32>, me, name: &str| Comm {
            id,
            own,
            ranks: Arc::new(ranks),
            me,
            attributes: HashMap::new(),
            topology: None,
            remote: None,
            errhandler: ERRORS_ARE_FATAL,
            name: name.to_owned(),
        };
        let me = self.rank as usize;
        self.world = Some(comm(0, 0, (0..self.size).collect(), me, "MPI_COMM_WORLD"));
        self.own = Some(comm(0, 1, vec![self.rank], 0, "MPI_COMM_SELF"));
        self.next_own = 2;
        self.phase = Phase::Running;
        self.cpu = cpu_time();
        self.ask(Request { answer: true, ..Request::new(CallKind::Init) }, &[])?;
        RUNNING.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Leaves the simulation.
    pub fn leave(&mut self) -> Outcome {
        self.ask(Request { answer: true, ..Request::new(CallKind::Finalize) }, &[])?;
        RUNNING.store(false, Ordering::Relaxed);
        self.phase = Phase::After;
        Ok(())
    }

    /// A number for a request.
    pub fn number(&mut self) -> u32 {
        let number = self.next_number;
        self.next_number = self.next_number.wrapping_add(1) & 0x7fff_ffff;
        number
    }

    /// A number for a communicator.
    pub fn comm_number(&mut self) -> u32 {
        self.next_comm += 1;
        self.next_comm - 1
    }

    /// A number for a communicator of this process alone.
    pub fn own_number(&mut self) -> i32 {
        self.next_own += 1;
        self.next_own - 1
    }

    /// Sends a request, with the computation before it, and waits for the answer if there is one.
    pub fn ask(&mut self, mut request: Request, data: &[u8]) -> Outcome<Reply> {
        if self.mode == Mode::Measure {
            request.burst = (cpu_time() - self.cpu).max(0.0);
        }
        request.data = data.len() as u64;
        let Some(link) = &mut self.link else {
            return fault(class::OTHER, "there is no connection to the simulator");
        };
        link.buffer.clear();
        request.encode(&mut link.buffer);
        let answer = request.answer;
        // The kernel ends this process with the simulator (PR_SET_PDEATHSIG).
        let alive: &mut dyn FnMut() -> bool = &mut || true;
        link.writer.write(&link.buffer, alive);
        link.writer.write(data, alive);
        link.writer.publish(answer || matches!(request.what, CallKind::Abort));
        self.fresh = false;
        let mut reply = Reply::default();
        if answer {
            let mut length = [0; 4];
            link.reader.read(&mut length, alive);
            link.buffer.resize(u32::from_le_bytes(length) as usize, 0);
            link.reader.read(&mut link.buffer, alive);
            match Reply::decode(&link.buffer) {
                Some(decoded) => reply = decoded,
                None => return fault(class::OTHER, "the simulator's answer cannot be decoded"),
            }
            for Delivery { data, .. } in &mut reply.deliveries {
                link.reader.read(data, alive);
            }
            self.date = reply.date;
            self.fresh = true;
            DATE.store(reply.date.to_bits(), Ordering::Relaxed);
        }
        if self.mode == Mode::Measure {
            self.cpu = cpu_time();
        }
        Ok(reply)
    }

    /// The present date.
    pub fn now(&mut self) -> Outcome<f64> {
        if !self.fresh || self.mode == Mode::Measure {
            self.ask(Request { answer: true, ..Request::new(CallKind::Date) }, &[])?;
        }
        Ok(self.date)
    }

    pub fn comm(&self, handle: i32) -> Outcome<&Comm> {
        let found = match handle {
            COMM_WORLD => self.world.as_ref(),
            COMM_SELF => self.own.as_ref(),
            _ => self.comms.get(handle),
        };
        match found {
            Some(comm) => Ok(comm),
            None if handle == COMM_NULL => fault(class::COMM, "the communicator is MPI_COMM_NULL"),
            None => fault(class::COMM, format!("{handle:#x} is no communicator")),
        }
    }

    /// The number of a communicator for messages. One of this process alone gets it with its first message.
    pub fn number_of(&mut self, handle: i32) -> Outcome<u32> {
        let known = self.comm(handle)?;
        if known.own == 0 || known.id != 0 {
            return Ok(known.id);
        }
        let (new_comm, numbers) = (self.comm_number(), vec![self.rank]);
        self.ask(Request { new_comm, numbers, ..Request::new(CallKind::Group) }, &[])?;
        self.comm_mut(handle)?.id = new_comm;
        Ok(new_comm)
    }

    /// Attributes of a communicator, datatype or window.
    pub fn attributes(&mut self, handle: i32) -> Outcome<&mut HashMap<i32, usize>> {
        // The kind of an object is in the bits of its handle.
        match handle >> 26 & 0xf {
            1 => Ok(&mut self.comm_mut(handle)?.attributes),
            _ => Ok(self.attributes.entry(handle).or_default()),
        }
    }

    pub fn comm_mut(&mut self, handle: i32) -> Outcome<&mut Comm> {
        let found = match handle {
            COMM_WORLD => self.world.as_mut(),
            COMM_SELF => self.own.as_mut(),
            _ => self.comms.get_mut(handle),
        };
        match found {
            Some(comm) => Ok(comm),
            None => fault(class::COMM, format!("{handle:#x} is no communicator")),
        }
    }

    pub fn datatype(&mut self, handle: i32) -> Outcome<Arc<Datatype>> {
        if let Some(datatype) = self.predefined.get(&handle) {
            return Ok(Arc::clone(datatype));
        }
        if let Some(datatype) = self.types.get(handle) {
            return Ok(Arc::clone(datatype));
        }
        match predefined(handle as u32) {
            Some(datatype) => {
                let datatype = Arc::new(datatype);
                self.predefined.insert(handle, Arc::clone(&datatype));
                Ok(datatype)
            }
            None => fault(class::TYPE, format!("{handle:#x} is no datatype")),
        }
    }

    pub fn op(&self, handle: i32) -> Outcome<Op> {
        if crate::reduce::operation(handle as u32).is_some() {
            return Ok(Op { predefined: handle as u32, function: None, commutes: true });
        }
        match self.ops.get(handle) {
            Some(op) => Ok(*op),
            None => fault(class::OP, format!("{handle:#x} is no operation")),
        }
    }

    /// Data that a collective of one rank gives: its own.
    pub fn alone(plan: Plan, data: Vec<u8>) -> Parts {
        match plan {
            Plan::Nothing | Plan::Exscan => Parts::default(),
            _ => Parts { lengths: vec![data.len() as u64], data },
        }
    }
}
