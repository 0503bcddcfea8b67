//! The folder of a run that engine and pilots share: who may speak, where the engine listens, and
//! what came of jobs that nobody has heard of yet.

use crate::backend::OpId;
use crate::jobs::Made;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File, Permissions};
use std::io::{Read, Result, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// See the module's head.
#[derive(Clone, Debug)]
pub(super) struct Places {
    root: PathBuf,
}

impl Places {
    /// Those of a run.
    pub(super) fn of(run: &Path) -> Places {
        Places { root: run.join("pilots") }
    }

    /// Makes them, with a token of their own, where they are not there yet.
    pub(super) fn make(&self) -> Result<()> {
        fs::create_dir_all(self.made())?;
        fs::set_permissions(&self.root, Permissions::from_mode(0o700))?;
        if self.root.join("token").exists() {
            return Ok(());
        }
        let mut random = [0u8; 32];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        let token: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        self.write("token", &token)
    }

    /// The word that proves that somebody may read the folder of the run.
    pub(super) fn token(&self) -> Result<String> {
        self.read("token")
    }

    /// Says where the engine listens.
    pub(super) fn announce(&self, address: &str) -> Result<()> {
        self.write("engine", &address.to_string())
    }

    /// Nobody listens any more.
    pub(super) fn hush(&self) {
        let _ = fs::remove_file(self.root.join("engine"));
    }

    /// Where the engine listens.
    pub(super) fn engine(&self) -> Result<String> {
        self.read("engine")
    }

    /// What a pilot says goes here.
    pub(super) fn words(&self, name: &str) -> PathBuf {
        self.root.join(format!("{name}.log"))
    }

    fn made(&self) -> PathBuf {
        self.root.join("made")
    }

    /// Keeps what came of a job until somebody has heard of it.
    pub(super) fn keep(&self, made: &Made) -> Result<()> {
        self.write(&format!("made/{}", made.label.op.0), made)
    }

    /// What came of a job is known.
    pub(super) fn forget(&self, op: OpId) {
        let _ = fs::remove_file(self.made().join(op.0.to_string()));
    }

    /// Everything that nobody has heard of yet, as far as it can be read.
    pub(super) fn kept(&self) -> Vec<Made> {
        let Ok(names) = fs::read_dir(self.made()) else { return Vec::new() };
        let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut made: Vec<Made> = names
            .filter(|name| name.parse::<u64>().is_ok())
            .filter_map(|name| self.read(&format!("made/{name}")).ok())
            .collect();
        made.sort_by_key(|made| made.label.op);
        made
    }

    /// Writes a file whole or not at all, for its owner only.
    fn write(&self, name: &str, what: &impl Serialize) -> Result<()> {
        let path = self.root.join(name);
        let part = path.with_extension(format!("{}.part", std::process::id()));
        let mut options = File::options();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&part)?;
        file.write_all(&serde_json::to_vec(what)?)?;
        fs::rename(&part, &path)
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        Ok(serde_json::from_slice(&fs::read(self.root.join(name))?)?)
    }
}
