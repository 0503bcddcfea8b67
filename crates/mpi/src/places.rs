//! Files that say on which hosts ranks run.

use slackline_io::{FileAccess, FormatError};
use slackline_model::{HostId, Platform};
use std::path::Path;

/// Places for ranks, in order: `host` or `host:count` per line.
pub fn read_hosts(
    files: &FileAccess,
    path: &Path,
    platform: &Platform,
) -> Result<Vec<HostId>, FormatError> {
    let text = files.read_text(path)?;
    let mut places = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fail = |message: String| FormatError::at(number + 1, 1, message).in_file(path);
        let (name, count) = match line.rsplit_once(':') {
            Some((name, count)) if platform.host_named(line).is_none() => {
                let count =
                    count.trim().parse::<usize>().ok().filter(|c| (1..=1 << 20).contains(c));
                (name.trim(), count.ok_or_else(|| fail("expected host:count".to_owned()))?)
            }
            _ => (line, 1),
        };
        let host = platform
            .host_named(name)
            .ok_or_else(|| fail(format!("the platform has no host `{name}`")))?;
        places.extend(std::iter::repeat_n(host, count));
    }
    if places.is_empty() {
        return Err(FormatError::new("names no host").in_file(path));
    }
    Ok(places)
}
