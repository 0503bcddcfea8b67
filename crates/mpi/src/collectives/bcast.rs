//! Broadcasts.

use super::basic::bcast as binomial;
use super::script::Team;
use super::tree::Tree;
use super::{allgather, rules};
use crate::action::{Call, Kind};

/// Bytes of a segment in the pipelines of STAR-MPI.
const SEGMENT: u64 = 8192;

/// The root to all ranks, one after the other.
pub(super) fn flat(call: &Call, team: &mut Team<'_>) {
    let root = call.root as usize;
    if team.me == root {
        for rank in team.others() {
            team.isend(rank, call.bytes);
        }
        team.waitall();
    } else {
        team.recv(root);
    }
}

/// The root to all ranks, one after the other, in whole segments.
pub(super) fn flat_pipeline(call: &Call, team: &mut Team<'_>) {
    let root = call.root as usize;
    let segment = SEGMENT.min(call.bytes);
    let count = call.bytes.checked_div(segment).unwrap_or(1);
    if team.me == root {
        for rank in team.others() {
            for _ in 0..count {
                team.send(rank, segment);
            }
        }
    } else {
        for _ in 0..count {
            team.irecv(root);
        }
        team.waitall();
    }
}

/// Segments down a tree over the ranks from 0 on; a root elsewhere sends everything to 0 first.
/// The rest after the last whole segment goes by the broadcast that is selected.
fn pipeline(call: &Call, team: &mut Team<'_>, tree: Tree, nonblocking: bool) {
    let root = call.root as usize;
    if root != 0 {
        if team.me == root {
            team.send(0, call.bytes);
        } else if team.me == 0 {
            team.recv(root);
        }
    }
    if call.bytes <= SEGMENT {
        if let Some(parent) = tree.parent {
            team.recv(parent);
        }
        tree.children.iter().for_each(|&child| team.send(child, call.bytes));
        return;
    }
    let count = call.bytes / SEGMENT;
    match tree.parent {
        None => {
            for _ in 0..count {
                pass_on(team, &tree, SEGMENT, nonblocking);
            }
        }
        Some(parent) => {
            let receives: Vec<u32> = (0..count).map(|_| team.irecv(parent)).collect();
            for receive in receives {
                team.wait(receive);
                pass_on(team, &tree, SEGMENT, nonblocking);
            }
        }
    }
    team.waitall();
    let rest = call.bytes % SEGMENT;
    if rest > 0 {
        team.run(&Call { root: call.root, unit: call.unit, ..Call::new(Kind::Bcast, rest) });
    }
}

fn pass_on(team: &mut Team<'_>, tree: &Tree, bytes: u64, nonblocking: bool) {
    for &child in &tree.children {
        if nonblocking {
            team.isend(child, bytes);
        } else {
            team.send(child, bytes);
        }
    }
}

/// Down a chain.
pub(super) fn chain(call: &Call, team: &mut Team<'_>) {
    let tree = Tree::chain(team.me, team.size);
    pipeline(call, team, tree, false);
}

/// Down a chain, without waiting for sends.
pub(super) fn chain_nonblocking(call: &Call, team: &mut Team<'_>) {
    let tree = Tree::chain(team.me, team.size);
    pipeline(call, team, tree, true);
}

/// Down a binary tree.
pub(super) fn binary(call: &Call, team: &mut Team<'_>) {
    let tree = Tree::heap(team.me, team.size);
    pipeline(call, team, tree, false);
}

/// Tree over the first ranks of the hosts, and inside every host: children elsewhere come first.
fn two_trees(team: &Team<'_>, shape: fn(usize, usize) -> Tree) -> Tree {
    let nodes = team.blocks();
    let leaders: Vec<usize> = nodes.iter().map(|members| members[0]).collect();
    let mut tree = Tree::default();
    for members in nodes.iter().filter(|members| members.contains(&team.me)) {
        let place = members.iter().position(|&rank| rank == team.me).unwrap_or(0);
        let inside = shape(place, members.len());
        tree.children = inside.children.iter().map(|&child| members[child]).collect();
        tree.parent = inside.parent.map(|parent| members[parent]);
    }
    if let Some(place) = leaders.iter().position(|&rank| rank == team.me) {
        let outside = shape(place, leaders.len());
        let mut children: Vec<usize> = outside.children.iter().map(|&c| leaders[c]).collect();
        children.append(&mut tree.children);
        tree.children = children;
        tree.parent = outside.parent.map(|parent| leaders[parent]);
    }
    tree
}

/// Binary trees over the hosts and inside them.
pub(super) fn smp_binary(call: &Call, team: &mut Team<'_>) {
    let tree = two_trees(team, Tree::heap);
    pipeline(call, team, tree, false);
}

/// Chains over the hosts and inside them.
pub(super) fn smp_linear(call: &Call, team: &mut Team<'_>) {
    let tree = two_trees(team, Tree::chain);
    pipeline(call, team, tree, false);
}

/// The root hands everything to another rank.
fn hand_over(call: &Call, team: &mut Team<'_>, to: usize) {
    let root = call.root as usize;
    if root != to {
        if team.me == root {
            team.send(to, call.bytes);
        } else if team.me == to {
            team.recv(root);
        }
    }
}

/// Binomial trees over the hosts and inside them, from rank 0; a root elsewhere sends everything
/// there first.
pub(super) fn smp_binomial(call: &Call, team: &mut Team<'_>) {
    hand_over(call, team, 0);
    let nodes = team.blocks();
    let leaders: Vec<usize> = nodes.iter().map(|members| members[0]).collect();
    let inside = Call { root: 0, ..call.clone() };
    team.within(&leaders, |team| binomial(&inside, team));
    for members in &nodes {
        team.within(members, |team| binomial(&inside, team));
    }
}

/// As MPICH does it where hosts do not matter.
pub(super) fn mpich(call: &Call, team: &mut Team<'_>) {
    if call.bytes < 12_288 || team.size <= 8 {
        binomial(call, team);
    } else if call.bytes < 524_288 && team.size.is_multiple_of(2) {
        scatter_doubling(call, team);
    } else {
        scatter_ring(call, team);
    }
}

/// Lets the first ranks of the hosts broadcast among themselves, from the root's host.
fn over_leaders(call: &Call, team: &mut Team<'_>, broadcast: impl FnOnce(&Call, &mut Team<'_>)) {
    let nodes = team.nodes();
    let home = nodes.iter().position(|members| members.contains(&(call.root as usize)));
    let home = home.unwrap_or(0);
    hand_over(call, team, nodes[home][0]);
    let leaders: Vec<usize> = nodes.iter().map(|members| members[0]).collect();
    let over = Call { root: home as u32, ..call.clone() };
    team.within(&leaders, |team| broadcast(&over, team));
}

/// Over the first ranks of the hosts only.
pub(super) fn inter_node(call: &Call, team: &mut Team<'_>) {
    over_leaders(call, team, mpich);
}

/// From above this size on, a rank that leads a host sends to all its neighbours at once.
const FLAT_INSIDE: u64 = 131_072;

/// Medium messages host by host: over the first ranks of the hosts, then inside. Up to `FLAT_INSIDE`
/// every host begins with the rank that is counted there as the root is in all, even where that
/// rank has nothing yet: what SimGrid 3.32 does.
pub(super) fn intra_node(call: &Call, team: &mut Team<'_>) {
    match call.bytes {
        0..=16_384 => return binomial(call, team),
        524_288.. => return scatter_ring(call, team),
        _ => inter_node(call, team),
    }
    for members in &team.nodes() {
        let root = call.root % members.len() as u32;
        team.within(members, |team| {
            if call.bytes > FLAT_INSIDE {
                knomial(&Call { root: 0, ..call.clone() }, team)
            } else {
                binomial(&Call { root, ..call.clone() }, team)
            }
        });
    }
}

/// MVAPICH2's own: to the first rank of the root's host, over the first ranks of the hosts, then
/// inside from these as MPICH would.
pub(super) fn two_level(call: &Call, team: &mut Team<'_>) {
    let row = rules::mvapich2_row("bcast", team.size, call.bytes, || 1);
    over_leaders(call, team, |over, team| match row.map_or("mpich", |row| row.name) {
        "binomial_tree" => binomial(over, team),
        "scatter_LR_allgather" => scatter_ring(over, team),
        "scatter_rdb_allgather" => scatter_doubling(over, team),
        _ => mpich(over, team),
    });
    for members in &team.nodes() {
        team.within(members, |team| mpich(&Call { root: 0, ..call.clone() }, team));
    }
}

/// A tree of four branches per level, farthest first.
pub(super) fn knomial(call: &Call, team: &mut Team<'_>) {
    const RADIX: usize = 4;
    let (size, root) = (team.size, call.root as usize);
    let mut tree = Tree::knomial((team.me + size - root) % size, size, RADIX);
    // Level by level from the top, inside a level by distance.
    let level = |child: usize, me: usize| (child - me).ilog(RADIX);
    let me = (team.me + size - root) % size;
    tree.children.sort_by_key(|&child| (std::cmp::Reverse(level(child, me)), child));
    let tree = tree.rooted(root, size);
    if let Some(parent) = tree.parent {
        team.recv(parent);
    }
    // A level is over before the next begins.
    let mut above = None;
    for child in tree.children {
        let distance = level((child + size - team.me) % size, 0);
        if above.is_some_and(|above| above != distance) {
            team.waitall();
        }
        above = Some(distance);
        team.isend(child, call.bytes);
    }
    team.waitall();
}

/// Bytes of each part, when a message is cut into one part per rank.
fn parts(bytes: u64, size: usize) -> Vec<u64> {
    let part = bytes.div_ceil(size as u64);
    (0..size as u64).map(|k| bytes.saturating_sub(k * part).min(part)).collect()
}

/// Parts down a binomial tree; ranks are counted from the root.
fn scatter(call: &Call, team: &mut Team<'_>, parts: &[u64]) {
    let (size, root) = (team.size, call.root as usize);
    let me = (team.me + size - root) % size;
    let sum = |from: usize, count: usize| -> u64 {
        parts[from.min(size)..(from + count).min(size)].iter().sum()
    };
    let mut mask = 1;
    while mask < size {
        if me & mask != 0 {
            if sum(me, mask) > 0 {
                team.recv((me - mask + root) % size);
            }
            break;
        }
        mask <<= 1;
    }
    mask >>= 1;
    while mask > 0 {
        if me + mask < size && sum(me + mask, mask) > 0 {
            team.send((me + mask + root) % size, sum(me + mask, mask));
        }
        mask >>= 1;
    }
}

/// Lets the ranks, counted from the root, do something.
fn from_root(call: &Call, team: &mut Team<'_>, work: impl FnOnce(&mut Team<'_>)) {
    let (size, root) = (team.size, call.root as usize);
    let ranks: Vec<usize> = (0..size).map(|rank| (rank + root) % size).collect();
    team.within(&ranks, work);
}

/// A scatter, then the parts around the ring.
pub(super) fn scatter_ring(call: &Call, team: &mut Team<'_>) {
    let parts = parts(call.bytes, team.size);
    scatter(call, team, &parts);
    let rest = Call { counts: parts.into(), ..Call::new(Kind::Allgatherv, 0) };
    from_root(call, team, |team| allgather::logical_ring(&rest, team));
}

/// A scatter, then the parts by recursive doubling.
pub(super) fn scatter_doubling(call: &Call, team: &mut Team<'_>) {
    let parts = parts(call.bytes, team.size);
    scatter(call, team, &parts);
    from_root(call, team, |team| allgather::doubling(&parts, team));
}

/// Segments down a tree of Open MPI: the next one is awaited while one is passed on.
pub(super) fn segmented(call: &Call, team: &mut Team<'_>, tree: Tree, segment: u64) {
    let count = if segment == 0 { 1 } else { call.bytes.div_ceil(segment).max(1) };
    let piece =
        |k: u64| if count == 1 { call.bytes } else { segment.min(call.bytes - k * segment) };
    let Some(parent) = tree.parent else {
        for k in 0..count {
            tree.children.iter().for_each(|&child| {
                team.isend(child, piece(k));
            });
            team.waitall();
        }
        return;
    };
    if tree.children.is_empty() {
        let mut before = team.irecv(parent);
        for _ in 1..count {
            let next = team.irecv(parent);
            team.wait(before);
            before = next;
        }
        team.wait(before);
        return;
    }
    let mut before = team.irecv(parent);
    for k in 1..=count {
        let next = (k < count).then(|| team.irecv(parent));
        team.wait(before);
        let sends: Vec<u32> =
            tree.children.iter().map(|&child| team.isend(child, piece(k - 1))).collect();
        sends.into_iter().for_each(|send| team.wait(send));
        before = next.unwrap_or(before);
    }
}

/// Segments down a chain, as Open MPI cuts them.
pub(super) fn ompi_pipeline(call: &Call, team: &mut Team<'_>) {
    let (bytes, ranks) = (call.bytes as f64, team.size as f64);
    let segment = if ranks < 1.6134e-6 * bytes + 2.1102 {
        128 << 10
    } else if ranks < 2.3679e-6 * bytes + 1.1787 {
        64 << 10
    } else if ranks < 3.2118e-6 * bytes + 8.7936 {
        16 << 10
    } else {
        128 << 10
    };
    let (size, root) = (team.size, call.root as usize);
    let tree = Tree::chain((team.me + size - root) % size, size).rooted(root, size);
    segmented(call, team, tree, segment / call.unit * call.unit);
}

/// One half down each side of a binary tree in segments of 1 KiB, then halves between pairs.
pub(super) fn split_binary(call: &Call, team: &mut Team<'_>) {
    const SEGMENT: u64 = 1024;
    let (size, root) = (team.size, call.root as usize);
    if size <= 3 || call.bytes < 2 {
        let tree = Tree::chain((team.me + size - root) % size, size).rooted(root, size);
        return segmented(call, team, tree, 0);
    }
    let me = (team.me + size - root) % size;
    let elements = call.bytes / call.unit;
    let halves = [elements.div_ceil(2) * call.unit, elements / 2 * call.unit];
    // Whose half: the side of the tree one is on.
    let mut top = me;
    while let Some(above) = Tree::binary(top, size).parent.filter(|&above| above != 0) {
        top = above;
    }
    let tree = Tree::binary(me, size).rooted(root, size);
    if me == 0 {
        let pieces = |half: u64| half.div_ceil(SEGMENT);
        for k in 0..pieces(halves[0]).max(pieces(halves[1])) {
            for (side, &child) in tree.children.iter().enumerate() {
                if k < pieces(halves[side]) {
                    team.isend(child, SEGMENT.min(halves[side] - k * SEGMENT));
                }
            }
            team.waitall();
        }
    } else {
        let side = top - 1;
        segmented(&Call { bytes: halves[side], ..call.clone() }, team, tree, SEGMENT);
    }
    // The last rank of an even number gets its other half from the root.
    let side_of = |rank: usize| {
        let mut top = rank;
        while let Some(above) = Tree::binary(top, size).parent.filter(|&above| above != 0) {
            top = above;
        }
        top - 1
    };
    let real = |rank: usize| (rank + root) % size;
    let left: Vec<usize> = (1..size).filter(|&rank| side_of(rank) == 0).collect();
    let right: Vec<usize> = (1..size).filter(|&rank| side_of(rank) == 1).collect();
    for (&a, &b) in left.iter().zip(&right) {
        if me == a {
            team.sendrecv(real(b), halves[0], real(b));
        } else if me == b {
            team.sendrecv(real(a), halves[1], real(a));
        }
    }
    for &rank in left.iter().skip(right.len()) {
        if me == 0 {
            team.send(real(rank), halves[1]);
        } else if me == rank {
            team.recv(real(0));
        }
    }
}
