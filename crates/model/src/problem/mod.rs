//! A planning problem: a workflow, processors, and *estimates* of all run and transfer times.
//!
//! A processor is one core of a host. Execution times are kept per cost class (machines that are
//! identical to every task), transfer times per pair of host groups, so that a million tasks on a
//! thousand machines need no dense table. What is already done, running or copied is part of the
//! problem: planning the rest of a half-executed workflow is the same call as planning it whole.

mod blocks;
mod costs;
mod data;
mod means;
mod pools;
mod staging;
mod state;
mod stay;

pub use blocks::{Block, blocks};
pub use means::MeanNetwork;
pub use pools::{Pool, PoolId, Pools, Scope, Unit, Unmet};
pub use staging::{Lanes, Staging};
pub use state::{DataCopy, Inputs, State};
pub use stay::Stay;

use crate::ids::{HostId, ProcId, TaskId};
use crate::platform::{Bottlenecks, Charges, Class, Host, PlanningNetwork, Platform};
use crate::workflow::{Payload, Workflow};
use costs::Costs;
pub(crate) use costs::columns_of_hosts;
use staging::Staged;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use thiserror::Error;

/// The reason why a workflow and a platform make no planning problem.
#[derive(Clone, Debug, Error, PartialEq)]
#[allow(missing_docs)] // the messages say it
pub enum ProblemError {
    #[error("the platform has no hosts")]
    NoHosts,
    #[error("task '{task}' fits on no host: {why}")]
    FitsNowhere { task: String, resource: Unmet, why: String },
    #[error(
        "task '{task}' demands '{resource}', which no host, cluster, site or platform has{hint}"
    )]
    UnknownResource { task: String, resource: String, hint: String },
    #[error("task '{task}' demands {asked} of '{resource}', of which the platform has {there}")]
    OtherUnit { task: String, resource: String, asked: &'static str, there: &'static str },
    #[error(
        "the workflow gives run times for {}, none of which is a host, class or cluster of the platform \
         (it has {})", list(.columns), list(.hosts)
    )]
    ColumnsDiffer { columns: Vec<String>, hosts: Vec<String> },
    #[error("host '{host}' has no column in the workflow's table of run times")]
    HostWithoutColumn { host: String },
    #[error(
        "host '{host}' is of architecture '{arch}', for which the workflow gives no run times (it has \
         them for {})", list(.columns)
    )]
    UnknownArchitecture { host: String, arch: String, columns: Vec<String> },
    #[error("the state of the execution does not fit the problem: {why}")]
    BadState { why: String },
    #[error(
        "the workflow '{workflow}' has choices and loops, and what they come to is not known beforehand"
    )]
    Undecided { workflow: String },
}

fn list(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let mut text =
        names.iter().take(SHOWN).map(|n| format!("'{n}'")).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

/// The most recent observation of a platform.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Per host: the share of its peak speed it has now, 0 when it is gone; empty means all at
    /// their peak.
    pub availability: Vec<f64>,
    /// Bandwidths and latencies as they are now.
    pub network: PlanningNetwork,
}

/// A planning problem; see the module's head.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    workflow: &'a Workflow,
    platform: &'a Platform,
    network: Cow<'a, PlanningNetwork>,
    /// By band of sizes.
    mean_network: Vec<MeanNetwork>,
    /// Present if some task can spread over hosts.
    bottlenecks: Option<Bottlenecks>,
    costs: Costs,
    pools: Arc<Pools>,
    host_of: Vec<HostId>,
    group_of: Vec<u32>,
    class_of: Vec<u32>,
    first_proc: Vec<u32>,
    state: State,
    staged: Staged,
    lanes: Option<Arc<Lanes>>,
    /// Per host: when a machine that exists only while leased can be had at the earliest; empty where
    /// none keeps anyone waiting.
    obtainable: Vec<f64>,
}

impl<'a> Problem<'a> {
    /// The whole workflow on all hosts of the platform, nothing executed yet: its inputs on the
    /// platform's origin, where it names one, the network as stated. Hosts and links whose level
    /// never changes count with it; where links serve in turn, all hosts with what they have at
    /// first.
    pub fn new(workflow: &'a Workflow, platform: &'a Platform) -> Result<Self, ProblemError> {
        Problem::charged(workflow, platform, &Charges::default(), Inputs::of(platform))
    }

    /// The whole workflow with every host at its peak and inputs everywhere: the conditions under
    /// which run times are measured.
    pub fn at_peak(workflow: &'a Workflow, platform: &'a Platform) -> Result<Self, ProblemError> {
        let view = View { availability: Vec::new(), network: platform.planning_network() };
        Problem::as_seen(workflow, platform, view)
    }

    /// The whole workflow with the network as a model charges for it, and inputs at the given
    /// hosts.
    pub fn charged(
        workflow: &'a Workflow,
        platform: &'a Platform,
        charges: &Charges,
        inputs: Inputs,
    ) -> Result<Self, ProblemError> {
        let level = |host: &crate::platform::Host| {
            if platform.is_fifo() { host.level_at(0.0) } else { host.level() }
        };
        let availability = platform.hosts().iter().map(level).collect();
        let view = View { availability, network: platform.charged_network(charges) };
        let lanes = match inputs {
            Inputs::At(origin) => Lanes::new(platform, origin, charges).map(Arc::new),
            Inputs::Everywhere => None,
        };
        let problem = Problem::as_seen(workflow, platform, view)?.with_lanes(lanes);
        problem.with_state(State::at_start(workflow, inputs))
    }

    /// The workflow on a platform whose present state differs from its description, with inputs
    /// everywhere until [`with_state`](Self::with_state) says where they are.
    pub fn as_seen(
        workflow: &'a Workflow,
        platform: &'a Platform,
        view: View,
    ) -> Result<Self, ProblemError> {
        Problem::at_levels(workflow, platform, &view.availability, Cow::Owned(view.network))
    }

    /// The workflow on hosts at these levels and on a network that may be borrowed.
    pub fn at_levels(
        workflow: &'a Workflow,
        platform: &'a Platform,
        availability: &[f64],
        network: Cow<'a, PlanningNetwork>,
    ) -> Result<Self, ProblemError> {
        let pools = Arc::new(Pools::new(workflow, platform));
        Problem::with_pools(workflow, platform, availability, network, pools)
    }

    /// The workflow on hosts at these levels, with known pools of workflow and platform.
    pub fn with_pools(
        workflow: &'a Workflow,
        platform: &'a Platform,
        availability: &[f64],
        network: Cow<'a, PlanningNetwork>,
        pools: Arc<Pools>,
    ) -> Result<Self, ProblemError> {
        let hosts = platform.hosts();
        if hosts.is_empty() {
            return Err(ProblemError::NoHosts);
        }
        if workflow.control().is_some() {
            return Err(ProblemError::Undecided { workflow: workflow.name().to_string() });
        }
        let (costs, class_of_host) = Costs::new(workflow, platform, availability, &pools)?;
        let mut first_proc = Vec::with_capacity(hosts.len() + 1);
        let (mut host_of, mut group_of, mut class_of) = (Vec::new(), Vec::new(), Vec::new());
        for (index, host) in hosts.iter().enumerate() {
            first_proc.push(host_of.len() as u32);
            for _ in 0..host.cores {
                host_of.push(HostId::new(index));
                group_of.push(network.group_of[index]);
                class_of.push(class_of_host[index]);
            }
        }
        first_proc.push(host_of.len() as u32);
        let tables = network.thresholds.len() + 1;
        let mean = |band| MeanNetwork::of(platform, &network, band);
        let mean_network = (0..tables).map(mean).collect();
        let bottlenecks = workflow.has_spread_tasks().then(|| platform.bottlenecks(&network));
        let state = State::default();
        Ok(Problem {
            workflow,
            platform,
            network,
            mean_network,
            bottlenecks,
            costs,
            pools,
            host_of,
            group_of,
            class_of,
            first_proc,
            obtainable: obtainable(platform, &state),
            state,
            staged: Staged::default(),
            lanes: None,
        })
    }

    /// The same problem with part of it already executed.
    pub fn with_state(mut self, state: State) -> Result<Self, ProblemError> {
        state.check(&self)?;
        self.obtainable = obtainable(self.platform, &state);
        self.state = state;
        self.staged = Staged::of(&self);
        Ok(self)
    }

    /// The same problem where inputs queue on these lanes when they leave the origin.
    pub fn with_lanes(mut self, lanes: Option<Arc<Lanes>>) -> Self {
        self.lanes = lanes;
        self
    }

    /// The same problem with its inputs everywhere: what a plan would be without staging.
    pub fn without_staging(&self) -> Problem<'a> {
        let mut problem = self.clone();
        problem.state.inputs_listed = false;
        problem.staged = Staged::default();
        problem
    }

    /// The workflow.
    pub fn workflow(&self) -> &'a Workflow {
        self.workflow
    }

    /// The platform.
    pub fn platform(&self) -> &'a Platform {
        self.platform
    }

    /// Returns the tasks that are done or running, the copies of files, and the current date.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Number of tasks.
    pub fn tasks(&self) -> usize {
        self.workflow.len()
    }

    /// Number of processors.
    pub fn procs(&self) -> usize {
        self.host_of.len()
    }

    /// All processors.
    pub fn proc_ids(&self) -> impl ExactSizeIterator<Item = ProcId> + use<> {
        (0..self.procs() as u32).map(ProcId)
    }

    /// Host of a processor.
    #[inline]
    pub fn host_of(&self, proc: ProcId) -> HostId {
        self.host_of[proc.index()]
    }

    /// The processors of a host.
    #[inline]
    pub fn procs_of(&self, host: HostId) -> Range<u32> {
        self.first_proc[host.index()]..self.first_proc[host.index() + 1]
    }

    /// Whether a host alone has all that a task demands at its least width: processors, room in all
    /// pools, a window.
    pub fn fits(&self, task: TaskId, host: HostId) -> bool {
        let first = self.procs_of(host).next().map(ProcId);
        self.pools.fits(self.workflow, self.platform, task, host)
            && first.is_some_and(|proc| self.exec_on(task, proc).is_finite())
    }

    /// Returns the resources other than cores that concurrent tasks share.
    pub fn pools(&self) -> &Arc<Pools> {
        &self.pools
    }

    /// Whether concurrent tasks can meet in a pool, or hosts have windows: where not, cores alone
    /// decide when a task can run.
    #[inline]
    pub fn has_pools(&self) -> bool {
        self.pools.bind()
    }

    /// Returns the pools that a task on some processors uses, with the amounts it holds.
    pub fn uses(&self, task: TaskId, procs: &[ProcId]) -> Vec<(PoolId, u64)> {
        self.pools.uses(self.workflow, task, procs, |proc| self.host_of(proc))
    }

    /// A name to show for a processor: its host, with the core where there are several.
    pub fn proc_name(&self, proc: ProcId) -> String {
        let host = self.host_of(proc);
        let name = &self.platform.host(host).name;
        let procs = self.procs_of(host);
        if let Some(names) = &self.platform.host(host).core_names {
            return names[(proc.0 - procs.start) as usize].clone();
        }
        if procs.len() == 1 { name.to_string() } else { format!("{name}/{}", proc.0 - procs.start) }
    }

    /// Number of cost classes.
    pub fn classes(&self) -> usize {
        self.costs.classes()
    }

    /// Cost class of a processor.
    #[inline]
    pub fn class_of(&self, proc: ProcId) -> usize {
        self.class_of[proc.index()] as usize
    }

    /// Estimated seconds of a task on a processor of a cost class, at its least width; infinite
    /// where it does not fit.
    #[inline]
    pub fn exec(&self, task: TaskId, class: usize) -> f64 {
        self.costs.exec(self, task, class)
    }

    /// Estimated seconds of a task on a processor of a cost class, whether it fits there or not.
    pub fn exec_unlimited(&self, task: TaskId, class: usize) -> f64 {
        self.costs.unlimited(self.workflow, task, class)
    }

    /// Estimated seconds of a task on a processor.
    #[inline]
    pub fn exec_on(&self, task: TaskId, proc: ProcId) -> f64 {
        self.exec(task, self.class_of(proc))
    }

    /// Estimated seconds on `width` processors of a cost class.
    #[inline]
    pub fn exec_wide(&self, task: TaskId, class: usize, width: u32) -> f64 {
        let (least, _) = self.workflow.width(task);
        if width == least {
            return self.exec(task, class);
        }
        self.costs.exec_wide(self, task, class, width)
    }

    /// The times of a task on every cost class, for loops over processors.
    #[inline]
    pub fn exec_row<'b>(&'b self, task: TaskId, buffer: &'b mut Vec<f64>) -> &'b [f64] {
        self.costs.row(self, task, buffer)
    }

    /// Mean of the task's times over the processors it fits on (the papers' w-bar).
    pub fn mean_exec(&self, task: TaskId) -> f64 {
        self.costs.mean(self, task)
    }

    /// Least of the task's times over all processors.
    pub fn best_exec(&self, task: TaskId) -> f64 {
        self.finite_times(task).fold(f64::INFINITY, f64::min)
    }

    /// Largest of the task's times over the processors it fits on.
    pub fn worst_exec(&self, task: TaskId) -> f64 {
        self.finite_times(task).fold(0.0, f64::max)
    }

    /// Median of the task's times over the processors it fits on (mean of the two middle ones).
    pub fn median_exec(&self, task: TaskId) -> f64 {
        self.costs.median(self, task)
    }

    fn finite_times(&self, task: TaskId) -> impl Iterator<Item = f64> + '_ {
        (0..self.classes()).map(move |c| self.exec(task, c)).filter(|t| t.is_finite())
    }

    /// Number of processors in each cost class.
    pub fn class_sizes(&self) -> &[u32] {
        self.costs.sizes()
    }

    /// The contention-free network between groups of hosts.
    pub fn network(&self) -> &PlanningNetwork {
        &self.network
    }

    /// Network group of a processor's host.
    #[inline]
    pub fn group_of(&self, proc: ProcId) -> usize {
        self.group_of[proc.index()] as usize
    }

    /// Seconds to move `bytes` between two hosts.
    #[inline]
    pub fn transfer(&self, bytes: f64, from: HostId, to: HostId) -> f64 {
        self.network.transfer_time(bytes, from, to)
    }

    /// Seconds to move files that leave together between two hosts.
    #[inline]
    pub fn payload_transfer(&self, payload: Payload, from: HostId, to: HostId) -> f64 {
        self.network.payload_time(payload, from, to)
    }

    /// The distinct hosts of some processors, sorted.
    pub fn hosts_of(&self, procs: &[ProcId]) -> Vec<HostId> {
        let mut hosts: Vec<HostId> = procs.iter().map(|&p| self.host_of(p)).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }

    /// Mean latency and bandwidth between different hosts, for ranks.
    pub fn mean_network(&self) -> &MeanNetwork {
        &self.mean_network[0]
    }

    #[inline]
    fn mean_for(&self, bytes: f64) -> &MeanNetwork {
        let thresholds = &self.network.thresholds;
        if thresholds.is_empty() {
            &self.mean_network[0]
        } else {
            &self.mean_network[thresholds.partition_point(|&above| above < bytes)]
        }
    }

    /// Mean of the seconds to move `bytes` over the pairs of processors.
    #[inline]
    pub fn mean_transfer_time(&self, bytes: f64) -> f64 {
        self.mean_for(bytes).mean_seconds(bytes)
    }

    /// Mean seconds to move `bytes` (the papers' c-bar: mean latency + bytes over mean bandwidth).
    #[inline]
    pub fn mean_transfer(&self, bytes: f64) -> f64 {
        self.mean_for(bytes).seconds(bytes)
    }

    /// Mean seconds to move files that leave together.
    #[inline]
    pub fn mean_payload_transfer(&self, payload: Payload) -> f64 {
        let mean = self.mean_for(payload.largest);
        mean.seconds(payload.serial_bytes(mean.streams))
    }

    /// Mean of the seconds that files which leave together take over the pairs of processors.
    #[inline]
    pub fn mean_payload_time(&self, payload: Payload) -> f64 {
        let mean = self.mean_for(payload.largest);
        mean.mean_seconds(payload.serial_bytes(mean.streams))
    }

    /// Money per second of one processor.
    pub fn price(&self, proc: ProcId) -> f64 {
        self.platform.host(self.host_of(proc)).price
    }

    /// Returns the date from which a processor can take new work: not before now, and on a machine
    /// that has to be leased not before it is ready.
    #[inline]
    pub fn available_from(&self, proc: ProcId) -> f64 {
        let free = self.state.available.get(proc.index()).copied().unwrap_or(0.0);
        free.max(self.state.now).max(self.obtainable_from(self.host_of(proc)))
    }

    /// Returns the earliest date at which a machine that exists only while leased can be ready; 0
    /// for others.
    #[inline]
    pub fn obtainable_from(&self, host: HostId) -> f64 {
        self.obtainable.get(host.index()).copied().unwrap_or(0.0)
    }

    /// Before which date a task must not start: its release, and not before now.
    #[inline]
    pub fn release(&self, task: TaskId) -> f64 {
        self.state.release.get(task.index()).copied().unwrap_or(0.0).max(self.state.now)
    }
}

/// Orders take as long as the machines' billing says; what is leased or ordered is there from the begin
/// of its lease.
fn obtainable(platform: &Platform, state: &State) -> Vec<f64> {
    let waits = |class: &Class| class.leasable && class.billing.setup > 0.0;
    if !platform.classes().iter().any(waits) && state.leases.is_empty() {
        return Vec::new();
    }
    let of = |host: &Host| match platform.class(host.class) {
        class if waits(class) => state.now + class.billing.setup,
        _ => 0.0,
    };
    let mut from: Vec<f64> = platform.hosts().iter().map(of).collect();
    for lease in state.leases.iter().filter(|l| l.is_open()) {
        from[lease.host.index()] = lease.from;
    }
    from
}

#[cfg(test)]
mod tests;
