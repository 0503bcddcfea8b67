//! Comparison of policies: the same cases for all, over a grid of kinds of cases.

use crate::cell::{Recipe, deciding, policy};
use crate::papers::{StudyError, Watch};
use crate::worlds::{GtpWorld, Kind, Way};
use slackline_analysis::statistics::Estimate;
use slackline_engine::Recording;
use slackline_react::Transfers;
use slackline_react::registry::Entry;

/// Kinds of cases: every combination is a cell.
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
    /// Mean times between two changes of one resource, in makespans of the run without changes.
    pub persistence: Vec<f64>,
    /// Without a failure, with one, or both.
    pub failure: Vec<bool>,
}

impl Grid {
    /// Its kinds. A case without changes has no persistence: one kind represents all.
    pub fn cells(&self) -> Vec<Kind> {
        let mut cells = Vec::new();
        for &tasks in &self.tasks {
            for &processors in &self.processors {
                for &ccr in &self.ccr {
                    for &failure in &self.failure {
                        for &variability in &self.variability {
                            for &persistence in &self.persistence {
                                cells.push(Kind {
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
        let entry = policy(name)?;
        let survivor = if entry.survives { entry } else { policy(&format!("{name}/r"))? };
        Ok(Contender { entry, transfers: Transfers::default(), survivor })
    }

    /// The policy, or its relative that survives the loss of a host.
    pub fn surviving(&self, failures: bool) -> &'static Entry {
        if failures { self.survivor } else { self.entry }
    }

    /// Run options for this case.
    fn way(&self, kind: &Kind) -> Result<Way, StudyError> {
        let usual = Way::usual(self.surviving(kind.failure))?;
        Ok(Way { transfers: self.transfers, ..usual })
    }

    /// The contender with another mode of transfers.
    pub fn with(self, transfers: Transfers) -> Contender {
        Contender { transfers, ..self }
    }
}

/// Measured normalised schedule lengths, case by case.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// The cells.
    pub cells: Vec<Kind>,
    /// Per cell, per policy, per graph.
    pub nsl: Vec<Vec<Vec<f64>>>,
}

/// One case of a comparison, before it is made.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// Index of its kind.
    cell: usize,
    kind: Kind,
    graph: usize,
    seed: u64,
}

/// Shapes of graphs in the GTP study: four methods, three densities.
const SHAPES: usize = 12;

impl Member {
    /// `graphs` cases of every kind.
    pub fn all(cells: &[Kind], graphs: usize, seed: u64) -> Vec<Member> {
        let of_kind = |(cell, &kind): (usize, &Kind)| {
            // Few graphs per cell still go round all shapes over the cells.
            let graph = move |g: usize| (cell * graphs + g) % SHAPES;
            (0..graphs).map(move |g| Member { cell, kind, graph: graph(g), seed: seed + g as u64 })
        };
        cells.iter().enumerate().flat_map(of_kind).collect()
    }

    fn world(&self) -> Result<GtpWorld, StudyError> {
        GtpWorld::new(&self.kind, self.graph, self.seed)
    }

    /// Normalised schedule length of each contender.
    fn run(&self, contenders: &[Contender]) -> Result<Vec<f64>, StudyError> {
        let world = self.world()?;
        let run = |contender: &Contender| {
            let cell = world.cell(&contender.way(&self.kind)?)?;
            Ok(world.nsl(&cell.finish(Recording::Nothing)?))
        };
        contenders.iter().map(run).collect()
    }

    /// The cell of one contender.
    pub fn recipe(self, contender: Contender) -> Recipe {
        let who = deciding(contender.surviving(self.kind.failure), contender.transfers);
        let name = format!("{}, graph {}, seed {}: {who}", self.kind, self.graph, self.seed);
        Recipe::new(name, move || self.world()?.cell(&contender.way(&self.kind)?))
    }
}

/// Runs all contenders in `graphs` cases of every kind.
pub fn compare(
    contenders: &[Contender],
    cells: &[Kind],
    graphs: usize,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<Results, StudyError> {
    let worlds = Member::all(cells, graphs, seed);
    let ran = watch.over("worlds", &worlds, |member| member.run(contenders))?;
    let mut nsl = vec![vec![Vec::with_capacity(graphs); contenders.len()]; cells.len()];
    for (member, lengths) in worlds.iter().zip(ran) {
        for (of_policy, length) in nsl[member.cell].iter_mut().zip(lengths) {
            of_policy.push(length);
        }
    }
    Ok(Results { cells: cells.to_vec(), nsl })
}

impl Results {
    /// The results of further cells.
    pub fn append(&mut self, mut other: Results) {
        self.cells.append(&mut other.cells);
        self.nsl.append(&mut other.nsl);
    }

    /// The mean lengths of one policy in the cells that `keep` chooses, one per cell.
    pub fn lengths(&self, policy: usize, keep: impl Fn(&Kind) -> bool) -> Vec<f64> {
        let cells = self.cells.iter().zip(&self.nsl).filter(|(cell, _)| keep(cell));
        cells.map(|(_, nsl)| Estimate::mean(&nsl[policy]).value).collect()
    }

    /// Mean length of one policy over the chosen cells.
    pub fn mean(&self, policy: usize, keep: impl Fn(&Kind) -> bool) -> Estimate {
        Estimate::mean(&self.lengths(policy, keep))
    }

    /// Mean of a policy over the mean of another in the chosen cells.
    pub fn ratio(&self, policy: usize, to: usize, keep: impl Fn(&Kind) -> bool) -> Estimate {
        let of = |policy: usize| -> Vec<&[f64]> {
            let cells = self.cells.iter().zip(&self.nsl).filter(|(cell, _)| keep(cell));
            cells.map(|(_, nsl)| nsl[policy].as_slice()).collect()
        };
        Estimate::stratified_ratio(&of(policy), &of(to))
    }

    /// The cells by falling ratio of a policy's mean to another's.
    pub fn worst_cells(&self, policy: usize, to: usize) -> Vec<(Kind, Estimate)> {
        let ratios = self.cells.iter().zip(&self.nsl);
        let mut found: Vec<(Kind, Estimate)> =
            ratios.map(|(&c, nsl)| (c, Estimate::ratio(&nsl[policy], &nsl[to]))).collect();
        found.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
        found
    }
}
