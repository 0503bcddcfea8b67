//! Costs of tasks and amounts of data for a shape.
//!
//! - `flops`: the three operation counts of the parallel-task-graph studies (Suter et al.; also
//!   daggen's own): a matrix of `d` elements costs `a d`, `a d log2 d` or `d^1.5` flop, every
//!   outgoing edge carries `8 d` bytes, Amdahl's serial fraction is uniform.
//! - `beta`: Topcuoglu's model: mean `U[0, 2 w]`, per processor `mean (1 ± beta/2)`.
//! - `uniform`: seconds drawn independently per task and processor (Hernandez; Zhao and
//!   Sakellariou).
//! - `etc`: expected-time-to-compute matrices of Ali et al. 2000, by ranges or by coefficients of
//!   variation; consistent, semi-consistent (even columns) or inconsistent.
//!
//! A CCR rescales the data so that communication over computation is met exactly, on the stated
//! bandwidth and, where times come from flop, speed.

mod parameters;

pub(crate) use parameters::PARAMETERS;

use crate::draw::{Draws, Seed};
use crate::error::Result;
use crate::graph::Graph;
use slackline_model::workflow::{CostTable, REFERENCE_SPEED};
use slackline_model::{SpeedUp, Task, TaskId, Workflow, WorkflowBuilder};

/// The number of operations of a task of `d` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complexity {
    /// Each task draws one of the three.
    Mixed,
    /// `a d`: stencil, image processing.
    Linear,
    /// `a d log2 d`: sorting.
    LogLinear,
    /// `d^1.5`: matrix product.
    Matrix,
}

/// The relation between the times of a task on different machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// A machine that is faster for one task is faster for all.
    Consistent,
    /// That holds among the even columns only.
    Semi,
    /// Nothing relates them.
    Inconsistent,
}

/// Spread of an expected-time-to-compute matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EtcSpread {
    /// `U[1, task) * U[1, machine)`.
    Range,
    /// Gamma laws with these coefficients of variation.
    Variation,
}

/// Costs of tasks.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskCosts {
    /// Operation counts.
    Flops {
        /// Law of the counts.
        complexity: Complexity,
        /// Bounds of the matrix side; sides are multiples of 1024.
        side: (f64, f64),
        /// Bounds of the serial fraction.
        alpha: (f64, f64),
        /// Tasks may be spread over several processors.
        moldable: bool,
    },
    /// Seconds, spread around a mean per task.
    Beta {
        /// Mean seconds of a task of the graph.
        mean: f64,
        /// Relative width of the spread over processors, 0 to 2.
        beta: f64,
    },
    /// Seconds, uniform.
    Uniform {
        /// Least.
        low: f64,
        /// Most.
        high: f64,
        /// Whole seconds only.
        whole: bool,
    },
    /// An expected-time-to-compute matrix.
    Etc {
        /// Law of the spread.
        spread: EtcSpread,
        /// Heterogeneity of tasks: range or coefficient of variation.
        task: f64,
        /// Heterogeneity of machines.
        machine: f64,
        /// Mean seconds of a task.
        mean: f64,
        /// Relation between columns.
        consistency: Consistency,
    },
}

/// The quantities that a ratio of communication to computation compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CcrBy {
    /// Sum over edges with sum over tasks (Arabnejad).
    Sums,
    /// Mean over edges with mean over tasks (Hernandez; Zhao and Sakellariou).
    Means,
}

/// Rescales data to a ratio of communication to computation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ccr {
    /// The ratio.
    pub ratio: f64,
    /// Of sums or of means.
    pub by: CcrBy,
    /// An edge's share is drawn from `U[1 - spread, 1 + spread]`.
    pub spread: f64,
}

/// Costs of a shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// Of its tasks.
    pub tasks: TaskCosts,
    /// Columns `p1` ... of a table of seconds; 0 for machines that differ in speed only.
    pub processors: usize,
    /// Of its data; `None` keeps the bytes that follow from the tasks (8 d), or none.
    pub ccr: Option<Ccr>,
    /// All tasks of a level are alike, and all transfers between two levels.
    pub per_level: bool,
    /// Bytes/s on which the ratio holds.
    pub bandwidth: f64,
    /// Flop/s on which the ratio holds, for costs in flop.
    pub speed: f64,
}

impl Default for Costs {
    fn default() -> Costs {
        let (side, alpha) = ((2048.0, 11264.0), (0.0, 0.25));
        Costs {
            tasks: TaskCosts::Flops { complexity: Complexity::Mixed, side, alpha, moldable: false },
            processors: 0,
            ccr: None,
            per_level: false,
            bandwidth: 1.25e8,
            speed: REFERENCE_SPEED,
        }
    }
}

impl Costs {
    /// Draws the costs of a shape.
    pub(crate) fn apply(&self, graph: &Graph, seed: Seed) -> Result<Workflow> {
        let drawn = self.draw_tasks(graph, seed);
        let bytes = self.draw_data(graph, seed, &drawn);
        let mut builder = WorkflowBuilder::new(graph.name.as_str());
        for (index, node) in graph.nodes.iter().enumerate() {
            let kind = graph.kinds.get(node.kind as usize).copied().unwrap_or("");
            let mut task = Task::new(format!("t{index}"), drawn.work[index]).of_kind(kind);
            if let Some(&serial) = drawn.alpha.get(index)
                && !node.dummy
            {
                task.speedup = SpeedUp::Amdahl { serial };
                task.max_width = u32::MAX;
                task.spread = true;
            }
            builder.add_task(task)?;
        }
        for (&(from, to), &bytes) in graph.edges.iter().zip(&bytes) {
            if bytes > 0.0 {
                builder.add_edge(TaskId(from), TaskId(to), bytes)?;
            } else {
                builder.add_control(TaskId(from), TaskId(to))?;
            }
        }
        if self.processors > 0 {
            let columns = (1..=self.processors).map(|p| format!("p{p}")).collect();
            builder.set_cost_table(CostTable { columns, seconds: drawn.seconds });
        }
        Ok(builder.build()?)
    }

    fn draw_tasks(&self, graph: &Graph, seed: Seed) -> Drawn {
        let n = graph.nodes.len();
        let mut drawn = Drawn::default();
        let mut draws = seed.draws("costs/tasks");
        match self.tasks {
            TaskCosts::Flops { complexity, side, alpha, moldable } => {
                // Fractions have their own stream: moldable or not, the works are the same.
                let mut fractions = seed.draws("costs/alpha");
                let tasks = per_task(graph, self.per_level, || {
                    let (work, data) = operations(complexity, side, &mut draws);
                    (work, data, fractions.uniform(alpha.0, alpha.1))
                });
                drawn.work = tasks.iter().map(|t| t.0).collect();
                drawn.data = tasks.iter().map(|t| 8.0 * t.1).collect();
                if moldable {
                    drawn.alpha = tasks.iter().map(|t| t.2).collect();
                }
                if self.processors > 0 {
                    let seconds = |work: &f64| vec![work / self.speed; self.processors];
                    drawn.seconds = drawn.work.iter().flat_map(seconds).collect();
                }
            }
            _ => {
                let means = per_task(graph, self.per_level, || self.tasks.draw_mean(&mut draws));
                let mut rows = seed.draws("costs/processors");
                drawn.seconds.reserve(n * self.processors);
                let mut row = Vec::with_capacity(self.processors);
                for &mean in &means {
                    row.clear();
                    row.extend((0..self.processors).map(|_| self.tasks.draw_on(mean, &mut rows)));
                    self.tasks.order(&mut row);
                    let seconds = match self.tasks {
                        _ if !row.is_empty() => mean_of(&row),
                        TaskCosts::Uniform { .. } => self.tasks.draw_on(mean, &mut rows),
                        _ => mean,
                    };
                    drawn.work.push(seconds * REFERENCE_SPEED);
                    drawn.seconds.extend_from_slice(&row);
                }
            }
        }
        for (index, _) in graph.nodes.iter().enumerate().filter(|(_, node)| node.dummy) {
            drawn.work[index] = 0.0;
            if let Some(data) = drawn.data.get_mut(index) {
                *data = 0.0;
            }
            if self.processors > 0 {
                drawn.seconds[index * self.processors..][..self.processors].fill(0.0);
            }
        }
        drawn
    }

    /// Bytes of every edge.
    fn draw_data(&self, graph: &Graph, seed: Seed, drawn: &Drawn) -> Vec<f64> {
        let Some(ccr) = self.ccr else {
            let of = |&(from, to): &(u32, u32)| match drawn.data.get(from as usize) {
                Some(&bytes) if !graph.nodes[to as usize].dummy => bytes,
                _ => 0.0,
            };
            return graph.edges.iter().map(of).collect();
        };
        let real = |&(from, to): &(u32, u32)| {
            !graph.nodes[from as usize].dummy && !graph.nodes[to as usize].dummy
        };
        let mut draws = seed.draws("costs/data");
        let mut between_levels = std::collections::HashMap::new();
        let mut share = |edge: &(u32, u32)| {
            let mut draw = || draws.uniform(1.0 - ccr.spread, 1.0 + ccr.spread);
            if !real(edge) {
                return 0.0;
            }
            if !self.per_level {
                return draw();
            }
            let level = |t: u32| graph.nodes[t as usize].level;
            *between_levels.entry((level(edge.0), level(edge.1))).or_insert_with(draw)
        };
        let mut bytes: Vec<f64> = graph.edges.iter().map(&mut share).collect();
        let flops = matches!(self.tasks, TaskCosts::Flops { .. });
        let speed = if flops { self.speed } else { REFERENCE_SPEED };
        let computation: f64 = drawn.work.iter().sum::<f64>() / speed;
        let edges = graph.edges.iter().filter(|e| real(e)).count() as f64;
        let tasks = graph.nodes.iter().filter(|node| !node.dummy).count() as f64;
        let wanted = match ccr.by {
            CcrBy::Sums => ccr.ratio * computation,
            CcrBy::Means => ccr.ratio * computation / tasks * edges,
        };
        let shares: f64 = bytes.iter().sum();
        let scale = if shares > 0.0 { wanted * self.bandwidth / shares } else { 0.0 };
        bytes.iter_mut().for_each(|b| *b *= scale);
        bytes
    }
}

/// Costs of the tasks as drawn; `data` and `alpha` only for flop costs.
#[derive(Default)]
struct Drawn {
    work: Vec<f64>,
    data: Vec<f64>,
    alpha: Vec<f64>,
    seconds: Vec<f64>,
}

/// Draws once per task, or once per level for all its tasks.
fn per_task<T: Copy>(graph: &Graph, per_level: bool, mut draw: impl FnMut() -> T) -> Vec<T> {
    if per_level {
        let levels: Vec<T> = (0..graph.levels()).map(|_| draw()).collect();
        graph.nodes.iter().map(|node| levels[node.level as usize]).collect()
    } else {
        graph.nodes.iter().map(|_| draw()).collect()
    }
}

/// Flop and elements of one task; sides are multiples of 1024, so that the largest is 10240.
fn operations(complexity: Complexity, side: (f64, f64), draws: &mut Draws) -> (f64, f64) {
    let side = 1024.0 * (draws.uniform(side.0, side.1) / 1024.0).floor();
    let elements = side * side;
    let a = draws.uniform(64.0, 512.0);
    let class = draws.below(3);
    let complexity = match complexity {
        Complexity::Mixed => [Complexity::Linear, Complexity::LogLinear, Complexity::Matrix][class],
        fixed => fixed,
    };
    let flops = match complexity {
        Complexity::LogLinear => a * elements * elements.log2(),
        Complexity::Matrix => elements * side,
        _ => a * elements,
    };
    (flops, elements)
}

fn mean_of(row: &[f64]) -> f64 {
    row.iter().sum::<f64>() / row.len() as f64
}

impl TaskCosts {
    /// The mean of a task, before processors.
    fn draw_mean(&self, draws: &mut Draws) -> f64 {
        match *self {
            TaskCosts::Flops { .. } => 0.0,
            TaskCosts::Beta { mean, .. } => draws.uniform(0.0, 2.0 * mean),
            TaskCosts::Uniform { low, high, .. } => (low + high) / 2.0,
            TaskCosts::Etc { spread: EtcSpread::Range, task, .. } => {
                draws.uniform(1.0, task.max(1.0))
            }
            TaskCosts::Etc { task, mean, .. } => draws.gamma(mean, task),
        }
    }

    /// Seconds of a task of that mean on one processor.
    fn draw_on(&self, mean: f64, draws: &mut Draws) -> f64 {
        match *self {
            TaskCosts::Flops { .. } => mean,
            TaskCosts::Beta { beta, .. } => {
                draws.uniform(mean * (1.0 - beta / 2.0), mean * (1.0 + beta / 2.0))
            }
            TaskCosts::Uniform { low, high, whole: true } => {
                draws.between(low.ceil() as usize, high.floor() as usize) as f64
            }
            TaskCosts::Uniform { low, high, .. } => draws.uniform(low, high),
            TaskCosts::Etc { spread: EtcSpread::Range, machine, .. } => {
                mean * draws.uniform(1.0, machine.max(1.0))
            }
            TaskCosts::Etc { machine, .. } => draws.gamma(mean, machine),
        }
    }

    /// Puts the times of one task in the order that the consistency wants.
    fn order(&self, row: &mut [f64]) {
        let TaskCosts::Etc { consistency, .. } = self else { return };
        match consistency {
            Consistency::Inconsistent => {}
            Consistency::Consistent => row.sort_by(f64::total_cmp),
            Consistency::Semi => {
                let mut even: Vec<f64> = row.iter().copied().step_by(2).collect();
                even.sort_by(f64::total_cmp);
                for (place, value) in row.iter_mut().step_by(2).zip(even) {
                    *place = value;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::layered::Layered;

    fn graph(tasks: usize) -> Graph {
        Layered { tasks, width: Some(10), edges_per_task: 2.0 }.graph(Seed::new(1)).unwrap()
    }

    fn table(tasks: TaskCosts, processors: usize) -> Workflow {
        let ccr = Some(Ccr { ratio: 0.8, by: CcrBy::Sums, spread: 1.0 });
        let costs = Costs { tasks, processors, ccr, ..Costs::default() };
        graph(2000).workflow(&costs, Seed::new(2)).unwrap()
    }

    fn seconds(w: &Workflow) -> Vec<&[f64]> {
        let table = w.cost_table().unwrap();
        w.tasks().map(|t| table.row(t)).collect()
    }

    #[test]
    fn beta_and_ccr_are_achieved() {
        let w = table(TaskCosts::Beta { mean: 100.0, beta: 0.5 }, 8);
        let rows = seconds(&w);
        let means: Vec<f64> = rows.iter().map(|row| mean_of(row)).collect();
        // Means are U[0, 200]: mean 100, standard error 1.3.
        assert!((mean_of(&means) - 100.0).abs() < 4.0, "{}", mean_of(&means));
        // No entry can leave wbar (1 ± beta/2), so no ratio in a row exceeds 1.25 / 0.75.
        for row in &rows {
            let (low, high) =
                row.iter().fold((f64::MAX, 0.0f64), |(l, h), &x| (l.min(x), h.max(x)));
            assert!(high <= low * (1.25 / 0.75) + 1e-9);
        }
        // Spread of U[1 - b/2, 1 + b/2]: deviation b / sqrt(12) of the mean.
        let relative: Vec<f64> =
            rows.iter().zip(&means).flat_map(|(r, m)| r.iter().map(move |x| x / m - 1.0)).collect();
        let deviation =
            (relative.iter().map(|x| x * x).sum::<f64>() / relative.len() as f64).sqrt();
        let expected = 0.5 / 12f64.sqrt() * (7.0 / 8.0f64).sqrt(); // around the row's own mean
        assert!((deviation / expected - 1.0).abs() < 0.03, "{deviation} for {expected}");
        // CCR is exact by construction.
        let ccr = w.total_edge_bytes() / 1.25e8 / means.iter().sum::<f64>();
        assert!((ccr - 0.8).abs() < 1e-9, "{ccr}");
    }

    #[test]
    fn ccr_by_means_compares_means() {
        let tasks = TaskCosts::Uniform { low: 1.0, high: 10.0, whole: true };
        let ccr = Some(Ccr { ratio: 1.5, by: CcrBy::Means, spread: 0.5 });
        let costs = Costs { tasks, processors: 10, ccr, bandwidth: 1.0, ..Costs::default() };
        let w = graph(300).workflow(&costs, Seed::new(2)).unwrap();
        let data = w.total_edge_bytes() / w.edge_count() as f64;
        let work = w.total_work() / REFERENCE_SPEED / w.len() as f64;
        assert!((data / work - 1.5).abs() < 1e-9);
        assert!(
            seconds(&w)
                .iter()
                .flat_map(|r| r.iter())
                .all(|&s| (1.0..=10.0).contains(&s) && s.fract() == 0.0)
        );
    }

    #[test]
    fn etc_matrices_have_their_spread_and_consistency() {
        let etc = |spread, task, machine, consistency| {
            let mean = 100.0;
            table(TaskCosts::Etc { spread, task, machine, mean, consistency }, 6)
        };
        let w = etc(EtcSpread::Variation, 0.2, 0.8, Consistency::Inconsistent);
        let all: Vec<f64> = seconds(&w).concat();
        let mean = mean_of(&all);
        let variance = all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / all.len() as f64;
        // Product of the two spreads: (1 + 0.04)(1 + 0.64) - 1.
        let expected = (1.04f64 * 1.64 - 1.0).sqrt();
        assert!(
            (mean / 100.0 - 1.0).abs() < 0.03
                && (variance.sqrt() / mean / expected - 1.0).abs() < 0.05
        );
        let sorted = |row: &[f64]| row.windows(2).all(|p| p[0] <= p[1]);
        let w = etc(EtcSpread::Range, 100.0, 10.0, Consistency::Consistent);
        assert!(seconds(&w).iter().all(|row| sorted(row)));
        let w = etc(EtcSpread::Range, 100.0, 10.0, Consistency::Semi);
        let evens = |row: &&[f64]| row.iter().copied().step_by(2).collect::<Vec<_>>();
        assert!(seconds(&w).iter().all(|row| sorted(&evens(row))));
        assert!(!seconds(&w).iter().all(|row| sorted(row)));
    }

    #[test]
    fn operation_counts_and_data_of_the_studies() {
        let w = graph(500).workflow(&Costs::default(), Seed::new(3)).unwrap();
        for edge in w.edges() {
            // 8 d bytes, d the square of a multiple of 1024 from 2048 to 10240.
            let side = (w.edge_bytes(edge) / 8.0).sqrt() / 1024.0;
            assert!(side.fract() == 0.0 && (2.0..=10.0).contains(&side), "{side}");
        }
        let moldable = Costs {
            tasks: TaskCosts::Flops {
                complexity: Complexity::Matrix,
                side: (2048.0, 3072.0),
                alpha: (0.0, 0.25),
                moldable: true,
            },
            ..Costs::default()
        };
        let m = graph(10).workflow(&moldable, Seed::new(3)).unwrap();
        for task in m.tasks() {
            assert_eq!(m.work(task), 2048f64.powi(3)); // d^1.5 with d = 2048^2
            let SpeedUp::Amdahl { serial } = m.speedup(task) else { panic!("not moldable") };
            assert!((0.0..0.25).contains(serial));
        }
    }

    #[test]
    fn levels_share_costs_when_asked() {
        let tasks = TaskCosts::Beta { mean: 100.0, beta: 0.0 };
        let ccr = Some(Ccr { ratio: 1.0, by: CcrBy::Sums, spread: 1.0 });
        let costs = Costs { tasks, processors: 2, ccr, per_level: true, ..Costs::default() };
        let graph = crate::workflow::numerical::fft(8).unwrap();
        let w = graph.workflow(&costs, Seed::new(3)).unwrap();
        for (a, b) in graph
            .nodes
            .iter()
            .zip(w.tasks())
            .map(|(n, t)| (n.level, w.work(t)))
            .zip(graph.nodes.iter().zip(w.tasks()).map(|(n, t)| (n.level, w.work(t))).skip(1))
            .filter(|(a, b)| a.0 == b.0)
            .map(|(a, b)| (a.1, b.1))
        {
            assert_eq!(a, b);
        }
    }
}
