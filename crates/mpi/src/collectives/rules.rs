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

/// MPICH's choice. Where all hosts have equally many ranks it goes host by host.
pub(super) fn mpich(call: &Call, size: usize, uniform: &dyn Fn() -> bool) -> &'static str {
    let (bytes, power) = (call.bytes, size.is_power_of_two());
    let total = match call.kind {
        Kind::Allgather | Kind::Allgatherv => blocks(call, size).iter().sum(),
        _ => bytes,
    };
    let many_elements = bytes / call.unit >= super::reduce::floor_power(size) as u64;
    match call.kind {
        Kind::Bcast if uniform() => "SMP_binomial",
        Kind::Bcast if bytes < 12_288 || size <= 8 => "binomial_tree",
        Kind::Bcast if bytes < 524_288 && size.is_multiple_of(2) => "scatter_rdb_allgather",
        Kind::Bcast => "scatter_LR_allgather",
        Kind::Reduce | Kind::Allreduce if uniform() => "mvapich2_two_level",
        Kind::Reduce if bytes <= 2048 || !many_elements => "binomial",
        Kind::Reduce => "scatter_gather",
        Kind::Allreduce if bytes > 2048 && many_elements => "rab_rdb",
        Kind::Allreduce => "rdb",
        Kind::Alltoall if bytes < 256 && size >= 8 => "bruck",
        Kind::Alltoall if bytes < 32_768 => "mvapich2_scatter_dest",
        Kind::Alltoall => "ring",
        Kind::Alltoallv => "bruck",
        Kind::Allgather if power && total < 524_288 => "rdb",
        Kind::Allgather if total <= 81_920 => "bruck",
        Kind::Allgather => "ring",
        Kind::Allgatherv if power && total < 524_288 => "mpich_rdb",
        Kind::Allgatherv if total <= 81_920 => "ompi_bruck",
        Kind::Allgatherv => "mpich_ring",
        Kind::ReduceScatter if total > 524_288 => "mpich_pair",
        Kind::ReduceScatter => "mpich_rdb",
        Kind::Gather | Kind::Scatter => "ompi_binomial",
        Kind::Barrier => "ompi_bruck",
        _ => "default",
    }
}

/// MVAPICH2's choice, seen from outside: of the sizes that were tried (most powers of two, and one byte
/// more) each takes what SimGrid 3.32 takes; in between the rule of the size below holds.
pub(super) fn mvapich2(call: &Call, size: usize, spread: &dyn Fn() -> bool) -> &'static str {
    let (bytes, power, many) = (call.bytes, size.is_power_of_two(), size >= 16);
    match call.kind {
        Kind::Bcast => "mvapich2_two_level",
        Kind::Reduce => large_reduce(bytes, spread),
        Kind::Allreduce if bytes <= 1024 => "mvapich2_knomial_two_level",
        Kind::Allreduce => "mvapich2_rs",
        Kind::Allgather => "rdb",
        Kind::Allgatherv if measure(call, size) >= 512 => "mpich_ring",
        Kind::Allgatherv if power => "mpich_rdb",
        Kind::Allgatherv => "ompi_bruck",
        Kind::Alltoall if bytes < 16 || (many && bytes <= 64) => "rdb",
        Kind::Alltoall if many && bytes <= 512 => "bruck",
        Kind::Alltoall => "mvapich2_scatter_dest",
        Kind::Alltoallv => "ring",
        Kind::ReduceScatter if bytes < 64 => "default",
        Kind::ReduceScatter if bytes <= 65_536 => "ompi_basic_recursivehalving",
        Kind::ReduceScatter => "mpich_pair",
        Kind::Gather => "ompi_binomial",
        Kind::Scatter => "ompi_basic_linear",
        Kind::Barrier => "mvapich2_pair",
        _ => "default",
    }
}

/// The reductions of MVAPICH2 and Intel MPI.
fn large_reduce(bytes: u64, spread: &dyn Fn() -> bool) -> &'static str {
    match bytes {
        524_288.. => "binomial",
        _ if spread() => "mvapich2_knomial",
        _ => "mvapich2_flat_knomial",
    }
}

/// Intel MPI's choice, as far as it is known in the same way: up to 8 ranks, up to 15, and more.
pub(super) fn impi(call: &Call, size: usize, spread: &dyn Fn() -> bool) -> &'static str {
    let bytes = call.bytes;
    let (few, many) = (size <= 8, size >= 16);
    match call.kind {
        Kind::Bcast => "mvapich2_two_level",
        Kind::Reduce => large_reduce(bytes, spread),
        Kind::Allreduce => match bytes {
            524_288.. => "default",
            131_072.. => "lr",
            65_536.. if !many => "lr",
            512..4096 | 16_384.. if many => "rab1",
            _ => "rdb",
        },
        Kind::Allgather => match bytes {
            0..1024 if many => "rdb",
            _ if many => "ring",
            256..16_384 if few => "bruck",
            16_384..=16_385 if few => "ring",
            65_536.. if few => "rdb",
            8192.. if !few => "rdb",
            _ => "GB",
        },
        Kind::Allgatherv => match measure(call, size) {
            0..128 if many => "mpich_rdb",
            0..1024 if few => "ompi_bruck",
            8192.. if few => "GB",
            0..256 => "ompi_bruck",
            _ => "ring",
        },
        Kind::Alltoall if many => match bytes {
            16..=64 => "rdb",
            0..1024 => "bruck",
            16_385..65_536 => "pair",
            _ => "mvapich2_scatter_dest",
        },
        Kind::Alltoall => "mvapich2_scatter_dest",
        Kind::ReduceScatter => match bytes / size as u64 {
            block if many => match block {
                0..32 => "ompi_basic_recursivehalving",
                32..16_384 => "mpich_rdb",
                _ => "mpich_pair",
            },
            512..4096 => "mpich_rdb",
            8192..=16_384 => "mpich_pair",
            16_385.. => "default",
            _ => "ompi_basic_recursivehalving",
        },
        Kind::Gather if !many && (16_384..65_536).contains(&bytes) => "ompi_binomial",
        Kind::Scatter if many && (256..=1024).contains(&bytes) => "ompi_binomial",
        Kind::Gather | Kind::Scatter => "ompi_basic_linear",
        Kind::Barrier if many => "ompi_recursivedoubling",
        Kind::Barrier => "ompi_basic_linear",
        _ => "default",
    }
}
