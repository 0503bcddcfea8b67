//! The live state of an execution, as far as it is known.

use crate::data_location::Holders;
use crate::learned::LearnedFigures;
use crate::policy::Plan;
use crate::task_states::TaskStates;
use slackline_model::platform::{Charges, Contention, PlanningNetwork};
use slackline_model::problem::{DataCopy, Inputs, Lanes, PoolId, Pools, State, Stay, View};
use slackline_model::schedule::Lease;
use slackline_model::{
    EdgeId, FileId, HostId, Placement, Platform, Problem, ProblemError, ProcId, Procs, TaskId,
    Terms, Workflow,
};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// State of a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum TaskState {
    /// Nothing of it has begun.
    #[default]
    Waiting,
    /// Its inputs are being gathered at these processors.
    Placed {
        /// Its processors.
        procs: Procs,
    },
    /// It computes.
    Running {
        /// Its processors.
        procs: Procs,
        /// Since when.
        since: f64,
    },
    /// It is done.
    Done(Placement),
}

impl TaskState {
    /// Processors where a task is placed, runs or ran (the papers' Π).
    pub fn procs(&self) -> Option<&[ProcId]> {
        match self {
            TaskState::Waiting => None,
            TaskState::Placed { procs } | TaskState::Running { procs, .. } => Some(procs),
            TaskState::Done(placement) => Some(placement.procs()),
        }
    }

    /// Whether it is done.
    pub fn is_done(&self) -> bool {
        matches!(self, TaskState::Done(_))
    }
}

/// A file, or the part of it that has arrived, at its holders.
#[derive(Clone, Debug, PartialEq)]
pub struct FileCopy {
    /// Location of the copy.
    pub holders: Holders,
    /// Source of the copy; none where it was made or lay from the start.
    pub from: Option<Holders>,
    /// Received share; 1 when complete (the papers' κd).
    pub fraction: f64,
    /// The number of the transfer that brings it: those that wait for a link pass in this order.
    pub turn: u64,
}

/// One of the workflows that have arrived so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrived {
    /// Its name.
    pub name: String,
    /// When.
    pub at: f64,
    /// Owner and limits.
    pub terms: Terms,
    /// Reason why nothing more of it will start, where it was given up.
    pub abandoned: Option<String>,
}

impl FileCopy {
    /// A complete copy that was made there or lay there from the start.
    pub fn original(holders: impl Into<Holders>) -> FileCopy {
        FileCopy { holders: holders.into(), from: None, fraction: 1.0, turn: 0 }
    }

    /// A complete copy that was brought there.
    pub fn brought(holders: impl Into<Holders>, from: impl Into<Holders>) -> FileCopy {
        FileCopy { from: Some(from.into()), ..FileCopy::original(holders) }
    }

    /// Whether it can be read and sent on.
    pub fn is_complete(&self) -> bool {
        self.fraction >= 1.0
    }
}

/// State of a run as a policy sees it: task states, copies of files, the platform as last observed.
#[derive(Clone, Debug)]
pub struct Situation {
    /// The present date.
    pub now: f64,
    /// The tasks that are known, with *estimated* costs.
    pub workflow: Arc<Workflow>,
    /// The workflows that have arrived, in order; all their tasks are in `workflow`.
    pub arrived: Vec<Arrived>,
    /// Per task: the workflow it belongs to, an index of `arrived`.
    pub part_of: Vec<u32>,
    /// The platform at its peak.
    pub platform: Arc<Platform>,
    /// Per processor: its host.
    pub host_of: Arc<[HostId]>,
    /// The platform as last observed.
    pub view: View,
    /// Per task; [`Situation::set_task`] changes them.
    pub tasks: TaskStates,
    /// Per task: the computed share of a running task as last observed (the papers' κc).
    pub progress: Vec<f64>,
    /// Per file.
    pub copies: Vec<Vec<FileCopy>>,
    /// Locations of the workflows' inputs at the start; given by `copies` where not everywhere.
    pub inputs: Inputs,
    /// The network at its peak, as it is charged for.
    pub peak_network: Arc<PlanningNetwork>,
    /// Sharing of links among concurrent transfers.
    pub contention: Contention,
    /// The links on which inputs queue when they leave the origin.
    pub lanes: Option<Arc<Lanes>>,
    /// A transfer counts as begun when its file was made, wherever it is wanted later.
    pub anticipated: bool,
    /// Seconds that a decision takes.
    pub decision_seconds: f64,
    /// Files lie on a store: a task reads its inputs from there, one after the other, while it
    /// holds its processor.
    pub central: bool,
    /// Per host: known to be gone. One whose availability is 0 is only stopped: what is on it
    /// can be read.
    pub lost: Vec<bool>,
    /// Rewound tasks that are not done again: where and when they were done before.
    pub earlier: BTreeMap<TaskId, Placement>,
    /// The leases so far; open ones run, or are ordered and expected at their begin.
    pub leases: Vec<Lease>,
    /// Tasks that failed by themselves, and where: they are to be tried elsewhere first.
    pub avoid: BTreeMap<TaskId, Vec<HostId>>,
    /// Estimates learnt so far.
    pub taught: LearnedFigures,
    /// Pools that concurrent tasks share in addition to cores.
    pub pools: Arc<Pools>,
    /// Per pool: what is held of it now, by tasks that were told to begin, run, or are being stopped.
    pub held: Vec<u64>,
    /// Hosts that are served for a limited time.
    pub stays: BTreeMap<HostId, Stay>,
}

impl Situation {
    /// Before anything has happened, with inputs everywhere and the network as stated.
    pub fn new(workflow: Arc<Workflow>, platform: Arc<Platform>) -> Situation {
        Situation::charged(workflow, platform, &Charges::default(), Inputs::Everywhere)
    }

    /// The same with the network as a model charges for it, and inputs where they lie. What is
    /// where is left to say.
    pub fn charged(
        workflow: Arc<Workflow>,
        platform: Arc<Platform>,
        charges: &Charges,
        inputs: Inputs,
    ) -> Situation {
        let network = platform.charged_network(charges);
        let lanes = match inputs {
            Inputs::At(origin) => Lanes::new(&platform, origin, charges).map(Arc::new),
            Inputs::Everywhere => None,
        };
        let peak_network = Arc::new(network.clone());
        let view = View { availability: vec![1.0; platform.hosts().len()], network };
        let pools = Arc::new(Pools::new(&workflow, &platform));
        Situation {
            held: vec![0; pools.all().len()],
            pools,
            stays: BTreeMap::new(),
            now: 0.0,
            arrived: vec![Arrived {
                name: workflow.name().to_string(),
                at: 0.0,
                terms: Terms::default(),
                abandoned: None,
            }],
            part_of: vec![0; workflow.len()],
            host_of: platform.host_of_procs().collect(),
            view,
            tasks: TaskStates::new(&workflow),
            progress: vec![0.0; workflow.len()],
            copies: vec![Vec::new(); workflow.file_count()],
            inputs,
            peak_network,
            contention: charges.contention_on(&platform),
            lanes,
            anticipated: false,
            decision_seconds: 0.0,
            central: false,
            lost: vec![false; platform.hosts().len()],
            earlier: BTreeMap::new(),
            avoid: BTreeMap::new(),
            leases: Vec::new(),
            taught: LearnedFigures::default(),
            workflow,
            platform,
        }
    }

    /// State of a task.
    pub fn task(&self, task: TaskId) -> &TaskState {
        &self.tasks[task.index()]
    }

    /// A task is this far from now on.
    pub fn set_task(&mut self, task: TaskId, state: TaskState) {
        self.tasks.set(&self.workflow, task, state);
    }

    /// More work is known: what was known keeps its numbers. New tasks belong to the workflow that
    /// arrived as `part`.
    pub fn grow(&mut self, workflow: Arc<Workflow>, part: u32) {
        self.workflow = workflow;
        self.take_in(part);
    }

    /// A further workflow arrives now.
    pub fn add_workflow(&mut self, workflow: &Workflow, name: &str, terms: Terms) {
        let (name, at) = (name.to_string(), self.now);
        Arc::make_mut(&mut self.workflow).add_member(workflow, &name);
        self.arrived.push(Arrived { name, at, terms, abandoned: None });
        self.take_in(self.arrived.len() as u32 - 1);
    }

    fn take_in(&mut self, part: u32) {
        let (tasks, files) = (self.workflow.len(), self.workflow.file_count());
        self.count_pools();
        self.tasks.grow(&self.workflow);
        self.progress.resize(tasks, 0.0);
        self.part_of.resize(tasks, part);
        self.copies.resize(files, Vec::new());
    }

    /// Finds the pools of what is known now. Their numbers change: whoever keeps account of them counts again.
    pub fn count_pools(&mut self) {
        let mut pools = Pools::new(&self.workflow, &self.platform);
        self.stays.iter().for_each(|(host, stay)| pools.set_stay(*host, Some(*stay)));
        self.held = vec![0; pools.all().len()];
        self.pools = Arc::new(pools);
    }

    /// A host is served for another time, or for an unlimited one.
    pub fn set_stay(&mut self, host: HostId, stay: Option<Stay>) {
        match stay {
            Some(stay) => self.stays.insert(host, stay),
            None => self.stays.remove(&host),
        };
        Arc::make_mut(&mut self.pools).set_stay(host, stay);
    }

    /// Per host: whether something runs there, or is to by a plan.
    pub fn hosts_in_use(&self, plan: &Plan) -> Vec<bool> {
        let mut used = vec![false; self.platform.hosts().len()];
        let assigned = plan.assignments.iter().flat_map(|a| a.procs.iter());
        let running = self.tasks.begun().filter_map(|t| self.task(t).procs()).flatten();
        assigned.chain(running).for_each(|p| used[self.host_of[p.index()].index()] = true);
        used
    }

    /// Whether a task that is not done reads a file.
    pub fn is_needed(&self, file: FileId) -> bool {
        self.tasks.is_read(file)
    }

    /// Whether all tasks on which a task depends are done.
    pub fn parents_done(&self, task: TaskId) -> bool {
        self.workflow.predecessors(task).all(|(p, _)| self.task(p).is_done())
    }

    /// Whether a task has not begun and could: not one that was abandoned after its last failure, nor
    /// one in the pause before its next attempt.
    pub fn is_ready(&self, task: TaskId) -> bool {
        matches!(self.task(task), TaskState::Waiting)
            && self.parents_done(task)
            && !self.tasks.cannot_run(task)
            && !self.tasks.awaits_retry(task)
    }

    /// Whether a task is not done and will run, as far as is known.
    pub fn is_to_run(&self, task: TaskId) -> bool {
        !self.task(task).is_done() && !self.tasks.cannot_run(task)
    }

    /// Whether a host is there, as far as is known: what is on it can be read.
    pub fn is_alive(&self, host: HostId) -> bool {
        self.lost.get(host.index()).is_some_and(|&lost| !lost)
    }

    /// Whether a host is there and has any speed.
    pub fn computes(&self, host: HostId) -> bool {
        self.is_alive(host) && self.view.availability[host.index()] > 0.0
    }

    /// Whether a host alone has the cores and, empty, all else that a task demands.
    pub fn fits(&self, task: TaskId, host: HostId) -> bool {
        self.pools.fits(&self.workflow, &self.platform, task, host)
    }

    /// Whether a host is inside one of its windows, if it has any.
    pub fn is_open(&self, host: HostId) -> bool {
        self.pools.in_window(host, self.now, 0.0) <= self.now
    }

    /// Pools and amounts a task holds on some processors.
    pub fn uses(&self, task: TaskId, procs: &[ProcId]) -> Vec<(PoolId, u64)> {
        self.pools.uses(&self.workflow, task, procs, |proc| self.host_of[proc.index()])
    }

    /// Whether a task failed on a host, while there are others that it could run on.
    pub fn shuns(&self, task: TaskId, host: HostId) -> bool {
        self.avoid.get(&task).is_some_and(|failed_on| {
            let mut hosts = self.platform.host_ids();
            failed_on.contains(&host)
                && hosts.any(|h| !failed_on.contains(&h) && self.computes(h) && self.fits(task, h))
        })
    }

    /// Former processors of a rewound task, if all it wrote for others is there again.
    pub fn restorable(&self, task: TaskId) -> Option<&Placement> {
        let earlier = self.earlier.get(&task)?;
        let there = |f: FileId| self.sources(f).next().is_some();
        self.workflow.outputs(task).filter(|&f| self.is_needed(f)).all(there).then_some(earlier)
    }

    /// The host of the first of some processors.
    pub fn host(&self, procs: &[ProcId]) -> HostId {
        procs.first().map_or(HostId(0), |p| self.host_of[p.index()])
    }

    /// The place for data of a host; see [`Platform::place_of`].
    #[inline]
    pub fn place_of(&self, host: HostId) -> HostId {
        self.platform.place_of(host)
    }

    /// The holders of what is with some processors: the places of their hosts.
    pub fn holders_of(&self, procs: &[ProcId]) -> Holders {
        let place = |p: &ProcId| self.place_of(self.host_of[p.index()]);
        match procs {
            [one] => Holders::Host(place(one)),
            _ => Holders::of_hosts(procs.iter().map(place)),
        }
    }

    /// A host of a place, given by any of them, that can be used: that one if it can.
    pub fn living_host(&self, host: HostId) -> Option<HostId> {
        if self.is_alive(host) {
            return Some(host);
        }
        if !self.platform.shares_storage() {
            return None;
        }
        self.platform.hosts_of_place(host).into_iter().find(|&h| self.is_alive(h))
    }

    /// Whether all places of the holders can be used.
    pub fn is_reachable(&self, holders: &Holders) -> bool {
        holders.hosts().iter().all(|&h| self.living_host(h).is_some())
    }

    /// Whether inputs of the workflow lie on every host.
    pub fn inputs_everywhere(&self) -> bool {
        self.inputs == Inputs::Everywhere
    }

    /// The copy, complete or not, of a file at the place of a host.
    pub fn copy(&self, file: FileId, host: HostId) -> Option<&FileCopy> {
        let place = self.place_of(host);
        self.copies[file.index()].iter().find(|c| c.holders.is(place))
    }

    /// Whether a task on this host could read the file.
    pub fn has(&self, file: FileId, host: HostId) -> bool {
        self.lies_everywhere(file) || self.copy(file, host).is_some_and(FileCopy::is_complete)
    }

    /// Whether a task there could read the file.
    pub fn has_at(&self, file: FileId, holders: &Holders) -> bool {
        let mut copies = self.copies[file.index()].iter();
        self.lies_everywhere(file)
            || copies
                .any(|c| c.holders == *holders && c.is_complete() && self.was_received(file, c))
    }

    /// Whether a copy has arrived where its readers need it; where data that stay on their hosts are charged for, a
    /// task's own outputs have to come to its readers there as well.
    fn was_received(&self, file: FileId, copy: &FileCopy) -> bool {
        let made = copy.from.is_none() && self.workflow.producer(file).is_some();
        !(made && self.charges_local())
    }

    /// Whether data that stay on their hosts are charged for.
    pub fn charges_local(&self) -> bool {
        !self.view.network.local.is_empty()
    }

    fn lies_everywhere(&self, file: FileId) -> bool {
        self.inputs_everywhere() && self.workflow.producer(file).is_none()
    }

    /// The hosts that hold all of a file, one for each place, from which it could be fetched.
    pub fn holders(&self, file: FileId) -> impl Iterator<Item = HostId> + '_ {
        let complete = self.copies[file.index()].iter().filter(|c| c.is_complete());
        complete.filter_map(|c| self.living_host(c.holders.host()?))
    }

    /// Those that hold all of a file, from which it could be fetched.
    pub fn sources(&self, file: FileId) -> impl Iterator<Item = &Holders> + '_ {
        let complete = self.copies[file.index()].iter().filter(|c| c.is_complete());
        complete.map(|c| &c.holders).filter(|s| self.is_reachable(s))
    }

    /// When a file that exists was made: when its producer ended, or its workflow arrived.
    pub fn made_at(&self, file: FileId) -> f64 {
        let part = |task: TaskId| self.part_of[task.index()] as usize;
        match self.workflow.producer(file).map(|p| self.task(p)) {
            Some(TaskState::Done(placement)) => placement.finish,
            Some(_) => self.now,
            None => {
                let reader = self.workflow.consumers(file).next();
                reader.map_or(0.0, |t| self.arrived[part(t)].at)
            }
        }
    }

    /// The hosts where a file was made or lay from the start.
    fn origins(&self, file: FileId) -> impl Iterator<Item = HostId> + '_ {
        let made = self.copies[file.index()].iter().filter(|c| c.from.is_none());
        made.filter_map(|c| c.holders.host()).filter(|&h| self.is_alive(h))
    }

    /// Whether all tasks are done.
    pub fn is_finished(&self) -> bool {
        self.tasks.done() == self.tasks.len()
    }

    /// The whole workflow on the platform at its peak, nothing done: what an initial plan is
    /// made from.
    pub fn nominal_problem(&self) -> Result<Problem<'_>, ProblemError> {
        let levels: Vec<f64> = self.platform.hosts().iter().map(|host| host.level()).collect();
        let network = Cow::Borrowed(&*self.peak_network);
        let pools = self.pools.clone();
        let problem = Problem::with_pools(&self.workflow, &self.platform, &levels, network, pools)?;
        let state = State::at_start(&self.workflow, self.inputs);
        problem.with_lanes(self.lanes.clone()).with_state(state)
    }

    /// The whole workflow on the platform as last observed, nothing done.
    pub fn seen_problem(&self) -> Result<Problem<'_>, ProblemError> {
        let View { availability, network } = &self.view;
        let (network, pools) = (Cow::Borrowed(network), self.pools.clone());
        Problem::with_pools(&self.workflow, &self.platform, availability, network, pools)
    }

    /// Seconds for which a task holds its processor before it computes: with a store it reads its
    /// inputs first, one after the other, at mean latency and bandwidth.
    pub fn reading_seconds(&self, problem: &Problem<'_>, task: TaskId) -> f64 {
        if !self.central {
            return 0.0;
        }
        let all = self.workflow.inputs(task).map(|f| self.workflow.file_bytes(f));
        all.map(|bytes| problem.mean_transfer(bytes)).sum()
    }

    /// The unfinished rest on the platform as last observed. Running tasks are expected to end
    /// after their remaining work; hosts that are gone are never available.
    pub fn problem(&self) -> Result<Problem<'_>, ProblemError> {
        self.problem_after(&[])
    }

    /// The same once the given finished tasks have been rewound.
    pub fn problem_after(&self, rewound: &[TaskId]) -> Result<Problem<'_>, ProblemError> {
        let again: BTreeSet<TaskId> = rewound.iter().copied().collect();
        let problem = self.seen_problem()?;
        let fixed = |t: TaskId| if again.contains(&t) { None } else { self.fixed(&problem, t) };
        let state = State {
            now: self.now,
            fixed: self.workflow.tasks().map(fixed).collect(),
            available: problem
                .proc_ids()
                .map(|p| if self.is_alive(problem.host_of(p)) { self.now } else { f64::INFINITY })
                .collect(),
            release: Vec::new(),
            copies: self.data_copies(&again),
            inputs_listed: !self.inputs_everywhere(),
            leases: self.leases.clone(),
        };
        problem.with_lanes(self.lanes.clone()).with_state(state)
    }

    /// Seconds until a machine can compute, where it has to be leased first.
    pub fn seconds_to_lease(&self, host: HostId) -> f64 {
        let class = self.platform.class(self.platform.host(host).class);
        if !class.leasable {
            return 0.0;
        }
        let open = self.leases.iter().find(|l| l.host == host && l.is_open());
        open.map_or(class.billing.setup, |lease| (lease.from - self.now).max(0.0))
    }

    fn fixed(&self, problem: &Problem<'_>, task: TaskId) -> Option<Placement> {
        match self.task(task) {
            TaskState::Done(placement) => Some(placement.clone()),
            TaskState::Running { procs, since } => {
                let first = procs.first().copied().unwrap_or(ProcId(0));
                let whole = problem.exec_wide(task, problem.class_of(first), procs.len() as u32);
                let rest = whole * (1.0 - self.progress[task.index()]);
                Some(Placement::wide(procs, *since, self.now + rest.max(0.0)))
            }
            _ => None,
        }
    }

    /// Locations, present and future, of files that unfinished tasks will read: inputs of the workflow, and results
    /// away from the hosts of their producers.
    fn data_copies(&self, again: &BTreeSet<TaskId>) -> Vec<DataCopy> {
        let mut found = Vec::new();
        for file in self.workflow.files() {
            let producer = self.workflow.producer(file);
            let made_at = match producer.map(|p| self.task(p)) {
                None if self.inputs_everywhere() => continue,
                None => Holders::of_hosts([]),
                Some(TaskState::Done(placement)) => self.holders_of(placement.procs()),
                Some(_) => continue,
            };
            let redone = |reader: TaskId| again.contains(&reader);
            if producer.is_some_and(redone)
                || !(self.is_needed(file) || self.workflow.consumers(file).any(redone))
            {
                continue;
            }
            for place in self.copies[file.index()].iter().filter_map(|c| c.holders.host()) {
                let Some(host) = self.living_host(place) else { continue };
                let at = self.now + self.file_seconds(file, host, &Fetch::ANY);
                if !made_at.touches(place) && at.is_finite() {
                    found.push(DataCopy { file, host, at });
                }
            }
        }
        found
    }

    /// Seconds until the data of an edge is on a host, from the best holders, when the transfer
    /// begins or continues now; infinite when no living host has it. `reuse` allows other sources
    /// than the host where the producer ran.
    pub fn fetch_seconds(&self, edge: EdgeId, to: HostId, fetch: &Fetch<'_>) -> f64 {
        let files = self.workflow.edge_files(edge);
        let seconds = files.map(|file| self.file_seconds(file, to, fetch));
        // Anticipated files travel side by side.
        if self.anticipated { seconds.fold(0.0, f64::max) } else { seconds.sum() }
    }

    /// The same for one file.
    pub fn file_seconds(&self, file: FileId, to: HostId, fetch: &Fetch<'_>) -> f64 {
        if self.has(file, to) {
            return 0.0;
        }
        let bytes = self.workflow.file_bytes(file);
        let network = &self.view.network;
        if self.anticipated && self.origins(file).next().is_some() {
            // It has been under way since it was made.
            let seconds = |from| self.made_at(file) + network.transfer_time(bytes, from, to);
            let there = self.origins(file).map(seconds).fold(f64::INFINITY, f64::min);
            return (there - self.now).max(0.0);
        }
        // A transfer under way continues where it is.
        if let Some(copy) = self.copy(file, to)
            && let Some(from) = copy.from.as_ref().and_then(Holders::host)
            && copy.fraction > 0.0
        {
            let whole = network.transfer_time(bytes, from, to);
            let latency = network.transfer_time(0.0, from, to);
            return (whole - latency) * (1.0 - copy.fraction);
        }
        let cost = |from| fetch.startup + network.transfer_time(bytes, from, to);
        let whole = self.holders(file);
        let made_at = |from: HostId| {
            let place = self.place_of(from);
            fetch.producer_hosts.iter().any(|&host| self.place_of(host) == place)
        };
        let whole = whole.filter(|&from| fetch.reuse || made_at(from));
        // What is in blocks over several hosts comes from all of them at once.
        let spread = self.sources(file).filter(|holders| holders.host().is_none());
        let blocks = spread.map(|holders| {
            let hosts = holders.hosts();
            let block = bytes / hosts.len() as f64;
            let times = hosts.iter().map(|&from| network.transfer_time(block, from, to));
            fetch.startup + times.fold(0.0, f64::max)
        });
        whole.map(cost).chain(blocks).fold(f64::INFINITY, f64::min)
    }
}

/// From where an edge may be fetched, for [`Situation::fetch_seconds`].
#[derive(Clone, Copy, Debug)]
pub struct Fetch<'a> {
    /// Seconds between asking and the first byte.
    pub startup: f64,
    /// Any complete copy may serve, not only the producer's.
    pub reuse: bool,
    /// Hosts of the producer.
    pub producer_hosts: &'a [HostId],
}

impl Fetch<'_> {
    /// At once from wherever it is.
    pub const ANY: Fetch<'static> = Fetch { startup: 0.0, reuse: true, producer_hosts: &[] };
}
