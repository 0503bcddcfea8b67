//! The amount of a resource to request for tasks of a kind, from the needs of earlier tasks of that
//! kind.
//!
//! A request is an order statistic of what was needed, so that no law of the needs is assumed: of `n` needs that
//! are exchangeable with the next one, the largest but `m` is too small with probability `(m + 1) / (n + 1)`.
//! The confidence for one history follows from the binomial law: the chance that a request exceeded
//! by `m` of `n` samples fails more often than `risk` is that of at most `m` events of probability
//! `risk` among `n`. If the size of a task's input explains its need, the same is done with the
//! residuals of a line.

use serde::Serialize;

/// Least confidence of a request, where there are samples enough: the probability that a history
/// like this one leads to a request that keeps to the risk.
pub const CONFIDENCE: f64 = 0.9;

/// Factor of the request from attempt to attempt.
pub const RETRY_FACTOR: f64 = 2.0;

/// Fewest distinct inputs for a line.
const DISTINCT_INPUTS: usize = 10;

/// Least part of the cost that a line has to save before it is taken instead of a constant.
const LEAST_GAIN: f64 = 0.05;

/// The need of one task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Amount of the resource: bytes of memory.
    pub need: f64,
    /// Size of its input, in bytes, where it is known before it runs.
    pub input: Option<f64>,
    /// Seconds it held the resource.
    pub seconds: f64,
}

/// An amount to request: a constant and a part of the input's size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Amount {
    /// Whatever the input.
    pub base: f64,
    /// For each byte of input.
    pub per_input: f64,
}

impl Amount {
    /// The amount for an input, not below 0.
    pub fn of(&self, input: Option<f64>) -> f64 {
        (self.base + self.per_input * input.unwrap_or(0.0)).max(0.0)
    }
}

/// A request and what is to be expected of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Request {
    /// Amount of the first attempt; each further attempt requests [`RETRY_FACTOR`] times as much.
    pub amount: Amount,
    /// Probability that the first attempt of the next task is given too little.
    pub failure: f64,
    /// Probability that a history of this length leads to a request that keeps to the risk.
    pub confidence: f64,
    /// Attempts after the first that the needs seen ask for, and one more.
    pub retries: u32,
    /// Amount times seconds of all samples under this request, failed attempts included, which count as if they
    /// had run to their end.
    pub cost: f64,
}

/// Samples do not suffice for a risk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFew {
    /// Samples that would.
    pub needed: usize,
}

/// Samples that a risk takes at least.
pub fn needed(risk: f64) -> usize {
    (1.0 / risk).ceil() as usize - 1
}

/// The cheapest request whose first attempt fails with a probability of at most `risk`.
pub fn request(samples: &[Sample], risk: f64) -> Result<Request, TooFew> {
    let count = samples.len();
    let needed = needed(risk);
    if count < needed.max(1) {
        return Err(TooFew { needed });
    }
    let exceeded = allowed(count, risk);
    let best = |scores: &[f64], amount: &dyn Fn(f64) -> Amount| {
        let mut sorted = scores.to_vec();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let candidates = (0..=exceeded).map(|m| (m, amount(sorted[m])));
        let priced = candidates.map(|(m, amount)| (m, amount, cost(samples, amount)));
        priced.min_by(|a, b| a.2.total_cmp(&b.2).then(a.0.cmp(&b.0)))
    };
    let needs: Vec<f64> = samples.iter().map(|s| s.need).collect();
    let constant = best(&needs, &|score| Amount { base: score, per_input: 0.0 });
    let Some(mut chosen) = constant else { return Err(TooFew { needed }) };
    if let Some(line) = Line::through(samples) {
        let above = |score: f64| Amount { base: line.base + score, per_input: line.slope };
        let times = |score: f64| Amount { base: line.base * score, per_input: line.slope * score };
        let sums = best(&line.differences(samples), &above);
        let factors = line.ratios(samples).and_then(|ratios| best(&ratios, &times));
        for other in [sums, factors].into_iter().flatten() {
            if other.2 < chosen.2.min((1.0 - LEAST_GAIN) * constant.map_or(f64::MAX, |c| c.2)) {
                chosen = other;
            }
        }
    }
    let (m, amount, cost) = chosen;
    let shortest = samples.iter().map(|s| s.need / amount.of(s.input).max(f64::MIN_POSITIVE));
    let ratio = shortest.fold(1.0, f64::max).min(RETRY_FACTOR.powi(8));
    Ok(Request {
        amount,
        failure: (m + 1) as f64 / (count + 1) as f64,
        confidence: 1.0 - binomial(count, risk, m),
        retries: ratio.log(RETRY_FACTOR).ceil() as u32 + 1,
        cost,
    })
}

/// Amount times seconds of samples under a request, with every attempt that fails.
pub fn cost(samples: &[Sample], amount: Amount) -> f64 {
    let of_sample = |sample: &Sample| {
        let mut given = amount.of(sample.input).max(f64::MIN_POSITIVE);
        let mut held = given;
        // What grows by a factor gets there; the bound keeps a request of nothing from going on for ever.
        for _ in 0..64 {
            if given >= sample.need {
                break;
            }
            given *= RETRY_FACTOR;
            held += given;
        }
        held * sample.seconds
    };
    samples.iter().map(of_sample).sum()
}

/// Returns the number of samples that may exceed a request: as many as keep the expected failures
/// within the risk, and keep the confidence if any number does.
fn allowed(count: usize, risk: f64) -> usize {
    let expected = (risk * (count + 1) as f64).floor() as usize;
    let expected = expected.saturating_sub(1).min(count - 1);
    (0..=expected).rev().find(|&m| binomial(count, risk, m) <= 1.0 - CONFIDENCE).unwrap_or(0)
}

/// Probability of at most `most` events of probability `p` among `n`.
fn binomial(n: usize, p: f64, most: usize) -> f64 {
    if p >= 1.0 {
        return if most >= n { 1.0 } else { 0.0 };
    }
    let mut ln_term = n as f64 * (1.0 - p).ln();
    let mut sum = ln_term.exp();
    for k in 1..=most.min(n) {
        ln_term += ((n - k + 1) as f64 / k as f64).ln() + (p / (1.0 - p)).ln();
        sum += ln_term.exp();
    }
    sum.min(1.0)
}

/// The line of least squares from inputs to needs.
#[derive(Clone, Copy, Debug)]
struct Line {
    base: f64,
    slope: f64,
    mean: f64,
    spread: f64,
}

impl Line {
    /// None where inputs are not all known, hardly differ, or more input does not need more.
    fn through(samples: &[Sample]) -> Option<Line> {
        let inputs: Option<Vec<f64>> = samples.iter().map(|s| s.input).collect();
        let inputs = inputs?;
        let mut distinct = inputs.clone();
        distinct.sort_by(f64::total_cmp);
        distinct.dedup();
        if distinct.len() < DISTINCT_INPUTS {
            return None;
        }
        let count = samples.len() as f64;
        let mean = inputs.iter().sum::<f64>() / count;
        let mean_need = samples.iter().map(|s| s.need).sum::<f64>() / count;
        let spread: f64 = inputs.iter().map(|x| (x - mean).powi(2)).sum();
        let together: f64 =
            samples.iter().zip(&inputs).map(|(s, x)| (s.need - mean_need) * (x - mean)).sum();
        let slope = together / spread;
        let base = mean_need - slope * mean;
        (slope.is_finite() && slope > 0.0).then_some(Line { base, slope, mean, spread })
    }

    fn at(&self, input: f64) -> f64 {
        self.base + self.slope * input
    }

    /// Returns the difference of each sample's need from the line through the others.
    fn differences(&self, samples: &[Sample]) -> Vec<f64> {
        let count = samples.len() as f64;
        let of_sample = |sample: &Sample| {
            let input = sample.input.unwrap_or(0.0);
            let leverage = 1.0 / count + (input - self.mean).powi(2) / self.spread;
            (sample.need - self.at(input)) / (1.0 - leverage).max(1e-6)
        };
        samples.iter().map(of_sample).collect()
    }

    /// The need of each sample over what the line through the others says; none where that is not above 0.
    fn ratios(&self, samples: &[Sample]) -> Option<Vec<f64>> {
        let differences = self.differences(samples);
        let of_sample = |(sample, difference): (&Sample, f64)| {
            let without = sample.need - difference;
            let stated = self.at(sample.input.unwrap_or(0.0));
            (without > 0.0 && stated > 0.0).then(|| sample.need / without)
        };
        samples.iter().zip(differences).map(of_sample).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needing(needs: impl IntoIterator<Item = f64>) -> Vec<Sample> {
        needs.into_iter().map(|need| Sample { need, input: None, seconds: 1.0 }).collect()
    }

    #[test]
    fn probabilities_of_order_statistics() {
        // At most 1 of 200 at 2 %: 0.98^200 + 200 x 0.02 x 0.98^199 = 0.0893.
        assert!((binomial(200, 0.02, 1) - 0.0893).abs() < 1e-4);
        assert_eq!((allowed(200, 0.02), allowed(49, 0.02), allowed(1000, 0.02)), (1, 0, 13));
        assert_eq!(needed(0.02), 49);
    }

    #[test]
    fn too_few_samples_are_said() {
        assert_eq!(request(&needing([1.0; 48]), 0.02), Err(TooFew { needed: 49 }));
        let least = request(&needing([1.0; 49]), 0.02).unwrap();
        assert_eq!((least.amount.base, least.failure), (1.0, 0.02));
        assert!((least.confidence - (1.0 - 0.98f64.powi(49))).abs() < 1e-12);
    }

    #[test]
    fn one_of_two_hundred_is_left_to_a_retry() {
        let mut needs: Vec<f64> = (1..=199).map(|k| 1.0 + f64::from(k) / 1000.0).collect();
        needs.push(100.0);
        let found = request(&needing(needs), 0.02).unwrap();
        assert_eq!(found.amount, Amount { base: 1.199, per_input: 0.0 });
        // 1.199 x 2^7 = 153 is the first of the ladder that holds 100, and one more.
        assert_eq!(found.retries, 8);
        assert!((found.failure - 2.0 / 201.0).abs() < 1e-12);
        let ladder: f64 = (0..8).map(|k| 1.199 * 2f64.powi(k)).sum();
        assert!((found.cost - (199.0 * 1.199 + ladder)).abs() < 1e-9);
    }

    #[test]
    fn inputs_explain_needs() {
        let sample = |k: u32| {
            let input = f64::from(k) * 1e6;
            Sample { need: 5e6 + 3.0 * input, input: Some(input), seconds: 2.0 }
        };
        let samples: Vec<Sample> = (1..=200).map(sample).collect();
        let found = request(&samples, 0.02).unwrap();
        assert!((found.amount.per_input - 3.0).abs() < 1e-6, "{found:?}");
        assert!((found.amount.of(Some(1e9)) - 3.005e9).abs() < 1e3);
    }

    /// Numbers from 0 to 1, SplitMix64.
    struct Draws(u64);

    impl Draws {
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = self.0;
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((word ^ (word >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            let (radius, angle) = ((-2.0 * (1.0 - self.uniform()).ln()).sqrt(), self.uniform());
            radius * (std::f64::consts::TAU * angle).cos()
        }
    }

    type Law = fn(&mut Draws) -> Sample;

    fn with(need: f64, input: f64, draws: &mut Draws) -> Sample {
        Sample { need, input: Some(input), seconds: 60.0 + 600.0 * draws.uniform() }
    }

    const LAWS: [(&str, Law); 5] = [
        ("constant", |d| {
            let input = 1e9 * d.uniform();
            with(2e9, input, d)
        }),
        ("proportional to input", |d| {
            let input = 1e8 + 4e9 * d.uniform();
            let need = 2.5 * input * (0.05 * d.normal()).exp();
            with(need, input, d)
        }),
        ("constant and a part of the input", |d| {
            let input = 4e9 * d.uniform();
            let need = 5e8 + 0.8 * input + 3e7 * d.normal();
            with(need, input, d)
        }),
        ("heavy tail", |d| {
            let input = 1e9 * d.uniform();
            with(5e8 * d.normal().exp(), input, d)
        }),
        ("two clusters", |d| {
            let input = 1e9 * d.uniform();
            let base = if d.uniform() < 0.9 { 1e9 } else { 6e9 };
            let need = base * (1.0 + 0.02 * d.normal());
            with(need, input, d)
        }),
    ];

    /// On draws that the request was not made from, attempts fail as seldom as is said, over histories and for
    /// nearly each of them, and memory over time stays below that of the largest peak and 10 %.
    #[test]
    fn requests_keep_to_the_risk_on_fresh_draws() {
        const RISK: f64 = 0.02;
        const HISTORIES: u64 = 60;
        for (name, law) in LAWS {
            let (mut failures, mut kept, mut own, mut largest) = (0.0, 0, 0.0, 0.0);
            for history in 0..HISTORIES {
                let mut draws = Draws(1000 * history + 17);
                let samples: Vec<Sample> = (0..200).map(|_| law(&mut draws)).collect();
                let fresh: Vec<Sample> = (0..4000).map(|_| law(&mut draws)).collect();
                let found = request(&samples, RISK).unwrap();
                let fails = |s: &&Sample| s.need > found.amount.of(s.input);
                let rate = fresh.iter().filter(fails).count() as f64 / fresh.len() as f64;
                failures += rate / HISTORIES as f64;
                kept += u64::from(rate <= RISK);
                own += cost(&fresh, found.amount);
                let most = samples.iter().map(|s| s.need).fold(0.0, f64::max);
                largest += cost(&fresh, Amount { base: 1.1 * most, per_input: 0.0 });
            }
            assert!(failures <= RISK, "{name}: {failures}");
            assert!(kept * 100 >= 85 * HISTORIES, "{name}: {kept} of {HISTORIES}");
            assert!(own < largest, "{name}: {own} {largest}");
            println!(
                "{name}: {:.2} % fail, {kept} of {HISTORIES} keep to the risk, {:.0} % of the memory",
                100.0 * failures,
                100.0 * own / largest
            );
        }
    }
}
