//! The rules by which MPI implementations choose, as SimGrid 3.32 has them.

use super::allgather::blocks;
use super::choice::Ranks;
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

/// The size in bytes by which Open MPI's rules select.
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

/// The total of a call whose ranks may have blocks of different sizes.
fn total(call: &Call, size: usize) -> u64 {
    match call.kind {
        Kind::Allgather | Kind::Allgatherv => blocks(call, size).iter().sum(),
        _ => call.bytes,
    }
}

/// MPICH's choice. Reductions go host by host, broadcasts where all hosts have equally many ranks.
/// If blocks may differ it counts elements, not bytes.
pub(super) fn mpich(call: &Call, ranks: &Ranks<'_>) -> &'static str {
    let (bytes, size) = (call.bytes, ranks.size);
    let power = size.is_power_of_two();
    let total = total(call, size);
    let elements = total / call.unit;
    match call.kind {
        Kind::Bcast if ranks.per_host().is_some() => "SMP_binomial",
        Kind::Bcast if bytes < 12_288 || size <= 8 => "binomial_tree",
        Kind::Bcast if bytes < 524_288 && size.is_multiple_of(2) => "scatter_rdb_allgather",
        Kind::Bcast => "scatter_LR_allgather",
        Kind::Reduce | Kind::Allreduce => "mvapich2_two_level",
        Kind::Alltoall if bytes < 256 && size >= 8 => "bruck",
        Kind::Alltoall if bytes < 32_768 => "mvapich2_scatter_dest",
        Kind::Alltoall => "ring",
        Kind::Alltoallv => "bruck",
        Kind::Allgather if power && total < 524_288 => "rdb",
        Kind::Allgather if total <= 81_920 => "bruck",
        Kind::Allgather => "ring",
        Kind::Allgatherv if power && elements < 524_288 => "mpich_rdb",
        Kind::Allgatherv if elements <= 81_920 => "ompi_bruck",
        Kind::Allgatherv => "mpich_ring",
        Kind::ReduceScatter if elements > 524_288 => "mpich_pair",
        Kind::ReduceScatter => "mpich_rdb",
        Kind::Gather | Kind::Scatter => "ompi_binomial",
        Kind::Barrier => "ompi_bruck",
        _ => "default",
    }
}

/// Up to (or below) so many bytes, this algorithm; host by host where it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    limit: u64,
    pub(super) name: &'static str,
    pub(super) two_level: bool,
}

/// The rules of a collective where every host has so many ranks (0: any number): up to so many ranks, these.
struct Table {
    name: &'static str,
    per_host: usize,
    bands: Vec<(usize, Vec<Row>)>,
}

/// The rules of one selector.
struct Tables(Vec<Table>);

impl Tables {
    fn read(text: &'static str) -> Tables {
        let number = |word: &str, all: usize| match word {
            "*" => Some(all),
            word => word.parse().ok(),
        };
        let row = |entry: &'static str| {
            let (limit, name) = entry.split_once(' ')?;
            let limit = number(limit, usize::MAX)? as u64;
            let two_level = name.starts_with('+');
            Some(Row { limit, name: name.trim_start_matches('+'), two_level })
        };
        let mut tables: Vec<Table> = Vec::new();
        for line in text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
            if let Some((ranks, rows)) = line.trim_start().split_once(": ") {
                let rows = rows.split(", ").filter_map(row).collect();
                if let (Some(last), Some(ranks)) = (tables.last_mut(), number(ranks, usize::MAX)) {
                    last.bands.push((ranks, rows));
                }
            } else if let Some((name, per_host)) = line.split_once(' ')
                && let Some(per_host) = number(per_host, 0)
            {
                tables.push(Table { name, per_host, bands: Vec::new() });
            }
        }
        Tables(tables)
    }

    /// The row for `size` ranks, `per_host` on each (1 where they differ, or where no rule has as
    /// many), and the first limit that `fits`.
    fn row(
        &self,
        name: &str,
        size: usize,
        per_host: impl FnOnce() -> usize,
        fits: impl Fn(u64) -> bool,
    ) -> Option<Row> {
        let named = || self.0.iter().filter(|table| table.name == name);
        let table = match named().find(|table| table.per_host == 0) {
            Some(table) => table,
            None => {
                let per_host = per_host();
                let with = |count: usize| named().find(move |table| table.per_host == count);
                with(per_host).or_else(|| with(1))?
            }
        };
        let (_, rows) = table.bands.iter().find(|(ranks, _)| size <= *ranks)?;
        rows.iter().find(|row| fits(row.limit)).or(rows.last()).copied()
    }
}

static MVAPICH2: LazyLock<Tables> = LazyLock::new(|| Tables::read(include_str!("mvapich2.txt")));

static IMPI: LazyLock<Tables> = LazyLock::new(|| Tables::read(include_str!("impi.txt")));

/// MVAPICH2's row for a collective, or for what it does inside hosts.
pub(super) fn mvapich2_row(
    name: &str,
    size: usize,
    bytes: u64,
    per_host: impl FnOnce() -> usize,
) -> Option<Row> {
    MVAPICH2.row(name, size, per_host, |limit| bytes <= limit)
}

/// MVAPICH2's choice. Those that go host by host find the rest of their rule themselves.
pub(super) fn mvapich2(call: &Call, ranks: &Ranks<'_>) -> &'static str {
    let size = ranks.size;
    let looks = matches!(
        call.kind,
        Kind::Bcast | Kind::Reduce | Kind::Allreduce | Kind::Allgather | Kind::Scatter
    );
    let per_host = if looks { ranks.per_host().unwrap_or(1) } else { 1 };
    let bytes = match call.kind {
        Kind::Allgatherv => measure(call, size),
        _ => call.bytes,
    };
    match call.kind {
        Kind::Barrier => return "mvapich2_pair",
        Kind::Alltoallv => return "ring",
        // The binomial tree is used, without a query, until the placement of ranks was queried.
        Kind::Gather if !ranks.is_placement_queried() => return "ompi_binomial",
        _ => {}
    }
    let Some(row) = mvapich2_row(call.kind.name(), size, bytes, || per_host) else {
        return "default";
    };
    match (call.kind, row.two_level, row.name) {
        (Kind::Bcast, true, _) => "mvapich2_two_level",
        (Kind::Reduce, true, _) => "mvapich2_flat_knomial",
        (Kind::Allreduce, true, _) => "mvapich2_knomial_two_level",
        (Kind::Allgather, true, _) => "mvapich2_smp",
        (Kind::Gather, _, "mpich") => "ompi_binomial",
        (Kind::Allgatherv, _, "mpich_rdb") if !size.is_power_of_two() => "ompi_bruck",
        (_, _, name) => name,
    }
}

/// Intel MPI's choice.
pub(super) fn impi(call: &Call, ranks: &Ranks<'_>) -> &'static str {
    let bytes = match call.kind {
        Kind::Barrier | Kind::Alltoallv => 1,
        _ => match call.kind {
            Kind::Allgatherv => total(call, ranks.size),
            _ => call.bytes,
        },
    };
    let per_host = ranks.per_host().unwrap_or(1);
    match IMPI.row(call.kind.name(), ranks.size, || per_host, |limit| bytes < limit) {
        Some(Row { name: "mvapich2", .. }) => mvapich2(call, ranks),
        Some(row) => row.name,
        None => "default",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::algorithms;
    use std::cell::Cell;

    fn choose(
        rule: fn(&Call, &Ranks<'_>) -> &'static str,
        kind: Kind,
        bytes: u64,
        (size, per_host): (usize, Option<usize>),
    ) -> &'static str {
        let (queried, of) = (Cell::new(false), || per_host);
        rule(&Call::new(kind, bytes), &Ranks::new(size, &of, &queried))
    }

    #[test]
    fn every_name_in_the_tables_is_an_algorithm() {
        for tables in [&*MVAPICH2, &*IMPI] {
            assert!(tables.0.len() > 10);
            for table in &tables.0 {
                let collective = table.name.trim_end_matches("-inside");
                let kind = Kind::ALL.into_iter().find(|kind| kind.name() == collective).unwrap();
                let (last, _) = table.bands.last().unwrap();
                assert_eq!(*last, usize::MAX, "{collective}: ranks without a rule");
                assert!(table.bands.windows(2).all(|pair| pair[0].0 < pair[1].0), "{collective}");
                for (_, rows) in &table.bands {
                    assert_eq!(rows.last().unwrap().limit, usize::MAX as u64, "{collective}");
                    assert!(rows.windows(2).all(|pair| pair[0].limit < pair[1].limit));
                    for Row { name, .. } in rows {
                        let known = algorithms(kind).iter().any(|(known, _)| known == name);
                        assert!(known || matches!(*name, "mpich" | "mvapich2"), "{name}");
                    }
                }
            }
        }
    }

    #[test]
    fn intel_mpi_looks_at_ranks_per_host_then_at_ranks_then_at_bytes() {
        let impi = |kind, bytes, ranks| choose(impi, kind, bytes, ranks);
        assert_eq!(impi(Kind::Allreduce, 117, (8, Some(1))), "rdb");
        assert_eq!(impi(Kind::Allreduce, 118, (8, Some(1))), "mvapich2_two_level");
        assert_eq!(impi(Kind::Allreduce, 118, (9, Some(1))), "rdb");
        assert_eq!(impi(Kind::Allreduce, 118, (8, Some(2))), "rdb");
        // Unequal hosts, and numbers without a table, count as one each.
        assert_eq!(impi(Kind::Allreduce, 118, (8, None)), "mvapich2_two_level");
        assert_eq!(impi(Kind::Allreduce, 118, (6, Some(3))), "mvapich2_two_level");
        assert_eq!(impi(Kind::Bcast, 5000, (8, Some(1))), "NTSL");
        assert_eq!(impi(Kind::Bcast, 5000, (9, Some(1))), "mvapich2_two_level");
        assert_eq!(impi(Kind::Barrier, 0, (8, Some(1))), "ompi_basic_linear");
        assert_eq!(impi(Kind::Alltoallv, 0, (16, Some(4))), "ompi_basic_linear");
        // The placement of ranks is queried before MVAPICH2's rule for gathers applies.
        assert_eq!(impi(Kind::Gather, 60, (8, Some(1))), "ompi_basic_linear");
    }

    #[test]
    fn mvapich2_bands() {
        let mvapich2 = |kind, bytes, ranks| choose(mvapich2, kind, bytes, ranks);
        // All-to-alls use the table of one rank per host, whatever there is.
        for per_host in [Some(1), Some(2), Some(16), None] {
            assert_eq!(mvapich2(Kind::Alltoall, 32, (32, per_host)), "rdb");
            assert_eq!(mvapich2(Kind::Alltoall, 2048, (32, per_host)), "bruck");
            assert_eq!(mvapich2(Kind::Alltoall, 2049, (32, per_host)), "mvapich2_scatter_dest");
        }
        assert_eq!(mvapich2(Kind::Allgather, 65_536, (32, Some(1))), "rdb");
        assert_eq!(mvapich2(Kind::Allgather, 65_537, (17, Some(1))), "ring");
        assert_eq!(mvapich2(Kind::Allgather, 131_072, (16, Some(4))), "rdb");
        assert_eq!(mvapich2(Kind::Allgather, 65_537, (16, Some(2))), "mvapich2_smp");
        for (bytes, ranks, expected) in [
            (1024, 16, "mvapich2_knomial_two_level"),
            (1025, 16, "mvapich2_rs"),
            (16_384, 17, "mvapich2_knomial_two_level"),
            (16_384, 512, "mvapich2_knomial_two_level"),
            (16_385, 512, "mvapich2_rs"),
        ] {
            assert_eq!(mvapich2(Kind::Allreduce, bytes, (ranks, Some(1))), expected);
        }
        assert_eq!(mvapich2(Kind::Reduce, 262_144, (16, None)), "mvapich2_flat_knomial");
        assert_eq!(mvapich2(Kind::Reduce, 262_145, (16, None)), "binomial");
        assert_eq!(mvapich2(Kind::Scatter, 512, (8, Some(2))), "mvapich2_two_level_direct");
        assert_eq!(mvapich2(Kind::Scatter, 512, (8, Some(1))), "ompi_basic_linear");
    }

    #[test]
    fn mvapich2_gathers_by_a_tree_until_the_placement_is_queried() {
        let (queried, of) = (Cell::new(false), || Some(2));
        let ranks = Ranks::new(8, &of, &queried);
        let gather = Call::new(Kind::Gather, 100);
        assert_eq!(mvapich2(&gather, &ranks), "ompi_binomial");
        mvapich2(&Call::new(Kind::Alltoall, 100), &ranks);
        mvapich2(&Call::new(Kind::Barrier, 0), &ranks);
        assert_eq!(mvapich2(&gather, &ranks), "ompi_binomial");
        mvapich2(&Call::new(Kind::Bcast, 100), &ranks);
        assert_eq!(mvapich2(&gather, &ranks), "ompi_basic_linear");
    }

    #[test]
    fn mpich_counts_elements_where_blocks_differ() {
        let blocks = |kind, unit: u64, count: u64| Call {
            unit,
            counts: vec![count * unit; 7].into(),
            ..Call::new(kind, 7 * count * unit)
        };
        let choose = |call: &Call| {
            let (queried, of) = (Cell::new(false), || None);
            mpich(call, &Ranks::new(7, &of, &queried))
        };
        assert_eq!(choose(&blocks(Kind::Allgatherv, 8, 2000)), "ompi_bruck");
        assert_eq!(choose(&blocks(Kind::Allgatherv, 1, 16_000)), "mpich_ring");
        assert_eq!(choose(&blocks(Kind::ReduceScatter, 8, 10_000)), "mpich_rdb");
        assert_eq!(choose(&blocks(Kind::ReduceScatter, 1, 80_000)), "mpich_pair");
        // Reductions go host by host whether or not hosts have equally many ranks.
        assert_eq!(choose(&Call::new(Kind::Reduce, 100)), "mvapich2_two_level");
        assert_eq!(choose(&Call::new(Kind::Allreduce, 100)), "mvapich2_two_level");
        assert_eq!(choose(&Call::new(Kind::Bcast, 100)), "binomial_tree");
    }
}
