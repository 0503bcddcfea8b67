//! Layered random graphs for timing, by a rule that other tools can follow exactly.
//!
//! Graph: `isqrt(n)` layers, task i in layer `i * layers / n`; costs 1 to 100 in thousandths; a
//! task below the first layer has 1 to 4 distinct parents in the layer before, with data of 1 to
//! 100 in thousandths. Processors: speeds 1 to 4 in hundredths, bandwidth 2 between any two. All
//! draws are integers from splitmix64, the graph's from the seed, the speeds' from another.

#![allow(dead_code)] // each user takes a part
#![allow(clippy::unwrap_used)] // a panic is how a test fails

use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
use slackline_model::{Platform, Task, TaskId, Workflow, WorkflowBuilder};

struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A whole number in `[low, high]`.
    fn integer(&mut self, low: u64, high: u64) -> u64 {
        let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        low + (unit * (high - low + 1) as f64) as u64
    }
}

/// The graph of `n` tasks.
pub(crate) fn workflow(n: usize, seed: u64) -> Workflow {
    let mut rng = SplitMix64(seed);
    let layers = n.isqrt().max(1);
    let layer_of = |i: usize| i * layers / n;
    // Tasks of a layer are consecutive: layer k begins at the first i with i * layers / n = k.
    let begin = |layer: usize| (layer * n).div_ceil(layers);
    let mut b = WorkflowBuilder::new(format!("layered-{n}"));
    for i in 0..n {
        let cost = rng.integer(1000, 100_000) as f64 / 1000.0;
        b.add_task(Task::new(format!("t{i:06}"), cost)).unwrap();
    }
    let mut parents: Vec<usize> = Vec::new();
    for i in begin(1).min(n)..n {
        let layer = layer_of(i);
        let (first, end) = (begin(layer - 1), begin(layer));
        let count = rng.integer(1, 4).min((end - first) as u64) as usize;
        parents.clear();
        while parents.len() < count {
            let parent = first + rng.integer(0, (end - first - 1) as u64) as usize;
            if !parents.contains(&parent) {
                parents.push(parent);
            }
        }
        parents.sort_unstable();
        for &parent in &parents {
            let data = rng.integer(1000, 100_000) as f64 / 1000.0;
            b.add_edge(TaskId::new(parent), TaskId::new(i), data).unwrap();
        }
    }
    b.build().unwrap()
}

/// The platform of `p` processors.
pub(crate) fn platform(p: usize, seed: u64) -> Platform {
    priced_platform(p, seed, |_| 0.0)
}

/// A platform with a price per speed.
pub(crate) fn priced_platform(p: usize, seed: u64, price: impl Fn(f64) -> f64) -> Platform {
    let mut rng = SplitMix64(seed ^ 0xA5A5_A5A5);
    let mut b = PlatformBuilder::new(format!("uniform-{p}"));
    b.set_matrix(Matrix::uniform(Some(2.0), 0.0));
    let root = b.root().unwrap();
    for i in 0..p {
        let speed = rng.integer(100, 400) as f64 / 100.0;
        let spec = HostSpec { price: price(speed), ..HostSpec::new(format!("p{i:03}"), speed) };
        b.add_host(root, spec).unwrap();
    }
    b.build().unwrap()
}
