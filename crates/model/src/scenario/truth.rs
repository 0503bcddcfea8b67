//! Actual run times of tasks, as opposed to the estimates of a planner.

use super::{ErrorLaw, Grain, Measured, Scenario, ScenarioError, Wrong};
use crate::platform::Platform;
use crate::problem::columns_of_hosts;
use crate::rng::stream;
use crate::workflow::Workflow;
use crate::{EdgeId, FileId, HostId, TaskId};
use rand::Rng;
use std::collections::HashMap;
use std::sync::Arc;

/// A scenario's run times for one workflow on one platform. Factors are functions of the seed
/// and the names' positions, not draws in turn: asking in another order changes nothing.
#[derive(Clone, Debug)]
pub struct Truth {
    seed: u64,
    errors: super::EstimateErrors,
    kinds: Vec<u32>,
    /// Numbers that follow the names of instances, where a workflow was unfolded: what is drawn for
    /// an instance does not depend on what else runs.
    named: Vec<u64>,
    /// Seconds fixed by the scenario; `u32::MAX` means every host.
    fixed: HashMap<(TaskId, u32), f64>,
    sizes: HashMap<FileId, f64>,
    /// Bytes that tasks use, and the part of their time after which they do.
    memory: HashMap<TaskId, (f64, f64)>,
    /// With the column of every host.
    measured: Option<(Arc<Measured>, Vec<usize>)>,
}

impl Scenario {
    /// The run times of a workflow's tasks.
    pub fn truth(&self, workflow: &Workflow, platform: &Platform) -> Result<Truth, ScenarioError> {
        self.check()?;
        let mut fixed = HashMap::with_capacity(self.actuals.len());
        let by_name: HashMap<&str, TaskId> = if self.actuals.is_empty() && self.memory.is_empty() {
            HashMap::new()
        } else {
            workflow.tasks().map(|t| (workflow.task_name(t), t)).collect()
        };
        for actual in &self.actuals {
            let task = by_name.get(actual.task.as_str()).copied();
            let task =
                task.ok_or_else(|| ScenarioError::UnknownTask { name: actual.task.clone() })?;
            let host = match &actual.host {
                None => u32::MAX,
                Some(name) => match platform.host_named(name) {
                    Some(host) => host.0,
                    None => {
                        return Err(ScenarioError::Unknown { kind: "host", name: name.clone() });
                    }
                },
            };
            if fixed.insert((task, host), actual.seconds).is_some() {
                let what = format!("the run time of '{}'", actual.task);
                return Err(ScenarioError::Twice { what });
            }
        }
        let mut memory = HashMap::with_capacity(self.memory.len());
        for used in &self.memory {
            let unknown = || ScenarioError::UnknownTask { name: used.task.clone() };
            let task = by_name.get(used.task.as_str()).copied().ok_or_else(unknown)?;
            if memory.insert(task, (used.bytes, used.at)).is_some() {
                return Err(ScenarioError::Twice {
                    what: format!("the memory of '{}'", used.task),
                });
            }
        }
        let kinds = workflow.tasks().map(|t| workflow.kind(t).0).collect();
        let sizes = self.file_sizes(workflow)?;
        let measured = match &self.measured {
            None => None,
            Some(measured) => {
                let elsewhere = |why: String| ScenarioError::MeasuredElsewhere { why };
                let rows = measured.seconds.seconds.len();
                if rows != measured.seconds.columns.len() * workflow.len()
                    || measured.bytes.len() != workflow.file_count()
                {
                    return Err(elsewhere("they are those of another workflow".into()));
                }
                let columns = columns_of_hosts(&measured.seconds, platform)
                    .map_err(|error| elsewhere(error.to_string()))?;
                Some((measured.clone(), columns))
            }
        };
        let named = if workflow.is_unfolded() {
            workflow.tasks().map(|t| number_of(workflow.task_name(t))).collect()
        } else {
            Vec::new()
        };
        let errors = self.errors;
        Ok(Truth { seed: self.seed, errors, kinds, named, fixed, sizes, memory, measured })
    }

    /// The inputs that are at other hosts than the origin's from the start.
    pub fn spread(
        &self,
        workflow: &Workflow,
        platform: &Platform,
    ) -> Result<Vec<(FileId, HostId)>, ScenarioError> {
        let mut found = Vec::with_capacity(self.copies.len());
        if self.copies.is_empty() {
            return Ok(found);
        }
        let by_name: HashMap<&str, FileId> =
            workflow.files().map(|f| (workflow.file_name(f), f)).collect();
        for copy in &self.copies {
            let file = by_name.get(copy.file.as_str()).copied();
            let file =
                file.ok_or_else(|| ScenarioError::UnknownFile { name: copy.file.clone() })?;
            if workflow.producer(file).is_some() {
                let what = format!("the copy of '{}'", copy.file);
                return Err(ScenarioError::Bad { what, why: "a task writes it during the run" });
            }
            let unknown = || ScenarioError::Unknown { kind: "host", name: copy.host.clone() };
            let host = platform.host_named(&copy.host).ok_or_else(unknown)?;
            let there = |&(f, h): &(FileId, HostId)| {
                f == file && platform.place_of(h) == platform.place_of(host)
            };
            if found.iter().any(there) {
                let what = format!("the copy of '{}' at '{}'", copy.file, copy.host);
                return Err(ScenarioError::Twice { what });
            }
            found.push((file, host));
        }
        Ok(found)
    }

    fn file_sizes(&self, workflow: &Workflow) -> Result<HashMap<FileId, f64>, ScenarioError> {
        let mut sizes = HashMap::with_capacity(self.sizes.len());
        if self.sizes.is_empty() {
            return Ok(sizes);
        }
        let by_name: HashMap<&str, FileId> =
            workflow.files().map(|f| (workflow.file_name(f), f)).collect();
        for size in &self.sizes {
            let file = by_name.get(size.file.as_str()).copied();
            let file =
                file.ok_or_else(|| ScenarioError::UnknownFile { name: size.file.clone() })?;
            if sizes.insert(file, size.bytes).is_some() {
                return Err(ScenarioError::Twice { what: format!("the size of '{}'", size.file) });
            }
        }
        Ok(sizes)
    }
}

impl Truth {
    /// Seconds that a task really takes on a host at availability 1, where the workflow's costs
    /// say `stated`.
    pub fn actual_seconds(&self, task: TaskId, host: HostId, stated: f64) -> f64 {
        let fixed = self.fixed.get(&(task, host.0)).or_else(|| self.fixed.get(&(task, u32::MAX)));
        match (fixed, &self.measured) {
            (Some(&seconds), _) => seconds,
            (None, Some((measured, columns))) => measured.seconds.row(task)[columns[host.index()]],
            (None, None) if self.errors.wrong == Wrong::Actual => stated * self.factor(task, host),
            (None, None) => stated,
        }
    }

    /// Bytes of memory that a task uses, and the part of its time after which it does, where that is
    /// said.
    pub fn actual_memory(&self, task: TaskId) -> Option<(f64, f64)> {
        self.memory.get(&task).copied()
    }

    /// The size of a file, where it is not as the workflow says.
    pub(super) fn stated_size(&self, file: FileId) -> Option<f64> {
        let measured = self.measured.as_ref().and_then(|(m, _)| m.bytes.get(file.index()));
        self.sizes.get(&file).or(measured).copied()
    }

    /// Seconds that a planner sees, where the workflow's costs say `stated`.
    pub fn estimated_seconds(&self, task: TaskId, host: HostId, stated: f64) -> f64 {
        match self.errors.wrong {
            Wrong::Actual => stated,
            Wrong::Estimate => stated * self.factor(task, host),
        }
    }

    /// Bytes that really move along an edge whose workflow says `stated`.
    pub fn actual_bytes(&self, edge: EdgeId, stated: f64) -> f64 {
        match self.errors.wrong {
            Wrong::Actual => stated * self.transfer_factor(edge),
            Wrong::Estimate => stated,
        }
    }

    /// Bytes that a planner sees.
    pub fn estimated_bytes(&self, edge: EdgeId, stated: f64) -> f64 {
        match self.errors.wrong {
            Wrong::Actual => stated,
            Wrong::Estimate => stated * self.transfer_factor(edge),
        }
    }

    /// The error factor of a task on a host.
    fn factor(&self, task: TaskId, host: HostId) -> f64 {
        let kind = self.kinds.get(task.index()).copied().unwrap_or(0);
        let number = self.named.get(task.index()).copied().unwrap_or(u64::from(task.0));
        let index = match self.errors.per {
            Grain::TaskAndHost => number << 32 | u64::from(host.0),
            Grain::Task => number,
            Grain::Kind => u64::from(kind),
        };
        self.errors.compute.factor(self.seed, "scenario/compute-error", index)
    }

    fn transfer_factor(&self, edge: EdgeId) -> f64 {
        self.errors.transfer.factor(self.seed, "scenario/transfer-error", u64::from(edge.0))
    }
}

/// A number for a name, the same wherever the name occurs (FNV-1a).
fn number_of(name: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    // The lower half must differ between names: the upper one is shifted out next to a host.
    hash ^ (hash >> 32)
}

impl ErrorLaw {
    fn factor(&self, seed: u64, purpose: &str, index: u64) -> f64 {
        let mut draws = stream(seed, purpose, index);
        let mut unit = || (draws.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let mut normal = || {
            // Box and Muller; 1 - u is in (0, 1].
            let radius = (-2.0 * (1.0 - unit()).ln()).sqrt();
            radius * (std::f64::consts::TAU * unit()).cos()
        };
        match *self {
            ErrorLaw::Exact => 1.0,
            ErrorLaw::Bias { factor } => factor,
            ErrorLaw::Uniform { bound } => 1.0 + bound * (2.0 * unit() - 1.0),
            ErrorLaw::Normal { deviation } => (1.0 + deviation * normal()).max(0.05),
            ErrorLaw::LogNormal { sigma } => (sigma * normal() - sigma * sigma / 2.0).exp(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::{HostSpec, PlatformBuilder};
    use crate::scenario::{Actual, EstimateErrors};
    use crate::{Task, WorkflowBuilder};

    fn setting() -> (Workflow, Platform) {
        let mut b = WorkflowBuilder::new("w");
        for i in 0..3000 {
            b.add_task(Task::new(format!("t{i}"), 1.0)).unwrap();
        }
        let mut p = PlatformBuilder::new("p");
        let root = p.root().unwrap();
        for name in ["m0", "m1"] {
            p.add_host(root, HostSpec::new(name, 1e9)).unwrap();
        }
        (b.build().unwrap(), p.build().unwrap())
    }

    fn factors(errors: EstimateErrors) -> Vec<f64> {
        let (w, p) = setting();
        let scenario = Scenario { seed: 5, errors, ..Scenario::default() };
        let truth = scenario.truth(&w, &p).unwrap();
        w.tasks().map(|t| truth.actual_seconds(t, HostId(0), 1.0)).collect()
    }

    #[test]
    fn laws_have_mean_one_and_their_bounds() {
        let laws = [
            ErrorLaw::Uniform { bound: 0.2 },
            ErrorLaw::Normal { deviation: 0.2 },
            ErrorLaw::LogNormal { sigma: 0.3 },
        ];
        for compute in laws {
            let all = factors(EstimateErrors { compute, ..EstimateErrors::default() });
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            assert!((mean - 1.0).abs() < 0.02, "{compute:?}: {mean}");
            if let ErrorLaw::Uniform { bound } = compute {
                assert!(all.iter().all(|f| (f - 1.0).abs() <= bound));
                assert!(all.iter().any(|f| (f - 1.0).abs() > 0.95 * bound));
            }
        }
    }

    #[test]
    fn fixed_times_go_first_and_the_planner_sees_one_side_only() {
        let (w, p) = setting();
        let actual = |task: &str, host: Option<&str>, seconds| Actual {
            task: task.into(),
            host: host.map(str::to_string),
            seconds,
        };
        let mut scenario = Scenario {
            errors: EstimateErrors {
                compute: ErrorLaw::Bias { factor: 2.0 },
                ..EstimateErrors::default()
            },
            actuals: vec![actual("t1", Some("m0"), 12.0), actual("t2", None, 3.0)],
            ..Scenario::default()
        };
        let truth = scenario.truth(&w, &p).unwrap();
        let (m0, m1) = (HostId(0), HostId(1));
        assert_eq!(truth.actual_seconds(TaskId(1), m0, 9.0), 12.0);
        assert_eq!(truth.actual_seconds(TaskId(1), m1, 9.0), 18.0);
        assert_eq!(truth.actual_seconds(TaskId(2), m1, 9.0), 3.0);
        assert_eq!(truth.estimated_seconds(TaskId(1), m0, 9.0), 9.0);
        scenario.errors.wrong = Wrong::Estimate;
        let truth = scenario.truth(&w, &p).unwrap();
        assert_eq!(truth.actual_seconds(TaskId(5), m1, 9.0), 9.0);
        assert_eq!(truth.estimated_seconds(TaskId(5), m1, 9.0), 18.0);
        scenario.actuals.push(actual("nobody", None, 1.0));
        assert!(matches!(scenario.truth(&w, &p), Err(ScenarioError::UnknownTask { .. })));
    }

    #[test]
    fn the_grain_says_what_draws_alone() {
        let (w, p) = setting();
        let compute = ErrorLaw::Uniform { bound: 0.5 };
        let of = |per| {
            let errors = EstimateErrors { compute, per, ..EstimateErrors::default() };
            let scenario = Scenario { seed: 1, errors, ..Scenario::default() };
            let truth = scenario.truth(&w, &p).unwrap();
            [(0, 0), (0, 1), (1, 0)].map(|(t, h)| truth.actual_seconds(TaskId(t), HostId(h), 1.0))
        };
        let [a, b, c] = of(Grain::TaskAndHost);
        assert!(a != b && a != c);
        let [a, b, c] = of(Grain::Task);
        assert!(a == b && a != c);
        let [a, b, c] = of(Grain::Kind);
        assert!(a == b && a == c);
    }
}
