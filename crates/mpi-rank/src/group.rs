//! Groups: lists of ranks of the world.

use crate::call::{mpi, put, slice};
use crate::state::{
    GROUP_EMPTY, GROUP_NULL, Outcome, PROC_NULL, State, UNDEFINED, class, fault, running,
};
use std::ffi::c_int;
use std::sync::Arc;

pub fn members(state: &State, group: c_int) -> Outcome<Arc<Vec<u32>>> {
    if group == GROUP_EMPTY {
        return Ok(Arc::default());
    }
    match state.groups.get(group) {
        Some(found) => Ok(Arc::clone(found)),
        None => fault(class::GROUP, format!("{group:#x} is no group")),
    }
}

/// MPI_SIMILAR for the same ranks in another order, else MPI_UNEQUAL.
pub fn similar(a: &[u32], b: &[u32]) -> c_int {
    let sorted = |list: &[u32]| {
        let mut list = list.to_vec();
        list.sort_unstable();
        list
    };
    if sorted(a) == sorted(b) { 2 } else { 3 }
}

fn add(state: &mut State, members: Vec<u32>) -> c_int {
    if members.is_empty() { GROUP_EMPTY } else { state.groups.add(Arc::new(members)) }
}

/// Makes a group from others.
unsafe fn combine(
    one: c_int,
    other: c_int,
    new: *mut c_int,
    f: impl FnOnce(&[u32], &[u32]) -> Vec<u32>,
) -> Outcome {
    let made = running(|state| {
        let made = f(&members(state, one)?, &members(state, other)?);
        Ok(add(state, made))
    })?;
    unsafe { put(new, made) };
    Ok(())
}

/// Ranks from (first, last, stride).
unsafe fn ranges(count: c_int, at: *const [c_int; 3], size: usize) -> Outcome<Vec<usize>> {
    let mut all = Vec::new();
    for &[first, last, stride] in unsafe { slice(at, count.max(0) as usize) } {
        if stride == 0 {
            return fault(class::ARG, "a range of ranks has stride 0");
        }
        let mut rank = first;
        while if stride > 0 { rank <= last } else { rank >= last } {
            all.push(checked(rank, size)?);
            rank += stride;
        }
    }
    Ok(all)
}

fn checked(rank: c_int, size: usize) -> Outcome<usize> {
    match usize::try_from(rank).ok().filter(|&rank| rank < size) {
        Some(rank) => Ok(rank),
        None => fault(class::RANK, format!("there is no rank {rank} in the group of {size}")),
    }
}

/// Some members, or the others.
fn choose(
    group: c_int,
    keep: bool,
    pick: impl FnOnce(usize) -> Outcome<Vec<usize>>,
) -> Outcome<c_int> {
    running(|state| {
        let all = members(state, group)?;
        let picked = pick(all.len())?;
        let made = if keep {
            picked.into_iter().map(|rank| all[rank]).collect()
        } else {
            let rest = (0..all.len()).filter(|rank| !picked.contains(rank));
            rest.map(|rank| all[rank]).collect()
        };
        Ok(add(state, made))
    })
}

unsafe fn listed(count: c_int, ranks: *const c_int, size: usize) -> Outcome<Vec<usize>> {
    unsafe { slice(ranks, count.max(0) as usize) }.iter().map(|&r| checked(r, size)).collect()
}

mpi! {
    fn MPI_Group_size(group: c_int, size: *mut c_int) {
        put(size, running(|state| members(state, group))?.len() as c_int);
        Ok(())
    }
    fn MPI_Group_rank(group: c_int, rank: *mut c_int) {
        let found = running(|state| {
            let me = state.rank;
            Ok(members(state, group)?.iter().position(|&r| r == me))
        })?;
        put(rank, found.map_or(UNDEFINED, |r| r as c_int));
        Ok(())
    }
    fn MPI_Group_translate_ranks(one: c_int, count: c_int, ranks: *const c_int, other: c_int, out: *mut c_int) {
        let (a, b) = running(|state| Ok((members(state, one)?, members(state, other)?)))?;
        for (k, &rank) in slice(ranks, count.max(0) as usize).iter().enumerate() {
            let translated = if rank == PROC_NULL { PROC_NULL } else {
                let world = a[checked(rank, a.len())?];
                b.iter().position(|&r| r == world).map_or(UNDEFINED, |r| r as c_int)
            };
            out.add(k).write(translated);
        }
        Ok(())
    }
    fn MPI_Group_compare(one: c_int, other: c_int, result: *mut c_int) {
        let (a, b) = running(|state| Ok((members(state, one)?, members(state, other)?)))?;
        put(result, if a == b { 0 } else { similar(&a, &b) });
        Ok(())
    }
    fn MPI_Group_union(one: c_int, other: c_int, new: *mut c_int) {
        combine(one, other, new, |a, b| {
            a.iter().chain(b.iter().filter(|r| !a.contains(r))).copied().collect()
        })
    }
    fn MPI_Group_intersection(one: c_int, other: c_int, new: *mut c_int) {
        combine(one, other, new, |a, b| a.iter().filter(|r| b.contains(r)).copied().collect())
    }
    fn MPI_Group_difference(one: c_int, other: c_int, new: *mut c_int) {
        combine(one, other, new, |a, b| a.iter().filter(|r| !b.contains(r)).copied().collect())
    }
    fn MPI_Group_incl(group: c_int, count: c_int, ranks: *const c_int, new: *mut c_int) {
        put(new, choose(group, true, |size| listed(count, ranks, size))?);
        Ok(())
    }
    fn MPI_Group_excl(group: c_int, count: c_int, ranks: *const c_int, new: *mut c_int) {
        put(new, choose(group, false, |size| listed(count, ranks, size))?);
        Ok(())
    }
    fn MPI_Group_range_incl(group: c_int, count: c_int, list: *const [c_int; 3], new: *mut c_int) {
        put(new, choose(group, true, |size| ranges(count, list, size))?);
        Ok(())
    }
    fn MPI_Group_range_excl(group: c_int, count: c_int, list: *const [c_int; 3], new: *mut c_int) {
        put(new, choose(group, false, |size| ranges(count, list, size))?);
        Ok(())
    }
    fn MPI_Group_free(group: *mut c_int) {
        running(|state| Ok(state.groups.remove(*group)))?;
        put(group, GROUP_NULL);
        Ok(())
    }
}
