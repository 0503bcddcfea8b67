//! Choosing among offers: comparisons with tolerance, and the tie rules of all methods.

use super::PricedSlot;
use slackline_model::approx;
use slackline_model::schedule::affordable;

/// Position of the best offer of those let in; the lower processor where none is better.
fn pick(
    offers: &[PricedSlot],
    let_in: impl Fn(usize) -> bool,
    better: impl Fn(usize, usize) -> bool,
) -> Option<usize> {
    let all = (0..offers.len()).filter(|&i| let_in(i));
    all.reduce(|best, next| if better(next, best) { next } else { best })
}

/// Ends earlier; costs less where both end together.
fn sooner(a: &PricedSlot, b: &PricedSlot) -> bool {
    approx::lt(a.slot.finish, b.slot.finish)
        || approx::eq(a.slot.finish, b.slot.finish) && approx::lt(a.cost, b.cost)
}

/// The offer that ends first; of equal ones the cheaper, then the lower processor.
pub(super) fn first(offers: &[PricedSlot]) -> usize {
    pick(offers, |_| true, |a, b| sooner(&offers[a], &offers[b])).unwrap_or(0)
}

/// The offer that ends first among those within a limit of money.
pub(super) fn first_within(offers: &[PricedSlot], limit: f64) -> Option<usize> {
    let let_in = |i: usize| affordable(offers[i].cost, limit);
    pick(offers, let_in, |a, b| sooner(&offers[a], &offers[b]))
}

/// The cheapest offer; of equal ones the one that ends first, then the lower processor.
pub(super) fn cheapest(offers: &[PricedSlot]) -> usize {
    let better = |a: usize, b: usize| {
        let (a, b) = (&offers[a], &offers[b]);
        approx::lt(a.cost, b.cost)
            || approx::eq(a.cost, b.cost) && approx::lt(a.slot.finish, b.slot.finish)
    };
    pick(offers, |_| true, better).unwrap_or(0)
}

/// The offer of largest value; of equal ones the one that ends first, then the cheaper, then the
/// lower processor. Minus infinity is out of the question.
pub(super) fn largest(offers: &[PricedSlot], values: &[f64]) -> Option<usize> {
    let let_in = |i: usize| values[i] > f64::NEG_INFINITY;
    pick(offers, let_in, |a, b| {
        // Values are normalised: near 0 they are only known to the precision of 1.
        let tolerance = approx::EPSILON * values[a].abs().max(values[b].abs()).max(1.0);
        let distance = values[a] - values[b];
        distance > tolerance || distance.abs() <= tolerance && sooner(&offers[a], &offers[b])
    })
}

/// Least and largest of a figure, and what brings the figure into the range of 0 to 1.
pub(super) struct Span {
    low: f64,
    pub(super) high: f64,
}

impl Span {
    pub(super) fn of(offers: &[PricedSlot], figure: impl Fn(&PricedSlot) -> f64) -> Span {
        let fold = |with: fn(f64, f64) -> f64, from| offers.iter().map(&figure).fold(from, with);
        Span { low: fold(f64::min, f64::INFINITY), high: fold(f64::max, f64::NEG_INFINITY) }
    }

    /// A difference in units of the span; 0 where the span is none.
    pub(super) fn share(&self, difference: f64) -> f64 {
        if approx::eq(self.low, self.high) { 0.0 } else { difference / (self.high - self.low) }
    }
}
