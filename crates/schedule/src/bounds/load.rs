//! Load: the work has to fit on the processors, each taking it at its own speed.
//!
//! On unrelated machines the best fractional assignment is a linear programme: least T such that
//! every task is shared out and no bin (processors of a kind) holds more than T. For any prices
//! y >= 0 of the bins with `sum count[b] y[b] = 1`, its dual gives
//! `T >= sum over tasks of min over bins (y[b] area[t][b]) + sum over bins of y[b] offset[b]`.
//! Prices are raised where load gathers (multiplicative weights); whatever they are, the bound
//! holds, so that no solver tolerance can push it above an optimum. O(v b) per round.

/// The work and where it can go.
pub(crate) struct Load<'a> {
    /// Processor-seconds of task x bin; infinite where a task does not fit.
    pub(crate) area: &'a [f64],
    /// Processors per bin.
    pub(crate) count: &'a [f64],
    /// Sum over the processors of a bin of the time they cannot use.
    pub(crate) offset: &'a [f64],
}

impl Load<'_> {
    /// The best bound found in so many rounds.
    pub(crate) fn bound(&self, rounds: usize) -> f64 {
        let bins = self.count.len();
        let processors: f64 = self.count.iter().sum();
        let mut price = vec![1.0 / processors; bins];
        let mut load = vec![0.0f64; bins];
        let mut best = 0.0f64;
        for round in 0..rounds.max(1) {
            best = best.max(self.value(&price, &mut load));
            // Mean load of the processors of a bin, against the mean of all.
            let mean: f64 = load.iter().sum::<f64>() / processors;
            if bins == 1 || mean <= 0.0 {
                break;
            }
            let step = 0.6 / (1.0 + round as f64).sqrt();
            let mut total = 0.0;
            for b in 0..bins {
                let surplus = (load[b] / self.count[b] / mean - 1.0).clamp(-1.0, 2.0);
                price[b] *= (step * surplus).exp();
                total += price[b] * self.count[b];
            }
            price.iter_mut().for_each(|y| *y /= total);
        }
        best
    }

    /// The dual value of these prices; leaves the load of each bin at them.
    fn value(&self, price: &[f64], load: &mut [f64]) -> f64 {
        load.copy_from_slice(self.offset);
        let mut value: f64 = price.iter().zip(self.offset).map(|(y, o)| y * o).sum();
        for row in self.area.chunks_exact(price.len()) {
            let (mut least, mut at) = (f64::INFINITY, 0);
            for (b, (&area, &y)) in row.iter().zip(price).enumerate() {
                let cost = area * y;
                if cost < least {
                    (least, at) = (cost, b);
                }
            }
            if least.is_finite() {
                value += least;
                load[at] += row[at];
            }
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_fractional_optimum() {
        // Two machines, two tasks, each fast on its own machine: T = 1 (the plain area: 0.5 * 2).
        let load = Load { area: &[1.0, 9.0, 9.0, 1.0], count: &[1.0, 1.0], offset: &[0.0, 0.0] };
        assert!((load.bound(50) - 1.0).abs() < 1e-9);
        // Both fast on the first: all of one and 8/10 ... 1 x + ... : min T with x of the second
        // moved to the slow machine: 2 - x = 9 x, T = 1.8.
        let load = Load { area: &[1.0, 9.0, 1.0, 9.0], count: &[1.0, 1.0], offset: &[0.0, 0.0] };
        let bound = load.bound(400);
        assert!(bound <= 1.8 + 1e-9 && bound > 1.75, "{bound}");
    }
}
