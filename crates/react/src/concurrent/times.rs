//! Cached times and costs of tasks on each kind of machine.

use crate::situation::Situation;
use slackline_model::{HostId, Problem, ProcId, TaskId};

/// Seconds and money of every task.
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    /// Per host: its kind, machines of one speed and price.
    kind_of: Vec<u32>,
    /// Per kind: money for a second of one processor.
    price: Vec<f64>,
    /// Seconds by task and kind, also those for reading where data lie on a store.
    seconds: Vec<f64>,
    /// Per task: mean over the processors it fits on.
    pub(super) mean: Vec<f64>,
    /// Per task: least over the kinds.
    pub(super) least: Vec<f64>,
    /// Per task: least and most money over the kinds.
    pub(super) cheapest: Vec<f64>,
    pub(super) dearest: Vec<f64>,
}

impl Times {
    /// Learns the tasks that were not known before; all, when machines have changed.
    pub(super) fn learn(&mut self, problem: &Problem<'_>, now: &Situation, again: bool) {
        if again || self.kind_of.is_empty() {
            *self = Times::default();
            self.tell_kinds(problem);
        }
        let kinds = self.price.len();
        for task in (self.mean.len()..problem.tasks()).map(TaskId::new) {
            let reading = now.reading_seconds(problem, task);
            let width = f64::from(now.workflow.width(task).0);
            let first = self.seconds.len();
            self.seconds.resize(first + kinds, f64::INFINITY);
            for host in problem.platform().host_ids() {
                let kind = self.kind_of[host.index()] as usize;
                let proc = problem.procs_of(host).next().map(ProcId);
                if let Some(proc) = proc.filter(|_| self.seconds[first + kind].is_infinite()) {
                    self.seconds[first + kind] = reading + problem.exec_on(task, proc);
                }
            }
            let row = self.seconds[first..].iter().zip(&self.price);
            let fits = || row.clone().filter(|(s, _)| s.is_finite());
            let costs = || fits().map(|(s, price)| s * price * width);
            self.least.push(fits().map(|(s, _)| *s).fold(f64::INFINITY, f64::min));
            self.cheapest.push(costs().fold(f64::INFINITY, f64::min));
            self.dearest.push(costs().fold(0.0, f64::max));
            self.mean.push(reading + problem.mean_exec(task));
        }
    }

    fn tell_kinds(&mut self, problem: &Problem<'_>) {
        // Hosts without processors are kinds of their own, on which nothing ever ends.
        let mut known: Vec<(Option<usize>, u64)> = Vec::new();
        for host in problem.platform().host_ids() {
            let price = problem.platform().host(host).price;
            let first = problem.procs_of(host).next().map(ProcId);
            let key = (first.map(|proc| problem.class_of(proc)), price.to_bits());
            let kind = known.iter().position(|k| *k == key).unwrap_or_else(|| {
                known.push(key);
                self.price.push(price);
                known.len() - 1
            });
            self.kind_of.push(kind as u32);
        }
    }

    /// Seconds of a task on a host.
    #[inline]
    pub(super) fn seconds(&self, task: TaskId, host: HostId) -> f64 {
        self.seconds[task.index() * self.price.len() + self.kind_of[host.index()] as usize]
    }

    /// Money for a second of one processor of a host.
    #[inline]
    pub(super) fn price(&self, host: HostId) -> f64 {
        self.price[self.kind_of[host.index()] as usize]
    }
}
