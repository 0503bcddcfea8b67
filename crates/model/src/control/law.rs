//! The number of passes of a loop: how it is stated, and the distribution that follows.

use super::normal::normal_cdf;

/// The most passes that a bounded loop may have.
pub const MOST_PASSES: u64 = 1_000_000;

/// The number of passes of a loop as it is stated.
#[derive(Clone, Debug, PartialEq)]
pub enum Iterations {
    /// Always this many.
    Fixed(u64),
    /// The probability of 1, 2, 3 ... passes.
    Table(Vec<f64>),
    /// The probability of another pass after each pass, up to a maximum.
    Again {
        /// Probability of another pass.
        again: f64,
        /// Most passes, where there is a limit.
        max: Option<u64>,
    },
    /// A normal distribution, rounded to whole numbers; the tails fall on the bounds.
    Normal {
        /// Mean before rounding.
        mean: f64,
        /// Standard deviation before rounding.
        sd: f64,
        /// Fewest passes.
        min: u64,
        /// Most passes; `mean + 6 sd` if unset.
        max: Option<u64>,
    },
    /// Unknown between bounds: all numbers are equally likely.
    Between {
        /// Fewest passes.
        min: u64,
        /// Most passes.
        max: u64,
    },
}

/// The distribution of the number K of passes.
#[derive(Clone, Debug, PartialEq)]
pub struct Law {
    /// `mass[k - first]` = P(K = k); empty for a geometric law.
    mass: Vec<f64>,
    /// P(K >= k) for the same k.
    tail: Vec<f64>,
    /// The number of passes that the first entry of `mass` belongs to.
    first: u64,
    /// Probability of another pass, where there is no limit.
    endless: Option<f64>,
}

/// Mean, variance and limits of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// Mean.
    pub mean: f64,
    /// Variance.
    pub variance: f64,
    /// Least possible value.
    pub least: f64,
    /// Greatest possible value; infinite without a limit.
    pub most: f64,
}

impl Count {
    /// Nothing, for certain.
    pub const ZERO: Count = Count::certain(0.0);

    /// A number that is known.
    pub const fn certain(value: f64) -> Count {
        Count { mean: value, variance: 0.0, least: value, most: value }
    }

    /// The sum of two independent numbers.
    pub fn plus(self, other: Count) -> Count {
        Count {
            mean: self.mean + other.mean,
            variance: self.variance + other.variance,
            least: self.least + other.least,
            most: self.most + other.most,
        }
    }

    /// Returns the number of successes when each trial succeeds independently with probability
    /// `chance`.
    pub fn thinned(self, chance: f64) -> Count {
        Count {
            mean: self.mean * chance,
            variance: self.mean * chance * (1.0 - chance) + self.variance * chance * chance,
            least: if chance >= 1.0 { self.least } else { 0.0 },
            most: if chance > 0.0 { self.most } else { 0.0 },
        }
    }

    /// The sum of so many independent numbers (Wald's equations).
    pub fn times(self, each: Count) -> Count {
        // A bound of nothing stays nothing, whatever it is multiplied by.
        let product = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
        Count {
            mean: self.mean * each.mean,
            variance: self.mean * each.variance + self.variance * each.mean * each.mean,
            least: product(self.least, each.least),
            most: product(self.most, each.most),
        }
    }

    /// One less.
    fn less_one(self) -> Count {
        let Count { mean, variance, least, most } = self;
        Count { mean: mean - 1.0, variance, least: least - 1.0, most: most - 1.0 }
    }

    /// Returns the number to plan for at a confidence: the normal quantile, within the limits; the
    /// greatest value at confidence 1.
    pub fn planned(self, confidence: f64) -> f64 {
        if confidence >= 1.0 {
            return self.most;
        }
        let z = super::normal::normal_quantile(confidence);
        (self.mean + z * self.variance.max(0.0).sqrt()).clamp(self.least, self.most)
    }
}

impl Iterations {
    /// Returns the error in the stated numbers, if there is one.
    pub fn problem(&self) -> Option<String> {
        let whole = |what: &str, value: u64| match value {
            0 => Some(format!("{what} is 0; iterations are whole numbers from 1 on")),
            v if v > MOST_PASSES => {
                Some(format!("{what} is {v}; a loop has at most {MOST_PASSES} iterations"))
            }
            _ => None,
        };
        let bounds = |min: u64, max: Option<u64>| {
            whole("min", min).or_else(|| max.and_then(|max| whole("max", max))).or_else(|| {
                let max = max.filter(|&max| min > max)?;
                Some(format!("min is above max: {min} and {max}"))
            })
        };
        match self {
            Iterations::Fixed(n) => whole("the number of iterations", *n),
            Iterations::Table(chances) => {
                if chances.len() as u64 > MOST_PASSES {
                    return whole("the length of the table", chances.len() as u64);
                }
                chances_problem(chances)
            }
            Iterations::Again { again, max } => {
                if !again.is_finite() || !(0.0..=1.0).contains(again) {
                    return Some(format!("again is {again}; a probability is in [0, 1]"));
                }
                if *again >= 1.0 && max.is_none() {
                    let why = "again must be below 1 where the iterations have no max";
                    return Some(why.to_string());
                }
                max.and_then(|max| whole("max", max))
            }
            Iterations::Normal { mean, sd, min, max } => {
                let bad = |x: f64| !(x.is_finite() && x >= 0.0);
                if bad(*mean) || bad(*sd) {
                    return Some(format!(
                        "mean and sd of the iterations must be numbers from 0 on, not {mean} and {sd}"
                    ));
                }
                let usual = Some(usual_max(*mean, *sd));
                bounds(*min, max.or(usual))
            }
            Iterations::Between { min, max } => bounds(*min, Some(*max)),
        }
    }

    /// The distribution; call it only where [`problem`](Self::problem) finds nothing.
    pub fn law(&self) -> Law {
        match self {
            Iterations::Fixed(n) => Law::finite(*n, vec![1.0]),
            Iterations::Table(chances) => Law::finite(1, chances.clone()),
            &Iterations::Again { again, max: None } => {
                Law { mass: Vec::new(), tail: Vec::new(), first: 1, endless: Some(again) }
            }
            &Iterations::Again { again, max: Some(max) } => {
                let mut left = 1.0;
                let mut mass = Vec::with_capacity(max as usize);
                for _ in 1..max {
                    mass.push(left * (1.0 - again));
                    left *= again;
                }
                mass.push(left);
                Law::finite(1, mass)
            }
            &Iterations::Normal { mean, sd, min, max } => {
                let max = max.unwrap_or_else(|| usual_max(mean, sd));
                let below = |x: f64| {
                    if sd > 0.0 {
                        normal_cdf((x - mean) / sd)
                    } else if x >= mean {
                        1.0
                    } else {
                        0.0
                    }
                };
                let above =
                    |x: f64| if sd > 0.0 { normal_cdf((mean - x) / sd) } else { 1.0 - below(x) };
                let chance = |k: u64| {
                    let (low, high) = (k as f64 - 0.5, k as f64 + 0.5);
                    match (k == min, k == max) {
                        (true, true) => 1.0,
                        (true, false) => below(high),
                        (false, true) => above(low),
                        // The smaller tails keep the digits.
                        _ if low > mean => above(low) - above(high),
                        _ => below(high) - below(low),
                    }
                };
                Law::finite(min, (min..=max).map(chance).collect())
            }
            &Iterations::Between { min, max } => {
                let all = (max - min + 1) as usize;
                Law::finite(min, vec![1.0 / all as f64; all])
            }
        }
    }
}

/// The limit of a normal law that states none.
fn usual_max(mean: f64, sd: f64) -> u64 {
    (mean + 6.0 * sd).ceil().max(1.0) as u64
}

/// Returns the error in probabilities that must add up to 1, if there is one.
pub(super) fn chances_problem(chances: &[f64]) -> Option<String> {
    if let Some(bad) = chances.iter().find(|c| !(c.is_finite() && **c >= 0.0)) {
        return Some(format!("a probability cannot be {bad}: it is negative or no number"));
    }
    let sum: f64 = chances.iter().sum();
    ((sum - 1.0).abs() > 1e-9).then(|| format!("the probabilities must add up to 1, not {sum}"))
}

impl Law {
    fn finite(first: u64, mass: Vec<f64>) -> Law {
        let mut tail = mass.clone();
        for k in (1..tail.len()).rev() {
            tail[k - 1] += tail[k];
        }
        Law { mass, tail, first, endless: None }
    }

    /// P(K >= k).
    fn at_least(&self, k: u64) -> f64 {
        match k.checked_sub(self.first) {
            None | Some(0) => 1.0,
            Some(at) => self.tail.get(at as usize).copied().unwrap_or(0.0),
        }
    }

    /// The probability of another pass after pass `k`.
    pub fn again(&self, k: u64) -> f64 {
        if let Some(again) = self.endless {
            return again;
        }
        if k < self.first {
            return 1.0;
        }
        let (reached, more) = (self.at_least(k), self.at_least(k + 1));
        if reached > 0.0 { more / reached } else { 0.0 }
    }

    /// The most passes there can be.
    pub fn most(&self) -> Option<u64> {
        match self.endless {
            Some(again) if again > 0.0 => None,
            Some(_) => Some(1),
            None => {
                let last = self.mass.iter().rposition(|&p| p > 0.0).unwrap_or(0);
                Some(self.first + last as u64)
            }
        }
    }

    /// The number of passes.
    pub fn passes(&self) -> Count {
        self.more_after(0)
    }

    /// The number of passes after pass `k`, given that there was a pass `k`.
    pub fn more_after(&self, k: u64) -> Count {
        if let Some(again) = self.endless {
            let (mean, variance) = (again / (1.0 - again), again / (1.0 - again).powi(2));
            let most = if again > 0.0 { f64::INFINITY } else { 0.0 };
            let more = Count { mean, variance, least: 0.0, most };
            // Before the first pass one is certain.
            return if k == 0 { more.plus(Count::certain(1.0)) } else { more };
        }
        let from = k.saturating_sub(self.first).min(self.mass.len() as u64) as usize;
        let left = self.mass.iter().enumerate().skip(from).filter(|(_, p)| **p > 0.0);
        let left = left
            .map(|(at, p)| ((self.first + at as u64 - k.min(self.first + at as u64)) as f64, *p));
        let (mut sum, mut first, mut limits) = (0.0, 0.0, None);
        for (more, chance) in left.clone() {
            sum += chance;
            first += chance * more;
            let (least, most) = limits.unwrap_or((more, more));
            limits = Some((f64::min(least, more), f64::max(most, more)));
        }
        // A pass that the law rules out was given from outside: it is the last one.
        let Some((least, most)) = limits else { return Count::ZERO };
        let mean = first / sum;
        let variance = left.map(|(more, chance)| chance * (more - mean).powi(2)).sum::<f64>() / sum;
        Count { mean, variance, least, most }
    }

    /// The number of times it goes round again.
    pub fn rounds(&self) -> Count {
        self.passes().less_one()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laws_by_hand() {
        let table = Iterations::Table(vec![0.5, 0.3, 0.2]).law();
        let passes = table.passes();
        assert!((passes.mean - 1.7).abs() < 1e-12 && (passes.variance - 0.61).abs() < 1e-12);
        assert_eq!((passes.least, passes.most), (1.0, 3.0));
        assert!((table.again(1) - 0.5).abs() < 1e-12 && (table.again(2) - 0.4).abs() < 1e-12);
        assert_eq!(table.again(3), 0.0);
        // Given a second pass, there is a third one with chance 0.4.
        let more = table.more_after(2);
        assert!((more.mean - 0.4).abs() < 1e-12 && (more.variance - 0.24).abs() < 1e-12);
        let cut = Iterations::Again { again: 0.5, max: Some(3) }.law().passes();
        assert!((cut.mean - 1.75).abs() < 1e-12 && (cut.variance - 0.6875).abs() < 1e-12);
        let endless = Iterations::Again { again: 0.5, max: None }.law();
        assert_eq!(endless.passes().most, f64::INFINITY);
        assert_eq!((endless.passes().mean, endless.passes().variance), (2.0, 2.0));
        assert_eq!((endless.more_after(7).mean, endless.again(7)), (1.0, 0.5));
        let fixed = Iterations::Fixed(4).law();
        assert_eq!(
            (fixed.again(3), fixed.again(4), fixed.passes()),
            (1.0, 0.0, Count::certain(4.0))
        );
    }

    #[test]
    fn normal_laws_put_their_tails_on_the_bounds() {
        let law = Iterations::Normal { mean: 2.0, sd: 1.0, min: 1, max: Some(3) }.law();
        let outer = normal_cdf(-0.5);
        assert!((law.mass[0] - outer).abs() < 1e-15 && (law.mass[2] - outer).abs() < 1e-15);
        assert!((law.passes().mean - 2.0).abs() < 1e-12);
        let usual = Iterations::Normal { mean: 3.0, sd: 0.5, min: 1, max: None }.law();
        assert_eq!(usual.most(), Some(6));
    }

    #[test]
    fn counts_by_hand() {
        // E3 of the specification: 1.7 passes, a quarter of them redone, each 1.75 times.
        let passes = Count { mean: 1.7, variance: 0.61, least: 1.0, most: 3.0 };
        let redo = passes.thinned(0.25);
        assert!((redo.variance - 0.356875).abs() < 1e-12);
        let solve = redo.times(Count { mean: 0.75, variance: 0.6875, least: 0.0, most: 2.0 });
        assert!((solve.mean - 0.31875).abs() < 1e-12);
        assert!((solve.variance - 0.492_929_687_5).abs() < 1e-12);
        assert_eq!((solve.least, solve.most), (0.0, 6.0));
    }
}
