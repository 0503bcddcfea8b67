//! Many methods on the same blocks: ranks, Friedman's test with Nemenyi's post-hoc test, degradation, wins, performance
//! profiles (Dolan, Moré, 2002).

use super::distributions::{chi_square_tail, f_tail, range_quantile, range_tail};
use super::sample::sum;
use super::{Comparison, NOISE, Sense, compare, equal};

/// A table of blocks and methods. A missing value is a run without a result.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    methods: usize,
    /// Block after block, method after method.
    values: Vec<Option<f64>>,
    sense: Sense,
}

/// Friedman's test and Nemenyi's post-hoc test, over complete blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Friedman {
    /// Complete blocks.
    pub blocks: usize,
    /// Chi-square with the correction for ties.
    pub chi2: f64,
    /// Its p-value with methods - 1 degrees of freedom.
    pub p: f64,
    /// Iman and Davenport's F; none for a single block, and where its divisor is 0 (all blocks in the same order).
    pub f: Option<f64>,
    /// The p-value of F; none for a single block.
    pub f_p: Option<f64>,
    /// Nemenyi's critical difference of mean ranks at 5 %.
    pub critical_difference: f64,
    /// Nemenyi's p-values: (first method, second method, p), pairs in order.
    pub nemenyi: Vec<(usize, usize, f64)>,
}

/// One method among many.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodSummary {
    /// Blocks in which it has a value.
    pub n: usize,
    /// Mean excess over the best of the block; none where a value is not positive.
    pub degradation: Option<f64>,
    /// Mean excess over the best of the block, over the blocks in which it is not the best.
    pub degradation_not_best: Option<f64>,
    /// Blocks in which it is the best or equals the best.
    pub wins: usize,
    /// Blocks in which it wins alone.
    pub wins_alone: usize,
    /// Steps of its performance profile, `(tau, share of all blocks)`; none where a value is not
    /// positive.
    pub profile: Option<Vec<(f64, f64)>>,
}

impl Blocks {
    /// An empty table for so many methods.
    pub fn new(methods: usize, sense: Sense) -> Blocks {
        Blocks { methods, values: Vec::new(), sense }
    }

    /// Adds a block: one value per method.
    pub fn push(&mut self, block: &[Option<f64>]) {
        assert_eq!(block.len(), self.methods, "one value per method");
        self.values.extend_from_slice(block);
    }

    /// The blocks.
    pub fn rows(&self) -> impl Iterator<Item = &[Option<f64>]> {
        self.values.chunks(self.methods.max(1))
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.values.len() / self.methods.max(1)
    }

    /// Whether there is no block.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Number of blocks in which every method has a value.
    pub fn complete(&self) -> usize {
        self.rows().filter(|row| row.iter().all(Option::is_some)).count()
    }

    /// The best value of a block.
    pub fn best(&self, row: &[Option<f64>]) -> Option<f64> {
        row.iter().flatten().copied().reduce(|x, y| match self.sense {
            Sense::Lower => x.min(y),
            Sense::Higher => x.max(y),
        })
    }

    /// Per method the sum of doubled ranks over complete blocks, then the sum of t^3 - t over groups of t tied methods, then
    /// the number of complete blocks. Doubled, mean ranks of ties are whole numbers.
    fn rank_sums(&self) -> (Vec<i128>, i128, usize) {
        let (mut sums, mut tied, mut complete) = (vec![0_i128; self.methods], 0, 0);
        let mut order: Vec<usize> = Vec::new();
        for row in self.rows() {
            let Some(values) = row.iter().copied().collect::<Option<Vec<f64>>>() else { continue };
            complete += 1;
            order.clear();
            order.extend(0..self.methods);
            order.sort_by(|&x, &y| match self.sense {
                Sense::Lower => values[x].total_cmp(&values[y]),
                Sense::Higher => values[y].total_cmp(&values[x]),
            });
            let mut first = 0;
            while first < order.len() {
                let best = values[order[first]];
                let ties = |&&m: &&usize| equal(values[m], best, NOISE);
                let size = order[first..].iter().take_while(ties).count();
                for &method in &order[first..first + size] {
                    sums[method] += (2 * first + size + 1) as i128;
                }
                let t = size as i128;
                tied += t * t * t - t;
                first += size;
            }
        }
        (sums, tied, complete)
    }

    /// Mean rank per method over complete blocks, 1 is best; none without a complete block.
    pub fn ranks(&self) -> Option<Vec<f64>> {
        let (sums, _, complete) = self.rank_sums();
        let mean = |&s: &i128| s as f64 / (2.0 * complete as f64);
        (complete > 0).then(|| sums.iter().map(mean).collect())
    }

    /// Friedman's test; none below two methods or without a complete block.
    pub fn friedman(&self) -> Option<Friedman> {
        let (sums, tied, complete) = self.rank_sums();
        if self.methods < 2 || complete == 0 {
            return None;
        }
        // Whole numbers throughout, so that "all tied" and "always the same order" are exact:
        // chi2 = 3 (k - 1) X / E with the doubled rank sums D, X = sum D^2 - n^2 k (k + 1)^2,
        // E = n k (k^2 - 1) - tied, and F = 3 (n - 1) X / (n E - 3 X).
        let (n, k) = (complete as i128, self.methods as i128);
        let x = sums.iter().map(|d| d * d).sum::<i128>() - n * n * k * (k + 1) * (k + 1);
        let e = n * k * (k * k - 1) - tied;
        let (chi2, rest) = match e {
            0 => (0.0, 1),
            _ => (3.0 * (k - 1) as f64 * (x as f64 / e as f64), n * e - 3 * x),
        };
        let freedom = (k - 1) as f64;
        let below = freedom * (n - 1) as f64;
        let (f, f_p) = match (e, rest) {
            _ if n == 1 => (None, None),
            (0, _) => (Some(0.0), Some(1.0)),
            (_, 0) => (None, Some(0.0)),
            _ => {
                let f = 3.0 * (n - 1) as f64 * x as f64 / rest as f64;
                (Some(f), Some(f_tail(freedom, below, f)))
            }
        };
        let unit = ((k * (k + 1)) as f64 / (6.0 * n as f64)).sqrt();
        let root = std::f64::consts::SQRT_2;
        let pairs = (0..self.methods).flat_map(|i| (i + 1..self.methods).map(move |j| (i, j)));
        let nemenyi = pairs
            .map(|(i, j)| {
                let distance = (sums[i] - sums[j]).abs() as f64 / (2.0 * n as f64);
                (i, j, range_tail(self.methods, root * distance / unit))
            })
            .collect();
        Some(Friedman {
            blocks: complete,
            chi2,
            p: chi_square_tail(freedom, chi2),
            f,
            f_p,
            critical_difference: range_quantile(self.methods, 0.05) / root * unit,
            nemenyi,
        })
    }

    /// The summary of every method; `tolerance` is what counts as equal for wins.
    pub fn methods(&self, tolerance: f64) -> Vec<MethodSummary> {
        let positive = self.values.iter().flatten().all(|&v| v > 0.0);
        let mut tables: Vec<MethodFigures> = vec![MethodFigures::default(); self.methods];
        for row in self.rows() {
            let Some(best) = self.best(row) else { continue };
            let wins = |v: &f64| {
                compare(*v, best, self.sense, tolerance) == Comparison::Equal || *v == best
            };
            let winners = row.iter().flatten().filter(|v| wins(v)).count();
            for (value, table) in row.iter().zip(&mut tables) {
                let Some(value) = value else { continue };
                table.n += 1;
                if wins(value) {
                    table.wins += 1;
                    table.wins_alone += usize::from(winners == 1);
                }
                let excess = (value - best).abs() / best.abs();
                let same = equal(*value, best, NOISE);
                table.excesses.push(if same { 0.0 } else { excess });
                table.not_best += usize::from(!same);
                table.ratios.push(match self.sense {
                    _ if same => 1.0,
                    Sense::Lower => value / best,
                    Sense::Higher => best / value,
                });
            }
        }
        let blocks = self.len();
        tables.into_iter().map(|table| table.summary(positive, blocks)).collect()
    }
}

/// Figures of one method, block by block.
#[derive(Clone, Default)]
struct MethodFigures {
    n: usize,
    wins: usize,
    wins_alone: usize,
    not_best: usize,
    excesses: Vec<f64>,
    ratios: Vec<f64>,
}

impl MethodFigures {
    fn summary(self, positive: bool, blocks: usize) -> MethodSummary {
        let total = sum(self.excesses.iter().copied());
        let mean = |n: usize| (positive && n > 0).then(|| total / n as f64);
        MethodSummary {
            n: self.n,
            degradation: mean(self.n),
            degradation_not_best: mean(self.not_best),
            wins: self.wins,
            wins_alone: self.wins_alone,
            profile: positive.then(|| steps(self.ratios, blocks)),
        }
    }
}

/// Empirical distribution: steps `(x, share of values <= x)`.
pub fn ecdf(values: &[f64]) -> Vec<(f64, f64)> {
    steps(values.to_vec(), values.len())
}

/// Steps of a distribution; values that are the same number make one.
fn steps(mut values: Vec<f64>, of: usize) -> Vec<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let mut steps: Vec<(f64, f64)> = Vec::new();
    for (i, &x) in values.iter().enumerate() {
        let share = (i + 1) as f64 / of as f64;
        match steps.last_mut() {
            Some(last) if equal(last.0, x, NOISE) => last.1 = share,
            _ => steps.push((x, share)),
        }
    }
    steps
}

/// Holm's correction over a family of p-values: sorted, times (m, m - 1, ...), running maximum,
/// at most 1.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&x, &y| p[x].total_cmp(&p[y]));
    let (mut corrected, mut most) = (vec![0.0; p.len()], 0.0_f64);
    for (place, &i) in order.iter().enumerate() {
        most = most.max(((p.len() - place) as f64 * p[i]).min(1.0));
        corrected[i] = most;
    }
    corrected
}

/// See [`super::Estimate::stratified_ratio`].
pub(super) fn stratified_ratio(above: &[&[f64]], below: &[&[f64]]) -> super::Estimate {
    let mean = |values: &[f64]| super::Moments::of(values).mean;
    let strata = || above.iter().zip(below).filter(|(a, b)| !a.is_empty() && a.len() == b.len());
    let total: f64 = strata().map(|(_, b)| mean(b)).sum();
    let ratio = strata().map(|(a, _)| mean(a)).sum::<f64>() / total;
    let count = strata().count() as f64;
    let residuals = |a: &[f64], b: &[f64]| -> Vec<f64> {
        a.iter().zip(b).map(|(a, b)| a - ratio * b).collect()
    };
    // Variance of the sum of means of residuals, and Satterthwaite's degrees of freedom.
    let (mut variance, mut spread) = (0.0, 0.0);
    let mut lone: Vec<f64> = Vec::new();
    let mut samples = 0;
    let mut add = |squares: f64, n: f64, weight: f64| {
        let part = weight * squares / (n - 1.0) / n;
        variance += part;
        spread += part * part / (n - 1.0);
    };
    for (a, b) in strata() {
        samples += a.len();
        let values = residuals(a, b);
        if values.len() < 2 {
            lone.extend(values);
            continue;
        }
        let centre = mean(&values);
        let squares = values.iter().map(|r| (r - centre).powi(2)).sum();
        add(squares, values.len() as f64, 1.0);
    }
    let is_known = lone.len() != 1;
    if lone.len() > 1 {
        let (n, centre) = (lone.len() as f64, mean(&lone));
        let squares = lone.iter().map(|r| (r - centre).powi(2)).sum();
        // Their n strata are n of the means that are summed: weight n^2.
        add(squares, n, n * n);
    }
    let margin = (is_known && count > 0.0 && samples > 1).then(|| {
        let degrees = if spread > 0.0 { variance * variance / spread } else { f64::INFINITY };
        // Beyond 1e9 degrees Student's distribution is the normal one to double precision.
        let degrees = degrees.clamp(1.0, 1e9);
        super::distributions::student_quantile(degrees, 0.025) * variance.sqrt() / total.abs()
    });
    super::Estimate { value: ratio, margin, interval: None, samples, exact: false }
}
