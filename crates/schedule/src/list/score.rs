//! What makes one slot better than another.

use slackline_model::approx;

/// A value to make small, compared within tolerance.
pub trait Score: Copy {
    /// Worse than every slot.
    const WORST: Self;
    /// Clearly less.
    fn better_than(self, other: Self) -> bool;
}

impl Score for f64 {
    const WORST: f64 = f64::INFINITY;
    #[inline]
    fn better_than(self, other: f64) -> bool {
        approx::lt(self, other)
    }
}

/// The second value decides where the first is equal.
impl Score for (f64, f64) {
    const WORST: (f64, f64) = (f64::INFINITY, f64::INFINITY);
    #[inline]
    fn better_than(self, other: (f64, f64)) -> bool {
        approx::lt(self.0, other.0) || approx::eq(self.0, other.0) && approx::lt(self.1, other.1)
    }
}
