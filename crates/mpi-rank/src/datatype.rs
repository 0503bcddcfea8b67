//! Functions that make, describe and use datatypes.

use crate::call::{mpi, put, slice};
use crate::communicator::{put_text, text};
use crate::state::{DATATYPE_NULL, Outcome, Status, UNDEFINED, class, fault, running};
use crate::types::{Datatype, combiner};
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

type Aint = isize;

/// Makes a type from others, and remembers how.
unsafe fn make(
    new: *mut c_int,
    envelope: (i32, Vec<i32>, Vec<isize>, Vec<i32>),
    build: impl FnOnce(&[Arc<Datatype>]) -> Outcome<Datatype>,
) -> Outcome {
    let made = running(|state| {
        let mut parts = Vec::new();
        for &handle in &envelope.3 {
            parts.push(state.datatype(handle)?);
        }
        let mut made = build(&parts)?;
        (made.basic, made.envelope) = (0, envelope);
        Ok(state.types.add(Arc::new(made)))
    })?;
    unsafe { put(new, made) };
    Ok(())
}

fn natural(count: c_int) -> Outcome<usize> {
    match usize::try_from(count) {
        Ok(count) => Ok(count),
        Err(_) => fault(class::COUNT, format!("the count is {count}")),
    }
}

unsafe fn vector(
    (count, length, stride): (c_int, c_int, isize),
    bytes: bool,
    old: c_int,
    new: *mut c_int,
) -> Outcome {
    let (n, length_n) = (natural(count)?, natural(length)?);
    let envelope = if bytes {
        (combiner::HVECTOR, vec![count, length], vec![stride], vec![old])
    } else {
        (combiner::VECTOR, vec![count, length, stride as i32], vec![], vec![old])
    };
    unsafe {
        make(new, envelope, |parts| {
            let step = if bytes { stride } else { stride * parts[0].extent };
            let part = |k| (Arc::clone(&parts[0]), length_n, k as isize * step);
            Ok(Datatype::of((0..n).map(part)))
        })
    }
}

/// Blocks of lengths at displacements, in bytes or in elements.
unsafe fn indexed(
    kind: i32,
    lengths: Vec<c_int>,
    offsets: Vec<isize>,
    old: c_int,
    new: *mut c_int,
) -> Outcome {
    let bytes = matches!(kind, combiner::HINDEXED | combiner::HINDEXED_BLOCK);
    let count = offsets.len() as c_int;
    let block = matches!(kind, combiner::INDEXED_BLOCK | combiner::HINDEXED_BLOCK);
    let mut integers = vec![count];
    integers.extend(if block { &lengths[..lengths.len().min(1)] } else { &lengths[..] });
    let mut addresses = Vec::new();
    if bytes {
        addresses.clone_from(&offsets);
    } else {
        integers.extend(offsets.iter().map(|&o| o as c_int));
    }
    let mut whole = Vec::new();
    for length in lengths {
        whole.push(natural(length)?);
    }
    unsafe {
        make(new, (kind, integers, addresses, vec![old]), |parts| {
            let unit = if bytes { 1 } else { parts[0].extent };
            let all = whole.iter().zip(&offsets);
            Ok(Datatype::of(all.map(|(&n, &at)| (Arc::clone(&parts[0]), n, at * unit))))
        })
    }
}

unsafe fn structure(
    count: c_int,
    lengths: *const c_int,
    offsets: *const Aint,
    types: *const c_int,
    new: *mut c_int,
) -> Outcome {
    let n = natural(count)?;
    let (lengths, offsets) = unsafe { (slice(lengths, n), slice(offsets, n)) };
    let types = unsafe { slice(types, n) };
    let mut integers = vec![count];
    integers.extend(lengths);
    unsafe {
        make(new, (combiner::STRUCT, integers, offsets.to_vec(), types.to_vec()), |parts| {
            let all = parts.iter().zip(lengths).zip(offsets);
            let marked = parts.iter().any(|p| matches!(p.basic, 0x4c000010 | 0x4c000011));
            let mut made =
                Datatype::of(all.map(|((p, &n), &at)| (Arc::clone(p), n.max(0) as usize, at)));
            if !marked {
                made.align();
            }
            Ok(made)
        })
    }
}

unsafe fn resized(old: c_int, lb: Aint, extent: Aint, new: *mut c_int) -> Outcome {
    unsafe {
        make(new, (combiner::RESIZED, vec![], vec![lb, extent], vec![old]), |parts| {
            Ok(Datatype { lb, extent, ..(*parts[0]).clone() })
        })
    }
}

unsafe fn subarray(
    sizes: &[c_int],
    subsizes: &[c_int],
    starts: &[c_int],
    order: c_int,
    old: c_int,
    new: *mut c_int,
) -> Outcome {
    let n = sizes.len();
    for k in 0..n {
        if subsizes[k] < 1 || starts[k] < 0 || starts[k] + subsizes[k] > sizes[k] {
            return fault(class::ARG, format!("dimension {k} of the part leaves the array"));
        }
    }
    let mut integers = vec![n as c_int];
    [sizes, subsizes, starts].iter().for_each(|list| integers.extend_from_slice(list));
    integers.push(order);
    unsafe {
        make(new, (combiner::SUBARRAY, integers, vec![], vec![old]), |parts| {
            // Fastest dimension first.
            let fast: Vec<usize> = match order {
                57 => (0..n).collect(),
                _ => (0..n).rev().collect(),
            };
            let extent = parts[0].extent;
            let mut offsets = vec![0isize];
            let mut step = extent;
            for (turn, &k) in fast.iter().enumerate() {
                let first = starts[k] as isize * step;
                if turn == 0 {
                    offsets = vec![first];
                } else {
                    let rows = (0..subsizes[k] as isize).map(|row| first + row * step);
                    offsets = rows.flat_map(|at| offsets.iter().map(move |o| o + at)).collect();
                }
                step *= sizes[k] as isize;
            }
            let run = fast.first().map_or(1, |&k| subsizes[k] as usize);
            let all = offsets.iter().map(|&at| (Arc::clone(&parts[0]), run, at));
            let mut made = Datatype::of(all);
            (made.lb, made.extent) = (0, step);
            Ok(made)
        })
    }
}

/// The indices of a dimension of a distributed array that a process has.
fn share(
    size: c_int,
    distribution: c_int,
    argument: c_int,
    processes: c_int,
    place: c_int,
) -> Outcome<Vec<c_int>> {
    const BLOCK: c_int = 121;
    const CYCLIC: c_int = 122;
    const DEFAULT: c_int = -49767;
    let processes = processes.max(1);
    let block = match (distribution, argument) {
        (BLOCK, DEFAULT) => (size + processes - 1) / processes,
        (CYCLIC, DEFAULT) => 1,
        (BLOCK | CYCLIC, given) if given > 0 => given,
        (BLOCK | CYCLIC, given) => return fault(class::ARG, format!("blocks of {given} elements")),
        _ => return Ok((0..size).collect()),
    };
    if distribution == BLOCK && i64::from(block) * i64::from(processes) < i64::from(size) {
        return fault(class::ARG, format!("blocks of {block} do not cover {size} elements"));
    }
    Ok((0..size).filter(|index| index / block % processes == place).collect())
}

fn known(handle: c_int) -> Outcome<Arc<Datatype>> {
    running(|state| state.datatype(handle))
}

mpi! {
    fn MPI_Type_contiguous(count: c_int, old: c_int, new: *mut c_int) {
        let n = natural(count)?;
        make(new, (combiner::CONTIGUOUS, vec![count], vec![], vec![old]), |parts| {
            Ok(Datatype::of(std::iter::once((Arc::clone(&parts[0]), n, 0))))
        })
    }
    fn MPI_Type_vector(count: c_int, length: c_int, stride: c_int, old: c_int, new: *mut c_int) {
        vector((count, length, stride as isize), false, old, new)
    }
    fn MPI_Type_hvector(count: c_int, length: c_int, stride: Aint, old: c_int, new: *mut c_int) {
        vector((count, length, stride), true, old, new)
    }
    fn MPI_Type_create_hvector(count: c_int, length: c_int, stride: Aint, old: c_int, new: *mut c_int) {
        vector((count, length, stride), true, old, new)
    }
    fn MPI_Type_indexed(count: c_int, lengths: *const c_int, offsets: *const c_int, old: c_int, new: *mut c_int) {
        let n = natural(count)?;
        let offsets = slice(offsets, n).iter().map(|&o| o as isize).collect();
        indexed(combiner::INDEXED, slice(lengths, n).to_vec(), offsets, old, new)
    }
    fn MPI_Type_hindexed(count: c_int, lengths: *const c_int, offsets: *const Aint, old: c_int, new: *mut c_int) {
        let n = natural(count)?;
        indexed(combiner::HINDEXED, slice(lengths, n).to_vec(), slice(offsets, n).to_vec(), old, new)
    }
    fn MPI_Type_create_hindexed(count: c_int, lengths: *const c_int, offsets: *const Aint, old: c_int, new: *mut c_int) {
        let n = natural(count)?;
        indexed(combiner::HINDEXED, slice(lengths, n).to_vec(), slice(offsets, n).to_vec(), old, new)
    }
    fn MPI_Type_create_indexed_block(count: c_int, length: c_int, offsets: *const c_int, old: c_int, new: *mut c_int) {
        let n = natural(count)?;
        let offsets = slice(offsets, n).iter().map(|&o| o as isize).collect();
        indexed(combiner::INDEXED_BLOCK, vec![length; n], offsets, old, new)
    }
    fn MPI_Type_create_hindexed_block(count: c_int, length: c_int, offsets: *const Aint, old: c_int, new: *mut c_int) {
        let n = natural(count)?;
        indexed(combiner::HINDEXED_BLOCK, vec![length; n], slice(offsets, n).to_vec(), old, new)
    }
    fn MPI_Type_struct(count: c_int, lengths: *const c_int, offsets: *const Aint, types: *const c_int, new: *mut c_int) {
        structure(count, lengths, offsets, types, new)
    }
    fn MPI_Type_create_struct(count: c_int, lengths: *const c_int, offsets: *const Aint, types: *const c_int, new: *mut c_int) {
        structure(count, lengths, offsets, types, new)
    }
    fn MPI_Type_create_resized(old: c_int, lb: Aint, extent: Aint, new: *mut c_int) {
        resized(old, lb, extent, new)
    }
    fn MPI_Type_create_subarray(ndims: c_int, sizes: *const c_int, subsizes: *const c_int, starts: *const c_int, order: c_int, old: c_int, new: *mut c_int) {
        let n = natural(ndims)?;
        subarray(slice(sizes, n), slice(subsizes, n), slice(starts, n), order, old, new)
    }
    fn MPI_Type_dup(old: c_int, new: *mut c_int) {
        make(new, (combiner::DUP, vec![], vec![], vec![old]), |parts| {
            Ok(Datatype { name: String::new(), ..(*parts[0]).clone() })
        })?;
        crate::attributes::copy(old, *new)
    }
    fn MPI_Type_commit(datatype: *mut c_int) { known(*datatype).map(|_| ()) }
    fn MPI_Type_free(datatype: *mut c_int) {
        crate::attributes::delete_all(*datatype)?;
        running(|state| match state.types.remove(*datatype) {
            Some(_) => Ok(()),
            None => fault(class::TYPE, "there is no such datatype to free"),
        })?;
        put(datatype, DATATYPE_NULL);
        Ok(())
    }
    fn MPI_Type_create_darray(size: c_int, rank: c_int, ndims: c_int, sizes: *const c_int, distributions: *const c_int, arguments: *const c_int, processes: *const c_int, order: c_int, old: c_int, new: *mut c_int) {
        let n = natural(ndims)?;
        let (sizes, distributions) = (slice(sizes, n), slice(distributions, n));
        let (arguments, processes) = (slice(arguments, n), slice(processes, n));
        let mut integers = vec![size, rank, ndims];
        [sizes, distributions, arguments, processes].iter().for_each(|list| integers.extend_from_slice(list));
        integers.push(order);
        make(new, (combiner::DARRAY, integers, vec![], vec![old]), |parts| {
            // Ranks are laid out as in a Cartesian grid, the last dimension fastest.
            let mut rest = rank;
            let mut place = vec![0; n];
            for k in (0..n).rev() {
                place[k] = rest % processes[k].max(1);
                rest /= processes[k].max(1);
            }
            let mut owned = Vec::new();
            for k in 0..n {
                owned.push(share(sizes[k], distributions[k], arguments[k], processes[k], place[k])?);
            }
            let fast: Vec<usize> = if order == 57 { (0..n).collect() } else { (0..n).rev().collect() };
            let extent = parts[0].extent;
            let mut offsets = vec![0isize];
            let mut step = extent;
            for &k in &fast {
                let rows = owned[k].iter().map(|&row| row as isize * step);
                offsets = rows.flat_map(|at| offsets.iter().map(move |o| o + at)).collect();
                step *= sizes[k] as isize;
            }
            let mut made = Datatype::of(offsets.iter().map(|&at| (Arc::clone(&parts[0]), 1, at)));
            (made.lb, made.extent) = (0, step);
            Ok(made)
        })
    }
    fn MPI_Type_size(datatype: c_int, size: *mut c_int) {
        put(size, known(datatype)?.size as c_int);
        Ok(())
    }
    fn MPI_Type_size_x(datatype: c_int, size: *mut i64) {
        put(size, known(datatype)?.size as i64);
        Ok(())
    }
    fn MPI_Type_extent(datatype: c_int, extent: *mut Aint) {
        put(extent, known(datatype)?.extent);
        Ok(())
    }
    fn MPI_Type_lb(datatype: c_int, lb: *mut Aint) {
        put(lb, known(datatype)?.lb);
        Ok(())
    }
    fn MPI_Type_ub(datatype: c_int, ub: *mut Aint) {
        let found = known(datatype)?;
        put(ub, found.lb + found.extent);
        Ok(())
    }
    fn MPI_Type_get_extent(datatype: c_int, lb: *mut Aint, extent: *mut Aint) {
        let found = known(datatype)?;
        put(lb, found.lb);
        put(extent, found.extent);
        Ok(())
    }
    fn MPI_Type_get_extent_x(datatype: c_int, lb: *mut Aint, extent: *mut Aint) {
        let found = known(datatype)?;
        put(lb, found.lb);
        put(extent, found.extent);
        Ok(())
    }
    fn MPI_Type_get_true_extent(datatype: c_int, lb: *mut Aint, extent: *mut Aint) {
        let (low, high) = known(datatype)?.true_bounds();
        put(lb, low);
        put(extent, high - low);
        Ok(())
    }
    fn MPI_Type_get_envelope(datatype: c_int, integers: *mut c_int, addresses: *mut c_int, types: *mut c_int, kind: *mut c_int) {
        let found = known(datatype)?;
        let named = found.envelope.0 == combiner::NAMED;
        put(integers, found.envelope.1.len() as c_int);
        put(addresses, found.envelope.2.len() as c_int);
        put(types, if named { 0 } else { found.envelope.3.len() as c_int });
        put(kind, found.envelope.0);
        Ok(())
    }
    fn MPI_Type_get_contents(datatype: c_int, integers: c_int, addresses: c_int, types: c_int, to_integers: *mut c_int, to_addresses: *mut Aint, to_types: *mut c_int) {
        let found = known(datatype)?;
        if found.envelope.0 == combiner::NAMED {
            return fault(class::TYPE, "a predefined datatype has no contents");
        }
        for (k, &value) in found.envelope.1.iter().take(integers.max(0) as usize).enumerate() {
            to_integers.add(k).write(value);
        }
        for (k, &value) in found.envelope.2.iter().take(addresses.max(0) as usize).enumerate() {
            to_addresses.add(k).write(value);
        }
        for (k, &value) in found.envelope.3.iter().take(types.max(0) as usize).enumerate() {
            to_types.add(k).write(value);
        }
        Ok(())
    }
    fn MPI_Type_set_name(datatype: c_int, name: *const c_char) {
        let name = text(name);
        running(|state| {
            let mut made = (*state.datatype(datatype)?).clone();
            made.name = name;
            if let Some(place) = state.types.get_mut(datatype) {
                *place = Arc::new(made);
            }
            Ok(())
        })
    }
    fn MPI_Type_get_name(datatype: c_int, name: *mut c_char, length: *mut c_int) {
        put_text(&known(datatype)?.name, name, 128, length);
        Ok(())
    }
    fn MPI_Get_count(status: *const Status, datatype: c_int, count: *mut c_int) {
        let (bytes, size) = ((*status).bytes(), known(datatype)?.size as u64);
        let found = match size {
            0 if bytes == 0 => 0,
            0 => UNDEFINED,
            _ if bytes % size != 0 => UNDEFINED,
            _ => c_int::try_from(bytes / size).unwrap_or(UNDEFINED),
        };
        put(count, found);
        Ok(())
    }
    fn MPI_Get_elements(status: *const Status, datatype: c_int, count: *mut c_int) {
        let found = known(datatype)?.elements((*status).bytes());
        put(count, found.and_then(|n| c_int::try_from(n).ok()).unwrap_or(UNDEFINED));
        Ok(())
    }
    fn MPI_Get_elements_x(status: *const Status, datatype: c_int, count: *mut i64) {
        let found = known(datatype)?.elements((*status).bytes());
        put(count, found.map_or(i64::from(UNDEFINED), |n| n as i64));
        Ok(())
    }
    fn MPI_Status_set_elements(status: *mut Status, datatype: c_int, count: c_int) {
        let bytes = known(datatype)?.size as u64 * natural(count)? as u64;
        let set = Status::of((*status).source, (*status).tag, bytes);
        ((*status).count_lo, (*status).count_hi) = (set.count_lo, set.count_hi | (*status).count_hi & 1);
        Ok(())
    }
    fn MPI_Pack(from: *const c_void, count: c_int, datatype: c_int, to: *mut c_void, room: c_int, at: *mut c_int, _comm: c_int) {
        let mut packed = Vec::new();
        known(datatype)?.pack(from, natural(count)?, &mut packed);
        let begin = natural(*at)?;
        if begin + packed.len() > natural(room)? {
            return fault(class::TRUNCATE, format!("{} bytes do not fit the buffer", packed.len()));
        }
        std::ptr::copy_nonoverlapping(packed.as_ptr(), to.cast::<u8>().add(begin), packed.len());
        put(at, (begin + packed.len()) as c_int);
        Ok(())
    }
    fn MPI_Unpack(from: *const c_void, size: c_int, at: *mut c_int, to: *mut c_void, count: c_int, datatype: c_int, _comm: c_int) {
        let (found, begin, count) = (known(datatype)?, natural(*at)?, natural(count)?);
        let end = begin + count * found.size;
        if end > natural(size)? {
            return fault(class::TRUNCATE, "the buffer has fewer bytes than are unpacked");
        }
        let packed = std::slice::from_raw_parts(from.cast::<u8>().add(begin), end - begin);
        found.unpack(packed, to, count);
        put(at, end as c_int);
        Ok(())
    }
    fn MPI_Pack_size(count: c_int, datatype: c_int, _comm: c_int, size: *mut c_int) {
        put(size, (natural(count)? * known(datatype)?.size) as c_int);
        Ok(())
    }
    fn MPI_Type_get_true_extent_x(datatype: c_int, lb: *mut Aint, extent: *mut Aint) {
        let (low, high) = known(datatype)?.true_bounds();
        put(lb, low);
        put(extent, high - low);
        Ok(())
    }
    fn MPI_Status_set_elements_x(status: *mut Status, datatype: c_int, count: i64) {
        let bytes = known(datatype)?.size as u64 * count.max(0) as u64;
        let set = Status::of((*status).source, (*status).tag, bytes);
        ((*status).count_lo, (*status).count_hi) = (set.count_lo, set.count_hi | (*status).count_hi & 1);
        Ok(())
    }
    fn MPI_Pack_external_size(_kind: *const c_char, count: c_int, datatype: c_int, size: *mut Aint) {
        put(size, (natural(count)? * known(datatype)?.size) as Aint);
        Ok(())
    }
    fn MPI_Pack_external(_kind: *const c_char, from: *const c_void, count: c_int, datatype: c_int, to: *mut c_void, room: Aint, at: *mut Aint) {
        let (found, count) = (known(datatype)?, natural(count)?);
        let mut packed = Vec::new();
        found.pack(from, count, &mut packed);
        found.swap(&mut packed);
        if *at < 0 || *at + packed.len() as Aint > room {
            return fault(class::TRUNCATE, format!("{} bytes do not fit the buffer", packed.len()));
        }
        std::ptr::copy_nonoverlapping(packed.as_ptr(), to.cast::<u8>().offset(*at), packed.len());
        *at += packed.len() as Aint;
        Ok(())
    }
    fn MPI_Unpack_external(_kind: *const c_char, from: *const c_void, size: Aint, at: *mut Aint, to: *mut c_void, count: c_int, datatype: c_int) {
        let (found, count) = (known(datatype)?, natural(count)?);
        let length = count * found.size;
        if *at < 0 || *at + length as Aint > size {
            return fault(class::TRUNCATE, "the buffer has fewer bytes than are unpacked");
        }
        let mut packed = std::slice::from_raw_parts(from.cast::<u8>().offset(*at), length).to_vec();
        found.swap(&mut packed);
        found.unpack(&packed, to, count);
        *at += length as Aint;
        Ok(())
    }
    fn MPI_Type_create_f90_real(digits: c_int, exponent: c_int, new: *mut c_int) {
        let handle = match (digits, exponent) {
            (d, r) if (d == UNDEFINED || d <= 6) && (r == UNDEFINED || r <= 37) => 0x4c00_041c,
            (d, r) if (d == UNDEFINED || d <= 15) && (r == UNDEFINED || r <= 307) => 0x4c00_081f,
            _ => return fault(class::ARG, "there is no such real type"),
        };
        put(new, handle);
        Ok(())
    }
    fn MPI_Type_create_f90_complex(digits: c_int, exponent: c_int, new: *mut c_int) {
        let handle = match (digits, exponent) {
            (d, r) if (d == UNDEFINED || d <= 6) && (r == UNDEFINED || r <= 37) => 0x4c00_081e,
            (d, r) if (d == UNDEFINED || d <= 15) && (r == UNDEFINED || r <= 307) => 0x4c00_1022,
            _ => return fault(class::ARG, "there is no such complex type"),
        };
        put(new, handle);
        Ok(())
    }
    fn MPI_Type_create_f90_integer(digits: c_int, new: *mut c_int) {
        let handle = match digits {
            ..=2 => 0x4c00_012d,
            3..=4 => 0x4c00_022f,
            5..=9 => 0x4c00_0430,
            10..=18 => 0x4c00_0831,
            _ => return fault(class::ARG, "there is no such integer type"),
        };
        put(new, handle);
        Ok(())
    }
    fn MPI_Get_address(location: *const c_void, address: *mut Aint) {
        put(address, location as isize);
        Ok(())
    }
    fn MPI_Address(location: *mut c_void, address: *mut Aint) {
        put(address, location as isize);
        Ok(())
    }
    fn MPI_Type_match_size(kind: c_int, size: c_int, datatype: *mut c_int) {
        let handle: u32 = match (kind, size) {
            (1, 4) => 0x4c000427,
            (1, 8) => 0x4c000829,
            (1, 16) => 0x4c00102b,
            (2, 1) => 0x4c00012d,
            (2, 2) => 0x4c00022f,
            (2, 4) => 0x4c000430,
            (2, 8) => 0x4c000831,
            (3, 8) => 0x4c000828,
            (3, 16) => 0x4c00102a,
            _ => return fault(class::ARG, "there is no datatype of this class and size"),
        };
        put(datatype, handle as c_int);
        Ok(())
    }
}

/// Adds a displacement to an address.
#[unsafe(no_mangle)]
pub extern "C" fn MPI_Aint_add(base: Aint, displacement: Aint) -> Aint {
    base.wrapping_add(displacement)
}

/// Difference of two addresses.
#[unsafe(no_mangle)]
pub extern "C" fn MPI_Aint_diff(one: Aint, other: Aint) -> Aint {
    one.wrapping_sub(other)
}

/// Profiling name of [`MPI_Aint_add`].
#[unsafe(no_mangle)]
pub extern "C" fn PMPI_Aint_add(base: Aint, displacement: Aint) -> Aint {
    MPI_Aint_add(base, displacement)
}

/// Profiling name of [`MPI_Aint_diff`].
#[unsafe(no_mangle)]
pub extern "C" fn PMPI_Aint_diff(one: Aint, other: Aint) -> Aint {
    MPI_Aint_diff(one, other)
}
