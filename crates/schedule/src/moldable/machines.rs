//! The clusters of a problem: where a task may be as wide as what.

use crate::registry::PlanError;
use slackline_model::{ClassId, HostId, Problem, ProcId, TaskId};
use std::collections::HashMap;

/// Equal machines behind one switch: a class of the platform. No task leaves its cluster.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    /// Name of the class.
    pub(crate) name: String,
    /// Its processors that can be used, in order.
    pub(crate) procs: Vec<ProcId>,
    /// Its hosts with the number of such processors.
    pub(crate) hosts: Vec<(HostId, u32)>,
    /// Cost class of all of them.
    class: usize,
}

impl Cluster {
    /// Number of processors.
    pub(crate) fn size(&self) -> usize {
        self.procs.len()
    }
}

/// The clusters of a problem and how wide a task may be.
#[derive(Clone, Debug)]
pub(crate) struct Machines<'a, 'p> {
    pub(crate) problem: &'a Problem<'p>,
    pub(crate) clusters: Vec<Cluster>,
    /// No task gets more processors.
    limit: u32,
}

impl<'a, 'p> Machines<'a, 'p> {
    /// The machines that can be used, in the order of their first processor; tasks at most
    /// `limit` wide.
    pub(crate) fn new(problem: &'a Problem<'p>, limit: Option<usize>) -> Result<Self, PlanError> {
        let mut known: HashMap<(ClassId, usize), usize> = HashMap::new();
        let mut clusters: Vec<Cluster> = Vec::new();
        for proc in problem.proc_ids().filter(|&p| problem.available_from(p).is_finite()) {
            let host = problem.host_of(proc);
            let id = problem.platform().host(host).class;
            let class = problem.class_of(proc);
            let at = *known.entry((id, class)).or_insert_with(|| {
                let name = problem.platform().class(id).name.to_string();
                clusters.push(Cluster { name, procs: Vec::new(), hosts: Vec::new(), class });
                clusters.len() - 1
            });
            let cluster = &mut clusters[at];
            cluster.procs.push(proc);
            match cluster.hosts.last_mut() {
                Some((last, cores)) if *last == host => *cores += 1,
                _ => cluster.hosts.push((host, 1)),
            }
        }
        let limit = limit.map_or(u32::MAX, |limit| u32::try_from(limit).unwrap_or(u32::MAX));
        let machines = Machines { problem, clusters, limit };
        for task in crate::list::unfinished(problem) {
            if !(0..machines.clusters.len()).any(|c| machines.widths(task, c).is_some()) {
                let task = problem.workflow().task_name(task).to_string();
                return Err(PlanError::Nowhere { task });
            }
        }
        Ok(machines)
    }

    /// The machines of a platform with one cluster; an error for methods that know only one.
    pub(crate) fn single(
        problem: &'a Problem<'p>,
        limit: Option<usize>,
        algorithm: &'static str,
    ) -> Result<Self, PlanError> {
        let machines = Machines::new(problem, limit)?;
        if machines.clusters.len() > 1 {
            let names: Vec<&str> = machines.clusters.iter().map(|c| c.name.as_str()).collect();
            let why = format!(
                "it needs one cluster of equal machines, this platform has {} ({})",
                names.len(),
                shortened(&names)
            );
            return Err(PlanError::Unsupported { algorithm, why });
        }
        Ok(machines)
    }

    /// Only some processors of the first cluster.
    pub(crate) fn only(&self, procs: &[ProcId]) -> Machines<'a, 'p> {
        let mut cluster = self.clusters[0].clone();
        cluster.procs = procs.to_vec();
        cluster.hosts.clear();
        for &proc in procs {
            let host = self.problem.host_of(proc);
            match cluster.hosts.last_mut() {
                Some((last, cores)) if *last == host => *cores += 1,
                _ => cluster.hosts.push((host, 1)),
            }
        }
        Machines { problem: self.problem, clusters: vec![cluster], limit: self.limit }
    }

    /// Least and largest width of a task in a cluster; none where it cannot run.
    pub(crate) fn widths(&self, task: TaskId, cluster: usize) -> Option<(u32, u32)> {
        let workflow = self.problem.workflow();
        let cluster = &self.clusters[cluster];
        let (least, most) = workflow.width(task);
        let room = match workflow.spreads(task) {
            true => cluster.procs.len() as u32,
            false => cluster.hosts.iter().map(|host| host.1).max().unwrap_or(0),
        };
        // A limit below what the task needs at least is none for it.
        let most = most.min(room).min(self.limit.max(least));
        let fits = self.problem.exec(task, cluster.class).is_finite();
        (fits && least <= most).then_some((least, most))
    }

    /// Seconds of a task on so many processors of a cluster.
    pub(crate) fn seconds(&self, task: TaskId, cluster: usize, width: u32) -> f64 {
        self.problem.exec_wide(task, self.clusters[cluster].class, width)
    }

    /// Seconds that the tasks which fit everywhere take one after the other on one processor of a
    /// cluster: how slow it is.
    pub(crate) fn pace(&self, cluster: usize) -> f64 {
        let clusters = 0..self.clusters.len();
        let fits = |t: TaskId| clusters.clone().all(|c| self.widths(t, c).is_some());
        let alone = |t: TaskId| self.seconds(t, cluster, self.problem.workflow().width(t).0);
        let total: f64 =
            crate::list::unfinished(self.problem).filter(|&t| fits(t)).map(alone).sum();
        if total > 0.0 { total } else { 1.0 }
    }

    /// Number of processors.
    pub(crate) fn size(&self) -> usize {
        self.clusters.iter().map(Cluster::size).sum()
    }
}

/// The first names of a list.
fn shortened(names: &[&str]) -> String {
    const SHOWN: usize = 4;
    let more = if names.len() > SHOWN { ", ..." } else { "" };
    format!("{}{more}", names[..names.len().min(SHOWN)].join(", "))
}
