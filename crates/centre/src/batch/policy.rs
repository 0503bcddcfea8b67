//! Policies by name: an order of the queue and a way to fill the machine.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The order in which waiting jobs are considered. Ties: submission date, then job number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// First come, first served.
    Submission,
    /// The least requested time first.
    ShortestFirst,
    /// The largest priority of its queue first; caps apply.
    Priority,
    /// The group with the least use per pledge first.
    FairShare,
}

/// Treatment of jobs behind one that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filling {
    /// They wait.
    None,
    /// They start if they do not delay the reservation of the first one (EASY backfilling).
    Easy,
    /// Every job has a reservation (conservative backfilling).
    Conservative,
}

/// An order and a filling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Order of the queue.
    pub order: Order,
    /// Way to fill the machine.
    pub filling: Filling,
}

/// A name that is no policy.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("unknown batch policy `{name}`; known: {}", Policy::ALL.map(|(name, _)| name).join(", "))]
pub struct UnknownPolicy {
    /// The name.
    pub name: String,
}

impl Policy {
    /// All policies by name.
    pub const ALL: [(&'static str, Policy); 9] = [
        ("fcfs", Policy { order: Order::Submission, filling: Filling::None }),
        ("easy", Policy { order: Order::Submission, filling: Filling::Easy }),
        ("conservative", Policy { order: Order::Submission, filling: Filling::Conservative }),
        ("sjf", Policy { order: Order::ShortestFirst, filling: Filling::None }),
        ("sjf-easy", Policy { order: Order::ShortestFirst, filling: Filling::Easy }),
        ("priority", Policy { order: Order::Priority, filling: Filling::None }),
        ("priority-easy", Policy { order: Order::Priority, filling: Filling::Easy }),
        ("fair-share", Policy { order: Order::FairShare, filling: Filling::None }),
        ("fair-share-easy", Policy { order: Order::FairShare, filling: Filling::Easy }),
    ];

    /// The name.
    pub fn name(self) -> &'static str {
        Policy::ALL.iter().find(|(_, policy)| *policy == self).map_or("", |(name, _)| name)
    }
}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Policy, UnknownPolicy> {
        let found = Policy::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, policy)| *policy).ok_or_else(|| UnknownPolicy { name: name.to_string() })
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
