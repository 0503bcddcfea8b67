//! Files on storages: names and sizes, mounts, open files, and the space that is left.
//!
//! A file is inert until it is opened: contents that a platform declares stay the list they are, and only
//! what changes is kept beside it.

use serde::Serialize;
use slackline_model::Platform;
use slackline_model::platform::Contents;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

/// Error of an operation on files, which then changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No mount point of the host contains the path.
    NotMounted,
    /// There is no such file.
    NoSuchFile,
    /// The file exists already.
    FileExists,
    /// The addition does not fit.
    StorageFull,
    /// The file is open.
    FileIsOpen,
    /// The handle is not that of an open file.
    NotOpen,
    /// The handle is that of an open file.
    HandleInUse,
    /// A position behind the end of the file.
    BeyondTheEnd,
    /// A renaming that would leave the storage.
    OtherStorage,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refused::NotMounted => "no storage mounted there",
            Refused::NoSuchFile => "no such file",
            Refused::FileExists => "file exists",
            Refused::StorageFull => "storage full",
            Refused::FileIsOpen => "file is open",
            Refused::NotOpen => "not open",
            Refused::HandleInUse => "handle is in use",
            Refused::BeyondTheEnd => "beyond the end",
            Refused::OtherStorage => "other storage",
        })
    }
}

/// Used and available bytes of a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Space {
    /// Bytes of all files.
    pub used: u64,
    /// Bytes that still fit; none for a storage without a capacity.
    pub available: Option<u64>,
}

/// Result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is done.
    Done,
    /// A number of bytes.
    Bytes(u64),
    /// Used and available space.
    Space(Space),
    /// Paths inside the storage, sorted.
    Paths(Vec<String>),
}

/// Name of an open file.
pub type Handle = String;

/// An operation on files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Opens a file, or makes it.
    Open {
        /// The host.
        host: String,
        /// Path of the file in the host's view.
        path: String,
        /// The name it is used by.
        handle: Handle,
        /// Make it if it does not exist.
        create: bool,
    },
    /// Closes an open file.
    Close(Handle),
    /// Sets the position in an open file.
    Seek(Handle, u64),
    /// Reads from the position on; answers what was left.
    Read(Handle, u64),
    /// Writes from the position on.
    Write(Handle, u64),
    /// Size of a file.
    Size(String, String),
    /// Space of the storage behind a path.
    Space(String, String),
    /// Files of the storage below a path.
    List(String, String),
    /// Deletes a file.
    Delete(String, String),
    /// Gives a file another name on its storage.
    Rename(String, String, String),
    /// Copies a file.
    Copy(String, String, String),
    /// Moves a file: a renaming inside a storage, else a copy and a deletion.
    Move(String, String, String),
}

/// A storage and its files.
#[derive(Clone, Debug)]
struct Store {
    name: String,
    capacity: Option<u64>,
    used: u64,
    contents: Option<Arc<Contents>>,
    /// Changes from the contents: sizes of files, none where one of the contents is gone.
    changed: BTreeMap<String, Option<u64>>,
    /// Number of times that each open file is open.
    open: HashMap<String, u32>,
}

impl Store {
    fn size(&self, path: &str) -> Option<u64> {
        match self.changed.get(path) {
            Some(size) => *size,
            None => self.contents.as_ref()?.size(path),
        }
    }

    fn fits(&self, more: u64) -> bool {
        match self.capacity {
            Some(capacity) => self.used.checked_add(more).is_some_and(|used| used <= capacity),
            None => self.used.checked_add(more).is_some(),
        }
    }

    /// Gives a file a size, which has to fit.
    fn set(&mut self, path: &str, size: u64) {
        self.used = self.used - self.size(path).unwrap_or(0) + size;
        self.changed.insert(path.to_string(), Some(size));
    }

    fn remove(&mut self, path: &str) -> u64 {
        let size = self.size(path).unwrap_or(0);
        self.used -= size;
        if self.contents.as_ref().is_some_and(|contents| contents.size(path).is_some()) {
            self.changed.insert(path.to_string(), None);
        } else {
            self.changed.remove(path);
        }
        size
    }

    /// All files with their sizes, by path.
    fn files(&self) -> BTreeMap<String, u64> {
        let listed = self.contents.iter().flat_map(|contents| contents.iter());
        let mut files: BTreeMap<String, u64> =
            listed.map(|(path, size)| (path.to_string(), size)).collect();
        for (path, size) in &self.changed {
            match size {
                Some(size) => files.insert(path.clone(), *size),
                None => files.remove(path),
            };
        }
        files
    }
}

#[derive(Clone, Debug)]
struct OpenFile {
    store: usize,
    path: String,
    position: u64,
}

/// Storages, who mounts them where, and open files.
#[derive(Clone, Debug, Default)]
pub struct FileSystem {
    stores: Vec<Store>,
    /// Mount points of a host.
    mounts: HashMap<String, BTreeMap<String, usize>>,
    handles: HashMap<Handle, OpenFile>,
}

/// A path without empty parts and trailing slashes; `/` for the root.
fn plain(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    format!("/{}", parts.join("/"))
}

/// Part of a path below a folder, beginning with `/`.
fn below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    if folder == "/" {
        return Some(path);
    }
    let rest = path.strip_prefix(folder)?;
    match rest.as_bytes().first() {
        None => Some("/"),
        Some(b'/') => Some(rest),
        Some(_) => None,
    }
}

impl FileSystem {
    /// The storages of a platform, with its mounts and contents.
    pub fn of_platform(platform: &Platform) -> FileSystem {
        let mut files = FileSystem::default();
        for disk in platform.disks() {
            let capacity = disk.capacity.map(|bytes| bytes as u64);
            files.stores.push(Store {
                name: disk.name.to_string(),
                capacity,
                used: disk.contents.as_ref().map_or(0, |contents| contents.used()),
                contents: disk.contents.clone(),
                changed: BTreeMap::new(),
                open: HashMap::new(),
            });
            let store = files.stores.len() - 1;
            for (host, path) in &disk.mounts {
                files.mount(&platform.host(*host).name, path, store);
            }
        }
        files
    }

    /// Adds a storage; none if its files do not fit.
    pub fn add_storage(
        &mut self,
        name: &str,
        capacity: Option<u64>,
        files: impl IntoIterator<Item = (String, u64)>,
    ) -> Option<usize> {
        let mut store = Store {
            name: name.to_string(),
            capacity,
            used: 0,
            contents: None,
            changed: BTreeMap::new(),
            open: HashMap::new(),
        };
        for (path, size) in files {
            if !store.fits(size) {
                return None;
            }
            store.set(&plain(&path), size);
        }
        self.stores.push(store);
        Some(self.stores.len() - 1)
    }

    /// Mounts a storage; false if something is mounted there already.
    pub fn mount(&mut self, host: &str, path: &str, store: usize) -> bool {
        let points = self.mounts.entry(host.to_string()).or_default();
        points.insert(plain(path), store).is_none()
    }

    /// Whether a host mounts anything.
    pub fn knows_host(&self, host: &str) -> bool {
        self.mounts.contains_key(host)
    }

    /// The storage behind a path of a host, and the path inside it: the longest mount point wins.
    fn find(&self, host: &str, path: &str) -> Result<(usize, String), Refused> {
        let path = plain(path);
        let points = self.mounts.get(host).ok_or(Refused::NotMounted)?;
        let inside = points.iter().filter_map(|(point, &store)| {
            below(&path, point).map(|rest| (point.len(), store, rest))
        });
        let found = inside.max_by_key(|&(length, ..)| length).ok_or(Refused::NotMounted)?;
        Ok((found.1, found.2.to_string()))
    }

    /// Space of the storage with that number.
    fn space(&self, store: usize) -> Space {
        let Store { capacity, used, .. } = &self.stores[store];
        Space { used: *used, available: capacity.map(|capacity| capacity - used) }
    }

    /// Names of all storages.
    pub fn storages(&self) -> impl Iterator<Item = &str> + '_ {
        self.stores.iter().map(|store| store.name.as_str())
    }

    /// Space of all storages by name.
    pub fn spaces(&self) -> BTreeMap<String, Space> {
        (0..self.stores.len()).map(|k| (self.stores[k].name.clone(), self.space(k))).collect()
    }

    /// Files of all storages by name.
    pub fn all_files(&self) -> BTreeMap<String, BTreeMap<String, u64>> {
        self.stores.iter().map(|store| (store.name.clone(), store.files())).collect()
    }

    /// Performs an operation; a refused one changes nothing.
    pub fn perform(&mut self, op: &Op) -> Result<Answer, Refused> {
        match op {
            Op::Open { host, path, handle, create } => self.open(host, path, handle, *create),
            Op::Close(handle) => {
                let file = self.handles.remove(handle).ok_or(Refused::NotOpen)?;
                let open = &mut self.stores[file.store].open;
                if let Some(count) = open.get_mut(&file.path) {
                    *count -= 1;
                    if *count == 0 {
                        open.remove(&file.path);
                    }
                }
                Ok(Answer::Done)
            }
            Op::Seek(handle, to) => {
                let size = self.open_size(handle)?;
                if *to > size {
                    return Err(Refused::BeyondTheEnd);
                }
                self.set_position(handle, *to);
                Ok(Answer::Done)
            }
            Op::Read(handle, bytes) => {
                let left = self.open_size(handle)?.saturating_sub(self.position(handle));
                let read = left.min(*bytes);
                self.set_position(handle, self.position(handle) + read);
                Ok(Answer::Bytes(read))
            }
            Op::Write(handle, bytes) => self.write(handle, *bytes),
            Op::Size(host, path) => {
                let (store, path) = self.find(host, path)?;
                self.stores[store].size(&path).map(Answer::Bytes).ok_or(Refused::NoSuchFile)
            }
            Op::Space(host, path) => {
                let (store, _) = self.find(host, path)?;
                Ok(Answer::Space(self.space(store)))
            }
            Op::List(host, path) => {
                let (store, folder) = self.find(host, path)?;
                let files: BTreeSet<String> = self.stores[store].files().into_keys().collect();
                let listed = files.into_iter().filter(|path| below(path, &folder).is_some());
                Ok(Answer::Paths(listed.collect()))
            }
            Op::Delete(host, path) => {
                let (store, path) = self.find(host, path)?;
                let store = &mut self.stores[store];
                store.size(&path).ok_or(Refused::NoSuchFile)?;
                if store.open.contains_key(&path) {
                    return Err(Refused::FileIsOpen);
                }
                store.remove(&path);
                Ok(Answer::Done)
            }
            Op::Rename(host, path, to) => self.transfer(host, path, to, Way::Rename),
            Op::Copy(host, path, to) => self.transfer(host, path, to, Way::Copy),
            Op::Move(host, path, to) => self.transfer(host, path, to, Way::Move),
        }
    }

    fn open(
        &mut self,
        host: &str,
        path: &str,
        handle: &Handle,
        create: bool,
    ) -> Result<Answer, Refused> {
        if self.handles.contains_key(handle) {
            return Err(Refused::HandleInUse);
        }
        let (number, path) = self.find(host, path)?;
        let store = &mut self.stores[number];
        if store.size(&path).is_none() {
            if !create || path == "/" {
                return Err(Refused::NoSuchFile);
            }
            store.set(&path, 0);
        }
        *store.open.entry(path.clone()).or_insert(0) += 1;
        self.handles.insert(handle.clone(), OpenFile { store: number, path, position: 0 });
        Ok(Answer::Done)
    }

    fn open_size(&self, handle: &str) -> Result<u64, Refused> {
        let file = self.handles.get(handle).ok_or(Refused::NotOpen)?;
        Ok(self.stores[file.store].size(&file.path).unwrap_or(0))
    }

    fn position(&self, handle: &str) -> u64 {
        self.handles.get(handle).map_or(0, |file| file.position)
    }

    fn set_position(&mut self, handle: &str, position: u64) {
        if let Some(file) = self.handles.get_mut(handle) {
            file.position = position;
        }
    }

    fn write(&mut self, handle: &Handle, bytes: u64) -> Result<Answer, Refused> {
        let size = self.open_size(handle)?;
        let file = self.handles.get_mut(handle).ok_or(Refused::NotOpen)?;
        let store = &mut self.stores[file.store];
        let end = file.position.checked_add(bytes).ok_or(Refused::StorageFull)?;
        if end > size {
            if !store.fits(end - size) {
                return Err(Refused::StorageFull);
            }
            store.set(&file.path, end);
        }
        file.position = end;
        Ok(Answer::Bytes(bytes))
    }

    fn transfer(&mut self, host: &str, path: &str, to: &str, way: Way) -> Result<Answer, Refused> {
        let (from, path) = self.find(host, path)?;
        let (into, target) = self.find(host, to)?;
        let size = self.stores[from].size(&path).ok_or(Refused::NoSuchFile)?;
        if way != Way::Copy && self.stores[from].open.contains_key(&path) {
            return Err(Refused::FileIsOpen);
        }
        if way == Way::Rename && from != into {
            return Err(Refused::OtherStorage);
        }
        if target == "/" || self.stores[into].size(&target).is_some() {
            return Err(Refused::FileExists);
        }
        let renamed = way != Way::Copy && from == into;
        if !renamed && !self.stores[into].fits(size) {
            return Err(Refused::StorageFull);
        }
        if way != Way::Copy {
            self.stores[from].remove(&path);
        }
        self.stores[into].set(&target, size);
        Ok(Answer::Done)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Rename,
    Copy,
    Move,
}
