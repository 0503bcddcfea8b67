//! Folders as single files: an output that is a folder is kept packed, so that stores, copies, checksums and logs know
//! files alone. The same content gives the same bytes: names are in order, and dates are left out.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, BufWriter, Error, ErrorKind, Read, Result, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

/// Bytes that a packed folder begins with.
const MAGIC: &[u8] = b"slackline folder 1\n";

/// Most bytes of a path or link in a packed folder.
const LONGEST: u64 = 1 << 16;

/// Bytes that are hashed and counted on their way.
struct Counted<W> {
    out: W,
    hash: Xxh3,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let written = self.out.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> Result<()> {
        self.out.flush()
    }
}

fn invalid(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidData, why.into())
}

/// Whether a file is a packed folder, by its first bytes.
pub fn is_packed(path: &Path) -> Result<bool> {
    let mut begin = Vec::with_capacity(MAGIC.len());
    File::open(path)?.take(MAGIC.len() as u64).read_to_end(&mut begin)?;
    Ok(begin == MAGIC)
}

/// Whether an open file begins like a packed folder; it is read on from its beginning.
pub(super) fn begins_packed(file: &mut File) -> Result<bool> {
    let mut begin = Vec::with_capacity(MAGIC.len());
    Read::by_ref(file).take(MAGIC.len() as u64).read_to_end(&mut begin)?;
    std::io::Seek::rewind(file)?;
    Ok(begin == MAGIC)
}

/// Size and checksum that a folder has when it is packed.
pub fn packed_content(folder: &Path) -> Result<(u64, String)> {
    pack(folder, std::io::sink())
}

/// Packs a folder into a file of its own, read-only. Returns its size and checksum.
pub(super) fn pack_into(folder: &Path, to: &Path) -> Result<(u64, String)> {
    let mut part = to.as_os_str().to_owned();
    part.push(".slackline-part");
    let part = PathBuf::from(part);
    let _ = fs::remove_file(&part); // an earlier try may have left one
    let packed = (|| {
        let target = File::options().write(true).create_new(true).open(&part)?;
        let known = pack(folder, BufWriter::new(&target))?;
        target.set_permissions(fs::Permissions::from_mode(0o444))?;
        fs::rename(&part, to)?;
        Ok(known)
    })();
    if packed.is_err() {
        let _ = fs::remove_file(&part); // it may not be there
    }
    packed
}

fn pack(folder: &Path, out: impl Write) -> Result<(u64, String)> {
    let mut out = Counted { out, hash: Xxh3::new(), bytes: 0 };
    out.write_all(MAGIC)?;
    let mut open = vec![PathBuf::new()];
    let mut entries = Vec::new();
    while let Some(inner) = open.pop() {
        for entry in fs::read_dir(folder.join(&inner))? {
            let entry = entry?;
            let path = inner.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                open.push(path.clone());
            }
            entries.push(path);
        }
    }
    entries.sort_unstable();
    for path in entries {
        pack_entry(folder, &path, &mut out).map_err(|e| {
            let name = slackline_model::names::printable(&path.to_string_lossy()).into_owned();
            Error::new(e.kind(), format!("{name}: {e}"))
        })?;
    }
    out.write_all(b"e")?;
    out.flush()?;
    Ok((out.bytes, format!("{:016x}", out.hash.digest())))
}

fn pack_entry(folder: &Path, path: &Path, out: &mut impl Write) -> Result<()> {
    let text = |out: &mut dyn Write, bytes: &[u8]| -> Result<()> {
        out.write_all(&(bytes.len() as u32).to_le_bytes())?;
        out.write_all(bytes)
    };
    let whole = folder.join(path);
    let found = fs::symlink_metadata(&whole)?;
    let name = path.as_os_str().as_bytes();
    if found.is_dir() {
        out.write_all(b"d")?;
        return text(out, name);
    }
    if found.is_symlink() {
        let target = fs::read_link(&whole)?;
        if !stays_inside(path, &target) {
            return Err(invalid("a link that leaves the folder"));
        }
        out.write_all(b"l")?;
        text(out, name)?;
        return text(out, target.as_os_str().as_bytes());
    }
    if !found.is_file() {
        return Err(invalid("neither file nor folder nor link"));
    }
    let no_link = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(no_link).open(&whole)?;
    let size = file.metadata()?.len();
    out.write_all(if found.mode() & 0o100 == 0 { b"f" } else { b"x" })?;
    text(out, name)?;
    out.write_all(&size.to_le_bytes())?;
    if std::io::copy(&mut file.take(size), out)? != size {
        return Err(invalid("it was changed while it was read"));
    }
    Ok(())
}

/// Whether a link in a folder leads to something in it, by its words.
fn stays_inside(path: &Path, target: &Path) -> bool {
    let mut depth = path.components().count() as i64 - 1;
    for part in target.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir => depth -= 1,
            Component::RootDir | Component::Prefix(_) => return false,
        }
        if depth < 0 {
            return false;
        }
    }
    true
}

/// Makes a folder of a packed one, at a path that nothing has yet; whether there are programs in it.
pub fn unpack(from: &Path, to: &Path) -> Result<bool> {
    let mut source = BufReader::new(File::open(from)?);
    let mut begin = [0; MAGIC.len()];
    source.read_exact(&mut begin)?;
    if begin != MAGIC {
        return Err(invalid("this is no packed folder"));
    }
    fs::create_dir(to)?;
    let mut programs = false;
    loop {
        let mut kind = [0];
        source.read_exact(&mut kind)?;
        if kind == *b"e" {
            return Ok(programs);
        }
        let name = text(&mut source)?;
        let name = Path::new(OsStr::from_bytes(&name));
        let mut parts = name.components();
        if name.as_os_str().is_empty() || !parts.all(|part| matches!(part, Component::Normal(_))) {
            return Err(invalid("a path in this packed folder leaves it"));
        }
        let path = to.join(name);
        match &kind {
            b"d" => fs::create_dir(&path)?,
            b"l" => {
                let target = PathBuf::from(std::ffi::OsString::from_vec(text(&mut source)?));
                if !stays_inside(name, &target) {
                    return Err(invalid("a link in this packed folder leaves it"));
                }
                symlink(target, &path)?;
            }
            b"f" | b"x" => {
                let mut size = [0; 8];
                source.read_exact(&mut size)?;
                let size = u64::from_le_bytes(size);
                let mode = if kind == *b"x" { 0o777 } else { 0o666 };
                programs |= kind == *b"x";
                let mut target =
                    OpenOptions::new().write(true).create_new(true).mode(mode).open(&path)?;
                if std::io::copy(&mut Read::by_ref(&mut source).take(size), &mut target)? != size {
                    return Err(invalid("the end of this packed folder is missing"));
                }
            }
            _ => return Err(invalid("this packed folder is damaged")),
        }
    }
}

/// A path or link: its length, and its bytes.
fn text(source: &mut impl Read) -> Result<Vec<u8>> {
    let mut length = [0; 4];
    source.read_exact(&mut length)?;
    let length = u64::from(u32::from_le_bytes(length));
    if length > LONGEST {
        return Err(invalid("this packed folder is damaged"));
    }
    let mut bytes = Vec::new();
    source.take(length).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < length {
        return Err(invalid("the end of this packed folder is missing"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a broken fixture is a broken test

    use super::*;

    #[test]
    fn folders_come_back_and_what_leaves_them_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let (folder, packed) = (root.path().join("a"), root.path().join("a.packed"));
        fs::create_dir_all(folder.join("inner/empty")).unwrap();
        fs::write(folder.join("inner/x.txt"), "x").unwrap();
        fs::write(folder.join("run"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(folder.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("inner/x.txt", folder.join("link")).unwrap();
        symlink("../run", folder.join("inner/back")).unwrap();
        let known = pack_into(&folder, &packed).unwrap();
        assert_eq!(known, packed_content(&folder).unwrap());
        assert_eq!(known.0, fs::metadata(&packed).unwrap().len());
        assert_eq!(known.1, super::super::checksum(&packed).unwrap());
        assert!(is_packed(&packed).unwrap() && !is_packed(&folder.join("run")).unwrap());
        let other = root.path().join("b");
        assert!(unpack(&packed, &other).unwrap());
        assert_eq!(packed_content(&other).unwrap(), known);
        assert_eq!(fs::read(other.join("link")).unwrap(), b"x");
        assert!(other.join("inner/empty").is_dir());
        fs::write(other.join("inner/x.txt"), "y").unwrap();
        assert_ne!(packed_content(&other).unwrap(), known);
        for target in ["/etc/passwd", "../../a", "inner/../../b"] {
            let _ = fs::remove_file(folder.join("link"));
            symlink(target, folder.join("link")).unwrap();
            let why = pack_into(&folder, &packed).unwrap_err().to_string();
            assert_eq!(why, "link: a link that leaves the folder", "{target}");
        }
        // Cut anywhere it is refused.
        let bytes = fs::read(&packed).unwrap();
        for length in [MAGIC.len(), MAGIC.len() + 3, bytes.len() / 2, bytes.len() - 1] {
            let (cut, to) = (root.path().join("cut"), root.path().join(length.to_string()));
            fs::write(&cut, &bytes[..length]).unwrap();
            assert!(unpack(&cut, &to).is_err(), "{length}");
        }
    }
}
