//! The socket that pilots connect to. One thread serves all connections that are not authenticated yet: their number is
//! bounded (a new one displaces the oldest), and each has a deadline. An authenticated pilot gets a thread of its own.

use super::greeting::{Challenged, Key, LONGEST, TAG};
use super::protocol::{FromPilot, JobTime, Reader, Seal, SlotId, Writer};
use crate::attempt_pool::Label;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use std::collections::{BTreeMap, VecDeque};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// Time limit of a whole greeting.
const GREETING: Duration = Duration::from_secs(5);

/// Time without a message after which a pilot counts as gone; it sends one every few seconds.
const SILENCE: Duration = Duration::from_secs(20);

/// Time for a pilot to receive a message.
const SLOW: Duration = Duration::from_secs(10);

/// Maximum number of pilots that are connected at a time.
const PILOTS: usize = 10_000;

/// Maximum number of connections that are not authenticated.
const CALLERS: usize = 256;

/// Most connections accepted in one round.
const ACCEPTED: usize = 32;

/// Least time between two rounds through these connections: bounds the processor time that strangers can use.
const PAUSE: Duration = Duration::from_millis(1);

/// Pause after the system could not accept a connection, e.g. for lack of file descriptors.
const SHORTAGE: Duration = Duration::from_millis(100);

/// Name of the thread of the socket.
pub(super) const THREAD: &str = "pilot-socket";

/// A connection; numbers are not used twice.
pub(super) type LinkId = u64;

/// The sending end of a connection to a pilot.
pub(super) type Outlet = Writer<TcpStream>;

/// Events of connections.
#[derive(Debug)]
pub(super) enum PilotEvent {
    /// A pilot has connected.
    Connected {
        link: LinkId,
        to: Outlet,
        post: SlotId,
        number: u32,
        running: Vec<Label>,
        time: Option<JobTime>,
        lacks: Option<String>,
    },
    /// A pilot cannot be used, for the reason given.
    Refused { post: SlotId, number: u32, why: String },
    /// An authenticated message has arrived.
    Message(LinkId, FromPilot),
    /// A connection is gone.
    Disconnected(LinkId),
}

/// The listening socket, until it is dropped.
pub(super) struct PilotServer {
    address: SocketAddr,
    /// The thread ends when the other end of this is closed.
    _open: UnixStream,
}

impl PilotServer {
    /// Serves callers at a socket; `keys` are those of all processes that have driven the run, `tell` receives every event.
    pub(super) fn open(
        listener: TcpListener,
        keys: BTreeMap<u32, Key>,
        tell: impl Fn(PilotEvent) + Send + Sync + 'static,
    ) -> Result<PilotServer> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (open, closed) = UnixStream::pair()?;
        let connected = Arc::new(AtomicUsize::new(0));
        let (callers, links) = (VecDeque::new(), 0);
        let mut reception =
            Reception { listener, closed, keys, callers, links, connected, tell: Arc::new(tell) };
        std::thread::Builder::new().name(THREAD.into()).spawn(move || reception.serve())?;
        Ok(PilotServer { address, _open: open })
    }

    /// The address that it listens at.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Listens on the first free port of a range, or on any free port.
pub(super) fn listener(at: IpAddr, ports: Option<(u16, u16)>) -> Result<TcpListener> {
    let Some((first, last)) = ports else { return TcpListener::bind((at, 0)) };
    for port in first..=last {
        match TcpListener::bind((at, port)) {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {}
            Err(error) => return Err(Error::new(error.kind(), format!("port {port}: {error}"))),
            listener => return listener,
        }
    }
    let why = format!("no port of {first}-{last} is free");
    Err(Error::new(ErrorKind::AddrInUse, why))
}

/// A connection that is not authenticated yet.
struct Caller {
    stream: TcpStream,
    deadline: Instant,
    step: Step,
    /// Bytes received in the present step, and their number when it is complete.
    received: Vec<u8>,
    wanted: usize,
}

/// Part of the greeting that is received next: the length of the hello, the hello, the proof of the key.
enum Step {
    Length,
    Hello,
    Proof(Box<Challenged>),
}

/// An authenticated pilot, with the keys of both directions.
struct Proven {
    challenged: Box<Challenged>,
    to_pilot: Seal,
    to_engine: Seal,
}

impl Caller {
    fn new(stream: TcpStream) -> Result<Caller> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let (deadline, step) = (Instant::now() + GREETING, Step::Length);
        Ok(Caller { stream, deadline, step, received: Vec::new(), wanted: 4 })
    }

    /// Reads what has arrived, never more than the present step needs. An error ends the connection.
    fn advance(&mut self, keys: &BTreeMap<u32, Key>) -> Result<Option<Proven>> {
        let mut chunk = [0; LONGEST];
        loop {
            let missing = self.wanted - self.received.len();
            match self.stream.read(&mut chunk[..missing]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.received.extend_from_slice(&chunk[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            if self.received.len() < self.wanted {
                continue;
            }
            let received = std::mem::take(&mut self.received);
            let refused = || Error::from(ErrorKind::PermissionDenied);
            (self.step, self.wanted) = match std::mem::replace(&mut self.step, Step::Length) {
                Step::Length => {
                    let length = received.try_into().map_err(|_| refused())?;
                    let length = u32::from_be_bytes(length) as usize;
                    if !(1..=LONGEST).contains(&length) {
                        return Err(refused());
                    }
                    (Step::Hello, length)
                }
                Step::Hello => {
                    let answered = Challenged::new(received, |drive| keys.get(&drive).cloned())?;
                    let (challenged, answer) = answered.ok_or_else(refused)?;
                    // It does not block: it fits into the buffer of a new connection.
                    self.stream.write_all(&answer)?;
                    (Step::Proof(Box::new(challenged)), TAG)
                }
                Step::Proof(challenged) => {
                    let (to_pilot, to_engine) = challenged.verify(&received).ok_or_else(refused)?;
                    return Ok(Some(Proven { challenged, to_pilot, to_engine }));
                }
            };
        }
    }
}

/// The thread of the socket.
struct Reception<T> {
    listener: TcpListener,
    /// Readable once the server is dropped.
    closed: UnixStream,
    keys: BTreeMap<u32, Key>,
    /// Oldest first.
    callers: VecDeque<Caller>,
    links: LinkId,
    connected: Arc<AtomicUsize>,
    tell: Arc<T>,
}

impl<T: Fn(PilotEvent) + Send + Sync + 'static> Reception<T> {
    fn serve(&mut self) {
        loop {
            let ready = self.wait();
            let [closed, called, callers @ ..] = ready.as_slice() else { return };
            if *closed {
                return;
            }
            let (called, callers) = (*called, callers.to_vec());
            let now = Instant::now();
            for (mut caller, ready) in std::mem::take(&mut self.callers).into_iter().zip(callers) {
                if !ready {
                    if now < caller.deadline {
                        self.callers.push_back(caller);
                    }
                    continue;
                }
                match caller.advance(&self.keys) {
                    Ok(Some(proven)) => self.admit(caller.stream, proven),
                    Ok(None) if now < caller.deadline => self.callers.push_back(caller),
                    Ok(None) | Err(_) => {}
                }
            }
            if called {
                self.accept();
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits for something to read. Returns whether there is, for `closed`, the listener and every caller in this order.
    fn wait(&self) -> Vec<bool> {
        let next = self.callers.iter().map(|caller| caller.deadline).min();
        let left = next.map(|end| end.saturating_duration_since(Instant::now()) + PAUSE);
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let mut polled = vec![
            PollFd::new(&self.closed, PollFlags::IN),
            PollFd::new(&self.listener, PollFlags::IN),
        ];
        polled.extend(self.callers.iter().map(|c| PollFd::new(&c.stream, PollFlags::IN)));
        // After an interruption nothing is ready.
        let _ = poll(&mut polled, timeout.as_ref());
        polled.iter().map(|polled| !polled.revents().is_empty()).collect()
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPTED {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if self.callers.len() >= CALLERS {
                        self.callers.pop_front();
                    }
                    self.callers.extend(Caller::new(stream));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The connection has been closed already.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(_) => return std::thread::sleep(SHORTAGE),
            }
        }
    }

    /// Starts the thread that reads the messages of an authenticated pilot, or refuses it.
    fn admit(&mut self, stream: TcpStream, proven: Proven) {
        let tell = Arc::clone(&self.tell);
        let (post, number) = (proven.challenged.hello.post, proven.challenged.hello.number);
        if let Some(why) = proven.challenged.hello.mismatch() {
            return tell(PilotEvent::Refused { post, number, why });
        }
        if self.connected.fetch_add(1, Ordering::Relaxed) >= PILOTS {
            self.connected.fetch_sub(1, Ordering::Relaxed);
            let why = format!("{PILOTS} pilots are connected already");
            return tell(PilotEvent::Refused { post, number, why });
        }
        self.links += 1;
        let (link, connected) = (self.links, Arc::clone(&self.connected));
        let heard = Arc::clone(&tell);
        let reader = std::thread::Builder::new().spawn(move || {
            if read(link, &stream, proven, heard.as_ref()).is_ok() {
                heard(PilotEvent::Disconnected(link));
            }
            let _ = stream.shutdown(Shutdown::Both); // the pilot may have closed it
            connected.fetch_sub(1, Ordering::Relaxed);
        });
        // Without a thread the connection is closed, and the pilot connects again.
        if let Err(error) = reader {
            self.connected.fetch_sub(1, Ordering::Relaxed);
            tell(PilotEvent::Refused {
                post,
                number,
                why: format!("no thread can be started: {error}"),
            });
        }
    }
}

/// Reads messages until the connection ends; an error if the first one was not valid.
fn read(
    link: LinkId,
    stream: &TcpStream,
    proven: Proven,
    tell: &impl Fn(PilotEvent),
) -> Result<()> {
    let Proven { challenged, to_pilot, to_engine } = proven;
    let (post, number) = (challenged.hello.post, challenged.hello.number);
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SLOW))?;
    let to = Writer::new(stream.try_clone()?, to_pilot);
    let mut input = Reader::new(stream, to_engine);
    let FromPilot::Present { running, time, lacks } = input.read()? else {
        return Err(ErrorKind::InvalidData.into());
    };
    tell(PilotEvent::Connected { link, to, post, number, running, time, lacks });
    while let Ok(message) = input.read() {
        tell(PilotEvent::Message(link, message));
    }
    Ok(())
}

/// A function that sends events to the backend and wakes the engine.
pub(super) fn event_sink(
    heard: Sender<PilotEvent>,
    wake: impl Fn() + Send + Sync,
) -> impl Fn(PilotEvent) + Send + Sync {
    move |what| {
        let _ = heard.send(what); // the receiver may have been dropped
        wake();
    }
}
