//! Gathers to one rank, scatters from one, and barriers.

use super::script::Team;
use super::tree::Tree;
use super::{basic, rules};
use crate::action::Call;

/// The root takes one after the other.
pub(super) fn gather_in_turn(call: &Call, team: &mut Team<'_>) {
    let root = call.root as usize;
    if team.me != root {
        return team.send(root, call.bytes);
    }
    team.others().for_each(|rank| team.recv(rank));
}

/// Ranks below one in a binomial tree, itself included.
fn below(me: usize, size: usize) -> u64 {
    let reach = if me == 0 { size } else { 1 << me.trailing_zeros() };
    reach.min(size - me) as u64
}

/// Up a binomial tree.
pub(super) fn gather_binomial(call: &Call, team: &mut Team<'_>) {
    let (size, root) = (team.size, call.root as usize);
    let me = (team.me + size - root) % size;
    let tree = Tree::binomial(me, size).rooted(root, size);
    tree.children.iter().for_each(|&child| team.recv(child));
    if let Some(parent) = tree.parent {
        team.send(parent, call.bytes * below(me, size));
    }
}

/// The root requests the first part of the block of one rank after the other.
pub(super) fn gather_in_step(call: &Call, team: &mut Team<'_>) {
    let segment = if call.bytes > 92_160 { 32_768 } else { 1024 };
    let first = if segment < call.bytes { segment / call.unit * call.unit } else { call.bytes };
    let root = call.root as usize;
    if team.me != root {
        team.recv(root);
        team.send(root, first);
        return team.send(root, call.bytes - first);
    }
    for rank in team.others() {
        let receive = team.irecv(rank);
        team.send(rank, 0);
        team.irecv(rank);
        team.wait(receive);
    }
    team.waitall();
}

/// Inside every host up a tree, then the hosts one after the other.
pub(super) fn gather_two_level(call: &Call, team: &mut Team<'_>) {
    let nodes = team.nodes();
    let root = call.root as usize;
    let home = nodes.iter().position(|members| members.contains(&root)).unwrap_or(0);
    for members in &nodes {
        team.within(members, |team| gather_binomial(&Call { root: 0, ..call.clone() }, team));
    }
    let leaders: Vec<usize> = nodes.iter().map(|members| members[0]).collect();
    team.within(&leaders, |team| {
        if team.me == home {
            team.others().for_each(|rank| team.recv(rank));
        } else {
            team.send(home, call.bytes * nodes[team.me].len() as u64);
        }
    });
    let leader = nodes[home][0];
    if leader != root {
        if team.me == leader {
            team.send(root, call.bytes * team.size as u64);
        } else if team.me == root {
            team.recv(leader);
        }
    }
}

/// The root sends one after the other.
pub(super) fn scatter_in_turn(call: &Call, team: &mut Team<'_>) {
    let root = call.root as usize;
    if team.me != root {
        return team.recv(root);
    }
    team.others().for_each(|rank| team.send(rank, call.bytes));
}

/// Down a binomial tree, smallest subtree first.
pub(super) fn scatter_binomial(call: &Call, team: &mut Team<'_>) {
    let (size, root) = (team.size, call.root as usize);
    let me = (team.me + size - root) % size;
    let tree = Tree::binomial(me, size);
    if let Some(parent) = tree.parent {
        team.recv((parent + root) % size);
    }
    for child in tree.children {
        team.send((child + root) % size, call.bytes * below(child, size));
    }
}

/// Over the hosts by `over`, then inside them by MVAPICH2's rule where that one chooses, down a tree otherwise.
fn scatter_by_host(call: &Call, team: &mut Team<'_>, over: fn(&Call, &mut Team<'_>)) {
    let nodes = team.nodes();
    let root = call.root as usize;
    let home = nodes.iter().position(|members| members.contains(&root)).unwrap_or(0);
    let leader = nodes[home][0];
    if leader != root {
        if team.me == root {
            team.send(leader, call.bytes * team.size as u64);
        } else if team.me == leader {
            team.recv(root);
        }
    }
    let leaders: Vec<usize> = nodes.iter().map(|members| members[0]).collect();
    let each = call.bytes * nodes[home].len() as u64;
    let outside = Call { root: home as u32, bytes: each, ..call.clone() };
    team.within(&leaders, |team| over(&outside, team));
    let per_host = || team.per_host().unwrap_or(1);
    let rule = rules::mvapich2_row("scatter-inside", team.size, call.bytes, per_host);
    let linear = rule.is_some_and(|row| row.name == "ompi_basic_linear");
    let in_turn = linear && !team.has_fixed(call.kind);
    for members in &nodes {
        let inside = if in_turn { scatter_in_turn } else { scatter_binomial };
        team.within(members, |team| inside(&Call { root: 0, ..call.clone() }, team));
    }
}

pub(super) fn scatter_two_level(call: &Call, team: &mut Team<'_>) {
    scatter_by_host(call, team, scatter_binomial);
}

pub(super) fn scatter_two_level_direct(call: &Call, team: &mut Team<'_>) {
    scatter_by_host(call, team, scatter_in_turn);
}

/// All send to rank 0 one after the other, which answers all.
pub(super) fn barrier_linear(call: &Call, team: &mut Team<'_>) {
    basic::barrier(call, team);
}

/// Up and down a binomial tree.
pub(super) fn barrier_tree(call: &Call, team: &mut Team<'_>) {
    let tree = Tree::binomial(team.me, team.size);
    tree.children.iter().for_each(|&child| team.recv(child));
    if let Some(parent) = tree.parent {
        team.send(parent, 0);
    }
    basic::bcast(&Call { root: 0, bytes: 0, ..call.clone() }, team);
}

/// Dissemination: distances 1, 2, 4, ...
pub(super) fn barrier_dissemination(_: &Call, team: &mut Team<'_>) {
    let (me, size) = (team.me, team.size);
    let mut distance = 1;
    while distance < size {
        team.sendrecv((me + distance) % size, 0, (me + size - distance) % size);
        distance *= 2;
    }
}

/// Recursive doubling; ranks beyond a power of two have others speak for them.
pub(super) fn barrier_doubling(_: &Call, team: &mut Team<'_>) {
    let (me, size) = (team.me, team.size);
    let power = super::reduce::floor_power(size);
    if me >= power {
        team.send(me - power, 0);
        return team.recv(me - power);
    }
    if me + power < size {
        team.recv(me + power);
    }
    let mut mask = 1;
    while mask < power {
        team.sendrecv(me ^ mask, 0, me ^ mask);
        mask <<= 1;
    }
    if me + power < size {
        team.send(me + power, 0);
    }
}

/// Twice around the ring.
pub(super) fn barrier_double_ring(_: &Call, team: &mut Team<'_>) {
    let (me, size) = (team.me, team.size);
    let (left, right) = ((me + size - 1) % size, (me + 1) % size);
    for _ in 0..2 {
        if me > 0 {
            team.recv(left);
        }
        team.send(right, 0);
        if me == 0 {
            team.recv(left);
        }
    }
}

/// Inside the hosts, over the hosts, and a word down the hosts.
pub(super) fn barrier_smp(call: &Call, team: &mut Team<'_>) {
    let nodes = team.nodes();
    let leaders: Vec<usize> = nodes.iter().map(|members| members[0]).collect();
    for members in &nodes {
        team.within(members, |team| barrier_dissemination(call, team));
    }
    team.within(&leaders, |team| barrier_dissemination(call, team));
    for members in &nodes {
        team.within(members, |team| {
            basic::bcast(&Call { root: 0, bytes: 1, ..call.clone() }, team)
        });
    }
}
