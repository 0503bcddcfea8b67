//! The unfinished part of a problem as flat arrays, for methods that evaluate it a million times:
//! tasks numbered in topological order, processors grouped into *banks*.
//!
//! A bank is a set of equal processors between which data moves at no cost: the cores of a host,
//! or all equal hosts where the network is free. Which core of a bank runs a task makes no
//! difference to anything but that core, so that searches decide only about banks.

mod network;

use crate::registry::PlanError;
use crate::retime;
use network::FlatNetwork;
use slackline_model::{HostId, Payload, Placement, Problem, ProcId, Schedule, TaskId, approx};
use std::collections::HashMap;
use std::ops::Range;

/// Compressed rows of `(task, data)`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    start: Vec<u32>,
    items: Vec<(u32, Payload)>,
}

impl Links {
    fn push_row(&mut self, row: impl Iterator<Item = (u32, Payload)>) {
        if self.start.is_empty() {
            self.start.push(0);
        }
        self.items.extend(row);
        self.start.push(self.items.len() as u32);
    }

    #[inline]
    pub(crate) fn of(&self, task: usize) -> &[(u32, Payload)] {
        &self.items[self.start[task] as usize..self.start[task + 1] as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }
}

/// The unfinished part of a problem. Variables of this type are named `compact`.
#[derive(Clone, Debug)]
pub(crate) struct FlatProblem {
    /// The unfinished tasks in topological order.
    pub(crate) tasks: Vec<TaskId>,
    /// Usable processors, by bank.
    pub(crate) procs: Vec<ProcId>,
    bank_start: Vec<u32>,
    bank_class: Vec<u32>,
    bank_group: Vec<u32>,
    /// When each core can take new work.
    pub(crate) avail: Vec<f64>,
    /// Certain lower bound of `avail`, per core: tasks fixed in the future leave room before them.
    pub(crate) certain: Vec<f64>,
    /// When the first core of each bank opens.
    pub(crate) open: Vec<f64>,
    /// Seconds per task and cost class at least width.
    exec: Vec<f64>,
    classes: usize,
    /// Processors per task.
    pub(crate) width: Vec<u32>,
    /// Tasks that other planners may run wider or across hosts.
    pub(crate) flexible: Vec<bool>,
    /// Release date per task, and not before its finished parents' end.
    pub(crate) release: Vec<f64>,
    /// Row of `arrivals` for tasks with finished parents or staged inputs.
    arrival_row: Vec<u32>,
    arrivals: Vec<f64>,
    pub(crate) parents: Links,
    pub(crate) children: Links,
    network: FlatNetwork,
    /// End of the last task that is fixed.
    pub(crate) past: f64,
    /// The arrays describe the problem fully: an optimum found on them is one of the problem.
    pub(crate) faithful: bool,
}

const NO_ROW: u32 = u32::MAX;

/// Whether some host alone has the processors and the memory for a task.
pub(crate) fn fits_one_host(problem: &Problem<'_>, task: TaskId) -> bool {
    problem.platform().host_ids().any(|host| problem.fits(task, host))
}

/// Refuses a task that needs several hosts, with the name of a method that knows only banks.
pub(crate) fn check_widths(
    problem: &Problem<'_>,
    algorithm: &'static str,
) -> Result<(), PlanError> {
    let workflow = problem.workflow();
    let too_wide = |t: &TaskId| problem.state().fixed(*t).is_none() && !fits_one_host(problem, *t);
    match workflow.tasks().find(too_wide) {
        None => Ok(()),
        Some(task) => {
            let (name, width) = (workflow.task_name(task), workflow.width(task).0);
            let why = format!(
                "task '{name}' needs {width} processors, more than a host that fits it has, and it gives \
                 tasks one host each"
            );
            Err(PlanError::Unsupported { algorithm, why })
        }
    }
}

impl FlatProblem {
    /// The unfinished part of a problem, with transfers as plans count them.
    pub(crate) fn new(problem: &Problem<'_>) -> Result<FlatProblem, PlanError> {
        FlatProblem::over(problem, FlatNetwork::planned(problem))
    }

    /// The arrays with the least time that any transfer takes in a run, as bounds need it.
    pub(crate) fn relaxed(problem: &Problem<'_>) -> Result<FlatProblem, PlanError> {
        FlatProblem::over(problem, FlatNetwork::relaxed(problem))
    }

    /// Whether transfers may take less in a run than in a plan.
    pub(crate) fn is_relaxed(problem: &Problem<'_>) -> bool {
        let several = problem.workflow().has_multi_file_edges();
        !FlatNetwork::planned(problem).equals(&FlatNetwork::relaxed(problem), several)
    }

    fn over(problem: &Problem<'_>, network: FlatNetwork) -> Result<FlatProblem, PlanError> {
        let workflow = problem.workflow();
        let state = problem.state();
        let tasks: Vec<TaskId> = workflow
            .topological_order()
            .iter()
            .copied()
            .filter(|&t| state.fixed(t).is_none())
            .collect();
        let mut local = vec![u32::MAX; workflow.len()];
        for (index, task) in tasks.iter().enumerate() {
            local[task.index()] = index as u32;
        }
        // Hosts with pools of their own are never interchangeable.
        let free = tasks.iter().all(|&t| workflow.width(t).1 == 1)
            && network_is_free(problem)
            && !problem.has_pools();
        let (avail, certain) = availability(problem);
        let mut compact = FlatProblem {
            procs: Vec::new(),
            bank_start: vec![0],
            bank_class: Vec::new(),
            bank_group: Vec::new(),
            avail: Vec::new(),
            certain: Vec::new(),
            open: Vec::new(),
            exec: Vec::with_capacity(tasks.len() * problem.classes()),
            classes: problem.classes(),
            width: tasks.iter().map(|&t| workflow.width(t).0).collect(),
            flexible: tasks.iter().map(|&t| workflow.width(t).1 > 1).collect(),
            release: tasks.iter().map(|&t| problem.release(t)).collect(),
            arrival_row: vec![NO_ROW; tasks.len()],
            arrivals: Vec::new(),
            parents: Links::default(),
            children: Links::default(),
            network,
            past: state.fixed.iter().flatten().map(|p| p.finish).fold(0.0, f64::max),
            faithful: true,
            tasks,
        };
        compact.add_banks(problem, free, (&avail, &certain));
        let mut row = Vec::new();
        for &task in &compact.tasks {
            let times = problem.exec_row(task, &mut row);
            let width = workflow.width(task).0 as usize;
            let fits = |s: usize| {
                times[compact.bank_class[s] as usize].is_finite() && compact.cores(s).len() >= width
            };
            if !(0..compact.banks()).any(fits) {
                let task = workflow.task_name(task).to_string();
                return Err(PlanError::Nowhere { task });
            }
            compact.exec.extend_from_slice(times);
        }
        for index in 0..compact.len() {
            let task = compact.tasks[index];
            let known = |(t, e): (TaskId, _)| {
                let l = local[t.index()];
                let data = FlatNetwork::payload(workflow, e);
                (l != u32::MAX).then_some((l, data))
            };
            compact.parents.push_row(workflow.predecessors(task).filter_map(known));
            compact.children.push_row(workflow.successors(task).filter_map(known));
            compact.add_arrivals(problem, index);
        }
        // Here tasks of no length wait for running ones, which the rules do not demand.
        let running = |(p, a): (&ProcId, &f64)| problem.available_from(*p) != *a;
        let waits =
            compact.exec.contains(&0.0) && compact.procs.iter().zip(&compact.avail).any(running);
        // Inputs that leave the origin in turn are known here as if each left alone.
        let queues = problem.has_staging() && problem.lanes().is_some();
        compact.faithful = !compact.flexible.contains(&true)
            && !waits
            && !queues
            && compact.avail.iter().zip(&compact.certain).all(|(a, b)| a == b);
        Ok(compact)
    }

    fn add_banks(&mut self, problem: &Problem<'_>, free: bool, dates: (&[f64], &[f64])) {
        let mut members: Vec<Vec<ProcId>> = Vec::new();
        let mut pools: HashMap<usize, usize> = HashMap::new();
        for host in 0..problem.platform().hosts().len() {
            let procs: Vec<ProcId> = problem
                .procs_of(HostId::new(host))
                .map(ProcId)
                .filter(|p| dates.0[p.index()].is_finite())
                .collect();
            let Some(&first) = procs.first() else { continue };
            let new = members.len();
            let pool =
                if free { *pools.entry(problem.class_of(first)).or_insert(new) } else { new };
            if pool == new {
                members.push(procs);
                self.bank_class.push(problem.class_of(first) as u32);
                self.bank_group.push(problem.group_of(first) as u32);
            } else {
                members[pool].extend(procs);
            }
        }
        for bank in members {
            self.open.push(bank.iter().map(|p| dates.0[p.index()]).fold(f64::INFINITY, f64::min));
            self.avail.extend(bank.iter().map(|p| dates.0[p.index()]));
            self.certain.extend(bank.iter().map(|p| dates.1[p.index()]));
            self.procs.extend(bank);
            self.bank_start.push(self.procs.len() as u32);
        }
    }

    /// When the data of finished parents and staged inputs are at each bank.
    fn add_arrivals(&mut self, problem: &Problem<'_>, index: usize) {
        let workflow = problem.workflow();
        let state = problem.state();
        let task = self.tasks[index];
        let fixed: Vec<_> =
            workflow.predecessors(task).filter_map(|(p, e)| Some((state.fixed(p)?, e))).collect();
        if fixed.is_empty() && problem.staged_inputs(task).is_empty() {
            return;
        }
        for (placement, _) in &fixed {
            self.release[index] = self.release[index].max(placement.finish);
        }
        self.arrival_row[index] = (self.arrivals.len() / self.banks()) as u32;
        for bank in 0..self.banks() {
            let proc = self.procs[self.cores(bank).start];
            let latest = if self.network.is_relaxed() {
                self.network.least_arrival(problem, task, problem.host_of(proc))
            } else {
                let staged = problem.staged_arrival(task, problem.host_of(proc));
                let arrivals = fixed.iter().map(|(placement, edge)| {
                    problem.edge_arrival(*edge, placement.finish, placement.procs(), &[proc])
                });
                arrivals.fold(staged, f64::max)
            };
            self.arrivals.push(latest);
        }
    }

    /// Number of unfinished tasks.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Number of banks.
    #[inline]
    pub(crate) fn banks(&self) -> usize {
        self.bank_class.len()
    }

    /// The cores of a bank.
    #[inline]
    pub(crate) fn cores(&self, bank: usize) -> Range<usize> {
        self.bank_start[bank] as usize..self.bank_start[bank + 1] as usize
    }

    /// Seconds of a task at a bank; infinite where it does not fit.
    #[inline]
    pub(crate) fn seconds(&self, task: usize, bank: usize) -> f64 {
        let seconds = self.exec[task * self.classes + self.bank_class[bank] as usize];
        if self.width[task] > 1 && self.cores(bank).len() < self.width[task] as usize {
            return f64::INFINITY;
        }
        seconds
    }

    /// Earliest start of a task at a bank as far as finished parents and releases go.
    #[inline]
    pub(crate) fn base(&self, task: usize, bank: usize) -> f64 {
        match self.arrival_row[task] {
            NO_ROW => self.release[task],
            row => self.release[task].max(self.arrivals[row as usize * self.banks() + bank]),
        }
    }

    /// Seconds to move data between two banks.
    #[inline]
    pub(crate) fn transfer(&self, data: Payload, from: usize, to: usize) -> f64 {
        if from == to {
            return 0.0;
        }
        self.network.seconds(data, self.bank_group[from] as usize, self.bank_group[to] as usize)
    }

    /// All pairs of banks see the same network.
    pub(crate) fn uniform(&self) -> bool {
        self.network.groups() == 1
    }

    /// Cost class of a bank.
    pub(crate) fn class(&self, bank: usize) -> usize {
        self.bank_class[bank] as usize
    }

    /// Returns whether two banks are interchangeable for all tasks as long as neither is used.
    pub(crate) fn alike(&self, a: usize, b: usize) -> bool {
        let cores = |s: usize| &self.avail[self.cores(s)];
        let pair = |from: usize, to: usize| {
            self.network.pair(self.bank_group[from] as usize, self.bank_group[to] as usize)
        };
        let mut others = (0..self.banks()).filter(|&s| s != a && s != b);
        let same_network = pair(a, b) == pair(b, a)
            && others.all(|s| pair(a, s) == pair(b, s) && pair(s, a) == pair(s, b));
        let same_times = (0..self.len()).all(|t| self.seconds(t, a) == self.seconds(t, b));
        let same_arrivals = (0..self.len()).all(|t| self.base(t, a) == self.base(t, b));
        cores(a) == cores(b) && same_times && same_arrivals && same_network
    }

    /// The schedule of the whole problem in which the unfinished tasks start at the given banks
    /// in the given order, each as early as the order allows.
    pub(crate) fn schedule(
        &self,
        problem: &Problem<'_>,
        order: &[u32],
        bank_of: &[u32],
    ) -> Schedule {
        let mut schedule = Schedule::start(problem);
        let mut avail = self.avail.clone();
        let mut finish = vec![0.0f64; self.len()];
        for &task in order {
            let t = task as usize;
            let bank = bank_of[t] as usize;
            let mut ready = self.base(t, bank);
            for &(parent, data) in self.parents.of(t) {
                let from = bank_of[parent as usize] as usize;
                ready = ready.max(finish[parent as usize] + self.transfer(data, from, bank));
            }
            let cores = self.cores(bank);
            let first = cores.start;
            let (mut start, chosen) = take_cores(&avail[cores], self.width[t] as usize, ready);
            let seconds = self.seconds(t, bank);
            if seconds == 0.0 && chosen.len() == 1 {
                // No length: beside whatever runs there.
                start = ready.max(self.open[bank]);
            }
            let end = start + seconds;
            finish[t] = end;
            for &core in chosen.iter().filter(|_| seconds > 0.0) {
                avail[first + core] = end;
            }
            let procs: Vec<ProcId> = chosen.iter().map(|&c| self.procs[first + c]).collect();
            schedule.place(self.tasks[t], Placement::wide(&procs, start, end));
        }
        if problem.has_staging() { retime::retimed(problem, &schedule) } else { schedule }
    }

    /// The order of starts and the banks of an existing schedule.
    pub(crate) fn read(&self, schedule: &Schedule) -> Option<(Vec<u32>, Vec<u32>)> {
        let mut bank_of_proc: HashMap<ProcId, u32> = HashMap::new();
        for bank in 0..self.banks() {
            for core in self.cores(bank) {
                bank_of_proc.insert(self.procs[core], bank as u32);
            }
        }
        let mut banks = Vec::with_capacity(self.len());
        let mut starts: Vec<f64> = Vec::with_capacity(self.len());
        for (index, &task) in self.tasks.iter().enumerate() {
            let placement = schedule.placement(task)?;
            let bank = *bank_of_proc.get(&placement.proc())?;
            // A task over several hosts has no bank.
            if self.seconds(index, bank as usize).is_infinite() {
                return None;
            }
            banks.push(bank);
            // A start that is rounded to before that of a parent of no length comes after it all the same.
            let parents = self.parents.of(index).iter().map(|&(parent, _)| starts[parent as usize]);
            let start = parents.fold(placement.start, f64::max);
            starts.push(start);
        }
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        // Equal starts: topological, so that a parent of no length stays before its child.
        order.sort_by(|&a, &b| starts[a as usize].total_cmp(&starts[b as usize]).then(a.cmp(&b)));
        Some((order, banks))
    }
}

/// Returns the start of a task on a bank and the cores it takes: of the cores free at `ready` those that became
/// free last, so that the least idle time is lost.
pub(crate) fn take_cores(avail: &[f64], width: usize, ready: f64) -> (f64, Vec<usize>) {
    let mut order: Vec<usize> = (0..avail.len()).collect();
    order.sort_by(|&a, &b| avail[a].total_cmp(&avail[b]).then(a.cmp(&b)));
    let start = ready.max(avail[order[width - 1]]);
    let free = order.iter().take_while(|&&c| avail[c] <= start).count();
    (start, order[free - width..free].to_vec())
}

/// Data moves between any two hosts at no cost.
fn network_is_free(problem: &Problem<'_>) -> bool {
    let network = problem.network();
    network.latency.iter().all(|&l| l == 0.0) && network.bandwidth.iter().all(|b| b.is_infinite())
}

/// Per processor: when it is free for planners, and when it could be free at the earliest.
pub(crate) fn availability(problem: &Problem<'_>) -> (Vec<f64>, Vec<f64>) {
    let mut avail: Vec<f64> = problem.proc_ids().map(|p| problem.available_from(p)).collect();
    let mut certain = avail.clone();
    for placement in problem.state().fixed.iter().flatten() {
        for proc in placement.procs() {
            let p = proc.index();
            if approx::le(placement.start, problem.available_from(*proc)) {
                certain[p] = certain[p].max(placement.finish);
            }
            avail[p] = avail[p].max(placement.finish);
        }
    }
    (avail, certain)
}
