//! Warnings of a comparison: what a table of means and p-values does not show.

use super::{Data, Factors, GroupTable, Level, Members, Pair};
use serde::Serialize;
use slackline_analysis::statistics::distributions::pairs_needed;
use slackline_analysis::statistics::{Moments, NOISE, Pairs, Scale, equal};

/// A condition to check before the figures are believed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Warning {
    /// Some blocks lack a value of some method.
    Incomplete {
        /// The group.
        factors: Factors,
        /// Its blocks.
        blocks: usize,
        /// Those in which every method has a value.
        complete: usize,
    },
    /// So few pairs that even unanimous ones could not pass Holm's correction.
    Few {
        /// The group.
        factors: Factors,
        /// The first method.
        a: String,
        /// The second.
        b: String,
        /// Pairs there are.
        n: usize,
        /// Pairs there have to be.
        needed: usize,
    },
    /// The means over each method's own runs are in the opposite order to those over common blocks.
    Survivors {
        /// The group.
        factors: Factors,
        /// The first method.
        a: String,
        /// The second.
        b: String,
        /// Mean of the first over common blocks.
        a_mean: f64,
        /// Mean of the second over common blocks.
        b_mean: f64,
    },
    /// A factor that was averaged over reverses who is better.
    Reversal {
        /// The group.
        factors: Factors,
        /// The first method.
        a: String,
        /// The second.
        b: String,
        /// The factor.
        factor: String,
        /// Test and effect at each of its levels.
        levels: Vec<LevelEffect>,
    },
    /// Sizes differ so much that the largest blocks decide the ranks of differences.
    Scale {
        /// The group.
        factors: Factors,
        /// Largest best value over smallest.
        span: f64,
    },
}

/// A test at one level of a factor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelEffect {
    /// The level.
    pub level: Level,
    /// Rank-biserial correlation.
    pub effect: Option<f64>,
    /// Wilcoxon's p.
    pub p: Option<f64>,
}

impl Data<'_> {
    pub(super) fn warnings(
        &self,
        members: &[Members],
        tables: &[GroupTable],
        pairs: &[Pair],
    ) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for table in tables {
            self.of_group(table, &mut warnings);
        }
        let needed = pairs_needed(pairs.iter().filter(|pair| pair.p.is_some()).count());
        for pair in pairs {
            if pair.p.is_some() && pair.n < needed {
                let (factors, a, b) = (pair.factors.clone(), pair.a.clone(), pair.b.clone());
                warnings.push(Warning::Few { factors, a, b, n: pair.n, needed });
            }
            let at = tables.iter().position(|t| t.factors == pair.factors);
            let Some(at) = at else { continue };
            warnings.extend(self.survivors(pair, &tables[at]));
            if self.unit.is_none() {
                self.reversals(pair, &members[at], &mut warnings);
            }
        }
        warnings
    }

    fn of_group(&self, table: &GroupTable, warnings: &mut Vec<Warning>) {
        let factors = || table.factors.clone();
        let (blocks, complete) = (table.blocks.len(), table.blocks.complete());
        if complete < blocks {
            warnings.push(Warning::Incomplete { factors: factors(), blocks, complete });
        }
        if self.options.scale == Scale::Log || self.runs.methods.len() < 2 {
            return;
        }
        let best: Vec<f64> = table.blocks.rows().filter_map(|r| table.blocks.best(r)).collect();
        let least = best.iter().copied().fold(f64::INFINITY, f64::min);
        let most = best.iter().copied().fold(0.0, f64::max);
        let span = most / least;
        if least > 0.0 && span > 10.0 {
            warnings.push(Warning::Scale { factors: factors(), span });
        }
    }

    fn numbers(&self, pair: &Pair) -> (usize, usize) {
        let number = |name: &str| self.runs.methods.iter().position(|m| m == name).unwrap_or(0);
        (number(&pair.a), number(&pair.b))
    }

    fn survivors(&self, pair: &Pair, table: &GroupTable) -> Option<Warning> {
        let (a, b) = self.numbers(pair);
        let pairs = Pairs::new(table.blocks.rows().map(|row| (row[a], row[b])));
        if pairs.n() == 0 || pairs.only_a() + pairs.only_b() == 0 {
            return None;
        }
        let mean = |values: &[f64]| Moments::of(values).mean;
        let (own_a, own_b) = pairs.sides();
        let own = order(mean(own_a), mean(own_b));
        let (common_a, common_b): (Vec<f64>, Vec<f64>) = pairs.both().iter().copied().unzip();
        let (a_mean, b_mean) = (mean(&common_a), mean(&common_b));
        let common = order(a_mean, b_mean);
        let (factors, a, b) = (pair.factors.clone(), pair.a.clone(), pair.b.clone());
        (own * common < 0).then_some(Warning::Survivors { factors, a, b, a_mean, b_mean })
    }

    fn reversals(&self, pair: &Pair, members: &Members, warnings: &mut Vec<Warning>) {
        let (a, b) = self.numbers(pair);
        let keys = self.runs.keys.iter().enumerate();
        let factors = keys.filter(|(k, key)| !key.is_draw() && !self.by.contains(k));
        for (k, key) in factors {
            let mut blocks: Vec<Vec<usize>> = vec![Vec::new(); key.levels.len()];
            for &block in &members.blocks {
                blocks[self.runs.levels_of(block)[k] as usize].push(block);
            }
            let there = || blocks.iter().zip(&key.levels).filter(|(blocks, _)| !blocks.is_empty());
            if there().count() < 2 {
                continue;
            }
            let levels: Vec<LevelEffect> = there()
                .map(|(blocks, level)| {
                    let rows = blocks.iter().map(|&block| self.row(block));
                    let pairs = Pairs::new(rows.map(|row| (row[a], row[b])));
                    let test = pairs.wilcoxon(self.options.scale);
                    let effect = test.map(|w| w.effect(self.sense));
                    LevelEffect { level: level.clone(), effect, p: test.map(|w| w.p) }
                })
                .collect();
            let tests = levels.iter().map(|l| (l.p, l.effect)).chain([(pair.p, pair.effect)]);
            let found: Vec<f64> =
                tests.filter(|(p, _)| p.is_some_and(|p| p < 0.05)).filter_map(|t| t.1).collect();
            if found.iter().any(|&e| e > 0.0) && found.iter().any(|&e| e < 0.0) {
                let (factors, a, b) = (pair.factors.clone(), pair.a.clone(), pair.b.clone());
                let factor = key.name.clone();
                warnings.push(Warning::Reversal { factors, a, b, factor, levels });
            }
        }
    }
}

/// The order of two means: -1, 0, 1.
fn order(a: f64, b: f64) -> i32 {
    match () {
        () if equal(a, b, NOISE) => 0,
        () if a < b => -1,
        () => 1,
    }
}
