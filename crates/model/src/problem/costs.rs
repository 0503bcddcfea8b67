//! Execution times per cost class: work over speed, or a table for unrelated machines.

use super::{Pools, Problem, ProblemError, Unmet};
use crate::approx;
use crate::ids::{ClassId, HostId, TaskId};
use crate::platform::{Host, Platform};
use crate::workflow::{CostTable, Workflow};
use std::collections::HashMap;

/// Machines that are identical to every task.
#[derive(Clone, Debug)]
struct Class {
    /// Flop/s of one core, now.
    speed: f64,
    /// Share of the peak that is available now.
    share: f64,
    /// Cores of one machine: wider tasks do not fit unless they spread.
    cores: u32,
    /// Cores of the largest cluster of such machines, where tasks spread: wider ones do not fit.
    cluster: u32,
    /// One of the machines.
    host: HostId,
    /// Seconds of the longest window.
    window: f64,
    /// Column of the workflow's table.
    column: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Costs {
    classes: Vec<Class>,
    sizes: Vec<u32>,
    tabled: bool,
    /// Some task demands more than one core, and some machine is limited.
    limited: bool,
    /// Speeds, if time is work over speed for every task on every class.
    related: Option<Related>,
}

/// Related machines without limits, the common case of hot loops.
#[derive(Clone, Debug)]
struct Related {
    speeds: Vec<f64>,
    /// Mean of 1 / speed over the processors.
    mean_inverse: f64,
}

impl Related {
    fn of(classes: &[Class], sizes: &[u32]) -> Option<Related> {
        let speeds: Vec<f64> = classes.iter().map(|c| c.speed).collect();
        let procs: u32 = sizes.iter().sum();
        let inverse = speeds.iter().zip(sizes).map(|(speed, &size)| f64::from(size) / speed);
        let mean_inverse = inverse.sum::<f64>() / f64::from(procs.max(1));
        speeds.iter().all(|&speed| speed > 0.0).then_some(Related { speeds, mean_inverse })
    }
}

impl Costs {
    /// The classes and the class of every host.
    pub(super) fn new(
        workflow: &Workflow,
        platform: &Platform,
        availability: &[f64],
        pools: &Pools,
    ) -> Result<(Costs, Vec<u32>), ProblemError> {
        let columns = match workflow.cost_table() {
            Some(table) => Some(columns_of_hosts(table, platform)?),
            None => None,
        };
        let mut known: HashMap<(u64, u32, u64, usize, u64, u32), u32> = HashMap::new();
        let mut clusters: HashMap<(u32, ClassId), u32> = HashMap::new();
        let (mut classes, mut sizes, mut class_of) = (Vec::new(), Vec::new(), Vec::new());
        let spreads = workflow.has_spread_tasks();
        let shapes = shapes(workflow, platform, pools);
        let mut last = None; // neighbours are mostly alike
        for (index, host) in platform.hosts().iter().enumerate() {
            let column = columns.as_ref().map_or(0, |c| c[index]);
            let memory = host.memory.unwrap_or(f64::INFINITY);
            let share = availability.get(index).copied().unwrap_or(1.0).clamp(0.0, 1.0);
            let shape = shapes.get(index).copied().unwrap_or(0);
            let (speed, memory, share_bits) =
                (host.speed.to_bits(), memory.to_bits(), share.to_bits());
            let key = (speed, host.cores, memory, column, share_bits, shape);
            let class = match last {
                Some((same, class)) if same == key => class,
                _ => *known.entry(key).or_insert_with(|| {
                    let (speed, cores) = (host.speed * share, host.cores);
                    let (host, window) = (HostId::new(index), f64::INFINITY);
                    let longest = pools.windows(host).iter().map(|(from, to)| to - from);
                    let window = longest.reduce(f64::max).unwrap_or(window);
                    classes.push(Class { speed, share, cores, cluster: 0, host, window, column });
                    sizes.push(0);
                    classes.len() as u32 - 1
                }),
            };
            last = Some((key, class));
            sizes[class as usize] += host.cores;
            if spreads {
                let cluster = clusters.entry((class, host.class)).or_insert(0);
                *cluster += host.cores;
                let largest: &mut u32 = &mut classes[class as usize].cluster;
                *largest = (*largest).max(*cluster);
            }
            class_of.push(class);
        }
        // Hosts that only keep files do not count.
        let computing = || classes.iter().filter(|c| c.cores > 0);
        let least_cores = computing().map(|c| c.cores).min().unwrap_or(1);
        let memories = platform.hosts().iter().filter(|host| host.cores > 0);
        let least_memory = memories.filter_map(|host| host.memory).fold(f64::INFINITY, f64::min);
        let demands = workflow.demands();
        let limited = demands.width > least_cores
            || demands.memory > least_memory
            || workflow.has_demands()
            || pools.states_windows();
        let tabled = columns.is_some();
        let plain = !tabled && !limited;
        let related = Related::of(&classes, &sizes).filter(|_| plain);
        let costs = Costs { classes, sizes, tabled, limited, related };
        if limited {
            if let Some(unknown) = pools.unknown(workflow, platform) {
                return Err(unknown);
            }
            costs.check_fit(workflow, platform.hosts(), pools)?;
        }
        Ok((costs, class_of))
    }

    fn check_fit(
        &self,
        workflow: &Workflow,
        hosts: &[Host],
        pools: &Pools,
    ) -> Result<(), ProblemError> {
        for task in workflow.tasks() {
            // A window may be too short now only because a machine is slow or gone at present.
            let slow = |class: &Class| class.share < 1.0 && class.window.is_finite();
            let somewhere = |at: usize| {
                let (class, seconds) = (&self.classes[at], self.unlimited(workflow, task, at));
                self.fits(workflow, pools, task, at)
                    && (approx::le(seconds, class.window) || slow(class))
            };
            if (0..self.classes()).any(somewhere) {
                continue;
            }
            let (resource, why) = self.why_nowhere(workflow, hosts, pools, task);
            let task = workflow.task_name(task).to_string();
            return Err(ProblemError::FitsNowhere { task, resource, why });
        }
        Ok(())
    }

    /// Returns the single demand of a task that no host meets, or the combination of all.
    fn why_nowhere(
        &self,
        workflow: &Workflow,
        hosts: &[Host],
        pools: &Pools,
        task: TaskId,
    ) -> (Unmet, String) {
        let width = workflow.width(task).0;
        let (what, cores) = if workflow.spreads(task) {
            ("cluster", self.classes.iter().map(|c| c.cluster).max())
        } else {
            ("host", hosts.iter().map(|h| h.cores).max())
        };
        let cores = cores.unwrap_or(0);
        if width > cores {
            let why = format!("it needs {width} cores, the largest {what} has {cores}");
            return (Unmet::Cores, why);
        }
        // What one host has to hold where the task takes all of its cores, or all that it needs.
        let asked = |class: &Class| {
            let own = if workflow.spreads(task) { width.min(class.cores) } else { width };
            pools.demands_met(workflow, task, (class.host, own, width))
        };
        let computing: Vec<&Class> = self.classes.iter().filter(|c| c.cores > 0).collect();
        let met: Vec<Vec<(String, bool)>> = computing.iter().map(|c| asked(c)).collect();
        let shown = pools.describe(workflow, task, width);
        let names: Vec<String> = met.first().into_iter().flatten().map(|m| m.0.clone()).collect();
        for (at, name) in names.iter().enumerate() {
            if met.iter().any(|met| met[at].1) {
                continue;
            }
            let needs = shown.iter().find(|(known, _)| known == name).map_or("", |(_, text)| text);
            let why = match pools.most_of(hosts, name) {
                Some(most) => format!("it needs {needs} of {name}, the most there is is {most}"),
                None => format!("it needs {needs} of {name}, there is none"),
            };
            return (Unmet::Pool(name.clone()), why);
        }
        let longest = computing.iter().map(|class| class.window).fold(0.0, f64::max);
        let seconds = (0..self.classes()).filter(|c| self.classes[*c].cores > 0);
        let seconds = seconds.map(|c| (self.unlimited(workflow, task, c), self.classes[c].window));
        if seconds.clone().all(|(seconds, window)| approx::gt(seconds, window)) {
            let least = seconds.map(|s| s.0).fold(f64::INFINITY, f64::min);
            let why = format!("it takes {least} s at least, the longest window has {longest} s");
            return (Unmet::Window, why);
        }
        let mut parts = vec![format!("{width} core{}", if width == 1 { "" } else { "s" })];
        parts.extend(shown.iter().map(|(name, text)| format!("{text} of {name}")));
        if longest.is_finite() {
            parts.push("a window that is long enough".to_string());
        }
        let why = format!("no {what} has this combination: {}", parts.join(", "));
        (Unmet::Combination, why)
    }

    pub(super) fn classes(&self) -> usize {
        self.classes.len()
    }

    pub(super) fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Whether machines of a class hold a task at its least width, alone or, where it spreads, several
    /// of them.
    fn fits(&self, workflow: &Workflow, pools: &Pools, task: TaskId, class: usize) -> bool {
        self.fits_wide(workflow, pools, task, (class, workflow.width(task).0))
    }

    fn fits_wide(
        &self,
        workflow: &Workflow,
        pools: &Pools,
        task: TaskId,
        (class, width): (usize, u32),
    ) -> bool {
        let class = &self.classes[class];
        if width <= class.cores && pools.fit(workflow, task, (class.host, width, width)) {
            return true;
        }
        if !workflow.spreads(task) || width > class.cluster || class.cores == 0 {
            return false;
        }
        // The most cores that one of the machines can give.
        let holds = |own: &u32| pools.fit(workflow, task, (class.host, *own, width));
        let most = (1..=class.cores.min(width)).rev().find(holds).unwrap_or(0);
        u64::from(most) * u64::from(class.cluster / class.cores) >= u64::from(width)
    }

    /// Seconds at least width, whether the task fits or not.
    #[inline]
    pub(super) fn unlimited(&self, workflow: &Workflow, task: TaskId, class: usize) -> f64 {
        let alone = match workflow.cost_table() {
            Some(table) if self.tabled => {
                let class = &self.classes[class];
                table.row(task)[class.column] / class.share
            }
            _ => workflow.work(task) / self.classes[class].speed,
        };
        if alone.is_nan() {
            return f64::INFINITY; // no work on a machine that is gone: it cannot be done there
        }
        let (least, _) = workflow.width(task);
        if least == 1 { alone } else { alone * workflow.speedup(task).factor(least) }
    }

    #[inline]
    pub(super) fn exec(&self, problem: &Problem<'_>, task: TaskId, class: usize) -> f64 {
        let workflow = problem.workflow;
        let seconds = self.unlimited(workflow, task, class);
        if self.limited
            && (!self.fits(workflow, &problem.pools, task, class)
                || approx::gt(seconds, self.classes[class].window))
        {
            return f64::INFINITY;
        }
        seconds
    }

    /// Seconds on more than the least number of processors; infinite where so wide a task does not
    /// fit.
    pub(super) fn exec_wide(
        &self,
        problem: &Problem<'_>,
        task: TaskId,
        class: usize,
        width: u32,
    ) -> f64 {
        let workflow = problem.workflow;
        let (least, _) = workflow.width(task);
        let speedup = workflow.speedup(task);
        if !self.limited {
            return self.exec(problem, task, class)
                * (speedup.factor(width) / speedup.factor(least));
        }
        let seconds = self.unlimited(workflow, task, class);
        let seconds = seconds * (speedup.factor(width) / speedup.factor(least));
        let fits = self.fits_wide(workflow, &problem.pools, task, (class, width))
            && approx::le(seconds, self.classes[class].window);
        if fits { seconds } else { f64::INFINITY }
    }

    #[inline]
    pub(super) fn row<'b>(
        &'b self,
        problem: &Problem<'_>,
        task: TaskId,
        buffer: &'b mut Vec<f64>,
    ) -> &'b [f64] {
        let workflow = problem.workflow;
        buffer.clear();
        match &self.related {
            Some(related) => {
                let work = workflow.work(task);
                buffer.extend(related.speeds.iter().map(|speed| work / speed));
                let (least, _) = workflow.width(task);
                if least > 1 {
                    let factor = workflow.speedup(task).factor(least);
                    buffer.iter_mut().for_each(|seconds| *seconds *= factor);
                }
            }
            None => buffer.extend((0..self.classes()).map(|c| self.exec(problem, task, c))),
        }
        buffer
    }

    pub(super) fn mean(&self, problem: &Problem<'_>, task: TaskId) -> f64 {
        let workflow = problem.workflow;
        if let Some(related) = &self.related {
            let (least, _) = workflow.width(task);
            let factor = if least == 1 { 1.0 } else { workflow.speedup(task).factor(least) };
            return workflow.work(task) * related.mean_inverse * factor;
        }
        let (mut sum, mut count) = (0.0, 0u32);
        for (class, &size) in self.sizes.iter().enumerate() {
            let seconds = self.exec(problem, task, class);
            if seconds.is_finite() {
                sum += seconds * f64::from(size);
                count += size;
            }
        }
        sum / f64::from(count.max(1))
    }

    pub(super) fn median(&self, problem: &Problem<'_>, task: TaskId) -> f64 {
        let mut times: Vec<(f64, u32)> = (0..self.classes())
            .map(|c| (self.exec(problem, task, c), self.sizes[c]))
            .filter(|(t, _)| t.is_finite())
            .collect();
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        let count: u32 = times.iter().map(|t| t.1).sum();
        let at = |position: u32| {
            let mut before = 0;
            for &(seconds, size) in &times {
                before += size;
                if position < before {
                    return seconds;
                }
            }
            0.0
        };
        if count == 0 {
            return 0.0;
        }
        (at((count - 1) / 2) + at(count / 2)) / 2.0
    }
}

/// Per host: a number for the capacities that tasks may ask for; empty where hosts do not differ in
/// them.
fn shapes(workflow: &Workflow, platform: &Platform, pools: &Pools) -> Vec<u32> {
    if !(workflow.has_demands() || pools.has_windows()) || !platform.has_resources() {
        return Vec::new();
    }
    let mut known: HashMap<(String, Vec<u32>), u32> = HashMap::new();
    let mut around: Vec<Vec<u32>> = vec![Vec::new(); platform.hosts().len()];
    for (number, shared) in platform.zone_resources().iter().enumerate() {
        shared.hosts.iter().for_each(|host| around[host.index()].push(number as u32));
    }
    let shape = |(host, zones): (&Host, Vec<u32>)| {
        let own = host.resources.as_ref().map_or(String::new(), |own| format!("{own:?}"));
        let next = known.len() as u32;
        *known.entry((own, zones)).or_insert(next)
    };
    platform.hosts().iter().zip(around).map(shape).collect()
}

/// Returns the column of the table that each host uses: that of its own name, its architecture, its
/// class, or its cluster. A host without cores needs none.
pub(crate) fn columns_of_hosts(
    table: &CostTable,
    platform: &Platform,
) -> Result<Vec<usize>, ProblemError> {
    let position: HashMap<&str, usize> =
        table.columns.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
    let column_of = |host: &Host| {
        let zone = &platform.zone(host.zone).name;
        let class = &platform.class(host.class).name;
        let names = [Some(&host.name), host.arch.as_ref(), Some(class), Some(zone)];
        let found = names.into_iter().flatten().find_map(|name| position.get(&**name).copied());
        found.or((host.cores == 0).then_some(0))
    };
    let columns: Vec<Option<usize>> = platform.hosts().iter().map(column_of).collect();
    let known = |(host, column): (&Host, &Option<usize>)| host.cores > 0 && column.is_some();
    let by_name = platform.hosts().iter().all(|host| host.arch.is_none());
    if by_name && !platform.hosts().iter().zip(&columns).any(known) {
        let hosts = platform.hosts().iter().filter(|h| h.cores > 0);
        let hosts = hosts.map(|h| h.name.to_string()).collect();
        return Err(ProblemError::ColumnsDiffer { columns: table.columns.clone(), hosts });
    }
    let missing = |index: usize| {
        let host = &platform.hosts()[index];
        let name = host.name.to_string();
        match &host.arch {
            None => ProblemError::HostWithoutColumn { host: name },
            Some(arch) => ProblemError::UnknownArchitecture {
                host: name,
                arch: arch.to_string(),
                columns: table.columns.clone(),
            },
        }
    };
    columns.into_iter().enumerate().map(|(i, c)| c.ok_or_else(|| missing(i))).collect()
}
