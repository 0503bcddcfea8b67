//! Reduce-scatter: a reduction of which every rank gets one block. Counts are in bytes.

use super::allgather;
use super::reduce::floor_power;
use super::script::Team;
use crate::action::Call;

/// The ranks folded to a power of two of *places*: of the first 2 * `extra` ranks, the even ones give
/// everything to their right neighbours, and each pair is one place.
struct Folded {
    /// Number of places, the largest power of two up to the number of ranks.
    power: usize,
    /// Number of ranks beyond it.
    extra: usize,
    /// Bytes of the blocks of each place.
    parts: Vec<u64>,
}

impl Folded {
    fn new(call: &Call, size: usize) -> Folded {
        let power = floor_power(size);
        let extra = size - power;
        let mut folded = Folded { power, extra, parts: vec![0; power] };
        for (rank, &bytes) in call.counts.iter().enumerate() {
            let place = folded.place(rank);
            folded.parts[place] += bytes;
        }
        folded
    }

    /// The place of a rank.
    fn place(&self, rank: usize) -> usize {
        if rank < 2 * self.extra { rank / 2 } else { rank - self.extra }
    }

    /// The rank that acts for a place.
    fn rank_at(&self, place: usize) -> usize {
        if place < self.extra { 2 * place + 1 } else { place + self.extra }
    }

    /// Exchanges halves of the remaining blocks with place xor mask, for each of the masks in turn.
    fn halve(&self, team: &mut Team<'_>, masks: impl Iterator<Item = usize>) {
        let place = self.place(team.me);
        let (mut low, mut high) = (0, self.power);
        for mask in masks {
            let other = self.rank_at(place ^ mask);
            let middle = (low + high) / 2;
            let (mine, theirs) = match place & mask {
                0 => ((low, middle), (middle, high)),
                _ => ((middle, high), (low, middle)),
            };
            team.sendrecv(other, self.parts[theirs.0..theirs.1].iter().sum(), other);
            (low, high) = mine;
        }
    }
}

/// Recursive halving as in Open MPI, the far half of the places first.
pub(super) fn recursive_halving(call: &Call, team: &mut Team<'_>) {
    let me = team.me;
    let folded = Folded::new(call, team.size);
    let paired = me < 2 * folded.extra;
    if paired && me.is_multiple_of(2) {
        team.send(me + 1, call.bytes);
        return team.recv(me + 1);
    }
    if paired {
        team.recv(me - 1);
    }
    folded.halve(team, (0..folded.power.ilog2()).rev().map(|bit| 1 << bit));
    if paired {
        team.send(me - 1, call.counts[me - 1]);
    }
}

/// The ring: each step passes a partial sum of one block to the next rank.
pub(super) fn ring(call: &Call, team: &mut Team<'_>) {
    let (me, size) = (team.me, team.size);
    // The next receive is posted before the last one is waited for.
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

/// In step i, the block of the i-th rank after this one is sent to it.
pub(super) fn pairwise(call: &Call, team: &mut Team<'_>) {
    let (me, size) = (team.me, team.size);
    for step in 1..size {
        let to = (me + step) % size;
        team.sendrecv(to, call.counts[to], (me + size - step) % size);
    }
}

/// Recursive doubling; each exchange carries all blocks but those of the sender's own half.
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

/// Halving among neighbours first, so that blocks end up at mirrored places, and every block to its
/// rank.
pub(super) fn butterfly(call: &Call, team: &mut Team<'_>) {
    let me = team.me;
    let folded = Folded::new(call, team.size);
    let bits = folded.power.ilog2();
    let mirror = |place: usize| place.reverse_bits().checked_shr(usize::BITS - bits).unwrap_or(0);
    let paired = me < 2 * folded.extra;
    if paired && me.is_multiple_of(2) {
        team.send(me + 1, call.bytes);
        return team.recv(folded.rank_at(mirror(me / 2)));
    }
    if paired {
        team.recv(me - 1);
    }
    folded.halve(team, (0..bits).map(|bit| 1 << bit));
    let place = folded.place(me);
    let peer = mirror(place);
    if peer < folded.extra {
        team.send(2 * peer, call.counts[2 * peer]);
    }
    if peer != place {
        let other = folded.rank_at(peer);
        team.sendrecv(other, call.counts[other], other);
    }
}
