//! Campaigns: methods over a factorial of workflows, platforms and scenarios, resumable, in one file.

mod case;
mod export;
mod file;
mod method;
mod run;
mod store;

pub use case::{Combination, Draw, METRICS, Row};
pub use export::{write_csv, write_records};
pub use file::{Campaign, Repeat, Source, Variant};
pub use method::{Method, MethodKind};
pub use run::{Counts, Shard, run};
pub use store::{Identity, Merged, Store, StoreError, merge, merge_over};

#[cfg(test)]
mod tests;
