//! The one comparator for costs and dates.
//!
//! Ranks and finish times that are equal on paper differ in the last digits when computed in
//! doubles; a tie would then be broken by rounding noise. Values within 1e-9 relative of each
//! other count as equal everywhere a decision is taken.

use std::cmp::Ordering;

/// Relative distance under which two values are the same.
pub const EPSILON: f64 = 1e-9;

/// How far `a` and `b` may lie apart and still be equal.
#[inline]
pub fn tolerance(a: f64, b: f64) -> f64 {
    EPSILON * a.abs().max(b.abs())
}

/// `a < b`, clearly.
#[inline]
pub fn lt(a: f64, b: f64) -> bool {
    a < b && !eq(a, b)
}

/// `a > b`, clearly.
#[inline]
pub fn gt(a: f64, b: f64) -> bool {
    lt(b, a)
}

/// `a <= b`, or equal within tolerance.
#[inline]
pub fn le(a: f64, b: f64) -> bool {
    a <= b || eq(a, b)
}

/// Equal within tolerance (infinities equal themselves).
#[inline]
pub fn eq(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= tolerance(a, b)
}

/// Three-way comparison with tolerance. Not transitive over long chains of close values: for
/// picking a least or largest element in a scan, not for sorting (see [`sort_key`]).
#[inline]
pub fn cmp(a: f64, b: f64) -> Ordering {
    if eq(a, b) { Ordering::Equal } else { a.total_cmp(&b) }
}

/// A total order that sorting can use: values that agree in their first ten or so significant
/// digits get the same key, except where they straddle a rounding border.
#[inline]
pub fn sort_key(value: f64) -> f64 {
    // Keep 34 bits of mantissa: relative resolution 6e-11, far above rounding noise and far
    // below differences that mean something.
    const DROP: u32 = 18;
    let half = 1u64 << (DROP - 1);
    let bits = value.to_bits();
    f64::from_bits((bits.wrapping_add(half)) & !((1u64 << DROP) - 1))
}
