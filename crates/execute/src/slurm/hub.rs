//! Where pilots call: a socket, a thread for each of them. Who does not know the token is not heard.

use super::frames::{self, FIRST, FromPilot, LONGEST, Post, ToPilot};
use crate::jobs::Label;
use std::io::{Error, ErrorKind, Result};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

/// Time that a stranger gets to say who it is.
const MANNERS: Duration = Duration::from_secs(10);

/// Time without a word after which a pilot counts as gone; it says one every few seconds.
const SILENCE: Duration = Duration::from_secs(20);

/// Time that a pilot gets to take in what it is told.
const SLOW: Duration = Duration::from_secs(10);

/// Most connections at a time.
const MANY: usize = 10_000;

/// A connection; numbers are not used twice.
pub(super) type LinkId = u64;

/// What is heard of pilots.
pub(super) enum Heard {
    /// One has called.
    Joined { link: LinkId, to: TcpStream, post: Post, number: u32, running: Vec<Label> },
    /// One has said something.
    Said(LinkId, FromPilot),
    /// A connection is gone.
    Left(LinkId),
}

/// See the module's head.
pub(super) struct Hub {
    address: SocketAddr,
    closing: Arc<AtomicBool>,
}

impl Hub {
    /// Listens at an address; `tell` hears of everything.
    pub(super) fn open(
        at: IpAddr,
        token: String,
        tell: impl Fn(Heard) + Send + Sync + 'static,
    ) -> Result<Hub> {
        let listener = TcpListener::bind((at, 0))?;
        let address = listener.local_addr()?;
        let closing = Arc::new(AtomicBool::new(false));
        let closed = Arc::clone(&closing);
        let tell = Arc::new(tell);
        std::thread::spawn(move || {
            let (links, open) = (AtomicU64::new(0), Arc::new(AtomicUsize::new(0)));
            for stream in listener.incoming() {
                if closed.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                if open.fetch_add(1, Ordering::Relaxed) >= MANY {
                    open.fetch_sub(1, Ordering::Relaxed);
                    continue;
                }
                let link = links.fetch_add(1, Ordering::Relaxed);
                let (open, tell, token) = (Arc::clone(&open), Arc::clone(&tell), token.clone());
                std::thread::spawn(move || {
                    if serve(link, stream, &token, tell.as_ref()).is_ok() {
                        tell(Heard::Left(link));
                    }
                    open.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        Ok(Hub { address, closing })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address); // wakes it up
    }
}

/// Hears a caller out; an error is somebody who was never let in.
fn serve(link: LinkId, mut stream: TcpStream, token: &str, tell: &impl Fn(Heard)) -> Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(MANNERS))?;
    stream.set_write_timeout(Some(SLOW))?;
    let to = stream.try_clone()?;
    match frames::read(&mut stream, FIRST)? {
        FromPilot::Hello { token: word, post, number, running } if is_same(&word, token) => {
            tell(Heard::Joined { link, to, post, number, running });
        }
        _ => return Err(Error::from(ErrorKind::PermissionDenied)),
    }
    stream.set_read_timeout(Some(SILENCE))?;
    while let Ok(said) = frames::read(&mut stream, LONGEST) {
        tell(Heard::Said(link, said));
    }
    Ok(())
}

/// Compares in the same time whatever differs.
fn is_same(word: &str, token: &str) -> bool {
    let pairs = word.bytes().zip(token.bytes());
    word.len() == token.len() && pairs.fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

/// Tells a pilot something.
pub(super) fn tell(to: &mut TcpStream, what: &ToPilot) -> Result<()> {
    frames::write(to, what)
}

/// What is heard goes to the workshop, and wakes the engine.
pub(super) fn to_site(
    heard: Sender<Heard>,
    wake: impl Fn() + Send + Sync,
) -> impl Fn(Heard) + Send + Sync {
    move |what| {
        let _ = heard.send(what); // nobody may listen any more
        wake();
    }
}
