//! Files with the lines of many ranks: the parts of every rank, and sorting by rank on disk where
//! the ranks take turns so often that this does not fit into memory.

use super::cursor::Extent;
use super::parse;
use slackline_io::FormatError;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use tempfile::NamedTempFile;

/// Most ranks there may be.
const MOST_RANKS: u32 = 1 << 22;

/// Bytes kept per rank before they are written.
const KEPT: usize = 8 << 10;

/// The parts of a file with the lines of every rank.
pub(super) struct Pieces {
    pub(super) by_rank: Vec<Vec<Extent>>,
    /// Bytes of every rank's lines.
    pub(super) bytes: Vec<u64>,
    /// Too many to be remembered; `by_rank` is of no use.
    pub(super) abandoned: bool,
}

/// Decodes a compressed file to disk.
pub(super) fn plain(mut stream: impl Read) -> std::io::Result<NamedTempFile> {
    let mut spool = NamedTempFile::new()?;
    std::io::copy(&mut stream, spool.as_file_mut())?;
    Ok(spool)
}

/// Finds the parts of a file that belong to each rank, in one pass.
pub(super) fn pieces(file: &Path, name: &Path, most: usize) -> Result<Pieces, FormatError> {
    let fail = |e: std::io::Error| FormatError::from(e).in_file(name);
    let mut reader = BufReader::with_capacity(1 << 18, File::open(file).map_err(fail)?);
    let mut found = Pieces { by_rank: Vec::new(), bytes: Vec::new(), abandoned: false };
    let (mut offset, mut number, mut count) = (0u64, 0u64, 0usize);
    let mut last = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = reader.read_until(b'\n', &mut line).map_err(fail)? as u64;
        if length == 0 {
            return Ok(found);
        }
        number += 1;
        let head = parse::rank(line.trim_ascii_end());
        let head = head
            .map_err(|c| FormatError::at(number as usize, c.offset + 1, c.message).in_file(name))?;
        if let Some((rank, _)) = head {
            if rank >= MOST_RANKS {
                let message = format!("rank {rank} is beyond the {MOST_RANKS} ranks that are read");
                return Err(FormatError::at(number as usize, 1, message).in_file(name));
            }
            if found.by_rank.len() <= rank as usize {
                found.by_rank.resize(rank as usize + 1, Vec::new());
                found.bytes.resize(rank as usize + 1, 0);
            }
            let extents = &mut found.by_rank[rank as usize];
            found.bytes[rank as usize] += length + u64::from(line.last() != Some(&b'\n'));
            match extents.last_mut() {
                Some(extent) if last == Some(rank) => extent.end = offset + length,
                _ if count >= most => found.abandoned = true,
                _ => {
                    count += 1;
                    extents.push(Extent { start: offset, end: offset + length, line: number });
                }
            }
            last = Some(rank);
        } else {
            // Comments belong to no rank: the piece ends here.
            last = None;
        }
        offset += length;
    }
}

/// The lines sorted by rank, in a file of their own.
pub(super) fn sorted(
    file: &Path,
    bytes: &[u64],
) -> std::io::Result<(NamedTempFile, Vec<Vec<Extent>>)> {
    let mut spool = NamedTempFile::new()?;
    let mut starts = Vec::with_capacity(bytes.len());
    let mut total = 0;
    for &amount in bytes {
        starts.push(total);
        total += amount;
    }
    let mut ends = starts.clone();
    let mut kept: Vec<Vec<u8>> = vec![Vec::new(); bytes.len()];
    let mut flush = |rank: usize, kept: &mut Vec<u8>| -> std::io::Result<()> {
        let out = spool.as_file_mut();
        out.seek(SeekFrom::Start(ends[rank]))?;
        out.write_all(kept)?;
        ends[rank] += kept.len() as u64;
        kept.clear();
        Ok(())
    };
    let mut reader = BufReader::with_capacity(1 << 18, File::open(file)?);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        if line.last() != Some(&b'\n') {
            line.push(b'\n');
        }
        if let Ok(Some((rank, _))) = parse::rank(line.trim_ascii_end()) {
            let rank = rank as usize;
            kept[rank].extend_from_slice(&line);
            if kept[rank].len() >= KEPT {
                flush(rank, &mut kept[rank])?;
            }
        }
        line.clear();
    }
    for (rank, kept) in kept.iter_mut().enumerate() {
        flush(rank, kept)?;
    }
    let extent = |k: usize| Extent { start: starts[k], end: starts[k] + bytes[k], line: 1 };
    let by_rank = (0..bytes.len()).map(|k| if bytes[k] > 0 { vec![extent(k)] } else { Vec::new() });
    Ok((spool, by_rank.collect()))
}
