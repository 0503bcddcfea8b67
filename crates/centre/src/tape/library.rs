//! Simulation of a tape library with a disk cache: requests arrive over time and are served by drives.

use super::case::{Case, RequestSpec};
use serde::Deserialize;
use slackline_model::rng::{Stream, stream};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Rule by which an empty drive chooses its next tape. Ties: the tape with the oldest request, then by name.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Requests strictly in order of arrival; the tape is changed whenever the next one is on another tape.
    Fifo,
    /// The tape with most requests, then the oldest one.
    MostRequests,
    /// The tape whose oldest request is oldest.
    OldestRequest,
    /// The largest weighted sum of the number of requests and the age of the oldest one.
    Weighted,
}

impl Policy {
    /// All policies.
    pub const ALL: [Policy; 4] =
        [Policy::Fifo, Policy::MostRequests, Policy::OldestRequest, Policy::Weighted];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Fifo => "fifo",
            Policy::MostRequests => "most_requests",
            Policy::OldestRequest => "oldest_request",
            Policy::Weighted => "weighted",
        }
    }
}

impl std::str::FromStr for Policy {
    type Err = String;

    fn from_str(name: &str) -> Result<Policy, String> {
        let found = Policy::ALL.into_iter().find(|policy| policy.name() == name);
        found.ok_or_else(|| {
            let known = Policy::ALL.map(Policy::name).join(", ");
            format!("unknown tape policy `{name}`; known: {known}")
        })
    }
}

/// Weights of [`Policy::Weighted`].
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// Weight of each waiting request.
    #[serde(default)]
    pub requests: f64,
    /// Weight of each second that the oldest request has waited.
    #[serde(default)]
    pub age: f64,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights { requests: 1.0, age: 0.0 }
    }
}

/// A tape put into a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Mount {
    /// Begin of mounting, in seconds.
    pub date: f64,
    /// The drive, from 0.
    pub drive: usize,
    /// Name of the tape.
    pub tape: String,
}

/// Activity of a busy drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Mounting.
    Mount,
    /// Winding.
    Wind,
    /// Reading.
    Read,
    /// Unmounting.
    Unmount,
}

/// A time during which a drive is busy.
#[derive(Clone, Debug, PartialEq)]
pub struct Busy {
    /// The drive, from 0.
    pub drive: usize,
    /// Its activity.
    pub activity: Activity,
    /// The tape.
    pub tape: String,
    /// The request read for; an index into the case's requests.
    pub request: Option<usize>,
    /// Beginning, in seconds.
    pub start: f64,
    /// End, in seconds.
    pub end: f64,
}

/// Outcome of a case: dates in seconds, lists in the order of its requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The policy.
    pub policy: Policy,
    /// Dates at which drives begin to wind to the files; for hits, their arrival.
    pub starts: Vec<f64>,
    /// Dates at which the files are on disk.
    pub done: Vec<f64>,
    /// Requests that the cache served.
    pub hits: Vec<usize>,
    /// Requests that joined an earlier one for the same file, with that one.
    pub joined: BTreeMap<usize, usize>,
    /// All mounts, by date.
    pub mounts: Vec<Mount>,
    /// Activities of the drives.
    pub busy: Vec<Busy>,
    /// Date at which the last drive became empty.
    pub end: f64,
}

/// State of a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Empty,
    Mounting,
    /// With a tape, and nothing to do yet.
    Ready,
    /// Winding to a file or reading it, for a request.
    Reading(usize),
    Unmounting,
}

#[derive(Clone, Debug)]
struct Drive {
    state: State,
    /// End of the state; infinite for those that last until a decision.
    until: f64,
    /// Tape in the drive; meaningless while it is empty.
    tape: usize,
    /// Position of the head on the tape, in the units of the case.
    head: f64,
    /// Date of the end of mounting.
    mounted: f64,
    /// A file was read since the mount.
    has_read: bool,
    /// The tape it gave up because others starved: not its next one unless there is no other.
    avoid: Option<usize>,
}

/// The waiting requests of a tape.
#[derive(Clone, Debug, Default)]
struct Waiting {
    /// Indices of requests, which are in order of arrival: the least is the oldest.
    by_age: BTreeSet<usize>,
    /// Bits of positions: for non-negative floats their order is that of the numbers.
    by_position: BTreeSet<(u64, usize)>,
}

/// The disk cache: least recently used files are evicted first. Ties: by name.
#[derive(Clone, Debug)]
struct Disk {
    capacity: f64,
    used: f64,
    /// By file: date of the last use, and size in bytes.
    files: HashMap<usize, (f64, f64)>,
}

/// The state of a simulated library. At each instant a driver calls [`Library::finish`], then
/// [`Library::arrive`], then [`Library::decide`].
#[derive(Clone, Debug)]
pub struct Library<'a> {
    case: &'a Case,
    policy: Policy,
    drives: Vec<Drive>,
    tapes: Vec<&'a str>,
    files: Vec<&'a str>,
    /// Tape and file of every request.
    tape_of: Vec<usize>,
    file_of: Vec<usize>,
    waiting: Vec<Waiting>,
    /// Tapes with waiting requests.
    wanted: BTreeSet<usize>,
    in_drive: Vec<bool>,
    /// By file: the request by which it is being read.
    pending: HashMap<usize, usize>,
    /// By such a request: those that joined it.
    followers: HashMap<usize, Vec<usize>>,
    disk: Option<Disk>,
    /// Random streams of mount and unmount times.
    mounting: Stream,
    unmounting: Stream,
    outcome: Outcome,
}

/// Numbers the distinct names of requests; returns the names and the number of each request.
fn numbered<'a>(
    requests: &'a [RequestSpec],
    name: impl Fn(&'a RequestSpec) -> &'a str,
) -> (Vec<&'a str>, Vec<usize>) {
    // In order of names, which break ties between tapes and between files.
    let names: BTreeSet<&str> = requests.iter().map(&name).collect();
    let numbers: BTreeMap<&str, usize> = names.iter().enumerate().map(|(k, n)| (*n, k)).collect();
    let of = requests.iter().map(|request| numbers[name(request)]).collect();
    (names.into_iter().collect(), of)
}

impl<'a> Library<'a> {
    /// An idle library.
    pub fn new(case: &'a Case, policy: Policy) -> Library<'a> {
        let (tapes, tape_of) = numbered(&case.requests, |request| &request.tape);
        let (files, file_of) = numbered(&case.requests, |request| &request.file);
        let empty = Drive {
            state: State::Empty,
            until: f64::INFINITY,
            tape: 0,
            head: 0.0,
            mounted: 0.0,
            has_read: false,
            avoid: None,
        };
        let count = case.requests.len();
        Library {
            case,
            policy,
            drives: vec![empty; case.library.drives],
            waiting: vec![Waiting::default(); tapes.len()],
            wanted: BTreeSet::new(),
            in_drive: vec![false; tapes.len()],
            tapes,
            files,
            tape_of,
            file_of,
            pending: HashMap::new(),
            followers: HashMap::new(),
            disk: case.cache.map(|capacity| Disk { capacity, used: 0.0, files: HashMap::new() }),
            mounting: stream(case.seed, "tape/mount", 0),
            unmounting: stream(case.seed, "tape/unmount", 0),
            outcome: Outcome {
                policy,
                starts: vec![f64::NAN; count],
                done: vec![f64::NAN; count],
                hits: Vec::new(),
                joined: BTreeMap::new(),
                mounts: Vec::new(),
                busy: Vec::new(),
                end: 0.0,
            },
        }
    }

    /// The next date at which an activity of a drive ends; infinite if all are idle.
    pub fn next_date(&self) -> f64 {
        self.drives.iter().map(|drive| drive.until).fold(f64::INFINITY, f64::min)
    }

    /// Completes the mounts, reads and unmounts that end now.
    pub fn finish(&mut self, now: f64) {
        for k in 0..self.drives.len() {
            if self.drives[k].until > now {
                continue;
            }
            let drive = &mut self.drives[k];
            drive.until = f64::INFINITY;
            match drive.state {
                State::Mounting => {
                    (drive.state, drive.mounted) = (State::Ready, now);
                }
                State::Reading(request) => {
                    drive.state = State::Ready;
                    self.deliver(now, request);
                }
                State::Unmounting => {
                    drive.state = State::Empty;
                    self.in_drive[drive.tape] = false;
                    self.outcome.end = self.outcome.end.max(now);
                }
                State::Empty | State::Ready => {}
            }
        }
    }

    /// Completes the requests for a file that has been read, and caches it.
    fn deliver(&mut self, now: f64, request: usize) {
        let file = self.file_of[request];
        self.pending.remove(&file);
        let start = self.outcome.starts[request];
        self.outcome.done[request] = now;
        for follower in self.followers.remove(&request).unwrap_or_default() {
            self.outcome.starts[follower] = start.max(self.case.requests[follower].arrival);
            self.outcome.done[follower] = now;
        }
        if let Some(disk) = &mut self.disk {
            disk.enter(now, file, self.case.requests[request].size);
        }
    }

    /// A request arrives.
    pub fn arrive(&mut self, now: f64, request: usize) {
        let file = self.file_of[request];
        if let Some(entry) = self.disk.as_mut().and_then(|disk| disk.files.get_mut(&file)) {
            entry.0 = now;
            self.outcome.starts[request] = now;
            self.outcome.done[request] = now;
            self.outcome.hits.push(request);
            return;
        }
        if let Some(&other) = self.pending.get(&file) {
            self.outcome.joined.insert(request, other);
            self.followers.entry(other).or_default().push(request);
            return;
        }
        self.pending.insert(file, request);
        let tape = self.tape_of[request];
        self.waiting[tape].by_age.insert(request);
        let key = (self.position_bits(request), request);
        self.waiting[tape].by_position.insert(key);
        self.wanted.insert(tape);
    }

    fn position_bits(&self, request: usize) -> u64 {
        (self.case.requests[request].position + 0.0).to_bits() // + 0.0 turns -0 into 0
    }

    /// Lets drives without an activity choose one: empty drives first, then those with a tape, by number.
    pub fn decide(&mut self, now: f64) {
        for k in 0..self.drives.len() {
            if self.drives[k].state == State::Empty
                && let Some(tape) = self.choose_tape(now, self.drives[k].avoid)
            {
                self.mount(now, k, tape);
            }
        }
        for k in 0..self.drives.len() {
            if self.drives[k].state == State::Ready {
                match self.choose_request(now, k) {
                    Some(request) => self.read(now, k, request),
                    None => self.unmount(now, k),
                }
            }
        }
    }

    /// The tapes with waiting requests that are in no drive, except `avoid`.
    fn candidates(&self, avoid: Option<usize>) -> impl Iterator<Item = usize> + '_ {
        let free = move |tape: &usize| !self.in_drive[*tape] && avoid != Some(*tape);
        self.wanted.iter().copied().filter(free)
    }

    fn oldest(&self, tape: usize) -> usize {
        self.waiting[tape].by_age.first().copied().unwrap_or(usize::MAX)
    }

    fn choose_tape(&self, now: f64, avoid: Option<usize>) -> Option<usize> {
        let Weights { requests, age } = self.case.weights;
        let number = |tape: usize| self.waiting[tape].by_age.len();
        let value = |tape: usize| match self.policy {
            Policy::Fifo | Policy::OldestRequest => 0.0,
            Policy::MostRequests => number(tape) as f64,
            Policy::Weighted => {
                let waited = now - self.case.requests[self.oldest(tape)].arrival;
                requests * number(tape) as f64 + age * waited
            }
        };
        let better = |a: &(f64, usize, usize), b: &(f64, usize, usize)| {
            b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
        };
        let best = |avoid: Option<usize>| {
            let all = self.candidates(avoid).map(|tape| (value(tape), self.oldest(tape), tape));
            all.min_by(better).map(|(_, _, tape)| tape)
        };
        // If another drive has taken the other tapes, the avoided one is mounted again.
        best(avoid).or_else(|| best(None))
    }

    /// The next request of a drive with a tape; none if it should unmount. Except under `fifo`, the head sweeps forwards and
    /// returns to the first request on the tape.
    fn choose_request(&mut self, now: f64, k: usize) -> Option<usize> {
        let Drive { tape, head, mounted, has_read, .. } = self.drives[k];
        let starved = self.case.starvation.is_some_and(|limit| now - mounted >= limit);
        if starved && has_read && self.candidates(Some(tape)).next().is_some() {
            self.drives[k].avoid = Some(tape);
            return None;
        }
        let waiting = &self.waiting[tape];
        if self.policy == Policy::Fifo {
            let elsewhere = self.candidates(Some(tape)).map(|other| self.oldest(other)).min();
            let here = waiting.by_age.first().copied();
            return here.filter(|here| elsewhere.is_none_or(|other| *here < other));
        }
        let ahead = waiting.by_position.range((head.to_bits(), 0)..).next();
        ahead.or_else(|| waiting.by_position.first()).map(|&(_, request)| request)
    }

    fn busy(&mut self, k: usize, activity: Activity, request: Option<usize>, span: (f64, f64)) {
        if span.1 > span.0 || activity != Activity::Wind {
            let tape = self.tapes[self.drives[k].tape].to_string();
            let (start, end) = span;
            self.outcome.busy.push(Busy { drive: k, activity, tape, request, start, end });
        }
    }

    fn mount(&mut self, now: f64, k: usize, tape: usize) {
        let until = now + self.case.library.mount.draw(&mut self.mounting);
        self.in_drive[tape] = true;
        let drive = &mut self.drives[k];
        (drive.state, drive.until) = (State::Mounting, until);
        (drive.tape, drive.head, drive.avoid) = (tape, 0.0, None);
        drive.has_read = false;
        let name = self.tapes[tape].to_string();
        self.outcome.mounts.push(Mount { date: now, drive: k, tape: name });
        self.busy(k, Activity::Mount, None, (now, until));
    }

    fn read(&mut self, now: f64, k: usize, request: usize) {
        let RequestSpec { position, size, .. } = self.case.requests[request];
        let library = &self.case.library;
        let tape = self.drives[k].tape;
        let there = now + (position - self.drives[k].head).abs() / library.wind;
        let until = there + size / library.rate;
        let key = (self.position_bits(request), request);
        let waiting = &mut self.waiting[tape];
        waiting.by_age.remove(&request);
        waiting.by_position.remove(&key);
        if waiting.by_age.is_empty() {
            self.wanted.remove(&tape);
        }
        let drive = &mut self.drives[k];
        (drive.state, drive.until, drive.head) = (State::Reading(request), until, position + 0.0);
        drive.has_read = true;
        self.outcome.starts[request] = now;
        self.busy(k, Activity::Wind, Some(request), (now, there));
        self.busy(k, Activity::Read, Some(request), (there, until));
    }

    fn unmount(&mut self, now: f64, k: usize) {
        let back = now + self.drives[k].head / self.case.library.wind;
        let until = back + self.case.library.unmount.draw(&mut self.unmounting);
        let drive = &mut self.drives[k];
        (drive.state, drive.until, drive.head) = (State::Unmounting, until, 0.0);
        self.busy(k, Activity::Wind, None, (now, back));
        self.busy(k, Activity::Unmount, None, (back, until));
    }

    /// Names of the files that are on disk, sorted.
    pub fn cached(&self) -> Vec<&str> {
        let Some(disk) = &self.disk else { return Vec::new() };
        let files: BTreeSet<usize> = disk.files.keys().copied().collect();
        files.into_iter().map(|file| self.files[file]).collect()
    }
}

impl Disk {
    fn enter(&mut self, now: f64, file: usize, size: f64) {
        if size > self.capacity {
            return;
        }
        if let Some((_, old)) = self.files.remove(&file) {
            self.used -= old;
        }
        while self.used + size > self.capacity {
            // Files are numbered by name.
            let least =
                self.files.iter().min_by(|(a, x), (b, y)| x.0.total_cmp(&y.0).then(a.cmp(b)));
            let Some((&oldest, &(_, freed))) = least else { break };
            self.files.remove(&oldest);
            self.used -= freed;
        }
        self.used += size;
        self.files.insert(file, (now, size));
    }
}

/// Serves all requests of a case.
pub fn run(case: &Case, policy: Policy) -> Outcome {
    let mut library = Library::new(case, policy);
    let mut next = 0;
    loop {
        let arrival = case.requests.get(next).map_or(f64::INFINITY, |request| request.arrival);
        let now = library.next_date().min(arrival);
        if now == f64::INFINITY {
            return library.outcome;
        }
        library.finish(now);
        while case.requests.get(next).is_some_and(|request| request.arrival <= now) {
            library.arrive(now, next);
            next += 1;
        }
        library.decide(now);
    }
}
