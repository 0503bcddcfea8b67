//! Knowledge of run times that a planner or policy has, set independently of the actual ones.

use super::{Grain, Scenario, ScenarioError, Truth, Wrong};
use crate::platform::Platform;
use crate::problem::{Problem, ProblemError};
use crate::workflow::{CostTable, Workflow, WorkflowError};
use crate::{FileId, HostId, ProcId, TaskId};
use std::sync::Arc;
use thiserror::Error;

/// Degree of knowledge about run times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Knowledge {
    /// The run times as they will really be.
    Exact,
    /// The estimates that the workflow states, with the errors of the scenario.
    #[default]
    Estimates,
    /// Of every kind of task the mean run time on every machine.
    KindMeans,
    /// Only that there are tasks: each counts as one second on a machine of mean speed.
    Nothing,
}

/// The reason why the estimates of a scenario cannot be computed.
#[derive(Clone, Debug, Error, PartialEq)]
#[allow(missing_docs)] // the messages of the causes say it
pub enum KnowledgeError {
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    #[error(transparent)]
    Problem(#[from] ProblemError),
    #[error(transparent)]
    Workflow(#[from] WorkflowError),
}

impl Scenario {
    /// The workflow with the estimates that a planner sees, the same one where they are as stated.
    /// Its structure is always known, the sizes of files as it states them unless all is known
    /// exactly.
    pub fn known(
        &self,
        workflow: &Arc<Workflow>,
        platform: &Platform,
        knowledge: Knowledge,
    ) -> Result<Arc<Workflow>, KnowledgeError> {
        let as_stated = match knowledge {
            Knowledge::Exact => self.truth_is_stated(),
            Knowledge::Estimates => self.errors.wrong == Wrong::Actual,
            Knowledge::KindMeans | Knowledge::Nothing => false,
        };
        if as_stated {
            return Ok(Arc::clone(workflow));
        }
        let told = Told {
            problem: Problem::at_peak(workflow, platform)?,
            truth: self.truth(workflow, platform)?,
            mean_speed: mean_speed(platform),
        };
        // One column per class of machines where hosts of a class never differ.
        let apart = workflow.cost_table().is_some()
            || self.errors.per == Grain::TaskAndHost
            || self.actuals.iter().any(|a| a.host.is_some());
        let computes = |host: &HostId| platform.host(*host).cores > 0;
        let (columns, hosts): (Vec<String>, Vec<HostId>) = if apart {
            let hosts = platform.host_ids().filter(computes);
            hosts.map(|h| (platform.host(h).name.to_string(), h)).unzip()
        } else {
            let used = platform.classes().iter().filter_map(|c| Some((c, *c.hosts.first()?)));
            let used = used.filter(|(_, host)| computes(host));
            used.map(|(class, host)| (class.name.to_string(), host)).unzip()
        };
        let mut table = CostTable { columns, seconds: Vec::new() };
        match knowledge {
            // As measured: by the columns of the workflow, however many hosts there are.
            Knowledge::Exact if self.actuals.is_empty() && self.measured.is_some() => {
                table = self.measured.as_ref().map_or(table, |m| m.seconds.clone());
            }
            Knowledge::KindMeans => told.kind_means(&hosts, &mut table.seconds),
            _ => {
                for task in workflow.tasks() {
                    let seconds = hosts.iter().map(|&host| match knowledge {
                        Knowledge::Nothing => told.mean_speed / platform.host(host).speed,
                        Knowledge::Exact => told.actual(task, host),
                        _ => told.truth.estimated_seconds(task, host, told.stated(task, host)),
                    });
                    table.seconds.extend(seconds);
                }
            }
        }
        let mut builder = workflow.reopen()?;
        builder.set_cost_table(table);
        if knowledge == Knowledge::Exact {
            for file in workflow.files() {
                if let Some(bytes) = told.truth.stated_size(file) {
                    builder.set_file_bytes(file, bytes)?;
                }
            }
        }
        Ok(Arc::new(builder.build()?))
    }

    fn truth_is_stated(&self) -> bool {
        self.actuals.is_empty()
            && self.sizes.is_empty()
            && self.measured.is_none()
            && (self.errors.wrong == Wrong::Estimate
                || self.errors.compute == super::ErrorLaw::Exact)
    }
}

fn mean_speed(platform: &Platform) -> f64 {
    let speeds: Vec<f64> =
        platform.hosts().iter().filter(|h| h.cores > 0).map(|h| h.speed).collect();
    speeds.iter().sum::<f64>() / speeds.len().max(1) as f64
}

/// Run times as they are stated and as they are.
struct Told<'a> {
    problem: Problem<'a>,
    truth: Truth,
    mean_speed: f64,
}

impl Told<'_> {
    /// Seconds of a task at its least width on a host, whether it fits there or not.
    fn stated(&self, task: TaskId, host: HostId) -> f64 {
        let first = ProcId(self.problem.procs_of(host).start);
        let seconds = self.problem.exec_on(task, first);
        if seconds.is_finite() {
            return seconds;
        }
        self.problem.workflow().work(task) / self.problem.platform().host(host).speed
    }

    fn actual(&self, task: TaskId, host: HostId) -> f64 {
        self.truth.actual_seconds(task, host, self.stated(task, host))
    }

    fn kind_means(&self, hosts: &[HostId], table: &mut Vec<f64>) {
        let workflow = self.problem.workflow();
        let kinds = workflow.kinds();
        let mut sums = vec![0.0; kinds * hosts.len()];
        let mut count = vec![0.0f64; kinds];
        for task in workflow.tasks() {
            let kind = workflow.kind(task).index();
            count[kind] += 1.0;
            for (column, &host) in hosts.iter().enumerate() {
                sums[kind * hosts.len() + column] += self.actual(task, host);
            }
        }
        for task in workflow.tasks() {
            let kind = workflow.kind(task).index();
            let row = kind * hosts.len()..(kind + 1) * hosts.len();
            table.extend(sums[row].iter().map(|sum| sum / count[kind]));
        }
    }
}

impl Truth {
    /// Bytes of a file that really move where its workflow says `stated`.
    pub fn actual_file_bytes(&self, workflow: &Workflow, file: FileId, stated: f64) -> f64 {
        if let Some(bytes) = self.stated_size(file) {
            return bytes;
        }
        let reader = workflow.consumers(file).next();
        let edge = workflow.producer(file).zip(reader).and_then(|(producer, reader)| {
            workflow.successors(producer).find(|(child, _)| *child == reader).map(|(_, e)| e)
        });
        edge.map_or(stated, |edge| self.actual_bytes(edge, stated))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::{HostSpec, PlatformBuilder};
    use crate::scenario::{ErrorLaw, EstimateErrors};
    use crate::{Task, WorkflowBuilder};

    fn setting() -> (Workflow, Platform) {
        let mut b = WorkflowBuilder::new("w");
        for (name, kind, work) in [("a", "big", 8.0), ("b", "big", 4.0), ("c", "small", 2.0)] {
            b.add_task(Task::new(name, work).of_kind(kind)).unwrap();
        }
        let mut p = PlatformBuilder::new("p");
        let root = p.root().unwrap();
        for (name, speed) in [("slow", 1.0), ("fast", 3.0)] {
            p.add_host(root, HostSpec::new(name, speed)).unwrap();
        }
        (b.build().unwrap(), p.build().unwrap())
    }

    fn told(scenario: &Scenario, knowledge: Knowledge) -> Vec<Vec<f64>> {
        let (w, p) = setting();
        let known = scenario.known(&Arc::new(w), &p, knowledge).unwrap();
        let problem = Problem::new(&known, &p).unwrap();
        let row = |t| problem.proc_ids().map(|p| problem.exec_on(t, p)).collect();
        known.tasks().map(row).collect()
    }

    #[test]
    fn each_kind_of_knowledge_says_what_it_knows() {
        let stated = [[8.0, 8.0 / 3.0], [4.0, 4.0 / 3.0], [2.0, 2.0 / 3.0]];
        let compute = ErrorLaw::Bias { factor: 3.0 };
        let wrong = |wrong| Scenario {
            errors: EstimateErrors { compute, wrong, per: Grain::Task, ..Default::default() },
            ..Scenario::default()
        };
        // The truth is three times what the workflow says.
        let slow = wrong(Wrong::Actual);
        assert_eq!(told(&slow, Knowledge::Estimates), stated);
        assert_eq!(told(&slow, Knowledge::Exact), [[24.0, 8.0], [12.0, 4.0], [6.0, 2.0]]);
        assert_eq!(told(&slow, Knowledge::KindMeans), [[18.0, 6.0], [18.0, 6.0], [6.0, 2.0]]);
        assert_eq!(told(&slow, Knowledge::Nothing), [[2.0, 2.0 / 3.0]; 3]);
        // The workflow states the actual times, the estimates are three times as much.
        let told_wrong = wrong(Wrong::Estimate);
        assert_eq!(told(&told_wrong, Knowledge::Exact), stated);
        let estimates = told(&told_wrong, Knowledge::Estimates);
        assert_eq!(estimates, [[24.0, 8.0], [12.0, 4.0], [6.0, 2.0]]);
    }

    #[test]
    fn what_is_as_stated_is_not_copied() {
        let (w, p) = setting();
        let w = Arc::new(w);
        for knowledge in [Knowledge::Estimates, Knowledge::Exact] {
            assert!(Arc::ptr_eq(&w, &Scenario::default().known(&w, &p, knowledge).unwrap()));
        }
    }

    #[test]
    fn errors_of_single_hosts_are_told_host_by_host() {
        let compute = ErrorLaw::Uniform { bound: 0.5 };
        let errors = EstimateErrors { compute, wrong: Wrong::Estimate, ..Default::default() };
        let rows = told(&Scenario { errors, seed: 3, ..Scenario::default() }, Knowledge::Estimates);
        let factors: Vec<f64> = rows.iter().map(|r| r[0] / r[1]).collect();
        assert!(factors.iter().all(|f| (f - 3.0).abs() > 1e-6), "{factors:?}");
    }
}
