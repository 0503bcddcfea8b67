//! Alltoall and alltoallv: a block of each to each.

use super::script::Team;
use super::{allgather, mesh};
use crate::action::Call;

/// Bytes that go to a rank.
fn block(call: &Call, to: usize) -> u64 {
    call.counts.get(to).copied().unwrap_or(call.bytes)
}

/// Everything at once.
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

/// Step i: to the i-th rank after me, from the i-th before; or with rank xor i.
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

/// With blocks of different sizes, pairs where that is possible.
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

/// Recursive doubling with everybody's blocks.
pub(super) fn recursive_doubling(call: &Call, team: &mut Team<'_>) {
    let blocks = vec![call.bytes * team.size as u64; team.size];
    allgather::doubling(&blocks, team);
}

/// Rows of a square mesh with everybody's blocks, then its columns.
pub(super) fn mesh_2d(call: &Call, team: &mut Team<'_>) {
    let rows = mesh::square(team.size);
    let columns = team.size / rows;
    mesh::exchange(team, 1, columns, call.bytes * team.size as u64);
    mesh::exchange(team, columns, rows, call.bytes * columns as u64);
}

/// The three directions of a cubic mesh.
pub(super) fn mesh_3d(call: &Call, team: &mut Team<'_>) {
    let (edge, all) = (mesh::cube(team.size), call.bytes * team.size as u64);
    mesh::exchange(team, 1, edge, all);
    mesh::exchange(team, edge, edge, all * edge as u64);
    let plane = edge * edge;
    mesh::exchange_in_turn(team, plane, team.size / plane, call.bytes * plane as u64);
}

/// Four at a time, oneself among them; with blocks of one size even that is a message.
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
