//! Backends, workflows, platforms and generators that tests of several crates share. A dependency of tests alone.
#![allow(missing_docs)] // names of fixtures follow their papers
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

mod forward;
mod grid;
mod instances;
pub mod late;
pub mod snapshot;
pub mod told;
pub mod world;

pub use grid::{Change, grid, simulate, with_backend};
pub use instances::{by_rank, platform, test_a, workflow};

use proptest::prelude::ProptestConfig;

/// Number of cases of a property test: the environment variable `PROPTEST_CASES`, or else `usual`, which should be small
/// enough for every build.
pub fn number_of_cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Configuration of a property test with [`number_of_cases`].
pub fn cases(usual: u32) -> ProptestConfig {
    ProptestConfig { cases: number_of_cases(usual), ..ProptestConfig::default() }
}
