//! An id with the date or level by which it is ordered.

/// Ordered by value, then by id. One number, because that is compared in one go: the bits of
/// values, which are not negative, are ordered as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ranked(u128);

impl Ranked {
    #[inline]
    pub(crate) fn new(value: f64, id: u32) -> Self {
        debug_assert!(value >= 0.0, "{value} cannot be ranked");
        // Adding zero makes a negative zero an ordinary one.
        Ranked((u128::from((value + 0.0).to_bits()) << 32) | u128::from(id))
    }

    #[inline]
    pub(crate) fn value(self) -> f64 {
        f64::from_bits((self.0 >> 32) as u64)
    }

    #[inline]
    pub(crate) fn id(self) -> u32 {
        self.0 as u32
    }
}
