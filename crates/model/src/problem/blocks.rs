//! Data over several hosts is stored in equal blocks; what moves when it is redistributed. Plans and
//! runs ask here.

use crate::HostId;
use serde::{Deserialize, Serialize};

/// A block of data that goes from one host to another, or stays where it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// The sender.
    pub from: HostId,
    /// The receiver.
    pub to: HostId,
    /// Size, bytes.
    pub bytes: f64,
}

impl Block {
    /// Whether it leaves its host.
    pub fn moves(&self) -> bool {
        self.from != self.to
    }
}

/// The blocks when data of a size in equal parts over some hosts comes to lie in equal parts over
/// others, both in ascending order. Time O(hosts).
pub fn blocks<'a>(
    from: &'a [HostId],
    to: &'a [HostId],
    bytes: f64,
) -> impl Iterator<Item = Block> + 'a {
    // In units of which each source has `to.len()` and each target gets `from.len()`, borders are
    // whole numbers.
    let (have, get) = (to.len() as u64, from.len() as u64);
    let (mut i, mut j, mut at) = (0, 0, 0u64);
    std::iter::from_fn(move || {
        let (&source, &target) = (from.get(i)?, to.get(j)?);
        let (source_ends, target_ends) = ((i as u64 + 1) * have, (j as u64 + 1) * get);
        let end = source_ends.min(target_ends);
        let part = (end - at) as f64 / (have * get) as f64;
        i += usize::from(end == source_ends);
        j += usize::from(end == target_ends);
        at = end;
        Some(Block { from: source, to: target, bytes: bytes * part })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redistribution_from_five_to_three() {
        // 15 units: sources own 3 each, targets 5 each.
        let (from, to): (Vec<HostId>, Vec<HostId>) =
            ((0..5).map(HostId).collect(), (5..8).map(HostId).collect());
        let found: Vec<(u32, u32, f64)> =
            blocks(&from, &to, 15.0).map(|b| (b.from.0, b.to.0 - 5, b.bytes)).collect();
        let expected = [
            (0, 0, 3.0),
            (1, 0, 2.0),
            (1, 1, 1.0),
            (2, 1, 3.0),
            (3, 1, 1.0),
            (3, 2, 2.0),
            (4, 2, 3.0),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_a_host_has_already_stays() {
        let hosts: Vec<HostId> = (0..4).map(HostId).collect();
        assert!(blocks(&hosts, &hosts, 8.0).all(|b| !b.moves() && b.bytes == 2.0));
        assert_eq!(blocks(&hosts, &hosts[..1], 8.0).filter(Block::moves).count(), 3);
        assert_eq!(blocks(&[], &hosts, 8.0).count(), 0);
    }
}
