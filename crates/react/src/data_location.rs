//! Location of data: one place, or spread over the hosts of a parallel task.

use serde::{Deserialize, Serialize};
use slackline_model::HostId;
use slackline_model::problem::{Block, blocks};
use std::sync::Arc;

/// A place for data.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<HostId>", into = "Vec<HostId>")]
pub enum Holders {
    /// On one host, or at the place of several that share their storage, named by the first.
    Host(HostId),
    /// In equal blocks over several hosts, in ascending order: what a parallel task reads and
    /// leaves behind.
    Spread(Arc<[HostId]>),
}

impl Holders {
    /// The holders of what is with some hosts, given in any order and more than once.
    pub fn of_hosts(hosts: impl IntoIterator<Item = HostId>) -> Holders {
        let mut hosts: Vec<HostId> = hosts.into_iter().collect();
        hosts.sort_unstable();
        hosts.dedup();
        match hosts.as_slice() {
            &[host] => Holders::Host(host),
            _ => Holders::Spread(hosts.into()),
        }
    }

    /// Its hosts.
    pub fn hosts(&self) -> &[HostId] {
        match self {
            Holders::Host(host) => std::slice::from_ref(host),
            Holders::Spread(hosts) => hosts,
        }
    }

    /// Its only host.
    pub fn host(&self) -> Option<HostId> {
        match self {
            Holders::Host(host) => Some(*host),
            Holders::Spread(_) => None,
        }
    }

    /// Whether it is just this host.
    #[inline]
    pub fn is(&self, host: HostId) -> bool {
        matches!(self, Holders::Host(own) if *own == host)
    }

    /// Whether part of it is on this host.
    pub fn touches(&self, host: HostId) -> bool {
        self.hosts().contains(&host)
    }

    /// The blocks when data of a size goes from here to there, those that stay on a host included:
    /// both sides hold equal parts.
    pub fn blocks_to<'a>(
        &'a self,
        to: &'a Holders,
        bytes: f64,
    ) -> impl Iterator<Item = Block> + use<'a> {
        blocks(self.hosts(), to.hosts(), bytes)
    }
}

impl From<Vec<HostId>> for Holders {
    fn from(hosts: Vec<HostId>) -> Holders {
        Holders::of_hosts(hosts)
    }
}

impl From<Holders> for Vec<HostId> {
    fn from(holders: Holders) -> Vec<HostId> {
        holders.hosts().to_vec()
    }
}

impl From<HostId> for Holders {
    fn from(host: HostId) -> Holders {
        Holders::Host(host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holders(hosts: &[u32]) -> Holders {
        Holders::of_hosts(hosts.iter().copied().map(HostId))
    }

    fn blocks(from: &[u32], to: &[u32], bytes: f64) -> Vec<(u32, u32, f64)> {
        let (from, to) = (holders(from), holders(to));
        let moved = from.blocks_to(&to, bytes).filter(Block::moves);
        moved.map(|b| (b.from.0, b.to.0, b.bytes)).collect()
    }

    #[test]
    fn blocks_are_what_the_two_distributions_share() {
        assert_eq!(blocks(&[0], &[1], 12.0), [(0, 1, 12.0)]);
        // Host 0 keeps its half.
        assert_eq!(blocks(&[0], &[0, 1], 12.0), [(0, 1, 6.0)]);
        assert_eq!(blocks(&[0, 1], &[0], 12.0), [(1, 0, 6.0)]);
        // Two halves become three thirds.
        let moved = blocks(&[0, 1], &[2, 3, 4], 12.0);
        let expected = [(0, 2, 4.0), (0, 3, 2.0), (1, 3, 2.0), (1, 4, 4.0)];
        for ((f, t, b), (ef, et, eb)) in moved.iter().zip(expected) {
            assert!((*f, *t) == (ef, et) && (b - eb).abs() < 1e-9);
        }
        assert_eq!(moved.len(), 4);
    }

    #[test]
    fn the_same_hosts_are_the_same_site() {
        assert_eq!(holders(&[2, 1, 2]), holders(&[1, 2]));
        assert_eq!(holders(&[3, 3]), Holders::Host(HostId(3)));
        assert!(holders(&[1, 2]).touches(HostId(2)) && !holders(&[1, 2]).is(HostId(2)));
    }
}
