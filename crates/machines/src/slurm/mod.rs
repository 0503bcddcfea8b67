//! A Slurm cluster as a place where attempts are made. *Pilots* are ordinary batch jobs, one for each
//! host of the platform, that call the engine over a socket and make attempts until there is nothing
//! more to do; or every attempt is a batch job of its own, whose pilot makes only that one.
//!
//! A host can work as long as its pilot is there. Where the platform says that machines are leased, an
//! order submits the pilot; everywhere else pilots are submitted at the beginning, and again whenever
//! one has ended. The folder of the run is shared by all nodes: what is in the store of a host
//! outlives its pilot.

mod address;
mod check;
mod greeting;
mod pilot;
mod pilot_dir;
mod pilot_server;
mod pilot_slot;
mod protocol;
mod slurm_client;
#[cfg(test)]
mod tests;

pub use address::{Found, address};
pub use check::{SlurmError, check, check_words};
pub(crate) use pilot::slurm_seconds;
pub use pilot::{Pilot, PilotError};
pub use slurm_client::cancel_jobs;

use crate::attempt::{AttemptError, KIND_VARIABLE, NODES_VARIABLE};
use crate::attempt_pool::{Job, JobListener, JobResult, Label};
use crate::folder::{Note, RunFolder};
use crate::machine_backend::{EventSender, Executor, ExecutorEvent, HostEvent, Room};
use crate::surroundings::Need;
use pilot_dir::PilotDir;
use pilot_server::{LinkId, PilotEvent, PilotServer};
use pilot_slot::PilotSlot;
use protocol::{FromPilot, JobTime, SlotId, ToPilot};
use serde::{Deserialize, Serialize};
use slackline_engine::{Accepted, BackendError, Backlog, Liveness, OpError, OpId};
use slackline_model::platform::BatchOptions;
use slackline_model::units::fmt_seconds;
use slackline_model::workflow::Command;
use slackline_model::{HostId, Platform, TaskId};
use slurm_client::{
    ARRAY_SPAN, ArraySubmission, Refusal, Said, SlurmClient, State, Submission, Ticket, gres,
    licences, of_ids, option_name,
};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Time that a pilot gets to call again before it counts as gone.
const RETURN: Duration = Duration::from_secs(2);

/// Time that pilots get to call an engine that resumes.
const GREETING: Duration = Duration::from_secs(10);

/// Time between two considerations of the number of pilots.
const SCALE_PACE: Duration = Duration::from_secs(2);

/// Time without work after which a pilot ends where their number follows the need.
const IDLE_PILOT: Duration = Duration::from_secs(20);

/// Seconds of a batch job for one task beyond the time limit of its attempt.
const MARGIN: f64 = 60.0;

/// Least seconds that a batch job for one task asks for, and the ratio of what it asks for to the estimate.
const LEAST_TIME: f64 = 600.0;
const ABOVE_ESTIMATE: f64 = 1.5;

/// Growth of the time asked for after a batch job for one task was ended because its time was over.
const MORE_TIME: f64 = 2.0;

/// Seconds before its announced end in which a batch job for one task that goes counts as having come to it.
const AT_END: f64 = 2.0;

/// Seconds before the end of a pilot by which its tasks have to be over, and the part of its time that is the most.
const GRACE: f64 = 60.0;
const GRACE_PART: f64 = 0.1;

/// Time that a silent job for one task gets, beyond that of a pilot, until the batch system has said how it ended.
const VERDICT: Duration = Duration::from_secs(8);

/// Seconds before the end of a pilot at which the next is asked for, the part of its time that is the most of these, and
/// the part that is the most where pilots wait for long in the queue.
const LEAD: f64 = 600.0;
const LEAD_PART: f64 = 0.1;
const MOST_LEAD: f64 = 0.5;

/// Seconds of a batch job from which on it has no end: Slurm gives one without a limit a year.
pub(crate) const ENDLESS: f64 = 360.0 * 86_400.0;

/// Time without work after which a pilot is replaced that has too little time left for the next task.
const IDLE: Duration = Duration::from_secs(1);

/// Purpose of a batch job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// All tasks of a host, one after the other.
    #[default]
    Pilots,
    /// One attempt at one task.
    Job,
}

/// Use of the cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct SlurmOptions {
    /// Purpose of a batch job.
    pub mode: Mode,
    /// Address and ports the engine may listen on.
    pub listen: IpAddr,
    /// First and last of these; any that the system chooses if there are none.
    pub ports: Option<(u16, u16)>,
    /// The address that pilots call.
    pub called: IpAddr,
    /// Time between two queries of the queue, if it does not depend on the number of jobs.
    pub squeue_interval: Option<Duration>,
    /// Words that every submission gets in addition to ours.
    pub sbatch: Vec<String>,
    /// Fewest and most pilots at once; one for every host where there are none.
    pub pilots: Option<(u32, u32)>,
    /// Seconds without an engine after which a pilot ends.
    pub patience: f64,
    /// Ratio of the time that a pilot must have left for a task to its estimate.
    pub wall_safety: f64,
    /// What tasks need around them, which pilots look for on their nodes.
    pub needs: Vec<Need>,
    /// Names the run among all others.
    pub run: String,
    /// The program that pilots run.
    pub myself: PathBuf,
}

/// The executor of a Slurm cluster: attempts in pilots, or each as a batch job.
pub struct Slurm<'p> {
    platform: &'p Platform,
    folder: Arc<RunFolder>,
    options: SlurmOptions,
    events: EventSender,
    places: PilotDir,
    /// Number of this drive of the run: pilots that it starts use its key.
    drive: u32,
    hub: Option<PilotServer>,
    batch: SlurmClient,
    heard: Receiver<PilotEvent>,
    said: Receiver<Said>,
    slots: BTreeMap<SlotId, PilotSlot>,
    links: BTreeMap<LinkId, SlotId>,
    /// Connections of pilots that come next.
    next_links: BTreeMap<LinkId, SlotId>,
    /// Seconds that pilots have waited in the queue: their sum, and how many.
    waits: (f64, u32),
    /// Turns that were taken and not told.
    host_events: Vec<HostEvent>,
    /// Jobs of which it was told their outcomes, since the engine last wrote.
    told: Vec<OpId>,
    /// Whether the jobs of the run are known: before, none is submitted.
    listed: bool,
    /// A run was resumed: pilots that are not needed now are ended.
    settling: bool,
    /// Requirement of tasks that a node does not meet, while none has begun.
    lacking: Option<String>,
    /// Whether a task has begun.
    has_begun: bool,
    /// Reason why the last host with a permanent pilot was given up.
    given_up: Option<String>,
    /// When the number of pilots was last considered.
    scaled: Instant,
    /// Since when pilots that are there have nothing to do.
    idle: BTreeMap<HostId, Instant>,
    /// Seconds that batch jobs for a host have for tasks, as the last pilot said when it began.
    whole: BTreeMap<HostId, f64>,
    /// Seconds that the batch job for a task asked for last, and that the next has to ask for at least.
    asked: BTreeMap<TaskId, f64>,
    too_short: BTreeMap<TaskId, f64>,
}

impl<'p> Slurm<'p> {
    /// The cluster that this machine's `sbatch` submits to.
    pub fn new(
        platform: &'p Platform,
        folder: Arc<RunFolder>,
        options: SlurmOptions,
        events: EventSender,
    ) -> Result<Slurm<'p>, BackendError> {
        let places = PilotDir::of(folder.root());
        let failed =
            |e: std::io::Error| BackendError::Machines(format!("the folder of the pilots: {e}"));
        places.make().map_err(failed)?;
        places.need(&options.needs).map_err(failed)?;
        let drive = places.begin_drive().map_err(failed)?;
        let keys = places.keys().map_err(failed)?;
        let (send_event, heard) = channel();
        let (tell_said, said) = channel();
        let wake = |events: EventSender| move || events.tell(ExecutorEvent::Wake);
        let listener = pilot_server::listener(options.listen, options.ports);
        let hub = listener.and_then(|listener| {
            PilotServer::open(
                listener,
                keys,
                pilot_server::event_sink(send_event, wake(events.clone())),
            )
        });
        let hub = hub.map_err(|e| {
            BackendError::Machines(format!("cannot listen at {}: {e}", options.listen))
        })?;
        let called = SocketAddr::new(options.called, hub.address().port());
        places.announce(&called.to_string()).map_err(failed)?;
        let wake = wake(events.clone());
        let (run, extra, every) =
            (options.run.clone(), options.sbatch.clone(), options.squeue_interval);
        let batch = SlurmClient::new(run, extra, every, move |what| {
            let _ = tell_said.send(what); // the receiver may have been dropped
            wake();
        });
        let (slots, links, host_events, told) = Default::default();
        let (hub, listed, settling) = (Some(hub), false, false);
        Ok(Slurm {
            platform,
            folder,
            options,
            events,
            places,
            drive,
            hub,
            batch,
            heard,
            said,
            slots,
            links,
            next_links: BTreeMap::new(),
            waits: (0.0, 0),
            host_events,
            told,
            listed,
            settling,
            lacking: None,
            has_begun: false,
            given_up: None,
            scaled: Instant::now(),
            idle: BTreeMap::new(),
            whole: BTreeMap::new(),
            asked: BTreeMap::new(),
            too_short: BTreeMap::new(),
        })
    }

    fn is_leasable(&self, host: HostId) -> bool {
        self.platform.class(self.platform.host(host).class).leasable
    }

    /// Hosts that have a pilot whatever happens.
    fn hosts_with_permanent_pilot(&self) -> impl Iterator<Item = HostId> {
        let pilots = self.options.mode == Mode::Pilots;
        self.platform
            .host_ids()
            .filter(move |h| pilots && !self.is_leasable(*h) && self.platform.host(*h).cores > 0)
    }

    /// Hosts that have a pilot whatever happens, those with most cores first where their number follows the need.
    fn wide_first(&self) -> Vec<HostId> {
        let mut hosts: Vec<HostId> = self.hosts_with_permanent_pilot().collect();
        if self.options.pilots.is_some() {
            hosts.sort_by_key(|host| std::cmp::Reverse(self.platform.host(*host).cores));
        }
        hosts
    }

    /// Hosts without a pilot that may get one.
    fn spare_hosts(&self) -> Vec<HostId> {
        let free = |host: &HostId| {
            let slot = self.slots.get(&SlotId { host: *host, only: None });
            slot.is_none_or(|slot| !slot.is_wanted() && !slot.is_given_up())
        };
        self.wide_first().into_iter().filter(free).collect()
    }

    /// Hosts with a pilot, or with one on its way.
    fn served_hosts(&self) -> Vec<HostId> {
        let served = |(_, slot): &(&SlotId, &PilotSlot)| slot.is_wanted() && !slot.is_given_up();
        let posts = self.slots.iter().filter(|(post, _)| post.only.is_none());
        posts.filter(served).map(|(post, _)| post.host).collect()
    }

    /// Fits the number of pilots to the work: twice as many where all are there and busy, fewer where one has had
    /// nothing to do for a while and what is on its host stays in reach.
    fn scale(&mut self) {
        let Some((least, most)) = self.options.pilots else { return };
        if !self.listed || self.settling || self.scaled.elapsed() < SCALE_PACE {
            return;
        }
        self.scaled = Instant::now();
        let served = self.served_hosts();
        let (mut all_there, mut all_busy, mut any_busy) = (true, true, false);
        for &host in &served {
            let Some(slot) = self.slots.get(&SlotId { host, only: None }) else { continue };
            let held = slot.busy_cores();
            all_there &= slot.is_there();
            all_busy &= held >= self.platform.host(host).cores;
            any_busy |= held > 0;
            if held > 0 || !slot.is_there() {
                self.idle.remove(&host);
            } else {
                self.idle.entry(host).or_insert_with(Instant::now);
            }
        }
        let idle = |host: &HostId| self.idle.get(host).is_some_and(|i| i.elapsed() >= IDLE_PILOT);
        let alive = served.len() as u32;
        // Pilots that are all idle for long serve hosts that nothing fits on.
        let is_stuck = !any_busy && served.iter().all(idle);
        let wanted = if alive < least.max(1) {
            least.max(1)
        } else if all_there && all_busy {
            (2 * alive).min(most)
        } else if is_stuck {
            (alive + 1).min(most)
        } else {
            alive
        };
        if wanted > alive {
            for host in self.spare_hosts().into_iter().take((wanted - alive) as usize) {
                let post = SlotId { host, only: None };
                self.slots.entry(post).or_insert_with(PilotSlot::awaited).want();
            }
            return;
        }
        let is_shared = |host: &HostId| {
            let place = self.platform.place_of(*host);
            served.iter().any(|other| other != host && self.platform.place_of(*other) == place)
        };
        let spare = (alive.saturating_sub(least.max(1))) as usize;
        let ends: Vec<HostId> = served
            .iter()
            .rev()
            .filter(|host| any_busy && idle(host) && is_shared(host))
            .take(spare)
            .copied()
            .collect();
        for host in ends {
            let post = SlotId { host, only: None };
            self.idle.remove(&host);
            self.links.retain(|_, p| *p != post);
            let Some(slot) = self.slots.get_mut(&post) else { continue };
            self.next_links.retain(|_, p| *p != post);
            let jobs = slot.drop_next().into_iter().chain(slot.dismiss());
            jobs.for_each(|job| self.batch.cancel(job));
            let why = "there is too little to do for its pilot".to_string();
            self.host_events.push(HostEvent::Down { host, keeps_data: true, why });
        }
    }

    /// Wants a pilot for every host that is always there.
    fn request_permanent_pilots(&mut self) -> Result<(), BackendError> {
        for host in self.platform.host_ids() {
            self.folder
                .make_host(&self.platform.host(host).name)
                .map_err(|e| BackendError::Machines(e.to_string()))?;
        }
        let first = match self.options.pilots {
            Some((least, _)) => least.max(1) as usize,
            None => usize::MAX,
        };
        for host in self.wide_first().into_iter().take(first) {
            self.slots.insert(SlotId { host, only: None }, PilotSlot::wanted());
        }
        Ok(())
    }

    /// The script of a pilot. Slurm asks the whole process group to end, which a pilot would not survive
    /// to end its tasks: it has a group of its own, and is asked by the script in a way it listens to.
    fn script(&self, ticket: Ticket, is_array: bool) -> String {
        let quoted = Command::shell_word;
        let Ticket { post, number } = ticket;
        let name = &self.platform.host(post.host).name;
        let pilot = Pilot {
            folder: self.folder.root().to_path_buf(),
            run: self.options.run.clone(),
            host: post.host.0,
            name: name.to_string(),
            number,
            drive: self.drive,
            only: post.only.map(|op| op.0),
            patience: Duration::try_from_secs_f64(self.options.patience).unwrap_or(Duration::MAX),
        };
        // Jobs of an array count from the first of their tasks.
        let index = if is_array { " --index \"$SLURM_ARRAY_TASK_ID\"" } else { "" };
        let line = format!(
            "{} pilot {} {}{index}",
            quoted(&self.options.myself.to_string_lossy()),
            quoted(&pilot.folder.to_string_lossy()),
            quoted(&pilot.to_text())
        );
        format!(
            "#!/bin/sh\n! command -v setsid > /dev/null || set -- setsid\n\"$@\" {line} &\n\
             trap 'kill -TERM $! 2> /dev/null' TERM INT\nwait $! || wait $! 2> /dev/null\n"
        )
    }

    /// Submits the jobs of some posts: those that differ in nothing but their task as arrays.
    fn submit(&mut self, posts: Vec<SlotId>) {
        let mut open: Vec<Submission> =
            posts.into_iter().filter_map(|post| self.submission(post)).collect();
        open.sort_by_key(|submission| submission.ticket);
        while !open.is_empty() {
            let first = open.remove(0);
            let begin = first.ticket.post.only.map_or(0, |op| op.0);
            let index = |job: &Submission| job.ticket.post.only.map_or(0, |op| op.0 - begin);
            let alike = |job: &Submission| first.is_like(job) && index(job) < ARRAY_SPAN;
            let (others, rest): (Vec<Submission>, Vec<Submission>) =
                open.into_iter().partition(alike);
            open = rest;
            if others.is_empty() {
                self.batch.submit(first);
                continue;
            }
            let mut indices = vec![0];
            indices.extend(others.iter().map(index));
            let script = self.script(first.ticket, true);
            self.batch
                .submit_array(ArraySubmission { first: Submission { script, ..first }, indices });
        }
    }

    /// The job of a post, which a new pilot comes with.
    fn submission(&mut self, post: SlotId) -> Option<Submission> {
        let ticket = Ticket { post, number: self.slots.get_mut(&post)?.next_pilot() };
        let slot = self.slots.get(&post)?;
        let host = self.platform.host(post.host);
        let output = self.places.words(&ticket.short());
        let cores = slot.cores().unwrap_or(host.cores).max(1);
        let granted = slot.granted("SLACKLINE_MEMORY").and_then(|text| text.parse().ok());
        let gpus = slot.granted("SLACKLINE_GPUS");
        let resources = slot.granted("SLACKLINE_RESOURCES").filter(|_| post.only.is_some());
        let licences = licences(resources.as_deref(), self.platform);
        let nodes = slot.granted(NODES_VARIABLE).and_then(|text| text.parse().ok()).unwrap_or(1);
        let (script, node) = (self.script(ticket, false), Some(host.name.to_string()));
        // A job for one task asks for what that needs, a pilot for all that its host has.
        let kinds = host.resources.as_ref().map_or(&[][..], |own| own.gpus.as_slice());
        let (memory, devices) = match post.only {
            Some(_) => (granted, gres(&of_ids(kinds, gpus.as_deref()))),
            None => (host.memory, gres(kinds)),
        };
        // A job for one task has the time that its attempt may take, and what it takes to begin and to report.
        let batch = self.platform.batch().cloned().unwrap_or_default();
        let (options, seconds) = match post.only {
            Some(_) => {
                let kind = slot.granted(KIND_VARIABLE).unwrap_or_default();
                let options = batch.of_kind(&kind);
                let job = slot.held_job();
                let seconds = job.and_then(|job| self.time_of(job, options.seconds));
                if let (Some(job), Some(seconds)) = (job, seconds) {
                    self.asked.insert(job.label.task, seconds);
                }
                (options, seconds)
            }
            None => {
                let own = host.resources.as_ref().and_then(|own| own.wall_time);
                (batch.clone(), batch.seconds.or(own))
            }
        };
        Some(Submission {
            ticket,
            script,
            cores,
            nodes,
            memory,
            devices,
            licences,
            node,
            output,
            seconds,
            options,
        })
    }

    /// Seconds of wall time that a batch job for one task asks for: those of its time limit, or those that the platform
    /// says or follow from the estimate, and more where the last was too short.
    fn time_of(&self, job: &Job, stated: Option<f64>) -> Option<f64> {
        if let Some(limit) = job.attempt.limits.seconds {
            return Some(limit + MARGIN);
        }
        let estimated = job.seconds.map(|s| (ABOVE_ESTIMATE * s).max(LEAST_TIME));
        let least = self.too_short.get(&job.label.task).copied();
        stated.or(estimated).map(|seconds| least.map_or(seconds, |least| seconds.max(least)))
    }

    /// Whether users say how long batch jobs last: then no job asks for more.
    fn is_time_fixed(&self) -> bool {
        let words = |batch: &BatchOptions| batch.seconds.is_some() || says_time(&batch.words);
        says_time(&self.options.sbatch) || self.platform.batch().is_some_and(words)
    }

    /// The result of a batch job for one task that ended because its time was over: the next asks for more.
    fn time_is_over(&mut self, post: SlotId) -> Option<JobResult> {
        let slot = self.slots.get(&post)?;
        let label = slot.held_label()?.clone();
        // An engine before this one may have asked.
        let least = self.too_short.get(&label.task).copied();
        let asked = self.asked.get(&label.task).copied().or(slot.whole()).or(least);
        let after = asked.map_or(String::new(), |asked| format!(" of {}", fmt_seconds(asked)));
        let why = format!("TIMEOUT: the time{after} of its batch job was over");
        if let Some(asked) = asked {
            let (task, seconds) = (label.task, MORE_TIME * asked);
            self.too_short.insert(task, seconds);
            self.events.note(Note::TooShort { task, ran: None, asks: Some(seconds) });
        }
        let how = Err(AttemptError::Failed { why, exit: None, last_lines: Vec::new() });
        Some(JobResult { label, how })
    }

    /// Hears what pilots and batch system have said.
    fn listen(&mut self) {
        while let Ok(heard) = self.heard.try_recv() {
            match heard {
                PilotEvent::Connected { mut to, post, number, lacks: Some(why), .. } => {
                    let _ = to.write(&ToPilot::Quit); // it may be gone
                    if let Some(slot) = self.slots.get_mut(&post) {
                        slot.refuse(why.clone());
                        slot.not_taken(number, why.clone(), Refusal::ForGood);
                    }
                    self.lacking.get_or_insert(why);
                }
                PilotEvent::Connected { link, to, post, number, running, time, .. }
                    if running.is_empty()
                        && self.slots.get(&post).is_some_and(|slot| slot.is_next(number)) =>
                {
                    self.next_links.insert(link, post);
                    if let Some(slot) = self.slots.get_mut(&post) {
                        slot.join_next(link, to, time);
                    }
                }
                PilotEvent::Connected { link, mut to, post, number, running, time, .. } => {
                    // It was taken over from before an engine died: what it has under way counts.
                    if let Some(slot) = self.slots.get_mut(&post).filter(|b| b.is_next(number)) {
                        slot.succeed();
                    }
                    let Some(slot) = self.slots.get_mut(&post).filter(|b| b.expects(number)) else {
                        let _ = to.write(&ToPilot::Quit); // no such pilot is expected
                        continue;
                    };
                    let keep: Vec<OpId> =
                        running.iter().filter(|l| slot.knows(l)).map(|l| l.op).collect();
                    self.links.retain(|_, p| *p != post);
                    self.links.insert(link, post);
                    let fresh = slot.join(number, to, running, time);
                    if let Some(JobTime { left, whole }) = time {
                        // What is left to one that has just begun is all there is.
                        let known = self.whole.entry(post.host).or_insert(whole);
                        *known = if fresh { left } else { *known };
                    }
                    slot.tell(&ToPilot::Welcome { keep });
                    if let Some(waited) = slot.waited().filter(|_| fresh) {
                        self.waits = (self.waits.0 + waited, self.waits.1 + 1);
                    }
                    self.tell_stay(post);
                    self.find_made(post);
                    self.seat(post);
                }
                PilotEvent::Refused { post, number, why } => {
                    let slot = self.slots.get_mut(&post).filter(|b| b.expects(number));
                    if let Some(slot) = slot {
                        slot.refuse(why);
                    }
                }
                PilotEvent::Message(link, what) if self.next_links.contains_key(&link) => {
                    if let (FromPilot::Bye(_), Some(post)) = (what, self.next_links.remove(&link))
                        && let Some(slot) = self.slots.get_mut(&post)
                    {
                        slot.next_left();
                        self.batch.look();
                    }
                }
                PilotEvent::Message(link, what) => {
                    let Some(&post) = self.links.get(&link) else { continue };
                    self.hear(post, what);
                }
                PilotEvent::Disconnected(link) if self.next_links.contains_key(&link) => {
                    let post = self.next_links.remove(&link);
                    if let Some(slot) = post.and_then(|post| self.slots.get_mut(&post)) {
                        slot.next_left();
                    }
                    self.batch.look();
                }
                PilotEvent::Disconnected(link) => {
                    let Some(post) = self.links.remove(&link) else { continue };
                    if let Some(slot) = self.slots.get_mut(&post) {
                        slot.leave();
                    }
                    self.batch.look();
                }
            }
        }
        self.take_answers();
    }

    /// Hears what the batch system has said.
    fn take_answers(&mut self) {
        while let Ok(said) = self.said.try_recv() {
            self.note(said);
        }
    }

    fn hear(&mut self, post: SlotId, what: FromPilot) {
        match what {
            FromPilot::Begun { label, process } => {
                self.has_begun = true;
                self.events.begun(&label, process);
                self.events.tell(ExecutorEvent::JobStarted(label.op));
            }
            FromPilot::Made(made) => self.take(post, made),
            FromPilot::Bye(why) => {
                if let Some(slot) = self.slots.get_mut(&post) {
                    slot.end(why);
                }
            }
            FromPilot::Alive | FromPilot::Present { .. } => {}
        }
    }

    /// Something has come of a job.
    fn take(&mut self, post: SlotId, made: JobResult) {
        let op = made.label.op;
        self.told.push(op);
        if let Some(slot) = self.slots.get_mut(&post) {
            slot.done(op);
        }
        self.events.ended(made);
        if post.only.is_some() {
            self.slots.remove(&post);
        }
    }

    /// Takes outcomes that a pilot has kept while there was no engine.
    fn find_made(&mut self, post: SlotId) {
        let Some(slot) = self.slots.get(&post) else { return };
        let kept = self.places.kept();
        let ours = kept.into_iter().filter(|m| m.label.host == post.host && slot.knows(&m.label));
        for made in ours.collect::<Vec<_>>() {
            self.take(post, made);
        }
    }

    /// A pilot is there: its host can work, and what waited for it begins.
    fn seat(&mut self, post: SlotId) {
        let Some(slot) = self.slots.get_mut(&post) else { return };
        let first = !slot.is_there();
        let ops = slot.serve();
        let lease = slot.lease();
        if !ops.is_empty() {
            let why = "its pilot knows nothing of it".to_string();
            self.host_events.push(HostEvent::JobsLost { ops, why });
        }
        match lease {
            _ if post.only.is_some() || !first => {}
            Some(lease) => self.host_events.push(HostEvent::LeaseReady(lease)),
            None => self.host_events.push(HostEvent::Up(post.host)),
        }
    }

    /// Handles an answer of the batch system.
    fn note(&mut self, said: Said) {
        match said {
            Said::Taken(ticket, job) => {
                let slot = self.slots.get_mut(&ticket.post);
                if !slot.is_some_and(|slot| slot.taken(ticket.number, &job)) {
                    self.batch.cancel(job); // no longer needed
                }
            }
            Said::NotTaken { ticket, why, refusal } => {
                if let Some(slot) = self.slots.get_mut(&ticket.post) {
                    slot.not_taken(ticket.number, why, refusal);
                }
            }
            Said::Listing(jobs) => {
                self.listed = true;
                for (ticket, (job, state)) in &jobs {
                    match self.slots.get_mut(&ticket.post) {
                        Some(slot) => {
                            slot.job_changed(ticket.number, job, state);
                            if let Some(why) = state.is_vain() {
                                let why =
                                    format!("its batch job {job} would wait for ever ({why})");
                                slot.not_taken(ticket.number, why, Refusal::ForGood);
                                self.batch.cancel(job.clone());
                            }
                        }
                        // A job that was left behind by an engine that died.
                        None if !matches!(state, State::Over(_)) => self.batch.cancel(job.clone()),
                        None => {}
                    }
                }
                for (post, slot) in &mut self.slots {
                    let known = |number| jobs.contains_key(&Ticket { post: *post, number });
                    slot.seen_in(known);
                }
            }
        }
    }

    /// Does what is due for every post.
    fn tend(&mut self) {
        let mut due = Vec::new();
        for post in self.slots.keys().copied().collect::<Vec<_>>() {
            let Some(slot) = self.slots.get_mut(&post) else { continue };
            let patience = if post.only.is_some() { RETURN + VERDICT } else { RETURN };
            if let Some(why) = slot.is_gone(patience) {
                // It may have kept outcomes that were not received.
                self.find_made(post);
                self.lose(post, why);
            }
            self.advance(post);
            let lead = self.lead(post.host);
            let grace = self.grace(post.host);
            let Some(slot) = self.slots.get_mut(&post) else { continue };
            if post.only.is_none() && self.listed && slot.needs_successor(lead, grace) {
                due.push(post);
                continue;
            }
            if slot.should_renew(IDLE) {
                slot.renew();
                self.links.retain(|_, p| *p != post);
                continue; // it is gone at the next look
            }
            if slot.is_exhausted() {
                self.give_up(post);
            } else if self.listed && slot.needs_pilot() {
                due.push(post);
            }
        }
        self.submit(due);
    }

    /// The next pilot for a post takes over, where that is due.
    fn advance(&mut self, post: SlotId) {
        let Some(slot) = self.slots.get_mut(&post) else { return };
        let Some(link) = slot.advance() else { return };
        let left = slot.left();
        self.links.retain(|_, p| *p != post);
        self.next_links.remove(&link);
        self.links.insert(link, post);
        if left.is_finite() {
            // Some of its time went by while it waited for its turn: others may have more.
            self.whole.entry(post.host).or_insert(left);
        }
        self.tell_stay(post);
        self.seat(post);
    }

    /// Seconds before the end of a pilot by which its tasks have to be over.
    fn grace(&self, host: HostId) -> f64 {
        let whole = self.whole.get(&host).copied().unwrap_or(f64::INFINITY);
        GRACE.min(GRACE_PART * whole)
    }

    /// Seconds before the end of a pilot at which the next is asked for: as many as pilots wait in the queue.
    fn lead(&self, host: HostId) -> f64 {
        let whole = self.whole.get(&host).copied().unwrap_or(f64::INFINITY);
        LEAD.min(LEAD_PART * whole).max(self.mean_wait()).min(MOST_LEAD * whole)
    }

    /// Mean seconds that pilots of this run have waited in the queue so far.
    fn mean_wait(&self) -> f64 {
        self.waits.0 / f64::from(self.waits.1.max(1))
    }

    /// Tells for how long a host is served, where that is limited.
    fn tell_stay(&mut self, post: SlotId) {
        let Some(slot) = self.slots.get(&post).filter(|slot| slot.lease().is_none()) else {
            return;
        };
        let Some(ends) = slot.ends().filter(|_| post.only.is_none()) else { return };
        self.push_stay(post.host, ends);
    }

    fn push_stay(&mut self, host: HostId, ends: Instant) {
        let Some(whole) = self.whole.get(&host).copied() else { return };
        let (grace, safety) = (self.grace(host), self.options.wall_safety.max(1.0));
        let gap = grace + (self.mean_wait() - self.lead(host)).max(0.0);
        let before = Duration::try_from_secs_f64(grace).unwrap_or_default();
        let ends = ends.checked_sub(before).unwrap_or(ends);
        let whole = (whole - grace).max(0.0);
        self.host_events.push(HostEvent::Stays { host, ends, gap, whole, safety });
    }

    /// Seconds of wall time that pilots for a host ask for, where it is stated.
    fn stated_seconds(&self, host: HostId) -> Option<f64> {
        let said = self.options.sbatch.iter().rev().find(|word| option_name(word) == "--time");
        if let Some(word) = said {
            let text = word.strip_prefix("--time=").or(word.strip_prefix("-t"))?.trim();
            // A bare number counts minutes.
            return match text.parse::<f64>() {
                Ok(minutes) => Some(60.0 * minutes),
                Err(_) => slurm_seconds(text),
            };
        }
        let own = self.platform.host(host).resources.as_ref().and_then(|own| own.wall_time);
        self.platform.batch().and_then(|batch| batch.seconds).or(own)
    }

    /// Tells for how long pilots will serve the hosts, where that is known before they come: plans that are made
    /// now count on no more.
    fn tell_stated_stays(&mut self) {
        for host in self.hosts_with_permanent_pilot().collect::<Vec<_>>() {
            let Some(seconds) = self.stated_seconds(host).filter(|s| *s < ENDLESS) else {
                continue;
            };
            // Whole minutes, as Slurm counts.
            let seconds = (seconds / 60.0).ceil().max(1.0) * 60.0;
            self.whole.insert(host, seconds);
            let length = Duration::try_from_secs_f64(seconds).unwrap_or_default();
            if let Some(ends) = Instant::now().checked_add(length) {
                self.push_stay(host, ends);
            }
        }
    }

    /// A pilot is gone with all it had under way.
    fn lose(&mut self, post: SlotId, why: String) {
        let Some(slot) = self.slots.get_mut(&post) else { return };
        let name = &self.platform.host(post.host).name;
        // A job for one task ended because the task used more memory than the job had.
        if post.only.is_some()
            && why.contains(OUT_OF_MEMORY)
            && let Some(made) = slot.held_job().and_then(out_of_memory)
        {
            return self.take(post, made);
        }
        let is_over = why.contains(TIMEOUT) || slot.left() < AT_END;
        if post.only.is_some()
            && is_over
            && !self.is_time_fixed()
            && let Some(made) = self.time_is_over(post)
        {
            return self.take(post, made);
        }
        let Some(slot) = self.slots.get_mut(&post) else { return };
        let why = format!("the pilot on '{name}' is gone: {why}");
        let ops = slot.lose();
        match slot.lease() {
            Some(lease) => {
                self.slots.remove(&post);
                let (host, error) = (Some(post.host), Some(OpError::Transient(why)));
                self.host_events.push(HostEvent::LeaseEnded { lease, host, error });
            }
            None if post.only.is_some() => {
                self.slots.remove(&post);
                self.host_events.push(HostEvent::JobsLost { ops, why });
            }
            None => {
                self.host_events.push(HostEvent::Down { host: post.host, keeps_data: true, why })
            }
        }
    }

    /// Pilots for a post never call: it would not help to go on.
    fn give_up(&mut self, post: SlotId) {
        let Some(slot) = self.slots.get_mut(&post) else { return };
        let next = slot.drop_next();
        let why = slot.give_up();
        next.into_iter().for_each(|job| self.batch.cancel(job));
        match slot.lease() {
            Some(lease) => {
                self.slots.remove(&post);
                let error = Some(OpError::Refused(why));
                self.host_events.push(HostEvent::LeaseEnded {
                    lease,
                    host: Some(post.host),
                    error,
                });
            }
            None if post.only.is_some() => {
                if let Some(Job { label, .. }) = self.slots.remove(&post).and_then(PilotSlot::job) {
                    let how = Err(AttemptError::Failed { why, exit: None, last_lines: Vec::new() });
                    self.events.ended(JobResult { label, how });
                }
            }
            None => self.given_up = Some(why),
        }
    }

    /// Reason why no host will ever work again, where that is so.
    fn is_hopeless(&self) -> Option<&String> {
        let leasable = || self.platform.host_ids().any(|host| self.is_leasable(host));
        let vain = |slot: &PilotSlot| slot.is_given_up() && !slot.is_there();
        self.given_up.as_ref().filter(|_| self.slots.values().all(vain) && !leasable())
    }

    /// Ends a pilot that is not needed any more.
    fn dismiss(&mut self, post: SlotId) {
        let Some(mut slot) = self.slots.remove(&post) else { return };
        slot.drop_next().into_iter().for_each(|job| self.batch.cancel(job));
        self.next_links.retain(|_, p| *p != post);
        if !slot.tell(&ToPilot::Quit)
            && let Some(job) = slot.batch_job()
        {
            self.batch.cancel(job);
        }
        self.links.retain(|_, p| *p != post);
    }
}

/// The state of a batch job that used more memory than it had.
const OUT_OF_MEMORY: &str = "OUT_OF_MEMORY";

/// The state of a batch job whose time was over.
const TIMEOUT: &str = "TIMEOUT";

/// Whether words for `sbatch` say how long jobs last.
fn says_time(words: &[String]) -> bool {
    words.iter().any(|word| option_name(word) == "--time")
}

/// Result of a job that used more memory than it was granted.
fn out_of_memory(job: &Job) -> Option<JobResult> {
    let grant = job.attempt.limits.memory?;
    let how = Err(AttemptError::Memory { grant, peak: None, last_lines: Vec::new() });
    Some(JobResult { label: job.label.clone(), how })
}

impl Executor for Slurm<'_> {
    fn open(&mut self) -> Result<(), BackendError> {
        self.listed = true; // there is nothing to list
        self.request_permanent_pilots()?;
        let why = "its pilot has not come yet".to_string();
        let went = |host| HostEvent::Down { host, keeps_data: true, why: why.clone() };
        self.tell_stated_stays();
        let went: Vec<HostEvent> = self.hosts_with_permanent_pilot().map(went).collect();
        self.host_events.extend(went);
        Ok(())
    }

    fn take_up(&mut self, under_way: &[Label]) -> Result<Vec<Label>, BackendError> {
        self.request_permanent_pilots()?;
        self.settling = true;
        if self.options.mode == Mode::Pilots {
            for host in self.platform.host_ids() {
                self.slots.entry(SlotId { host, only: None }).or_insert_with(PilotSlot::awaited);
            }
        }
        for label in under_way {
            let only = (self.options.mode == Mode::Job).then_some(label.op);
            let post = SlotId { host: label.host, only };
            let slot = self.slots.entry(post).or_insert_with(PilotSlot::awaited);
            slot.expect(label.clone());
            if self.options.pilots.is_some() {
                slot.want();
            }
        }
        self.batch.look();
        let end = Instant::now() + GREETING;
        loop {
            // Which of two pilots for a host comes next the batch system knows.
            if self.listed || Instant::now() > end - GREETING / 2 {
                self.listen();
            } else {
                self.take_answers();
            }
            let missing = self.slots.values().any(PilotSlot::should_call);
            if (self.listed && !missing) || Instant::now() > end {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.posts().into_iter().for_each(|post| self.find_made(post));
        let mut kept: Vec<Label> = Vec::new();
        kept.extend(under_way.iter().filter(|l| self.told.contains(&l.op)).cloned());
        for (post, slot) in &mut self.slots {
            kept.extend(slot.keep_expected());
            self.has_begun |= !kept.is_empty();
            let is_served = slot.is_wanted() || self.options.pilots.is_some();
            if post.only.is_none() && is_served && !slot.is_there() {
                let why = "its pilot has not called again".to_string();
                self.host_events.push(HostEvent::Down { host: post.host, keeps_data: true, why });
            }
        }
        Ok(kept)
    }

    fn begin(&mut self, job: Job) -> Accepted {
        let only = (self.options.mode == Mode::Job).then_some(job.label.op);
        let post = SlotId { host: job.label.host, only };
        self.slots.entry(post).or_insert_with(PilotSlot::wanted).begin(job)
    }

    fn room(&self, host: HostId) -> Room {
        let whole = self.whole.get(&host).copied().unwrap_or(f64::INFINITY);
        match (self.options.mode, self.slots.get(&SlotId { host, only: None })) {
            (Mode::Pilots, Some(slot)) => {
                let (left, safety) = (slot.left(), self.options.wall_safety);
                Room { left, whole, grace: GRACE.min(GRACE_PART * whole), safety }
            }
            // Every job has all of it, or asks for as much as it needs.
            (Mode::Job, _) if !self.is_time_fixed() => Room::ENDLESS,
            _ => Room { left: whole, whole, ..Room::ENDLESS },
        }
    }

    fn outgrown(&mut self, host: HostId) {
        if let Some(slot) = self.slots.get_mut(&SlotId { host, only: None }) {
            slot.outgrow();
        }
    }

    fn expect(&mut self, host: HostId, backlog: Backlog) {
        if let Some(slot) = self.slots.get_mut(&SlotId { host, only: None }) {
            slot.expect_work(backlog.seconds, backlog.waits);
        }
    }

    fn remember(&mut self, too_short: &BTreeMap<TaskId, f64>) {
        self.too_short.extend(too_short);
    }

    fn stop(&mut self, op: OpId, at_once: bool) {
        let holds = |(_, slot): &(&SlotId, &mut PilotSlot)| slot.has(op);
        let Some((&post, slot)) = self.slots.iter_mut().find(holds) else { return };
        if let Some(job) = slot.withdraw(op) {
            // It has not begun.
            self.events.ended(JobResult { label: job.label, how: Err(AttemptError::Stopped) });
            if post.only.is_some() {
                self.dismiss(post);
            }
        } else {
            slot.tell(&ToPilot::Stop { op, at_once });
        }
    }

    fn lease(&mut self, lease: OpId, host: HostId) -> Result<Accepted, OpError> {
        if self.options.mode == Mode::Job {
            return Ok(Accepted::Running); // every job comes with its machine
        }
        let slot = self.slots.entry(SlotId { host, only: None }).or_insert_with(PilotSlot::wanted);
        slot.order(lease);
        Ok(if slot.is_there() { Accepted::Running } else { Accepted::Waiting })
    }

    fn release(&mut self, lease: OpId) {
        let leased = self.slots.iter().find(|(_, slot)| slot.lease() == Some(lease));
        if let Some(post) = leased.map(|(post, _)| *post) {
            self.dismiss(post);
        }
        self.host_events.push(HostEvent::LeaseEnded { lease, host: None, error: None });
    }

    fn look(&mut self, host_events: &mut Vec<HostEvent>) -> Result<(), BackendError> {
        self.listen();
        self.tend();
        self.scale();
        host_events.append(&mut self.host_events);
        if let Some(why) = self.lacking.take().filter(|_| !self.has_begun) {
            return Err(BackendError::Machines(why));
        }
        match self.is_hopeless() {
            Some(why) => Err(BackendError::Machines(why.clone())),
            None => Ok(()),
        }
    }

    fn heard(&mut self) {
        self.told.drain(..).for_each(|op| self.places.forget(op));
        if std::mem::take(&mut self.settling) {
            // A job for one task is wanted as long as the task is under way.
            let is_idle = |slot: &PilotSlot| !slot.is_wanted() && slot.held_label().is_none();
            let idle = self.slots.iter().filter(|(_, slot)| is_idle(slot));
            let idle: Vec<SlotId> = idle.map(|(post, _)| *post).collect();
            idle.into_iter().for_each(|post| self.dismiss(post));
            // Remains of jobs that were begun again are not needed.
            for made in self.places.kept() {
                if !self.slots.values().any(|slot| slot.knows(&made.label)) {
                    self.places.forget(made.label.op);
                }
            }
        }
    }

    fn outlook(&self) -> Liveness {
        if let Some((_, most)) = self.options.pilots
            && (self.served_hosts().len() as u32) < most
            && !self.spare_hosts().is_empty()
        {
            return Liveness::Revives;
        }
        let mut outlook = Liveness::Hopeless;
        for slot in self.slots.values().filter(|slot| !slot.is_there()) {
            match slot.liveness() {
                Liveness::Revives => return Liveness::Revives,
                Liveness::Unknown => outlook = Liveness::Unknown,
                _ => {}
            }
        }
        outlook
    }

    fn close(&mut self) {
        self.listen();
        self.posts().into_iter().for_each(|post| self.dismiss(post));
        self.places.hush();
        self.hub = None;
        self.batch.finish();
    }
}

impl Slurm<'_> {
    fn posts(&self) -> Vec<SlotId> {
        self.slots.keys().copied().collect()
    }
}

impl Drop for Slurm<'_> {
    fn drop(&mut self) {
        self.close();
    }
}
