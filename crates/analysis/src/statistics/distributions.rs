//! Quantiles and tails of the distributions that intervals and tests need.
//!
//! Tails are accurate to about 1e-13 relative, also far out and for a million degrees of freedom:
//! the powers in front of the continued fraction of the incomplete beta function are taken from
//! deviations from the mean, not from logarithms of gamma functions that cancel.

use std::f64::consts::PI;

/// Quantile of the standard normal distribution that leaves 2.5 % above it.
pub const Z_95: f64 = 1.959_963_984_540_054_2;

const LN_SQRT_2PI: f64 = 0.918_938_533_204_672_8;

/// Upper tail of the standard normal distribution.
pub fn normal_tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - normal_tail(-z);
    }
    if z == f64::INFINITY {
        return 0.0;
    }
    0.5 * gamma_tail(0.5, 0.5 * z * z)
}

/// Density of the standard normal distribution.
pub fn normal_density(z: f64) -> f64 {
    (-0.5 * z * z - LN_SQRT_2PI).exp()
}

/// The z that leaves `upper` (between 0 and 1) above it.
pub fn normal_quantile(upper: f64) -> f64 {
    if upper > 0.5 {
        return -normal_quantile(1.0 - upper);
    }
    if upper <= 0.0 {
        return f64::INFINITY;
    }
    // Hastings' approximation, then Newton's steps on the logarithm of the tail (concave, so that
    // they converge from everywhere).
    let t = (-2.0 * upper.ln()).sqrt();
    let numerator = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let mut z = t - numerator / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)));
    for _ in 0..60 {
        let tail = normal_tail(z);
        let step = (tail / upper).ln() * tail / normal_density(z);
        z += step;
        if step.abs() <= 1e-16 * z.abs().max(1.0) {
            break;
        }
    }
    z
}

/// Upper tail of the chi-square distribution.
pub fn chi_square_tail(freedom: f64, x: f64) -> f64 {
    if x <= 0.0 { 1.0 } else { gamma_tail(0.5 * freedom, 0.5 * x) }
}

/// Upper tail of the F distribution with `above` and `below` degrees of freedom.
pub fn f_tail(above: f64, below: f64, f: f64) -> f64 {
    if f <= 0.0 {
        return 1.0;
    }
    if f == f64::INFINITY {
        return 0.0;
    }
    let whole = below + above * f;
    // 1 - F is the incomplete beta function with parameters below/2, above/2 at below / whole.
    Beta {
        a: 0.5 * below,
        b: 0.5 * above,
        x: below / whole,
        y: above * f / whole,
        over_x: above * (1.0 - f) / whole,
        over_y: below * (f - 1.0) / whole,
    }
    .value()
}

/// Upper tail of Student's distribution.
pub fn student_tail(freedom: f64, t: f64) -> f64 {
    let two_sided = f_tail(1.0, freedom, t * t);
    if t >= 0.0 { 0.5 * two_sided } else { 1.0 - 0.5 * two_sided }
}

/// The t that leaves `upper` (above 0, at most one half) above it, with `freedom` degrees.
pub fn student_quantile(freedom: f64, upper: f64) -> f64 {
    if upper >= 0.5 {
        return 0.0;
    }
    let half = 0.5 * freedom;
    let at_zero = stirling_difference(half) - LN_SQRT_2PI;
    // The tail falls and is convex: Newton's steps from below approach the quantile from below.
    let mut t = normal_quantile(upper);
    for _ in 0..200 {
        let density = (at_zero - (half + 0.5) * (t * t / freedom).ln_1p()).exp();
        let step = (student_tail(freedom, t) - upper) / density;
        t += step;
        if step <= 4.0 * f64::EPSILON * t {
            break;
        }
    }
    t
}

/// `ln Γ(a + 1/2) - ln Γ(a) - ln(a) / 2`, without the cancellation of the two.
fn stirling_difference(a: f64) -> f64 {
    let b = a + 0.5;
    // (b - 1/2) ln b - b - (a - 1/2) ln a + a - ln(a) / 2 = a ln(b / a) - 1/2.
    a * (0.5 / a).ln_1p() - 0.5 + stirling_rest(b) - stirling_rest(a)
}

/// `P(X <= below)` for X binomial with `n` trials of probability one half.
pub fn binomial_half(n: u64, below: u64) -> f64 {
    if below >= n {
        return 1.0;
    }
    if n <= 60 {
        let (mut term, mut sum) = (1_u128, 1_u128);
        for k in 1..=below {
            term = term * u128::from(n - k + 1) / u128::from(k);
            sum += term;
        }
        return sum as f64 / 2f64.powi(n as i32);
    }
    let (a, b) = ((n - below) as f64, (below + 1) as f64);
    let half = |p: f64, q: f64| (q - p) / (2.0 * p);
    Beta { a, b, x: 0.5, y: 0.5, over_x: half(a, b), over_y: half(b, a) }.value()
}

/// Upper tail of the range of `k` standard normal values, infinite degrees of freedom.
pub fn range_tail(k: usize, q: f64) -> f64 {
    if q <= 0.0 {
        return 1.0;
    }
    // The trapezoidal rule converges faster than any power here: 4e-16 with this step.
    let (step, half_count) = (0.1, 90_i32);
    let inside: f64 = (-half_count..=half_count)
        .map(|i| {
            let z = f64::from(i) * step;
            let between = normal_between(z - q, z);
            normal_density(z) * between.powi(k as i32 - 1)
        })
        .sum();
    (1.0 - k as f64 * step * inside).clamp(0.0, 1.0)
}

/// Probability of a standard normal value between `low` and `high`.
fn normal_between(low: f64, high: f64) -> f64 {
    if low > 0.0 {
        normal_tail(low) - normal_tail(high)
    } else if high < 0.0 {
        normal_tail(-high) - normal_tail(-low)
    } else {
        1.0 - normal_tail(high) - normal_tail(-low)
    }
}

/// The q that leaves `upper` of the distribution of the range of `k` normal values above it.
pub fn range_quantile(k: usize, upper: f64) -> f64 {
    let (mut low, mut high) = (0.0, 2.0);
    while range_tail(k, high) > upper {
        low = high;
        high *= 2.0;
    }
    // Bisection: the derivative is another integral, and this is done once per number of methods.
    while high - low > 4.0 * f64::EPSILON * high {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if range_tail(k, middle) > upper { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Natural logarithm of the gamma function for positive arguments.
pub fn ln_gamma(x: f64) -> f64 {
    (x - 0.5) * x.ln() - x + LN_SQRT_2PI + stirling_rest(x)
}

/// Computes the remainder of Stirling's formula for `ln Γ(x)`.
fn stirling_rest(x: f64) -> f64 {
    /// Coefficients B(2k) / (2k (2k - 1)) of the asymptotic series.
    const SERIES: [f64; 8] = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
        1.0 / 156.0,
        -3617.0 / 122_400.0,
    ];
    // Γ(x + 1) = x Γ(x) leads to arguments at which the series is exact.
    let (mut x, mut rest) = (x, 0.0);
    while x < 16.0 {
        // rest(x) - rest(x + 1) = (x + 1/2) ln((x + 1) / x) - 1
        rest += (x + 0.5) * (1.0 / x).ln_1p() - 1.0;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    rest + SERIES.iter().rev().fold(0.0, |sum, c| sum * square + c) / x
}

/// Upper regularised incomplete gamma function.
fn gamma_tail(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    // x^a e^-x / Γ(a), from the deviation (x - a) / a.
    let over = (x - a) / a;
    let ln_ratio = if over.abs() < 0.5 { over.ln_1p() } else { (x / a).ln() };
    let front = a * (ln_ratio - over) + 0.5 * (a / (2.0 * PI)).ln() - stirling_rest(a);
    let front = front.exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        while term > sum * 1e-17 {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        return (1.0 - front * sum).max(0.0);
    }
    let mut fraction = Fraction::new(x + 1.0 - a);
    for i in 1..1_000_000 {
        let i = f64::from(i);
        if fraction.add(-i * (i - a), x + 1.0 - a + 2.0 * i) {
            break;
        }
    }
    front / fraction.value
}

/// A regularised incomplete beta function: parameters `a`, `b` at `x`, `y = 1 - x`, with the
/// deviations of `x` and `y` from the means `a / (a + b)`, `b / (a + b)` as shares of these.
struct Beta {
    a: f64,
    b: f64,
    x: f64,
    y: f64,
    over_x: f64,
    over_y: f64,
}

impl Beta {
    fn value(&self) -> f64 {
        let Beta { a, b, x, y, over_x, over_y } = *self;
        let ln = |over: f64, value: f64, mean: f64| {
            if over.abs() < 0.5 { over.ln_1p() } else { value.ln() - mean.ln() }
        };
        let rest = stirling_rest(a) + stirling_rest(b) - stirling_rest(a + b);
        let front = a * ln(over_x, x, a / (a + b))
            + b * ln(over_y, y, b / (a + b))
            + 0.5 * (a * b / (2.0 * PI * (a + b))).ln()
            - rest;
        let front = front.exp();
        // The fraction converges fast on the near side of the mean.
        if x <= (a + 1.0) / (a + b + 2.0) {
            front * beta_fraction(a, b, x) / a
        } else {
            1.0 - front * beta_fraction(b, a, y) / b
        }
    }
}

fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let mut fraction = Fraction::new(1.0);
    for m in 0..1_000_000 {
        let m = f64::from(m);
        if m > 0.0 {
            let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
            fraction.add(even, 1.0);
        }
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        if fraction.add(odd, 1.0) {
            break;
        }
    }
    1.0 / fraction.value
}

/// A continued fraction, evaluated by Lentz's method.
struct Fraction {
    value: f64,
    c: f64,
    d: f64,
}

impl Fraction {
    fn new(first: f64) -> Fraction {
        Fraction { value: first, c: first, d: 0.0 }
    }

    /// Adds a partial quotient; true once it changes nothing any more.
    fn add(&mut self, numerator: f64, denominator: f64) -> bool {
        const TINY: f64 = 1e-300;
        let nonzero = |v: f64| if v.abs() < TINY { TINY } else { v };
        self.d = 1.0 / nonzero(denominator + numerator * self.d);
        self.c = nonzero(denominator + numerator / self.c);
        let change = self.c * self.d;
        self.value *= change;
        (change - 1.0).abs() <= f64::EPSILON
    }
}

/// The least number of pairs with which a unanimous result can pass Holm's correction at 5 % over
/// a family of so many tests.
pub fn pairs_needed(family: usize) -> usize {
    (40.0 * family as f64).log2().ceil() as usize
}
