//! Alltoall and alltoallv: a block of each rank to each. Functions have SimGrid's names of the algorithms.

use super::script::Team;
use super::{allgather, mesh};
use crate::action::Call;

/// Bytes that go to a rank.
fn block(call: &Call, to: usize) -> u64 {
    call.counts.get(to).copied().unwrap_or(call.bytes)
}

/// All receives and sends at once.
pub(super) fn linear(call: &Call, team: &mut Team<'_>) {
    let (me, size) = (team.me, team.size);
    for step in 1..size {
        team.irecv((me + step) % size);
    }
    for step in 1..size {
        let to = (me + size - step) % size;
        team.isend(to, block(call, to));
    }
    team.waitall();
}

/// The synchronisation between two steps of a ring or of pairs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    Nothing,
    /// One byte between the next partners.
    Token,
    Barrier,
}

/// In step i, a message to the i-th rank after this one and one from the i-th before; with `pairs` (for powers of
/// two), to and from rank xor i.
fn steps(call: &Call, team: &mut Team<'_>, pairs: bool, between: Between) {
    let (me, size) = (team.me, team.size);
    let pairs = pairs && size.is_power_of_two();
    let ends = |step: usize| {
        if pairs { (me ^ step, me ^ step) } else { ((me + step) % size, (me + size - step) % size) }
    };
    for step in 1..size {
        if between == Between::Barrier {
            team.barrier();
        }
        let (to, from) = ends(step);
        team.sendrecv(to, block(call, to), from);
        if between == Between::Token && step + 1 < size {
            let (to, from) = ends(step + 1);
            team.sendrecv(from, 1, to);
        }
    }
}

/// The ring; for alltoallv (blocks of different sizes) pairs, where the number of ranks is a power of two.
pub(super) fn ring(call: &Call, team: &mut Team<'_>) {
    steps(call, team, !call.counts.is_empty(), Between::Nothing);
}

pub(super) fn ring_light_barrier(call: &Call, team: &mut Team<'_>) {
    steps(call, team, false, Between::Token);
}

pub(super) fn ring_mpi_barrier(call: &Call, team: &mut Team<'_>) {
    team.barrier();
    steps(call, team, false, Between::Barrier);
}

pub(super) fn ring_one_barrier(call: &Call, team: &mut Team<'_>) {
    team.barrier();
    steps(call, team, false, Between::Nothing);
}

pub(super) fn pair(call: &Call, team: &mut Team<'_>) {
    steps(call, team, true, Between::Nothing);
}

pub(super) fn pair_light_barrier(call: &Call, team: &mut Team<'_>) {
    steps(call, team, true, Between::Token);
}

pub(super) fn pair_mpi_barrier(call: &Call, team: &mut Team<'_>) {
    team.barrier();
    steps(call, team, true, Between::Barrier);
}

pub(super) fn pair_one_barrier(call: &Call, team: &mut Team<'_>) {
    team.barrier();
    steps(call, team, true, Between::Nothing);
}

/// Bruck: distance 2^k with all blocks whose number has bit k.
pub(super) fn bruck(call: &Call, team: &mut Team<'_>) {
    let (me, size) = (team.me, team.size);
    let mut distance = 1;
    while distance < size {
        let count = (0..size).filter(|number| number & distance != 0).count() as u64;
        team.sendrecv((me + distance) % size, count * call.bytes, (me + size - distance) % size);
        distance *= 2;
    }
}

/// Recursive doubling; each rank's part is the blocks of all ranks.
pub(super) fn recursive_doubling(call: &Call, team: &mut Team<'_>) {
    let blocks = vec![call.bytes * team.size as u64; team.size];
    allgather::doubling(&blocks, team);
}

/// Exchanges along the rows of a square mesh with the blocks for all ranks, then along its columns.
pub(super) fn mesh_2d(call: &Call, team: &mut Team<'_>) {
    let rows = mesh::square(team.size);
    let columns = team.size / rows;
    mesh::exchange(team, 1, columns, call.bytes * team.size as u64);
    mesh::exchange(team, columns, rows, call.bytes * columns as u64);
}

/// Exchanges along the three directions of a cubic mesh.
pub(super) fn mesh_3d(call: &Call, team: &mut Team<'_>) {
    let (edge, all) = (mesh::cube(team.size), call.bytes * team.size as u64);
    mesh::exchange(team, 1, edge, all);
    mesh::exchange(team, edge, edge, all * edge as u64);
    let plane = edge * edge;
    mesh::exchange_in_turn(team, plane, team.size / plane, call.bytes * plane as u64);
}

/// Four ranks at a time, as in MVAPICH2. The rank itself is one of them: with blocks of one size it sends itself a message, with
/// different sizes its place stays empty.
pub(super) fn scattered_destinations(call: &Call, team: &mut Team<'_>) {
    const AT_ONCE: usize = 4;
    let (me, size) = (team.me, team.size);
    let alone = usize::from(!call.counts.is_empty());
    let mut first = 0;
    while first < size {
        let batch = first.max(alone)..(first + AT_ONCE).min(size);
        for step in batch.clone() {
            team.irecv((me + step) % size);
        }
        for step in batch {
            let to = (me + size - step) % size;
            team.isend(to, block(call, to));
        }
        team.waitall();
        first += AT_ONCE;
    }
}
