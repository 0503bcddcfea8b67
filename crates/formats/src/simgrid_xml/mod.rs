//! SimGrid platform XML: reader of the DTD 4.1 and of the older version 3 (`AS`, `power`,
//! `trace`, `ASroute`, ...), writer of 4.1.
//!
//! Properties without equivalent in SimGrid (prices, memory, billing, classes, the origin) have names that
//! begin with `slackline:`.

mod attributes;
mod elements;
mod pools;
mod reader;
mod references;
mod traces;
mod values;
mod writer;

pub use reader::{parse, read};
pub use traces::parse_trace;
pub use writer::{to_string, write};

/// Names of the properties that carry what SimGrid has no attribute for.
mod own {
    pub(super) const PRICE: &str = "slackline:price";
    pub(super) const MEMORY: &str = "slackline:memory";
    pub(super) const GPUS: &str = "slackline:gpus";
    /// Of hosts; of the outermost zone those of the whole platform.
    pub(super) const RESOURCES: &str = "slackline:resources";
    pub(super) const SHARED_RESOURCES: &str = "slackline:shared-resources";
    /// Of the platform's resources, the names of those that are licences of Slurm.
    pub(super) const LICENCES: &str = "slackline:slurm-licences";
    pub(super) const WINDOWS: &str = "slackline:windows";
    /// Of hosts; of the outermost zone that of the whole platform.
    pub(super) const STORAGE: &str = "slackline:storage";
    pub(super) const WALL_TIME: &str = "slackline:wall-time";
    pub(super) const CLASS: &str = "slackline:class";
    pub(super) const LEASABLE: &str = "slackline:leasable";
    pub(super) const BILLING: &str = "slackline:billing";
    pub(super) const ORIGIN: &str = "slackline:origin";
    pub(super) const SHARED_STORAGE: &str = "slackline:shared-storage";
    pub(super) const TRANSFER_PRICE: &str = "slackline:transfer-price";
    pub(super) const STORAGE_CAPACITY: &str = "slackline:storage-capacity";
    pub(super) const NAME: &str = "slackline:name";
    pub(super) const DISK_MODEL: &str = "slackline:disk-model";
    /// Begins the name of a zone that only exists because SimGrid's zones hold either zones or
    /// nodes; the name of the node follows.
    pub(super) const WRAP: &str = "slackline:around:";
}
