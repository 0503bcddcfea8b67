//! From an activity to the parameters of the kernel: amount, latency, weight, bound, uses.

use super::{Cause, Simulation, SimulationError};
use crate::kernel::{ActivityId, ConstraintId};
use crate::models::{Factor, HostModel, Models, NetworkModel};
use crate::solver::Use;
use slackline_model::activity::{
    Activity, DiskAccess, DiskOperation, Exec, ParallelTask, StorageFlow, Transfer,
};
use slackline_model::platform::{DiskSide, Platform};
use slackline_model::problem::Block;
use slackline_model::{DiskId, HostId, LinkId};
use std::collections::BTreeMap;

/// An activity as the kernel sees it; what it consumes is left in `Simulation::uses`.
///
/// Amounts are flop or bytes, rates these per second; where everything is a parallel task, the amount is 1 and the
/// coefficients of the uses are the flop and bytes of the whole.
pub(super) struct Shape {
    pub(super) amount: f64,
    /// Seconds before the amount is consumed.
    pub(super) latency: f64,
    /// Share of a constraint: rates are inversely proportional to weights.
    pub(super) weight: f64,
    /// Largest rate.
    pub(super) bound: f64,
    /// The reason why it fails as soon as it starts, if there is one.
    pub(super) doomed: Option<Cause>,
}

impl Shape {
    const NOTHING: Shape =
        Shape { amount: 0.0, latency: 0.0, weight: 1.0, bound: f64::INFINITY, doomed: None };
}

impl Simulation {
    /// The shape of an activity under the present state of the resources.
    pub(super) fn shape(&mut self, activity: &Activity) -> Result<Shape, SimulationError> {
        self.uses.clear();
        let parallel = self.models.host == HostModel::ParallelTasks;
        match activity {
            Activity::Exec(exec) => self.exec_shape(exec, parallel),
            Activity::Comm(transfer) if parallel => {
                self.check_limit(activity, transfer.rate)?;
                self.check_amount(activity, transfer.bytes)?;
                let bound = transfer.rate / transfer.bytes;
                let Transfer { src: from, dst: to, bytes, .. } = *transfer;
                self.parallel_shape(&[], &[], &[Block { from, to, bytes }], bound)
            }
            Activity::Comm(transfer) => self.comm_shape(transfer),
            Activity::Ptask(task) => self.ptask_shape(activity, task, parallel),
            Activity::Io(operation) => self.io_shape(operation),
            Activity::Storage(flow) => self.storage_shape(flow, parallel),
            Activity::Sleep(duration) => Ok(Shape { latency: *duration, ..Shape::NOTHING }),
        }
    }

    fn exec_shape(&mut self, exec: &Exec, parallel: bool) -> Result<Shape, SimulationError> {
        let Exec { host, flops, priority, bound } = *exec;
        let state = &self.resources.hosts[host.index()];
        let speed = state.speed;
        let doomed = (!state.on).then_some(Cause::HostOff(host));
        if !(bound > 0.0 && flops >= 0.0) {
            let wrong = if bound > 0.0 { flops } else { bound };
            return Err(self.refuse(&Activity::Exec(*exec), wrong));
        }
        if !parallel {
            self.uses.push(Use { constraint: state.constraint.0, coefficient: 1.0 });
            let weight = 1.0 / priority;
            return Ok(Shape {
                amount: flops,
                weight,
                bound: bound.min(speed),
                doomed,
                ..Shape::NOTHING
            });
        }
        if flops > 0.0 {
            self.uses.push(Use { constraint: state.constraint.0, coefficient: flops });
        }
        let amount = if flops > 0.0 { 1.0 } else { 0.0 };
        Ok(Shape { amount, bound: bound.min(speed) / flops, doomed, ..Shape::NOTHING })
    }

    fn comm_shape(&mut self, transfer: &Transfer) -> Result<Shape, SimulationError> {
        let Transfer { src, dst, bytes, rate } = *transfer;
        if !(rate > 0.0 && bytes >= 0.0) {
            let wrong = if rate > 0.0 { bytes } else { rate };
            return Err(self.refuse(&Activity::Comm(*transfer), wrong));
        }
        if self.models.network == NetworkModel::Constant {
            let (latency, doomed) = (self.models.latency_factor.of(bytes), self.off(&[src, dst]));
            return Ok(Shape { latency, doomed, ..Shape::NOTHING });
        }
        let (flow, uses) =
            self.network.flow(&self.platform, &self.models, &self.resources, (src, dst))?;
        self.uses.extend_from_slice(uses);
        let (latency, bound) = flow.timing(&self.models, bytes, rate);
        let doomed = self.off(&[src, dst]).or(flow.broken.map(Cause::LinkOff));
        let mut weight = flow.weight;
        if let Factor::Steps(_) = self.models.bandwidth_factor
            && self.models.factor_on_share
        {
            // A rate r takes the share r / factor of a link; weights apply to shares.
            let share = 1.0 / self.models.bandwidth_factor.of(bytes);
            weight *= share;
            self.uses.iter_mut().for_each(|used| used.coefficient *= share);
        }
        Ok(Shape { amount: bytes, latency, weight, bound, doomed })
    }

    fn io_shape(&mut self, operation: &DiskOperation) -> Result<Shape, SimulationError> {
        let DiskOperation { disk, access, bytes, client } = *operation;
        let owner = self.platform.disk(disk).host;
        let state = self.resources.disks[disk.index()];
        let mut shape = Shape {
            amount: bytes,
            weight: self.disk_weight,
            doomed: self.off(&[owner, client]),
            ..Shape::NOTHING
        };
        if client != owner {
            let ends = match access {
                DiskAccess::Read => (owner, client),
                DiskAccess::Write => (client, owner),
            };
            let (flow, uses) =
                self.network.flow(&self.platform, &self.models, &self.resources, ends)?;
            self.uses.extend_from_slice(uses);
            (shape.latency, shape.bound) = flow.timing(&self.models, bytes, f64::INFINITY);
            shape.weight = flow.weight;
            shape.doomed = shape.doomed.or(flow.broken.map(Cause::LinkOff));
        }
        let side = match access {
            DiskAccess::Read => state.read,
            DiskAccess::Write => state.write,
        };
        for constraint in [Some(side), state.connection].into_iter().flatten() {
            self.uses.push(Use { constraint: constraint.0, coefficient: 1.0 });
        }
        if self.models.host == HostModel::ParallelTasks && bytes > 0.0 {
            // Progress is counted in parts of the whole.
            shape.amount = 1.0;
            shape.weight = 1.0;
            shape.bound /= bytes;
            self.uses.iter_mut().for_each(|used| used.coefficient *= bytes);
        }
        Ok(shape)
    }

    fn storage_shape(
        &mut self,
        flow: &StorageFlow,
        parallel: bool,
    ) -> Result<Shape, SimulationError> {
        let StorageFlow { read, write, from, to, bytes, delay, rate } = *flow;
        let activity = Activity::Storage(*flow);
        self.check_amount(&activity, bytes)?;
        self.check_amount(&activity, delay)?;
        self.check_limit(&activity, rate)?;
        let mut shape = Shape {
            amount: bytes,
            latency: delay,
            bound: rate,
            doomed: self.off(&[from, to]),
            ..Shape::NOTHING
        };
        if from != to {
            let ends = (from, to);
            let (flow, uses) =
                self.network.flow(&self.platform, &self.models, &self.resources, ends)?;
            self.uses.extend_from_slice(uses);
            let (latency, bound) = flow.timing(&self.models, bytes, rate);
            shape.latency += latency;
            shape.bound = bound;
            shape.doomed = shape.doomed.or(flow.broken.map(Cause::LinkOff));
        }
        for (disk, side) in [(read, DiskSide::Read), (write, DiskSide::Write)] {
            let Some(disk) = disk else { continue };
            let state = self.resources.disks[disk.index()];
            let model = &self.platform.disk(disk).model;
            shape.latency += model.latency(side, bytes);
            shape.bound = shape.bound.min(model.bound(side, bytes));
            if state.drawn {
                continue;
            }
            let of_side = if side == DiskSide::Read { state.read } else { state.write };
            for constraint in [Some(of_side), state.connection].into_iter().flatten() {
                // A copy inside a storage passes its connection twice.
                match self.uses.iter_mut().find(|used| used.constraint == constraint.0) {
                    Some(used) => used.coefficient += 1.0,
                    None => self.uses.push(Use { constraint: constraint.0, coefficient: 1.0 }),
                }
            }
        }
        if parallel && bytes > 0.0 {
            // Progress is counted in parts of the whole.
            shape.amount = 1.0;
            shape.bound /= bytes;
            self.uses.iter_mut().for_each(|used| used.coefficient *= bytes);
        }
        Ok(shape)
    }

    fn ptask_shape(
        &mut self,
        activity: &Activity,
        task: &ParallelTask,
        parallel: bool,
    ) -> Result<Shape, SimulationError> {
        let width = task.hosts.len();
        let refuse = |cause: String| {
            let activity = describe(&self.platform, activity);
            Err(SimulationError::BadActivity { activity, cause })
        };
        if !parallel {
            return refuse("parallel tasks need the host model `ptask_L07`".into());
        }
        if !task.flops.is_empty() && task.flops.len() != width {
            return refuse(format!("{} amounts of flop for {width} hosts", task.flops.len()));
        }
        let blocks = task.blocks.iter();
        for &amount in task.flops.iter().chain(blocks.map(|block| &block.bytes)) {
            self.check_amount(activity, amount)?;
        }
        self.check_limit(activity, task.rate)?;
        self.parallel_shape(&task.hosts, &task.flops, &task.blocks, task.rate)
    }

    /// One progress variable for computations on `hosts` and all `blocks`.
    fn parallel_shape(
        &mut self,
        hosts: &[HostId],
        flops: &[f64],
        blocks: &[Block],
        rate: f64,
    ) -> Result<Shape, SimulationError> {
        let mut shape = Shape { bound: rate, doomed: self.off(hosts), ..Shape::NOTHING };
        let mut uses = std::mem::take(&mut self.uses);
        for (&host, &flops) in hosts.iter().zip(flops) {
            if flops > 0.0 {
                let state = &self.resources.hosts[host.index()];
                shape.amount = 1.0;
                shape.bound = shape.bound.min(state.speed / flops);
                uses.push(Use { constraint: state.constraint.0, coefficient: flops });
            }
        }
        // A fatpipe gives every flow its full bandwidth: the largest amount takes longest.
        let mut unshared: BTreeMap<LinkId, f64> = BTreeMap::new();
        let mut window = 0.0f64;
        for &Block { from, to, bytes } in blocks {
            if bytes == 0.0 {
                continue;
            }
            shape.amount = 1.0;
            let (flow, _) =
                self.network.flow(&self.platform, &self.models, &self.resources, (from, to))?;
            shape.latency = shape.latency.max(flow.latency);
            shape.doomed =
                shape.doomed.or(self.off(&[from, to])).or(flow.broken.map(Cause::LinkOff));
            let links = self.network.links(&self.platform, from, to)?;
            if links.is_empty() {
                // The built-in loopback, or a matrix: nothing is shared.
                shape.bound = shape.bound.min(flow.narrowest / bytes);
            } else {
                window = window.max(flow.latency * bytes);
            }
            for &link in links {
                let state = &self.resources.links[link.index()];
                match state.constraint {
                    Some(constraint) if state.shared => {
                        uses.push(Use { constraint: constraint.0, coefficient: bytes });
                    }
                    _ => {
                        let most = unshared.entry(link).or_default();
                        *most = most.max(bytes);
                    }
                }
            }
        }
        for (link, bytes) in unshared {
            let state = &self.resources.links[link.index()];
            shape.bound = shape.bound.min(state.bandwidth / bytes);
            if let Some(constraint) = state.constraint {
                uses.push(Use { constraint: constraint.0, coefficient: bytes });
            }
        }
        // A flow transfers at most one TCP window (`tcp_gamma`) per round trip, twice the latency.
        if window > 0.0 {
            shape.bound = shape.bound.min(self.models.tcp_gamma / (2.0 * window));
        }
        add_up(&mut uses);
        self.uses = uses;
        Ok(shape)
    }

    /// The first host among these that is off, as a cause of failure.
    fn off(&self, hosts: &[HostId]) -> Option<Cause> {
        let off = hosts.iter().find(|host| !self.resources.hosts[host.index()].on);
        off.map(|&host| Cause::HostOff(host))
    }

    fn check_amount(&self, activity: &Activity, amount: f64) -> Result<(), SimulationError> {
        let fine = (0.0..f64::INFINITY).contains(&amount);
        if fine { Ok(()) } else { Err(self.refuse(activity, amount)) }
    }

    fn check_limit(&self, activity: &Activity, limit: f64) -> Result<(), SimulationError> {
        if limit > 0.0 { Ok(()) } else { Err(self.refuse(activity, limit)) }
    }

    fn refuse(&self, activity: &Activity, value: f64) -> SimulationError {
        SimulationError::BadActivity {
            activity: describe(&self.platform, activity),
            cause: format!("an amount or a limit is {value}, which is not possible"),
        }
    }

    /// Whether an activity under way needs a host to be on.
    pub(super) fn needs_host(&self, id: ActivityId, host: HostId) -> bool {
        match &self.running[id.slot()].activity {
            Activity::Exec(exec) => exec.host == host,
            Activity::Comm(transfer) => transfer.src == host || transfer.dst == host,
            Activity::Ptask(task) => {
                let mut blocks = task.blocks.iter();
                task.hosts.contains(&host) || blocks.any(|b| b.from == host || b.to == host)
            }
            Activity::Io(io) => io.client == host || self.platform.disk(io.disk).host == host,
            Activity::Storage(flow) => flow.from == host || flow.to == host,
            Activity::Sleep(_) => false,
        }
    }

    /// Whether the route of a running activity, or that of its acknowledgements, has a link.
    pub(super) fn crosses(
        &mut self,
        id: ActivityId,
        link: LinkId,
    ) -> Result<bool, SimulationError> {
        let mut routes: Vec<(HostId, HostId)> = match &self.running[id.slot()].activity {
            Activity::Comm(_) if self.models.network == NetworkModel::Constant => Vec::new(),
            Activity::Comm(transfer) => vec![(transfer.src, transfer.dst)],
            Activity::Ptask(task) => task.blocks.iter().map(|b| (b.from, b.to)).collect(),
            Activity::Io(io) => {
                let owner = self.platform.disk(io.disk).host;
                if io.client == owner { Vec::new() } else { vec![(io.client, owner)] }
            }
            Activity::Storage(flow) if flow.from == flow.to => Vec::new(),
            Activity::Storage(flow) => vec![(flow.from, flow.to)],
            Activity::Exec(_) | Activity::Sleep(_) => Vec::new(),
        };
        if self.models.cross_traffic
            && self.models.host == HostModel::Separate
            && self.models.network == NetworkModel::Flows
        {
            let back: Vec<_> = routes.iter().map(|&(src, dst)| (dst, src)).collect();
            routes.extend(back);
        }
        for (src, dst) in routes {
            if self.network.links(&self.platform, src, dst)?.contains(&link) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Updates the weights and bounds of the activities that use a constraint to the present state.
    pub(super) fn refresh_users(
        &mut self,
        constraint: ConstraintId,
    ) -> Result<(), SimulationError> {
        let users: Vec<ActivityId> =
            self.kernel.users(constraint).chain(self.kernel.dormant()).collect();
        self.refresh(users)
    }

    /// Updates the weights and bounds of some activities to the present state.
    pub(super) fn refresh(&mut self, activities: Vec<ActivityId>) -> Result<(), SimulationError> {
        for id in activities {
            if self.running[id.slot()].doomed.is_some() {
                continue;
            }
            let activity = self.running[id.slot()].activity.clone();
            let shape = self.shape(&activity)?;
            self.kernel.reweigh(id, shape.weight, shape.bound)?;
        }
        Ok(())
    }

    /// Transfers whose route has a link that they use without sharing it: those of the matrix
    /// and fifo models, which are not among the users of the link's constraint.
    pub(super) fn lone_transfers_over(
        &mut self,
        link: LinkId,
    ) -> Result<Vec<ActivityId>, SimulationError> {
        if matches!(self.models.network, NetworkModel::Flows | NetworkModel::Constant) {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for (id, _) in self.kernel.activities() {
            let Activity::Comm(Transfer { src, dst, .. }) = self.running[id.slot()].activity else {
                continue;
            };
            if self.network.links(&self.platform, src, dst)?.contains(&link) {
                found.push(id);
            }
        }
        Ok(found)
    }
}

/// Adds up the uses of the same constraint; sorts by constraint.
fn add_up(uses: &mut Vec<Use>) {
    uses.sort_by_key(|used| used.constraint);
    uses.dedup_by(|next, first| {
        let same = next.constraint == first.constraint;
        if same {
            first.coefficient += next.coefficient;
        }
        same
    });
}

/// The weight of a local disk operation, comparable to one that comes over the network: that of a transfer over one
/// link, the median of the platform's.
pub(super) fn typical_weight(platform: &Platform, models: &Models) -> f64 {
    if platform.disks().is_empty() || models.network != NetworkModel::Flows {
        return 1.0;
    }
    let mut weights: Vec<f64> = platform
        .links()
        .iter()
        .map(|link| link.latency + models.weight_s / link.bandwidth)
        .filter(|weight| *weight > 0.0)
        .collect();
    weights.sort_unstable_by(f64::total_cmp);
    weights.get(weights.len() / 2).copied().unwrap_or(1.0)
}

/// An activity as text for messages.
pub(super) fn describe(platform: &Platform, activity: &Activity) -> String {
    let name = |host: &HostId| &*platform.host(*host).name;
    match activity {
        Activity::Exec(exec) => {
            format!("execution of {} flop on `{}`", exec.flops, name(&exec.host))
        }
        Activity::Comm(Transfer { src, dst, bytes, .. }) => {
            format!("transfer of {bytes} bytes from `{}` to `{}`", name(src), name(dst))
        }
        Activity::Ptask(task) if task.hosts.is_empty() => {
            let bytes: f64 = task.blocks.iter().map(|block| block.bytes).sum();
            format!("redistribution of {bytes} bytes")
        }
        Activity::Ptask(task) => {
            let hosts: Vec<&str> = task.hosts.iter().take(4).map(name).collect();
            let more = if task.hosts.len() > 4 { ", ..." } else { "" };
            format!("parallel task on `{}`{more}", hosts.join("`, `"))
        }
        Activity::Io(io) => {
            let verb = match io.access {
                DiskAccess::Read => "read",
                DiskAccess::Write => "write",
            };
            let disk = &platform.disk(io.disk).name;
            format!("{verb} of {} bytes on disk `{disk}` by `{}`", io.bytes, name(&io.client))
        }
        Activity::Storage(flow) => {
            let disk = |id: &DiskId| &*platform.disk(*id).name;
            let end = |disk: Option<&str>, host: &HostId| match disk {
                Some(disk) => format!("storage `{disk}`"),
                None => format!("`{}`", name(host)),
            };
            let from = end(flow.read.as_ref().map(disk), &flow.from);
            let to = end(flow.write.as_ref().map(disk), &flow.to);
            format!("flow of {} bytes from {from} to {to}", flow.bytes)
        }
        Activity::Sleep(duration) => format!("sleep of {duration} s"),
    }
}
