//! A pilot slot: a place for one pilot, on a host or for one task. It keeps the batch job that starts the pilot, the
//! connection to the pilot once there is one, and the jobs that the pilot executes.

use super::pilot_server::{LinkId, Outlet};
use super::protocol::{JobTime, ToPilot};
use super::slurm_client::{Refusal, State};
use crate::attempt_pool::{Job, Label};
use slackline_engine::{Accepted, Liveness, OpId};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Pilots in a row that never connect before the slot is given up.
const MOST_TRIALS: u32 = 5;

/// When a batch job ends that has so much time.
fn ends_of(time: JobTime) -> Option<Instant> {
    let left = Duration::try_from_secs_f64(time.left.max(0.0)).ok()?;
    Instant::now().checked_add(left)
}

/// Longest rest between two pilots that never called.
const LONG_REST: Duration = Duration::from_secs(30);

/// A pilot that comes before the one that is there has gone.
struct Successor {
    pilot: Pilot,
    /// Its connection, once it has called, and when its batch job ends.
    link: Option<(LinkId, Outlet)>,
    ends: Option<Instant>,
}

/// A batch job that brings a pilot.
struct Pilot {
    /// Counts the pilots of this slot from 1.
    number: u32,
    /// When it was submitted.
    submitted: Instant,
    /// Job id, once the batch system has assigned one.
    job: Option<String>,
    state: State,
    /// It has connected at least once.
    called: bool,
    /// It was submitted by this process, not by an earlier one of the run.
    own: bool,
}

/// A job of the slot.
struct Held {
    label: Label,
    /// The job; none where an earlier process of the run sent it, so that only its label is known.
    job: Option<Job>,
    begun: bool,
    /// The pilot of the present connection has reported it.
    reported: bool,
}

/// The place of one pilot: its batch job, its connection, and its attempts.
#[derive(Default)]
pub(super) struct PilotSlot {
    /// A pilot is to be started and kept here.
    wanted: bool,
    /// The lease that wants it, on leased machines.
    lease: Option<OpId>,
    pilot: Option<Pilot>,
    /// The next pilot, where it was asked for before this one ends.
    next: Option<Successor>,
    /// Until when no next pilot is asked for.
    next_rest: Option<Instant>,
    /// Seconds of work that was left here, at a date.
    backlog: Option<(f64, Instant)>,
    /// The last number that was given to a pilot.
    last: u32,
    link: Option<Outlet>,
    /// Whether the engine counts the host as up: a pilot has served and its loss was not reported yet.
    there: bool,
    /// End of the last connection.
    left: Option<Instant>,
    /// Reason why the last pilot has ended.
    ended: Option<String>,
    /// Reason of refusals since the last accepted pilot.
    refused: Option<String>,
    held: BTreeMap<OpId, Held>,
    /// Pilots that never connected, since the last that did.
    trials: u32,
    /// No pilot is started before this date.
    rest: Option<Instant>,
    given_up: bool,
    /// End of the batch job of the serving pilot, where known.
    ends: Option<Instant>,
    whole: Option<f64>,
    /// The pilot has too little time left for something; since when it has nothing to do.
    outgrown: Option<Instant>,
    /// The same, by what the engine has said last of the work that is left.
    waits: Option<Instant>,
}

impl PilotSlot {
    /// A slot for which a pilot is to be started.
    pub(super) fn wanted() -> PilotSlot {
        PilotSlot { wanted: true, ..PilotSlot::default() }
    }

    /// A slot whose pilot may still run from an earlier process; none is started.
    pub(super) fn awaited() -> PilotSlot {
        PilotSlot::default()
    }

    /// Has a pilot started and kept here.
    pub(super) fn want(&mut self) {
        self.wanted = true;
    }

    /// Ends the pilot; no other is started for now. Returns its batch job if the pilot could not be notified.
    pub(super) fn dismiss(&mut self) -> Option<String> {
        let told = self.tell(&ToPilot::Quit);
        let job = self.batch_job().filter(|_| !told);
        self.leave();
        (self.wanted, self.there, self.pilot) = (false, false, None);
        (self.ends, self.outgrown, self.rest, self.ended) = (None, None, None, None);
        self.waits = None;
        job
    }

    /// Cores that jobs hold here.
    pub(super) fn busy_cores(&self) -> u32 {
        self.held.values().map(|held| held.job.as_ref().map_or(1, |job| job.cores)).sum()
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.wanted
    }

    pub(super) fn lease(&self) -> Option<OpId> {
        self.lease
    }

    /// Has a pilot started for a lease of the machine.
    pub(super) fn order(&mut self, lease: OpId) {
        (self.wanted, self.lease) = (true, Some(lease));
    }

    pub(super) fn is_there(&self) -> bool {
        self.there
    }

    // The batch job.

    /// The number of the pilot that serves or has been submitted.
    pub(super) fn number(&self) -> Option<u32> {
        self.pilot.as_ref().map(|pilot| pilot.number)
    }

    /// Id of its batch job.
    pub(super) fn batch_job(&self) -> Option<String> {
        self.pilot.as_ref()?.job.clone()
    }

    /// Cores that its job needs, for a slot of one task.
    pub(super) fn cores(&self) -> Option<u32> {
        self.held.values().find_map(|held| Some(held.job.as_ref()?.cores))
    }

    /// Value of an environment variable of its job, for a slot of one task.
    pub(super) fn granted(&self, variable: &str) -> Option<String> {
        let job = self.held_job()?;
        let of = job.attempt.env.iter().find(|(name, _)| name == variable);
        of.map(|(_, value)| value.clone())
    }

    /// A job that is held, also one that an engine before this one began.
    pub(super) fn held_label(&self) -> Option<&Label> {
        self.held.values().map(|held| &held.label).next()
    }

    /// Seconds of the batch job of the last pilot that called, where they are limited.
    pub(super) fn whole(&self) -> Option<f64> {
        self.whole
    }

    /// A job that is held, with what it is to do.
    pub(super) fn held_job(&self) -> Option<&Job> {
        self.held.values().find_map(|held| held.job.as_ref())
    }

    pub(super) fn needs_pilot(&self) -> bool {
        let rested = self.rest.is_none_or(|until| Instant::now() >= until);
        self.wanted && self.pilot.is_none() && self.link.is_none() && rested && !self.given_up
    }

    /// Records that a pilot is being submitted; returns its number.
    pub(super) fn next_pilot(&mut self) -> u32 {
        self.last += 1;
        let state = State::Waits(String::new());
        let (number, submitted) = (self.last, Instant::now());
        let pilot = Pilot { number, submitted, job: None, state, called: false, own: true };
        if self.pilot.is_some() {
            self.next = Some(Successor { pilot, link: None, ends: None });
        } else {
            self.pilot = Some(pilot);
        }
        self.last
    }

    /// The pilot of a number, whether it serves or comes next.
    fn numbered(&mut self, number: u32) -> Option<&mut Pilot> {
        let next = self.next.as_mut().map(|next| &mut next.pilot);
        self.pilot.as_mut().into_iter().chain(next).find(|pilot| pilot.number == number)
    }

    /// A batch job was taken; false where it is no longer needed.
    pub(super) fn taken(&mut self, number: u32, job: &str) -> bool {
        let pilot = self.numbered(number);
        pilot.map(|pilot| pilot.job = Some(job.to_string())).is_some()
    }

    // The next pilot.

    /// Whether the pilot of a number comes after the one that is there, or on its way.
    pub(super) fn is_next(&self, number: u32) -> bool {
        self.next.as_ref().is_some_and(|next| next.pilot.number == number)
    }

    /// The next pilot has called: it waits for its turn.
    pub(super) fn join_next(&mut self, link: LinkId, mut to: Outlet, time: Option<JobTime>) {
        let Some(next) = &mut self.next else { return };
        // Its attempts are unknown here.
        if to.write(&ToPilot::Welcome { keep: Vec::new() }).is_err() {
            return;
        }
        (next.pilot.called, next.pilot.state) = (true, State::Runs);
        next.ends = time.and_then(ends_of);
        next.link = Some((link, to));
    }

    /// The connection to the next pilot is gone.
    pub(super) fn next_left(&mut self) {
        if let Some(next) = &mut self.next {
            next.link = None;
        }
    }

    /// The next pilot is no longer needed; returns its batch job where it has no connection.
    pub(super) fn drop_next(&mut self) -> Option<String> {
        let next = self.next.take()?;
        let told = next.link.is_some_and(|(_, mut to)| to.write(&ToPilot::Quit).is_ok());
        next.pilot.job.filter(|_| !told)
    }

    /// The next pilot serves from now on, if there is one and nothing is under way here; gives its connection.
    pub(super) fn advance(&mut self) -> Option<LinkId> {
        let there = self.next.as_ref().is_some_and(|next| next.link.is_some());
        let gone = self.pilot.is_none() && self.link.is_none();
        let begun = self.held.values().any(|held| held.begun);
        if !(gone && (there || !self.there)) && !(there && !begun && self.lease.is_none()) {
            return None;
        }
        let next = self.next.take()?;
        if !gone {
            self.tell(&ToPilot::Quit);
            self.leave();
        }
        self.pilot = Some(next.pilot);
        (self.ends, self.outgrown, self.waits, self.rest) = (next.ends, None, None, None);
        let (id, to) = next.link?;
        self.link = Some(to);
        (self.left, self.ended, self.refused, self.trials) = (None, None, None, 0);
        Some(id)
    }

    /// The pilot that was to come next is the one that serves: the other has gone.
    pub(super) fn succeed(&mut self) {
        if let Some(next) = self.next.take() {
            self.leave();
            self.pilot = Some(next.pilot);
        }
    }

    /// Seconds of work that is left here, and whether some of it waits for more time than the pilot has.
    pub(super) fn expect_work(&mut self, seconds: f64, waits: bool) {
        self.backlog = Some((seconds, Instant::now()));
        self.waits = waits.then(|| self.waits.unwrap_or_else(Instant::now));
    }

    /// Whether the next pilot is to be asked for: the one that is there ends in so many seconds or fewer, and has too
    /// few for what is left to do.
    pub(super) fn needs_successor(&self, lead: f64, grace: f64) -> bool {
        let left = self.left();
        let rested = self.next_rest.is_none_or(|until| Instant::now() >= until);
        let work =
            self.backlog.map_or(0.0, |(seconds, since)| seconds - since.elapsed().as_secs_f64());
        let serves = self.there && self.link.is_some() && self.lease.is_none() && self.wanted;
        serves && self.next.is_none() && rested && left <= lead && work > left - grace
    }

    /// When the batch job of the pilot that is there ends, where that is known.
    pub(super) fn ends(&self) -> Option<Instant> {
        self.ends
    }

    /// Seconds that the pilot that is there has waited in the queue, where this engine has submitted it.
    pub(super) fn waited(&self) -> Option<f64> {
        let pilot = self.pilot.as_ref().filter(|pilot| pilot.own)?;
        Some(pilot.submitted.elapsed().as_secs_f64())
    }

    /// The batch system has refused the pilot.
    pub(super) fn not_taken(&mut self, number: u32, why: String, refusal: Refusal) {
        if self.number() == Some(number) {
            self.trials += match refusal {
                Refusal::ForNow => 0,
                Refusal::Perhaps => 1,
                Refusal::ForGood => MOST_TRIALS + 1,
            };
            self.without_pilot(why);
        } else if self.is_next(number) {
            self.next = None;
            self.next_rest = Some(Instant::now() + LONG_REST);
        }
    }

    fn without_pilot(&mut self, why: String) {
        self.pilot = None;
        self.ended = Some(why);
        let rest = Duration::from_secs(1 << self.trials.min(5)).min(LONG_REST);
        self.rest = Some(Instant::now() + rest);
    }

    /// Records the state of one of its batch jobs.
    pub(super) fn job_changed(&mut self, number: u32, job: &str, state: &State) {
        self.last = self.last.max(number);
        let over = matches!(state, State::Over(_));
        let known = |called| Pilot {
            number,
            submitted: Instant::now(),
            job: Some(job.to_string()),
            state: state.clone(),
            called,
            own: false,
        };
        if self.is_next(number) {
            match &mut self.next {
                Some(next) if !over => {
                    (next.pilot.job, next.pilot.state) = (Some(job.to_string()), state.clone());
                }
                next => {
                    *next = None;
                    self.next_rest = Some(Instant::now() + LONG_REST);
                }
            }
            return;
        }
        if self.pilot.is_none() && self.next.is_none() && !over {
            self.pilot = Some(known(self.link.is_some()));
            return;
        }
        // An engine before this one has asked for it in time.
        if !over && self.next.is_none() && self.number().is_some_and(|own| own < number) {
            self.next = Some(Successor { pilot: known(false), link: None, ends: None });
            return;
        }
        let Some(pilot) = self.pilot.as_mut().filter(|pilot| pilot.number == number) else {
            return;
        };
        pilot.job = Some(job.to_string());
        pilot.state = state.clone();
        if let State::Over(how) = state {
            self.over(format!("its batch job {job} is over ({how})"));
        }
    }

    /// Takes the pilot as ended where the batch system no longer lists it.
    pub(super) fn seen_in(&mut self, known: impl Fn(u32) -> bool) {
        if let Some(Pilot { number, job: Some(job), .. }) = &self.pilot
            && !known(*number)
        {
            self.over(format!("nothing is known of its batch job {job} any more"));
        }
    }

    /// The batch job is over, and with it the pilot.
    fn over(&mut self, why: String) {
        let called = self.pilot.as_ref().is_some_and(|pilot| pilot.called);
        self.trials += u32::from(!called);
        self.tell(&ToPilot::Quit); // where its process outlives the job
        self.leave();
        self.without_pilot(why);
        if called {
            self.rest = None;
        }
    }

    /// Whether too many pilots failed in a row, and the slot has not been given up yet.
    pub(super) fn is_exhausted(&self) -> bool {
        self.trials > MOST_TRIALS && !self.given_up
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.given_up
    }

    /// Gives the slot up: no further pilot is started. Returns the reason of the last failure.
    pub(super) fn give_up(&mut self) -> String {
        self.given_up = true;
        let why = self.refused.clone().or(self.ended.clone()).unwrap_or_default();
        format!("no pilot could be started: {why}")
    }

    /// Whether a pilot may still come.
    pub(super) fn liveness(&self) -> Liveness {
        let away = |reason: &String| {
            ["NotAvail", "Unavailable", "DOWN", "Down", "DRAIN"].iter().any(|w| reason.contains(w))
        };
        match &self.pilot {
            _ if self.given_up || !self.wanted => Liveness::Hopeless,
            Some(Pilot { state: State::Waits(reason), .. }) if away(reason) => Liveness::Unknown,
            _ => Liveness::Revives,
        }
    }

    /// Whether its batch job runs without a connection.
    pub(super) fn should_call(&self) -> bool {
        let runs = self.pilot.as_ref().is_some_and(|pilot| pilot.state == State::Runs);
        runs && self.link.is_none()
    }

    // The connection.

    /// Whether a pilot of this number may connect.
    pub(super) fn expects(&self, number: u32) -> bool {
        self.number().is_none_or(|known| known == number)
    }

    /// A pilot has connected and reports its running jobs. Returns whether this is the first connection of a pilot that
    /// this process submitted.
    pub(super) fn join(
        &mut self,
        number: u32,
        to: Outlet,
        running: Vec<Label>,
        time: Option<JobTime>,
    ) -> bool {
        let fresh = self.pilot.as_ref().is_some_and(|pilot| pilot.own && !pilot.called);
        self.ends = time.and_then(ends_of);
        self.whole = time.map(|time| time.whole);
        (self.outgrown, self.waits) = (None, None);
        self.last = self.last.max(number);
        let state = State::Runs;
        match &mut self.pilot {
            Some(pilot) => (pilot.called, pilot.state) = (true, state),
            none => {
                let submitted = Instant::now();
                *none =
                    Some(Pilot { number, submitted, job: None, state, called: true, own: false })
            }
        }
        self.link = Some(to);
        (self.left, self.ended, self.refused, self.trials) = (None, None, None, 0);
        self.held.values_mut().for_each(|held| held.reported = false);
        for label in running {
            if let Some(held) = self.held.get_mut(&label.op).filter(|h| h.label.task == label.task)
            {
                (held.label, held.begun, held.reported) = (label, true, true);
            }
        }
        fresh
    }

    /// A pilot has connected that cannot be used.
    pub(super) fn refuse(&mut self, why: String) {
        self.refused = Some(why);
    }

    /// Takes the pilot into service and sends it all jobs that it has not reported. Returns the operations of those that
    /// cannot be sent again, which are lost.
    pub(super) fn serve(&mut self) -> Vec<OpId> {
        self.there = true;
        let missing = self.held.values().filter(|held| !held.reported);
        let (begin, lost): (Vec<_>, Vec<_>) =
            missing.map(|held| (held.label.op, held.job.clone())).partition(|(_, j)| j.is_some());
        for job in begin.into_iter().filter_map(|(_, job)| job) {
            self.begin(job);
        }
        let lost: Vec<OpId> = lost.into_iter().map(|(op, _)| op).collect();
        lost.iter().for_each(|op| self.done(*op));
        lost
    }

    /// Sends the pilot a message; false where there is no connection.
    pub(super) fn tell(&mut self, what: &ToPilot) -> bool {
        let sent = self.link.as_mut().is_some_and(|link| link.write(what).is_ok());
        if !sent {
            self.leave();
        }
        sent
    }

    /// Records the end of the connection.
    pub(super) fn leave(&mut self) {
        if self.link.take().is_some() {
            self.left = Some(Instant::now());
        }
    }

    /// The pilot has announced its end.
    pub(super) fn end(&mut self, why: String) {
        self.leave();
        self.ended = Some(why);
    }

    /// Reason why the serving pilot is gone: it has ended, or does not reconnect.
    pub(super) fn is_gone(&self, patience: Duration) -> Option<String> {
        if !self.there || self.link.is_some() {
            return None;
        }
        let silent = self.left.is_none_or(|left| left.elapsed() >= patience);
        match &self.ended {
            Some(why) => Some(why.clone()),
            None => silent.then(|| "it does not answer".to_string()),
        }
    }

    /// Takes the pilot out of service; returns the operations of the jobs lost with it.
    pub(super) fn lose(&mut self) -> Vec<OpId> {
        self.there = false;
        std::mem::take(&mut self.held).into_keys().collect()
    }

    /// Seconds until the batch job of the pilot ends; infinite if unknown.
    pub(super) fn left(&self) -> f64 {
        let left = |ends: Instant| ends.saturating_duration_since(Instant::now()).as_secs_f64();
        self.ends.map_or(f64::INFINITY, left)
    }

    /// Notes that a job was not begun because the pilot ends too soon.
    pub(super) fn outgrow(&mut self) {
        self.outgrown.get_or_insert_with(Instant::now);
    }

    /// Whether to replace the pilot: it has too little time left for some job, and has been idle for `idle`.
    pub(super) fn should_renew(&mut self, idle: Duration) -> bool {
        if !self.held.is_empty() {
            let now = Instant::now();
            for since in [&mut self.outgrown, &mut self.waits].into_iter().flatten() {
                *since = now;
            }
        }
        let long = |since: Option<Instant>| since.is_some_and(|since| since.elapsed() >= idle);
        let waits = long(self.outgrown) || long(self.waits);
        waits && self.there && self.lease.is_none()
    }

    /// Ends the pilot so that another is started.
    pub(super) fn renew(&mut self) {
        self.tell(&ToPilot::Quit);
        self.leave();
        self.pilot = None;
        (self.ends, self.outgrown, self.waits, self.rest) = (None, None, None, None);
        self.ended = Some("it has too little time left for the next task".to_string());
    }

    // The jobs.

    pub(super) fn has(&self, op: OpId) -> bool {
        self.held.contains_key(&op)
    }

    /// Whether a job is the one held under that number, by its task. Numbers given after the end of a truncated log may
    /// have been given twice.
    pub(super) fn knows(&self, label: &Label) -> bool {
        self.held.get(&label.op).is_some_and(|held| held.label.task == label.task)
    }

    /// Expects a job that an earlier process of the run had under way here.
    pub(super) fn expect(&mut self, label: Label) {
        let held = Held { label, job: None, begun: true, reported: false };
        self.held.insert(held.label.op, held);
    }

    /// Drops expected jobs that the pilot has not reported; returns the others.
    pub(super) fn keep_expected(&mut self) -> Vec<Label> {
        self.held.retain(|_, held| held.reported);
        self.held.values().map(|held| held.label.clone()).collect()
    }

    /// Sends a job to the pilot, or keeps it until one serves.
    pub(super) fn begin(&mut self, job: Job) -> Accepted {
        self.wanted = true;
        let label = job.label.clone();
        let begun = self.tell(&ToPilot::Begin(Box::new(job.clone())));
        let held = Held { label, job: Some(job), begun, reported: begun };
        self.held.insert(held.label.op, held);
        if begun { Accepted::Running } else { Accepted::Waiting }
    }

    /// Takes back a job that has not begun.
    pub(super) fn withdraw(&mut self, op: OpId) -> Option<Job> {
        self.held.get(&op).filter(|held| !held.begun)?;
        self.held.remove(&op)?.job
    }

    /// A job has ended.
    pub(super) fn done(&mut self, op: OpId) {
        self.held.remove(&op);
    }

    /// The job of a slot for one task.
    pub(super) fn job(self) -> Option<Job> {
        self.held.into_values().find_map(|held| held.job)
    }
}
