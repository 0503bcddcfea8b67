//! Reductions to all ranks.

use super::basic::bcast as binomial_bcast;
use super::reduce::{self, cut, floor_power};
use super::rules;
use super::script::Team;
use crate::action::{Call, Kind};

/// Those of a power of two ranks that work: of the first ranks that are too many, the even ones
/// give everything to their right neighbours and get the result from there.
fn folded(
    call: &Call,
    team: &mut Team<'_>,
    work: impl FnOnce(&mut Team<'_>, usize, &dyn Fn(usize) -> usize),
) {
    let (size, me) = (team.size, team.me);
    let power = floor_power(size);
    let extra = size - power;
    let rank_at = move |place: usize| if place < extra { 2 * place + 1 } else { place + extra };
    if me < 2 * extra {
        if me % 2 == 0 {
            team.send(me + 1, call.bytes);
            team.recv(me + 1);
            return;
        }
        team.recv(me - 1);
    }
    let place = if me < 2 * extra { me / 2 } else { me - extra };
    work(team, place, &rank_at);
    if me < 2 * extra {
        team.send(me - 1, call.bytes);
    }
}

/// Recursive doubling with everything.
pub(super) fn recursive_doubling(call: &Call, team: &mut Team<'_>) {
    let power = floor_power(team.size);
    folded(call, team, |team, place, rank_at| {
        let mut mask = 1;
        while mask < power {
            let other = rank_at(place ^ mask);
            team.sendrecv(other, call.bytes, other);
            mask <<= 1;
        }
    });
}

/// Halving, then doubling with what one is left with.
fn halve_and_double(
    call: &Call,
    team: &mut Team<'_>,
    place: usize,
    rank_at: &dyn Fn(usize) -> usize,
) {
    let power = floor_power(team.size);
    let parts = cut(call, power);
    let (mut low, mut high) = (0, power);
    let mut mask = 1;
    while mask < power {
        let other = rank_at(place ^ mask);
        let middle = (low + high) / 2;
        let (mine, theirs) = match place & mask {
            0 => ((low, middle), (middle, high)),
            _ => ((middle, high), (low, middle)),
        };
        team.sendrecv(other, parts[theirs.0..theirs.1].iter().sum(), other);
        (low, high) = mine;
        mask <<= 1;
    }
    double(team, place, rank_at, &parts, (low, high));
}

fn double(
    team: &mut Team<'_>,
    place: usize,
    rank_at: &dyn Fn(usize) -> usize,
    parts: &[u64],
    (mut low, mut high): (usize, usize),
) {
    let mut mask = parts.len() >> 1;
    while mask > 0 {
        let other = rank_at(place ^ mask);
        team.sendrecv(other, parts[low..high].iter().sum(), other);
        let width = high - low;
        if place & mask == 0 {
            high += width
        } else {
            low -= width
        }
        mask >>= 1;
    }
}

/// Rabenseifner as in MPICH.
pub(super) fn halving_doubling(call: &Call, team: &mut Team<'_>) {
    folded(call, team, |team, place, rank_at| halve_and_double(call, team, place, rank_at));
}

/// Rabenseifner as in MPICH where there is an element for every rank, else recursive doubling.
pub(super) fn halving_doubling_or_doubling(call: &Call, team: &mut Team<'_>) {
    if call.bytes / call.unit < floor_power(team.size) as u64 {
        recursive_doubling(call, team)
    } else {
        halving_doubling(call, team)
    }
}

/// Rabenseifner's own.
pub(super) fn rabenseifner(call: &Call, team: &mut Team<'_>) {
    let (size, me) = (team.size, team.me);
    let power = floor_power(size);
    let extra = size - power;
    let parts = reduce::cut_by_halves(call, power);
    let Some(place) = reduce::halve(call, team, &parts) else { return team.recv(me - 1) };
    let ranks = |place: usize| reduce::rank_at(place, extra);
    double(team, place, &ranks, &parts, reduce::range(place, power));
    if me < 2 * extra {
        team.send(me + 1, call.bytes);
    }
}

/// Blocks around the ring, first added up, then handed on. What does not fit into equal blocks
/// is reduced apart, and fewer elements than ranks are reduced and broadcast, as it is selected.
pub(super) fn logical_ring(call: &Call, team: &mut Team<'_>) {
    let size = team.size as u64;
    let elements = call.bytes / call.unit;
    if elements < size {
        return reduce_bcast(call, team);
    }
    let block = elements / size * call.unit;
    ring(team, &vec![block; team.size]);
    let rest = call.bytes - block * size;
    if rest > 0 {
        team.run(&Call { unit: call.unit, ..Call::new(Kind::Allreduce, rest) });
    }
}

/// Reduce-scatter and allgather around the ring.
fn ring(team: &mut Team<'_>, blocks: &[u64]) {
    let (me, size) = (team.me, team.size);
    let (next, previous) = ((me + 1) % size, (me + size - 1) % size);
    for step in 0..size - 1 {
        team.sendrecv(next, blocks[(me + size - step) % size], previous);
    }
    for step in 0..size - 1 {
        team.sendrecv(next, blocks[(me + 1 + size - step) % size], previous);
    }
}

/// Halving from the far end, then an allgather. For powers of two.
pub(super) fn halving_allgather(call: &Call, team: &mut Team<'_>) {
    let (size, me) = (team.size, team.me);
    if !size.is_power_of_two() {
        return halving_doubling(call, team);
    }
    let block = padded_block(call, size);
    let mut distance = size / 2;
    while distance > 0 {
        team.sendrecv(me ^ distance, block * distance as u64, me ^ distance);
        distance /= 2;
    }
    team.run(&Call { unit: call.unit, ..Call::new(Kind::Allgather, block) });
}

/// Bytes of a block when all are equal and the last is filled up.
fn padded_block(call: &Call, size: usize) -> u64 {
    let elements = call.bytes / call.unit;
    let size = size as u64;
    let block =
        if elements.is_multiple_of(size) { elements / size } else { (elements + size) / size };
    block * call.unit
}

/// An alltoall, then an allgather.
pub(super) fn alltoall_allgather(call: &Call, team: &mut Team<'_>) {
    let block = padded_block(call, team.size);
    team.run(&Call { unit: call.unit, ..Call::new(Kind::Alltoall, block) });
    team.run(&Call { unit: call.unit, ..Call::new(Kind::Allgather, block) });
}

/// A reduction and a broadcast, as they are selected.
pub(super) fn reduce_bcast(call: &Call, team: &mut Team<'_>) {
    team.run(&Call { unit: call.unit, ..Call::new(Kind::Reduce, call.bytes) });
    team.run(&Call { unit: call.unit, ..Call::new(Kind::Bcast, call.bytes) });
}

/// Up to the first rank of every host, something among these, and down again.
fn by_host(call: &Call, team: &mut Team<'_>, among: impl FnOnce(&mut Team<'_>)) {
    let nodes = team.blocks();
    let leaders: Vec<usize> = nodes.iter().map(|members| members[0]).collect();
    for members in &nodes {
        team.within(members, |team| reduce::binomial(&Call { root: 0, ..call.clone() }, team));
    }
    team.within(&leaders, among);
    for members in &nodes {
        team.within(members, |team| binomial_bcast(&Call { root: 0, ..call.clone() }, team));
    }
}

pub(super) fn smp_binomial(call: &Call, team: &mut Team<'_>) {
    by_host(call, team, |team| {
        reduce::binomial(call, team);
        binomial_bcast(call, team);
    });
}

/// Binomial trees inside and over hosts, in segments of 4 KiB, whose four phases follow each other.
pub(super) fn smp_binomial_pipeline(call: &Call, team: &mut Team<'_>) {
    const SEGMENT: u64 = 4096;
    let nodes = team.blocks();
    let leaders: Vec<usize> = nodes.iter().map(|members| members[0]).collect();
    let bytes = (SEGMENT / call.unit * call.unit).min(call.bytes);
    let count = call.bytes.checked_div(bytes).unwrap_or(1);
    let part = Call::new(Kind::Allreduce, bytes);
    for phase in 0..count + 3 {
        let inside = |team: &mut Team<'_>, work: fn(&Call, &mut Team<'_>)| {
            for members in &nodes {
                team.within(members, |team| work(&part, team));
            }
        };
        if phase < count {
            inside(team, reduce::binomial);
        }
        if (1..=count).contains(&phase) {
            team.within(&leaders, |team| reduce::binomial(&part, team));
        }
        if (2..count + 2).contains(&phase) {
            team.within(&leaders, |team| binomial_bcast(&part, team));
        }
        if phase >= 3 {
            inside(team, binomial_bcast);
        }
    }
}

pub(super) fn smp_doubling(call: &Call, team: &mut Team<'_>) {
    by_host(call, team, |team| recursive_doubling(call, team));
}

/// Equal blocks around the ring of hosts; what does not fit is left out.
pub(super) fn smp_ring(call: &Call, team: &mut Team<'_>) {
    by_host(call, team, |team| {
        let block = call.bytes / call.unit / team.size as u64 * call.unit;
        ring(team, &vec![block; team.size]);
    });
}

/// Blocks around the ring of hosts, the first block taking what does not fit.
pub(super) fn smp_ring_uneven(call: &Call, team: &mut Team<'_>) {
    by_host(call, team, |team| {
        let block = call.bytes / call.unit / team.size as u64 * call.unit;
        let mut blocks = vec![block; team.size];
        blocks[0] = call.bytes - block * (team.size as u64 - 1);
        ring(team, &blocks);
    });
}

/// Halving and doubling over the hosts: half of the elements, half of these, and so on, whole ones
/// each time; on the way back twice as many, so that what a division left out stays out.
pub(super) fn smp_halving(call: &Call, team: &mut Team<'_>) {
    by_host(call, team, |team| {
        let (size, me) = (team.size, team.me);
        if !size.is_power_of_two() {
            return halving_doubling(call, team);
        }
        let mut elements = call.bytes / call.unit;
        let mut exchange = |mask: usize, elements: u64| {
            team.sendrecv(me ^ mask, elements * call.unit, me ^ mask);
        };
        let steps = size.ilog2();
        for step in 0..steps {
            elements /= 2;
            exchange(1 << step, elements);
        }
        elements /= 2;
        for step in (0..steps).rev() {
            elements *= 2;
            exchange(1 << step, elements);
        }
    });
}

/// MVAPICH2: an allreduce inside every host and one over the hosts, then down the hosts.
pub(super) fn two_level(call: &Call, team: &mut Team<'_>) {
    let nodes = team.nodes();
    let leaders: Vec<usize> = nodes.iter().map(|members| members[0]).collect();
    for members in &nodes {
        team.within(members, |team| {
            if call.bytes > 2048 {
                halving_doubling_or_doubling(call, team)
            } else {
                recursive_doubling(call, team)
            }
        });
    }
    team.within(&leaders, |team| recursive_doubling(call, team));
    for members in &nodes {
        team.within(members, |team| binomial_bcast(&Call { root: 0, ..call.clone() }, team));
    }
}

/// MVAPICH2's own choice for small messages: all at once inside every host, over the hosts by its
/// rules for so many ranks and bytes.
pub(super) fn two_level_knomial(call: &Call, team: &mut Team<'_>) {
    let nodes = team.nodes();
    let leaders: Vec<usize> = nodes.iter().map(|members| members[0]).collect();
    for members in &nodes {
        team.within(members, |team| reduce::knomial(&Call { root: 0, ..call.clone() }, team));
    }
    let row = rules::mvapich2_row("allreduce", team.size, call.bytes, || 1);
    let halves = row.is_some_and(|row| row.two_level && row.name == "mvapich2_rs");
    team.within(&leaders, |team| {
        if halves {
            halving_doubling_or_doubling(call, team)
        } else {
            recursive_doubling(call, team)
        }
    });
    for members in &nodes {
        team.within(members, |team| binomial_bcast(&Call { root: 0, ..call.clone() }, team));
    }
}
