//! The GTP family (Hernandez, Cole; thesis of 2008): re-plan at fixed periods with what is known
//! then, migrate pessimistically; GTP/c re-uses copies left behind by migrations, GTP/r and
//! GTP/c/r rewind tasks whose results died with a processor.

mod dls_sr;
pub mod estimate;
mod policy;
mod rewind;

pub use dls_sr::DlsSr;
pub use estimate::{Costing, Expected};
pub use policy::{Gtp, Period, Variant};
pub use rewind::rewound_tasks;
