//! Choosing clusters by heterogeneity, and the compendium of configurations made that way.
//!
//! The heterogeneity of a set is 100 (fastest / slowest - 1); below 10 it counts as
//! homogeneous. Moments of the speeds are taken of their logarithms, as ratios matter (Suter and
//! Casanova 2007; SIMULACRUM). All subsets of the requested size are compared.

use super::clusters::ClusterFigures;

/// The properties of the sets of clusters to select.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Selector {
    /// Number of clusters.
    pub size: usize,
    /// Bounds of the heterogeneity; the upper one is not reached.
    pub heterogeneity: (f64, f64),
    /// Bounds of the number of nodes.
    pub nodes: (u64, u64),
    /// Bounds of the deviation of the logarithm of the speeds.
    pub deviation: (f64, f64),
    /// Bounds of its skewness.
    pub skewness: (f64, f64),
    /// Bounds of its kurtosis.
    pub kurtosis: (f64, f64),
}

impl Default for Selector {
    fn default() -> Selector {
        let any = (f64::NEG_INFINITY, f64::INFINITY);
        Selector {
            size: 1,
            heterogeneity: (0.0, f64::INFINITY),
            nodes: (0, u64::MAX),
            deviation: any,
            skewness: any,
            kurtosis: any,
        }
    }
}

/// Heterogeneity of speeds in percent.
pub fn heterogeneity(speeds: impl Iterator<Item = f64>) -> f64 {
    let (low, high) = speeds.fold((f64::MAX, 0.0f64), |(l, h), s| (l.min(s), h.max(s)));
    100.0 * (high / low - 1.0)
}

/// Moments of the logarithm of speeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeedMoments {
    /// Mean.
    pub mean: f64,
    /// Population deviation.
    pub deviation: f64,
    /// Skewness; 0 where all speeds are equal.
    pub skewness: f64,
    /// Kurtosis; 0 where all speeds are equal.
    pub kurtosis: f64,
}

impl SpeedMoments {
    /// Of some speeds.
    pub fn of(speeds: &[f64]) -> SpeedMoments {
        let n = speeds.len().max(1) as f64;
        let logs: Vec<f64> = speeds.iter().map(|s| s.ln()).collect();
        let mean = logs.iter().sum::<f64>() / n;
        let moment = |power: i32| logs.iter().map(|x| (x - mean).powi(power)).sum::<f64>() / n;
        let deviation = moment(2).sqrt();
        let scaled = |power: i32| {
            if deviation > 0.0 { moment(power) / deviation.powi(power) } else { 0.0 }
        };
        SpeedMoments { mean, deviation, skewness: scaled(3), kurtosis: scaled(4) }
    }
}

/// All sets of clusters that fit, as sorted positions, in lexicographic order.
pub fn select(clusters: &[ClusterFigures], selector: &Selector) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    subsets(clusters.len(), selector.size, &mut |chosen| {
        if fits(clusters, chosen, selector) {
            found.push(chosen.to_vec());
        }
    });
    found
}

fn fits(clusters: &[ClusterFigures], chosen: &[usize], selector: &Selector) -> bool {
    let h = heterogeneity(chosen.iter().map(|&i| clusters[i].gflops));
    let nodes: u64 = chosen.iter().map(|&i| u64::from(clusters[i].nodes)).sum();
    let (low, high) = selector.heterogeneity;
    let enough = (selector.nodes.0..=selector.nodes.1).contains(&nodes);
    if h < low || h >= high || !enough {
        return false;
    }
    let within = |value: f64, (low, high): (f64, f64)| value >= low && value <= high;
    let speeds: Vec<f64> = chosen.iter().map(|&i| clusters[i].gflops).collect();
    let moments = SpeedMoments::of(&speeds);
    within(moments.deviation, selector.deviation)
        && within(moments.skewness, selector.skewness)
        && within(moments.kurtosis, selector.kurtosis)
}

/// Calls `visit` with every subset of `size` of 0 .. n - 1.
fn subsets(n: usize, size: usize, visit: &mut dyn FnMut(&[usize])) {
    if size == 0 || size > n {
        return;
    }
    let mut chosen: Vec<usize> = (0..size).collect();
    loop {
        visit(&chosen);
        // The last position that can still move right.
        let Some(at) = (0..size).rev().find(|&i| chosen[i] < n - size + i) else { return };
        chosen[at] += 1;
        for i in at + 1..size {
            chosen[i] = chosen[i - 1] + 1;
        }
    }
}

/// A configuration of the compendium.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// Positions of its clusters.
    pub clusters: Vec<usize>,
    /// Its heterogeneity in percent.
    pub heterogeneity: f64,
}

/// Numbers of configurations of each size in a compendium, (clusters, homogeneous, heterogeneous):
/// the published one has 356.
pub const PUBLISHED: [(usize, usize, usize); 4] =
    [(1, 18, 0), (2, 10, 82), (4, 10, 133), (8, 10, 93)];

/// Configurations of clusters by size and heterogeneity. Where more fit than are wanted, those
/// are taken that are evenly spaced in heterogeneity, which leaves out near-duplicates.
pub fn compendium(
    clusters: &[ClusterFigures],
    wanted: &[(usize, usize, usize)],
) -> Vec<Configuration> {
    let mut all = Vec::new();
    for &(size, homogeneous, heterogeneous) in wanted {
        for (heterogeneity, count) in
            [((0.0, 10.0), homogeneous), ((10.0, f64::INFINITY), heterogeneous)]
        {
            let selector = Selector { size, heterogeneity, ..Selector::default() };
            let mut found: Vec<Configuration> = select(clusters, &selector)
                .into_iter()
                .map(|chosen| Configuration {
                    heterogeneity: self::heterogeneity(chosen.iter().map(|&i| clusters[i].gflops)),
                    clusters: chosen,
                })
                .collect();
            found.sort_by(|a, b| a.heterogeneity.total_cmp(&b.heterogeneity));
            let take = count.min(found.len());
            all.extend((0..take).map(|k| found[k * found.len() / take].clone()));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::clusters::{GRID5000, GRID5000_2007};
    use super::*;

    #[test]
    fn a_compendium_of_the_published_size() {
        // Eighteen clusters with speeds spread over 45 %, ten of them within 10 %.
        let speed = |i: usize| {
            let k = i as f64;
            if i < 10 { 3.2 + 0.03 * k } else { 3.65 + 0.14 * (k - 10.0) }
        };
        let clusters: Vec<ClusterFigures> =
            (0..18).map(|i| ClusterFigures { gflops: speed(i), ..GRID5000[0] }).collect();
        let all = compendium(&clusters, &PUBLISHED);
        assert_eq!(all.len(), 356);
        let of = |size: usize| all.iter().filter(|c| c.clusters.len() == size).count();
        assert_eq!([1, 2, 4, 8].map(of), [18, 92, 143, 103]);
        let homogeneous = all.iter().filter(|c| c.heterogeneity < 10.0).count();
        assert_eq!(homogeneous, 48);
        let distinct: std::collections::HashSet<_> = all.iter().map(|c| &c.clusters).collect();
        assert_eq!(distinct.len(), 356);
    }

    #[test]
    fn subsets_are_counted_and_filtered() {
        let selector = Selector { size: 2, ..Selector::default() };
        assert_eq!(select(GRID5000, &selector).len(), 25 * 24 / 2);
        // Slow triples of seven with one of six fast: 35 x 6 = 210 of the text.
        let mut count = 0;
        subsets(7, 3, &mut |_| count += 1);
        assert_eq!(count * 6, 210);
        let homogeneous = Selector { size: 4, heterogeneity: (0.0, 10.0), ..Selector::default() };
        for chosen in select(GRID5000_2007, &homogeneous) {
            assert!(heterogeneity(chosen.iter().map(|&i| GRID5000_2007[i].gflops)) < 10.0);
        }
    }

    #[test]
    fn moments_by_hand() {
        // ln 1, ln e, ln e: mean 2/3, deviation sqrt(2)/3, skewness -1/sqrt(2), kurtosis 1.5.
        let e = std::f64::consts::E;
        let moments = SpeedMoments::of(&[1.0, e, e]);
        assert!((moments.mean - 2.0 / 3.0).abs() < 1e-12);
        assert!((moments.deviation - 2f64.sqrt() / 3.0).abs() < 1e-12);
        assert!((moments.skewness + 0.5f64.sqrt()).abs() < 1e-12);
        assert!((moments.kurtosis - 1.5).abs() < 1e-12);
    }
}
