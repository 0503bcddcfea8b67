//! Campaigns: methods over a factorial of workflows, platforms and scenarios, resumable, in one file.

mod bundle;
mod case;
mod comparisons;
mod export;
mod file;
pub mod job_array;
mod method;
mod run;
mod store;

pub use bundle::{bundle, check_bundle};
pub use case::{Combination, Draw, METRICS, Row};
pub use comparisons::comparisons;
pub use export::{write_csv, write_records};
pub use file::{Campaign, Repeat, Source, Variant};
pub use method::{Method, MethodKind};
pub use run::{Counts, Shard, run};
pub use store::{Identity, Merged, Store, StoreError, merge, merge_over};

#[cfg(test)]
mod tests;
