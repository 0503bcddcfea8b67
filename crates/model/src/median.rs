//! The middle of some values, by two rules.

/// The median: of an even number of values the mean of the two in the middle. Sorts them.
pub fn median(values: &mut [f64]) -> Option<f64> {
    let upper = upper_median(values)?;
    Some((values[(values.len() - 1) / 2] + upper) / 2.0)
}

/// The upper median: of an even number of values the upper of the two in the middle. Sorts them.
///
/// It is used wherever a run learns from measurements. It is a value that was seen, so that of two
/// figures, one of them an outlier, the estimate is one that came true; and decisions follow from
/// it, which logs of earlier runs repeat.
pub fn upper_median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_differ_where_two_are_in_the_middle() {
        for (mut values, middle, upper) in [
            (vec![3.0, 1.0, 2.0], Some(2.0), Some(2.0)),
            (vec![4.0, 1.0, 3.0, 2.0], Some(2.5), Some(3.0)),
            (vec![5.0], Some(5.0), Some(5.0)),
            (vec![], None, None),
        ] {
            assert_eq!((median(&mut values), upper_median(&mut values)), (middle, upper));
        }
    }
}
