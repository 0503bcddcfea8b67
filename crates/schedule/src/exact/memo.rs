//! Partial schedules seen before, to cut off those that are no better.

use std::collections::HashMap;

/// Numbers kept in all; beyond, nothing new is remembered.
const MOST_NUMBERS: usize = 24_000_000;
/// Entries compared per key.
const MOST_ENTRIES: usize = 48;

/// For each set of placed tasks and the banks that still matter: the dates of the nodes seen.
#[derive(Default)]
pub(super) struct Memo {
    seen: HashMap<Box<[u8]>, Vec<f64>>,
    numbers: usize,
}

impl Memo {
    /// True if a node seen before has no larger date anywhere; otherwise remembers this one.
    pub(super) fn dominated(&mut self, key: &[u8], dates: &[f64]) -> bool {
        let width = dates.len();
        if let Some(entries) = self.seen.get_mut(key) {
            let no_later = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(x, y)| x <= y);
            if entries.chunks_exact(width).any(|entry| no_later(entry, dates)) {
                return true;
            }
            // Those that this one beats are of no more use.
            let mut kept = 0;
            for at in (0..entries.len()).step_by(width) {
                if !no_later(dates, &entries[at..at + width]) {
                    entries.copy_within(at..at + width, kept);
                    kept += width;
                }
            }
            self.numbers -= entries.len() - kept;
            entries.truncate(kept);
            if entries.len() < MOST_ENTRIES * width && self.numbers < MOST_NUMBERS {
                entries.extend_from_slice(dates);
                self.numbers += width;
            }
        } else if self.numbers < MOST_NUMBERS {
            self.seen.insert(key.into(), dates.to_vec());
            self.numbers += width + key.len().div_ceil(8) + 8;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nodes_that_are_no_later_anywhere_dominate() {
        let mut memo = Memo::default();
        assert!(!memo.dominated(&[1], &[3.0, 5.0]));
        assert!(memo.dominated(&[1], &[3.0, 6.0]));
        assert!(!memo.dominated(&[2], &[3.0, 6.0]));
        assert!(!memo.dominated(&[1], &[2.0, 6.0]));
        // Beats both entries, and alone remains.
        assert!(!memo.dominated(&[1], &[2.0, 5.0]));
        assert_eq!(memo.seen[&[1u8][..]], [2.0, 5.0]);
    }
}
