//! The library that programs are started with, and the files it is unpacked to.

use flate2::read::GzDecoder;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use tempfile::TempDir;

/// The library, compressed with gzip.
static RANK: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libslackline_mpi.so.gz"));

/// Our `mpi.h`, with the values of MPICH.
pub static HEADER: &str = include_str!("../include/mpi.h");
/// Declarations for programs that state their computations.
pub static SAMPLE_HEADER: &str = include_str!("../include/slackline.h");

/// Names of the libraries of MPICH and of its ABI, with which programs are linked; the first is the `SONAME` of ours.
pub const NAMES: [&str; 4] =
    ["libmpich.so.12", "libmpi.so.12", "libmpichfort.so.12", "libmpifort.so.12"];

/// A folder with the library under all its names, removed with the value.
pub struct Unpacked {
    folder: TempDir,
}

impl Unpacked {
    /// Writes the library for ranks.
    pub fn new() -> io::Result<Unpacked> {
        if RANK.is_empty() {
            return Err(io::Error::other("MPI programs can be run on Linux only"));
        }
        let folder = tempfile::Builder::new().prefix("slackline-mpi-").tempdir()?;
        let mut library = File::create(folder.path().join("libslackline_mpi.so"))?;
        io::copy(&mut GzDecoder::new(RANK), &mut library)?;
        let plain = ["libmpich.so", "libmpi.so", "libmpichfort.so", "libmpifort.so"];
        for name in NAMES.into_iter().chain(plain) {
            symlink("libslackline_mpi.so", folder.path().join(name))?;
        }
        Ok(Unpacked { folder })
    }

    /// Adds the headers, for compilers.
    pub fn with_headers(self) -> io::Result<Unpacked> {
        fs::write(self.folder.path().join("mpi.h"), HEADER)?;
        fs::write(self.folder.path().join("slackline.h"), SAMPLE_HEADER)?;
        Ok(self)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}
