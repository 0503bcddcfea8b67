//! Compiles the library that is loaded into MPI programs, to be embedded into the command.
//!
//! It has no dependencies, so that the compiler alone makes it: a package cannot depend on a
//! `cdylib` of its workspace in a way that plain `cargo build` supports. It is embedded compressed:
//! a third of its size, and unpacked once per `mpirun`.

use flate2::{Compression, write::GzEncoder};
use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    println!("cargo::rerun-if-changed=../mpi-rank/src");
    println!("cargo::rerun-if-changed=build.rs");
    let rank = Path::new("../mpi-rank/src/lib.rs");
    library(&out, rank, "slackline_mpi", "libmpich.so.12");
}

/// Makes one library and compresses it; where the system has no ELF libraries, an empty file.
fn library(out: &Path, source: &Path, name: &str, soname: &str) {
    let file = out.join(format!("lib{name}.so"));
    let packed = out.join(format!("lib{name}.so.gz"));
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        std::fs::write(&packed, b"").expect("the build folder can be written to");
        return;
    }
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(compiler);
    command.args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", name]);
    let is_small = env::var("OPT_LEVEL").is_ok_and(|level| level == "s" || level == "z");
    command.args(["-C", if is_small { "opt-level=s" } else { "opt-level=2" }]);
    command.args(["-C", "panic=abort", "-C", "strip=symbols"]);
    command.arg("-C").arg(format!("link-arg=-Wl,-soname,{soname}"));
    command.arg("--target").arg(env::var("TARGET").unwrap_or_default());
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = std::ffi::OsString::from("linker=");
        option.push(linker);
        command.arg("-C").arg(option);
    }
    command.args(["--cap-lints", "allow"]).arg(source).arg("-o").arg(&file);
    let status = command.status().expect("the Rust compiler can be started");
    assert!(status.success(), "{} could not be compiled", source.display());
    let library = std::fs::read(&file).expect("the compiler has written the library");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&library).expect("memory can be written to");
    let bytes = encoder.finish().expect("memory can be written to");
    std::fs::write(&packed, bytes).expect("the build folder can be written to");
}
