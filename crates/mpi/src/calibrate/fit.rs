//! Time against size as straight lines, piece by piece.
//!
//! Noise of measured times is proportional to them, so points weigh 1/time^2 everywhere. The pieces
//! are chosen by dynamic programming over the sorted points, at least three points each, and the
//! smallest number of pieces is taken that one more would not better by 1 % or more. Time O(k n^2).
//!
//! There are two criteria. The SMPI paper takes the product of the pieces' correlation
//! coefficients. That works while noise is small against the slope inside each piece; where a slope
//! drowns in noise its piece correlates badly however well it fits, and the product prefers to
//! merge it. The squared relative error of the lines has no such blind spot and is the default; the
//! tests below state how much noise each of them tolerates.

/// The criterion by which one choice of pieces is better than another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Criterion {
    /// The root of the mean squared relative error.
    #[default]
    RelativeError,
    /// The product of the correlation coefficients of the pieces.
    Correlation,
}

impl Criterion {
    /// Returns the cost of a piece; the costs of pieces add up.
    fn cost(self, sums: &Sums) -> f64 {
        match self {
            Criterion::RelativeError => sums.line().2,
            Criterion::Correlation => -sums.correlation().max(1e-12).ln(),
        }
    }

    /// Whether a lower total over `n` points is lower by 1 % or more.
    fn gains(self, before: f64, after: f64, n: usize) -> bool {
        let rms = |total: f64| (total / n as f64).sqrt();
        match self {
            Criterion::RelativeError => rms(after) < 0.99 * rms(before) && rms(before) > 1e-9,
            Criterion::Correlation => before - after > 1.01f64.ln(),
        }
    }
}

/// A measured message: bytes and seconds (or flop and seconds).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Bytes or flop.
    pub size: f64,
    /// Seconds.
    pub time: f64,
}

/// A straight line for sizes above `from`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// The size it holds above.
    pub from: f64,
    /// Seconds.
    pub constant: f64,
    /// Seconds per unit.
    pub slope: f64,
    /// Correlation of size and time, points weighing 1/time^2.
    pub correlation: f64,
}

impl Piece {
    /// Units per second: where noise hides any slope, at most a thousand times `nominal`.
    pub fn rate(&self, nominal: f64) -> f64 {
        1.0 / self.slope.max(1e-3 / nominal)
    }
}

/// Fewest points of a piece.
const FEWEST: usize = 3;

/// Most points that are used; of more, an even selection.
const MOST_POINTS: usize = 2000;

/// Sums over the points before a place, weighted by 1/time^2.
#[derive(Clone, Copy, Default)]
struct Sums {
    w: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Sums {
    fn with(self, point: &Point) -> Sums {
        let w = 1.0 / (point.time * point.time);
        let (x, y) = (point.size, point.time);
        Sums {
            w: self.w + w,
            x: self.x + w * x,
            y: self.y + w * y,
            xx: self.xx + w * x * x,
            xy: self.xy + w * x * y,
            yy: self.yy + w * y * y,
        }
    }

    fn since(self, before: Sums) -> Sums {
        Sums {
            w: self.w - before.w,
            x: self.x - before.x,
            y: self.y - before.y,
            xx: self.xx - before.xx,
            xy: self.xy - before.xy,
            yy: self.yy - before.yy,
        }
    }

    /// Constant, slope (neither below zero) and the sum of squared relative errors.
    fn line(&self) -> (f64, f64, f64) {
        let spread = self.w * self.xx - self.x * self.x;
        let free = (self.w * self.xy - self.x * self.y) / spread;
        let error = |constant: f64, slope: f64| {
            let cross = constant * self.y + slope * self.xy;
            let square = constant * constant * self.w
                + 2.0 * constant * slope * self.x
                + slope * slope * self.xx;
            (self.yy - 2.0 * cross + square).max(0.0)
        };
        let flat = (self.y / self.w, 0.0);
        let steep = (0.0, if self.xx > 0.0 { self.xy / self.xx } else { 0.0 });
        let (constant, slope) = if spread <= 1e-12 * self.w * self.xx || free.is_nan() || free < 0.0
        {
            flat
        } else {
            let constant = (self.y - free * self.x) / self.w;
            if constant < 0.0 { steep } else { (constant, free) }
        };
        (constant, slope, error(constant, slope))
    }

    /// Correlation of size and time; 0 where one of them does not vary.
    fn correlation(&self) -> f64 {
        let xx = self.w * self.xx - self.x * self.x;
        let yy = self.w * self.yy - self.y * self.y;
        let varies = xx > 1e-12 * self.w * self.xx && yy > 1e-12 * self.w * self.yy;
        if varies { (self.w * self.xy - self.x * self.y) / (xx * yy).sqrt() } else { 0.0 }
    }
}

fn sorted(points: &[Point]) -> Vec<Point> {
    let good =
        |p: &&Point| p.size >= 0.0 && p.size.is_finite() && p.time > 0.0 && p.time.is_finite();
    let mut sorted: Vec<Point> = points.iter().filter(good).copied().collect();
    sorted.sort_by(|a, b| a.size.total_cmp(&b.size).then(a.time.total_cmp(&b.time)));
    let step = sorted.len().div_ceil(MOST_POINTS).max(1);
    sorted.into_iter().step_by(step).collect()
}

/// Straight lines for the points; `None` when there are too few.
pub fn pieces(points: &[Point], most: usize, by: Criterion) -> Option<Vec<Piece>> {
    let points = sorted(points);
    let n = points.len();
    if n < FEWEST {
        return None;
    }
    let mut sums = vec![Sums::default()];
    for point in &points {
        sums.push(sums[sums.len() - 1].with(point));
    }
    let cost = |from: usize, to: usize| by.cost(&sums[to].since(sums[from]));
    // Costs and last cuts by number of pieces and number of points.
    let mut costs: Vec<Vec<f64>> =
        vec![(0..=n).map(|to| if to >= FEWEST { cost(0, to) } else { f64::INFINITY }).collect()];
    let mut cuts: Vec<Vec<usize>> = vec![vec![0; n + 1]];
    for k in 1..most.min(n / FEWEST) {
        let before = &costs[k - 1];
        let (mut here, mut cut) = (vec![f64::INFINITY; n + 1], vec![0; n + 1]);
        for to in FEWEST * (k + 1)..=n {
            for from in FEWEST * k..=to - FEWEST {
                // Pieces begin at a new size.
                if before[from] >= here[to] || points[from].size == points[from - 1].size {
                    continue;
                }
                let total = before[from] + cost(from, to);
                if total < here[to] {
                    (here[to], cut[to]) = (total, from);
                }
            }
        }
        costs.push(here);
        cuts.push(cut);
    }
    let mut count = 0;
    while count + 1 < costs.len() && by.gains(costs[count][n], costs[count + 1][n], n) {
        count += 1;
    }
    let mut ends = vec![n];
    for k in (1..=count).rev() {
        let last = ends[ends.len() - 1];
        ends.push(cuts[k][last]);
    }
    ends.push(0);
    ends.reverse();
    let piece = |range: &[usize]| {
        let part = sums[range[1]].since(sums[range[0]]);
        let (constant, slope, _) = part.line();
        // Half-way to the last point of the piece before.
        let from = match range[0] {
            0 => 0.0,
            first => (points[first - 1].size * points[first].size).sqrt(),
        };
        Piece { from, constant, slope, correlation: part.correlation() }
    };
    Some(ends.windows(2).map(piece).collect())
}

/// Time for a size by pieces.
pub(super) fn at(pieces: &[Piece], size: f64) -> f64 {
    let piece = pieces.iter().rev().find(|p| p.from < size).or(pieces.first());
    piece.map_or(0.0, |p| p.constant + p.slope * size)
}

/// One latency and one bandwidth for all sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Affine {
    /// Seconds.
    pub constant: f64,
    /// Seconds per byte.
    pub slope: f64,
}

impl Affine {
    /// Time for a size.
    pub fn at(&self, size: f64) -> f64 {
        self.constant + self.slope * size
    }

    /// Latency of the smallest message, 92 % of the bandwidth of the largest.
    pub fn plain(points: &[Point]) -> Option<Affine> {
        let points = sorted(points);
        let (first, last) = (points.first()?, points.last()?);
        let bandwidth = last.size / last.time;
        Some(Affine { constant: first.time, slope: 1.0 / (0.92 * bandwidth) })
    }

    /// The pair with the smallest mean logarithmic error: found by coordinate search from the
    /// weighted line.
    pub fn best(points: &[Point]) -> Option<Affine> {
        let points = sorted(points);
        let sums = points.iter().fold(Sums::default(), |sums, point| sums.with(point));
        if points.is_empty() {
            return None;
        }
        let (constant, slope, _) = sums.line();
        let first = points[0].time;
        let mut best = Affine { constant: constant.max(0.01 * first), slope: slope.max(1e-15) };
        let error = |affine: &Affine| mean_log_error(&points, |s| affine.at(s));
        let mut least = error(&best);
        let mut step: f64 = 2.0;
        while step > 1.0001 {
            let mut moved = false;
            for (a, b) in [(step, 1.0), (1.0 / step, 1.0), (1.0, step), (1.0, 1.0 / step)] {
                let tried = Affine { constant: best.constant * a, slope: best.slope * b };
                let e = error(&tried);
                if e < least {
                    (best, least, moved) = (tried, e, true);
                }
            }
            if !moved {
                step = step.sqrt();
            }
        }
        Some(best)
    }
}

/// Mean of |ln(predicted / measured)|.
pub fn mean_log_error(points: &[Point], predict: impl Fn(f64) -> f64) -> f64 {
    let error = |p: &Point| (predict(p.size) / p.time).ln().abs();
    points.iter().map(error).sum::<f64>() / points.len().max(1) as f64
}
