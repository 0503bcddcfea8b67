//! A pilot: an ordinary batch job that calls the engine, makes the attempts it is told to make, and
//! tells how they ended. When the engine is gone it finishes what it has under way, keeps the outcome of
//! it in the folder of the run, and waits a while for an engine that resumes.

use super::ENDLESS;
use super::greeting::{self, Hello, Key, Refusal};
use super::pilot_dir::PilotDir;
use super::protocol::{FromPilot, JobTime, Reader, SlotId, ToPilot, Writer};
use super::slurm_client::say;
use crate::attempt::{AttemptError, HOST_VARIABLE, Process, TASK_VARIABLE, end_orphans};
use crate::attempt_pool::{Crew, Job, JobListener, JobResult, Label};
use crate::detect::local::host_name;
use crate::surroundings;
use serde::{Deserialize, Serialize};
use slackline_engine::OpId;
use slackline_model::HostId;
use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use thiserror::Error;

/// Longest time between two checks.
const TICK: Duration = Duration::from_millis(200);

/// Time between two signs of life.
const SIGN: Duration = Duration::from_secs(3);

/// Time for an engine to accept a connection, to prove who it is, and to receive a message.
const CONNECT: Duration = Duration::from_secs(3);
const GREETING: Duration = Duration::from_secs(3);
const SLOW: Duration = Duration::from_secs(10);

/// Identity of a pilot, its run and its engine: what its command line carries, as one document beside the folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pilot {
    /// The folder of the run.
    #[serde(skip)]
    pub folder: PathBuf,
    /// Names the run among all others.
    pub run: String,
    /// The host that it is.
    pub host: u32,
    /// Its name.
    pub name: String,
    /// Number of the pilot for this host.
    pub number: u32,
    /// The drive of the run that started it, whose key it uses.
    pub drive: u32,
    /// The one operation it is for, where there is one.
    pub only: Option<u64>,
    /// Time without an engine after which it ends.
    pub patience: Duration,
}

impl Pilot {
    /// The document of the command line.
    pub fn to_text(&self) -> String {
        // Numbers and texts alone: nothing in it cannot be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The pilot of a run folder that a document of the command line describes; in an array of jobs its operation is
    /// that of the first job and the `index` of its own.
    pub fn parse(folder: PathBuf, text: &str, index: u64) -> Result<Pilot, serde_json::Error> {
        let pilot: Pilot = serde_json::from_str(text)?;
        let only = pilot.only.map(|first| first.saturating_add(index));
        Ok(Pilot { folder, only, ..pilot })
    }
}

/// Events of a pilot.
enum Event {
    Told(u64, ToPilot),
    /// An engine has proven who it is.
    Connected(Writer<TcpStream>, Reader<TcpStream>),
    /// No engine was reached, or it is another version and never will be.
    NotConnected {
        why: String,
        for_good: bool,
    },
    /// A connection is gone.
    Cut(u64),
    Begun(Label, Process),
    Made(JobResult),
}

struct Teller(Sender<Event>);

impl JobListener for Teller {
    fn begun(&self, label: &Label, process: Process) {
        let _ = self.0.send(Event::Begun(label.clone(), process)); // it may be about to end
    }

    fn ended(&self, made: JobResult) {
        let _ = self.0.send(Event::Made(made));
    }
}

/// Reason why a pilot ended before its work was done.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct PilotError(String);

impl Pilot {
    /// Works until the engine ends it, there has been no engine for too long, or `interrupted` is true.
    pub fn serve(&self, interrupted: &AtomicBool) -> Result<(), PilotError> {
        self.work(interrupted).map_err(PilotError)
    }

    fn work(&self, interrupted: &AtomicBool) -> Result<(), String> {
        let places = PilotDir::of(&self.folder);
        let key = places.key(self.drive).map_err(|e| format!("the key of the run: {e}"))?;
        if self.only.is_none() {
            // Processes that an earlier pilot for this host left have no owner any more.
            end_orphans(&self.run, &[(HOST_VARIABLE, &self.name)], &[]);
        }
        // A job for one task finds out with its attempt.
        let needs = if self.only.is_none() { places.needs() } else { Vec::new() };
        let lacks = surroundings::lacks(&needs).into_iter().next();
        let lacks = lacks.map(|(task, what)| {
            format!("task '{task}' on node {} (host '{}'): {what}", host_name(), self.name)
        });
        let (events, told) = channel();
        let teller = Arc::new(Teller(events.clone()));
        let crew = if self.only.is_some() { Crew::single(teller) } else { Crew::new(teller) };
        let post = SlotId { host: HostId(self.host), only: self.only.map(OpId) };
        let mut duty = Duty {
            pilot: self,
            places,
            key,
            post,
            crew,
            jobs: BTreeMap::new(),
            time: job_time(),
            lacks,
            link: None,
            calling: false,
            unreached: String::new(),
            links: 0,
            events,
            welcome: false,
            answered: false,
            alone: Instant::now(),
            signed: Instant::now(),
        };
        duty.work(&told, interrupted)
    }
}

struct Duty<'p> {
    pilot: &'p Pilot,
    places: PilotDir,
    key: Key,
    post: SlotId,
    crew: Crew,
    jobs: BTreeMap<OpId, Label>,
    /// When its batch job ends, and how many seconds it has in all.
    time: Option<(Instant, f64)>,
    /// Requirement of tasks that this node does not meet.
    lacks: Option<String>,
    link: Option<Writer<TcpStream>>,
    /// A thread tries to reach an engine.
    calling: bool,
    /// Reason why the last connection to the engine failed.
    unreached: String,
    /// Connections so far: what comes from an earlier one is old.
    links: u64,
    events: Sender<Event>,
    /// Whether an engine has answered, and since when none has.
    welcome: bool,
    /// Whether the engine has sent anything over the last connection.
    answered: bool,
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
            if self.link.is_none() && !self.calling {
                self.call();
            }
            if !self.welcome && self.alone.elapsed() > self.pilot.patience {
                let why = &self.unreached;
                return Err(format!("nobody has work for this pilot any more: {why}"));
            }
            if self.signed.elapsed() >= SIGN {
                self.signed = Instant::now();
                self.tell(&FromPilot::Alive);
            }
            match told.recv_timeout(TICK) {
                Ok(Event::Told(link, ToPilot::Quit)) if link == self.links => return Ok(()),
                Ok(Event::Told(link, what)) if link == self.links => {
                    self.answered = true;
                    self.obey(what);
                }
                Ok(Event::Cut(link)) if link == self.links => self.hang_up(),
                Ok(Event::Told(..) | Event::Cut(_)) => {}
                Ok(Event::Connected(to, from)) => self.connected(to, from),
                Ok(Event::NotConnected { why, for_good: true }) => return Err(why),
                Ok(Event::NotConnected { why, .. }) => {
                    (self.calling, self.unreached) = (false, why)
                }
                Ok(Event::Begun(label, process)) => self.tell(&FromPilot::Begun { label, process }),
                Ok(Event::Made(made)) => {
                    let op = made.label.op;
                    self.jobs.remove(&op);
                    // First of all it is kept; where that fails, to tell it is all that is left.
                    let over = !matches!(made.how, Err(AttemptError::Stopped));
                    let kept = if over { self.places.keep(&made) } else { Ok(()) };
                    self.tell(&FromPilot::Made(made));
                    kept.map_err(|e| format!("the outcome of a task cannot be kept: {e}"))?;
                    if self.pilot.only == Some(op.0) {
                        return Ok(());
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()), // not while this is here
            }
        }
    }

    /// Tries to reach the engine, in a thread: another process may listen at its address, and
    /// slow.
    fn call(&mut self) {
        self.calling = true;
        let (drive, post, number) = (self.pilot.drive, self.post, self.pilot.number);
        let (key, places, events) = (self.key.clone(), self.places.clone(), self.events.clone());
        // An engine that ends connections at once is not called without a pause.
        let pause = if self.links > 0 && !self.answered { TICK } else { Duration::ZERO };
        let answer = self.events.clone();
        let caller = std::thread::Builder::new().spawn(move || {
            std::thread::sleep(pause);
            let reached = (|| {
                let address = places.engine()?.parse().map_err(std::io::Error::other)?;
                let stream = TcpStream::connect_timeout(&address, CONNECT)?;
                stream.set_nodelay(true)?;
                stream.set_write_timeout(Some(SLOW))?;
                greeting::greet(&stream, &key, &Hello::new(drive, post, number)?, GREETING)
            })();
            let event = match reached {
                Ok((from, to)) => Event::Connected(to, from),
                Err(Refusal::Mismatch(why)) => Event::NotConnected { why, for_good: true },
                Err(Refusal::Unproven(error)) => {
                    std::thread::sleep(TICK);
                    Event::NotConnected { why: error.to_string(), for_good: false }
                }
            };
            let _ = events.send(event); // the pilot may be about to end
        });
        if let Err(error) = caller {
            let why = format!("no thread can be started: {error}");
            let _ = answer.send(Event::NotConnected { why, for_good: false }); // as above
            std::thread::sleep(TICK);
        }
    }

    /// An engine is there: it learns what is under way.
    fn connected(&mut self, to: Writer<TcpStream>, from: Reader<TcpStream>) {
        self.calling = false;
        self.link = Some(to);
        self.links += 1;
        let running = self.jobs.values().cloned().collect();
        let time = self.time.map(|(ends, whole)| {
            let left = ends.saturating_duration_since(Instant::now()).as_secs_f64();
            JobTime { left, whole }
        });
        let lacks = self.lacks.clone();
        self.tell(&FromPilot::Present { running, time, lacks });
        self.answered = false;
        let (link, events) = (self.links, self.events.clone());
        let listener = std::thread::Builder::new().spawn(move || listen(link, from, &events));
        if listener.is_err() {
            self.hang_up(); // and call again
        }
    }

    fn hang_up(&mut self) {
        if let Some(link) = self.link.take() {
            let _ = link.get_ref().shutdown(Shutdown::Both); // it may be closed already
        }
        if std::mem::take(&mut self.welcome) {
            self.alone = Instant::now();
        }
    }

    fn tell(&mut self, what: &FromPilot) {
        if self.link.as_mut().is_some_and(|link| link.write(what).is_err()) {
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

    fn begin(&mut self, mut job: Job) {
        let single = self.pilot.only.is_some();
        for (name, ids) in &mut job.attempt.env {
            if let Some(own) = DEVICES.contains(&name.as_str()).then(|| std::env::var(name).ok()) {
                *ids = among_own(ids, own.as_deref(), single);
            }
        }
        if self.pilot.only.is_some() {
            let (host, task) = (self.pilot.name.as_str(), job.label.name.as_str());
            let left = [(HOST_VARIABLE, host), (TASK_VARIABLE, task)];
            end_orphans(&self.pilot.run, &left, &[]);
        }
        self.jobs.insert(job.label.op, job.label.clone());
        self.crew.begin(job);
    }
}

/// Variables that list the devices a process sees.
const DEVICES: [&str; 2] = ["CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"];

/// The devices of a task among those that Slurm gave its job: ids are places in that list, and a job for one
/// task has those of the task alone.
fn among_own(ids: &str, own: Option<&str>, single: bool) -> String {
    let Some(own) = own.filter(|_| !ids.is_empty()) else { return ids.to_string() };
    if single {
        return own.to_string();
    }
    let own: Vec<&str> = own.split(',').collect();
    let name = |id: &str| id.parse().ok().and_then(|at: usize| own.get(at).copied());
    ids.split(',').map(|id| name(id).unwrap_or(id)).collect::<Vec<_>>().join(",")
}

/// When the batch job of this process ends, and how many seconds it has in all, where that is limited.
fn job_time() -> Option<(Instant, f64)> {
    let variable = |name| std::env::var(name).ok();
    let date = |name| variable(name)?.parse::<f64>().ok().filter(|date| *date > 0.0);
    let (left, whole) = match (date("SLURM_JOB_START_TIME"), date("SLURM_JOB_END_TIME")) {
        (Some(start), Some(end)) if end > start => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs_f64();
            (end - now, end - start)
        }
        // Earlier versions do not say it.
        _ => {
            let job = variable("SLURM_JOB_ID")?;
            let words = ["--noheader", "--format=%L|%l", "--jobs", &job];
            let said = say("squeue", &words, "", CONNECT).ok()?;
            let (left, whole) = said.trim().split_once('|')?;
            (slurm_seconds(left)?, slurm_seconds(whole)?)
        }
    };
    if whole >= ENDLESS {
        return None;
    }
    let left = Duration::try_from_secs_f64(left.max(0.0)).ok()?;
    Some((Instant::now().checked_add(left)?, whole))
}

/// Seconds of a time as Slurm writes it: days-hours:minutes:seconds, the first parts left out.
pub(crate) fn slurm_seconds(text: &str) -> Option<f64> {
    let (days, rest) = text.split_once('-').unwrap_or(("0", text));
    let parts: Option<Vec<f64>> = rest.split(':').map(|part| part.parse().ok()).collect();
    let parts = parts.filter(|parts| parts.len() <= 3)?;
    let seconds = parts.iter().fold(0.0, |sum, part| sum * 60.0 + part);
    Some(days.parse::<f64>().ok()? * 86_400.0 + seconds)
}

fn listen(link: u64, mut from: Reader<TcpStream>, events: &Sender<Event>) {
    while let Ok(told) = from.read() {
        if events.send(Event::Told(link, told)).is_err() {
            return;
        }
    }
    let _ = events.send(Event::Cut(link)); // it may be about to end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_places_in_the_list_of_the_job() {
        assert_eq!(among_own("0,2", Some("4,5,7"), false), "4,7");
        assert_eq!(among_own("3", Some("6"), true), "6");
        assert_eq!(among_own("", Some("6"), false), "");
        assert_eq!(among_own("1", None, false), "1");
    }
}
