//! Pictures that options name: the extension says which, or is refused before any work is done.

use slackline_core::Failure;
use slackline_io::FileAccess;
use std::path::Path;

/// Formats of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PictureFormat {
    Svg,
    Png,
}

impl PictureFormat {
    /// SVG where nothing is said: standard output, a device, a name without an extension.
    fn of(path: &Path) -> Option<PictureFormat> {
        let Some(extension) = path.extension() else { return Some(PictureFormat::Svg) };
        match extension.to_string_lossy().to_ascii_lowercase().as_str() {
            "svg" => Some(PictureFormat::Svg),
            "png" => Some(PictureFormat::Png),
            _ => None,
        }
    }
}

/// Fails where the extension of a picture means nothing here.
pub fn check(option: &str, path: &Path) -> Result<(), Failure> {
    if PictureFormat::of(path).is_some() {
        return Ok(());
    }
    let message = format!("{option} {}: pictures are .svg or .png", path.display());
    let also = if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("pdf")) {
        "write .svg; a browser or rsvg-convert makes a PDF of it"
    } else {
        "name the file .svg (sharp at any size, dark where the reader is) or .png"
    };
    Err(Failure::input(message).with_help(also))
}

/// Writes a picture as its extension says.
pub fn write(files: &FileAccess, path: &Path, svg: &str) -> Result<(), Failure> {
    let png = match PictureFormat::of(path) {
        Some(PictureFormat::Png) => Some(slackline_view::png(svg).map_err(Failure::work)?),
        _ => None,
    };
    let bytes = png.as_deref().unwrap_or(svg.as_bytes());
    Ok(files.write(path, |out| out.write_all(bytes))?)
}

/// Two pictures, one above the other.
pub fn stacked(parts: [String; 2]) -> String {
    let size = |svg: &str, name: &str| -> f64 {
        let found =
            svg.split_once(&format!(" {name}=\"")).and_then(|(_, rest)| rest.split_once('"'));
        found.and_then(|(text, _)| text.trim_end_matches("px").parse().ok()).unwrap_or(0.0)
    };
    let heights = parts.each_ref().map(|svg| size(svg, "height"));
    let width = parts.iter().map(|svg| size(svg, "width")).fold(0.0, f64::max);
    let height: f64 = heights.iter().sum();
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n"
    );
    let mut y = 0.0;
    for (svg, height) in parts.iter().zip(heights) {
        let inner = svg.find("<svg").map_or("", |at| &svg[at..]);
        out.push_str(&format!("<g transform=\"translate(0 {y})\">\n{inner}\n</g>\n"));
        y += height;
    }
    out.push_str("</svg>\n");
    out
}
