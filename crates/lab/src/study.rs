//! Policies against each other: the same worlds for all, over a grid of kinds of worlds.

use crate::papers::{StudyError, Watch};
use crate::stats::Estimate;
use crate::worlds::{Cell, GtpWorld};
use slackline_execute::Ending;
use slackline_react::Transfers;
use slackline_react::registry::{self, Entry};

/// Kinds of worlds: every combination is a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Numbers of processors.
    pub processors: Vec<usize>,
    /// Numbers of tasks.
    pub tasks: Vec<usize>,
    /// Ratios of communication to computation.
    pub ccr: Vec<f64>,
    /// Largest drops of a level, as shares of the peak.
    pub variability: Vec<f64>,
    /// Mean times between two changes of one resource, in makespans of the still world.
    pub persistence: Vec<f64>,
    /// Without a failure, with one, or both.
    pub failure: Vec<bool>,
}

impl Grid {
    /// Its cells. A world that does not change has no persistence: one cell stands for all.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &tasks in &self.tasks {
            for &processors in &self.processors {
                for &ccr in &self.ccr {
                    for &failure in &self.failure {
                        for &variability in &self.variability {
                            for &persistence in &self.persistence {
                                cells.push(Cell {
                                    processors,
                                    tasks,
                                    variability,
                                    ccr,
                                    persistence,
                                    failure,
                                });
                                if variability == 0.0 {
                                    break;
                                }
                            }
                        }
                    }
                }
            }
        }
        cells
    }
}

/// A policy under test. Where a processor dies, one that cannot survive that is replaced by its
/// relative that can.
#[derive(Clone, Copy, Debug)]
pub struct Contender {
    /// The policy.
    pub entry: &'static Entry,
    /// When inputs travel, for policies that leave this to the user.
    pub transfers: Transfers,
    survivor: &'static Entry,
}

impl Contender {
    /// The policy of that name, which fetches for the next task of each processor.
    pub fn named(name: &str) -> Result<Contender, StudyError> {
        let find = |name: &str| {
            registry::find(name)
                .ok_or_else(|| StudyError(format!("the policy '{name}' is missing")))
        };
        let entry = find(name)?;
        let survivor = if entry.survives { entry } else { find(&format!("{name}/r"))? };
        Ok(Contender { entry, transfers: Transfers::default(), survivor })
    }

    /// The policy, or its relative that survives the loss of a host.
    pub fn surviving(&self, failures: bool) -> &'static Entry {
        if failures { self.survivor } else { self.entry }
    }

    /// The same with inputs that travel otherwise.
    pub fn with(self, transfers: Transfers) -> Contender {
        Contender { transfers, ..self }
    }
}

/// What was measured: normalised schedule lengths, world by world.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// The cells.
    pub cells: Vec<Cell>,
    /// Per cell, per policy, per graph.
    pub nsl: Vec<Vec<Vec<f64>>>,
}

/// Lets all contenders run through `graphs` worlds of every cell.
pub fn compare(
    contenders: &[Contender],
    cells: &[Cell],
    graphs: usize,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<Results, StudyError> {
    let worlds: Vec<(usize, usize)> =
        (0..cells.len()).flat_map(|cell| (0..graphs).map(move |g| (cell, g))).collect();
    let ran = watch.over("worlds", &worlds, |&(cell, g)| {
        // Few graphs per cell still go round all shapes over the cells.
        run_world(contenders, &cells[cell], (cell * graphs + g) % SHAPES, seed + g as u64)
    })?;
    let mut nsl = vec![vec![Vec::with_capacity(graphs); contenders.len()]; cells.len()];
    for (&(cell, _), lengths) in worlds.iter().zip(ran) {
        for (of_policy, length) in nsl[cell].iter_mut().zip(lengths) {
            of_policy.push(length);
        }
    }
    Ok(Results { cells: cells.to_vec(), nsl })
}

/// Time between looks of the policies that look at fixed times, in makespans of the still world.
const PERIOD: f64 = 0.1;

/// Shapes of graphs in the GTP study: four methods, three densities.
const SHAPES: usize = 12;

fn run_world(
    contenders: &[Contender],
    cell: &Cell,
    graph: usize,
    seed: u64,
) -> Result<Vec<f64>, StudyError> {
    let world = GtpWorld::new(cell, graph, seed).map_err(StudyError::of)?;
    let run = |contender: &Contender| {
        let entry = contender.surviving(cell.failure);
        let run = world.run_with(entry, contender.transfers, PERIOD);
        let outcome = run.map_err(StudyError::of)?;
        match &outcome.ending {
            Ending::Finished => Ok(world.nsl(&outcome)),
            Ending::CannotFinish(why) => Err(StudyError(format!("{}: {why}", entry.name))),
        }
    };
    contenders.iter().map(run).collect()
}

impl Results {
    /// The results of further cells.
    pub fn append(&mut self, mut other: Results) {
        self.cells.append(&mut other.cells);
        self.nsl.append(&mut other.nsl);
    }

    /// The mean lengths of one policy in the cells that `keep` chooses, one per cell.
    pub fn lengths(&self, policy: usize, keep: impl Fn(&Cell) -> bool) -> Vec<f64> {
        let cells = self.cells.iter().zip(&self.nsl).filter(|(cell, _)| keep(cell));
        cells.map(|(_, nsl)| Estimate::mean(&nsl[policy]).value).collect()
    }

    /// Mean length of one policy over the chosen cells.
    pub fn mean(&self, policy: usize, keep: impl Fn(&Cell) -> bool) -> Estimate {
        Estimate::mean(&self.lengths(policy, keep))
    }

    /// Mean of a policy over the mean of another in the chosen cells.
    pub fn ratio(&self, policy: usize, to: usize, keep: impl Fn(&Cell) -> bool) -> Estimate {
        Estimate::ratio(&self.lengths(policy, &keep), &self.lengths(to, &keep))
    }

    /// The cells by falling ratio of a policy's mean to another's.
    pub fn worst_cells(&self, policy: usize, to: usize) -> Vec<(Cell, Estimate)> {
        let ratios = self.cells.iter().zip(&self.nsl);
        let mut found: Vec<(Cell, Estimate)> =
            ratios.map(|(&c, nsl)| (c, Estimate::ratio(&nsl[policy], &nsl[to]))).collect();
        found.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
        found
    }
}
