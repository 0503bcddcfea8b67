//! The one comparator for costs and dates.
//!
//! Ranks and finish times that are equal on paper differ in the last digits when computed in
//! doubles; a tie would then be broken by rounding noise. Values within 1e-9 relative of each
//! other count as equal everywhere a decision is taken.

use std::cmp::Ordering;

/// Relative distance under which two values are the same.
pub const EPSILON: f64 = 1e-9;

/// Largest difference at which `a` and `b` still count as equal.
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
    // The distance to an infinity is infinite, and so is the tolerance: not equal.
    let distance = (a - b).abs();
    a == b || (distance <= tolerance(a, b) && distance < f64::INFINITY)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_noise_is_no_difference() {
        assert!(eq(0.1 + 0.2, 0.3) && !lt(0.3, 0.1 + 0.2));
        assert!(lt(1.0, 1.0 + 1e-8) && !eq(0.0, 1e-300));
        assert_eq!(sort_key(79.999_999_999_999_99), sort_key(80.0));
        assert_ne!(sort_key(80.0), sort_key(80.000_001));
    }

    #[test]
    fn infinity_is_above_everything() {
        assert!(lt(1e300, f64::INFINITY) && !eq(1.0, f64::INFINITY));
        assert!(eq(f64::INFINITY, f64::INFINITY) && !lt(f64::INFINITY, f64::INFINITY));
    }
}
