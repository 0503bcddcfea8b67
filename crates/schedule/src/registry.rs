//! Every planner with its name, family and source.

use crate::list;
use slackline_model::{Problem, Schedule};
use thiserror::Error;

/// What a planner may be told besides the problem.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Seed of methods that draw random numbers.
    pub seed: u64,
}

impl Settings {
    /// Defaults but for the seed.
    pub fn seeded(seed: u64) -> Settings {
        #[allow(clippy::needless_update)] // not all fields are the seed for ever
        Settings { seed, ..Settings::default() }
    }
}

/// Why there is no plan.
#[derive(Clone, Debug, Error, PartialEq)]
#[allow(missing_docs)] // the messages say it
pub enum PlanError {
    #[error("task '{task}' can run nowhere: every processor that fits it is gone")]
    Nowhere { task: String },
    #[error("no plan meets the limits: {why}")]
    Infeasible { why: String },
    #[error("{algorithm} cannot plan this: {why}")]
    Unsupported { algorithm: &'static str, why: String },
}

/// Groups of planners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// List scheduling of one workflow for the shortest makespan.
    List,
}

impl Family {
    /// Name to show.
    pub fn name(self) -> &'static str {
        match self {
            Family::List => "list",
        }
    }
}

/// What a method was built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// A full description, and checked against published or independent numbers.
    Published,
    /// What is generally known of the method; details the name does not fix are stated in its
    /// module.
    Recalled,
}

impl Basis {
    /// Name to show.
    pub fn name(self) -> &'static str {
        match self {
            Basis::Published => "published",
            Basis::Recalled => "recalled",
        }
    }
}

/// A planner as the registry knows it.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// The name to type.
    pub name: &'static str,
    /// Its group.
    pub family: Family,
    /// What it was built from.
    pub basis: Basis,
    /// One line on what it does.
    pub about: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// Growth with tasks v, dependencies e and processors p.
    pub complexity: &'static str,
    /// Plans the unfinished part of a problem.
    pub plan: fn(&Problem<'_>, &Settings) -> Result<Schedule, PlanError>,
}

/// All planners, in the order they are shown.
pub const ALL: &[Algorithm] = &[
    list::heft::HEFT,
    list::heft::MEDIAN,
    list::heft::WORST,
    list::heft::BEST,
    list::heft::SIMPLE_WORST,
    list::heft::SIMPLE_BEST,
    list::cpop::CPOP,
    list::peft::PEFT,
    list::lookahead::LOOKAHEAD,
    list::lookahead::INDEPENDENT,
    list::lookahead::WEIGHTED,
    list::dls::DLS,
    list::dls::MEDIAN,
    list::hcpt::HCPT,
    list::hps::HPS,
    list::pets::PETS,
    list::bil::BIL,
    list::fcp::FCP,
    list::flb::FLB,
    list::lmt::LMT,
    list::lmt::MERGE,
    list::mh::MH,
    list::etf::ETF,
    list::ldcp::LDCP,
    list::hybrid_bmct::HYBRID_BMCT,
    list::ceft::CEFT,
    list::dagmap::DAGMAP,
    list::minmin::MIN_MIN,
    list::minmin::MAX_MIN,
    list::minmin::SUFFERAGE,
    list::minmin::MIN_MIN_BATCH,
    list::minmin::MAX_MIN_BATCH,
    list::minmin::SUFFERAGE_BATCH,
    list::immediate::MCT,
    list::immediate::MET,
    list::immediate::OLB,
    list::immediate::ROUND_ROBIN,
    list::immediate::RANDOM,
];

/// The same methods with another convention: found by name, not part of a comparison of all.
pub const VARIANTS: &[Algorithm] = &[
    list::heft::MEAN_TIME,
    list::cpop::MEAN_TIME,
    list::peft::MEAN_TIME,
    list::lookahead::MEAN_TIME,
    list::hcpt::MEAN_TIME,
    list::hps::MEAN_TIME,
    list::pets::MEAN_TIME,
    list::bil::MEAN_TIME,
    list::fcp::MEAN_TIME,
];

/// The planner of that name. Case, `-`, `.` and `_` do not matter: `Min-Min` is `minmin`,
/// `heft.meantime` is `heft-meantime`.
pub fn find(name: &str) -> Option<&'static Algorithm> {
    ALL.iter().chain(VARIANTS).find(|a| letters(a.name).eq(letters(name)))
}

fn letters(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(|c| !matches!(c, '-' | '.' | '_')).map(|c| c.to_ascii_lowercase())
}
