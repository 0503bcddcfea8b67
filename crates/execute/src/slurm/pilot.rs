//! A pilot: an ordinary batch job that calls the engine, makes the attempts it is told to make, and
//! tells how they ended. When the engine is gone it finishes what it has under way, keeps what came of
//! it in the folder of the run, and waits a while for an engine that goes on.

use super::frames::{self, FromPilot, LONGEST, Post, ToPilot};
use super::places::Places;
use crate::attempt::{Broken, HOST_VARIABLE, Process, TASK_VARIABLE, end_orphans};
use crate::backend::OpId;
use crate::jobs::{Crew, Ear, Job, Label, Made};
use slackline_model::HostId;
use std::collections::BTreeMap;
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Longest time between two looks around.
const TICK: Duration = Duration::from_millis(200);

/// Time between two signs of life.
const SIGN: Duration = Duration::from_secs(3);

/// Time that an engine gets to answer a call.
const SLOW: Duration = Duration::from_secs(10);

/// Who a pilot is and for whom it works.
#[derive(Clone, Debug)]
pub struct Pilot {
    /// The folder of the run.
    pub folder: PathBuf,
    /// Names the run among all others.
    pub run: String,
    /// The host that it is.
    pub host: u32,
    /// Its name.
    pub name: String,
    /// Which pilot for this host.
    pub number: u32,
    /// The one operation it is for, where there is one.
    pub only: Option<u64>,
    /// Time without an engine after which it ends.
    pub patience: Duration,
}

/// What happens to a pilot.
enum Event {
    Told(u64, ToPilot),
    /// A connection is gone.
    Cut(u64),
    Begun(Label, Process),
    Made(Made),
}

struct Teller(Sender<Event>);

impl Ear for Teller {
    fn begun(&self, label: &Label, process: Process) {
        let _ = self.0.send(Event::Begun(label.clone(), process)); // it may be about to end
    }

    fn ended(&self, made: Made) {
        let _ = self.0.send(Event::Made(made));
    }
}

impl Pilot {
    /// Works until there is nothing more to do, nobody to work for, or `interrupted` says so.
    pub fn serve(&self, interrupted: &AtomicBool) -> Result<(), String> {
        let places = Places::of(&self.folder);
        let token = places.token().map_err(|e| format!("{}: {e}", self.folder.display()))?;
        if self.only.is_none() {
            // What an earlier pilot for this host left has nobody any more.
            end_orphans(&self.run, &[(HOST_VARIABLE, &self.name)], &[]);
        }
        let (events, told) = channel();
        let crew = Crew::new(Arc::new(Teller(events.clone())));
        let post = Post { host: HostId(self.host), only: self.only.map(OpId) };
        let mut duty = Duty {
            pilot: self,
            places,
            hello: (token, post),
            crew,
            jobs: BTreeMap::new(),
            link: None,
            links: 0,
            events,
            welcome: false,
            alone: Instant::now(),
            signed: Instant::now(),
        };
        duty.work(&told, interrupted)
    }
}

struct Duty<'p> {
    pilot: &'p Pilot,
    places: Places,
    hello: (String, Post),
    crew: Crew,
    jobs: BTreeMap<OpId, Label>,
    link: Option<TcpStream>,
    /// Connections so far: what comes from an earlier one is old.
    links: u64,
    events: Sender<Event>,
    /// Whether an engine has answered, and since when none has.
    welcome: bool,
    alone: Instant,
    signed: Instant,
}

impl Duty<'_> {
    fn work(&mut self, told: &Receiver<Event>, interrupted: &AtomicBool) -> Result<(), String> {
        loop {
            if interrupted.load(Ordering::Relaxed) {
                self.tell(&FromPilot::Bye("its batch job was ended".to_string()));
                return Ok(());
            }
            if self.link.is_none() {
                self.call();
            }
            if !self.welcome && self.alone.elapsed() > self.pilot.patience {
                return Err("nobody has work for this pilot any more".to_string());
            }
            if self.signed.elapsed() >= SIGN {
                self.signed = Instant::now();
                self.tell(&FromPilot::Alive);
            }
            match told.recv_timeout(TICK) {
                Ok(Event::Told(link, ToPilot::Quit)) if link == self.links => return Ok(()),
                Ok(Event::Told(link, what)) if link == self.links => self.obey(what),
                Ok(Event::Cut(link)) if link == self.links => self.hang_up(),
                Ok(Event::Told(..) | Event::Cut(_)) => {}
                Ok(Event::Begun(label, process)) => self.tell(&FromPilot::Begun { label, process }),
                Ok(Event::Made(made)) => {
                    let op = made.label.op;
                    self.jobs.remove(&op);
                    // First of all it is kept; where that fails, to tell it is all that is left.
                    let over = !matches!(made.how, Err(Broken::Stopped));
                    let kept = if over { self.places.keep(&made) } else { Ok(()) };
                    self.tell(&FromPilot::Made(made));
                    kept.map_err(|e| format!("what came of a task cannot be kept: {e}"))?;
                    if self.pilot.only == Some(op.0) {
                        return Ok(());
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()), // not while this is here
            }
        }
    }

    /// Calls the engine, wherever that is now; it may not be there.
    fn call(&mut self) {
        let (token, post) = self.hello.clone();
        let running = self.jobs.values().cloned().collect();
        let hello = FromPilot::Hello { token, post, number: self.pilot.number, running };
        let try_call = || -> std::io::Result<TcpStream> {
            let address = self.places.engine()?;
            let address = address.parse().map_err(std::io::Error::other)?;
            let mut stream = TcpStream::connect_timeout(&address, SLOW)?;
            stream.set_nodelay(true)?;
            stream.set_write_timeout(Some(SLOW))?;
            frames::write(&mut stream, &hello)?;
            Ok(stream)
        };
        let Ok((stream, reader)) = try_call().and_then(|s| Ok((s.try_clone()?, s))) else {
            return;
        };
        self.link = Some(stream);
        self.links += 1;
        let (link, events) = (self.links, self.events.clone());
        std::thread::spawn(move || listen(link, reader, &events));
    }

    fn hang_up(&mut self) {
        self.link = None;
        if std::mem::take(&mut self.welcome) {
            self.alone = Instant::now();
        }
    }

    fn tell(&mut self, what: &FromPilot) {
        if self.link.as_mut().is_some_and(|link| frames::write(link, what).is_err()) {
            self.hang_up();
        }
    }

    fn obey(&mut self, what: ToPilot) {
        match what {
            ToPilot::Welcome { keep } => {
                self.welcome = true;
                let unwanted = self.crew.under_way().into_iter().filter(|op| !keep.contains(op));
                unwanted.for_each(|op| self.crew.kill(op));
            }
            ToPilot::Begin(job) => self.begin(*job),
            ToPilot::Stop { op, at_once } if at_once => self.crew.kill(op),
            ToPilot::Stop { op, .. } => self.crew.stop(op),
            ToPilot::Quit => {}
        }
    }

    fn begin(&mut self, job: Job) {
        if self.pilot.only.is_some() {
            let (host, task) = (self.pilot.name.as_str(), job.label.name.as_str());
            let left = [(HOST_VARIABLE, host), (TASK_VARIABLE, task)];
            end_orphans(&self.pilot.run, &left, &[]);
        }
        self.jobs.insert(job.label.op, job.label.clone());
        self.crew.begin(job);
    }
}

fn listen(link: u64, mut stream: TcpStream, events: &Sender<Event>) {
    while let Ok(told) = frames::read(&mut stream, LONGEST) {
        if events.send(Event::Told(link, told)).is_err() {
            return;
        }
    }
    let _ = events.send(Event::Cut(link)); // it may be about to end
}
