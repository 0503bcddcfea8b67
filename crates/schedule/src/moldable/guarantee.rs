//! Worst-case ratio of MCGAS plans to the best, and the parameters with the best ratio.

/// Widths bounded to `bound`, times rounded by `mu`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Guarantee {
    pub(super) bound: u32,
    pub(super) mu: f64,
    /// Makespan over the best possible, at most.
    pub(super) ratio: f64,
}

impl Guarantee {
    /// For clusters of these sizes.
    pub(super) fn of(sizes: &[usize], bound: u32, mu: f64) -> Guarantee {
        let total: f64 = sizes.iter().map(|&p| p as f64).sum();
        let largest = sizes.iter().copied().max().unwrap_or(1) as f64;
        let b = f64::from(bound);
        // With so many processors busy no cluster has `bound` idle ones.
        let full: f64 = sizes.iter().map(|&p| (p as f64 - b + 1.0).max(0.0)).sum();
        let (path, work) = ((1.0 - mu) * (1.0 - mu), mu * mu / total);
        let least = (path + work).min(b * (path / largest + work)).min(work * full);
        Guarantee { bound, mu, ratio: 1.0 / least }
    }

    /// The best `mu` for a bound.
    fn of_bound(sizes: &[usize], bound: u32) -> Guarantee {
        let at = |mu| Guarantee::of(sizes, bound, mu);
        let (mut low, mut high) = (0.0f64, 1.0f64);
        // One side falls, the other rises: a single peak.
        for _ in 0..100 {
            let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            if at(a).ratio <= at(b).ratio { high = b } else { low = a }
        }
        at(low)
    }

    /// The best of all bounds.
    pub(super) fn best(sizes: &[usize]) -> Guarantee {
        let largest = sizes.iter().copied().max().unwrap_or(1) as u32;
        (1..=largest)
            .map(|bound| Guarantee::of_bound(sizes, bound))
            .reduce(|best, next| if next.ratio < best.ratio { next } else { best })
            .unwrap_or(Guarantee { bound: 1, mu: 0.5, ratio: f64::INFINITY })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_ratios() {
        let rows: [(&[usize], u32, f64, f64); 8] = [
            (&[20], 8, 0.5669, 4.912),
            (&[47], 19, 0.5644, 5.088),
            (&[120], 47, 0.5618, 5.138),
            (&[1000], 383, 0.5601, 5.159),
            (&[20, 20], 11, 0.5920, 5.707),
            (&[20; 4], 12, 0.5858, 6.476),
            (&[40, 20, 10], 17, 0.6169, 6.570),
            (&[120, 47, 20], 47, 0.6138, 6.617),
        ];
        for (sizes, bound, mu, ratio) in rows {
            let best = Guarantee::best(sizes);
            assert_eq!(best.bound, bound, "{sizes:?}");
            assert!((best.mu - mu).abs() < 1.1e-4, "{sizes:?}: {}", best.mu);
            assert!((best.ratio - ratio).abs() < 6e-4, "{sizes:?}: {}", best.ratio);
        }
        // Four clusters of 20 with the bound and mu that the formula gives after rounding.
        let mu = 1.0 / (1.0 + ((4.0 * 8.0 - 1.0) / 80.0f64).sqrt());
        assert!((Guarantee::of(&[20; 4], 13, mu).ratio - 6.581).abs() < 6e-4);
    }
}
