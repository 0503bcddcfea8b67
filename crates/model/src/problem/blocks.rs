//! Data over several hosts lies in equal blocks; what has to cross the network when it is
//! redistributed. Plans and runs ask here.

use crate::HostId;
use serde::{Deserialize, Serialize};

/// A block that moves from one host to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// From where.
    pub from: HostId,
    /// To where.
    pub to: HostId,
    /// How much.
    pub bytes: f64,
}

/// What moves when data of a size in equal blocks over some hosts comes to lie in equal blocks over
/// others, both in ascending order; what a host has already stays.
pub fn blocks<'a>(
    from: &'a [HostId],
    to: &'a [HostId],
    bytes: f64,
) -> impl Iterator<Item = Block> + 'a {
    let (p, q) = (from.len() as f64, to.len() as f64);
    from.iter().enumerate().flat_map(move |(i, &source)| {
        to.iter().enumerate().filter_map(move |(j, &target)| {
            let begin = (i as f64 / p).max(j as f64 / q);
            let end = ((i + 1) as f64 / p).min((j + 1) as f64 / q);
            let moves = source != target && end - begin > 1e-12;
            moves.then_some(Block { from: source, to: target, bytes: (end - begin) * bytes })
        })
    })
}
