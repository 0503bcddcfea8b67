//! Reductions to one rank.

use super::script::Team;
use super::tree::Tree;
use super::{basic, rules};
use crate::action::{Call, Kind};

/// Bytes of a segment in the pipelines of STAR-MPI.
const SEGMENT: u64 = 8192;

/// Binomial tree, nearest first.
pub(super) fn binomial(call: &Call, team: &mut Team<'_>) {
    let (size, root) = (team.size, call.root as usize);
    let tree = Tree::binomial((team.me + size - root) % size, size).rooted(root, size);
    tree.children.iter().for_each(|&child| team.recv(child));
    if let Some(parent) = tree.parent {
        team.send(parent, call.bytes);
    }
}

/// All ranks to the root, which receives one after the other, the last rank first.
pub(super) fn flat(call: &Call, team: &mut Team<'_>) {
    let root = call.root as usize;
    if team.me != root {
        return team.send(root, call.bytes);
    }
    for rank in (0..team.size).rev().filter(|&rank| rank != root) {
        team.recv(rank);
    }
}

/// Segments up a chain to the root. What is left after the last whole segment goes there directly.
pub(super) fn chain(call: &Call, team: &mut Team<'_>) {
    let (size, root) = (team.size, call.root as usize);
    let tree = Tree::chain((team.me + size - root) % size, size).rooted(root, size);
    let segment = SEGMENT.min(call.bytes);
    let count = call.bytes.checked_div(segment).unwrap_or(1);
    let receives: Vec<u32> = match tree.children.first() {
        Some(&child) => (0..count).map(|_| team.irecv(child)).collect(),
        None => Vec::new(),
    };
    for k in 0..count as usize {
        if let Some(&receive) = receives.get(k) {
            team.wait(receive);
        }
        if let Some(parent) = tree.parent {
            team.isend(parent, segment);
        }
    }
    team.waitall();
    let rest = call.bytes - count * segment;
    if rest > 0 {
        basic::reduce(&Call { root: call.root, ..Call::new(Kind::Reduce, rest) }, team);
    }
}

/// Segments up a tree of Open MPI: one receive ahead, children in their order.
pub(super) fn segmented(call: &Call, team: &mut Team<'_>, tree: &Tree, segment: u64) {
    let segment = segment / call.unit * call.unit;
    let count = if segment == 0 { 1 } else { call.bytes.div_ceil(segment).max(1) };
    let piece =
        |k: u64| if count == 1 { call.bytes } else { segment.min(call.bytes - k * segment) };
    if tree.children.is_empty() {
        if let Some(parent) = tree.parent {
            (0..count).for_each(|k| team.send(parent, piece(k)));
        }
        return;
    }
    let mut before: Option<u32> = None;
    for k in 0..=count {
        for (place, &child) in tree.children.iter().enumerate() {
            let next = (k < count).then(|| team.irecv(child));
            if let Some(before) = before {
                team.wait(before);
                if place == 0
                    && let Some(parent) = tree.parent
                {
                    team.send(parent, piece(k - 1));
                }
            }
            before = next;
            if k == count {
                return;
            }
        }
    }
}

fn over(call: &Call, team: &mut Team<'_>, shape: fn(usize, usize) -> Tree, segment: u64) {
    let (size, root) = (team.size, call.root as usize);
    let tree = shape((team.me + size - root) % size, size).rooted(root, size);
    segmented(call, team, &tree, segment);
}

/// Whether Open MPI takes segments of 1 KiB on a line `slope x KiB + offset` of ranks.
fn small_segments(call: &Call, team: &Team<'_>, slope: f64, offset: f64) -> u64 {
    let many = team.size as f64 > slope / 1024.0 * call.bytes as f64 + offset;
    if many { 1024 } else { 0 }
}

/// Chains of two in segments of 64 KiB.
pub(super) fn ompi_chain(call: &Call, team: &mut Team<'_>) {
    over(call, team, |me, size| Tree::chains(me, size, (size / 2).max(1)), 64 << 10);
}

/// One chain.
pub(super) fn ompi_pipeline(call: &Call, team: &mut Team<'_>) {
    let segment = match small_segments(call, team, 0.0410, 9.7128) {
        0 => 32 << 10,
        small => small,
    };
    over(call, team, Tree::chain, segment);
}

/// Binary tree in segments of 32 KiB.
pub(super) fn ompi_binary(call: &Call, team: &mut Team<'_>) {
    over(call, team, Tree::binary, 32 << 10);
}

/// Binomial tree, whole for few ranks or bytes.
pub(super) fn ompi_binomial(call: &Call, team: &mut Team<'_>) {
    let whole = call.bytes < 2048 || (team.size < 8 && call.bytes < 20_480);
    let segment = if whole { 0 } else { small_segments(call, team, 0.6016, 1.3496) };
    over(call, team, Tree::binomial, segment);
}

/// Binary tree that keeps the order of the ranks; its top is the last one, which sends to the root.
pub(super) fn ompi_in_order(call: &Call, team: &mut Team<'_>) {
    let (root, last) = (call.root as usize, team.size - 1);
    segmented(call, team, &Tree::in_order(team.me, team.size), 0);
    if root != last {
        if team.me == last {
            team.send(root, call.bytes);
        } else if team.me == root {
            team.recv(last);
        }
    }
}

/// A tree of four branches per level, all children at once.
pub(super) fn knomial(call: &Call, team: &mut Team<'_>) {
    let (size, root) = (team.size, call.root as usize);
    let tree = Tree::knomial((team.me + size - root) % size, size, 4).rooted(root, size);
    for child in tree.children {
        team.irecv(child);
    }
    team.waitall();
    if let Some(parent) = tree.parent {
        team.isend(parent, call.bytes);
        team.waitall();
    }
}

/// Cuts a message as Rabenseifner's algorithms do: bytes of every part, in whole elements.
pub(super) fn cut(call: &Call, parts: usize) -> Vec<u64> {
    let elements = call.bytes / call.unit;
    let part = elements / parts as u64;
    let mut bytes = vec![part * call.unit; parts];
    if let Some(last) = bytes.last_mut() {
        *last = (elements - part * (parts as u64 - 1)) * call.unit;
    }
    bytes
}

/// Largest power of two that is not above.
pub(super) fn floor_power(size: usize) -> usize {
    1 << size.ilog2()
}

/// Rabenseifner as in MPICH: a reduce-scatter by recursive halving, then a binomial gather. Of the
/// first ranks that are too many, the odd ones give everything to their left neighbours.
pub(super) fn scatter_gather(call: &Call, team: &mut Team<'_>) {
    let (size, me, root) = (team.size, team.me, call.root as usize);
    let power = floor_power(size);
    let extra = size - power;
    let elements = call.bytes / call.unit;
    if elements < power as u64 {
        return binomial(call, team);
    }
    let mut place = if me < 2 * extra {
        if me % 2 == 1 {
            team.send(me - 1, call.bytes);
            None
        } else {
            team.recv(me + 1);
            Some(me / 2)
        }
    } else {
        Some(me - extra)
    };
    let rank_at = |place: usize| if place < extra { 2 * place } else { place + extra };
    let parts = cut(call, power);
    let sum = |from: usize, to: usize| -> u64 { parts[from..to].iter().sum() };
    let (mut low, mut high) = (0, power);
    if let Some(place) = place {
        let mut mask = 1;
        while mask < power {
            let other = rank_at(place ^ mask);
            let middle = (low + high) / 2;
            let (mine, theirs) = if place & mask == 0 {
                ((low, middle), (middle, high))
            } else {
                ((middle, high), (low, middle))
            };
            team.sendrecv(other, sum(theirs.0, theirs.1), other);
            (low, high) = mine;
            mask <<= 1;
        }
    }
    // The root has to be one of the ranks that gather.
    let root_place = if root < 2 * extra {
        if root % 2 == 1 {
            if me == root {
                place = Some(0);
                team.recv(0);
                (low, high) = (0, 1);
            } else if place == Some(0) {
                team.send(root, parts[0]);
                place = None;
            }
            0
        } else {
            root / 2
        }
    } else {
        root - extra
    };
    let Some(place) = place else { return };
    let rank_of = |place: usize| {
        if place == root_place && root < 2 * extra && root % 2 == 1 { root } else { rank_at(place) }
    };
    // Parts are halved by the lowest bit first: the highest bit is put together first.
    let mut mask = power >> 1;
    let mut bit = power.trailing_zeros();
    while mask > 0 {
        bit -= 1;
        let partner = place ^ mask;
        let mine = place >> bit;
        let wanted = root_place >> bit;
        let width = high - low;
        if mine == wanted {
            team.recv(rank_of(partner));
            // Which side the partner has: the bits below decide.
            if place & mask == 0 { high += width } else { low -= width }
        } else {
            team.send(rank_of(partner), sum(low, high));
            return;
        }
        mask >>= 1;
    }
}

/// Rabenseifner's algorithm in his own variant: the ranks beyond a power of two halve their work in pairs first; parts are
/// combined pair by pair, also where no rank needs them.
pub(super) fn rabenseifner(call: &Call, team: &mut Team<'_>) {
    let (size, root) = (team.size, call.root as usize);
    let power = floor_power(size);
    let extra = size - power;
    let parts = cut_by_halves(call, power);
    let mut place = halve(call, team, &parts);
    let goal = if root < 2 * extra { root / 2 } else { root - extra };
    // A root that gave its work away takes the place of its neighbour again.
    let returns = root < 2 * extra && root % 2 == 1;
    let (mut low, mut high) = range(place.unwrap_or(goal), power);
    if returns && team.me == root {
        team.recv(root - 1);
        place = Some(goal);
    } else if returns && place == Some(goal) {
        return team.send(root, parts[low..high].iter().sum());
    }
    let Some(place) = place else { return };
    let mut mask = power >> 1;
    while mask > 0 {
        let partner = place ^ mask;
        let other = if returns && partner == goal { root } else { rank_at(partner, extra) };
        let width = high - low;
        if place & mask == goal & mask {
            team.recv(other);
        } else {
            team.send(other, parts[low..high].iter().sum());
        }
        if place & mask == 0 {
            high += width
        } else {
            low -= width
        }
        mask >>= 1;
    }
}

/// The rank at a place when even ones keep the work of pairs.
pub(super) fn rank_at(place: usize, extra: usize) -> usize {
    if place < extra { 2 * place } else { place + extra }
}

/// The parts a place is left with after recursive halving, lowest bit first.
pub(super) fn range(place: usize, parts: usize) -> (usize, usize) {
    let (mut low, mut high) = (0, parts);
    let mut mask = 1;
    while mask < parts {
        let middle = (low + high) / 2;
        (low, high) = if place & mask == 0 { (low, middle) } else { (middle, high) };
        mask <<= 1;
    }
    (low, high)
}

/// Cuts a message by halving it again and again.
pub(super) fn cut_by_halves(call: &Call, parts: usize) -> Vec<u64> {
    let mut elements = vec![call.bytes / call.unit];
    while elements.len() < parts {
        elements = elements.iter().flat_map(|&count| [count / 2, count - count / 2]).collect();
    }
    elements.iter().map(|count| count * call.unit).collect()
}

/// Recursive halving by Rabenseifner: gives the place of a rank among a power of two; `None` for
/// ranks that have given their work away.
pub(super) fn halve(call: &Call, team: &mut Team<'_>, parts: &[u64]) -> Option<usize> {
    let (me, power) = (team.me, parts.len());
    let extra = team.size - power;
    let second = call.bytes / call.unit / 2 * call.unit;
    let first = call.bytes - second;
    let place = if me < 2 * extra {
        if me % 2 == 1 {
            team.sendrecv(me - 1, first, me - 1);
            team.send(me - 1, second);
            return None;
        }
        team.sendrecv(me + 1, second, me + 1);
        team.recv(me + 1);
        me / 2
    } else {
        me - extra
    };
    let (mut low, mut high) = (0, power);
    let mut mask = 1;
    while mask < power {
        let other = rank_at(place ^ mask, extra);
        let middle = (low + high) / 2;
        let (mine, theirs) = match place & mask {
            0 => ((low, middle), (middle, high)),
            _ => ((middle, high), (low, middle)),
        };
        team.sendrecv(other, parts[theirs.0..theirs.1].iter().sum(), other);
        (low, high) = mine;
        mask <<= 1;
    }
    Some(place)
}

/// Inside every host, then over the hosts, as MPICH would.
pub(super) fn two_level(call: &Call, team: &mut Team<'_>) {
    two_levels(call, team, mpich, mpich);
}

/// Up to so many bytes, ranks that all share a host send to its first rank one after the other.
const FLAT_ON_ONE_HOST: u64 = 2048;

/// Inside every host to its first rank, over the hosts, and to the root.
fn two_levels(
    call: &Call,
    team: &mut Team<'_>,
    inside: super::Algorithm,
    outside: super::Algorithm,
) {
    let nodes = team.nodes();
    let root = call.root as usize;
    let within_host = Call { root: 0, ..call.clone() };
    if nodes.len() == 1 && call.bytes > FLAT_ON_ONE_HOST {
        return knomial(call, team);
    } else if nodes.len() == 1 {
        flat(&within_host, team);
        return pass_on(call, team, 0, root);
    }
    let home = nodes.iter().position(|members| members.contains(&root)).unwrap_or(0);
    for members in &nodes {
        team.within(members, |team| inside(&within_host, team));
    }
    let leaders: Vec<usize> = nodes.iter().map(|members| members[0]).collect();
    let over = Call { root: home as u32, ..call.clone() };
    team.within(&leaders, |team| outside(&over, team));
    pass_on(call, team, leaders[home], root);
}

/// Moves the result from the rank that has it to the root.
fn pass_on(call: &Call, team: &mut Team<'_>, from: usize, root: usize) {
    if from == root {
        return;
    }
    if team.me == from {
        team.send(root, call.bytes);
    } else if team.me == root {
        team.recv(from);
    }
}

/// MVAPICH2's own: inside every host and over the hosts by its rules for so many ranks and bytes.
pub(super) fn flat_knomial(call: &Call, team: &mut Team<'_>) {
    let rule = |name: &str| {
        let row = rules::mvapich2_row(name, team.size, call.bytes, || 1);
        match row.map_or("", |row| row.name) {
            "mvapich2_knomial" => knomial as super::Algorithm,
            "ompi_basic_linear" => flat,
            "scatter_gather" => scatter_gather,
            _ => binomial,
        }
    };
    let (inside, outside) = (rule("reduce-inside"), rule("reduce"));
    two_levels(call, team, inside, outside);
}

/// MPICH's choice where hosts do not matter.
pub(super) fn mpich(call: &Call, team: &mut Team<'_>) {
    if team.size == 1 {
        return;
    }
    if call.bytes >= 2048 && call.bytes / call.unit >= floor_power(team.size) as u64 {
        scatter_gather(call, team);
    } else {
        binomial(call, team);
    }
}
