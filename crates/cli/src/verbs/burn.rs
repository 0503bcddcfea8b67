//! `slackline burn`: a task to try runs with. It computes for some time and writes files whose
//! content follows from what it read, so that every output can be checked.

use crate::output::Output;
use clap::Args;
use rustix::time::{ClockId, clock_gettime};
use slackline_core::Failure;
use slackline_core::generation::content;
use slackline_model::units::Quantity;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;
use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

/// Compute for some seconds and write files that follow from those read
#[derive(Args)]
#[command(hide = true)]
pub(crate) struct Burn {
    /// Seconds of computing
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    seconds: f64,
    /// Seconds of sleeping
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    sleep: f64,
    /// A file to read
    #[arg(long = "in", value_name = "FILE")]
    inputs: Vec<PathBuf>,
    /// A file to write
    #[arg(long = "out", value_name = "FILE:SIZE", value_parser = sized)]
    outputs: Vec<(String, u64)>,
}

fn sized(text: &str) -> Result<(String, u64), String> {
    let (name, size) = text.rsplit_once(':').ok_or("expected FILE:SIZE")?;
    let bytes = Quantity::Size.parse_or_bare(size).map_err(|e| e.to_string())?;
    Ok((name.to_string(), bytes as u64))
}

impl Burn {
    pub(crate) fn run(self, _: &mut Output) -> Result<(), Failure> {
        let mut hash = Xxh3::new();
        for path in &self.inputs {
            digest(path, &mut hash).map_err(|e| fail(path, &e))?;
        }
        let seed = hash.digest();
        burn(self.seconds);
        if let Ok(sleep) = Duration::try_from_secs_f64(self.sleep) {
            std::thread::sleep(sleep);
        }
        for (name, bytes) in &self.outputs {
            write(name, *bytes, seed).map_err(|e| fail(Path::new(name), &e))?;
        }
        Ok(())
    }
}

fn fail(path: &Path, error: &std::io::Error) -> Failure {
    Failure::work(format!("{}: {error}", path.display()))
}

fn digest(path: &Path, hash: &mut Xxh3) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    let mut chunk = vec![0; 1 << 16];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(()),
            read => hash.update(&chunk[..read]),
        }
    }
}

/// Computes until this thread has had so many seconds of a core.
fn burn(seconds: f64) {
    let used = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
    };
    let begin = used();
    let mut word = 1u64;
    while used() - begin < seconds {
        for _ in 0..20_000 {
            word = std::hint::black_box(xxh3_64_with_seed(&word.to_le_bytes(), word));
        }
    }
}

fn write(name: &str, bytes: u64, seed: u64) -> std::io::Result<()> {
    let path = Path::new(name);
    if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, content(name, bytes, seed))
}
