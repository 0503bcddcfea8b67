//! Communicators, and grids on them.

use crate::attributes;
use crate::call::{in_comm, mpi, put, slice};
use crate::protocol::{CallKind, Plan, Request};
use crate::state::{
    COMM_NULL, COMM_SELF, COMM_WORLD, Comm, Edges, Outcome, PROC_NULL, Parts, REQUEST_NULL, Remote,
    State, Topology, UNDEFINED, class, fault, running,
};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int};
use std::sync::Arc;

/// A communicator with these ranks, which inherits nothing but the error handler.
fn made(state: &mut State, parent: &Comm, id: u32, ranks: Vec<u32>) -> i32 {
    let me = ranks.iter().position(|&rank| rank == state.rank).unwrap_or(0);
    let own = if parent.own > 0 { state.own_number() } else { 0 };
    state.comms.add(Comm {
        id,
        own,
        ranks: Arc::new(ranks),
        me,
        attributes: HashMap::new(),
        topology: None,
        remote: None,
        errhandler: parent.errhandler,
        name: String::new(),
    })
}

/// A communicator of the given ranks (of the world); all ranks of `comm` call, members or not.
fn create(state: &mut State, comm: c_int, members: Vec<u32>) -> Outcome<i32> {
    let parent = within_one_group(state, comm)?;
    let is_member = members.contains(&state.rank);
    if members.is_empty() {
        return Ok(COMM_NULL);
    }
    if parent.own > 0 {
        return Ok(if is_member { made(state, &parent, 0, members) } else { COMM_NULL });
    }
    let numbers = places(&parent, &members)?;
    let new_comm = state.comm_number();
    let request = Request { comm: parent.id, new_comm, numbers, ..Request::new(CallKind::Create) };
    state.ask(request, &[])?;
    Ok(if is_member { made(state, &parent, new_comm, members) } else { COMM_NULL })
}

/// The ranks in a communicator of ranks of the world.
fn places(parent: &Comm, members: &[u32]) -> Outcome<Vec<u32>> {
    let mut numbers = Vec::new();
    for &member in members {
        match parent.local(member as i32) {
            rank if rank < 0 || rank as usize >= parent.size() => {
                return fault(class::GROUP, "the group has ranks that are not in the communicator");
            }
            rank => numbers.push(rank as u32),
        }
    }
    Ok(numbers)
}

/// A communicator that is not between two groups.
fn within_one_group(state: &State, comm: c_int) -> Outcome<Comm> {
    let known = state.comm(comm)?;
    match known.remote {
        None => Ok(known.clone()),
        Some(_) => fault(class::COMM, "this is not simulated for inter-communicators"),
    }
}

/// A communicator of the given ranks, who alone call.
fn group(state: &mut State, comm: c_int, members: Vec<u32>) -> Outcome<i32> {
    let parent = within_one_group(state, comm)?;
    if !members.contains(&state.rank) {
        return Ok(COMM_NULL);
    }
    if parent.own > 0 {
        return Ok(made(state, &parent, 0, members));
    }
    let numbers = places(&parent, &members)?;
    let new_comm = state.comm_number();
    let request = Request { comm: parent.id, new_comm, numbers, ..Request::new(CallKind::Group) };
    state.ask(request, &[])?;
    Ok(made(state, &parent, new_comm, members))
}

/// Data of all members of a communicator, in the order of the simulator, by a barrier that carries them.
fn tell_all(state: &mut State, comm: c_int, data: Vec<u8>) -> Outcome<Parts> {
    let known = state.comm(comm)?;
    if known.own > 0 {
        return Ok(State::alone(Plan::All, data));
    }
    let id = known.id;
    let mut part = crate::collective::Part::new(0, Plan::All);
    part.request.comm = id;
    part.request.number = state.number();
    part.request.answer = true;
    let mut reply = state.ask(part.request, &data)?;
    let delivery = reply.deliveries.pop().unwrap_or_default();
    Ok(Parts { lengths: delivery.parts, data: delivery.data })
}

const INT: c_int = 0x4c00_0405;

/// An inter-communicator: the leaders exchange their groups, and each distributes the other's in its own.
unsafe fn connect(
    (comm, leader): (c_int, c_int),
    (bridge, other): (c_int, c_int),
    tag: c_int,
) -> Outcome<i32> {
    let local = running(|state| within_one_group(state, comm))?;
    let mine: Vec<c_int> = local.ranks.iter().map(|&rank| rank as c_int).collect();
    let check = |code: c_int| match code {
        0 => Ok(()),
        code => fault(code, "the two groups could not be exchanged"),
    };
    let (count, mut found) = (mine.len() as c_int, 0);
    let mut theirs = Vec::new();
    let ignored = std::ptr::without_provenance_mut(1);
    if local.me as c_int == leader {
        let (from, to) = ((&raw const count).cast(), (&raw mut found).cast());
        check(unsafe {
            crate::message::MPI_Sendrecv(
                from, 1, INT, other, tag, to, 1, INT, other, tag, bridge, ignored,
            )
        })?;
        theirs.resize(found.max(0) as usize, 0);
        let (from, to) = (mine.as_ptr().cast(), theirs.as_mut_ptr().cast());
        check(unsafe {
            crate::message::MPI_Sendrecv(
                from, count, INT, other, tag, to, found, INT, other, tag, bridge, ignored,
            )
        })?;
    }
    let bcast = crate::collective::MPI_Bcast;
    check(unsafe { bcast((&raw mut found).cast(), 1, INT, leader, comm) })?;
    theirs.resize(found.max(0) as usize, 0);
    check(unsafe { bcast(theirs.as_mut_ptr().cast(), found, INT, leader, comm) })?;
    let theirs: Vec<u32> = theirs.into_iter().map(|rank| rank as u32).collect();
    if theirs.is_empty() || theirs.iter().any(|rank| local.ranks.contains(rank)) {
        return fault(
            class::COMM,
            "the two groups of an inter-communicator have members in common",
        );
    }
    running(|state| {
        let is_second = local.ranks[0] < theirs[0];
        let (mine, other) = (local.ranks.to_vec(), theirs.clone());
        let numbers = if is_second { [mine, other].concat() } else { [other, mine].concat() };
        let new_comm = state.comm_number();
        state.ask(Request { new_comm, numbers, ..Request::new(CallKind::Group) }, &[])?;
        let parent = Comm { own: 0, ..local.clone() };
        let handle = made(state, &parent, new_comm, local.ranks.to_vec());
        state.comm_mut(handle)?.remote = Some(Remote { ranks: Arc::new(theirs), is_second });
        Ok(handle)
    })
}

/// One group of both of an inter-communicator; the one whose ranks say `high` comes second.
fn merge(state: &mut State, comm: c_int, high: bool) -> Outcome<i32> {
    let known = state.comm(comm)?.clone();
    let Some(remote) = &known.remote else {
        return fault(class::COMM, "the communicator is no inter-communicator");
    };
    let said = tell_all(state, comm, vec![u8::from(high)])?.data;
    let theirs = said.get(known.index(0) as usize).copied() == Some(1);
    let is_second = if theirs == high { remote.is_second } else { theirs };
    let (mine, other) = (known.ranks.to_vec(), remote.ranks.to_vec());
    let my_places: Vec<u32> =
        (0..mine.len()).map(|k| (known.my_index() - known.me + k) as u32).collect();
    let their_places: Vec<u32> = (0..other.len()).map(|k| known.index(k as i32) as u32).collect();
    let (ranks, numbers) = if is_second {
        ([mine, other].concat(), [my_places, their_places].concat())
    } else {
        ([other, mine].concat(), [their_places, my_places].concat())
    };
    let new_comm = state.comm_number();
    let request = Request { comm: known.id, new_comm, numbers, ..Request::new(CallKind::Create) };
    state.ask(request, &[])?;
    Ok(made(state, &known, new_comm, ranks))
}

/// The ranks that a rank receives from and sends to in neighbourhood collectives.
pub fn neighbours(known: &Comm) -> Outcome<(Vec<i32>, Vec<i32>)> {
    let Some(topology) = &known.topology else {
        return fault(class::TOPOLOGY, "the communicator has no topology");
    };
    if let Some(edges) = &topology.edges {
        let ranks = |list: &[(i32, i32)]| list.iter().map(|edge| edge.0).collect::<Vec<_>>();
        return Ok((ranks(&edges.sources), ranks(&edges.destinations)));
    }
    let both = match &topology.graph {
        Some((index, edges)) => around(index, known.me as i32)?.map(|at| edges[at]).collect(),
        None => {
            let dims = 0..topology.dims.len();
            dims.flat_map(|k| {
                [shifted(topology, known.me, k, -1), shifted(topology, known.me, k, 1)]
            })
            .collect::<Vec<_>>()
        }
    };
    Ok((both.clone(), both))
}

/// The rank so many steps away in one dimension of a grid.
fn shifted(topology: &Topology, me: usize, direction: usize, by: i64) -> i32 {
    let mut at = coordinates(&topology.dims, me as i32);
    let dim = i64::from(topology.dims[direction]);
    let to = i64::from(at[direction]) + by;
    if !topology.periods[direction] && !(0..dim).contains(&to) {
        return PROC_NULL;
    }
    at[direction] = to.rem_euclid(dim) as i32;
    rank_at(topology, &at).unwrap_or(PROC_NULL)
}

/// A communicator whose ranks know their own edges.
fn with_edges(state: &mut State, comm: c_int, edges: Edges) -> Outcome<i32> {
    let size = state.comm(comm)?.size();
    let all = edges.sources.iter().chain(&edges.destinations);
    if let Some((rank, _)) = all.clone().find(|edge| !(0..size as i32).contains(&edge.0)) {
        return fault(class::RANK, format!("there is no rank {rank} for an edge of the graph"));
    }
    let made = dup(state, comm)?;
    let topology = Topology { edges: Some(edges), ..Topology::default() };
    state.comm_mut(made)?.topology = Some(topology);
    Ok(made)
}

/// Weights of edges: 1 each where the program gives none.
unsafe fn weighted(ranks: &[c_int], weights: *const c_int) -> Vec<(i32, i32)> {
    let given = if is_unweighted(weights) { &[] } else { unsafe { slice(weights, ranks.len()) } };
    ranks.iter().enumerate().map(|(k, &rank)| (rank, given.get(k).copied().unwrap_or(1))).collect()
}

fn is_unweighted(weights: *const c_int) -> bool {
    weights.is_null() || crate::stubs::is_unweighted(weights)
}

fn split(state: &mut State, comm: c_int, colour: c_int, key: c_int) -> Outcome<i32> {
    if colour < 0 && colour != UNDEFINED {
        return fault(class::ARG, format!("the colour is {colour}"));
    }
    let parent = within_one_group(state, comm)?;
    if parent.own > 0 {
        let ranks = parent.ranks.to_vec();
        return Ok(if colour < 0 { COMM_NULL } else { made(state, &parent, 0, ranks) });
    }
    let new_comm = state.comm_number();
    let peer = if colour < 0 { -1 } else { colour };
    let number = state.number();
    let mut data = peer.to_le_bytes().to_vec();
    data.extend_from_slice(&key.to_le_bytes());
    let request = Request {
        comm: parent.id,
        new_comm,
        number,
        peer,
        tag: key,
        answer: true,
        plan: Plan::All,
        ..Request::new(CallKind::Split)
    };
    let mut reply = state.ask(request, &data)?;
    let all = reply.deliveries.pop().map(|d| d.data).unwrap_or_default();
    let mut members = Vec::new();
    for (rank, entry) in all.as_chunks::<8>().0.iter().enumerate() {
        let whole = u64::from_le_bytes(*entry);
        let (theirs, their_key) = (whole as u32 as i32, (whole >> 32) as u32 as i32);
        if theirs == colour {
            members.push((their_key, rank));
        }
    }
    if colour < 0 {
        return Ok(COMM_NULL);
    }
    members.sort_unstable();
    let ranks = members.into_iter().map(|(_, rank)| parent.ranks[rank]).collect();
    Ok(made(state, &parent, new_comm, ranks))
}

fn dup(state: &mut State, comm: c_int) -> Outcome<i32> {
    let parent = state.comm(comm)?.clone();
    let mut id = 0;
    if parent.own == 0 {
        id = state.comm_number();
        state.ask(Request { comm: parent.id, new_comm: id, ..Request::new(CallKind::Dup) }, &[])?;
    }
    let copy = made(state, &parent, id, parent.ranks.to_vec());
    let new = state.comm_mut(copy)?;
    (new.topology, new.remote) = (parent.topology, parent.remote);
    Ok(copy)
}

/// A communicator for the messages of a window, made without any.
pub fn window(state: &mut State, comm: c_int) -> Outcome<i32> {
    let parent = within_one_group(state, comm)?;
    let mut id = 0;
    if parent.own == 0 {
        id = state.comm_number();
        state.ask(
            Request { comm: parent.id, new_comm: id, ..Request::new(CallKind::Window) },
            &[],
        )?;
    }
    Ok(made(state, &parent, id, parent.ranks.to_vec()))
}

fn topology(state: &State, comm: c_int) -> Outcome<(Topology, usize, usize)> {
    let known = state.comm(comm)?;
    match &known.topology {
        Some(topology) if topology.graph.is_none() && topology.edges.is_none() => {
            Ok((topology.clone(), known.me, known.size()))
        }
        _ => fault(class::TOPOLOGY, "the communicator has no Cartesian topology"),
    }
}

fn graph(state: &State, comm: c_int) -> Outcome<(Vec<i32>, Vec<i32>)> {
    match state.comm(comm)?.topology.as_ref().and_then(|t| t.graph.clone()) {
        Some(graph) => Ok(graph),
        None => fault(class::TOPOLOGY, "the communicator has no graph topology"),
    }
}

fn edges(state: &State, comm: c_int) -> Outcome<Edges> {
    match state.comm(comm)?.topology.as_ref().and_then(|t| t.edges.clone()) {
        Some(edges) => Ok(edges),
        None => fault(class::TOPOLOGY, "the communicator has no distributed graph"),
    }
}

fn remote(state: &State, comm: c_int) -> Outcome<Arc<Vec<u32>>> {
    match &state.comm(comm)?.remote {
        Some(remote) => Ok(Arc::clone(&remote.ranks)),
        None => fault(class::COMM, "the communicator is no inter-communicator"),
    }
}

fn coordinates(dims: &[i32], mut rank: i32) -> Vec<i32> {
    let mut all = vec![0; dims.len()];
    for (at, &dim) in all.iter_mut().zip(dims).rev() {
        *at = rank % dim;
        rank /= dim;
    }
    all
}

/// The rank at some coordinates; `None` where they leave a grid that is not periodic.
fn rank_at(topology: &Topology, coordinates: &[i32]) -> Option<i32> {
    let mut rank = 0;
    for ((&at, &dim), &periodic) in coordinates.iter().zip(&topology.dims).zip(&topology.periods) {
        if !periodic && !(0..dim).contains(&at) {
            return None;
        }
        rank = rank * dim + at.rem_euclid(dim);
    }
    Some(rank)
}

/// Fills in the dimensions that are 0, as even as possible and falling.
fn balance(nodes: c_int, dims: &mut [c_int]) -> Outcome {
    let fixed: i64 = dims.iter().filter(|&&d| d > 0).map(|&d| i64::from(d)).product();
    let open: Vec<usize> = (0..dims.len()).filter(|&k| dims[k] == 0).collect();
    if dims.iter().any(|&d| d < 0) || nodes < 1 || i64::from(nodes) % fixed != 0 {
        return fault(class::DIMS, format!("{nodes} ranks do not fit dimensions {dims:?}"));
    }
    let mut rest = (i64::from(nodes) / fixed) as i32;
    if open.is_empty() {
        return match rest {
            1 => Ok(()),
            _ => fault(class::DIMS, format!("{nodes} ranks do not fit dimensions {dims:?}")),
        };
    }
    let mut factors = Vec::new();
    let mut prime = 2;
    while i64::from(prime) * i64::from(prime) <= i64::from(rest) {
        while rest % prime == 0 {
            factors.push(prime);
            rest /= prime;
        }
        prime += 1;
    }
    if rest > 1 {
        factors.push(rest);
    }
    let mut sizes = vec![1; open.len()];
    for factor in factors.into_iter().rev() {
        if let Some(smallest) = sizes.iter_mut().min() {
            *smallest *= factor;
        }
    }
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    for (k, size) in open.into_iter().zip(sizes) {
        dims[k] = size;
    }
    Ok(())
}

/// A name in memory of the program.
pub unsafe fn put_text(text: &str, to: *mut c_char, room: usize, length: *mut c_int) {
    let bytes = &text.as_bytes()[..text.len().min(room - 1)];
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), to, bytes.len());
        to.add(bytes.len()).write(0);
        put(length, bytes.len() as c_int);
    }
}

pub unsafe fn text(from: *const c_char) -> String {
    if from.is_null() {
        return String::new();
    }
    unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned()
}

mpi! {
    fn MPI_Comm_rank(comm: c_int, rank: *mut c_int) {
        put(rank, running(|state| state.comm(comm).map(|c| c.me))? as c_int);
        Ok(())
    }
    fn MPI_Comm_size(comm: c_int, size: *mut c_int) {
        put(size, running(|state| state.comm(comm).map(Comm::size))? as c_int);
        Ok(())
    }
    fn MPI_Comm_compare(one: c_int, other: c_int, result: *mut c_int) {
        let (a, b) = running(|state| Ok((state.comm(one)?.clone(), state.comm(other)?.clone())))?;
        let found = match (&a.remote, &b.remote) {
            _ if one == other => 0,
            (None, None) if a.ranks == b.ranks => 1,
            (None, None) => crate::group::similar(&a.ranks, &b.ranks),
            (Some(x), Some(y)) if a.ranks == b.ranks && x.ranks == y.ranks => 1,
            (Some(x), Some(y)) => {
                crate::group::similar(&a.ranks, &b.ranks).max(crate::group::similar(&x.ranks, &y.ranks))
            }
            _ => 3,
        };
        put(result, found);
        Ok(())
    }
    fn MPI_Comm_dup(comm: c_int, new: *mut c_int) {
        let copy = in_comm(comm, running(|state| dup(state, comm)))?;
        attributes::copy(comm, copy)?;
        put(new, copy);
        Ok(())
    }
    fn MPI_Comm_dup_with_info(comm: c_int, _info: c_int, new: *mut c_int) {
        let copy = in_comm(comm, running(|state| dup(state, comm)))?;
        attributes::copy(comm, copy)?;
        put(new, copy);
        Ok(())
    }
    fn MPI_Comm_idup(comm: c_int, new: *mut c_int, request: *mut c_int) {
        let copy = in_comm(comm, running(|state| dup(state, comm)))?;
        attributes::copy(comm, copy)?;
        put(new, copy);
        put(request, REQUEST_NULL);
        Ok(())
    }
    fn MPI_Comm_idup_with_info(comm: c_int, _info: c_int, new: *mut c_int, request: *mut c_int) {
        let copy = in_comm(comm, running(|state| dup(state, comm)))?;
        attributes::copy(comm, copy)?;
        put(new, copy);
        put(request, REQUEST_NULL);
        Ok(())
    }
    fn MPI_Comm_split(comm: c_int, colour: c_int, key: c_int, new: *mut c_int) {
        put(new, in_comm(comm, running(|state| split(state, comm, colour, key)))?);
        Ok(())
    }
    fn MPI_Comm_split_type(comm: c_int, kind: c_int, key: c_int, _info: c_int, new: *mut c_int) {
        let made = running(|state| {
            let colour = match kind {
                UNDEFINED => UNDEFINED,
                // Ranks of one host share memory: a number of its name.
                _ => state.host.bytes().fold(7u32, |h, b| h.wrapping_mul(16_777_619) ^ u32::from(b)) as i32 & i32::MAX,
            };
            split(state, comm, colour, key)
        });
        put(new, in_comm(comm, made)?);
        Ok(())
    }
    fn MPI_Comm_create(comm: c_int, group: c_int, new: *mut c_int) {
        let made = running(|state| {
            let members = crate::group::members(state, group)?.to_vec();
            create(state, comm, members)
        });
        put(new, in_comm(comm, made)?);
        Ok(())
    }
    fn MPI_Comm_free(comm: *mut c_int) {
        if matches!(*comm, COMM_WORLD | COMM_SELF) {
            return fault(class::COMM, "a predefined communicator cannot be freed");
        }
        attributes::delete_all(*comm)?;
        running(|state| match state.comms.remove(*comm) {
            Some(_) => Ok(()),
            None => fault(class::COMM, "there is no such communicator to free"),
        })?;
        put(comm, COMM_NULL);
        Ok(())
    }
    fn MPI_Comm_disconnect(comm: *mut c_int) {
        running(|state| Ok(state.comms.remove(*comm)))?;
        put(comm, COMM_NULL);
        Ok(())
    }
    fn MPI_Comm_group(comm: c_int, group: *mut c_int) {
        let made = running(|state| {
            let ranks = Arc::clone(&state.comm(comm)?.ranks);
            Ok(state.groups.add(ranks))
        })?;
        put(group, made);
        Ok(())
    }
    fn MPI_Comm_test_inter(comm: c_int, flag: *mut c_int) {
        put(flag, running(|state| state.comm(comm).map(|c| c.remote.is_some()))?.into());
        Ok(())
    }
    fn MPI_Comm_remote_size(comm: c_int, size: *mut c_int) {
        put(size, running(|state| remote(state, comm))?.len() as c_int);
        Ok(())
    }
    fn MPI_Comm_remote_group(comm: c_int, group: *mut c_int) {
        put(group, running(|state| {
            let ranks = remote(state, comm)?;
            Ok(state.groups.add(ranks))
        })?);
        Ok(())
    }
    fn MPI_Intercomm_create(comm: c_int, leader: c_int, bridge: c_int, other: c_int, tag: c_int, new: *mut c_int) {
        put(new, in_comm(comm, connect((comm, leader), (bridge, other), tag))?);
        Ok(())
    }
    fn MPI_Intercomm_merge(comm: c_int, high: c_int, new: *mut c_int) {
        put(new, in_comm(comm, running(|state| merge(state, comm, high != 0)))?);
        Ok(())
    }
    fn MPI_Comm_create_group(comm: c_int, list: c_int, _tag: c_int, new: *mut c_int) {
        let made = running(|state| {
            let members = crate::group::members(state, list)?.to_vec();
            group(state, comm, members)
        });
        put(new, in_comm(comm, made)?);
        Ok(())
    }
    fn MPI_Comm_set_name(comm: c_int, name: *const c_char) {
        let name = text(name);
        running(|state| {
            state.comm_mut(comm)?.name = name;
            Ok(())
        })
    }
    fn MPI_Comm_get_name(comm: c_int, name: *mut c_char, length: *mut c_int) {
        let found = running(|state| state.comm(comm).map(|c| c.name.clone()))?;
        put_text(&found, name, 128, length);
        Ok(())
    }
    fn MPI_Comm_get_parent(parent: *mut c_int) {
        put(parent, COMM_NULL);
        Ok(())
    }
    fn MPI_Comm_set_info(_comm: c_int, _info: c_int) { Ok(()) }
    fn MPI_Comm_get_info(_comm: c_int, info: *mut c_int) {
        put(info, running(|state| Ok(state.infos.add(Vec::new())))?);
        Ok(())
    }
    fn MPI_Cart_create(comm: c_int, ndims: c_int, dims: *const c_int, periods: *const c_int, _reorder: c_int, new: *mut c_int) {
        let count = ndims.max(0) as usize;
        let dims = slice(dims, count).to_vec();
        let periods: Vec<bool> = slice(periods, count).iter().map(|&p| p != 0).collect();
        let made = running(|state| {
            let ranks = Arc::clone(&state.comm(comm)?.ranks);
            let needed: i64 = dims.iter().map(|&d| i64::from(d)).product();
            if dims.iter().any(|&d| d < 1) || needed > ranks.len() as i64 {
                let text = format!("a grid of {dims:?} does not fit {} ranks", ranks.len());
                return fault(class::DIMS, text);
            }
            let made = create(state, comm, ranks[..needed as usize].to_vec())?;
            if made != COMM_NULL {
                let topology = Topology { dims: dims.clone(), periods, ..Topology::default() };
                state.comm_mut(made)?.topology = Some(topology);
            }
            Ok(made)
        });
        put(new, in_comm(comm, made)?);
        Ok(())
    }
    fn MPI_Cart_coords(comm: c_int, rank: c_int, maxdims: c_int, coords: *mut c_int) {
        let (topology, _, size) = running(|state| topology(state, comm))?;
        if rank < 0 || rank as usize >= size {
            return fault(class::RANK, format!("there is no rank {rank}"));
        }
        let found = coordinates(&topology.dims, rank);
        for (k, at) in found.into_iter().enumerate().take(maxdims.max(0) as usize) {
            coords.add(k).write(at);
        }
        Ok(())
    }
    fn MPI_Cart_rank(comm: c_int, coords: *const c_int, rank: *mut c_int) {
        let (topology, _, _) = running(|state| topology(state, comm))?;
        let at = slice(coords, topology.dims.len());
        match rank_at(&topology, at) {
            Some(found) => put(rank, found),
            None => return fault(class::ARG, format!("there is no rank at {at:?}")),
        }
        Ok(())
    }
    fn MPI_Cart_get(comm: c_int, maxdims: c_int, dims: *mut c_int, periods: *mut c_int, coords: *mut c_int) {
        let (topology, me, _) = running(|state| topology(state, comm))?;
        let mine = coordinates(&topology.dims, me as i32);
        for k in 0..topology.dims.len().min(maxdims.max(0) as usize) {
            dims.add(k).write(topology.dims[k]);
            periods.add(k).write(topology.periods[k].into());
            coords.add(k).write(mine[k]);
        }
        Ok(())
    }
    fn MPI_Cartdim_get(comm: c_int, ndims: *mut c_int) {
        put(ndims, running(|state| topology(state, comm))?.0.dims.len() as c_int);
        Ok(())
    }
    fn MPI_Cart_shift(comm: c_int, direction: c_int, displacement: c_int, source: *mut c_int, dest: *mut c_int) {
        let (topology, me, _) = running(|state| topology(state, comm))?;
        if direction < 0 || direction as usize >= topology.dims.len() {
            return fault(class::DIMS, format!("there is no dimension {direction}"));
        }
        let (k, by) = (direction as usize, i64::from(displacement));
        put(source, shifted(&topology, me, k, -by));
        put(dest, shifted(&topology, me, k, by));
        Ok(())
    }
    fn MPI_Cart_sub(comm: c_int, remain: *const c_int, new: *mut c_int) {
        let made = running(|state| {
            let (topology, me, _) = topology(state, comm)?;
            let keep: Vec<bool> =
                slice(remain, topology.dims.len()).iter().map(|&r| r != 0).collect();
            let mine = coordinates(&topology.dims, me as i32);
            let (mut colour, mut key) = (0, 0);
            for k in 0..keep.len() {
                let place = if keep[k] { &mut key } else { &mut colour };
                *place = *place * topology.dims[k] + mine[k];
            }
            let made = split(state, comm, colour, key)?;
            let kept = |k: &usize| keep[*k];
            let dims = (0..keep.len()).filter(kept).map(|k| topology.dims[k]).collect();
            let periods = (0..keep.len()).filter(kept).map(|k| topology.periods[k]).collect();
            state.comm_mut(made)?.topology = Some(Topology { dims, periods, ..Topology::default() });
            Ok(made)
        });
        put(new, in_comm(comm, made)?);
        Ok(())
    }
    fn MPI_Cart_map(comm: c_int, ndims: c_int, dims: *const c_int, _periods: *const c_int, new: *mut c_int) {
        let me = running(|state| state.comm(comm).map(|c| c.me))?;
        let needed: i64 = slice(dims, ndims.max(0) as usize).iter().map(|&d| i64::from(d)).product();
        put(new, if (me as i64) < needed { me as c_int } else { UNDEFINED });
        Ok(())
    }
    fn MPI_Dims_create(nodes: c_int, ndims: c_int, dims: *mut c_int) {
        if ndims <= 0 {
            return Ok(());
        }
        balance(nodes, std::slice::from_raw_parts_mut(dims, ndims as usize))
    }
    fn MPI_Graph_create(comm: c_int, nodes: c_int, index: *const c_int, edges: *const c_int, _reorder: c_int, new: *mut c_int) {
        let index = slice(index, nodes.max(0) as usize).to_vec();
        let edges = slice(edges, index.last().copied().unwrap_or(0).max(0) as usize).to_vec();
        let made = running(|state| {
            let ranks = Arc::clone(&state.comm(comm)?.ranks);
            if index.len() > ranks.len() {
                return fault(class::TOPOLOGY, "the graph has more nodes than there are ranks");
            }
            let made = create(state, comm, ranks[..index.len()].to_vec())?;
            if made != COMM_NULL {
                let graph = Some((index, edges));
                state.comm_mut(made)?.topology = Some(Topology { graph, ..Topology::default() });
            }
            Ok(made)
        });
        put(new, in_comm(comm, made)?);
        Ok(())
    }
    fn MPI_Graphdims_get(comm: c_int, nodes: *mut c_int, count: *mut c_int) {
        let (index, edges) = running(|state| graph(state, comm))?;
        put(nodes, index.len() as c_int);
        put(count, edges.len() as c_int);
        Ok(())
    }
    fn MPI_Graph_neighbors_count(comm: c_int, rank: c_int, count: *mut c_int) {
        let (index, _) = running(|state| graph(state, comm))?;
        put(count, around(&index, rank)?.len() as c_int);
        Ok(())
    }
    fn MPI_Graph_neighbors(comm: c_int, rank: c_int, room: c_int, neighbours: *mut c_int) {
        let (index, edges) = running(|state| graph(state, comm))?;
        for (k, at) in around(&index, rank)?.enumerate().take(room.max(0) as usize) {
            neighbours.add(k).write(edges[at]);
        }
        Ok(())
    }
    fn MPI_Graph_get(comm: c_int, nodes: c_int, count: c_int, to_index: *mut c_int, to_edges: *mut c_int) {
        let (index, edges) = running(|state| graph(state, comm))?;
        for (k, &at) in index.iter().take(nodes.max(0) as usize).enumerate() {
            to_index.add(k).write(at);
        }
        for (k, &at) in edges.iter().take(count.max(0) as usize).enumerate() {
            to_edges.add(k).write(at);
        }
        Ok(())
    }
    fn MPI_Graph_map(comm: c_int, nodes: c_int, _index: *const c_int, _edges: *const c_int, new: *mut c_int) {
        let me = running(|state| state.comm(comm).map(|c| c.me))? as c_int;
        put(new, if me < nodes { me } else { UNDEFINED });
        Ok(())
    }
    fn MPI_Dist_graph_create_adjacent(comm: c_int, indegree: c_int, sources: *const c_int, source_weights: *const c_int, outdegree: c_int, destinations: *const c_int, weights: *const c_int, _info: c_int, _reorder: c_int, new: *mut c_int) {
        let sources = slice(sources, indegree.max(0) as usize);
        let destinations = slice(destinations, outdegree.max(0) as usize);
        let edges = Edges {
            sources: weighted(sources, source_weights),
            destinations: weighted(destinations, weights),
            is_weighted: !is_unweighted(source_weights),
        };
        put(new, in_comm(comm, running(|state| with_edges(state, comm, edges)))?);
        Ok(())
    }
    fn MPI_Dist_graph_create(comm: c_int, count: c_int, sources: *const c_int, degrees: *const c_int, destinations: *const c_int, weights: *const c_int, _info: c_int, _reorder: c_int, new: *mut c_int) {
        let degrees = slice(degrees, count.max(0) as usize);
        let total = degrees.iter().map(|&d| d.max(0) as usize).sum();
        let given = weighted(slice(destinations, total), weights);
        let mut data = vec![u8::from(!is_unweighted(weights))];
        let mut at = 0;
        for (&source, &degree) in slice(sources, count.max(0) as usize).iter().zip(degrees) {
            for (destination, weight) in &given[at..at + degree.max(0) as usize] {
                for value in [source, *destination, *weight] {
                    data.extend_from_slice(&value.to_le_bytes());
                }
            }
            at += degree.max(0) as usize;
        }
        let made = running(|state| {
            let me = state.comm(comm)?.me as i32;
            let all = tell_all(state, comm, data)?;
            let mut edges = Edges::default();
            let mut begin = 0;
            for length in all.lengths {
                let block = &all.data[begin..begin + length as usize];
                begin += length as usize;
                edges.is_weighted |= block.first() == Some(&1);
                for edge in block[1.min(block.len())..].as_chunks::<12>().0 {
                    let value = |k: usize| i32::from_le_bytes([edge[k], edge[k + 1], edge[k + 2], edge[k + 3]]);
                    let (source, destination, weight) = (value(0), value(4), value(8));
                    if destination == me {
                        edges.sources.push((source, weight));
                    }
                    if source == me {
                        edges.destinations.push((destination, weight));
                    }
                }
            }
            with_edges(state, comm, edges)
        });
        put(new, in_comm(comm, made)?);
        Ok(())
    }
    fn MPI_Dist_graph_neighbors_count(comm: c_int, indegree: *mut c_int, outdegree: *mut c_int, is_weighted: *mut c_int) {
        let edges = running(|state| edges(state, comm))?;
        put(indegree, edges.sources.len() as c_int);
        put(outdegree, edges.destinations.len() as c_int);
        put(is_weighted, edges.is_weighted.into());
        Ok(())
    }
    fn MPI_Dist_graph_neighbors(comm: c_int, room: c_int, sources: *mut c_int, source_weights: *mut c_int, other_room: c_int, destinations: *mut c_int, weights: *mut c_int) {
        let edges = running(|state| edges(state, comm))?;
        let places = [(&edges.sources, room, sources, source_weights), (&edges.destinations, other_room, destinations, weights)];
        for (list, room, ranks, weights) in places {
            for (k, &(rank, weight)) in list.iter().take(room.max(0) as usize).enumerate() {
                ranks.add(k).write(rank);
                if edges.is_weighted && !is_unweighted(weights) {
                    weights.add(k).write(weight);
                }
            }
        }
        Ok(())
    }
    fn MPI_Topo_test(comm: c_int, status: *mut c_int) {
        let found = running(|state| {
            Ok(match &state.comm(comm)?.topology {
                None => UNDEFINED,
                Some(Topology { graph: Some(_), .. }) => 1,
                Some(Topology { edges: Some(_), .. }) => 3,
                Some(_) => 2,
            })
        })?;
        put(status, found);
        Ok(())
    }
}

/// The edges of a node of a graph.
fn around(index: &[i32], rank: i32) -> Outcome<std::ops::Range<usize>> {
    match usize::try_from(rank).ok().filter(|&rank| rank < index.len()) {
        Some(0) => Ok(0..index[0] as usize),
        Some(rank) => Ok(index[rank - 1] as usize..index[rank] as usize),
        None => fault(class::RANK, format!("there is no rank {rank} in the graph")),
    }
}
