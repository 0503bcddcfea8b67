//! Input of a sweep's plan: clusters behind one link each, and the expected times and sizes there.

use super::ways::{Way, Ways};
use crate::registry::PlanError;
use slackline_model::platform::{Network, Profile, RouteCache};
use slackline_model::{
    FileId, HostId, LinkId, Platform, Problem, ProcId, TaskId, Workflow, approx,
};
use std::collections::HashMap;
use std::sync::Arc;

/// Processors that share their storage, behind one link to the origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// A host of it: where files are brought.
    pub gate: HostId,
    /// Its processors, in rising order.
    pub procs: Vec<ProcId>,
    /// The link, where there is one.
    pub link: Option<LinkId>,
    /// Seconds before the first byte.
    pub latency: f64,
    /// Bytes/s; 0 where nothing gets through, infinite where all files are there.
    pub bandwidth: f64,
}

/// Function that returns the seconds of a task on a kind of processor.
type Seconds<'a> = Box<dyn Fn(TaskId, usize) -> f64 + Sync + 'a>;

/// No other task reads it.
const PRIVATE: u32 = u32::MAX;
/// No task that has still to begin reads it.
const UNUSED: u32 = u32::MAX - 1;

/// Clusters, tasks and files over which a chart is made.
pub struct Ground<'a> {
    /// Nothing begins before.
    pub now: f64,
    /// The clusters.
    pub clusters: Vec<Cluster>,
    /// Completion counts to the end of the computation, not to the return of its output.
    pub until_computed: bool,
    workflow: &'a Workflow,
    /// Per processor, those that belong to no cluster included: its kind. Processors of one kind are
    /// interchangeable.
    kinds: Vec<u32>,
    seconds: Seconds<'a>,
    /// Per task: the inputs that have to be there, the most used ones first.
    inputs: Rows<FileId>,
    /// Per file: its number among those that several tasks read, or why it has none.
    shared: Vec<u32>,
    shared_count: usize,
    /// Per task: what has to be sent back.
    outputs: Rows<FileId>,
    /// Per file: how large it is expected to be.
    bytes: Vec<f64>,
    release: Vec<f64>,
    /// Links other than those of the clusters.
    pub ways: Ways,
    /// Per cluster: bytes that its storage holds; empty where none is bounded.
    pub capacity: Vec<f64>,
}

/// Lists of lists, flat.
struct Rows<T> {
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T> Rows<T> {
    fn of<R: IntoIterator<Item = T>>(rows: impl Iterator<Item = R>) -> Rows<T> {
        let (mut starts, mut items) = (vec![0], Vec::new());
        for row in rows {
            items.extend(row);
            starts.push(items.len() as u32);
        }
        Rows { starts, items }
    }

    fn row(&self, index: usize) -> &[T] {
        &self.items[self.starts[index] as usize..self.starts[index + 1] as usize]
    }
}

impl<'a> Ground<'a> {
    /// A workflow over clusters. `kinds` groups interchangeable processors; `is_open` selects the tasks that
    /// have not begun, which alone count as users of a file.
    pub fn new(
        workflow: &'a Workflow,
        clusters: Vec<Cluster>,
        kinds: Vec<u32>,
        is_open: impl Fn(TaskId) -> bool,
        seconds: impl Fn(TaskId, usize) -> f64 + Sync + 'a,
    ) -> Ground<'a> {
        // Where nothing has to be brought nothing has to be sent back.
        let brought = clusters.iter().any(|c| c.bandwidth < f64::INFINITY);
        let usage: Vec<usize> = workflow
            .files()
            .map(|file| workflow.consumers(file).filter(|&t| is_open(t)).count())
            .collect();
        let inputs = workflow.tasks().map(|task| {
            let mut files: Vec<FileId> = Vec::new();
            if brought && is_open(task) {
                files.extend(workflow.inputs(task));
                files.sort_by_key(|&f| (std::cmp::Reverse(usage[f.index()]), f));
                files.dedup();
            }
            files
        });
        let mut shared_count = 0;
        let number = |&usage: &usize| match usage {
            0 => UNUSED,
            1 => PRIVATE,
            _ => {
                shared_count += 1;
                shared_count as u32 - 1
            }
        };
        let shared = usage.iter().map(number).collect();
        let outputs = workflow.tasks().map(|task| {
            let last = |f: &FileId| brought && workflow.consumers(*f).len() == 0;
            workflow.outputs(task).filter(last)
        });
        Ground {
            now: 0.0,
            clusters,
            kinds,
            until_computed: false,
            seconds: Box::new(seconds),
            inputs: Rows::of(inputs),
            shared,
            shared_count,
            outputs: Rows::of(outputs),
            bytes: workflow.files().map(|f| workflow.file_bytes(f)).collect(),
            release: Vec::new(),
            ways: Ways::default(),
            capacity: Vec::new(),
            workflow,
        }
    }

    /// The workflow.
    pub fn workflow(&self) -> &'a Workflow {
        self.workflow
    }

    /// Another size is expected of a file.
    pub fn expect_bytes(&mut self, file: FileId, bytes: f64) {
        self.bytes[file.index()] = bytes;
    }

    /// Treats all inputs as present everywhere: none has to be brought.
    pub fn leave_inputs(&mut self) {
        self.inputs = Rows::of(self.workflow.tasks().map(|_| []));
    }

    /// The inputs of a task, the most used ones first.
    #[inline]
    pub fn inputs(&self, task: TaskId) -> &[FileId] {
        self.inputs.row(task.index())
    }

    /// The outputs of a task that are sent back.
    #[inline]
    pub fn outputs(&self, task: TaskId) -> &[FileId] {
        self.outputs.row(task.index())
    }

    /// Seconds that a computation is expected to take.
    #[inline]
    pub fn seconds(&self, task: TaskId, proc: ProcId) -> f64 {
        self.seconds_on(task, self.kind(proc))
    }

    /// Seconds of a task on processors of a kind.
    #[inline]
    pub(super) fn seconds_on(&self, task: TaskId, kind: usize) -> f64 {
        (self.seconds)(task, kind)
    }

    /// The kind of a processor.
    #[inline]
    pub(super) fn kind(&self, proc: ProcId) -> usize {
        self.kinds[proc.index()] as usize
    }

    /// Number of processors, those that belong to no cluster included.
    pub(super) fn procs(&self) -> usize {
        self.kinds.len()
    }

    /// The number of a file among those that several tasks have still to read.
    #[inline]
    pub(super) fn shared(&self, file: FileId) -> Option<usize> {
        Some(self.shared[file.index()]).filter(|&n| n < UNUSED).map(|n| n as usize)
    }

    /// Number of such files.
    pub(super) fn shared_count(&self) -> usize {
        self.shared_count
    }

    /// Whether a task that has not begun reads it.
    pub fn is_used(&self, file: FileId) -> bool {
        self.shared[file.index()] != UNUSED
    }

    /// Seconds for which a file holds the link of a cluster.
    #[inline]
    pub fn transfer_seconds(&self, file: FileId, cluster: usize) -> f64 {
        let Cluster { latency, bandwidth, .. } = self.clusters[cluster];
        Way { line: Some(cluster), latency, bandwidth }.seconds(self.bytes[file.index()])
    }

    /// Expected size of a file in bytes.
    #[inline]
    pub fn bytes(&self, file: FileId) -> f64 {
        self.bytes[file.index()]
    }

    /// The way by which the outputs of a cluster leave it.
    #[inline]
    pub fn way_back(&self, cluster: usize) -> Way {
        match self.ways.back.get(cluster) {
            Some(&way) => way,
            None => {
                let Cluster { latency, bandwidth, .. } = self.clusters[cluster];
                Way { line: Some(cluster), latency, bandwidth }
            }
        }
    }

    /// Whether all that a task reads and writes fits into the storage of a cluster.
    pub(super) fn fits(&self, task: TaskId, cluster: usize) -> bool {
        let Some(&room) = self.capacity.get(cluster) else { return true };
        let files = self.inputs(task).iter().chain(self.outputs(task));
        approx::le(files.map(|f| self.bytes[f.index()]).sum(), room)
    }

    /// Before when a task must not begin.
    #[inline]
    pub fn release(&self, task: TaskId) -> f64 {
        self.release.get(task.index()).copied().unwrap_or(0.0).max(self.now)
    }

    /// No transfer over the link of a cluster is shorter.
    pub(super) fn shortest_transfer(&self, cluster: usize) -> f64 {
        let least = self.bytes.iter().copied().fold(f64::INFINITY, f64::min);
        let cluster = &self.clusters[cluster];
        if least.is_finite() && cluster.bandwidth > 0.0 {
            cluster.latency + least / cluster.bandwidth
        } else {
            0.0
        }
    }

    /// A planning problem, its links at the levels of its present date.
    pub fn of(problem: &'a Problem<'_>, method: &'static str) -> Result<Ground<'a>, PlanError> {
        let unsupported = |why: String| PlanError::Unsupported { algorithm: method, why };
        let (workflow, platform) = (problem.workflow(), problem.platform());
        let state = problem.state();
        if workflow.edge_count() > 0 {
            return Err(unsupported("it has dependencies, a sweep has none".into()));
        }
        if let Some(wide) = workflow.tasks().find(|&t| workflow.width(t).0 > 1) {
            let name = workflow.task_name(wide);
            return Err(unsupported(format!("task '{name}' needs several processors")));
        }
        let clusters = clusters(platform, state.now).map_err(unsupported)?;
        let kinds = kinds(problem);
        let seconds = move |task: TaskId, kind: usize| problem.exec(task, kind);
        let is_open = |task: TaskId| state.fixed(task).is_none();
        let capacity = capacities(platform, &clusters);
        let mut ground = Ground::new(workflow, clusters, kinds, is_open, seconds);
        ground.capacity = capacity;
        ground.now = state.now;
        ground.release.clone_from(&state.release);
        if !state.inputs_listed {
            ground.leave_inputs();
        }
        Ok(ground)
    }
}

/// Per processor: its cost class.
pub fn kinds(problem: &Problem<'_>) -> Vec<u32> {
    problem.proc_ids().map(|proc| problem.class_of(proc) as u32).collect()
}

/// The clusters of a platform with its links at a date: the places that computing hosts belong to, in the order
/// of their zones, each with the link that leads there from the origin. Without an origin all hosts form one
/// cluster that has all files.
pub fn clusters(platform: &Platform, date: f64) -> Result<Vec<Cluster>, String> {
    let mut first_proc = 0u32;
    let mut clusters: Vec<Cluster> = Vec::new();
    let mut known: HashMap<HostId, usize> = HashMap::new();
    let mut routes = RouteCache::new();
    for host in platform.host_ids() {
        let procs = first_proc..first_proc + platform.host(host).cores;
        first_proc = procs.end;
        if procs.is_empty() {
            continue;
        }
        let place = match platform.origin() {
            Some(_) => platform.place_of(host),
            None => HostId(0),
        };
        let index = match known.get(&place) {
            Some(&index) => index,
            None => {
                clusters.push(behind_link(platform, &mut routes, host, date)?);
                known.insert(place, clusters.len() - 1);
                clusters.len() - 1
            }
        };
        clusters[index].procs.extend(procs.map(ProcId));
    }
    clusters.sort_by_key(|c| (platform.host(c.gate).zone, c.gate));
    Ok(clusters)
}

fn behind_link(
    platform: &Platform,
    routes: &mut RouteCache,
    gate: HostId,
    date: f64,
) -> Result<Cluster, String> {
    let mut cluster =
        Cluster { gate, procs: Vec::new(), link: None, latency: 0.0, bandwidth: f64::INFINITY };
    let Some(origin) = platform.origin() else { return Ok(cluster) };
    if platform.place_of(gate) == platform.place_of(origin) {
        return Ok(cluster);
    }
    let name = &platform.host(gate).name;
    if matches!(platform.network(), Network::Matrix(_)) {
        return Err(format!("no link leads to '{name}'; a sweep needs one link per cluster"));
    }
    let Ok(route) = routes.route_once(platform, origin, gate) else {
        cluster.bandwidth = 0.0;
        return Ok(cluster);
    };
    let &[link] = route.links else {
        return Err(format!(
            "'{name}' is {} links away from the origin; a sweep needs one link per cluster",
            route.links.len()
        ));
    };
    cluster.link = Some(link);
    (cluster.latency, cluster.bandwidth) = levels(platform, link, date);
    Ok(cluster)
}

/// Latency and bandwidth of a link at a date; no bandwidth where it is off.
pub(super) fn levels(platform: &Platform, link: LinkId, date: f64) -> (f64, f64) {
    let stated = platform.link(link);
    let at = |profile: &Option<Arc<Profile>>| profile.as_ref().and_then(|p| p.value_at(date));
    let is_off = at(&stated.state).is_some_and(|on| on <= 0.0);
    let bandwidth = at(&stated.bandwidth_profile).unwrap_or(stated.bandwidth);
    let latency = at(&stated.latency_profile).unwrap_or(stated.latency);
    (latency, if is_off { 0.0 } else { bandwidth })
}

/// Per cluster: bytes that its storage holds; empty where none is bounded.
pub fn capacities(platform: &Platform, clusters: &[Cluster]) -> Vec<f64> {
    let room = |c: &Cluster| platform.storage_of(c.gate).unwrap_or(f64::INFINITY);
    let all: Vec<f64> = clusters.iter().map(room).collect();
    if all.iter().all(|&room| room == f64::INFINITY) { Vec::new() } else { all }
}
