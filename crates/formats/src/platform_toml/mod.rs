//! Our own platform TOML, made to be written by hand; read and written.
//!
//! ```toml
//! name = "lab"
//!
//! [cluster.fast]                     # eight machines fast-0 ... fast-7
//! count = 8
//! cores = 4
//! speed = "3Gf"                      # per core
//!
//! [host.store]                       # one machine
//! speed = "2Gf"
//! bandwidth = "10Gbps"
//! ```
//!
//! The short form has sites, clusters, hosts and links between them. A cluster is a switch with a private link
//! per machine; clusters and hosts are connected to the router of their site (or of the platform), sites to a
//! core router, unless a link names them in `between`. The long form names every zone, router and route and can
//! represent all that a [`Platform`] can hold. `docs/platforms.md` shows both.

mod lower;
mod raise;
mod schema;

pub(crate) use schema::{Bytes, DiskBandwidth, Seconds};

use crate::error::{FormatError, Result, toml_error};
use slackline_io::{FileAccess, Siblings};
use slackline_model::platform::Platform;
use std::path::Path;

/// Reads a platform file; a platform without a name gets that of the file.
pub fn read(files: &FileAccess, path: &Path) -> Result<Platform> {
    let text = files.read_text(path)?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    parse_named(&text, stem.as_deref(), Some(files.siblings(path))).map_err(|error| {
        match error.file {
            // A file that the platform names.
            Some(_) => error,
            None => error.in_file(path),
        }
    })
}

/// Reads a platform from text.
pub fn parse(text: &str) -> Result<Platform> {
    parse_named(text, None, None)
}

fn parse_named(
    text: &str,
    default_name: Option<&str>,
    siblings: Option<Siblings<'_>>,
) -> Result<Platform> {
    let file: schema::File = toml::from_str(text).map_err(|e| toml_error(text, &e))?;
    lower::platform(text, file, default_name, siblings)
}

/// The platform as TOML: the short form where it can represent the same, the long form otherwise.
pub fn to_string(platform: &Platform) -> Result<String> {
    if let Some(link) = raise::lopsided(platform) {
        let message = format!("link '{}' changes in one direction only", link.name);
        return Err(FormatError::new(message)
            .with_help("a platform file cannot say that: let both follow the same profile"));
    }
    let text = |file: &schema::File| toml::to_string(file).map_err(FormatError::new);
    if let Some(file) = raise::short(platform) {
        let short = text(&file)?;
        if parse(&short).is_ok_and(|again| raise::long_text(&again) == raise::long_text(platform)) {
            return Ok(short);
        }
    }
    text(&raise::long(platform))
}

/// Writes the platform to a file, whole or not at all.
pub fn write(files: &FileAccess, platform: &Platform, path: &Path) -> Result<()> {
    let text = to_string(platform).map_err(|error| error.in_file(path))?;
    files.write(path, |out| out.write_all(text.as_bytes()))
}

/// Whether a text is a platform rather than another TOML file.
pub fn recognise(text: &str) -> bool {
    let tables = ["[cluster.", "[host.", "[site.", "[matrix]", "[zone."];
    text.lines().any(|line| tables.iter().any(|table| line.trim_start().starts_with(table)))
}
