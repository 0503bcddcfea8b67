//! Reductions of which every rank gets its block.

use super::allgather;
use super::reduce::floor_power;
use super::script::Team;
use crate::action::Call;

/// Recursive halving as in Open MPI: of the first ranks that are too many, the even ones give
/// everything to their right neighbours and get their block from there.
pub(super) fn recursive_halving(call: &Call, team: &mut Team<'_>) {
    let (size, me) = (team.size, team.me);
    let power = floor_power(size);
    let extra = size - power;
    if me < 2 * extra && me % 2 == 0 {
        team.send(me + 1, call.bytes);
        return team.recv(me + 1);
    }
    let rank_at = |place: usize| if place < extra { 2 * place + 1 } else { place + extra };
    let mut parts = vec![0u64; power];
    for (rank, &bytes) in call.counts.iter().enumerate() {
        parts[if rank < 2 * extra { rank / 2 } else { rank - extra }] += bytes;
    }
    let place = if me < 2 * extra { me / 2 } else { me - extra };
    if me < 2 * extra {
        team.recv(me - 1);
    }
    let (mut low, mut high) = (0, power);
    let mut mask = power >> 1;
    while mask > 0 {
        let other = rank_at(place ^ mask);
        let middle = (low + high) / 2;
        let (mine, theirs) = match place & mask {
            0 => ((low, middle), (middle, high)),
            _ => ((middle, high), (low, middle)),
        };
        let bytes: u64 = parts[theirs.0..theirs.1].iter().sum();
        team.sendrecv(other, bytes, other);
        (low, high) = mine;
        mask >>= 1;
    }
    if me < 2 * extra {
        team.send(me - 1, call.counts[me - 1]);
    }
}

/// Blocks around the ring.
pub(super) fn ring(call: &Call, team: &mut Team<'_>) {
    let (me, size) = (team.me, team.size);
    // One receive ahead.
    let mut before: Option<u32> = None;
    for step in 1..size {
        let next = team.irecv((me + size - 1) % size);
        if let Some(before) = before {
            team.wait(before);
        }
        team.send((me + 1) % size, call.counts[(me + size - step) % size]);
        before = Some(next);
    }
    team.waitall();
}

/// Step i: the block of the i-th rank after me to it.
pub(super) fn pairwise(call: &Call, team: &mut Team<'_>) {
    let (me, size) = (team.me, team.size);
    for step in 1..size {
        let to = (me + step) % size;
        team.sendrecv(to, call.counts[to], (me + size - step) % size);
    }
}

/// Recursive doubling with all blocks but those of one's own side.
pub(super) fn recursive_doubling(call: &Call, team: &mut Team<'_>) {
    let (total, size) = (call.bytes, team.size);
    let without = |root: usize, width: usize| -> u64 {
        let mine: u64 = call.counts[root.min(size)..(root + width).min(size)].iter().sum();
        total - mine
    };
    allgather::doubling_with(team, &without);
}

/// Halving among neighbours first; blocks end up at mirrored ranks. For powers of two.
pub(super) fn mirrored(call: &Call, team: &mut Team<'_>) {
    let (me, size) = (team.me, team.size);
    if !size.is_power_of_two() {
        return recursive_halving(call, team);
    }
    let (mut mask, mut bytes) = (1, call.bytes);
    while mask < size {
        bytes /= 2;
        team.sendrecv(me ^ mask, bytes, me ^ mask);
        mask <<= 1;
    }
}

/// The same, and every block to its rank.
pub(super) fn butterfly(call: &Call, team: &mut Team<'_>) {
    let (me, size) = (team.me, team.size);
    mirrored(call, team);
    if size.is_power_of_two() && size > 1 {
        let other = me.reverse_bits() >> (usize::BITS - size.trailing_zeros());
        if other != me {
            team.sendrecv(other, call.counts[other], other);
        }
    }
}
