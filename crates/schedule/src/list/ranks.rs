//! Ranks: distance of a task from the ends of the workflow, in times representative of all processors and all
//! links.

use slackline_model::parameter::{Kind, Parameter, Values};
use slackline_model::{EdgeId, Problem, TaskId};

/// Time of a transfer in ranks, where links differ.
pub(crate) const TRANSFER: Parameter = Parameter::new(
    "transfer",
    Kind::Choice(&["bandwidth", "time"]),
    "bandwidth",
    "a transfer counts by the mean bandwidth of the links, or by the mean of its times on them",
);

/// Representative time of a task where processors differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecWeight {
    /// Mean over the processors the task fits on (w-bar).
    Mean,
    /// Median over them.
    Median,
}

/// Representative time of a transfer where links differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferWeight {
    /// Mean latency plus data over mean bandwidth (c-bar).
    MeanBandwidth,
    /// Mean of the transfer times.
    MeanTime,
}

/// Representative times of tasks and transfers in ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// For tasks.
    pub exec: ExecWeight,
    /// For transfers.
    pub transfer: TransferWeight,
}

impl Weights {
    /// Mean execution times, mean bandwidth: what the papers use on uniform networks.
    pub const MEAN: Weights =
        Weights { exec: ExecWeight::Mean, transfer: TransferWeight::MeanBandwidth };
    /// Mean execution times, mean transfer times.
    pub const MEAN_TIME: Weights =
        Weights { exec: ExecWeight::Mean, transfer: TransferWeight::MeanTime };
    /// Median execution times, mean bandwidth.
    pub const MEDIAN: Weights =
        Weights { exec: ExecWeight::Median, transfer: TransferWeight::MeanBandwidth };

    /// The mean with transfers as the parameter [`TRANSFER`] has them.
    pub(crate) fn of(values: &Values) -> Weights {
        match values.word(TRANSFER.name) {
            "time" => Weights::MEAN_TIME,
            _ => Weights::MEAN,
        }
    }

    /// Representative seconds of a task.
    #[inline]
    pub fn exec(self, problem: &Problem<'_>, task: TaskId) -> f64 {
        match self.exec {
            ExecWeight::Mean => problem.mean_exec(task),
            ExecWeight::Median => problem.median_exec(task),
        }
    }

    /// Representative seconds of a transfer.
    #[inline]
    pub fn transfer(self, problem: &Problem<'_>, edge: EdgeId) -> f64 {
        let workflow = problem.workflow();
        match self.transfer {
            TransferWeight::MeanBandwidth => problem.mean_edge_transfer(edge),
            TransferWeight::MeanTime if workflow.is_control(edge) => 0.0,
            TransferWeight::MeanTime => problem.mean_payload_time(workflow.edge_payload(edge)),
        }
    }

    /// Representative seconds of every task.
    pub fn exec_of_all(self, problem: &Problem<'_>) -> Vec<f64> {
        problem.workflow().tasks().map(|t| self.exec(problem, t)).collect()
    }
}

/// Upward rank (`rank_u`, b-level) in mean times: longest path to an exit, the task included.
pub fn upward(problem: &Problem<'_>) -> Vec<f64> {
    upward_by(problem, Weights::MEAN)
}

/// Upward ranks where those of the first tasks are known: only the others are computed, on which
/// none of the first depends.
pub fn more_upward(problem: &Problem<'_>, rank: &mut Vec<f64>) {
    let (known, workflow) = (rank.len(), problem.workflow());
    rank.resize(workflow.len(), 0.0);
    // What comes beside the rest comes behind it.
    for &task in workflow.topological_order()[known..].iter().rev() {
        let mut tail = 0.0f64;
        for (child, edge) in workflow.successors(task) {
            tail = tail.max(Weights::MEAN.transfer(problem, edge) + rank[child.index()]);
        }
        rank[task.index()] = Weights::MEAN.exec(problem, task) + tail;
    }
}

/// Upward rank with chosen weights.
pub fn upward_by(problem: &Problem<'_>, weights: Weights) -> Vec<f64> {
    problem
        .workflow()
        .bottom_levels(|task| weights.exec(problem, task), |edge| weights.transfer(problem, edge))
}

/// Downward rank (`rank_d`, t-level) in mean times: longest path from an entry, the task
/// excluded.
pub fn downward(problem: &Problem<'_>) -> Vec<f64> {
    downward_by(problem, Weights::MEAN)
}

/// Downward rank with chosen weights.
pub fn downward_by(problem: &Problem<'_>, weights: Weights) -> Vec<f64> {
    // A task's weight is read once per child: keep it.
    let exec = weights.exec_of_all(problem);
    problem.workflow().top_levels(|task| exec[task.index()], |edge| weights.transfer(problem, edge))
}

/// Static level: longest path to an exit without transfers, the task included.
pub fn static_level(problem: &Problem<'_>, weights: Weights) -> Vec<f64> {
    problem.workflow().bottom_levels(|task| weights.exec(problem, task), |_| 0.0)
}
