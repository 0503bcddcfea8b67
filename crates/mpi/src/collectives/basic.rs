//! The simple algorithms that are taken where nothing is said: those of SimGrid 3.32, and of
//! 3.11 where they differ.

use super::choice::{Selected, Selector};
use super::script::Team;
use crate::action::{Call, Kind};

/// All send to rank 0, which answers all.
pub(super) fn barrier(_: &Call, team: &mut Team<'_>) {
    if team.me == 0 {
        (1..team.size).for_each(|rank| {
            team.irecv(rank);
        });
        team.waitall();
        (1..team.size).for_each(|rank| {
            team.isend(rank, 0);
        });
        team.waitall();
    } else {
        team.send(0, 0);
        team.recv(0);
    }
}

/// Binomial tree, largest subtree first.
pub fn bcast(call: &Call, team: &mut Team<'_>) {
    let size = team.size;
    let root = call.root as usize;
    let me = (team.me + size - root) % size;
    let mut mask = 1;
    while mask < size {
        if me & mask != 0 {
            team.recv((me - mask + root) % size);
            break;
        }
        mask <<= 1;
    }
    mask >>= 1;
    while mask > 0 {
        if me + mask < size {
            team.send((me + mask + root) % size, call.bytes);
        }
        mask >>= 1;
    }
}

/// Everyone to the root, which posts all receives at once, or takes one after the other where the
/// operation does not commute.
pub(super) fn reduce(call: &Call, team: &mut Team<'_>) {
    if call.ordered {
        return super::reduce::flat(call, team);
    }
    let root = call.root as usize;
    if team.me == root {
        (0..team.size).filter(|&rank| rank != root).for_each(|rank| {
            team.irecv(rank);
        });
    } else {
        team.isend(root, call.bytes);
    }
    team.waitall();
}

/// A reduction to rank 0, then a broadcast.
pub(super) fn allreduce(call: &Call, team: &mut Team<'_>) {
    let ordered = call.ordered;
    reduce(&Call { ordered, ..Call::new(Kind::Reduce, call.bytes) }, team);
    bcast(&Call::new(Kind::Bcast, call.bytes), team);
}

/// Everyone to the root.
pub(super) fn gather(call: &Call, team: &mut Team<'_>) {
    reduce(&Call { root: call.root, ..Call::new(Kind::Reduce, call.bytes) }, team);
}

/// The root to everyone.
pub(super) fn scatter(call: &Call, team: &mut Team<'_>) {
    let root = call.root as usize;
    if team.me == root {
        for rank in (0..team.size).filter(|&rank| rank != root) {
            let bytes = call.counts.get(rank).copied().unwrap_or(call.bytes);
            team.isend(rank, bytes);
        }
    } else {
        team.irecv(root);
    }
    team.waitall();
}

/// For each other rank a send and a receive.
pub(super) fn allgather(call: &Call, team: &mut Team<'_>) {
    for rank in team.others() {
        team.isend(rank, call.bytes);
        team.irecv(rank);
    }
    team.waitall();
}

/// All receives, then all sends, each in rank order.
pub(super) fn alltoallv(call: &Call, team: &mut Team<'_>) {
    for rank in team.others() {
        team.irecv(rank);
    }
    for rank in team.others() {
        let bytes = call.counts.get(rank).copied().unwrap_or(call.bytes);
        team.isend(rank, bytes);
    }
    team.waitall();
}

/// A reduction of everything to rank 0, then a block to each; blocks of different sizes as MPICH
/// would.
pub(super) fn reduce_scatter(call: &Call, team: &mut Team<'_>) {
    if call.counts.windows(2).any(|pair| pair[0] != pair[1]) {
        return team.run_as(Selector::Mpich, call);
    }
    let ordered = call.ordered;
    reduce(&Call { ordered, ..Call::new(Kind::Reduce, call.bytes) }, team);
    scatter(&Call { counts: call.counts.clone(), ..Call::new(Kind::Scatterv, 0) }, team);
}

/// In the background: to rank 0 and back, which answers each rank without waiting for the others.
pub(super) fn ibarrier(_: &Call, team: &mut Team<'_>) {
    if team.me == 0 {
        (1..team.size).for_each(|rank| {
            team.irecv(rank);
            team.isend(rank, 0);
        });
    } else {
        team.isend(0, 0);
        team.irecv(0);
    }
    team.waitall();
}

/// In the background: the root to all ranks at once.
pub(super) fn ibcast(call: &Call, team: &mut Team<'_>) {
    scatter(&Call { root: call.root, ..Call::new(Kind::Scatter, call.bytes) }, team);
}

/// In the background: every block to its owner.
pub(super) fn ireduce_scatter(call: &Call, team: &mut Team<'_>) {
    for rank in team.others() {
        team.isend(rank, call.counts.get(rank).copied().unwrap_or(call.bytes));
        team.irecv(rank);
    }
    team.waitall();
}

/// From all lower ranks, to all higher ones.
pub(super) fn scan(call: &Call, team: &mut Team<'_>) {
    (0..team.me).for_each(|rank| {
        team.irecv(rank);
    });
    (team.me + 1..team.size).for_each(|rank| {
        team.isend(rank, call.bytes);
    });
    team.waitall();
}

/// Returns the algorithm that SimGrid 3.11 selects.
pub(super) fn of_3_11(kind: Kind) -> Selected {
    let (name, algorithm): (_, super::Algorithm) = match kind {
        Kind::Bcast => ("4-ary tree", quaternary_bcast),
        Kind::Barrier => ("4-ary tree", quaternary_barrier),
        Kind::Allreduce => ("reduce and 4-ary bcast", quaternary_allreduce),
        _ => super::algorithms(kind)[0],
    };
    Selected { algorithm, name, by: "simgrid-3.11" }
}

fn children(index: usize, size: usize) -> std::ops::Range<usize> {
    (4 * index + 1).min(size)..(4 * index + 5).min(size)
}

/// From the parent, then to all four children at once.
fn quaternary_bcast(call: &Call, team: &mut Team<'_>) {
    let (size, root) = (team.size, call.root as usize);
    let index = (team.me + size - root) % size;
    if index > 0 {
        team.recv(((index - 1) / 4 + root) % size);
    }
    for child in children(index, size) {
        team.isend((child + root) % size, call.bytes);
    }
    team.waitall();
}

/// One byte up the tree and down again. A rank sends to its parent *before* its children have sent
/// to it: inexact, but the behaviour of that release.
fn quaternary_barrier(_: &Call, team: &mut Team<'_>) {
    let size = team.size;
    if team.me > 0 {
        team.send((team.me - 1) / 4, 1);
    }
    for child in children(team.me, size) {
        team.irecv(child);
    }
    team.waitall();
    quaternary_bcast(&Call::new(Kind::Bcast, 1), team);
}

/// All ranks compute between the reduction and the broadcast.
fn quaternary_allreduce(call: &Call, team: &mut Team<'_>) {
    reduce(&Call::new(Kind::Reduce, call.bytes), team);
    team.compute(call.flops);
    quaternary_bcast(&Call::new(Kind::Bcast, call.bytes), team);
}
