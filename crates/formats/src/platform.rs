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
        PlatformFormat::Toml => Ok((platform_toml::read(files, path)?, Vec::new())),
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
    while let Some(at) = rest.find("<model_prop") {
        line += rest[..at].matches('\n').count();
        let tag = &rest[at..];
        let tag = &tag[..tag.find('>').unwrap_or(tag.len())];
        let attribute = |name: &str| {
            let (_, value) = tag.split_once(&format!("{name}=\""))?;
            value.split('"').next()
        };
        if let (Some(id), Some(value)) = (attribute("id"), attribute("value"))
            && value.ends_with("bps")
            && let Ok(bytes) = Quantity::Bandwidth.parse(value)
        {
            warnings.push(format!(
                "line {line}: {id} of a storage is {value}, in bits: {bytes} bytes/s"
            ));
        }
        rest = &rest[at + tag.len()..];
        line += tag.matches('\n').count();
    }
    warnings
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
