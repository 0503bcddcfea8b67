//! Colours. The categorical ones follow Paul Tol's colour-blind-safe schemes; the ordered ones
//! go from light to dark in one hue family, so that order survives any colour vision.

/// A colour for screens with millions of colours and for terminals with 256.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Colour {
    /// Red, green, blue.
    pub(crate) rgb: u32,
    /// Nearest of the 256 terminal colours.
    pub(crate) ansi: u8,
    /// Whether text on it is white.
    pub(crate) dark: bool,
}

const fn colour(rgb: u32, ansi: u8, dark: bool) -> Colour {
    Colour { rgb, ansi, dark }
}

/// Kinds with a colour of their own.
pub(crate) const CATEGORICAL: [Colour; 10] = [
    colour(0x4477aa, 67, true),
    colour(0xee8866, 209, false),
    colour(0x44aa99, 72, false),
    colour(0xddcc77, 186, false),
    colour(0xaa4499, 133, true),
    colour(0x88ccee, 117, false),
    colour(0xcc6677, 168, false),
    colour(0x999933, 100, false),
    colour(0x332288, 55, true),
    colour(0x66aa55, 71, false),
];

/// Steps of an order, light to dark.
pub(crate) const ORDERED: [Colour; 8] = [
    colour(0xfde4a6, 223, false),
    colour(0xf9c27c, 216, false),
    colour(0xf09a68, 209, false),
    colour(0xdd7274, 168, false),
    colour(0xb8558a, 132, true),
    colour(0x8a4a9b, 97, true),
    colour(0x5d469e, 61, true),
    colour(0x343a85, 18, true),
];

/// Everything else.
pub(crate) const REST: Colour = colour(0xa3a8b0, 248, false);

/// The colour of category `index` of `count`.
pub(crate) fn of(index: usize, count: usize, ordered: bool, rest: bool) -> Colour {
    if rest {
        REST
    } else if ordered {
        // Few steps are spread over the whole range.
        let last = ORDERED.len() - 1;
        ORDERED[(index * last).checked_div(count.saturating_sub(1).max(1)).unwrap_or(0).min(last)]
    } else {
        CATEGORICAL[index % CATEGORICAL.len()]
    }
}
