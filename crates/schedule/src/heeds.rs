//! Capabilities of methods: whether they are randomised, search until a limit or use several threads. The other
//! methods ignore the corresponding members of a request, and callers report that.

use crate::aliases::ALIASES;
use crate::registry::Algorithm;
use crate::{best, exact, list, meta, qos, sweep};

/// A member of a [`Request`](crate::Request) that only some methods use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heed {
    /// The seed: randomised methods.
    Seed,
    /// The limit on iterations: they search.
    Iterations,
    /// The limit on time: they search.
    TimeLimit,
    /// The number of threads.
    Threads,
}

impl Heed {
    /// All of them.
    pub const ALL: [Heed; 4] = [Heed::Seed, Heed::Iterations, Heed::TimeLimit, Heed::Threads];

    /// Name to show.
    pub fn name(self) -> &'static str {
        match self {
            Heed::Seed => "seed",
            Heed::Iterations => "iterations",
            Heed::TimeLimit => "time limit",
            Heed::Threads => "threads",
        }
    }
}

const LOTS: &[Heed] = &[Heed::Seed];
const SEARCH: &[Heed] = &[Heed::Seed, Heed::Iterations, Heed::TimeLimit];

/// Capabilities by method; methods that are not listed have none. A test compares the table with their
/// behaviour.
const TABLE: &[(&str, &[Heed])] = &[
    (best::BEST.name, &Heed::ALL),
    (exact::EXACT.name, &Heed::ALL),
    (meta::aco::ACO.name, SEARCH),
    (meta::sa::SA.name, SEARCH),
    (meta::tabu::TABU.name, SEARCH),
    (meta::ga::GA.name, SEARCH),
    (qos::ga_qos::GA_QOS.name, SEARCH),
    (qos::nsga2::NSGA2.name, SEARCH),
    (list::immediate::RANDOM.name, LOTS),
    (sweep::MIN_MIN_RANDOM.name, LOTS),
    (sweep::MAX_MIN_RANDOM.name, LOTS),
    (sweep::SUFFERAGE_RANDOM.name, LOTS),
    (sweep::EXTENDED_RANDOM.name, LOTS),
    (sweep::RANDOM_MET.name, LOTS),
];

impl Algorithm {
    /// The members of a request that it uses, other than limits and parameters.
    pub fn heeds(&self) -> &'static [Heed] {
        let alias = ALIASES.iter().find(|alias| alias.algorithm.name == self.name);
        let method = alias.map_or(self.name, |alias| alias.of);
        let found = TABLE.iter().find(|(name, _)| *name == method);
        found.map_or(&[], |(_, heeds)| heeds)
    }
}
