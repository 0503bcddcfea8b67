//! Execution times per cost class: work over speed, or a table for unrelated machines.

use super::ProblemError;
use crate::ids::{ClassId, TaskId};
use crate::platform::{Host, Platform};
use crate::workflow::{CostTable, Workflow};
use std::collections::HashMap;

/// Machines that no task tells apart.
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
    /// Memory of one machine.
    memory: f64,
    /// Column of the workflow's table.
    column: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Costs {
    classes: Vec<Class>,
    sizes: Vec<u32>,
    tabled: bool,
    /// Some task is wider than one or needs memory, and some machine is limited.
    limited: bool,
    /// Where time is work over speed for every task on every class: the speeds.
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
    ) -> Result<(Costs, Vec<u32>), ProblemError> {
        let columns = match workflow.cost_table() {
            Some(table) => Some(columns_of_hosts(table, platform)?),
            None => None,
        };
        let mut known: HashMap<(u64, u32, u64, usize, u64), u32> = HashMap::new();
        let mut clusters: HashMap<(u32, ClassId), u32> = HashMap::new();
        let (mut classes, mut sizes, mut class_of) = (Vec::new(), Vec::new(), Vec::new());
        let spreads = workflow.has_spread_tasks();
        let mut last = None; // neighbours are mostly alike
        for (index, host) in platform.hosts().iter().enumerate() {
            let column = columns.as_ref().map_or(0, |c| c[index]);
            let memory = host.memory.unwrap_or(f64::INFINITY);
            let share = availability.get(index).copied().unwrap_or(1.0).clamp(0.0, 1.0);
            let key = (host.speed.to_bits(), host.cores, memory.to_bits(), column, share.to_bits());
            let class = match last {
                Some((same, class)) if same == key => class,
                _ => *known.entry(key).or_insert_with(|| {
                    let (speed, cores) = (host.speed * share, host.cores);
                    classes.push(Class { speed, share, cores, cluster: 0, memory, column });
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
        let least_memory = computing().map(|c| c.memory).fold(f64::INFINITY, f64::min);
        let demands = workflow.demands();
        let limited = demands.width > least_cores || demands.memory > least_memory;
        let tabled = columns.is_some();
        let plain = !tabled && !limited;
        let related = Related::of(&classes, &sizes).filter(|_| plain);
        let costs = Costs { classes, sizes, tabled, limited, related };
        if limited {
            costs.check_fit(workflow, platform.hosts())?;
        }
        Ok((costs, class_of))
    }

    fn check_fit(&self, workflow: &Workflow, hosts: &[Host]) -> Result<(), ProblemError> {
        for task in workflow.tasks() {
            if (0..self.classes()).any(|c| self.fits(workflow, task, c)) {
                continue;
            }
            let (width, memory) = (workflow.width(task).0, workflow.memory(task));
            let (what, cores) = match workflow.spreads(task) {
                true => ("cluster", self.classes.iter().map(|c| c.cluster).max()),
                false => ("host", hosts.iter().map(|h| h.cores).max()),
            };
            let cores = cores.unwrap_or(0);
            let why = if width > cores {
                format!("it needs {width} cores, the largest {what} has {cores}")
            } else {
                let needs = crate::units::fmt_bytes(memory);
                format!("no {what} has both {width} cores and {needs} of memory")
            };
            let task = workflow.task_name(task).to_string();
            return Err(ProblemError::FitsNowhere { task, why });
        }
        Ok(())
    }

    pub(super) fn classes(&self) -> usize {
        self.classes.len()
    }

    pub(super) fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    fn fits(&self, workflow: &Workflow, task: TaskId, class: usize) -> bool {
        let class = &self.classes[class];
        let cores = if workflow.spreads(task) { class.cluster } else { class.cores };
        workflow.width(task).0 <= cores && workflow.memory(task) <= class.memory
    }

    #[inline]
    pub(super) fn exec(&self, workflow: &Workflow, task: TaskId, class: usize) -> f64 {
        if self.limited && !self.fits(workflow, task, class) {
            return f64::INFINITY;
        }
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
    pub(super) fn row<'b>(
        &'b self,
        workflow: &Workflow,
        task: TaskId,
        buffer: &'b mut Vec<f64>,
    ) -> &'b [f64] {
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
            None => buffer.extend((0..self.classes()).map(|c| self.exec(workflow, task, c))),
        }
        buffer
    }

    pub(super) fn mean(&self, workflow: &Workflow, task: TaskId) -> f64 {
        if let Some(related) = &self.related {
            let (least, _) = workflow.width(task);
            let factor = if least == 1 { 1.0 } else { workflow.speedup(task).factor(least) };
            return workflow.work(task) * related.mean_inverse * factor;
        }
        let (mut sum, mut count) = (0.0, 0u32);
        for (class, &size) in self.sizes.iter().enumerate() {
            let seconds = self.exec(workflow, task, class);
            if seconds.is_finite() {
                sum += seconds * f64::from(size);
                count += size;
            }
        }
        sum / f64::from(count.max(1))
    }

    pub(super) fn median(&self, workflow: &Workflow, task: TaskId) -> f64 {
        let mut times: Vec<(f64, u32)> = (0..self.classes())
            .map(|c| (self.exec(workflow, task, c), self.sizes[c]))
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

/// Which column of the table each host uses: its own name, its architecture, its class, or its
/// cluster. A host without cores needs none.
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
