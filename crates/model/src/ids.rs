//! Small integer names. Every array of the model is indexed by one of these, so that a host
//! can never be used where a task is meant, at no cost over a plain `u32`.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The id of position `index` of an array.
            #[inline]
            pub fn new(index: usize) -> Self {
                debug_assert!(index <= u32::MAX as usize);
                $name(index as u32)
            }
            /// Position in an array.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    )+};
}

ids! {
    /// A task of a workflow.
    TaskId,
    /// A file of a workflow.
    FileId,
    /// A dependency of a workflow; edges are numbered by source task, then by target.
    EdgeId,
    /// A kind of task (the program it runs, the type in a paper).
    KindId,
    /// A host of a platform.
    HostId,
    /// A class of identical machines.
    ClassId,
    /// A network link.
    LinkId,
    /// A disk.
    DiskId,
    /// A routing zone (an autonomous system, a site, a cluster).
    ZoneId,
    /// A router: a point of the network that computes nothing.
    RouterId,
    /// A processor as a planner sees it: one core of a host.
    ProcId,
}
