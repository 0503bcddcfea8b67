//! Inputs on their way from the origin: they leave in turn.
//!
//! Data that all tasks fetch from one host compete on the links near it. A plan queues these
//! transfers, in the order in which it places their readers, on the narrowest shared link of their
//! way; other transfers are planned as if they were alone. A file goes to a place once.

use super::Problem;
use crate::ids::{FileId, HostId, LinkId, ProcId, TaskId};
use crate::platform::{Charges, Contention, Network, Platform, RouteCache, Way};
use crate::schedule::PlannedTransfer;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Per host: the link on which transfers from the origin queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Lanes {
    origin: HostId,
    /// Index of a link, or none.
    of_host: Vec<u32>,
    /// Per link: bytes/s that all transfers together get.
    rate: Vec<f64>,
    /// A transfer holds its link to its end, latency included.
    in_turn: bool,
}

const NONE: u32 = u32::MAX;

impl Lanes {
    /// The lanes from a host of a platform under a network model; none where nothing is shared.
    pub fn new(platform: &Platform, origin: HostId, charges: &Charges) -> Option<Lanes> {
        if !matches!(platform.network(), Network::Zones) || charges.contention == Contention::Free {
            return None;
        }
        let mut routes = RouteCache::new();
        let usable = |link: LinkId| charges.usable(platform.link(link));
        let lane = |host: HostId| {
            if platform.place_of(host) == platform.place_of(origin) {
                return NONE;
            }
            let from = platform.place_of(origin);
            let way = Way::find(platform, &mut routes, (from, host), charges).ok();
            way.and_then(|way| way.narrowest_shared(usable)).map_or(NONE, |link| link.0)
        };
        // Data that hosts share are kept at the first of them.
        let mut of_host: Vec<u32> = platform.host_ids().map(lane).collect();
        for host in platform.host_ids() {
            of_host[host.index()] = of_host[platform.place_of(host).index()];
        }
        if of_host.iter().all(|&link| link == NONE) {
            return None;
        }
        let rate = platform.links().iter().map(|link| charges.usable(link)).collect();
        let in_turn = charges.contention_on(platform) == Contention::InTurn;
        Some(Lanes { origin, of_host, rate, in_turn })
    }

    /// The host the lanes start from.
    pub fn origin(&self) -> HostId {
        self.origin
    }

    /// The link on which transfers to a host queue.
    #[inline]
    pub fn lane(&self, host: HostId) -> Option<LinkId> {
        let link = self.of_host[host.index()];
        (link != NONE).then_some(LinkId(link))
    }

    /// Bytes/s that all transfers together get of a link.
    #[inline]
    pub fn rate(&self, link: LinkId) -> f64 {
        self.rate[link.index()]
    }

    /// Seconds for which a transfer that takes `seconds` keeps others off its link.
    #[inline]
    fn holds(&self, rate: f64, bytes: f64, seconds: f64) -> f64 {
        if self.in_turn { seconds } else { bytes / rate }
    }
}

/// Inputs of unfinished tasks that are not everywhere, task by task.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Staged {
    start: Vec<u32>,
    files: Vec<FileId>,
    /// Beside each file.
    sources: Vec<Source>,
}

/// The source of an input.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Source {
    /// The host; none where there are copies at several places or none.
    host: Option<HostId>,
    /// Earliest departure, seconds.
    begin: f64,
    bytes: f64,
}

impl Staged {
    pub(super) fn of(problem: &Problem<'_>) -> Staged {
        let workflow = problem.workflow();
        let mut staged = Staged::default();
        if !problem.state().inputs_listed {
            return staged;
        }
        staged.start.push(0);
        for task in workflow.tasks() {
            if problem.state().fixed(task).is_none() {
                let inputs = workflow.inputs(task);
                staged.files.extend(inputs.filter(|&f| workflow.producer(f).is_none()));
            }
            staged.start.push(staged.files.len() as u32);
        }
        if staged.files.is_empty() {
            staged.start.clear();
            return staged;
        }
        let unknown =
            |file| (0, Source { host: None, begin: 0.0, bytes: workflow.file_bytes(file) });
        let mut copies: Vec<(u32, Source)> = workflow.files().map(unknown).collect();
        for copy in &problem.state().copies {
            let (count, source) = &mut copies[copy.file.index()];
            *count += 1;
            source.host = (*count == 1).then_some(copy.host);
            source.begin = copy.at.max(problem.state().now);
        }
        staged.sources.extend(staged.files.iter().map(|file| copies[file.index()].1));
        staged
    }

    #[inline]
    pub(super) fn any(&self) -> bool {
        !self.start.is_empty()
    }

    #[inline]
    pub(super) fn of_task(&self, task: TaskId) -> &[FileId] {
        if self.start.is_empty() {
            return &[];
        }
        &self.files[self.range(task)]
    }

    #[inline]
    fn sources(&self, task: TaskId) -> &[Source] {
        &self.sources[self.range(task)]
    }

    #[inline]
    fn range(&self, task: TaskId) -> Range<usize> {
        self.start[task.index()] as usize..self.start[task.index() + 1] as usize
    }
}

/// Transfers of inputs planned so far.
#[derive(Clone, Debug)]
pub struct Staging<'a, 'p> {
    problem: &'a Problem<'p>,
    /// Per link: the date at which the transfers planned on it are over.
    free: Vec<f64>,
    /// Per file: the places it was sent to, sorted, and when it arrives.
    sent: Vec<Vec<(HostId, f64)>>,
    /// Number of files sent: entries of `known` from before may no longer hold.
    sends: u64,
    transfers: Vec<PlannedTransfer>,
    kinds: Kinds,
    look: Look,
    /// Results of the most recent searches; each list of inputs has one slot.
    known: [Known<'a>; SEATS],
}

const SEATS: usize = 8;

/// Dates at which some inputs would be on every host.
#[derive(Clone, Debug, Default)]
struct Known<'a> {
    inputs: &'a [FileId],
    /// The number of sends up to which it holds.
    until: u64,
    ready: Vec<f64>,
}

/// Hosts that inputs reach alike, as long as nothing was sent.
#[derive(Clone, Debug, Default)]
struct Kinds {
    of_host: Vec<u32>,
    /// One host of each.
    first: Vec<HostId>,
    /// The link on which inputs for them queue, with its rate.
    lane: Vec<Option<(LinkId, f64)>>,
    /// Number of places of all of them.
    places: usize,
}

impl Kinds {
    fn of(problem: &Problem<'_>) -> Kinds {
        let mut known: HashMap<(u32, u32), u32> = HashMap::new();
        let mut kinds = Kinds::default();
        let platform = problem.platform();
        let lanes = problem.lanes.as_deref();
        // A host that holds inputs itself is alone of its kind.
        let holders: HashSet<HostId> =
            problem.state.copies.iter().map(|c| platform.place_of(c.host)).collect();
        for host in platform.host_ids() {
            let alone = holders.contains(&platform.place_of(host));
            let lane = lanes.map_or(NONE, |lanes| lanes.of_host[host.index()]);
            let group = problem.network.group_of[host.index()];
            let next = kinds.first.len() as u32;
            let kind = if alone { next } else { *known.entry((group, lane)).or_insert(next) };
            if kind == next {
                kinds.first.push(host);
                let queue =
                    |lanes: &Lanes| Some((lanes.lane(host)?, lanes.rate(lanes.lane(host)?)));
                kinds.lane.push(lanes.and_then(queue));
            }
            kinds.of_host.push(kind);
            kinds.places += usize::from(platform.place_of(host) == host);
        }
        kinds
    }
}

/// One query over all hosts for the inputs of one task. Hosts that will have none of the inputs share
/// the course of their kind.
#[derive(Clone, Debug, Default)]
struct Look {
    /// A course for each kind, and one for each host that will have some of the inputs.
    kinds: Vec<InputSequence>,
    own: Vec<InputSequence>,
    /// Per host: whether it has a course of its own.
    has_own: Vec<bool>,
    /// Per place, for the input at hand: when it arrives there, not a number where it was not sent.
    arrives: Vec<f64>,
    /// Per kind, for the input at hand.
    legs: Vec<Leg>,
}

/// Arrivals at one host of the inputs looked up, one after the other.
#[derive(Clone, Copy, Debug)]
struct InputSequence {
    host: HostId,
    place: HostId,
    kind: u32,
    /// Date at which all earlier inputs are there.
    latest: f64,
    /// Date at which the earlier inputs have left its lane.
    behind: f64,
}

impl InputSequence {
    /// The next input comes over its way.
    #[inline]
    fn follow(&mut self, leg: &Leg) {
        let mut start = leg.start;
        if !leg.holds.is_nan() {
            start = start.max(self.behind);
            self.behind = start + leg.holds;
        }
        self.latest = self.latest.max(start + leg.seconds);
    }
}

/// The way of one input to the hosts of a kind.
#[derive(Clone, Copy, Debug)]
struct Leg {
    /// Departure, apart from the waiting for earlier inputs of this task.
    start: f64,
    seconds: f64,
    /// Seconds that it holds its lane; not a number where it queues on none.
    holds: f64,
}

/// The transfer of an input that would be made.
struct Move {
    from: HostId,
    link: Option<LinkId>,
    start: f64,
    finish: f64,
    /// Date at which its link would be free again.
    free: f64,
}

impl<'a, 'p> Staging<'a, 'p> {
    /// Nothing on its way; none where the inputs of all unfinished tasks are everywhere.
    pub fn new(problem: &'a Problem<'p>) -> Option<Self> {
        if !problem.staged.any() {
            return None;
        }
        let queues = problem.lanes.is_some();
        let links = if queues { problem.platform().links().len() } else { 0 };
        let hosts = problem.platform().hosts().len();
        let (has_own, arrives) = (vec![false; hosts], vec![f64::NAN; hosts]);
        Some(Staging {
            problem,
            free: vec![problem.state().now; links],
            sent: vec![Vec::new(); problem.workflow().file_count()],
            sends: 0,
            transfers: Vec::new(),
            kinds: Kinds::of(problem),
            look: Look { has_own, arrives, ..Look::default() },
            known: Default::default(),
        })
    }

    /// Returns the date at which the inputs of a task would be on a host if they were sent for now.
    pub fn ready_on(&self, task: TaskId, host: HostId) -> f64 {
        let (mut latest, mut behind) = (0.0f64, 0.0f64);
        let place = self.problem.platform().place_of(host);
        for &file in self.problem.staged_inputs(task) {
            if let Some(at) = self.arrives(file, place) {
                latest = latest.max(at);
                continue;
            }
            let planned = self.plan(file, host, behind);
            latest = latest.max(planned.finish);
            if planned.link.is_some() {
                behind = planned.free;
            }
        }
        latest
    }

    /// Returns the dates of [`ready_on`](Self::ready_on) for every host: computed once for each
    /// kind, and for those that will have some of the inputs. Kept for tasks that read the same,
    /// until something is sent.
    pub fn ready(&mut self, task: TaskId) -> &[f64] {
        let inputs = self.problem.staged_inputs(task);
        let ends = inputs.first().zip(inputs.last());
        let seat = ends.map_or(0, |(a, b)| (a.index() + b.index() + inputs.len()) % SEATS);
        let known = &self.known[seat];
        if known.until < self.sends || known.ready.is_empty() || known.inputs != inputs {
            let mut ready = std::mem::take(&mut self.known[seat].ready);
            self.look(task, &mut ready);
            // What is on its way to all places comes when it comes.
            let settled = |f: &FileId| self.sent[f.index()].len() == self.kinds.places;
            let until = if inputs.iter().all(settled) { u64::MAX } else { self.sends };
            self.known[seat] = Known { inputs, until, ready };
        }
        &self.known[seat].ready
    }

    fn look(&mut self, task: TaskId, ready: &mut Vec<f64>) {
        let mut look = std::mem::take(&mut self.look);
        let inputs = self.problem.staged_inputs(task);
        self.set_out(inputs, &mut look);
        for (&file, source) in inputs.iter().zip(self.problem.staged.sources(task)) {
            match source.host {
                Some(from) => self.advance(file, from, source, &mut look),
                None => self.advance_from_several(file, &mut look),
            }
        }
        ready.clear();
        ready.extend(self.kinds.of_host.iter().map(|&kind| look.kinds[kind as usize].latest));
        for course in &look.own {
            ready[course.host.index()] = course.latest;
            look.has_own[course.host.index()] = false;
        }
        self.look = look;
    }

    /// Prepares the arrivals on all hosts, before the first input.
    fn set_out(&self, inputs: &[FileId], look: &mut Look) {
        let platform = self.problem.platform();
        let course = |host: HostId, kind: u32| {
            let place = platform.place_of(host);
            InputSequence { host, place, kind, latest: 0.0, behind: 0.0 }
        };
        look.kinds.clear();
        look.kinds.extend(self.kinds.first.iter().zip(0..).map(|(&host, kind)| course(host, kind)));
        look.own.clear();
        let mut own = |host: HostId| {
            if !std::mem::replace(&mut look.has_own[host.index()], true) {
                look.own.push(course(host, self.kinds.of_host[host.index()]));
            }
        };
        for file in inputs {
            for &(place, _) in &self.sent[file.index()] {
                if platform.shares_storage() {
                    platform.hosts_of_place(place).into_iter().for_each(&mut own)
                } else {
                    own(place)
                }
            }
        }
    }

    /// The next input comes from its one source to all hosts.
    fn advance(&self, file: FileId, from: HostId, source: &Source, look: &mut Look) {
        let (problem, Source { begin, bytes, .. }) = (self.problem, *source);
        let lanes = problem.lanes.as_deref().filter(|lanes| lanes.origin == from);
        let leg = |(&host, lane): (&HostId, &Option<(LinkId, f64)>)| {
            let seconds = problem.transfer(bytes, from, host);
            match (lane, lanes) {
                (&Some((link, rate)), Some(lanes)) if seconds > 0.0 => {
                    let start = begin.max(self.free[link.index()]);
                    Leg { start, seconds, holds: lanes.holds(rate, bytes, seconds) }
                }
                _ => Leg { start: begin, seconds, holds: f64::NAN },
            }
        };
        look.legs.clear();
        look.legs.extend(self.kinds.first.iter().zip(&self.kinds.lane).map(leg));
        for (course, leg) in look.kinds.iter_mut().zip(&look.legs) {
            course.follow(leg);
        }
        let sent = &self.sent[file.index()];
        for &(place, at) in sent {
            look.arrives[place.index()] = at;
        }
        for course in &mut look.own {
            let there = look.arrives[course.place.index()];
            if there.is_nan() {
                course.follow(&look.legs[course.kind as usize])
            } else {
                course.latest = course.latest.max(there)
            }
        }
        for &(place, _) in sent {
            look.arrives[place.index()] = f64::NAN;
        }
    }

    /// The next input comes from where it is quickest.
    fn advance_from_several(&self, file: FileId, look: &mut Look) {
        let follow = |course: &mut InputSequence| {
            let planned = self.plan(file, course.host, course.behind);
            if planned.link.is_some() {
                course.behind = planned.free;
            }
            course.latest = course.latest.max(planned.finish);
        };
        look.kinds.iter_mut().for_each(follow);
        for course in &mut look.own {
            match self.arrives(file, course.place) {
                Some(at) => course.latest = course.latest.max(at),
                None => follow(course),
            }
        }
    }

    /// Returns the date at which a file that was sent to a place arrives there.
    fn arrives(&self, file: FileId, place: HostId) -> Option<f64> {
        let sent = &self.sent[file.index()];
        let at = sent.binary_search_by_key(&place, |(to, _)| *to).ok()?;
        Some(sent[at].1)
    }

    /// The quickest way to bring a file to a host, `behind` what was asked for before.
    fn plan(&self, file: FileId, host: HostId, behind: f64) -> Move {
        let problem = self.problem;
        let bytes = problem.workflow().file_bytes(file);
        let lanes = problem.lanes.as_deref();
        let lane = lanes.and_then(|lanes| Some((lanes, lanes.lane(host)?)));
        let nowhere = f64::INFINITY;
        let mut best =
            Move { from: host, link: None, start: nowhere, finish: nowhere, free: nowhere };
        for copy in problem.state().copies_of(file) {
            let mut start = copy.at.max(problem.state().now);
            let seconds = problem.transfer(bytes, copy.host, host);
            let queue = lane.filter(|(lanes, _)| lanes.origin == copy.host && seconds > 0.0);
            let mut free = start;
            if let Some((lanes, link)) = queue {
                start = start.max(behind).max(self.free[link.index()]);
                free = start + lanes.holds(lanes.rate(link), bytes, seconds);
            }
            if start + seconds < best.finish {
                let (from, link) = (copy.host, queue.map(|(_, link)| link));
                best = Move { from, link, start, finish: start + seconds, free };
            }
        }
        best
    }

    /// Sends the inputs of a task to a host; gives the date they are all there.
    pub fn send(&mut self, task: TaskId, host: HostId) -> f64 {
        let inputs = self.problem.staged_inputs(task).iter();
        inputs.map(|&file| self.send_file(file, host)).fold(0.0, f64::max)
    }

    /// Sends the inputs of a task to its processors; returns the date they are all there. At
    /// several places the inputs come in blocks, as if alone.
    pub fn send_to(&mut self, task: TaskId, procs: &[ProcId]) -> f64 {
        match procs {
            [] => 0.0,
            _ if self.problem.at_one_place(procs) => {
                self.send(task, self.problem.host_of(procs[0]))
            }
            _ => {
                let inputs = self.problem.staged_inputs(task).iter();
                inputs.map(|&file| self.problem.arrival_at(file, procs)).fold(0.0, f64::max)
            }
        }
    }

    /// Sends inputs in the order of planned transfers.
    pub fn follow(&mut self, transfers: &[PlannedTransfer]) {
        let workflow = self.problem.workflow();
        for transfer in transfers.iter().filter(|t| workflow.producer(t.file).is_none()) {
            self.send_file(transfer.file, transfer.to);
        }
    }

    fn send_file(&mut self, file: FileId, host: HostId) -> f64 {
        let place = self.problem.platform().place_of(host);
        let at = match self.sent[file.index()].binary_search_by_key(&place, |(to, _)| *to) {
            Ok(at) => return self.sent[file.index()][at].1,
            Err(at) => at,
        };
        let Move { from, link, start, finish, free } = self.plan(file, host, 0.0);
        if !finish.is_finite() {
            return finish;
        }
        if let Some(link) = link {
            self.free[link.index()] = free;
        }
        self.sent[file.index()].insert(at, (place, finish));
        self.sends += 1;
        if self.problem.platform().place_of(from) != place {
            let to = host;
            self.transfers.push(PlannedTransfer { file, from, to, link, start, finish });
        }
        finish
    }

    /// The transfers, in the order they leave.
    pub fn into_transfers(self) -> Vec<PlannedTransfer> {
        self.transfers
    }
}
