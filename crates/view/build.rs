//! Compresses the font of pictures, which is embedded: half of its size, and unpacked once per picture.

use flate2::{Compression, write::GzEncoder};
use std::env;
use std::io::Write;
use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(epaint_default_fonts::UBUNTU_LIGHT).expect("memory can be written to");
    let bytes = encoder.finish().expect("memory can be written to");
    let folder = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    std::fs::write(folder.join("font.ttf.gz"), bytes).expect("the build folder can be written to");
}
