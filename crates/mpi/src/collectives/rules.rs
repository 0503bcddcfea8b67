//! The rules by which MPI implementations choose, as SimGrid 3.32 has them.

use super::allgather::blocks;
use crate::action::{Call, Kind};
use std::sync::LazyLock;

/// From so many bytes on, this algorithm.
type Sizes = Vec<(u64, &'static str)>;

/// From so many ranks on, these.
type Bands = Vec<(usize, Sizes)>;

/// Open MPI's rules: per collective, by ranks and bytes.
static OMPI: LazyLock<Vec<(&'static str, Bands)>> = LazyLock::new(|| {
    let mut collectives: Vec<(&str, Bands)> = Vec::new();
    for line in include_str!("ompi.txt").lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        match line.trim_start().split_once(": ") {
            None => collectives.push((line.trim(), Vec::new())),
            Some((ranks, sizes)) => {
                let size = |entry: &'static str| {
                    let (bytes, name) = entry.split_once(' ')?;
                    Some((bytes.parse().ok()?, name))
                };
                let sizes = sizes.split(", ").filter_map(size).collect();
                if let (Some(last), Ok(ranks)) = (collectives.last_mut(), ranks.parse()) {
                    last.1.push((ranks, sizes));
                }
            }
        }
    }
    collectives
});

/// The size that Open MPI's rules look at.
fn measure(call: &Call, size: usize) -> u64 {
    match call.kind {
        Kind::Allgatherv => blocks(call, size).iter().sum::<u64>() / size.max(1) as u64,
        _ => call.bytes,
    }
}

/// Open MPI's choice.
pub(super) fn ompi(call: &Call, size: usize) -> &'static str {
    let bytes = measure(call, size);
    let Some((_, bands)) = OMPI.iter().find(|(name, _)| *name == call.kind.name()) else {
        return "default";
    };
    let last = bands.iter().rev().find(|(ranks, _)| *ranks <= size).or(bands.first());
    let Some((_, sizes)) = last else { return "default" };
    sizes.iter().rev().find(|(from, _)| *from <= bytes).map_or("default", |(_, name)| name)
}

/// MPICH's choice.
pub(super) fn mpich(call: &Call, size: usize, uniform: &dyn Fn() -> bool) -> &'static str {
    let _ = (call, size, uniform);
    "default"
}

/// MVAPICH2's choice.
pub(super) fn mvapich2(call: &Call, size: usize, uniform: &dyn Fn() -> bool) -> &'static str {
    let _ = (call, size, uniform);
    "default"
}

/// Intel MPI's choice.
pub(super) fn impi(call: &Call, size: usize, uniform: &dyn Fn() -> bool) -> &'static str {
    let _ = (call, size, uniform);
    "default"
}
