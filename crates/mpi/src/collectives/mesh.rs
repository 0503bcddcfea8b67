//! Ranks on a square or a cube.

use super::script::Team;

/// Rows of the squarest mesh.
pub(super) fn square(size: usize) -> usize {
    let mut rows = size.isqrt().max(1);
    while !size.is_multiple_of(rows) {
        rows -= 1;
    }
    rows
}

/// Edge of the base of the most cubic mesh.
pub(super) fn cube(size: usize) -> usize {
    let mut edge = 1;
    for candidate in 2..=size {
        if candidate * candidate * candidate > size {
            break;
        }
        if size.is_multiple_of(candidate * candidate) {
            edge = candidate;
        }
    }
    edge
}

/// Everybody with everybody in one direction: `count` ranks that are `stride` apart, by rank.
pub(super) fn exchange(team: &mut Team<'_>, stride: usize, count: usize, bytes: u64) {
    let place = team.me / stride % count;
    let base = team.me - place * stride;
    let others: Vec<usize> = (0..count).filter(|&other| other != place).collect();
    swap(team, others.iter().map(|other| base + other * stride), bytes);
}

/// The same, each beginning with the one after itself.
pub(super) fn exchange_in_turn(team: &mut Team<'_>, stride: usize, count: usize, bytes: u64) {
    let place = team.me / stride % count;
    let base = team.me - place * stride;
    swap(team, (1..count).map(|step| base + (place + step) % count * stride), bytes);
}

fn swap(team: &mut Team<'_>, others: impl Iterator<Item = usize> + Clone, bytes: u64) {
    for other in others.clone() {
        team.irecv(other);
    }
    for other in others {
        team.send(other, bytes);
    }
    team.waitall();
}
