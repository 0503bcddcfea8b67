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
        Kind::Allgather => "NTSLR",
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

/// MVAPICH2's choice, as far as it is known: sizes in between take the rule of the nearest below.
pub(super) fn mvapich2(call: &Call, size: usize, spread: &dyn Fn() -> bool) -> &'static str {
    let bytes = call.bytes;
    match call.kind {
        Kind::Bcast => large_bcast(bytes, size),
        Kind::Reduce if spread() => "mvapich2_knomial",
        Kind::Reduce => "mvapich2_flat_knomial",
        Kind::Allreduce if bytes <= 2048 => "mvapich2_knomial_two_level",
        Kind::Allreduce => "mvapich2_rs",
        Kind::Allgather => "rdb",
        Kind::Allgatherv if blocks(call, size).iter().sum::<u64>() <= 8192 => "mpich_rdb",
        Kind::Allgatherv => "mpich_ring",
        Kind::Alltoall if bytes <= 1024 && size >= 16 => "rdb",
        Kind::Alltoall => "mvapich2_scatter_dest",
        Kind::Alltoallv => "ring",
        Kind::ReduceScatter if bytes <= 131_072 => "ompi_basic_recursivehalving",
        Kind::ReduceScatter => "mpich_pair",
        Kind::Gather => "ompi_binomial",
        Kind::Scatter => "ompi_basic_linear",
        Kind::Barrier => "mvapich2_pair",
        _ => "default",
    }
}

fn large_bcast(bytes: u64, size: usize) -> &'static str {
    let limit = if size <= 8 { 65_536 } else { 12_288 };
    if bytes < limit { "binomial_tree" } else { "scatter_LR_allgather" }
}

/// Intel MPI's choice, as far as it is known.
pub(super) fn impi(call: &Call, size: usize, spread: &dyn Fn() -> bool) -> &'static str {
    let (bytes, many) = (call.bytes, size >= 16);
    match call.kind {
        Kind::Bcast => large_bcast(bytes, size),
        Kind::Reduce if spread() => "mvapich2_knomial",
        Kind::Reduce => "mvapich2_flat_knomial",
        Kind::Allreduce if bytes > 131_072 => "lr",
        Kind::Allreduce if many => "rab1",
        Kind::Allreduce => "rdb",
        Kind::Allgather if many && bytes < 1024 => "rdb",
        Kind::Allgather if many => "ring",
        Kind::Allgather if size > 8 && bytes >= 16_384 => "rdb",
        Kind::Allgather if size <= 8 && (1024..16_384).contains(&bytes) => "bruck",
        Kind::Allgather => "GB",
        Kind::Allgatherv => {
            let average = measure(call, size);
            match (many, average) {
                (true, 0..1024) => "mpich_rdb",
                (false, 0..1024) => "ompi_bruck",
                (false, 16_384..) => "GB",
                _ => "ring",
            }
        }
        Kind::Alltoall if many && bytes < 1024 => "rdb",
        Kind::Alltoall if many && bytes >= 16_384 => "pair",
        Kind::Alltoall => "mvapich2_scatter_dest",
        Kind::ReduceScatter => match (many, bytes / size as u64) {
            (true, 16_384..) => "mpich_pair",
            (false, 16_384..) => "default",
            (false, 0..1024) => "ompi_basic_recursivehalving",
            _ => "mpich_rdb",
        },
        Kind::Gather if !many && bytes >= 16_384 => "ompi_binomial",
        Kind::Gather | Kind::Scatter => "ompi_basic_linear",
        Kind::Barrier if many => "ompi_recursivedoubling",
        Kind::Barrier => "ompi_basic_linear",
        _ => "default",
    }
}
