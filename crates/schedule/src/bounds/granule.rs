//! When all times are multiples of a common granule, so is the end of some shortest schedule:
//! bounds may be rounded up to it.

use crate::compact::Compact;

/// Denominators that are tried.
const DENOMINATORS: [f64; 14] =
    [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 60.0, 100.0, 120.0, 1e3, 1e6];

/// Beyond these, rounding noise could add up to a granule.
const MOST_TASKS: usize = 2000;
const MOST_VALUES: usize = 1_000_000;
const LARGEST: f64 = 1e9;

/// The granule of all times of a problem, if it has one.
pub(crate) fn of(compact: &Compact) -> Option<f64> {
    let banks = compact.banks();
    if compact.len() > MOST_TASKS
        || compact.parents.len() * banks * banks + compact.len() * banks > MOST_VALUES
        || !compact.faithful
    {
        return None;
    }
    DENOMINATORS.into_iter().find_map(|denominator| {
        let mut divisor = 0u64;
        let mut fits = true;
        visit(compact, |value| {
            let scaled = value * denominator;
            let whole = scaled.round();
            fits &= scaled <= LARGEST && (scaled - whole).abs() <= 1e-6;
            divisor = gcd(divisor, whole as u64);
            fits
        });
        (fits && divisor > 0).then(|| divisor as f64 / denominator)
    })
}

/// The least multiple of the granule that is not below a bound.
pub(crate) fn round_up(bound: f64, granule: Option<f64>) -> f64 {
    match granule {
        Some(g) => ((bound / g - 1e-4).ceil() * g).max(bound),
        None => bound,
    }
}

/// Calls back with every time that can add up to a date, until the callback returns false.
fn visit(compact: &Compact, mut see: impl FnMut(f64) -> bool) {
    let banks = compact.banks();
    let dates = compact.avail.iter().copied().chain([compact.past]);
    for date in dates {
        if !see(date) {
            return;
        }
    }
    for task in 0..compact.len() {
        for bank in 0..banks {
            let seconds = compact.seconds(task, bank);
            let base = compact.base(task, bank);
            if (seconds.is_finite() && !see(seconds)) || (base.is_finite() && !see(base)) {
                return;
            }
        }
        for &(_, data) in compact.parents.of(task) {
            for pair in 0..banks * banks {
                let seconds = compact.transfer(data, pair / banks, pair % banks);
                if seconds.is_finite() && !see(seconds) {
                    return;
                }
            }
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_up_to_the_granule() {
        assert_eq!(round_up(7.1, Some(0.5)), 7.5);
        assert_eq!(round_up(7.500000001, Some(0.5)), 7.500000001);
        assert_eq!(round_up(7.1, None), 7.1);
        assert_eq!(gcd(gcd(0, 12), 18), 6);
    }
}
