//! Inputs on their way from the origin: they leave in turn.
//!
//! What all tasks fetch from one host meets on the links near it. A plan queues these transfers, in
//! the order in which it places their readers, on the narrowest shared link of their way; what else
//! moves is planned as if it were alone. A file goes to a place once.

use super::Problem;
use crate::ids::{FileId, HostId, LinkId, ProcId, TaskId};
use crate::platform::{Charges, Network, Platform, RouteCache, Way};
use crate::schedule::PlannedTransfer;

/// Per host: the link on which transfers from the origin queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Lanes {
    origin: HostId,
    /// Index of a link, or none.
    of_host: Vec<u32>,
    /// Per link: bytes/s that all transfers together get.
    rate: Vec<f64>,
}

const NONE: u32 = u32::MAX;

impl Lanes {
    /// The lanes from a host of a platform under a network model; none where nothing is shared.
    pub fn new(platform: &Platform, origin: HostId, charges: &Charges) -> Option<Lanes> {
        if !matches!(platform.network(), Network::Zones) || !charges.contention {
            return None;
        }
        let mut routes = RouteCache::new();
        let usable = |link: LinkId| charges.usable(platform.link(link));
        let lane = |host: HostId| {
            if platform.place_of(host) == platform.place_of(origin) {
                return NONE;
            }
            let way = Way::find(platform, &mut routes, (origin, host), charges).ok();
            way.and_then(|way| way.narrowest_shared(usable)).map_or(NONE, |link| link.0)
        };
        // What hosts share hangs on the first of them.
        let mut of_host: Vec<u32> = platform.host_ids().map(lane).collect();
        for host in platform.host_ids() {
            of_host[host.index()] = of_host[platform.place_of(host).index()];
        }
        if of_host.iter().all(|&link| link == NONE) {
            return None;
        }
        let rate = platform.links().iter().map(|link| charges.usable(link)).collect();
        Some(Lanes { origin, of_host, rate })
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
}

/// Inputs of unfinished tasks that do not lie everywhere, task by task.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Staged {
    start: Vec<u32>,
    files: Vec<FileId>,
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
        }
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
        &self.files[self.start[task.index()] as usize..self.start[task.index() + 1] as usize]
    }
}

/// Transfers of inputs planned so far.
#[derive(Clone, Debug)]
pub struct Staging<'a, 'p> {
    problem: &'a Problem<'p>,
    /// When each link has carried what it was given.
    free: Vec<f64>,
    /// Per file: the places it was sent to and when it arrives.
    sent: Vec<Vec<(HostId, f64)>>,
    transfers: Vec<PlannedTransfer>,
    /// Per host, for one look at all of them.
    ready: Vec<f64>,
}

/// The transfer of an input that would be made.
struct Move {
    from: HostId,
    link: Option<LinkId>,
    start: f64,
    finish: f64,
    /// When its link would be free again.
    free: f64,
}

impl<'a, 'p> Staging<'a, 'p> {
    /// Nothing on its way; none where the inputs of all unfinished tasks lie everywhere.
    pub fn new(problem: &'a Problem<'p>) -> Option<Self> {
        if !problem.staged.any() {
            return None;
        }
        let queues = problem.lanes.is_some();
        let links = if queues { problem.platform().links().len() } else { 0 };
        Some(Staging {
            problem,
            free: vec![problem.state().now; links],
            sent: vec![Vec::new(); problem.workflow().file_count()],
            transfers: Vec::new(),
            ready: Vec::new(),
        })
    }

    /// When the inputs of a task would be on a host if they were sent for now.
    pub fn ready_on(&self, task: TaskId, host: HostId) -> f64 {
        let mut latest = 0.0f64;
        let mut behind = None;
        for &file in self.problem.staged_inputs(task) {
            let (arrival, free) = self.arrival(file, host, behind);
            latest = latest.max(arrival);
            behind = free.or(behind);
        }
        latest
    }

    /// The same for every host.
    pub fn ready(&mut self, task: TaskId) -> &[f64] {
        let mut ready = std::mem::take(&mut self.ready);
        let hosts = self.problem.platform().host_ids();
        ready.clear();
        match self.problem.staged_inputs(task) {
            [] => ready.resize(hosts.len(), 0.0),
            _ => ready.extend(hosts.map(|host| self.ready_on(task, host))),
        }
        self.ready = ready;
        &self.ready
    }

    /// Arrival of a file on a host and, where it has to be sent, when its lane is free again;
    /// `behind` is that date after what was asked for before.
    fn arrival(&self, file: FileId, host: HostId, behind: Option<f64>) -> (f64, Option<f64>) {
        let place = self.problem.platform().place_of(host);
        if let Some(&(_, at)) = self.sent[file.index()].iter().find(|(to, _)| *to == place) {
            return (at, None);
        }
        let planned = self.plan(file, host, behind);
        (planned.finish, planned.link.map(|_| planned.free))
    }

    /// The quickest way to bring a file to a host.
    fn plan(&self, file: FileId, host: HostId, behind: Option<f64>) -> Move {
        let problem = self.problem;
        let bytes = problem.workflow().file_bytes(file);
        let lanes = problem.lanes.as_deref();
        let lane = lanes.and_then(|lanes| Some((lanes, lanes.lane(host)?)));
        let nowhere = (host, None, f64::INFINITY, f64::INFINITY, f64::INFINITY);
        let mut best = nowhere;
        for copy in problem.state().copies_of(file) {
            let mut start = copy.at.max(problem.state().now);
            let seconds = problem.transfer(bytes, copy.host, host);
            let queue = lane.filter(|(lanes, _)| lanes.origin == copy.host && seconds > 0.0);
            let mut free = start;
            if let Some((lanes, link)) = queue {
                start = start.max(behind.unwrap_or(0.0)).max(self.free[link.index()]);
                free = start + bytes / lanes.rate(link);
            }
            if start + seconds < best.3 {
                best = (copy.host, queue.map(|(_, link)| link), start, start + seconds, free);
            }
        }
        let (from, link, start, finish, free) = best;
        Move { from, link, start, finish, free }
    }

    /// Sends the inputs of a task to a host; gives the date they are all there.
    pub fn send(&mut self, task: TaskId, host: HostId) -> f64 {
        let inputs = self.problem.staged_inputs(task).iter();
        inputs.map(|&file| self.send_file(file, host)).fold(0.0, f64::max)
    }

    /// The same to the processors of a task, in blocks, and as if alone, where they are at several
    /// places.
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
        if let Some(&(_, at)) = self.sent[file.index()].iter().find(|(to, _)| *to == place) {
            return at;
        }
        let Move { from, link, start, finish, free } = self.plan(file, host, None);
        if !finish.is_finite() {
            return finish;
        }
        if let Some(link) = link {
            self.free[link.index()] = free;
        }
        self.sent[file.index()].push((place, finish));
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
