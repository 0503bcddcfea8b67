//! The folder of a run that engine and pilots share: the keys of its drives, where the engine listens,
//! and outcomes of attempts that the engine does not know yet. Only the owner can enter it.

use super::greeting::Key;
use crate::attempt_pool::JobResult;
use crate::private;
use crate::surroundings::Need;
use serde::Serialize;
use serde::de::DeserializeOwned;
use slackline_engine::OpId;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Result, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The folder of a run that engine and pilots share; private to the user.
#[derive(Clone, Debug)]
pub(super) struct PilotDir {
    root: PathBuf,
}

impl PilotDir {
    /// Those of a run.
    pub(super) fn of(run: &Path) -> PilotDir {
        PilotDir { root: run.join("pilots") }
    }

    /// Creates the folders, where they are not there yet, for their owner only.
    pub(super) fn make(&self) -> Result<()> {
        [self.root.clone(), self.made(), self.keys_folder()]
            .iter()
            .try_for_each(|folder| private::make_directory(folder))
    }

    /// Writes a key for a new drive of the run: pilots that it starts use it, and those of earlier
    /// drives the keys of theirs. Gives the number of the drive.
    pub(super) fn begin_drive(&self) -> Result<u32> {
        let drive = self.drives()?.max().map_or(1, |last| last + 1);
        let mut options = File::options();
        let path = self.keys_folder().join(drive.to_string());
        let mut file = options.write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(Key::new()?.to_text().as_bytes())?;
        file.sync_all()?;
        Ok(drive)
    }

    /// The key of a drive.
    pub(super) fn key(&self, drive: u32) -> Result<Key> {
        let path = self.keys_folder().join(drive.to_string());
        let folder = self.keys_folder();
        for folder in [&self.root, &folder] {
            let opened = private::enter(rustix::fs::CWD, folder.as_os_str(), folder)?;
            private::check_private(opened, folder)?;
        }
        let text = String::from_utf8(private::read_file(&path)?).unwrap_or_default();
        Key::parse(&text).ok_or_else(|| private::denied(&path, "is not a key"))
    }

    /// The keys of all drives; one that was cut off while it was written is left out.
    pub(super) fn keys(&self) -> Result<BTreeMap<u32, Key>> {
        Ok(self.drives()?.filter_map(|drive| Some((drive, self.key(drive).ok()?))).collect())
    }

    fn drives(&self) -> Result<impl Iterator<Item = u32>> {
        let names = fs::read_dir(self.keys_folder())?;
        Ok(names.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()))
    }

    fn keys_folder(&self) -> PathBuf {
        self.root.join("keys")
    }

    /// Says where the engine listens.
    pub(super) fn announce(&self, address: &str) -> Result<()> {
        self.write("engine", &address.to_string())
    }

    /// Says what tasks need around them, for pilots to look for on their nodes.
    pub(super) fn need(&self, needs: &[Need]) -> Result<()> {
        self.write("needs", &needs)
    }

    /// What tasks need around them.
    pub(super) fn needs(&self) -> Vec<Need> {
        self.read("needs").unwrap_or_default()
    }

    /// Removes the address of the engine: no engine listens now.
    pub(super) fn hush(&self) {
        let _ = fs::remove_file(self.root.join("engine"));
    }

    /// Address of the engine.
    pub(super) fn engine(&self) -> Result<String> {
        self.read("engine")
    }

    /// Path of a pilot's output.
    pub(super) fn words(&self, name: &str) -> PathBuf {
        self.root.join(format!("{name}.log"))
    }

    fn made(&self) -> PathBuf {
        self.root.join("made")
    }

    /// Keeps the outcome of a job until the engine has received it.
    pub(super) fn keep(&self, made: &JobResult) -> Result<()> {
        self.write(&format!("made/{}", made.label.op.0), made)
    }

    /// Removes the files of a job with a known result.
    pub(super) fn forget(&self, op: OpId) {
        let _ = fs::remove_file(self.made().join(op.0.to_string()));
    }

    /// All outcomes that the engine has not received yet, as far as they can be read.
    pub(super) fn kept(&self) -> Vec<JobResult> {
        let Ok(names) = fs::read_dir(self.made()) else { return Vec::new() };
        let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut made: Vec<JobResult> = names
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
        Ok(serde_json::from_slice(&private::read_file(&self.root.join(name))?)?)
    }
}
