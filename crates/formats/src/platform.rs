//! The front door for platforms: our TOML, SimGrid's XML or the grids of parameter sweeps, recognised by
//! content.

use crate::error::{FormatError, Result};
use crate::sweep::grid;
use crate::{platform_toml, simgrid_xml};
use slackline_io::{FileAccess, is_standard};
use slackline_model::Platform;
use slackline_model::units::Quantity;
use std::path::Path;

/// A file format that holds a platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlatformFormat {
    /// Slackline's own TOML.
    Toml,
    /// SimGrid XML.
    SimgridXml,
    /// GridDescription of parameter sweeps; read only.
    Grid,
}

impl PlatformFormat {
    /// Every format.
    pub const ALL: &[PlatformFormat] =
        &[PlatformFormat::Toml, PlatformFormat::SimgridXml, PlatformFormat::Grid];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            PlatformFormat::Toml => "platform-toml",
            PlatformFormat::SimgridXml => "simgrid-xml",
            PlatformFormat::Grid => "grid",
        }
    }

    /// The format of that name.
    pub fn named(name: &str) -> Option<PlatformFormat> {
        Self::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// The format of a text: XML begins with an angle bracket, a grid with its name.
    pub fn of_text(text: &str) -> PlatformFormat {
        if text.trim_start().starts_with('<') {
            PlatformFormat::SimgridXml
        } else if grid::recognise(text) {
            PlatformFormat::Grid
        } else {
            PlatformFormat::Toml
        }
    }

    /// The format of a text that holds a platform; none where it holds something else. A TOML
    /// file that no other format claims was meant to be one, even if it is broken.
    pub fn recognise(path: Option<&Path>, text: &str) -> Option<PlatformFormat> {
        if text.trim_start().starts_with('<') {
            return text.contains("<platform").then_some(PlatformFormat::SimgridXml);
        }
        if grid::recognise(text) {
            return Some(PlatformFormat::Grid);
        }
        let orphan = || {
            path.and_then(PlatformFormat::of_path) == Some(PlatformFormat::Toml)
                && !crate::Format::all().any(|format| format.recognises(text))
        };
        (platform_toml::recognise(text) || orphan()).then_some(PlatformFormat::Toml)
    }

    /// The format that corresponds to a file's extension.
    pub fn of_path(path: &Path) -> Option<PlatformFormat> {
        match path.extension()?.to_str()? {
            "toml" => Some(PlatformFormat::Toml),
            "xml" => Some(PlatformFormat::SimgridXml),
            "grid" => Some(PlatformFormat::Grid),
            _ => None,
        }
    }
}

/// Reads a platform file; its format is recognised from its content unless `from` is given.
pub fn read_platform(
    files: &FileAccess,
    path: &Path,
    from: Option<PlatformFormat>,
) -> Result<Platform> {
    Ok(read_with_warnings(files, path, from)?.0)
}

/// Reads a platform file, and returns also the reader's decisions that a user should know.
pub fn read_with_warnings(
    files: &FileAccess,
    path: &Path,
    from: Option<PlatformFormat>,
) -> Result<(Platform, Vec<String>)> {
    let format = match from {
        Some(format) => format,
        None => PlatformFormat::of_text(&files.read_text(path)?),
    };
    match format {
        PlatformFormat::Toml => {
            let platform = platform_toml::read(files, path)?;
            Ok((platform, disks_in_bits(&files.read_text(path)?)))
        }
        PlatformFormat::SimgridXml => {
            let platform = simgrid_xml::read(files, path)?;
            Ok((platform, storages_in_bits(&files.read_text(path)?)))
        }
        PlatformFormat::Grid => {
            let grid = grid::read(files, path)?;
            Ok((grid.platform, grid.warnings))
        }
    }
}

/// Warns of storages whose bandwidth is given in bits: `100Mbps` is 12.5 MB/s, and bytes may have
/// been meant.
fn storages_in_bits(text: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut line = 1;
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        line += rest[..at].matches('\n').count();
        let tag = &rest[at..];
        let tag = &tag[..tag.find('>').unwrap_or(tag.len())];
        let attribute = |name: &str| {
            let (_, value) = tag.split_once(&format!("{name}=\""))?;
            value.split('"').next()
        };
        let mut warn = |name: &str, value: Option<&str>| {
            warnings.extend(value.and_then(|value| in_bits(line, name, value)));
        };
        if tag.starts_with("<model_prop") {
            warn(attribute("id").unwrap_or_default(), attribute("value"));
        } else if tag.starts_with("<disk") {
            warn("read_bw", attribute("read_bw"));
            warn("write_bw", attribute("write_bw"));
        } else if tag.starts_with("<prop") && attribute("id") == Some("connection_bw") {
            warn("connection_bw", attribute("value"));
        }
        rest = &rest[at + tag.len()..];
        line += tag.matches('\n').count();
    }
    warnings
}

/// The same of the `[[disk]]` tables of a TOML file.
fn disks_in_bits(text: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut is_disk = false;
    for (k, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('[') {
            is_disk = line.starts_with("[[disk]]");
        } else if let Some((name, value)) = line.split_once('=').filter(|_| is_disk) {
            let (name, value) = (name.trim(), value.trim().split('"').nth(1));
            if ["read", "write", "connection"].contains(&name) {
                warnings.extend(value.and_then(|value| in_bits(k + 1, name, value)));
            }
        }
    }
    warnings
}

/// The warning for a bandwidth of a storage, where it is in bits.
fn in_bits(line: usize, name: &str, value: &str) -> Option<String> {
    let bytes = Quantity::Bandwidth.parse(value).ok().filter(|_| value.ends_with("bps"))?;
    Some(format!("line {line}: {name} of a storage is {value}, in bits: {bytes} bytes/s"))
}

/// Writes a platform file whole or not at all; its format follows from the extension unless `to` is given.
pub fn write_platform(
    files: &FileAccess,
    path: &Path,
    platform: &Platform,
    to: Option<PlatformFormat>,
) -> Result<()> {
    let standard = is_standard(path).then_some(PlatformFormat::Toml);
    match to.or_else(|| PlatformFormat::of_path(path)).or(standard) {
        Some(PlatformFormat::Toml) => platform_toml::write(files, platform, path),
        Some(PlatformFormat::SimgridXml) => simgrid_xml::write(files, platform, path),
        Some(PlatformFormat::Grid) => Err(FormatError::new("a grid can be read but not written")
            .with_help("use .toml")
            .in_file(path)),
        None => Err(FormatError::new("the extension tells no platform format")
            .with_help("use .toml or .xml")
            .in_file(path)),
    }
}
