//! Constraints waiting to be re-solved: lowest level first, then lowest id.
//!
//! Most of the time a handful wait: these are in a short sorted list, all others in a heap.

use crate::ranked::Ranked;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Most entries of the sorted list: insertion by moving is faster than a heap up to about this size.
const SHORT: usize = 8;

#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    /// By falling rank: the next one is the last.
    short: Vec<Ranked>,
    long: BinaryHeap<Reverse<Ranked>>,
}

impl Queue {
    #[inline]
    pub(super) fn push(&mut self, level: f64, constraint: u32) {
        let entry = Ranked::new(level, constraint);
        if self.short.len() == SHORT {
            return self.long.push(Reverse(entry));
        }
        let mut place = self.short.len();
        self.short.push(entry);
        while place > 0 && self.short[place - 1] < entry {
            self.short[place] = self.short[place - 1];
            place -= 1;
        }
        self.short[place] = entry;
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<u32> {
        let long = self.long.peek().map(|next| next.0);
        match (self.short.last(), long) {
            (Some(&short), Some(long)) if long < short => self.long.pop().map(|next| next.0.id()),
            (None, Some(_)) => self.long.pop().map(|next| next.0.id()),
            _ => self.short.pop().map(Ranked::id),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.short.is_empty() && self.long.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.short.clear();
        self.long.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn entries_come_out_in_order(levels in prop::collection::vec(0u32..20, 0..40)) {
            let mut queue = Queue::default();
            let mut expected: Vec<(u32, u32)> = levels.into_iter().zip(0..).collect();
            for &(level, id) in &expected {
                queue.push(f64::from(level), id);
            }
            expected.sort_unstable();
            for (_, id) in expected {
                prop_assert_eq!(queue.pop(), Some(id));
            }
            prop_assert!(queue.pop().is_none() && queue.is_empty());
        }
    }
}
