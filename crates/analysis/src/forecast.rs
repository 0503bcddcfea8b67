//! Forecasts of workflows with choices and loops: how makespan and cost are distributed over many
//! runs, how likely limits are kept, and which decisions explain the spread.

use schemars::JsonSchema;
use serde::Serialize;
use slackline_model::approx;
use slackline_model::control::{Control, DecisionKind};
use slackline_schedule::nondet::{Options, Run};
use std::collections::BTreeMap;

/// The distribution of a figure over runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Distribution {
    /// Mean.
    pub mean: f64,
    /// Standard deviation, with N - 1.
    pub sd: f64,
    /// Least value.
    pub least: f64,
    /// Nearest-rank quantiles: the least value that 10 % of the runs do not exceed.
    pub p10: f64,
    /// The median.
    pub p50: f64,
    /// 90 %.
    pub p90: f64,
    /// Greatest value.
    pub most: f64,
}

impl Distribution {
    /// Of one or more values.
    pub fn of(values: &[f64]) -> Distribution {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let rank = |percent: usize| sorted[((n * percent).div_ceil(100)).max(1) - 1];
        let mean = sorted.iter().sum::<f64>() / n as f64;
        let squares = sorted.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
        let sd = if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 };
        Distribution {
            mean,
            sd,
            least: sorted[0],
            p10: rank(10),
            p50: rank(50),
            p90: rank(90),
            most: sorted[n - 1],
        }
    }
}

/// A share of runs with its Wilson interval of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Chance {
    /// The share of runs.
    pub share: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Chance {
    /// So many of so many runs.
    pub fn of(kept: usize, runs: usize) -> Chance {
        const Z: f64 = 1.959_963_984_540_054;
        let (n, p) = (runs as f64, kept as f64 / runs as f64);
        let centre = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
        let margin = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
        // The ends of none and of all are exact.
        let low = if kept == 0 { 0.0 } else { (centre - margin).max(0.0) };
        let high = if kept == runs { 1.0 } else { (centre + margin).min(1.0) };
        Chance { share: p, low, high }
    }
}

/// A block, and how much of the spread its decisions explain.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Explained {
    /// The choice or loop.
    pub block: String,
    /// Share of the variance of the makespan between its courses.
    pub makespan: f64,
    /// Share of the variance of the cost between its courses.
    pub cost: f64,
    /// Its courses.
    pub courses: Vec<BlockCourse>,
}

/// One way a block went, over all runs that went so.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BlockCourse {
    /// Branches taken or passes made: `good`, `3 passes`, `not reached`.
    pub outcome: String,
    /// Share of runs.
    pub share: f64,
    /// Their mean makespan.
    pub makespan: f64,
    /// Their mean cost.
    pub cost: f64,
}

/// Releases of a sub-workflow over all runs, and the money planned for it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PartRuns {
    /// Its name.
    pub name: String,
    /// Mean number of releases.
    pub mean: f64,
    /// Most releases in a run.
    pub most: usize,
    /// Mean money of a release, in adaptive runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub money: Option<f64>,
}

/// Distributions and chances over many runs.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// Distribution of the makespan, seconds.
    pub makespan: Distribution,
    /// Distribution of the cost.
    pub cost: Distribution,
    /// Chance to keep the budget.
    pub budget: Chance,
    /// Chance to keep the deadline, where there is one.
    pub deadline: Option<Chance>,
    /// Chance to keep both.
    pub both: Chance,
    /// Blocks, those that explain most first.
    pub explained: Vec<Explained>,
    /// Sub-workflows.
    pub parts: Vec<PartRuns>,
    /// Makespan and cost of every run.
    pub runs: Vec<(f64, f64)>,
}

impl Forecast {
    /// Of one or more runs; `names` are those of the sub-workflows.
    pub fn of(
        control: &Control,
        runs: &[Run],
        names: &[&str],
        budget: f64,
        deadline: Option<f64>,
    ) -> Forecast {
        let makespans: Vec<f64> = runs.iter().map(|r| r.makespan).collect();
        let costs: Vec<f64> = runs.iter().map(|r| r.cost).collect();
        let affords = |run: &Run| Options::affords(run.cost, budget);
        let in_time = |run: &Run| deadline.is_none_or(|d| approx::le(run.makespan, d));
        let chance = |kept: &dyn Fn(&Run) -> bool| {
            Chance::of(runs.iter().filter(|run| kept(run)).count(), runs.len())
        };
        let part = |(at, name): (usize, &&str)| {
            let released = |run: &Run| run.released.iter().filter(|r| r.part == at).count();
            let counts: Vec<usize> = runs.iter().map(released).collect();
            let all: usize = counts.iter().sum();
            let money: Vec<f64> = (runs.iter().flat_map(|r| &r.released))
                .filter(|r| r.part == at)
                .filter_map(|r| r.money)
                .collect();
            PartRuns {
                name: name.to_string(),
                mean: all as f64 / runs.len() as f64,
                most: counts.iter().copied().max().unwrap_or(0),
                money: (!money.is_empty()).then(|| money.iter().sum::<f64>() / money.len() as f64),
            }
        };
        Forecast {
            makespan: Distribution::of(&makespans),
            cost: Distribution::of(&costs),
            budget: chance(&affords),
            deadline: deadline.map(|_| chance(&in_time)),
            both: chance(&|run| affords(run) && in_time(run)),
            explained: explained(control, runs, &makespans, &costs),
            parts: names.iter().enumerate().map(part).collect(),
            runs: makespans.into_iter().zip(costs).collect(),
        }
    }
}

/// Groups runs by what became of each block, and compares the variance between the groups with that
/// of all runs.
fn explained(control: &Control, runs: &[Run], makespans: &[f64], costs: &[f64]) -> Vec<Explained> {
    let choices = control.choices().iter().enumerate();
    let choices = choices.map(|(c, choice)| (choice.name.clone(), Some(c as u32), None));
    let loops = control.loops().iter().enumerate();
    let loops = loops.map(|(l, spec)| (spec.name.clone(), None, Some(l as u32)));
    let mut all: Vec<Explained> = (choices.chain(loops))
        .map(|(block, choice, repeated)| {
            let mut groups: BTreeMap<(usize, String), Vec<usize>> = BTreeMap::new();
            for (number, run) in runs.iter().enumerate() {
                let course = match (choice, repeated) {
                    (Some(c), _) => branches(control, run, c),
                    (_, Some(l)) => passes(run, l),
                    _ => continue,
                };
                groups.entry(course).or_default().push(number);
            }
            let mean = |values: &[f64], of: &[usize]| {
                of.iter().map(|&i| values[i]).sum::<f64>() / of.len() as f64
            };
            let share = |values: &[f64]| {
                let whole: Vec<usize> = (0..values.len()).collect();
                let centre = mean(values, &whole);
                let total: f64 = values.iter().map(|v| (v - centre).powi(2)).sum();
                let between: f64 = groups
                    .values()
                    .map(|of| of.len() as f64 * (mean(values, of) - centre).powi(2))
                    .sum();
                if total > 0.0 { (between / total).min(1.0) } else { 0.0 }
            };
            let course = |((_, outcome), of): (&(usize, String), &Vec<usize>)| BlockCourse {
                outcome: outcome.clone(),
                share: of.len() as f64 / runs.len() as f64,
                makespan: mean(makespans, of),
                cost: mean(costs, of),
            };
            let courses = groups.iter().map(course).collect();
            Explained { makespan: share(makespans), cost: share(costs), block, courses }
        })
        .collect();
    all.sort_by(|a, b| b.makespan.total_cmp(&a.makespan));
    all
}

/// Returns the number of decisions of a choice in a run, and the branches taken, in words.
fn branches(control: &Control, run: &Run, choice: u32) -> (usize, String) {
    let branches = &control.choices()[choice as usize].branches;
    let mut taken = vec![0usize; branches.len()];
    for (decision, outcome) in &run.outcomes {
        if decision.kind == DecisionKind::Choice(choice) {
            taken[*outcome as usize] += 1;
        }
    }
    let total: usize = taken.iter().sum();
    let named = |(count, branch): (&usize, &slackline_model::control::Branch)| match count {
        0 => None,
        1 => Some(branch.name.clone()),
        n => Some(format!("{n} x {}", branch.name)),
    };
    let text: Vec<String> = taken.iter().zip(branches).filter_map(named).collect();
    let text = if text.is_empty() { "not reached".to_string() } else { text.join(", ") };
    (total, text)
}

/// Returns the number of passes of a loop in a run, all its executions together, also in words.
fn passes(run: &Run, number: u32) -> (usize, String) {
    let mine =
        |kind: DecisionKind| matches!(kind, DecisionKind::Loop { number: n, .. } if n == number);
    let passes = run.outcomes.iter().filter(|(decision, _)| mine(decision.kind)).count();
    let text = match passes {
        0 => "not reached".to_string(),
        1 => "1 pass".to_string(),
        n => format!("{n} passes"),
    };
    (passes, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_by_nearest_rank() {
        let values: Vec<f64> = (1..=10).rev().map(f64::from).collect();
        let of = Distribution::of(&values);
        assert_eq!((of.least, of.p10, of.p50, of.p90, of.most), (1.0, 1.0, 5.0, 9.0, 10.0));
        assert_eq!(of.mean, 5.5);
        assert!((of.sd - (82.5f64 / 9.0).sqrt()).abs() < 1e-12);
        assert_eq!(Distribution::of(&[3.0]).sd, 0.0);
    }

    #[test]
    fn intervals_of_wilson() {
        let chance = Chance::of(8, 10);
        assert!((chance.low - 0.490_16).abs() < 1e-4 && (chance.high - 0.943_3).abs() < 1e-4);
        assert_eq!(Chance::of(0, 5).low, 0.0);
    }
}
