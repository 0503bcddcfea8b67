//! Time-independent traces: what every rank does, without dates.
//!
//! One file for all ranks, one file per rank, a file that lists files, or a folder; plain,
//! `.gz` or `.zst`. Traces are read as they are replayed: memory does not grow with their length.

mod cursor;
mod pack;
mod parse;
mod spool;
mod write;

pub use cursor::Cursor;
pub use pack::{pack, unpack};
pub use parse::{Reading, Sizes, Version};
pub use write::write_line;

use cursor::{Extent, Source};
use slackline_io::{FileAccess, FormatError};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The first line of a trace in the extended format.
pub const HEADER: &[u8] = b"#slackline-trace 1";

/// Bytes read to detect the kind of a file.
const HEAD: usize = 64 << 10;

/// Pieces of a shared file that are remembered; where ranks take turns more often, the lines are
/// sorted by rank on disk first.
const PIECES: usize = 1 << 18;

/// The traces of all ranks.
pub struct Traces {
    cursors: Vec<Cursor>,
    version: Version,
    /// Files made while opening; gone with the traces.
    _spools: Vec<tempfile::NamedTempFile>,
}

impl Traces {
    /// Finds the traces of all ranks in these files, or in the files they list.
    pub fn open(paths: &[PathBuf]) -> Result<Traces, FormatError> {
        let files = expand(paths)?;
        match &files[..] {
            [] => Err(FormatError::new("no trace is given")),
            [file] if is_packed(file)? => Traces::packed(file),
            [file] => Traces::shared(file),
            _ => Traces::separate(&files),
        }
    }

    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.cursors.len()
    }

    /// The format they are in.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The lines of every rank.
    pub fn into_cursors(self) -> (Vec<Cursor>, Vec<tempfile::NamedTempFile>) {
        (self.cursors, self._spools)
    }

    /// One file per rank.
    fn separate(files: &[PathBuf]) -> Result<Traces, FormatError> {
        let mut found: Vec<Option<&PathBuf>> = vec![None; files.len()];
        let mut version = None;
        for file in files {
            let head = Head::of(file)?;
            version = version.or(head.version);
            let Some(rank) = head.rank else {
                return Err(FormatError::new("holds no action").in_file(file));
            };
            match found.get_mut(rank as usize) {
                None => {
                    let message = format!("rank {rank}, but there are {} files", files.len());
                    return Err(FormatError::new(message).in_file(file));
                }
                Some(Some(other)) => {
                    let message = format!("rank {rank} also has {}", other.display());
                    return Err(FormatError::new(message).in_file(file));
                }
                Some(place) => *place = Some(file),
            }
        }
        let version = version.unwrap_or(Version::Three);
        let reading = Reading { version, unit: 1, ranks: files.len() as u32 };
        let mut cursors = Vec::with_capacity(files.len());
        for (rank, file) in found.into_iter().flatten().enumerate() {
            let source = match decoder(file)? {
                Some(stream) => Source::Stream(stream),
                None => {
                    let all = Extent { start: 0, end: u64::MAX, line: 1 };
                    Source::Extents { extents: [all].into(), next: 0 }
                }
            };
            cursors.push(Cursor::new(Arc::new(file.clone()), source, rank as u32, reading));
        }
        Ok(Traces { cursors, version, _spools: Vec::new() })
    }

    /// The compact form.
    fn packed(file: &Path) -> Result<Traces, FormatError> {
        let fail = |e: std::io::Error| FormatError::from(e).in_file(file);
        let head = pack::Head::read(file).map_err(fail)?;
        let name = Arc::new(file.to_path_buf());
        let mut cursors = Vec::with_capacity(head.ranks());
        for rank in 0..head.ranks() {
            let source = Source::Stream(Box::new(head.unpack(file, rank).map_err(fail)?));
            let cursor = Cursor::new(Arc::clone(&name), source, rank as u32, head.reading());
            cursors.push(cursor.named(Arc::clone(&name), true));
        }
        Ok(Traces { cursors, version: head.version, _spools: Vec::new() })
    }

    /// One file with the lines of all ranks.
    fn shared(file: &Path) -> Result<Traces, FormatError> {
        let version = Head::of(file)?.version.unwrap_or(Version::Three);
        let mut spools = Vec::new();
        let plain = match decoder(file)? {
            None => Arc::new(file.to_path_buf()),
            Some(stream) => {
                let spool = spool::plain(stream).map_err(|e| FormatError::from(e).in_file(file))?;
                let path = Arc::new(spool.path().to_path_buf());
                spools.push(spool);
                path
            }
        };
        let name = Arc::new(file.to_path_buf());
        let mut pieces = spool::pieces(&plain, &name, PIECES)?;
        let mut path = plain;
        if pieces.by_rank.is_empty() {
            return Err(FormatError::new("holds no action").in_file(file));
        }
        if pieces.abandoned {
            let (sorted, by_rank) = spool::sorted(&path, &pieces.bytes)
                .map_err(|e| FormatError::from(e).in_file(file))?;
            pieces.by_rank = by_rank;
            path = Arc::new(sorted.path().to_path_buf());
            spools.push(sorted);
        }
        let ranks = pieces.by_rank.len() as u32;
        let reading = Reading { version, unit: 1, ranks };
        let mut cursors = Vec::with_capacity(ranks as usize);
        for (rank, extents) in pieces.by_rank.into_iter().enumerate() {
            if extents.is_empty() {
                let message =
                    format!("rank {rank} does nothing, though there is a rank {}", ranks - 1);
                return Err(FormatError::new(message).in_file(file));
            }
            let source = Source::Extents { extents: extents.into(), next: 0 };
            let cursor = Cursor::new(Arc::clone(&path), source, rank as u32, reading);
            cursors.push(cursor.named(Arc::clone(&name), pieces.abandoned));
        }
        Ok(Traces { cursors, version, _spools: spools })
    }
}

/// Whether a file is a trace in the compact form.
pub fn is_packed(file: &Path) -> Result<bool, FormatError> {
    let fail = |e: std::io::Error| FormatError::from(e).in_file(file);
    let mut magic = Vec::new();
    let opened = File::open(file).map_err(fail)?;
    opened.take(pack::MAGIC.len() as u64).read_to_end(&mut magic).map_err(fail)?;
    Ok(magic == pack::MAGIC)
}

/// Information from the beginning of a file.
struct Head {
    version: Option<Version>,
    rank: Option<u32>,
}

impl Head {
    fn of(file: &Path) -> Result<Head, FormatError> {
        let bytes = head(file)?;
        let mut found = Head { version: None, rank: None };
        if bytes.trim_ascii_start().starts_with(HEADER) {
            found.version = Some(Version::Extended);
        }
        for (number, line) in lines(&bytes).enumerate() {
            let place = |c: parse::ParseError| {
                FormatError::at(number + 1, c.offset + 1, c.message).in_file(file)
            };
            if let Some((rank, _)) = parse::rank(line).map_err(place)? {
                found.rank.get_or_insert(rank);
                found.version = found.version.or_else(|| parse::evidence(line));
            }
            if found.version.is_some() && found.rank.is_some() {
                break;
            }
        }
        Ok(found)
    }
}

fn head(file: &Path) -> Result<Vec<u8>, FormatError> {
    let fail = |e: std::io::Error| FormatError::from(e).in_file(file);
    let mut bytes = Vec::new();
    match decoder(file)? {
        Some(stream) => stream.take(HEAD as u64).read_to_end(&mut bytes).map_err(fail)?,
        None => File::open(file)
            .map_err(fail)?
            .take(HEAD as u64)
            .read_to_end(&mut bytes)
            .map_err(fail)?,
    };
    Ok(bytes)
}

/// The whole lines of a beginning (all lines, where there is just one).
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = match bytes.iter().rposition(|&b| b == b'\n') {
        Some(last) if bytes.len() >= HEAD => &bytes[..last],
        _ => bytes,
    };
    whole.split(|&b| b == b'\n')
}

/// A decoder for a file that is compressed.
fn decoder(file: &Path) -> Result<Option<Box<dyn Read + Send>>, FormatError> {
    let fail = |e: std::io::Error| FormatError::from(e).in_file(file);
    let mut magic = [0u8; 4];
    let mut opened = File::open(file).map_err(fail)?;
    if opened.metadata().map_err(fail)?.is_dir() {
        return Err(FormatError::new("is a folder, not a file").in_file(file));
    }
    let got = opened.read(&mut magic).map_err(fail)?;
    let again = || File::open(file).map_err(fail);
    Ok(match &magic[..got] {
        [0x1f, 0x8b, ..] => Some(Box::new(flate2::read::MultiGzDecoder::new(again()?))),
        [0x28, 0xb5, 0x2f, 0xfd] => {
            let stream = ruzstd::decoding::StreamingDecoder::new(again()?)
                .map_err(|e| FormatError::new(format!("bad zstd data: {e}")).in_file(file))?;
            Some(Box::new(stream))
        }
        _ => None,
    })
}

/// The trace files behind what was named: folders and lists are replaced by what is in them.
fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>, FormatError> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let mut inside: Vec<PathBuf> = Vec::new();
            let entries =
                std::fs::read_dir(path).map_err(|e| FormatError::from(e).in_file(path))?;
            for entry in entries {
                let entry = entry.map_err(|e| FormatError::from(e).in_file(path))?.path();
                let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let plain = name.trim_end_matches(".gz").trim_end_matches(".zst");
                if plain.ends_with(".tit") || plain.ends_with(".trace") {
                    inside.push(entry);
                }
            }
            if inside.is_empty() {
                return Err(
                    FormatError::new("no traces (*.tit, *.trace) in this folder").in_file(path)
                );
            }
            inside.sort();
            files.extend(inside);
            continue;
        }
        if is_packed(path)? {
            files.push(path.clone());
            continue;
        }
        let bytes = head(path)?;
        let first = lines(&bytes)
            .map(<[u8]>::trim_ascii)
            .find(|line| !line.is_empty() && line[0] != b'#')
            .unwrap_or_default();
        let word = first.split(|b| b.is_ascii_whitespace()).next().unwrap_or_default();
        let number = word.strip_prefix(b"p").unwrap_or(word);
        if word.is_empty() || parse::digits(number).is_some() {
            files.push(path.clone());
        } else {
            files.extend(listed(path)?);
        }
    }
    Ok(files)
}

/// The files named in a list, relative to it or to the present folder.
fn listed(list: &Path) -> Result<Vec<PathBuf>, FormatError> {
    let text = FileAccess::default().read_text(list)?;
    let mut files = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let name = line.trim();
        if name.is_empty() || name.starts_with('#') {
            continue;
        }
        let beside = list.parent().unwrap_or(Path::new("")).join(name);
        let found = [beside, PathBuf::from(name)].into_iter().find(|file| file.is_file());
        match found {
            Some(file) => files.push(file),
            None => {
                let message = format!("neither a trace nor a list of traces: no file `{name}`");
                return Err(FormatError::at(number + 1, 1, message).in_file(list));
            }
        }
    }
    Ok(files)
}
