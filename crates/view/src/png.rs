//! Pictures as PNG, from their SVG. The font comes along, so that a picture has the same bytes on
//! every machine, also on one without fonts.

use flate2::read::GzDecoder;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use std::io::Read;
use std::sync::Arc;

/// Pixels per unit of the SVG, where the picture is not too large for that.
const SCALE: f32 = 2.0;

/// Most pixels of a picture.
const MOST_PIXELS: f32 = 1e8;

/// Draws an SVG picture of this crate, on its light background.
///
/// ```
/// let chart = slackline_view::Chart::default();
/// let svg = slackline_view::gantt::svg(&chart, &Default::default());
/// let png = slackline_view::png(&svg)?;
/// assert!(png.starts_with(b"\x89PNG"));
/// # Ok::<(), String>(())
/// ```
pub fn png(svg: &str) -> Result<Vec<u8>, String> {
    let tree = Tree::from_str(svg, &options()?).map_err(|e| format!("no picture: {e}"))?;
    let (width, height) = (tree.size().width(), tree.size().height());
    let scale = SCALE.min((MOST_PIXELS / (width * height)).sqrt());
    let pixels = |length: f32| (length * scale).ceil() as u32;
    let mut picture = Pixmap::new(pixels(width), pixels(height)).ok_or("a picture without size")?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut picture.as_mut());
    picture.encode_png().map_err(|e| e.to_string())
}

/// One font for every family that a style names.
fn options() -> Result<Options<'static>, String> {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(font()?);
    let family = fonts.faces().find_map(|face| face.families.first().map(|(name, _)| name.clone()));
    let family = family.unwrap_or_default();
    fonts.set_sans_serif_family(&family);
    fonts.set_serif_family(&family);
    Ok(Options { font_family: family, fontdb: Arc::new(fonts), ..Options::default() })
}

/// Ubuntu Light, as the build script compressed it.
fn font() -> Result<Vec<u8>, String> {
    static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/font.ttf.gz"));
    let mut bytes = Vec::new();
    let unpacked = GzDecoder::new(PACKED).read_to_end(&mut bytes);
    unpacked.map_err(|e| format!("the font cannot be unpacked: {e}"))?;
    Ok(bytes)
}
