//! Allgather and allgatherv: the blocks of all to all.

use super::mesh;
use super::script::Team;
use crate::action::{Call, Kind};

/// Bytes of every rank's block.
pub(super) fn blocks(call: &Call, size: usize) -> Vec<u64> {
    match call.counts.len() {
        0 => vec![call.bytes; size],
        _ => call.counts.to_vec(),
    }
}

/// Sum of `count` blocks from `first` on, around the ring.
fn stretch(blocks: &[u64], first: usize, count: usize) -> u64 {
    (first..first + count).map(|k| blocks[k % blocks.len()]).sum()
}

/// All at once, starting with the next rank.
pub(super) fn spreading(call: &Call, team: &mut Team<'_>) {
    let (me, size) = (team.me, team.size);
    for step in 1..size {
        team.irecv((me + size - step) % size);
    }
    let mine = blocks(call, size)[me];
    for step in 1..size {
        team.isend((me + step) % size, mine);
    }
    team.waitall();
}

/// Step i: to the i-th rank after me, from the i-th before.
pub(super) fn ring(call: &Call, team: &mut Team<'_>) {
    let (me, size) = (team.me, team.size);
    let mine = blocks(call, size)[me];
    for step in 1..size {
        team.sendrecv((me + step) % size, mine, (me + size - step) % size);
    }
}

/// Logical ring: blocks from the left are passed on to the right.
pub(super) fn logical_ring(call: &Call, team: &mut Team<'_>) {
    let (me, size) = (team.me, team.size);
    let blocks = blocks(call, size);
    for step in 0..size - 1 {
        let block = blocks[(me + size - step) % size];
        team.sendrecv((me + 1) % size, block, (me + size - 1) % size);
    }
}

/// Logical ring, with all receives posted first.
pub(super) fn logical_ring_nonblocking(call: &Call, team: &mut Team<'_>) {
    let (me, size) = (team.me, team.size);
    let blocks = blocks(call, size);
    let receives: Vec<u32> = (0..size - 1).map(|_| team.irecv((me + size - 1) % size)).collect();
    for (step, &receive) in receives.iter().enumerate() {
        let send = team.isend((me + 1) % size, blocks[(me + size - step) % size]);
        team.wait(receive);
        team.wait(send);
    }
}

/// Step i: exchange with rank xor i. For powers of two.
pub(super) fn pairwise(call: &Call, team: &mut Team<'_>) {
    if !team.size.is_power_of_two() {
        return ring(call, team);
    }
    let mine = blocks(call, team.size)[team.me];
    for step in 1..team.size {
        let other = team.me ^ step;
        team.sendrecv(other, mine, other);
    }
}

/// Bruck: distances 1, 2, 4, ... to the left with all blocks so far, then the rest.
pub(super) fn bruck(call: &Call, team: &mut Team<'_>) {
    let (me, size) = (team.me, team.size);
    let blocks = blocks(call, size);
    let mut distance = 1;
    while distance < size {
        let count = distance.min(size - distance);
        let bytes = stretch(&blocks, me, count);
        team.sendrecv((me + size - distance) % size, bytes, (me + distance) % size);
        distance *= 2;
    }
}

/// Recursive doubling; where the number of ranks is no power of two, those without partner get
/// what they miss from their side of the tree.
pub(super) fn recursive_doubling(call: &Call, team: &mut Team<'_>) {
    doubling(&blocks(call, team.size), team);
}

/// Recursive doubling of given blocks.
pub(super) fn doubling(blocks: &[u64], team: &mut Team<'_>) {
    let size = team.size;
    doubling_with(team, &|root: usize, width: usize| -> u64 {
        blocks[root.min(size)..(root + width).min(size)].iter().sum()
    });
}

/// Recursive doubling, where `tree` returns the bytes of so many ranks from a root on.
pub(super) fn doubling_with(team: &mut Team<'_>, tree: &dyn Fn(usize, usize) -> u64) {
    let (me, size) = (team.me, team.size);
    let (mut mask, mut level) = (1, 0);
    while mask < size {
        let other = me ^ mask;
        let my_root = (me >> level) << level;
        let other_root = (other >> level) << level;
        if other < size {
            team.sendrecv(other, tree(my_root, mask), other);
        }
        if other_root + mask > size {
            // Below zero where no rank of this side is complete.
            let completed = size as isize - (my_root + mask) as isize;
            let received = tree(other_root, mask);
            let mut smaller = mask >> 1;
            let mut height = level;
            while smaller > 0 {
                height -= 1;
                let partner = me ^ smaller;
                let root = (me >> (height + 1)) << (height + 1);
                let complete = |rank: usize| (rank as isize) < root as isize + completed;
                if partner > me && complete(me) && !complete(partner) && partner < size {
                    team.send(partner, received);
                } else if partner < me && complete(partner) && !complete(me) {
                    team.recv(partner);
                }
                smaller >>= 1;
            }
        }
        mask <<= 1;
        level += 1;
    }
}

/// Neighbours left and right in turn, two blocks at a time; for even numbers of ranks.
pub(super) fn neighbour_exchange(call: &Call, team: &mut Team<'_>) {
    let (me, size) = (team.me, team.size);
    if size % 2 == 1 {
        return ring(call, team);
    }
    let blocks = blocks(call, size);
    let (left, right) = ((me + size - 1) % size, (me + 1) % size);
    let even = me % 2 == 0;
    let neighbours = if even { [right, left] } else { [left, right] };
    team.sendrecv(neighbours[0], blocks[me], neighbours[0]);
    // The pair of blocks that I got last.
    let mut pair = if even { me } else { left };
    for step in 1..size / 2 {
        let other = neighbours[step % 2];
        team.sendrecv(other, stretch(&blocks, pair, 2), other);
        // Pairs wander by two against the direction they are sent in.
        let towards_right = other == right;
        pair = if towards_right {
            (pair + 2 * step) % size
        } else {
            (pair + size - 2 * step % size) % size
        };
    }
}

/// A gather, then a broadcast.
pub(super) fn gather_bcast(call: &Call, team: &mut Team<'_>) {
    let total = blocks(call, team.size).iter().sum();
    let kind = if call.counts.is_empty() { Kind::Gather } else { Kind::Gatherv };
    team.run(&Call { root: 0, ..Call { kind, ..call.clone() } });
    team.run(&Call { unit: call.unit, ..Call::new(Kind::Bcast, total) });
}

/// Exchange with the bit-reversed rank, then distances n/2, n/4, ... For powers of two.
pub(super) fn recursive_halving(call: &Call, team: &mut Team<'_>) {
    let (me, size) = (team.me, team.size);
    if !size.is_power_of_two() || size == 1 {
        return spreading(call, team);
    }
    let mirrored = me.reverse_bits() >> (usize::BITS - size.trailing_zeros());
    if mirrored != me {
        team.sendrecv(mirrored, call.bytes, mirrored);
    }
    let (mut distance, mut bytes) = (size / 2, call.bytes);
    while distance > 0 {
        let other = me ^ distance;
        team.sendrecv(other, bytes, other);
        distance /= 2;
        bytes *= 2;
    }
}

/// Rows of a square mesh, then its columns.
pub(super) fn mesh_2d(call: &Call, team: &mut Team<'_>) {
    let rows = mesh::square(team.size);
    let columns = team.size / rows;
    mesh::exchange(team, 1, columns, call.bytes);
    mesh::exchange(team, columns, rows, call.bytes * columns as u64);
}

/// The three directions of a cubic mesh.
pub(super) fn mesh_3d(call: &Call, team: &mut Team<'_>) {
    let edge = mesh::cube(team.size);
    let side = edge as u64;
    mesh::exchange(team, 1, edge, call.bytes);
    mesh::exchange(team, edge, edge, call.bytes * side);
    mesh::exchange_in_turn(team, edge * edge, team.size / (edge * edge), call.bytes * side * side);
}

/// My place among the ranks of my host, and mine among the hosts; only where ranks follow each
/// other host by host.
fn place(team: &Team<'_>) -> (usize, usize, usize, usize) {
    let cores = team.blocks()[0].len();
    let hosts = team.size.div_ceil(cores);
    (team.me % cores, cores, team.me / cores, hosts)
}

/// Step i inside a host: to the i-th core after me.
fn inside(team: &mut Team<'_>, bytes: u64) {
    let (core, cores, host, _) = place(team);
    let base = host * cores;
    for step in 1..cores {
        let to = base + (core + step) % cores;
        let from = base + (core + cores - step) % cores;
        team.sendrecv(to, bytes, from);
    }
}

/// Inside every host, around the ring of the first cores, and down every host as it comes.
pub(super) fn smp_ring(call: &Call, team: &mut Team<'_>) {
    let (core, cores, host, hosts) = place(team);
    inside(team, call.bytes);
    let bytes = call.bytes * cores as u64;
    let first = |host: usize| (host % hosts) * cores;
    if core == 0 {
        let from = first(host + hosts - 1);
        let receives: Vec<u32> = (1..hosts).map(|_| team.irecv(from)).collect();
        for receive in receives {
            team.isend(first(host + 1), bytes);
            team.wait(receive);
            if cores > 1 {
                team.isend(team.me + 1, bytes);
            }
        }
        return team.waitall();
    }
    for _ in 1..hosts {
        team.recv(team.me - 1);
        if core + 1 < cores {
            team.isend(team.me + 1, bytes);
        }
    }
    team.waitall();
}

/// Inside every host, among all first cores at once, then to the other cores.
pub(super) fn smp_simple(call: &Call, team: &mut Team<'_>) {
    let (core, cores, host, hosts) = place(team);
    inside(team, call.bytes);
    if core == 0 {
        let bytes = call.bytes * cores as u64;
        for step in 1..hosts {
            team.irecv((host + hosts - step) % hosts * cores);
        }
        for step in 1..hosts {
            team.isend((host + step) % hosts * cores, bytes);
        }
        team.waitall();
        for other in 1..cores {
            team.send(team.me + other, bytes * hosts as u64);
        }
    } else {
        team.recv(host * cores);
    }
}

/// A ring over the hosts for every core; what came is passed on inside the host meanwhile.
pub(super) fn loosely_ring(call: &Call, team: &mut Team<'_>) {
    let (core, cores, host, hosts) = place(team);
    let base = host * cores;
    let next = (host + 1) % hosts * cores + core;
    let previous = (host + hosts - 1) % hosts * cores + core;
    for step in 0..hosts {
        for other in (0..cores).filter(|&other| other != core) {
            team.irecv(base + other);
        }
        let receive = (step + 1 < hosts).then(|| {
            let receive = team.irecv(previous);
            team.isend(next, call.bytes);
            receive
        });
        for other in (0..cores).filter(|&other| other != core) {
            team.isend(base + other, call.bytes);
        }
        if let Some(receive) = receive {
            team.wait(receive);
        }
    }
    team.waitall();
}

/// To the first rank of every host, among these, and down again.
pub(super) fn two_level(call: &Call, team: &mut Team<'_>) {
    let nodes = team.nodes();
    let leaders: Vec<usize> = nodes.iter().map(|members| members[0]).collect();
    let Some(mine) = nodes.iter().find(|members| members.contains(&team.me)).cloned() else {
        return;
    };
    let bytes = call.bytes;
    team.within(&mine, |team| {
        if team.me == 0 {
            team.others().for_each(|rank| {
                team.irecv(rank);
            });
        } else {
            team.isend(0, bytes);
        }
        team.waitall();
    });
    let host = bytes * mine.len() as u64;
    team.within(&leaders, |team| mpich(&Call::new(Kind::Allgather, host), team));
    let total = bytes * team.size as u64;
    team.within(&mine, |team| super::basic::bcast(&Call::new(Kind::Bcast, total), team));
}

/// MPICH's choice.
pub(super) fn mpich(call: &Call, team: &mut Team<'_>) {
    mpich_choice(call, team.size).1(call, team);
}

/// MPICH's choice by name.
pub(super) fn mpich_choice(call: &Call, size: usize) -> (&'static str, super::Algorithm) {
    let total: u64 = blocks(call, size).iter().sum();
    if size.is_power_of_two() && total < 524_288 {
        ("rdb", recursive_doubling)
    } else if total <= 81_920 {
        ("bruck", bruck)
    } else {
        ("NTSLR", logical_ring)
    }
}
