//! Scores by which slots are compared.

use slackline_model::approx;

/// A value to make small, compared within tolerance.
pub trait Score: Copy {
    /// Worse than every slot.
    const WORST: Self;
    /// Clearly less.
    fn better_than(self, other: Self) -> bool;
    /// The least value to speak of than which all are better that count as equal to this one.
    fn just_above(self) -> Self;
}

impl Score for f64 {
    const WORST: f64 = f64::INFINITY;
    #[inline]
    fn better_than(self, other: f64) -> bool {
        approx::lt(self, other)
    }
    #[inline]
    fn just_above(self) -> f64 {
        self + 4.0 * approx::tolerance(self, self) + f64::MIN_POSITIVE
    }
}

/// The second value decides where the first is equal.
impl Score for (f64, f64) {
    const WORST: (f64, f64) = (f64::INFINITY, f64::INFINITY);
    #[inline]
    fn better_than(self, other: (f64, f64)) -> bool {
        approx::lt(self.0, other.0) || approx::eq(self.0, other.0) && approx::lt(self.1, other.1)
    }
    #[inline]
    fn just_above(self) -> (f64, f64) {
        (self.0.just_above(), self.1)
    }
}
