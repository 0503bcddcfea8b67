//! The network between groups of hosts as flat arrays, as plans count it or as bounds may.

use slackline_model::{EdgeId, HostId, Payload, Problem, TaskId, Workflow, approx};

/// Stands for the bytes of a pure control dependency: a band of its own, above all sizes, in which
/// transfers take no time.
const CONTROL: f64 = f64::MAX;

/// Groups up to which the least time over detours is worth computing.
const MOST_GROUPS: usize = 300;

/// Latencies and rates between groups of hosts, one table per band of sizes.
#[derive(Clone, Debug)]
pub(super) struct FlatNetwork {
    groups: usize,
    /// Sizes at which the next table counts.
    thresholds: Vec<f64>,
    latency: Vec<f64>,
    seconds_per_byte: Vec<f64>,
    /// Transfers that proceed side by side as fast as one alone; empty where it is 1 everywhere.
    streams: Vec<f64>,
    relaxed: bool,
}

impl FlatNetwork {
    /// As plans count it.
    pub(super) fn planned(problem: &Problem<'_>) -> FlatNetwork {
        let network = problem.network();
        let mut flat = FlatNetwork {
            groups: network.groups,
            thresholds: network.thresholds.clone(),
            latency: network.latency.clone(),
            seconds_per_byte: network.bandwidth.iter().map(|b| 1.0 / b).collect(),
            streams: network.streams.clone(),
            relaxed: false,
        };
        if problem.workflow().has_controls() {
            flat.add_control_band();
        }
        flat
    }

    /// The least that any run needs. A file may come from any place that had it before, so that a
    /// detour counts where it is quicker; files of one edge may come from different places, so that
    /// they share for certain only what all data for a host crosses. Where the planning network was
    /// sampled nothing is certain, and transfers count as free.
    pub(super) fn relaxed(problem: &Problem<'_>) -> FlatNetwork {
        let network = problem.network();
        let mut flat = FlatNetwork::planned(problem);
        flat.relaxed = true;
        let groups = network.groups;
        if network.inlets.is_empty() || groups > MOST_GROUPS {
            flat.latency.fill(0.0);
            flat.seconds_per_byte.fill(0.0);
            flat.streams.clear();
            return flat;
        }
        // Entry (g, g) is between two hosts of the group, of which some groups have only one.
        let tables = network.thresholds.len() + 1;
        for table in 0..tables {
            let range = table * groups * groups..(table + 1) * groups * groups;
            let latency = &mut flat.latency[range.clone()];
            let per_byte = &mut flat.seconds_per_byte[range];
            // Where there is no way, no byte is moved at no cost either.
            for (per_byte, _) in per_byte.iter_mut().zip(&*latency).filter(|(_, l)| l.is_infinite())
            {
                *per_byte = f64::INFINITY;
            }
            shorten(latency, groups);
            shorten(per_byte, groups);
            per_byte.iter_mut().filter(|p| p.is_infinite()).for_each(|p| *p = 0.0);
        }
        // With bands the files of an edge may have different latencies: only the largest counts.
        let entries = flat.latency.len();
        flat.streams.clear();
        flat.streams.extend((0..entries).map(|at| {
            let (inlet, per_byte) = (network.inlets[at % groups], flat.seconds_per_byte[at]);
            match tables == 1 && inlet.is_finite() && per_byte > 0.0 {
                true => (inlet * per_byte).max(1.0),
                false => f64::INFINITY,
            }
        }));
        flat
    }

    /// The data of an edge as [`seconds`](Self::seconds) takes it.
    pub(super) fn payload(workflow: &Workflow, edge: EdgeId) -> Payload {
        match workflow.is_control(edge) {
            true => Payload::single(CONTROL),
            false => workflow.edge_payload(edge),
        }
    }

    fn add_control_band(&mut self) {
        let entries = self.latency.len() + self.groups * self.groups;
        self.thresholds.push(CONTROL / 2.0);
        self.latency.resize(entries, 0.0);
        self.seconds_per_byte.resize(entries, 0.0);
        if !self.streams.is_empty() {
            self.streams.resize(entries, 1.0);
        }
    }

    /// Number of groups.
    #[inline]
    pub(super) fn groups(&self) -> usize {
        self.groups
    }

    #[inline]
    pub(super) fn is_relaxed(&self) -> bool {
        self.relaxed
    }

    /// Seconds to move data between hosts of two groups.
    #[inline]
    pub(super) fn seconds(&self, data: Payload, from: usize, to: usize) -> f64 {
        let mut at = from * self.groups + to;
        if !self.thresholds.is_empty() {
            let band = self.thresholds.partition_point(|&above| above < data.largest);
            at += band * self.groups * self.groups;
        }
        let bytes = match self.streams.get(at) {
            Some(&streams) => data.serial_bytes(streams),
            None => data.total,
        };
        self.latency[at] + bytes * self.seconds_per_byte[at]
    }

    /// Returns latency, seconds per byte and streams of the connection between two groups; pairs with equal
    /// values are interchangeable.
    pub(super) fn pair(&self, from: usize, to: usize) -> (f64, f64, f64) {
        let at = from * self.groups + to;
        let streams = self.streams.get(at).copied().unwrap_or(1.0);
        (self.latency[at], self.seconds_per_byte[at], streams)
    }

    /// Whether all transfers take the same time over another network; `several` is set if some edge has several
    /// files.
    pub(super) fn equals(&self, other: &FlatNetwork, several: bool) -> bool {
        let streams = |network: &FlatNetwork, at| network.streams.get(at).copied().unwrap_or(1.0);
        self.latency == other.latency
            && self.seconds_per_byte == other.seconds_per_byte
            && (!several
                || (0..self.latency.len())
                    .all(|at| approx::eq(streams(self, at), streams(other, at))))
    }

    /// Earliest date at which the data of finished parents and the staged inputs of a task can be on
    /// a host.
    pub(super) fn least_arrival(&self, problem: &Problem<'_>, task: TaskId, host: HostId) -> f64 {
        let (workflow, state, platform) = (problem.workflow(), problem.state(), problem.platform());
        let group = |host: HostId| problem.network().group_of[host.index()] as usize;
        let least =
            |bytes: f64, from: HostId| match platform.place_of(from) == platform.place_of(host) {
                true => 0.0,
                false => self.seconds(Payload::single(bytes), group(from), group(host)),
            };
        let arrival = |file| {
            let bytes = workflow.file_bytes(file);
            let copies = state.copies_of(file).iter();
            let copied = copies.map(|c| c.at.max(state.now) + least(bytes, c.host));
            let made = workflow.producer(file).and_then(|p| state.fixed(p)).map(|p| {
                // Blocks of a wide task's data come from several hosts at once.
                let wait = match p.procs() {
                    &[proc] => least(bytes, problem.host_of(proc)),
                    _ => 0.0,
                };
                p.finish.max(state.now) + wait
            });
            copied.chain(made).fold(f64::INFINITY, f64::min)
        };
        let made = workflow
            .inputs(task)
            .filter(|&f| workflow.producer(f).is_some_and(|p| state.fixed(p).is_some()));
        let staged = problem.staged_inputs(task).iter().copied();
        staged.chain(made).map(arrival).fold(0.0, f64::max)
    }
}

/// The least sums over detours (Floyd, CACM 5(6), 1962), O(g^3).
fn shorten(table: &mut [f64], groups: usize) {
    for via in 0..groups {
        for from in 0..groups {
            let first = table[from * groups + via];
            if !first.is_finite() {
                continue;
            }
            for to in 0..groups {
                let sum = first + table[via * groups + to];
                let known = &mut table[from * groups + to];
                if sum < *known {
                    *known = sum;
                }
            }
        }
    }
}
