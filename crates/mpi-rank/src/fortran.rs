//! The functions under their Fortran names: every argument is an address, the error code is the last one, and the
//! lengths of texts follow by value.
//!
//! Handles are those of C, a status is five integers. `MPI_BOTTOM`, `MPI_IN_PLACE`, `MPI_STATUS_IGNORE` and others are
//! variables in common blocks, recognised by their addresses; the program has its own copies of the blocks.

use crate::state::{FortranCopy, FortranDelete, Status, UserFunction};
use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Addresses of `MPI_BOTTOM`, `MPI_IN_PLACE`, `MPI_STATUS_IGNORE`, `MPI_STATUSES_IGNORE`, and those
/// that stand for no weights.
struct Special {
    bottom: usize,
    in_place: usize,
    ignore: usize,
    ignore_all: usize,
    unweighted: usize,
    no_edges: usize,
}

fn special() -> &'static Special {
    static KNOWN: OnceLock<Special> = OnceLock::new();
    KNOWN.get_or_init(|| {
        // SAFETY: a lookup of a name; null where the program has no such block.
        let find =
            |name: &std::ffi::CStr| unsafe { dlsym(std::ptr::null_mut(), name.as_ptr()) as usize };
        let (first, second) = (find(c"mpipriv1_"), find(c"mpipriv2_"));
        // /MPIPRIV1/ MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE(5); /MPIPRIV2/ MPI_STATUSES_IGNORE(5,1), ...
        Special {
            bottom: first,
            in_place: if first == 0 { 0 } else { first + 4 },
            ignore: if first == 0 { 0 } else { first + 8 },
            ignore_all: second,
            unweighted: find(c"mpifcmb5_"),
            no_edges: find(c"mpifcmb9_"),
        }
    })
}

/// The common blocks, for programs that have no copies of their own. Only their addresses are used.
#[unsafe(no_mangle)]
pub static mpipriv1_: [i32; 7] = [0; 7];
/// Common block with `MPI_STATUSES_IGNORE`.
#[unsafe(no_mangle)]
pub static mpipriv2_: [i32; 6] = [0; 6];
/// Common block of character constants.
#[unsafe(no_mangle)]
pub static mpiprivc_: [i32; 2] = [0; 2];
/// Common block with `MPI_UNWEIGHTED`.
#[unsafe(no_mangle)]
pub static mpifcmb5_: [i32; 1] = [0; 1];
/// Common block with `MPI_WEIGHTS_EMPTY`.
#[unsafe(no_mangle)]
pub static mpifcmb9_: [i32; 1] = [0; 1];

/// The address of a buffer as C has it: special variables become C's special addresses.
fn buffer(at: *mut c_void) -> *mut c_void {
    let known = special();
    match at as usize {
        0 => at,
        at if at == known.in_place => usize::MAX as *mut c_void,
        at if at == known.bottom => std::ptr::null_mut(),
        _ => at,
    }
}

/// The address of weights as C has it.
fn weights(at: *mut c_int) -> *mut c_int {
    let known = special();
    match at as usize {
        0 => at,
        at if at == known.unweighted || at == known.no_edges => crate::stubs::unweighted(),
        _ => at,
    }
}

/// The address of a status as C has it: 1 for none.
fn status(at: *mut Status) -> *mut Status {
    let known = special();
    match at as usize {
        0 => at,
        at if at == known.ignore || at == known.ignore_all => std::ptr::without_provenance_mut(1),
        _ => at,
    }
}

// Kinds of arguments in the table below: (v)alue, (a)ddress-sized value, (b)uffer, (s)tatus, (p)ointer, (w)eights.
macro_rules! argument {
    (v) => { *mut c_int };
    (a) => { *mut isize };
    (b) => { *mut c_void };
    (s) => { *mut Status };
    (p) => { *mut c_int };
    (w) => { *mut c_int };
}

/// Converts an argument to that of the C function.
macro_rules! pass {
    (v $x:ident) => {
        *$x
    };
    (a $x:ident) => {
        *$x
    };
    (b $x:ident) => {
        buffer($x)
    };
    (s $x:ident) => {
        status($x)
    };
    (p $x:ident) => {
        $x.cast()
    };
    (w $x:ident) => {
        weights($x)
    };
}

/// Defines functions whose arguments are converted one by one: name, profiling name, C function, arguments.
macro_rules! fortran {
    ($($name:ident $profiled:ident $c:ident($($kind:ident $arg:ident),*))*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: argument!($kind),)* error: *mut c_int) {
            let code = unsafe { c::$c($(pass!($kind $arg)),*) };
            unsafe { crate::call::put(error, code) };
        }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $profiled($($arg: argument!($kind),)* error: *mut c_int) {
            unsafe { $name($($arg,)* error) }
        }
    )* };
}

/// The functions by their C names.
mod c {
    pub use crate::attributes::*;
    pub use crate::collective::*;
    pub use crate::communicator::*;
    pub use crate::datatype::*;
    pub use crate::general::*;
    pub use crate::group::*;
    pub use crate::message::*;
    pub use crate::rma::*;
}

/// Writes a Fortran text: `room` characters, padded with blanks, without a terminating zero.
unsafe fn put_text(text: &[u8], to: *mut c_char, room: usize) {
    for k in 0..room {
        let byte = text.get(k).copied().unwrap_or(b' ');
        unsafe { to.add(k).write(byte as c_char) };
    }
}

/// A Fortran text as one of C, without the blanks at its end.
unsafe fn get_text(from: *const c_char, length: usize) -> Vec<u8> {
    let bytes = unsafe { crate::call::slice(from.cast::<u8>(), length) };
    let mut text = bytes.trim_ascii_end().to_vec();
    text.push(0);
    text
}

/// Writes the text that a C function returns as one of Fortran.
unsafe fn text_of(
    (to, room): (*mut c_char, usize),
    length: *mut c_int,
    error: *mut c_int,
    write: impl FnOnce(*mut c_char, *mut c_int) -> c_int,
) {
    let mut text = vec![0u8; 8192];
    let mut count = 0;
    let code = write(text.as_mut_ptr().cast(), &mut count);
    unsafe {
        put_text(&text[..count.max(0) as usize], to, room);
        crate::call::put(length, count);
        crate::call::put(error, code);
    }
}

/// Defines functions with a body of their own, and their profiling names.
macro_rules! special {
    ($($(#[$doc:meta])* fn $name:ident $profiled:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? $body:block)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) $(-> $out)? { unsafe { $body } }
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $profiled($($arg: $type),*) $(-> $out)? { unsafe { $name($($arg),*) } }
    )* };
}

/// Turns a position from 0 into one from 1; negative ones (`MPI_UNDEFINED`) stay.
unsafe fn from_one(at: *mut c_int) {
    unsafe {
        if *at >= 0 {
            *at += 1;
        }
    }
}

special! {
    fn mpi_init_ pmpi_init_(error: *mut c_int) {
        *error = c::MPI_Init(std::ptr::null_mut(), std::ptr::null_mut());
    }
    fn mpi_init_thread_ pmpi_init_thread_(required: *mut c_int, provided: *mut c_int, error: *mut c_int) {
        *error = c::MPI_Init_thread(std::ptr::null_mut(), std::ptr::null_mut(), *required, provided);
    }
    fn mpi_wtime_ pmpi_wtime_() -> f64 { c::MPI_Wtime() }
    fn mpi_wtick_ pmpi_wtick_() -> f64 { c::MPI_Wtick() }
    fn mpi_pcontrol_ pmpi_pcontrol_(_level: *mut c_int) {}
    fn mpi_address_ pmpi_address_(location: *mut c_void, address: *mut c_int, error: *mut c_int) {
        *address = buffer(location) as isize as c_int;
        *error = 0;
    }
    fn mpi_get_processor_name_ pmpi_get_processor_name_(name: *mut c_char, length: *mut c_int, error: *mut c_int, room: usize) {
        text_of((name, room), length, error, |to, count| c::MPI_Get_processor_name(to, count));
    }
    fn mpi_get_library_version_ pmpi_get_library_version_(name: *mut c_char, length: *mut c_int, error: *mut c_int, room: usize) {
        text_of((name, room), length, error, |to, count| c::MPI_Get_library_version(to, count));
    }
    fn mpi_error_string_ pmpi_error_string_(code: *mut c_int, name: *mut c_char, length: *mut c_int, error: *mut c_int, room: usize) {
        text_of((name, room), length, error, |to, count| c::MPI_Error_string(*code, to, count));
    }
    fn mpi_comm_get_name_ pmpi_comm_get_name_(comm: *mut c_int, name: *mut c_char, length: *mut c_int, error: *mut c_int, room: usize) {
        text_of((name, room), length, error, |to, count| c::MPI_Comm_get_name(*comm, to, count));
    }
    fn mpi_type_get_name_ pmpi_type_get_name_(datatype: *mut c_int, name: *mut c_char, length: *mut c_int, error: *mut c_int, room: usize) {
        text_of((name, room), length, error, |to, count| c::MPI_Type_get_name(*datatype, to, count));
    }
    fn mpi_comm_set_name_ pmpi_comm_set_name_(comm: *mut c_int, name: *mut c_char, error: *mut c_int, length: usize) {
        *error = c::MPI_Comm_set_name(*comm, get_text(name, length).as_ptr().cast());
    }
    fn mpi_type_set_name_ pmpi_type_set_name_(datatype: *mut c_int, name: *mut c_char, error: *mut c_int, length: usize) {
        *error = c::MPI_Type_set_name(*datatype, get_text(name, length).as_ptr().cast());
    }
    fn mpi_info_set_ pmpi_info_set_(info: *mut c_int, key: *mut c_char, value: *mut c_char, error: *mut c_int, key_length: usize, length: usize) {
        *error = c::MPI_Info_set(*info, get_text(key, key_length).as_ptr().cast(), get_text(value, length).as_ptr().cast());
    }
    fn mpi_info_delete_ pmpi_info_delete_(info: *mut c_int, key: *mut c_char, error: *mut c_int, length: usize) {
        *error = c::MPI_Info_delete(*info, get_text(key, length).as_ptr().cast());
    }
    fn mpi_info_get_ pmpi_info_get_(info: *mut c_int, key: *mut c_char, room: *mut c_int, value: *mut c_char, flag: *mut c_int, error: *mut c_int, key_length: usize, length: usize) {
        let mut text = vec![0u8; (*room).max(0) as usize + 1];
        *error = c::MPI_Info_get(*info, get_text(key, key_length).as_ptr().cast(), *room, text.as_mut_ptr().cast(), flag);
        if *flag != 0 {
            let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
            put_text(&text[..end], value, length);
        }
    }
    fn mpi_waitany_ pmpi_waitany_(count: *mut c_int, requests: *mut c_int, index: *mut c_int, at: *mut Status, error: *mut c_int) {
        *error = c::MPI_Waitany(*count, requests, index, status(at));
        from_one(index);
    }
    fn mpi_testany_ pmpi_testany_(count: *mut c_int, requests: *mut c_int, index: *mut c_int, flag: *mut c_int, at: *mut Status, error: *mut c_int) {
        *error = c::MPI_Testany(*count, requests, index, flag, status(at));
        from_one(index);
    }
    fn mpi_waitsome_ pmpi_waitsome_(count: *mut c_int, requests: *mut c_int, done: *mut c_int, indices: *mut c_int, at: *mut Status, error: *mut c_int) {
        *error = c::MPI_Waitsome(*count, requests, done, indices, status(at));
        (0..(*done).max(0) as usize).for_each(|k| from_one(indices.add(k)));
    }
    fn mpi_testsome_ pmpi_testsome_(count: *mut c_int, requests: *mut c_int, done: *mut c_int, indices: *mut c_int, at: *mut Status, error: *mut c_int) {
        *error = c::MPI_Testsome(*count, requests, done, indices, status(at));
        (0..(*done).max(0) as usize).for_each(|k| from_one(indices.add(k)));
    }
    fn mpi_op_create_ pmpi_op_create_(function: UserFunction, commute: *mut c_int, op: *mut c_int, error: *mut c_int) {
        *error = c::MPI_Op_create(function, *commute, op);
    }
    fn mpi_buffer_attach_ pmpi_buffer_attach_(at: *mut c_void, size: *mut c_int, error: *mut c_int) {
        *error = c::MPI_Buffer_attach(at, *size);
    }
    fn mpi_buffer_detach_ pmpi_buffer_detach_(_at: *mut c_void, size: *mut c_int, error: *mut c_int) {
        let mut was = 0usize;
        *error = c::MPI_Buffer_detach((&raw mut was).cast(), size);
    }
    fn mpi_type_extent_ pmpi_type_extent_(datatype: *mut c_int, extent: *mut c_int, error: *mut c_int) {
        let mut found = 0;
        *error = c::MPI_Type_extent(*datatype, &mut found);
        *extent = found as c_int;
    }
    fn mpi_type_lb_ pmpi_type_lb_(datatype: *mut c_int, lb: *mut c_int, error: *mut c_int) {
        let mut found = 0;
        *error = c::MPI_Type_lb(*datatype, &mut found);
        *lb = found as c_int;
    }
    fn mpi_type_ub_ pmpi_type_ub_(datatype: *mut c_int, ub: *mut c_int, error: *mut c_int) {
        let mut found = 0;
        *error = c::MPI_Type_ub(*datatype, &mut found);
        *ub = found as c_int;
    }
    fn mpi_type_hvector_ pmpi_type_hvector_(count: *mut c_int, length: *mut c_int, stride: *mut c_int, old: *mut c_int, new: *mut c_int, error: *mut c_int) {
        *error = c::MPI_Type_create_hvector(*count, *length, *stride as isize, *old, new);
    }
    fn mpi_type_hindexed_ pmpi_type_hindexed_(count: *mut c_int, lengths: *mut c_int, offsets: *mut c_int, old: *mut c_int, new: *mut c_int, error: *mut c_int) {
        let wide: Vec<isize> = crate::call::slice(offsets, (*count).max(0) as usize).iter().map(|&o| o as isize).collect();
        *error = c::MPI_Type_create_hindexed(*count, lengths, wide.as_ptr(), *old, new);
    }
    fn mpi_type_struct_ pmpi_type_struct_(count: *mut c_int, lengths: *mut c_int, offsets: *mut c_int, types: *mut c_int, new: *mut c_int, error: *mut c_int) {
        let wide: Vec<isize> = crate::call::slice(offsets, (*count).max(0) as usize).iter().map(|&o| o as isize).collect();
        *error = c::MPI_Type_create_struct(*count, lengths, wide.as_ptr(), types, new);
    }
    fn mpi_group_range_incl_ pmpi_group_range_incl_(group: *mut c_int, count: *mut c_int, list: *mut [c_int; 3], new: *mut c_int, error: *mut c_int) {
        *error = c::MPI_Group_range_incl(*group, *count, list, new);
    }
    fn mpi_group_range_excl_ pmpi_group_range_excl_(group: *mut c_int, count: *mut c_int, list: *mut [c_int; 3], new: *mut c_int, error: *mut c_int) {
        *error = c::MPI_Group_range_excl(*group, *count, list, new);
    }
    fn mpi_comm_get_attr_ pmpi_comm_get_attr_(comm: *mut c_int, key: *mut c_int, value: *mut isize, flag: *mut c_int, error: *mut c_int) {
        *error = attribute(*comm, *key, flag, |found| *value = found);
    }
    fn mpi_attr_get_ pmpi_attr_get_(comm: *mut c_int, key: *mut c_int, value: *mut c_int, flag: *mut c_int, error: *mut c_int) {
        *error = attribute(*comm, *key, flag, |found| *value = found as c_int);
    }
    fn mpi_comm_set_attr_ pmpi_comm_set_attr_(comm: *mut c_int, key: *mut c_int, value: *mut isize, error: *mut c_int) {
        *error = c::MPI_Comm_set_attr(*comm, *key, *value as *mut c_void);
    }
    fn mpi_attr_put_ pmpi_attr_put_(comm: *mut c_int, key: *mut c_int, value: *mut c_int, error: *mut c_int) {
        *error = c::MPI_Comm_set_attr(*comm, *key, *value as isize as *mut c_void);
    }
    fn mpi_comm_create_keyval_ pmpi_comm_create_keyval_(copy: FortranCopy, delete: FortranDelete, key: *mut c_int, extra: *mut isize, error: *mut c_int) {
        *error = new_key(copy, delete, key, *extra);
    }
    fn mpi_type_create_keyval_ pmpi_type_create_keyval_(copy: FortranCopy, delete: FortranDelete, key: *mut c_int, extra: *mut isize, error: *mut c_int) {
        *error = new_key(copy, delete, key, *extra);
    }
    fn mpi_win_create_keyval_ pmpi_win_create_keyval_(copy: FortranCopy, delete: FortranDelete, key: *mut c_int, extra: *mut isize, error: *mut c_int) {
        *error = new_key(copy, delete, key, *extra);
    }
    fn mpi_keyval_create_ pmpi_keyval_create_(copy: FortranCopy, delete: FortranDelete, key: *mut c_int, extra: *mut c_int, error: *mut c_int) {
        *error = new_key(copy, delete, key, *extra as isize);
    }
    fn mpi_comm_dup_fn_ pmpi_comm_dup_fn_(_from: *mut c_int, _key: *mut c_int, _extra: *mut isize, value: *mut isize, new: *mut isize, flag: *mut c_int, error: *mut c_int) {
        (*new, *flag, *error) = (*value, 1, 0);
    }
    fn mpi_type_dup_fn_ pmpi_type_dup_fn_(_from: *mut c_int, _key: *mut c_int, _extra: *mut isize, value: *mut isize, new: *mut isize, flag: *mut c_int, error: *mut c_int) {
        (*new, *flag, *error) = (*value, 1, 0);
    }
    fn mpi_win_dup_fn_ pmpi_win_dup_fn_(_from: *mut c_int, _key: *mut c_int, _extra: *mut isize, value: *mut isize, new: *mut isize, flag: *mut c_int, error: *mut c_int) {
        (*new, *flag, *error) = (*value, 1, 0);
    }
    fn mpi_dup_fn_ pmpi_dup_fn_(_from: *mut c_int, _key: *mut c_int, _extra: *mut c_int, value: *mut c_int, new: *mut c_int, flag: *mut c_int, error: *mut c_int) {
        (*new, *flag, *error) = (*value, 1, 0);
    }
    fn mpi_comm_null_copy_fn_ pmpi_comm_null_copy_fn_(_from: *mut c_int, _key: *mut c_int, _extra: *mut c_void, _value: *mut c_void, _new: *mut c_void, flag: *mut c_int, error: *mut c_int) {
        (*flag, *error) = (0, 0);
    }
    fn mpi_type_null_copy_fn_ pmpi_type_null_copy_fn_(_from: *mut c_int, _key: *mut c_int, _extra: *mut c_void, _value: *mut c_void, _new: *mut c_void, flag: *mut c_int, error: *mut c_int) {
        (*flag, *error) = (0, 0);
    }
    fn mpi_win_null_copy_fn_ pmpi_win_null_copy_fn_(_from: *mut c_int, _key: *mut c_int, _extra: *mut c_void, _value: *mut c_void, _new: *mut c_void, flag: *mut c_int, error: *mut c_int) {
        (*flag, *error) = (0, 0);
    }
    fn mpi_null_copy_fn_ pmpi_null_copy_fn_(_from: *mut c_int, _key: *mut c_int, _extra: *mut c_void, _value: *mut c_void, _new: *mut c_void, flag: *mut c_int, error: *mut c_int) {
        (*flag, *error) = (0, 0);
    }
    fn mpi_comm_null_delete_fn_ pmpi_comm_null_delete_fn_(_handle: *mut c_int, _key: *mut c_int, _value: *mut c_void, _extra: *mut c_void, error: *mut c_int) {
        *error = 0;
    }
    fn mpi_type_null_delete_fn_ pmpi_type_null_delete_fn_(_handle: *mut c_int, _key: *mut c_int, _value: *mut c_void, _extra: *mut c_void, error: *mut c_int) {
        *error = 0;
    }
    fn mpi_win_null_delete_fn_ pmpi_win_null_delete_fn_(_handle: *mut c_int, _key: *mut c_int, _value: *mut c_void, _extra: *mut c_void, error: *mut c_int) {
        *error = 0;
    }
    fn mpi_null_delete_fn_ pmpi_null_delete_fn_(_handle: *mut c_int, _key: *mut c_int, _value: *mut c_void, _extra: *mut c_void, error: *mut c_int) {
        *error = 0;
    }
    fn mpi_type_set_attr_ pmpi_type_set_attr_(datatype: *mut c_int, key: *mut c_int, value: *mut isize, error: *mut c_int) {
        *error = c::MPI_Type_set_attr(*datatype, *key, *value as *mut c_void);
    }
    fn mpi_type_get_attr_ pmpi_type_get_attr_(datatype: *mut c_int, key: *mut c_int, value: *mut isize, flag: *mut c_int, error: *mut c_int) {
        let mut found = 0usize;
        *error = c::MPI_Type_get_attr(*datatype, *key, (&raw mut found).cast(), flag);
        if *error == 0 && *flag != 0 {
            // C gets predefined attributes as pointers, Fortran as values; Fortran's keys are those of C plus 1.
            *value = match (*key).wrapping_sub(1) & !1 {
                0x6600_0002 => *(found as *const isize),
                0x6600_0004 | 0x6600_0006 | 0x6600_0008 => *(found as *const c_int) as isize,
                _ => found as isize,
            };
        }
    }
    fn mpi_win_set_attr_ pmpi_win_set_attr_(win: *mut c_int, key: *mut c_int, value: *mut isize, error: *mut c_int) {
        *error = c::MPI_Win_set_attr(*win, *key, *value as *mut c_void);
    }
    fn mpi_win_get_attr_ pmpi_win_get_attr_(win: *mut c_int, key: *mut c_int, value: *mut isize, flag: *mut c_int, error: *mut c_int) {
        let mut found = 0usize;
        *error = c::MPI_Win_get_attr(*win, *key, (&raw mut found).cast(), flag);
        if *error == 0 && *flag != 0 {
            // C gets predefined attributes as pointers, Fortran as values; Fortran's keys are those of C plus 1.
            *value = match (*key).wrapping_sub(1) & !1 {
                0x6600_0002 => *(found as *const isize),
                0x6600_0004 | 0x6600_0006 | 0x6600_0008 => *(found as *const c_int) as isize,
                _ => found as isize,
            };
        }
    }
    fn mpi_win_set_name_ pmpi_win_set_name_(win: *mut c_int, name: *mut c_char, error: *mut c_int, length: usize) {
        *error = c::MPI_Win_set_name(*win, get_text(name, length).as_ptr().cast());
    }
    fn mpi_win_get_name_ pmpi_win_get_name_(win: *mut c_int, name: *mut c_char, length: *mut c_int, error: *mut c_int, room: usize) {
        text_of((name, room), length, error, |to, count| c::MPI_Win_get_name(*win, to, count));
    }
    fn mpi_add_error_string_ pmpi_add_error_string_(code: *mut c_int, text: *mut c_char, error: *mut c_int, length: usize) {
        *error = c::MPI_Add_error_string(*code, get_text(text, length).as_ptr().cast());
    }
    fn mpi_info_get_nthkey_ pmpi_info_get_nthkey_(info: *mut c_int, n: *mut c_int, key: *mut c_char, error: *mut c_int, room: usize) {
        let mut count = 0;
        text_of((key, room), &mut count, error, |to, count| {
            let code = c::MPI_Info_get_nthkey(*info, *n, to);
            count.write(if code == 0 { std::ffi::CStr::from_ptr(to).count_bytes() as c_int } else { 0 });
            code
        });
    }
    fn mpi_info_get_valuelen_ pmpi_info_get_valuelen_(info: *mut c_int, key: *mut c_char, length: *mut c_int, flag: *mut c_int, error: *mut c_int, key_length: usize) {
        *error = c::MPI_Info_get_valuelen(*info, get_text(key, key_length).as_ptr().cast(), length, flag);
    }
    fn mpi_pack_external_size_ pmpi_pack_external_size_(_kind: *mut c_char, count: *mut c_int, datatype: *mut c_int, size: *mut isize, error: *mut c_int, _length: usize) {
        *error = c::MPI_Pack_external_size(std::ptr::null(), *count, *datatype, size);
    }
    fn mpi_pack_external_ pmpi_pack_external_(_kind: *mut c_char, from: *mut c_void, count: *mut c_int, datatype: *mut c_int, to: *mut c_void, room: *mut isize, at: *mut isize, error: *mut c_int, _length: usize) {
        *error = c::MPI_Pack_external(std::ptr::null(), buffer(from), *count, *datatype, to, *room, at);
    }
    fn mpi_unpack_external_ pmpi_unpack_external_(_kind: *mut c_char, from: *mut c_void, size: *mut isize, at: *mut isize, to: *mut c_void, count: *mut c_int, datatype: *mut c_int, error: *mut c_int, _length: usize) {
        *error = c::MPI_Unpack_external(std::ptr::null(), from, *size, at, buffer(to), *count, *datatype);
    }
    fn mpi_aint_add_ pmpi_aint_add_(base: *mut isize, displacement: *mut isize) -> isize {
        c::MPI_Aint_add(*base, *displacement)
    }
    fn mpi_aint_diff_ pmpi_aint_diff_(one: *mut isize, other: *mut isize) -> isize {
        c::MPI_Aint_diff(*one, *other)
    }
    fn mpi_f_sync_reg_ pmpi_f_sync_reg_(_at: *mut c_void) {}
}

fn new_key(copy: FortranCopy, delete: FortranDelete, key: *mut c_int, extra: isize) -> c_int {
    crate::call::run("MPI_Comm_create_keyval", || {
        let callbacks = crate::state::Callbacks::Fortran(copy, delete);
        let made = crate::attributes::new_key(callbacks, extra as *mut c_void)?;
        // SAFETY: the program gave the address for the key.
        unsafe { crate::call::put(key, made) };
        Ok(())
    })
}

/// The value of an attribute: those of MPI itself are integers, which C sees through a pointer.
unsafe fn attribute(comm: c_int, key: c_int, flag: *mut c_int, put: impl FnOnce(isize)) -> c_int {
    let mut found: usize = 0;
    let code = unsafe { c::MPI_Comm_get_attr(comm, key, (&raw mut found).cast(), flag) };
    if code == 0 && unsafe { *flag } != 0 {
        match crate::attributes::predefined(key) {
            // SAFETY: the value of a predefined attribute is a static integer.
            Some(place) => put(unsafe { *place } as isize),
            None => put(found as isize),
        }
    }
    code
}

fortran! {
    mpi_abort_ pmpi_abort_ MPI_Abort(v comm, v code)
    mpi_accumulate_ pmpi_accumulate_ MPI_Accumulate(b origin, v origin_count, v origin_type, v rank, a displacement, v count, v datatype, v op, v win)
    mpi_add_error_class_ pmpi_add_error_class_ MPI_Add_error_class(p new)
    mpi_add_error_code_ pmpi_add_error_code_ MPI_Add_error_code(v class, p new)
    mpi_allgather_ pmpi_allgather_ MPI_Allgather(b sendbuf, v sendcount, v sendtype, b recvbuf, v recvcount, v recvtype, v comm)
    mpi_allgatherv_ pmpi_allgatherv_ MPI_Allgatherv(b sendbuf, v sendcount, v sendtype, b recvbuf, p recvcounts, p displs, v recvtype, v comm)
    mpi_allreduce_ pmpi_allreduce_ MPI_Allreduce(b sendbuf, b recvbuf, v count, v datatype, v op, v comm)
    mpi_alltoall_ pmpi_alltoall_ MPI_Alltoall(b sendbuf, v sendcount, v sendtype, b recvbuf, v recvcount, v recvtype, v comm)
    mpi_alltoallv_ pmpi_alltoallv_ MPI_Alltoallv(b sendbuf, p sendcounts, p sdispls, v sendtype, b recvbuf, p recvcounts, p rdispls, v recvtype, v comm)
    mpi_alltoallw_ pmpi_alltoallw_ MPI_Alltoallw(b sendbuf, p sendcounts, p sdispls, p sendtypes, b recvbuf, p recvcounts, p rdispls, p recvtypes, v comm)
    mpi_attr_delete_ pmpi_attr_delete_ MPI_Attr_delete(v comm, v key)
    mpi_barrier_ pmpi_barrier_ MPI_Barrier(v comm)
    mpi_bcast_ pmpi_bcast_ MPI_Bcast(b buffer, v count, v datatype, v root, v comm)
    mpi_bsend_ pmpi_bsend_ MPI_Bsend(b buf, v count, v datatype, v dest, v tag, v comm)
    mpi_bsend_init_ pmpi_bsend_init_ MPI_Bsend_init(b buf, v count, v datatype, v dest, v tag, v comm, p request)
    mpi_cancel_ pmpi_cancel_ MPI_Cancel(p request)
    mpi_cart_coords_ pmpi_cart_coords_ MPI_Cart_coords(v comm, v rank, v maxdims, p coords)
    mpi_cart_create_ pmpi_cart_create_ MPI_Cart_create(v comm, v ndims, p dims, p periods, v reorder, p new)
    mpi_cart_get_ pmpi_cart_get_ MPI_Cart_get(v comm, v maxdims, p dims, p periods, p coords)
    mpi_cart_map_ pmpi_cart_map_ MPI_Cart_map(v comm, v ndims, p dims, p periods, p new)
    mpi_cart_rank_ pmpi_cart_rank_ MPI_Cart_rank(v comm, p coords, p rank)
    mpi_cart_shift_ pmpi_cart_shift_ MPI_Cart_shift(v comm, v direction, v displacement, p source, p dest)
    mpi_cart_sub_ pmpi_cart_sub_ MPI_Cart_sub(v comm, p remain, p new)
    mpi_cartdim_get_ pmpi_cartdim_get_ MPI_Cartdim_get(v comm, p ndims)
    mpi_comm_call_errhandler_ pmpi_comm_call_errhandler_ MPI_Comm_call_errhandler(v comm, v code)
    mpi_comm_compare_ pmpi_comm_compare_ MPI_Comm_compare(v one, v other, p result)
    mpi_comm_create_ pmpi_comm_create_ MPI_Comm_create(v comm, v group, p new)
    mpi_comm_delete_attr_ pmpi_comm_delete_attr_ MPI_Comm_delete_attr(v comm, v key)
    mpi_comm_disconnect_ pmpi_comm_disconnect_ MPI_Comm_disconnect(p comm)
    mpi_comm_dup_ pmpi_comm_dup_ MPI_Comm_dup(v comm, p new)
    mpi_comm_dup_with_info_ pmpi_comm_dup_with_info_ MPI_Comm_dup_with_info(v comm, v info, p new)
    mpi_comm_free_ pmpi_comm_free_ MPI_Comm_free(p comm)
    mpi_comm_free_keyval_ pmpi_comm_free_keyval_ MPI_Comm_free_keyval(p key)
    mpi_comm_get_errhandler_ pmpi_comm_get_errhandler_ MPI_Comm_get_errhandler(v comm, p handler)
    mpi_comm_get_info_ pmpi_comm_get_info_ MPI_Comm_get_info(v comm, p info)
    mpi_comm_get_parent_ pmpi_comm_get_parent_ MPI_Comm_get_parent(p parent)
    mpi_comm_group_ pmpi_comm_group_ MPI_Comm_group(v comm, p group)
    mpi_comm_idup_ pmpi_comm_idup_ MPI_Comm_idup(v comm, p new, p request)
    mpi_comm_rank_ pmpi_comm_rank_ MPI_Comm_rank(v comm, p rank)
    mpi_comm_set_errhandler_ pmpi_comm_set_errhandler_ MPI_Comm_set_errhandler(v comm, v handler)
    mpi_comm_set_info_ pmpi_comm_set_info_ MPI_Comm_set_info(v comm, v info)
    mpi_comm_size_ pmpi_comm_size_ MPI_Comm_size(v comm, p size)
    mpi_comm_split_ pmpi_comm_split_ MPI_Comm_split(v comm, v colour, v key, p new)
    mpi_comm_split_type_ pmpi_comm_split_type_ MPI_Comm_split_type(v comm, v kind, v key, v info, p new)
    mpi_comm_test_inter_ pmpi_comm_test_inter_ MPI_Comm_test_inter(v comm, p flag)
    mpi_dims_create_ pmpi_dims_create_ MPI_Dims_create(v nodes, v ndims, p dims)
    mpi_errhandler_free_ pmpi_errhandler_free_ MPI_Errhandler_free(p handler)
    mpi_errhandler_get_ pmpi_errhandler_get_ MPI_Errhandler_get(v comm, p handler)
    mpi_errhandler_set_ pmpi_errhandler_set_ MPI_Errhandler_set(v comm, v handler)
    mpi_error_class_ pmpi_error_class_ MPI_Error_class(v code, p found)
    mpi_exscan_ pmpi_exscan_ MPI_Exscan(b sendbuf, b recvbuf, v count, v datatype, v op, v comm)
    mpi_finalize_ pmpi_finalize_ MPI_Finalize()
    mpi_finalized_ pmpi_finalized_ MPI_Finalized(p flag)
    mpi_gather_ pmpi_gather_ MPI_Gather(b sendbuf, v sendcount, v sendtype, b recvbuf, v recvcount, v recvtype, v root, v comm)
    mpi_gatherv_ pmpi_gatherv_ MPI_Gatherv(b sendbuf, v sendcount, v sendtype, b recvbuf, p recvcounts, p displs, v recvtype, v root, v comm)
    mpi_get_ pmpi_get_ MPI_Get(b origin, v origin_count, v origin_type, v rank, a displacement, v count, v datatype, v win)
    mpi_get_address_ pmpi_get_address_ MPI_Get_address(b location, p address)
    mpi_get_count_ pmpi_get_count_ MPI_Get_count(s status, v datatype, p count)
    mpi_get_elements_ pmpi_get_elements_ MPI_Get_elements(s status, v datatype, p count)
    mpi_get_elements_x_ pmpi_get_elements_x_ MPI_Get_elements_x(s status, v datatype, p count)
    mpi_get_version_ pmpi_get_version_ MPI_Get_version(p version, p subversion)
    mpi_graph_create_ pmpi_graph_create_ MPI_Graph_create(v comm, v nodes, p index, p edges, v reorder, p new)
    mpi_graph_neighbors_ pmpi_graph_neighbors_ MPI_Graph_neighbors(v comm, v rank, v room, p neighbours)
    mpi_graph_neighbors_count_ pmpi_graph_neighbors_count_ MPI_Graph_neighbors_count(v comm, v rank, p count)
    mpi_graphdims_get_ pmpi_graphdims_get_ MPI_Graphdims_get(v comm, p nodes, p count)
    mpi_group_compare_ pmpi_group_compare_ MPI_Group_compare(v one, v other, p result)
    mpi_group_difference_ pmpi_group_difference_ MPI_Group_difference(v one, v other, p new)
    mpi_group_excl_ pmpi_group_excl_ MPI_Group_excl(v group, v count, p ranks, p new)
    mpi_group_free_ pmpi_group_free_ MPI_Group_free(p group)
    mpi_group_incl_ pmpi_group_incl_ MPI_Group_incl(v group, v count, p ranks, p new)
    mpi_group_intersection_ pmpi_group_intersection_ MPI_Group_intersection(v one, v other, p new)
    mpi_group_rank_ pmpi_group_rank_ MPI_Group_rank(v group, p rank)
    mpi_group_size_ pmpi_group_size_ MPI_Group_size(v group, p size)
    mpi_group_translate_ranks_ pmpi_group_translate_ranks_ MPI_Group_translate_ranks(v one, v count, p ranks, v other, p out)
    mpi_group_union_ pmpi_group_union_ MPI_Group_union(v one, v other, p new)
    mpi_iallgather_ pmpi_iallgather_ MPI_Iallgather(b sendbuf, v sendcount, v sendtype, b recvbuf, v recvcount, v recvtype, v comm, p request)
    mpi_iallgatherv_ pmpi_iallgatherv_ MPI_Iallgatherv(b sendbuf, v sendcount, v sendtype, b recvbuf, p recvcounts, p displs, v recvtype, v comm, p request)
    mpi_iallreduce_ pmpi_iallreduce_ MPI_Iallreduce(b sendbuf, b recvbuf, v count, v datatype, v op, v comm, p request)
    mpi_ialltoall_ pmpi_ialltoall_ MPI_Ialltoall(b sendbuf, v sendcount, v sendtype, b recvbuf, v recvcount, v recvtype, v comm, p request)
    mpi_ialltoallv_ pmpi_ialltoallv_ MPI_Ialltoallv(b sendbuf, p sendcounts, p sdispls, v sendtype, b recvbuf, p recvcounts, p rdispls, v recvtype, v comm, p request)
    mpi_ialltoallw_ pmpi_ialltoallw_ MPI_Ialltoallw(b sendbuf, p sendcounts, p sdispls, p sendtypes, b recvbuf, p recvcounts, p rdispls, p recvtypes, v comm, p request)
    mpi_ibarrier_ pmpi_ibarrier_ MPI_Ibarrier(v comm, p request)
    mpi_ibcast_ pmpi_ibcast_ MPI_Ibcast(b buffer, v count, v datatype, v root, v comm, p request)
    mpi_ibsend_ pmpi_ibsend_ MPI_Ibsend(b buf, v count, v datatype, v dest, v tag, v comm, p request)
    mpi_iexscan_ pmpi_iexscan_ MPI_Iexscan(b sendbuf, b recvbuf, v count, v datatype, v op, v comm, p request)
    mpi_igather_ pmpi_igather_ MPI_Igather(b sendbuf, v sendcount, v sendtype, b recvbuf, v recvcount, v recvtype, v root, v comm, p request)
    mpi_igatherv_ pmpi_igatherv_ MPI_Igatherv(b sendbuf, v sendcount, v sendtype, b recvbuf, p recvcounts, p displs, v recvtype, v root, v comm, p request)
    mpi_info_create_ pmpi_info_create_ MPI_Info_create(p new)
    mpi_info_dup_ pmpi_info_dup_ MPI_Info_dup(v old, p new)
    mpi_info_free_ pmpi_info_free_ MPI_Info_free(p handle)
    mpi_info_get_nkeys_ pmpi_info_get_nkeys_ MPI_Info_get_nkeys(v handle, p count)
    mpi_initialized_ pmpi_initialized_ MPI_Initialized(p flag)
    mpi_iprobe_ pmpi_iprobe_ MPI_Iprobe(v source, v tag, v comm, p flag, s status)
    mpi_irecv_ pmpi_irecv_ MPI_Irecv(b buf, v count, v datatype, v source, v tag, v comm, p request)
    mpi_ireduce_ pmpi_ireduce_ MPI_Ireduce(b sendbuf, b recvbuf, v count, v datatype, v op, v root, v comm, p request)
    mpi_ireduce_scatter_ pmpi_ireduce_scatter_ MPI_Ireduce_scatter(b sendbuf, b recvbuf, p recvcounts, v datatype, v op, v comm, p request)
    mpi_ireduce_scatter_block_ pmpi_ireduce_scatter_block_ MPI_Ireduce_scatter_block(b sendbuf, b recvbuf, v recvcount, v datatype, v op, v comm, p request)
    mpi_irsend_ pmpi_irsend_ MPI_Irsend(b buf, v count, v datatype, v dest, v tag, v comm, p request)
    mpi_is_thread_main_ pmpi_is_thread_main_ MPI_Is_thread_main(p flag)
    mpi_iscan_ pmpi_iscan_ MPI_Iscan(b sendbuf, b recvbuf, v count, v datatype, v op, v comm, p request)
    mpi_iscatter_ pmpi_iscatter_ MPI_Iscatter(b sendbuf, v sendcount, v sendtype, b recvbuf, v recvcount, v recvtype, v root, v comm, p request)
    mpi_iscatterv_ pmpi_iscatterv_ MPI_Iscatterv(b sendbuf, p sendcounts, p displs, v sendtype, b recvbuf, v recvcount, v recvtype, v root, v comm, p request)
    mpi_isend_ pmpi_isend_ MPI_Isend(b buf, v count, v datatype, v dest, v tag, v comm, p request)
    mpi_issend_ pmpi_issend_ MPI_Issend(b buf, v count, v datatype, v dest, v tag, v comm, p request)
    mpi_keyval_free_ pmpi_keyval_free_ MPI_Keyval_free(p key)
    mpi_op_commutative_ pmpi_op_commutative_ MPI_Op_commutative(v op, p commute)
    mpi_op_free_ pmpi_op_free_ MPI_Op_free(p op)
    mpi_pack_ pmpi_pack_ MPI_Pack(b from, v count, v datatype, b to, v room, p at, v comm)
    mpi_pack_size_ pmpi_pack_size_ MPI_Pack_size(v count, v datatype, v comm, p size)
    mpi_probe_ pmpi_probe_ MPI_Probe(v source, v tag, v comm, s status)
    mpi_put_ pmpi_put_ MPI_Put(b origin, v origin_count, v origin_type, v rank, a displacement, v count, v datatype, v win)
    mpi_query_thread_ pmpi_query_thread_ MPI_Query_thread(p provided)
    mpi_recv_ pmpi_recv_ MPI_Recv(b buf, v count, v datatype, v source, v tag, v comm, s status)
    mpi_recv_init_ pmpi_recv_init_ MPI_Recv_init(b buf, v count, v datatype, v source, v tag, v comm, p request)
    mpi_reduce_ pmpi_reduce_ MPI_Reduce(b sendbuf, b recvbuf, v count, v datatype, v op, v root, v comm)
    mpi_reduce_local_ pmpi_reduce_local_ MPI_Reduce_local(b inbuf, b inoutbuf, v count, v datatype, v op)
    mpi_reduce_scatter_ pmpi_reduce_scatter_ MPI_Reduce_scatter(b sendbuf, b recvbuf, p recvcounts, v datatype, v op, v comm)
    mpi_reduce_scatter_block_ pmpi_reduce_scatter_block_ MPI_Reduce_scatter_block(b sendbuf, b recvbuf, v recvcount, v datatype, v op, v comm)
    mpi_request_free_ pmpi_request_free_ MPI_Request_free(p request)
    mpi_request_get_status_ pmpi_request_get_status_ MPI_Request_get_status(v request, p flag, s status)
    mpi_rsend_ pmpi_rsend_ MPI_Rsend(b buf, v count, v datatype, v dest, v tag, v comm)
    mpi_rsend_init_ pmpi_rsend_init_ MPI_Rsend_init(b buf, v count, v datatype, v dest, v tag, v comm, p request)
    mpi_scan_ pmpi_scan_ MPI_Scan(b sendbuf, b recvbuf, v count, v datatype, v op, v comm)
    mpi_scatter_ pmpi_scatter_ MPI_Scatter(b sendbuf, v sendcount, v sendtype, b recvbuf, v recvcount, v recvtype, v root, v comm)
    mpi_scatterv_ pmpi_scatterv_ MPI_Scatterv(b sendbuf, p sendcounts, p displs, v sendtype, b recvbuf, v recvcount, v recvtype, v root, v comm)
    mpi_send_ pmpi_send_ MPI_Send(b buf, v count, v datatype, v dest, v tag, v comm)
    mpi_send_init_ pmpi_send_init_ MPI_Send_init(b buf, v count, v datatype, v dest, v tag, v comm, p request)
    mpi_sendrecv_ pmpi_sendrecv_ MPI_Sendrecv(b sendbuf, v sendcount, v sendtype, v dest, v sendtag, b recvbuf, v recvcount, v recvtype, v source, v recvtag, v comm, s status)
    mpi_sendrecv_replace_ pmpi_sendrecv_replace_ MPI_Sendrecv_replace(b buf, v count, v datatype, v dest, v sendtag, v source, v recvtag, v comm, s status)
    mpi_ssend_ pmpi_ssend_ MPI_Ssend(b buf, v count, v datatype, v dest, v tag, v comm)
    mpi_ssend_init_ pmpi_ssend_init_ MPI_Ssend_init(b buf, v count, v datatype, v dest, v tag, v comm, p request)
    mpi_start_ pmpi_start_ MPI_Start(p request)
    mpi_startall_ pmpi_startall_ MPI_Startall(v count, p requests)
    mpi_status_set_elements_ pmpi_status_set_elements_ MPI_Status_set_elements(s status, v datatype, v count)
    mpi_test_ pmpi_test_ MPI_Test(p request, p flag, s status)
    mpi_test_cancelled_ pmpi_test_cancelled_ MPI_Test_cancelled(s status, p flag)
    mpi_testall_ pmpi_testall_ MPI_Testall(v count, p requests, p flag, s statuses)
    mpi_topo_test_ pmpi_topo_test_ MPI_Topo_test(v comm, p status)
    mpi_type_commit_ pmpi_type_commit_ MPI_Type_commit(p datatype)
    mpi_type_contiguous_ pmpi_type_contiguous_ MPI_Type_contiguous(v count, v old, p new)
    mpi_type_create_hindexed_ pmpi_type_create_hindexed_ MPI_Type_create_hindexed(v count, p lengths, p offsets, v old, p new)
    mpi_type_create_hindexed_block_ pmpi_type_create_hindexed_block_ MPI_Type_create_hindexed_block(v count, v length, p offsets, v old, p new)
    mpi_type_create_hvector_ pmpi_type_create_hvector_ MPI_Type_create_hvector(v count, v length, a stride, v old, p new)
    mpi_type_create_indexed_block_ pmpi_type_create_indexed_block_ MPI_Type_create_indexed_block(v count, v length, p offsets, v old, p new)
    mpi_type_create_resized_ pmpi_type_create_resized_ MPI_Type_create_resized(v old, a lb, a extent, p new)
    mpi_type_create_struct_ pmpi_type_create_struct_ MPI_Type_create_struct(v count, p lengths, p offsets, p types, p new)
    mpi_type_create_subarray_ pmpi_type_create_subarray_ MPI_Type_create_subarray(v ndims, p sizes, p subsizes, p starts, v order, v old, p new)
    mpi_type_dup_ pmpi_type_dup_ MPI_Type_dup(v old, p new)
    mpi_type_free_ pmpi_type_free_ MPI_Type_free(p datatype)
    mpi_type_get_contents_ pmpi_type_get_contents_ MPI_Type_get_contents(v datatype, v integers, v addresses, v types, p to_integers, p to_addresses, p to_types)
    mpi_type_get_envelope_ pmpi_type_get_envelope_ MPI_Type_get_envelope(v datatype, p integers, p addresses, p types, p kind)
    mpi_type_get_extent_ pmpi_type_get_extent_ MPI_Type_get_extent(v datatype, p lb, p extent)
    mpi_type_get_extent_x_ pmpi_type_get_extent_x_ MPI_Type_get_extent_x(v datatype, p lb, p extent)
    mpi_type_get_true_extent_ pmpi_type_get_true_extent_ MPI_Type_get_true_extent(v datatype, p lb, p extent)
    mpi_type_indexed_ pmpi_type_indexed_ MPI_Type_indexed(v count, p lengths, p offsets, v old, p new)
    mpi_type_match_size_ pmpi_type_match_size_ MPI_Type_match_size(v kind, v size, p datatype)
    mpi_type_size_ pmpi_type_size_ MPI_Type_size(v datatype, p size)
    mpi_type_size_x_ pmpi_type_size_x_ MPI_Type_size_x(v datatype, p size)
    mpi_type_vector_ pmpi_type_vector_ MPI_Type_vector(v count, v length, v stride, v old, p new)
    mpi_unpack_ pmpi_unpack_ MPI_Unpack(b from, v size, p at, b to, v count, v datatype, v comm)
    mpi_alloc_mem_ pmpi_alloc_mem_ MPI_Alloc_mem(a size, v info, p to)
    mpi_comm_create_errhandler_ pmpi_comm_create_errhandler_ MPI_Comm_create_errhandler(b function, p handler)
    mpi_comm_create_group_ pmpi_comm_create_group_ MPI_Comm_create_group(v comm, v group, v tag, p new)
    mpi_comm_idup_with_info_ pmpi_comm_idup_with_info_ MPI_Comm_idup_with_info(v comm, v info, p new, p request)
    mpi_comm_remote_group_ pmpi_comm_remote_group_ MPI_Comm_remote_group(v comm, p group)
    mpi_comm_remote_size_ pmpi_comm_remote_size_ MPI_Comm_remote_size(v comm, p size)
    mpi_dist_graph_create_ pmpi_dist_graph_create_ MPI_Dist_graph_create(v comm, v count, p sources, p degrees, p destinations, w weights, v info, v reorder, p new)
    mpi_dist_graph_create_adjacent_ pmpi_dist_graph_create_adjacent_ MPI_Dist_graph_create_adjacent(v comm, v indegree, p sources, w source_weights, v outdegree, p destinations, w weights, v info, v reorder, p new)
    mpi_dist_graph_neighbors_ pmpi_dist_graph_neighbors_ MPI_Dist_graph_neighbors(v comm, v room, p sources, w source_weights, v other_room, p destinations, w weights)
    mpi_dist_graph_neighbors_count_ pmpi_dist_graph_neighbors_count_ MPI_Dist_graph_neighbors_count(v comm, p indegree, p outdegree, p is_weighted)
    mpi_errhandler_create_ pmpi_errhandler_create_ MPI_Errhandler_create(b function, p handler)
    mpi_free_mem_ pmpi_free_mem_ MPI_Free_mem(b at)
    mpi_graph_get_ pmpi_graph_get_ MPI_Graph_get(v comm, v nodes, v count, p index, p edges)
    mpi_graph_map_ pmpi_graph_map_ MPI_Graph_map(v comm, v nodes, p index, p edges, p new)
    mpi_improbe_ pmpi_improbe_ MPI_Improbe(v source, v tag, v comm, p flag, p message, s at)
    mpi_imrecv_ pmpi_imrecv_ MPI_Imrecv(b buf, v count, v datatype, p message, p request)
    mpi_ineighbor_allgather_ pmpi_ineighbor_allgather_ MPI_Ineighbor_allgather(b sendbuf, v sendcount, v sendtype, b recvbuf, v recvcount, v recvtype, v comm, p request)
    mpi_ineighbor_allgatherv_ pmpi_ineighbor_allgatherv_ MPI_Ineighbor_allgatherv(b sendbuf, v sendcount, v sendtype, b recvbuf, p recvcounts, p displs, v recvtype, v comm, p request)
    mpi_ineighbor_alltoall_ pmpi_ineighbor_alltoall_ MPI_Ineighbor_alltoall(b sendbuf, v sendcount, v sendtype, b recvbuf, v recvcount, v recvtype, v comm, p request)
    mpi_ineighbor_alltoallv_ pmpi_ineighbor_alltoallv_ MPI_Ineighbor_alltoallv(b sendbuf, p sendcounts, p sdispls, v sendtype, b recvbuf, p recvcounts, p rdispls, v recvtype, v comm, p request)
    mpi_ineighbor_alltoallw_ pmpi_ineighbor_alltoallw_ MPI_Ineighbor_alltoallw(b sendbuf, p sendcounts, p sdispls, p sendtypes, b recvbuf, p recvcounts, p rdispls, p recvtypes, v comm, p request)
    mpi_intercomm_create_ pmpi_intercomm_create_ MPI_Intercomm_create(v comm, v leader, v bridge, v other, v tag, p new)
    mpi_intercomm_merge_ pmpi_intercomm_merge_ MPI_Intercomm_merge(v comm, v high, p new)
    mpi_mprobe_ pmpi_mprobe_ MPI_Mprobe(v source, v tag, v comm, p message, s at)
    mpi_mrecv_ pmpi_mrecv_ MPI_Mrecv(b buf, v count, v datatype, p message, s at)
    mpi_neighbor_allgather_ pmpi_neighbor_allgather_ MPI_Neighbor_allgather(b sendbuf, v sendcount, v sendtype, b recvbuf, v recvcount, v recvtype, v comm)
    mpi_neighbor_allgatherv_ pmpi_neighbor_allgatherv_ MPI_Neighbor_allgatherv(b sendbuf, v sendcount, v sendtype, b recvbuf, p recvcounts, p displs, v recvtype, v comm)
    mpi_neighbor_alltoall_ pmpi_neighbor_alltoall_ MPI_Neighbor_alltoall(b sendbuf, v sendcount, v sendtype, b recvbuf, v recvcount, v recvtype, v comm)
    mpi_neighbor_alltoallv_ pmpi_neighbor_alltoallv_ MPI_Neighbor_alltoallv(b sendbuf, p sendcounts, p sdispls, v sendtype, b recvbuf, p recvcounts, p rdispls, v recvtype, v comm)
    mpi_neighbor_alltoallw_ pmpi_neighbor_alltoallw_ MPI_Neighbor_alltoallw(b sendbuf, p sendcounts, p sdispls, p sendtypes, b recvbuf, p recvcounts, p rdispls, p recvtypes, v comm)
    mpi_status_set_cancelled_ pmpi_status_set_cancelled_ MPI_Status_set_cancelled(s at, v flag)
    mpi_type_create_darray_ pmpi_type_create_darray_ MPI_Type_create_darray(v size, v rank, v ndims, p sizes, p distributions, p arguments, p processes, v order, v old, p new)
    mpi_type_create_f90_complex_ pmpi_type_create_f90_complex_ MPI_Type_create_f90_complex(v digits, v exponent, p new)
    mpi_type_create_f90_integer_ pmpi_type_create_f90_integer_ MPI_Type_create_f90_integer(v digits, p new)
    mpi_type_create_f90_real_ pmpi_type_create_f90_real_ MPI_Type_create_f90_real(v digits, v exponent, p new)
    mpi_type_delete_attr_ pmpi_type_delete_attr_ MPI_Type_delete_attr(v datatype, v key)
    mpi_type_free_keyval_ pmpi_type_free_keyval_ MPI_Type_free_keyval(p key)
    mpi_type_get_true_extent_x_ pmpi_type_get_true_extent_x_ MPI_Type_get_true_extent_x(v datatype, p lb, p extent)
    mpi_win_allocate_ pmpi_win_allocate_ MPI_Win_allocate(a size, v unit, v info, v comm, p base, p win)
    mpi_win_delete_attr_ pmpi_win_delete_attr_ MPI_Win_delete_attr(v win, v key)
    mpi_win_free_keyval_ pmpi_win_free_keyval_ MPI_Win_free_keyval(p key)
    mpi_wait_ pmpi_wait_ MPI_Wait(p request, s status)
    mpi_waitall_ pmpi_waitall_ MPI_Waitall(v count, p requests, s statuses)
    mpi_win_create_ pmpi_win_create_ MPI_Win_create(b base, a size, v unit, v info, v comm, p win)
    mpi_win_fence_ pmpi_win_fence_ MPI_Win_fence(v assert, v win)
    mpi_win_free_ pmpi_win_free_ MPI_Win_free(p win)
    mpi_win_get_group_ pmpi_win_get_group_ MPI_Win_get_group(v win, p group)
    mpi_win_set_errhandler_ pmpi_win_set_errhandler_ MPI_Win_set_errhandler(v win, v handler)
}

/// Functions that are not simulated: each stops the program with its name.
macro_rules! absent {
    ($($name:ident $profiled:ident)*) => { $(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() {
            crate::call::abort(15, concat!(stringify!($name), " (Fortran) is not simulated"))
        }
        #[unsafe(no_mangle)]
        pub extern "C" fn $profiled() { $name() }
    )* };
}

absent! {
    mpi_conversion_fn_null_ pmpi_conversion_fn_null_
    mpi_allgather_init_ pmpi_allgather_init_
    mpi_allgatherv_init_ pmpi_allgatherv_init_
    mpi_allreduce_init_ pmpi_allreduce_init_
    mpi_alltoall_init_ pmpi_alltoall_init_
    mpi_alltoallv_init_ pmpi_alltoallv_init_
    mpi_alltoallw_init_ pmpi_alltoallw_init_
    mpi_barrier_init_ pmpi_barrier_init_
    mpi_bcast_init_ pmpi_bcast_init_
    mpi_close_port_ pmpi_close_port_
    mpi_comm_accept_ pmpi_comm_accept_
    mpi_comm_connect_ pmpi_comm_connect_
    mpi_comm_create_from_group_ pmpi_comm_create_from_group_
    mpi_comm_join_ pmpi_comm_join_
    mpi_comm_spawn_ pmpi_comm_spawn_
    mpi_comm_spawn_multiple_ pmpi_comm_spawn_multiple_
    mpi_compare_and_swap_ pmpi_compare_and_swap_
    mpi_exscan_init_ pmpi_exscan_init_
    mpi_fetch_and_op_ pmpi_fetch_and_op_
    mpi_file_call_errhandler_ pmpi_file_call_errhandler_
    mpi_file_close_ pmpi_file_close_
    mpi_file_create_errhandler_ pmpi_file_create_errhandler_
    mpi_file_delete_ pmpi_file_delete_
    mpi_file_get_amode_ pmpi_file_get_amode_
    mpi_file_get_atomicity_ pmpi_file_get_atomicity_
    mpi_file_get_byte_offset_ pmpi_file_get_byte_offset_
    mpi_file_get_errhandler_ pmpi_file_get_errhandler_
    mpi_file_get_group_ pmpi_file_get_group_
    mpi_file_get_info_ pmpi_file_get_info_
    mpi_file_get_position_ pmpi_file_get_position_
    mpi_file_get_position_shared_ pmpi_file_get_position_shared_
    mpi_file_get_size_ pmpi_file_get_size_
    mpi_file_get_type_extent_ pmpi_file_get_type_extent_
    mpi_file_get_view_ pmpi_file_get_view_
    mpi_file_iread_ pmpi_file_iread_
    mpi_file_iread_all_ pmpi_file_iread_all_
    mpi_file_iread_at_ pmpi_file_iread_at_
    mpi_file_iread_at_all_ pmpi_file_iread_at_all_
    mpi_file_iread_shared_ pmpi_file_iread_shared_
    mpi_file_iwrite_ pmpi_file_iwrite_
    mpi_file_iwrite_all_ pmpi_file_iwrite_all_
    mpi_file_iwrite_at_ pmpi_file_iwrite_at_
    mpi_file_iwrite_at_all_ pmpi_file_iwrite_at_all_
    mpi_file_iwrite_shared_ pmpi_file_iwrite_shared_
    mpi_file_open_ pmpi_file_open_
    mpi_file_preallocate_ pmpi_file_preallocate_
    mpi_file_read_ pmpi_file_read_
    mpi_file_read_all_ pmpi_file_read_all_
    mpi_file_read_all_begin_ pmpi_file_read_all_begin_
    mpi_file_read_all_end_ pmpi_file_read_all_end_
    mpi_file_read_at_ pmpi_file_read_at_
    mpi_file_read_at_all_ pmpi_file_read_at_all_
    mpi_file_read_at_all_begin_ pmpi_file_read_at_all_begin_
    mpi_file_read_at_all_end_ pmpi_file_read_at_all_end_
    mpi_file_read_ordered_ pmpi_file_read_ordered_
    mpi_file_read_ordered_begin_ pmpi_file_read_ordered_begin_
    mpi_file_read_ordered_end_ pmpi_file_read_ordered_end_
    mpi_file_read_shared_ pmpi_file_read_shared_
    mpi_file_seek_ pmpi_file_seek_
    mpi_file_seek_shared_ pmpi_file_seek_shared_
    mpi_file_set_atomicity_ pmpi_file_set_atomicity_
    mpi_file_set_errhandler_ pmpi_file_set_errhandler_
    mpi_file_set_info_ pmpi_file_set_info_
    mpi_file_set_size_ pmpi_file_set_size_
    mpi_file_set_view_ pmpi_file_set_view_
    mpi_file_sync_ pmpi_file_sync_
    mpi_file_write_ pmpi_file_write_
    mpi_file_write_all_ pmpi_file_write_all_
    mpi_file_write_all_begin_ pmpi_file_write_all_begin_
    mpi_file_write_all_end_ pmpi_file_write_all_end_
    mpi_file_write_at_ pmpi_file_write_at_
    mpi_file_write_at_all_ pmpi_file_write_at_all_
    mpi_file_write_at_all_begin_ pmpi_file_write_at_all_begin_
    mpi_file_write_at_all_end_ pmpi_file_write_at_all_end_
    mpi_file_write_ordered_ pmpi_file_write_ordered_
    mpi_file_write_ordered_begin_ pmpi_file_write_ordered_begin_
    mpi_file_write_ordered_end_ pmpi_file_write_ordered_end_
    mpi_file_write_shared_ pmpi_file_write_shared_
    mpi_gather_init_ pmpi_gather_init_
    mpi_gatherv_init_ pmpi_gatherv_init_
    mpi_get_accumulate_ pmpi_get_accumulate_
    mpi_grequest_complete_ pmpi_grequest_complete_
    mpi_grequest_start_ pmpi_grequest_start_
    mpi_group_from_session_pset_ pmpi_group_from_session_pset_
    mpi_info_create_env_ pmpi_info_create_env_
    mpi_info_get_string_ pmpi_info_get_string_
    mpi_intercomm_create_from_groups_ pmpi_intercomm_create_from_groups_
    mpi_isendrecv_ pmpi_isendrecv_
    mpi_isendrecv_replace_ pmpi_isendrecv_replace_
    mpi_lookup_name_ pmpi_lookup_name_
    mpi_neighbor_allgather_init_ pmpi_neighbor_allgather_init_
    mpi_neighbor_allgatherv_init_ pmpi_neighbor_allgatherv_init_
    mpi_neighbor_alltoall_init_ pmpi_neighbor_alltoall_init_
    mpi_neighbor_alltoallv_init_ pmpi_neighbor_alltoallv_init_
    mpi_neighbor_alltoallw_init_ pmpi_neighbor_alltoallw_init_
    mpi_open_port_ pmpi_open_port_
    mpi_parrived_ pmpi_parrived_
    mpi_pready_ pmpi_pready_
    mpi_pready_list_ pmpi_pready_list_
    mpi_pready_range_ pmpi_pready_range_
    mpi_precv_init_ pmpi_precv_init_
    mpi_psend_init_ pmpi_psend_init_
    mpi_publish_name_ pmpi_publish_name_
    mpi_raccumulate_ pmpi_raccumulate_
    mpi_reduce_init_ pmpi_reduce_init_
    mpi_reduce_scatter_block_init_ pmpi_reduce_scatter_block_init_
    mpi_reduce_scatter_init_ pmpi_reduce_scatter_init_
    mpi_register_datarep_ pmpi_register_datarep_
    mpi_rget_ pmpi_rget_
    mpi_rget_accumulate_ pmpi_rget_accumulate_
    mpi_rput_ pmpi_rput_
    mpi_scan_init_ pmpi_scan_init_
    mpi_scatter_init_ pmpi_scatter_init_
    mpi_scatterv_init_ pmpi_scatterv_init_
    mpi_session_call_errhandler_ pmpi_session_call_errhandler_
    mpi_session_create_errhandler_ pmpi_session_create_errhandler_
    mpi_session_finalize_ pmpi_session_finalize_
    mpi_session_get_errhandler_ pmpi_session_get_errhandler_
    mpi_session_get_info_ pmpi_session_get_info_
    mpi_session_get_nth_pset_ pmpi_session_get_nth_pset_
    mpi_session_get_num_psets_ pmpi_session_get_num_psets_
    mpi_session_get_pset_info_ pmpi_session_get_pset_info_
    mpi_session_init_ pmpi_session_init_
    mpi_session_set_errhandler_ pmpi_session_set_errhandler_
    mpi_status_set_elements_x_ pmpi_status_set_elements_x_
    mpi_unpublish_name_ pmpi_unpublish_name_
    mpi_win_allocate_shared_ pmpi_win_allocate_shared_
    mpi_win_attach_ pmpi_win_attach_
    mpi_win_call_errhandler_ pmpi_win_call_errhandler_
    mpi_win_complete_ pmpi_win_complete_
    mpi_win_create_dynamic_ pmpi_win_create_dynamic_
    mpi_win_create_errhandler_ pmpi_win_create_errhandler_
    mpi_win_detach_ pmpi_win_detach_
    mpi_win_flush_ pmpi_win_flush_
    mpi_win_flush_all_ pmpi_win_flush_all_
    mpi_win_flush_local_ pmpi_win_flush_local_
    mpi_win_flush_local_all_ pmpi_win_flush_local_all_
    mpi_win_get_errhandler_ pmpi_win_get_errhandler_
    mpi_win_get_info_ pmpi_win_get_info_
    mpi_win_lock_ pmpi_win_lock_
    mpi_win_lock_all_ pmpi_win_lock_all_
    mpi_win_post_ pmpi_win_post_
    mpi_win_set_info_ pmpi_win_set_info_
    mpi_win_shared_query_ pmpi_win_shared_query_
    mpi_win_start_ pmpi_win_start_
    mpi_win_sync_ pmpi_win_sync_
    mpi_win_test_ pmpi_win_test_
    mpi_win_unlock_ pmpi_win_unlock_
    mpi_win_unlock_all_ pmpi_win_unlock_all_
    mpi_win_wait_ pmpi_win_wait_
}
