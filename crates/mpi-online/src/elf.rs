//! Detection of the MPI that a program is linked with, from the libraries named in its ELF file.

use std::fs;
use std::io;
use std::path::Path;

/// An implementation of MPI, as its libraries are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mpi {
    /// MPICH and those with its binary interface.
    Mpich,
    /// Open MPI.
    OpenMpi,
}

impl Mpi {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Mpi::Mpich => "MPICH",
            Mpi::OpenMpi => "Open MPI",
        }
    }

    /// The implementation that a library belongs to.
    pub fn of_library(name: &str) -> Option<Mpi> {
        // The ABI of MPICH (and Intel MPI, MVAPICH2) has version 12 of `libmpi.so`; Open MPI's versions are others.
        for known in ["libmpich.so", "libmpichfort.so", "libmpi.so.12", "libmpifort.so.12"] {
            if name.starts_with(known) {
                return Some(Mpi::Mpich);
            }
        }
        (name.starts_with("libmpi.so") || name.starts_with("libmpi_")).then_some(Mpi::OpenMpi)
    }
}

/// The libraries that a program needs; `None` if it is no 64-bit ELF file (a script).
pub fn needed(program: &Path) -> io::Result<Option<Vec<String>>> {
    Ok(parse(&fs::read(program)?))
}

/// The MPI that a program needs, if any.
pub fn mpi_of(program: &Path) -> io::Result<Option<Mpi>> {
    let libraries = needed(program)?.unwrap_or_default();
    Ok(libraries.iter().find_map(|name| Mpi::of_library(name)))
}

/// Whether a program uses Fortran's module `mpi_f08`, whose functions have names of their own.
pub fn uses_mpi_f08(program: &Path) -> io::Result<bool> {
    let bytes = fs::read(program)?;
    Ok([&b"\0mpi_init_f08_\0"[..], b"\0mpi_init_thread_f08_\0"]
        .iter()
        .any(|name| bytes.windows(name.len()).any(|at| at == *name)))
}

fn parse(bytes: &[u8]) -> Option<Vec<String>> {
    // The identification: magic, 64 bits, little-endian.
    if bytes.get(..6)? != [0x7f, b'E', b'L', b'F', 2, 1] {
        return None;
    }
    let word = |at: usize| bytes.get(at..)?.first_chunk().map(|b| u64::from_le_bytes(*b));
    let half = |at: usize| bytes.get(at..)?.first_chunk().map(|b| u16::from_le_bytes(*b));
    let kind = |at: usize| bytes.get(at..)?.first_chunk().map(|b| u32::from_le_bytes(*b));
    // Offset, entry size and number of the program headers.
    let (headers, size, count) = (word(32)? as usize, half(54)? as usize, half(56)? as usize);
    let mut dynamic = None;
    let mut loads = Vec::new();
    for k in 0..count {
        let at = headers.checked_add(k.checked_mul(size)?)?;
        let field = |offset: usize| word(at.checked_add(offset)?);
        let (offset, address, length) = (field(8)?, field(16)?, field(32)?);
        match kind(at)? {
            // PT_LOAD, PT_DYNAMIC.
            1 => loads.push((offset, address, length)),
            2 => dynamic = Some((offset as usize, length as usize)),
            _ => {}
        }
    }
    let Some((start, length)) = dynamic else { return Some(Vec::new()) };
    let (mut names, mut table) = (Vec::new(), None);
    for at in (start..start.checked_add(length)?).step_by(16) {
        match (word(at)?, word(at.checked_add(8)?)?) {
            // DT_NULL, DT_NEEDED, DT_STRTAB.
            (0, _) => break,
            (1, name) => names.push(name),
            (5, address) => table = Some(address),
            _ => {}
        }
    }
    let table = table?;
    let (offset, address, _) =
        loads.into_iter().find(|&(_, from, n)| table >= from && table - from < n)?;
    // The string table's address in memory becomes its offset in the file.
    let strings = (table - address).checked_add(offset)? as usize;
    let mut found = Vec::new();
    for name in names {
        let rest = bytes.get(strings.checked_add(name as usize)?..)?;
        let end = rest.iter().position(|&byte| byte == 0)?;
        found.push(String::from_utf8_lossy(&rest[..end]).into_owned());
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_this_test_are_found() {
        let me = std::env::current_exe().unwrap();
        let names = needed(&me).unwrap().unwrap();
        assert!(names.iter().any(|name| name.starts_with("libc.so")), "{names:?}");
        assert_eq!(mpi_of(&me).unwrap(), None);
        assert_eq!(parse(b"#!/bin/sh\n"), None);
        assert_eq!(parse(&[0x7f, b'E', b'L', b'F', 2, 1, 0]), None);
    }

    #[test]
    fn implementations_by_library() {
        assert_eq!(Mpi::of_library("libmpi.so.40"), Some(Mpi::OpenMpi));
        assert_eq!(Mpi::of_library("libmpi_mpifh.so.40"), Some(Mpi::OpenMpi));
        assert_eq!(Mpi::of_library("libmpi.so.12"), Some(Mpi::Mpich));
        assert_eq!(Mpi::of_library("libmpichfort.so.12"), Some(Mpi::Mpich));
        assert_eq!(Mpi::of_library("libm.so.6"), None);
    }
}
