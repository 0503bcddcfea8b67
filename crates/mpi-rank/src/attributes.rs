//! Attributes of communicators, datatypes and windows.

use crate::call::{mpi, put};
use crate::state::{
    COMM_WORLD, Callbacks, CopyFunction, DeleteFunction, Fault, KEYVAL_INVALID, Keyval, Outcome,
    SUCCESS, TAG_UB, class, fault, running,
};
use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicI32;

/// Values of predefined attributes, which programs read through pointers.
static TAG_BOUND: AtomicI32 = AtomicI32::new(TAG_UB);
static HOST: AtomicI32 = AtomicI32::new(-1);
static IO: AtomicI32 = AtomicI32::new(-2);
static GLOBAL: AtomicI32 = AtomicI32::new(1);
static UNIVERSE: AtomicI32 = AtomicI32::new(0);
static LAST_CODE: AtomicI32 = AtomicI32::new(0x3fff_ffff);
static APPLICATION: AtomicI32 = AtomicI32::new(0);

/// Predefined attributes; Fortran's keys are one more than C's.
pub fn predefined(key: c_int) -> Option<*mut c_int> {
    let place = match key.wrapping_sub(1) & !1 {
        0x6440_0000 => &TAG_BOUND,
        0x6440_0002 => &HOST,
        0x6440_0004 => &IO,
        0x6440_0006 => &GLOBAL,
        0x6440_0008 => &UNIVERSE,
        0x6440_000a => &LAST_CODE,
        0x6440_000c => &APPLICATION,
        _ => return None,
    };
    Some(place.as_ptr())
}

/// Copies attributes to a duplicate, as their keys say.
pub fn copy(from: c_int, to: c_int) -> Outcome {
    let mut all = running(|state| {
        let all: Vec<(i32, usize)> =
            state.attributes(from)?.iter().map(|(&k, &v)| (k, v)).collect();
        Ok(all.into_iter().map(|(k, v)| (k, v, state.keyvals.get(k).copied())).collect::<Vec<_>>())
    })?;
    all.sort_by_key(|entry| entry.0);
    for (key, value, keyval) in all {
        let Some(Keyval { callbacks, extra, .. }) = keyval else { continue };
        let (mut new, mut flag) = (value, 0);
        // SAFETY: the program gave these functions for attributes.
        let code = unsafe {
            match callbacks {
                Callbacks::C(None, _) => continue,
                Callbacks::C(Some(copy), _) => {
                    let (extra, value) = (extra as *mut c_void, value as *mut c_void);
                    copy(from, key, extra, value, (&raw mut new).cast(), &mut flag)
                }
                Callbacks::Fortran(copy, _) => {
                    let (mut from, mut key, mut extra) = (from, key, extra as isize);
                    let (mut old, mut made, mut code) = (value as isize, 0, SUCCESS);
                    copy(
                        &mut from, &mut key, &mut extra, &mut old, &mut made, &mut flag, &mut code,
                    );
                    new = made as usize;
                    code
                }
            }
        };
        if code != SUCCESS {
            let text = "an attribute was not copied".into();
            return Err(Fault { class: code, comm: from, text });
        }
        if flag != 0 {
            running(|state| {
                state.attributes(to)?.insert(key, new);
                Ok(())
            })?;
        }
    }
    Ok(())
}

fn delete(comm: c_int, key: c_int, value: usize) -> Outcome {
    let keyval = running(|state| Ok(state.keyvals.get(key).copied()))?;
    let Some(Keyval { callbacks, extra, .. }) = keyval else { return Ok(()) };
    // SAFETY: the program gave these functions for attributes.
    let code = unsafe {
        match callbacks {
            Callbacks::C(_, None) => SUCCESS,
            Callbacks::C(_, Some(delete)) => {
                delete(comm, key, value as *mut c_void, extra as *mut c_void)
            }
            Callbacks::Fortran(_, delete) => {
                let (mut comm, mut key, mut code) = (comm, key, SUCCESS);
                let (mut value, mut extra) = (value as isize, extra as isize);
                delete(&mut comm, &mut key, &mut value, &mut extra, &mut code);
                code
            }
        }
    };
    if code != SUCCESS {
        return Err(Fault { class: code, comm, text: "an attribute was not deleted".into() });
    }
    Ok(())
}

/// Deletes the attributes of an object that goes.
pub fn delete_all(comm: c_int) -> Outcome {
    let mut all: Vec<(i32, usize)> =
        running(|state| Ok(state.attributes(comm)?.drain().collect()))?;
    all.sort_unstable();
    for (key, value) in all {
        delete(comm, key, value)?;
    }
    Ok(())
}

pub fn new_key(callbacks: Callbacks, extra: *mut c_void) -> Outcome<c_int> {
    let extra = extra as usize;
    running(|state| Ok(state.keyvals.add(Keyval { callbacks, extra, freed: false })))
}

pub fn set(comm: c_int, key: c_int, value: usize) -> Outcome {
    let before = running(|state| {
        if state.keyvals.get(key).is_none_or(|k| k.freed) {
            return fault(class::KEYVAL, format!("{key:#x} is no key of an attribute"));
        }
        Ok(state.attributes(comm)?.get(&key).copied())
    })?;
    if let Some(before) = before {
        delete(comm, key, before)?;
    }
    running(|state| {
        state.attributes(comm)?.insert(key, value);
        Ok(())
    })
}

pub fn get(comm: c_int, key: c_int) -> Outcome<Option<usize>> {
    if let Some(place) = predefined(key) {
        if key.wrapping_sub(1) & !1 == 0x6440_0008 {
            let size = running(|state| Ok(state.size))?;
            UNIVERSE.store(size as i32, std::sync::atomic::Ordering::Relaxed);
        }
        return Ok(Some(place as usize));
    }
    running(|state| {
        if state.keyvals.get(key).is_none() {
            return fault(class::KEYVAL, format!("{key:#x} is no key of an attribute"));
        }
        Ok(state.attributes(comm)?.get(&key).copied())
    })
}

pub fn remove(comm: c_int, key: c_int) -> Outcome {
    let value = running(|state| Ok(state.attributes(comm)?.get(&key).copied()))?;
    let Some(value) = value else { return fault(class::KEYVAL, "there is no such attribute") };
    delete(comm, key, value)?;
    running(|state| {
        state.attributes(comm)?.remove(&key);
        Ok(())
    })
}

unsafe fn free_key(key: *mut c_int) -> Outcome {
    running(|state| {
        match state.keyvals.get_mut(unsafe { *key }) {
            Some(keyval) => keyval.freed = true,
            None => return fault(class::KEYVAL, "there is no such key to free"),
        }
        Ok(())
    })?;
    unsafe { put(key, KEYVAL_INVALID) };
    Ok(())
}

unsafe fn put_found(found: Option<usize>, value: *mut c_void, flag: *mut c_int) -> Outcome {
    unsafe {
        put(flag, found.is_some().into());
        if let Some(found) = found {
            put(value.cast::<usize>(), found);
        }
    }
    Ok(())
}

mpi! {
    fn MPI_Comm_create_keyval(copy: Option<CopyFunction>, delete: Option<DeleteFunction>, key: *mut c_int, extra: *mut c_void) {
        put(key, new_key(Callbacks::C(copy, delete), extra)?);
        Ok(())
    }
    fn MPI_Keyval_create(copy: Option<CopyFunction>, delete: Option<DeleteFunction>, key: *mut c_int, extra: *mut c_void) {
        put(key, new_key(Callbacks::C(copy, delete), extra)?);
        Ok(())
    }
    fn MPI_Type_create_keyval(copy: Option<CopyFunction>, delete: Option<DeleteFunction>, key: *mut c_int, extra: *mut c_void) {
        put(key, new_key(Callbacks::C(copy, delete), extra)?);
        Ok(())
    }
    fn MPI_Type_free_keyval(key: *mut c_int) { free_key(key) }
    fn MPI_Type_set_attr(handle: c_int, key: c_int, value: *mut c_void) { set(handle, key, value as usize) }
    fn MPI_Type_delete_attr(handle: c_int, key: c_int) { remove(handle, key) }
    fn MPI_Win_create_keyval(copy: Option<CopyFunction>, delete: Option<DeleteFunction>, key: *mut c_int, extra: *mut c_void) {
        put(key, new_key(Callbacks::C(copy, delete), extra)?);
        Ok(())
    }
    fn MPI_Win_free_keyval(key: *mut c_int) { free_key(key) }
    fn MPI_Win_set_attr(handle: c_int, key: c_int, value: *mut c_void) { set(handle, key, value as usize) }
    fn MPI_Win_delete_attr(handle: c_int, key: c_int) { remove(handle, key) }
    fn MPI_Type_get_attr(datatype: c_int, key: c_int, value: *mut c_void, flag: *mut c_int) {
        put_found(get(datatype, key)?, value, flag)
    }
    fn MPI_Comm_free_keyval(key: *mut c_int) { free_key(key) }
    fn MPI_Keyval_free(key: *mut c_int) { free_key(key) }
    fn MPI_Comm_set_attr(comm: c_int, key: c_int, value: *mut c_void) { set(comm, key, value as usize) }
    fn MPI_Attr_put(comm: c_int, key: c_int, value: *mut c_void) { set(comm, key, value as usize) }
    fn MPI_Comm_get_attr(comm: c_int, key: c_int, value: *mut c_void, flag: *mut c_int) {
        put_found(get(comm, key)?, value, flag)
    }
    fn MPI_Attr_get(comm: c_int, key: c_int, value: *mut c_void, flag: *mut c_int) {
        put_found(get(comm, key)?, value, flag)
    }
    fn MPI_Comm_delete_attr(comm: c_int, key: c_int) { remove(comm, key) }
    fn MPI_Attr_delete(comm: c_int, key: c_int) { remove(comm, key) }
}

/// Copies an attribute as it is: MPI_DUP_FN.
///
/// # Safety
/// As for every function that copies attributes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIR_Dup_fn(
    _comm: c_int,
    _key: c_int,
    _extra: *mut c_void,
    value: *mut c_void,
    new: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    let _ = COMM_WORLD;
    unsafe {
        put(new.cast::<*mut c_void>(), value);
        put(flag, 1);
    }
    SUCCESS
}
