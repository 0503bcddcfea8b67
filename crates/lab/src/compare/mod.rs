//! Methods compared by results of runs, whoever made them: figures per group, pairs, tests over
//! all methods, and warnings about what the figures do not show.

mod allocation;
mod level;
pub mod metric;
mod regression;
mod runs;
mod warnings;

pub use allocation::Variation;
pub use level::{Decimal, Level};
pub use regression::{Change, Family, Limits, Regression, Verdict, no_regression};
pub use runs::{Key, Roles, Runs, is_done};
pub use warnings::{LevelEffect, Warning};

use serde::Serialize;
use serde::ser::SerializeMap;
use slackline_analysis::statistics::{
    Blocks, Friedman, Interval, Pairs, Scale, Sense, Summary, holm,
};
use slackline_formats::csv::Csv;
use slackline_formats::{FormatError, Result};
use slackline_model::nearest::did_you_mean;
use std::collections::BTreeMap;

/// Metric, groups and tests of a comparison.
#[derive(Clone, Debug)]
pub struct Options {
    /// The measure.
    pub metric: String,
    /// Factors whose levels make groups.
    pub by: Vec<String>,
    /// The column that names the methods.
    pub method: Option<String>,
    /// Columns that are left out.
    pub ignore: Vec<String>,
    /// The better direction; that of the metric's name if not given.
    pub better: Option<Sense>,
    /// Relative difference that counts as equal in counts of wins.
    pub equal: f64,
    /// On which scale differences are ranked.
    pub scale: Scale,
    /// Only pairs with this method.
    pub against: Option<String>,
    /// Columns that name what was drawn: their blocks are averaged before anything is inferred.
    pub unit: Vec<String>,
    /// The order in which methods are shown.
    pub order: Vec<String>,
}

impl Options {
    /// A comparison by one metric, over everything.
    pub fn by_metric(metric: &str) -> Options {
        Options {
            metric: metric.to_string(),
            by: Vec::new(),
            method: None,
            ignore: Vec::new(),
            better: None,
            equal: 0.0,
            scale: Scale::Linear,
            against: None,
            unit: Vec::new(),
            order: Vec::new(),
        }
    }
}

/// Levels of the factors of a group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Factors(pub Vec<(String, Level)>);

impl Serialize for Factors {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, level) in &self.0 {
            map.serialize_entry(name, level)?;
        }
        map.end()
    }
}

impl std::fmt::Display for Factors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, (name, level)) in self.0.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{name} {level}")?;
        }
        Ok(())
    }
}

/// The outcome of a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Schema of the document.
    pub schema: &'static str,
    /// The measure.
    pub metric: String,
    /// The better direction.
    pub better: Sense,
    /// Factors whose levels make groups.
    pub by: Vec<String>,
    /// Columns that make a block: the unit on which inference rests.
    pub unit: Vec<String>,
    /// Rows.
    pub runs: usize,
    /// Those that were done.
    pub done: usize,
    /// Those that were not.
    pub failed: usize,
    /// Figures per group and method.
    pub groups: Vec<Group>,
    /// Figures per group and pair of methods.
    pub pairs: Vec<Pair>,
    /// Tests over all methods per group.
    pub tests: Vec<Test>,
    /// Shares of the variation of all values, of a balanced table.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allocation: Vec<Variation>,
    /// Conditions that limit the conclusions from the figures.
    pub warnings: Vec<Warning>,
    /// The values behind the figures, for pictures.
    #[serde(skip)]
    pub tables: Vec<GroupTable>,
    /// The methods in order.
    #[serde(skip)]
    pub methods: Vec<String>,
}

/// The values of a group.
#[derive(Clone, Debug)]
pub struct GroupTable {
    /// Its factors.
    pub factors: Factors,
    /// Its blocks.
    pub blocks: Blocks,
}

/// One method in one group.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// The group.
    pub factors: Factors,
    /// The method.
    pub method: String,
    /// Values.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Standard deviation.
    pub sd: Option<f64>,
    /// Lower end of the mean's 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Smallest value.
    pub least: Option<f64>,
    /// First quartile.
    pub q1: Option<f64>,
    /// Median.
    pub median: Option<f64>,
    /// Third quartile.
    pub q3: Option<f64>,
    /// Largest value.
    pub most: Option<f64>,
    /// Lower end of the median's interval.
    pub median_low: Option<f64>,
    /// Upper end.
    pub median_high: Option<f64>,
    /// Geometric mean.
    pub geometric: Option<f64>,
    /// Lower end of its interval.
    pub geometric_low: Option<f64>,
    /// Upper end.
    pub geometric_high: Option<f64>,
    /// Wilson's interval, where all values are 0 or 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wilson_low: Option<f64>,
    /// Upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wilson_high: Option<f64>,
    /// Blocks of the group without a value.
    pub missing: usize,
    /// Mean excess over the best of the block.
    pub degradation: Option<f64>,
    /// Mean over the blocks in which it is not the best.
    pub degradation_not_best: Option<f64>,
    /// Blocks in which it is best or equals the best.
    pub wins: usize,
    /// Blocks in which it is best alone.
    pub wins_alone: usize,
    /// Mean rank over complete blocks.
    pub rank: Option<f64>,
    /// Samples for a half-width of 1 % of the mean.
    pub repetitions: Option<u64>,
}

/// Two methods in one group.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    /// The group.
    pub factors: Factors,
    /// The first method.
    pub a: String,
    /// The second.
    pub b: String,
    /// Blocks in which both have a value.
    pub n: usize,
    /// Blocks in which only the first has one.
    pub only_a: usize,
    /// Blocks in which only the second has one.
    pub only_b: usize,
    /// Blocks in which the first is better.
    pub better: usize,
    /// Blocks in which they are equal.
    pub equal: usize,
    /// Blocks in which the first is worse.
    pub worse: usize,
    /// Wilcoxon's p.
    pub p: Option<f64>,
    /// Matched rank-biserial correlation, positive where the first is better.
    pub effect: Option<f64>,
    /// Cliff's delta, likewise.
    pub cliff: Option<f64>,
    /// Geometric mean of a / b.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub ratio_low: Option<f64>,
    /// Upper end.
    pub ratio_high: Option<f64>,
    /// p after Holm's correction over the document.
    pub p_holm: Option<f64>,
}

/// Tests over all methods in one group.
#[derive(Clone, Debug, Serialize)]
pub struct Test {
    /// The group.
    pub factors: Factors,
    /// Complete blocks.
    pub blocks: usize,
    /// Number of methods.
    pub methods: usize,
    /// Friedman's chi-square.
    pub friedman: f64,
    /// Its p.
    pub friedman_p: f64,
    /// Iman and Davenport's F.
    pub iman_davenport: Option<f64>,
    /// Its p.
    pub iman_davenport_p: f64,
    /// Nemenyi's critical difference at 5 %.
    pub cd: f64,
    /// Nemenyi's p per pair.
    pub nemenyi: Vec<Nemenyi>,
}

/// Nemenyi's p of a pair.
#[derive(Clone, Debug, Serialize)]
pub struct Nemenyi {
    /// The first method.
    pub a: String,
    /// The second.
    pub b: String,
    /// p-value.
    pub p: f64,
}

/// A group on its way: its factors and the blocks in it.
struct Members {
    factors: Factors,
    blocks: Vec<usize>,
}

/// Compares the methods of a table of results.
pub fn compare(csv: &Csv, options: &Options) -> Result<Comparison> {
    let roles = Roles {
        metrics: vec![options.metric.clone()],
        method: options.method.clone(),
        ignore: options.ignore.clone(),
        order: options.order.clone(),
    };
    let runs = Runs::read(csv, &roles)?;
    let by = options.by.iter().map(|name| runs.factor(name)).collect::<Result<Vec<_>>>()?;
    let against = options.against.as_ref().map(|name| method_named(&runs, name)).transpose()?;
    runs.check_paired()?;
    let sense = options.better.unwrap_or_else(|| metric::sense_of(&options.metric));
    let table = runs.table(0);
    let unit = units(&runs, &by, &options.unit)?;
    let data = Data { runs: &runs, table, sense, options, by: &by, unit: unit.as_deref() };
    Ok(data.comparison(against))
}

fn method_named(runs: &Runs, name: &str) -> Result<usize> {
    runs.methods.iter().position(|m| m == name).ok_or_else(|| {
        let near = did_you_mean(name, runs.methods.iter().map(String::as_str));
        FormatError::new(format!("there is no method {name}{near}"))
    })
}

/// The keys that name units; none where every block is one.
fn units(runs: &Runs, by: &[usize], names: &[String]) -> Result<Option<Vec<usize>>> {
    if names.is_empty() {
        return Ok(None);
    }
    let mut keys = by.to_vec();
    for name in names {
        let Some(at) = runs.keys.iter().position(|k| k.name == *name) else {
            let near = did_you_mean(name, runs.keys.iter().map(|k| k.name.as_str()));
            return Err(FormatError::new(format!("--unit: there is no column {name}{near}")));
        };
        keys.push(at);
    }
    Ok(Some(keys))
}

/// Everything the figures are made of.
struct Data<'a> {
    runs: &'a Runs,
    /// Values: block after block, method after method.
    table: Vec<Option<f64>>,
    sense: Sense,
    options: &'a Options,
    by: &'a [usize],
    unit: Option<&'a [usize]>,
}

impl Data<'_> {
    fn row(&self, block: usize) -> &[Option<f64>] {
        let width = self.runs.methods.len();
        &self.table[block * width..(block + 1) * width]
    }

    /// Groups in rising order of their levels, with their blocks.
    fn members(&self) -> Vec<Members> {
        let mut groups: BTreeMap<Vec<u32>, Vec<usize>> = BTreeMap::new();
        for block in 0..self.runs.block_count() {
            let levels = self.runs.levels_of(block);
            groups.entry(self.by.iter().map(|&k| levels[k]).collect()).or_default().push(block);
        }
        let keys = &self.runs.keys;
        let factors = |codes: &[u32]| {
            let named = self.by.iter().zip(codes);
            let level = |(&k, &code): (&usize, &u32)| {
                (keys[k].name.clone(), keys[k].levels[code as usize].clone())
            };
            Factors(named.map(level).collect())
        };
        groups
            .into_iter()
            .map(|(codes, blocks)| Members { factors: factors(&codes), blocks })
            .collect()
    }

    /// The blocks of a group as a table; with units, one block per unit: the mean of each method
    /// over the blocks of the unit in which every method has a value.
    fn blocks(&self, members: &Members) -> Blocks {
        let width = self.runs.methods.len();
        let mut blocks = Blocks::new(width, self.sense);
        let Some(unit) = self.unit else {
            members.blocks.iter().for_each(|&b| blocks.push(self.row(b)));
            return blocks;
        };
        let mut units: BTreeMap<Vec<u32>, Vec<usize>> = BTreeMap::new();
        for &block in &members.blocks {
            let levels = self.runs.levels_of(block);
            units.entry(unit.iter().map(|&k| levels[k]).collect()).or_default().push(block);
        }
        for of_unit in units.values() {
            let complete = |&&b: &&usize| self.row(b).iter().all(Option::is_some);
            let complete: Vec<usize> = of_unit.iter().filter(complete).copied().collect();
            let mean = |method: usize| {
                let values = complete.iter().filter_map(|&b| self.row(b)[method]);
                let total = slackline_analysis::statistics::sum(values);
                (!complete.is_empty()).then(|| total / complete.len() as f64)
            };
            let means: Vec<Option<f64>> = (0..width).map(mean).collect();
            blocks.push(&means);
        }
        blocks
    }

    fn comparison(&self, against: Option<usize>) -> Comparison {
        let members = self.members();
        let tables: Vec<GroupTable> = members
            .iter()
            .map(|m| GroupTable { factors: m.factors.clone(), blocks: self.blocks(m) })
            .collect();
        let groups = tables.iter().flat_map(|t| self.groups(t)).collect();
        let mut pairs: Vec<Pair> = tables.iter().flat_map(|t| self.pairs(t, against)).collect();
        let p: Vec<f64> = pairs.iter().filter_map(|pair| pair.p).collect();
        let mut corrected = holm(&p).into_iter();
        for pair in pairs.iter_mut().filter(|pair| pair.p.is_some()) {
            pair.p_holm = corrected.next();
        }
        let tests = tables.iter().filter_map(|t| self.test(t)).collect();
        let warnings = self.warnings(&members, &tables, &pairs);
        let (runs, done) = (self.runs.len(), self.runs.done.iter().filter(|d| **d).count());
        let unit: Vec<usize> = match self.unit {
            Some(unit) => unit.to_vec(),
            None => (0..self.runs.keys.len()).collect(),
        };
        Comparison {
            schema: "slackline/campaign/1",
            metric: self.options.metric.clone(),
            better: self.sense,
            by: self.options.by.clone(),
            unit: unit.into_iter().map(|k| self.runs.keys[k].name.clone()).collect(),
            runs,
            done,
            failed: runs - done,
            groups,
            pairs,
            tests,
            allocation: allocation::allocation(
                self.runs,
                &self.table,
                self.options.scale == Scale::Log,
            ),
            warnings,
            tables,
            methods: self.runs.methods.clone(),
        }
    }

    fn groups(&self, table: &GroupTable) -> Vec<Group> {
        // One method alone has no rank.
        let ranks = table.blocks.ranks().filter(|ranks| ranks.len() > 1);
        let methods = table.blocks.methods(self.options.equal);
        let summaries = methods.into_iter().enumerate().map(|(i, method)| {
            let values: Vec<f64> = table.blocks.rows().filter_map(|row| row[i]).collect();
            let s = Summary::of(&values);
            let low = |i: Option<Interval>| i.map(|i| i.low);
            let high = |i: Option<Interval>| i.map(|i| i.high);
            Group {
                factors: table.factors.clone(),
                method: self.runs.methods[i].clone(),
                n: values.len(),
                mean: s.map(|s| s.mean),
                sd: s.and_then(|s| s.sd),
                low: low(s.and_then(|s| s.interval())),
                high: high(s.and_then(|s| s.interval())),
                least: s.map(|s| s.least),
                q1: s.map(|s| s.q1),
                median: s.map(|s| s.median),
                q3: s.map(|s| s.q3),
                most: s.map(|s| s.most),
                median_low: low(s.and_then(|s| s.median_interval)),
                median_high: high(s.and_then(|s| s.median_interval)),
                geometric: s.and_then(|s| s.geometric),
                geometric_low: low(s.and_then(|s| s.geometric_interval)),
                geometric_high: high(s.and_then(|s| s.geometric_interval)),
                wilson_low: low(s.and_then(|s| s.wilson)),
                wilson_high: high(s.and_then(|s| s.wilson)),
                missing: table.blocks.len() - values.len(),
                degradation: method.degradation,
                degradation_not_best: method.degradation_not_best,
                wins: method.wins,
                wins_alone: method.wins_alone,
                rank: ranks.as_ref().map(|ranks| ranks[i]),
                repetitions: s.and_then(|s| s.repetitions(0.01)),
            }
        });
        summaries.collect()
    }

    fn pairs(&self, table: &GroupTable, against: Option<usize>) -> Vec<Pair> {
        let count = self.runs.methods.len();
        let all: Vec<(usize, usize)> = match against {
            Some(a) => (0..count).filter(|&b| b != a).map(|b| (a, b)).collect(),
            None => (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b))).collect(),
        };
        let pair = |(a, b): (usize, usize)| {
            let pairs = Pairs::new(table.blocks.rows().map(|row| (row[a], row[b])));
            let counts = pairs.counts(self.sense, self.options.equal);
            let wilcoxon = pairs.wilcoxon(self.options.scale);
            let ratio = pairs.ratio();
            Pair {
                factors: table.factors.clone(),
                a: self.runs.methods[a].clone(),
                b: self.runs.methods[b].clone(),
                n: pairs.n(),
                only_a: pairs.only_a(),
                only_b: pairs.only_b(),
                better: counts.better,
                equal: counts.equal,
                worse: counts.worse,
                p: wilcoxon.map(|w| w.p),
                effect: wilcoxon.map(|w| w.effect(self.sense)),
                cliff: pairs.cliff(self.sense),
                ratio: ratio.map(|r| r.ratio),
                ratio_low: ratio.and_then(|r| r.interval).map(|i| i.low),
                ratio_high: ratio.and_then(|r| r.interval).map(|i| i.high),
                p_holm: None,
            }
        };
        all.into_iter().map(pair).collect()
    }

    fn test(&self, table: &GroupTable) -> Option<Test> {
        // Two methods have the tests of their pair, and one block shows no agreement.
        let enough = |f: &Friedman| self.runs.methods.len() > 2 && f.blocks > 1;
        let friedman = table.blocks.friedman().filter(enough)?;
        let name = |i: usize| self.runs.methods[i].clone();
        let nemenyi =
            friedman.nemenyi.iter().map(|&(a, b, p)| Nemenyi { a: name(a), b: name(b), p });
        Some(Test {
            factors: table.factors.clone(),
            blocks: friedman.blocks,
            methods: self.runs.methods.len(),
            friedman: friedman.chi2,
            friedman_p: friedman.p,
            iman_davenport: friedman.f,
            iman_davenport_p: friedman.f_p?,
            cd: friedman.critical_difference,
            nemenyi: nemenyi.collect(),
        })
    }
}

#[cfg(test)]
mod tests;
