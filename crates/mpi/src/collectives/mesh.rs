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

/// Edge of the base of a cubic mesh: the first from the cube root upwards whose square divides the
/// number of ranks; 1 where none up to a third of them does.
pub(super) fn cube(size: usize) -> usize {
    let mut root = 1;
    while (root + 1) * (root + 1) * (root + 1) <= size {
        root += 1;
    }
    (root..=size / 3).find(|edge| size.is_multiple_of(edge * edge)).unwrap_or(1)
}

/// Exchanges between all pairs in one direction of the mesh: `count` ranks that are `stride` apart, by rank.
pub(super) fn exchange(team: &mut Team<'_>, stride: usize, count: usize, bytes: u64) {
    let place = team.me / stride % count;
    let base = team.me - place * stride;
    let others: Vec<usize> = (0..count).filter(|&other| other != place).collect();
    swap(team, others.iter().map(|other| base + other * stride), bytes);
}

/// Exchanges between all pairs in one direction, each rank beginning with the rank after itself.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cubes_are_sought_upwards() {
        let edges = [8, 12, 16, 18, 27, 36, 45, 64, 7, 9, 2, 1].map(cube);
        assert_eq!(edges, [2, 2, 2, 3, 3, 3, 3, 4, 1, 3, 1, 1]);
    }
}
