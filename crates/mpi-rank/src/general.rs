//! Initialisation and end, errors, info objects, names. Sizes of texts (128, 256, 512, 8192) and handles are those of
//! MPICH's `mpi.h`.

use crate::call::{abort, mpi, put};
use crate::communicator::{put_text, text};
use crate::state::{
    ERRORS_ABORT, ERRORS_ARE_FATAL, ERRORS_RETURN, INFO_NULL, Outcome, Phase, State, Status, class,
    fault, running, with,
};
use std::ffi::{c_char, c_int, c_void};

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn free(at: *mut c_void);
}

/// First code of the error classes and codes that a program adds.
const FIRST_OWN_ERROR: i32 = 0x1000_0000;

fn begin(level: c_int) -> Outcome {
    with(|state| match state.phase {
        Phase::Before => {
            state.thread_level = level;
            state.connect()
        }
        _ => fault(class::OTHER, "MPI_Init was called before"),
    })
}

/// The text of an error class, by MPICH's number.
fn class_text(code: c_int) -> &'static str {
    match code {
        0 => "No MPI error",
        1 => "Invalid buffer pointer",
        2 => "Invalid count argument",
        3 => "Invalid datatype argument",
        4 => "Invalid tag argument",
        5 => "Invalid communicator",
        6 => "Invalid rank argument",
        7 => "Invalid root",
        8 => "Invalid group",
        9 => "Invalid MPI operation",
        10 => "Invalid topology",
        11 => "Invalid dimension argument",
        12 => "Invalid argument",
        13 => "Unknown error",
        14 => "Message truncated on receive",
        15 => "Other MPI error",
        16 => "Internal MPI error",
        17 => "Error code is in the status",
        18 => "Pending request",
        19 => "Invalid request handle",
        28 => "Invalid info argument",
        31 => "Unknown info key",
        45 => "Invalid window",
        48 => "Invalid key of an attribute",
        _ => "Error",
    }
}

fn info(state: &mut State, handle: c_int) -> Outcome<&mut Vec<(String, String)>> {
    match handle {
        // MPI_INFO_ENV, which is empty here.
        0x5c00_0001 => Ok(&mut state.environment),
        _ => known_info(state, handle),
    }
}

fn known_info(state: &mut State, handle: c_int) -> Outcome<&mut Vec<(String, String)>> {
    match state.infos.get_mut(handle) {
        Some(found) => Ok(found),
        None => fault(class::INFO, format!("{handle:#x} is no info object")),
    }
}

fn info_get(handle: c_int, key: &str) -> Outcome<Option<String>> {
    running(|state| {
        let found = info(state, handle)?.iter().find(|(known, _)| known == key);
        Ok(found.map(|(_, value)| value.clone()))
    })
}

fn set_handler(comm: c_int, handler: c_int) -> Outcome {
    running(|state| {
        let known = matches!(handler, ERRORS_ARE_FATAL | ERRORS_RETURN | ERRORS_ABORT);
        if !known && state.errhandlers.get(handler).is_none() {
            return fault(class::ARG, format!("{handler:#x} is no error handler"));
        }
        state.comm_mut(comm)?.errhandler = handler;
        Ok(())
    })
}

fn new_handler(function: *mut c_void) -> Outcome<c_int> {
    let function = function as usize;
    running(|state| Ok(state.errhandlers.add(function)))
}

mpi! {
    fn MPI_Init(_argc: *mut c_int, _argv: *mut *mut *mut c_char) { begin(0) }
    fn MPI_Init_thread(_argc: *mut c_int, _argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int) {
        // At most MPI_THREAD_SERIALIZED (2): one thread at a time may be in MPI.
        begin(required.min(2))?;
        put(provided, required.min(2));
        Ok(())
    }
    fn MPI_Finalize() {
        // Attributes of MPI_COMM_SELF are deleted first, as the standard demands: libraries clean up in their callbacks.
        crate::attributes::delete_all(crate::state::COMM_SELF)?;
        running(State::leave)
    }
    fn MPI_Initialized(flag: *mut c_int) {
        put(flag, with(|state| state.phase != Phase::Before).into());
        Ok(())
    }
    fn MPI_Finalized(flag: *mut c_int) {
        put(flag, with(|state| state.phase == Phase::After).into());
        Ok(())
    }
    fn MPI_Abort(_comm: c_int, code: c_int) { abort(code, &format!("called MPI_Abort with code {code}")) }
    fn MPI_Query_thread(provided: *mut c_int) {
        put(provided, with(|state| state.thread_level));
        Ok(())
    }
    fn MPI_Is_thread_main(flag: *mut c_int) {
        put(flag, 1);
        Ok(())
    }
    fn MPI_Get_processor_name(name: *mut c_char, length: *mut c_int) {
        put_text(&running(|state| Ok(state.host.clone()))?, name, 128, length);
        Ok(())
    }
    fn MPI_Get_version(version: *mut c_int, subversion: *mut c_int) {
        put(version, 3);
        put(subversion, 1);
        Ok(())
    }
    fn MPI_Get_library_version(version: *mut c_char, length: *mut c_int) {
        put_text(concat!("Slackline ", env!("CARGO_PKG_VERSION")), version, 8192, length);
        Ok(())
    }
    fn MPI_Error_class(code: c_int, found: *mut c_int) {
        let own = with(|state| state.error_strings.get(&code).map(|(class, _)| *class));
        put(found, own.unwrap_or(code));
        Ok(())
    }
    fn MPI_Error_string(code: c_int, to: *mut c_char, length: *mut c_int) {
        let own = with(|state| state.error_strings.get(&code).map(|(_, text)| text.clone()));
        put_text(own.as_deref().unwrap_or(class_text(code)), to, 512, length);
        Ok(())
    }
    fn MPI_Add_error_class(new: *mut c_int) {
        put(new, running(|state| {
            let code = FIRST_OWN_ERROR + state.error_strings.len() as i32;
            state.error_strings.insert(code, (code, String::new()));
            Ok(code)
        })?);
        Ok(())
    }
    fn MPI_Add_error_code(class: c_int, new: *mut c_int) {
        put(new, running(|state| {
            let code = FIRST_OWN_ERROR + state.error_strings.len() as i32;
            state.error_strings.insert(code, (class, String::new()));
            Ok(code)
        })?);
        Ok(())
    }
    fn MPI_Add_error_string(code: c_int, string: *const c_char) {
        let string = text(string);
        running(|state| {
            if let Some(entry) = state.error_strings.get_mut(&code) {
                entry.1 = string;
            }
            Ok(())
        })
    }
    fn MPI_Comm_create_errhandler(function: *mut c_void, handler: *mut c_int) {
        put(handler, new_handler(function)?);
        Ok(())
    }
    fn MPI_Errhandler_create(function: *mut c_void, handler: *mut c_int) {
        put(handler, new_handler(function)?);
        Ok(())
    }
    fn MPI_Comm_set_errhandler(comm: c_int, handler: c_int) { set_handler(comm, handler) }
    fn MPI_Errhandler_set(comm: c_int, handler: c_int) { set_handler(comm, handler) }
    fn MPI_Comm_get_errhandler(comm: c_int, handler: *mut c_int) {
        put(handler, running(|state| state.comm(comm).map(|c| c.errhandler))?);
        Ok(())
    }
    fn MPI_Errhandler_get(comm: c_int, handler: *mut c_int) {
        put(handler, running(|state| state.comm(comm).map(|c| c.errhandler))?);
        Ok(())
    }
    fn MPI_Errhandler_free(handler: *mut c_int) {
        // Communicators may still have it: the entry stays. The handle becomes MPI_ERRHANDLER_NULL.
        put(handler, 0x1400_0000);
        Ok(())
    }
    fn MPI_Comm_call_errhandler(comm: c_int, code: c_int) {
        Err(crate::state::Fault { class: code, comm, text: format!("error {code} was reported") })
    }
    fn MPI_Info_create(new: *mut c_int) {
        put(new, running(|state| Ok(state.infos.add(Vec::new())))?);
        Ok(())
    }
    fn MPI_Info_dup(old: c_int, new: *mut c_int) {
        put(new, running(|state| {
            let copy = info(state, old)?.clone();
            Ok(state.infos.add(copy))
        })?);
        Ok(())
    }
    fn MPI_Info_free(handle: *mut c_int) {
        running(|state| Ok(state.infos.remove(*handle)))?;
        put(handle, INFO_NULL);
        Ok(())
    }
    fn MPI_Info_set(handle: c_int, key: *const c_char, value: *const c_char) {
        let (key, value) = (text(key), text(value));
        running(|state| {
            let all = info(state, handle)?;
            match all.iter_mut().find(|(known, _)| *known == key) {
                Some(entry) => entry.1 = value,
                None => all.push((key, value)),
            }
            Ok(())
        })
    }
    fn MPI_Info_get(handle: c_int, key: *const c_char, room: c_int, value: *mut c_char, flag: *mut c_int) {
        let found = info_get(handle, &text(key))?;
        put(flag, found.is_some().into());
        if let Some(found) = found {
            put_text(&found, value, room.max(0) as usize + 1, std::ptr::null_mut());
        }
        Ok(())
    }
    fn MPI_Info_get_valuelen(handle: c_int, key: *const c_char, length: *mut c_int, flag: *mut c_int) {
        let found = info_get(handle, &text(key))?;
        put(flag, found.is_some().into());
        if let Some(found) = found {
            put(length, found.len() as c_int);
        }
        Ok(())
    }
    fn MPI_Info_get_string(handle: c_int, key: *const c_char, room: *mut c_int, value: *mut c_char, flag: *mut c_int) {
        let found = info_get(handle, &text(key))?;
        put(flag, found.is_some().into());
        if let Some(found) = found {
            if *room > 0 {
                put_text(&found, value, *room as usize, std::ptr::null_mut());
            }
            put(room, found.len() as c_int + 1);
        }
        Ok(())
    }
    fn MPI_Info_create_env(_argc: c_int, _argv: *mut *mut c_char, new: *mut c_int) {
        put(new, running(|state| Ok(state.infos.add(Vec::new())))?);
        Ok(())
    }
    fn MPI_Status_c2f(from: *const Status, to: *mut Status) {
        put(to, *from);
        Ok(())
    }
    fn MPI_Status_f2c(from: *const Status, to: *mut Status) {
        put(to, *from);
        Ok(())
    }
    fn MPI_Info_delete(handle: c_int, key: *const c_char) {
        let key = text(key);
        running(|state| {
            let all = info(state, handle)?;
            match all.iter().position(|(known, _)| *known == key) {
                Some(at) => {
                    all.remove(at);
                    Ok(())
                }
                None => fault(class::INFO_NOKEY, format!("there is no key `{key}`")),
            }
        })
    }
    fn MPI_Info_get_nkeys(handle: c_int, count: *mut c_int) {
        put(count, running(|state| Ok(info(state, handle)?.len()))? as c_int);
        Ok(())
    }
    fn MPI_Info_get_nthkey(handle: c_int, n: c_int, key: *mut c_char) {
        let found = running(|state| Ok(info(state, handle)?.get(n as usize).cloned()))?;
        match found {
            Some((found, _)) => put_text(&found, key, 256, std::ptr::null_mut()),
            None => return fault(class::ARG, format!("there is no key number {n}")),
        }
        Ok(())
    }
    fn MPI_Alloc_mem(size: isize, _info: c_int, to: *mut c_void) {
        let at = malloc(size.max(1) as usize);
        if at.is_null() {
            // MPI_ERR_NO_MEM.
            return fault(34, format!("no memory for {size} bytes"));
        }
        put(to.cast::<*mut c_void>(), at);
        Ok(())
    }
    fn MPI_Free_mem(at: *mut c_void) {
        free(at);
        Ok(())
    }
    fn MPI_Pcontrol(_level: c_int) { Ok(()) }
}

/// The date of the rank, in seconds.
#[unsafe(no_mangle)]
pub extern "C" fn MPI_Wtime() -> f64 {
    match running(State::now) {
        Ok(date) => date,
        Err(fault) => abort(fault.class, &format!("MPI_Wtime: {}", fault.text)),
    }
}

/// Profiling name of [`MPI_Wtime`].
#[unsafe(no_mangle)]
pub extern "C" fn PMPI_Wtime() -> f64 {
    MPI_Wtime()
}

/// Resolution of the clock, in seconds.
#[unsafe(no_mangle)]
pub extern "C" fn MPI_Wtick() -> f64 {
    1e-9
}

/// Profiling name of [`MPI_Wtick`].
#[unsafe(no_mangle)]
pub extern "C" fn PMPI_Wtick() -> f64 {
    1e-9
}
