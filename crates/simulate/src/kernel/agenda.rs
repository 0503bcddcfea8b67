//! Dates of what comes next; every id has at most one.

use super::heap::Heap;

const ABSENT: u32 = u32::MAX;

/// Earliest date first; equal dates in the order of their ids.
#[derive(Clone, Debug, Default)]
pub(super) struct Agenda {
    heap: Heap,
    /// Per id: its position in the heap.
    places: Vec<u32>,
}

impl Agenda {
    /// The earliest entry.
    pub(super) fn first(&self) -> Option<(f64, u32)> {
        self.heap.first()
    }

    pub(super) fn clear(&mut self) {
        self.heap.clear();
        self.places.clear();
    }

    /// Gives `id` the date `date`; an infinite date takes it out.
    pub(super) fn set(&mut self, id: u32, date: f64) {
        debug_assert!(!date.is_nan());
        if date == f64::INFINITY {
            return self.remove(id);
        }
        if self.places.len() <= id as usize {
            self.places.resize(id as usize + 1, ABSENT);
        }
        match self.places[id as usize] {
            ABSENT => self.heap.push(date, id, &mut self.places),
            place => self.heap.set(place, date, &mut self.places),
        }
    }

    /// Takes `id` out, if it is in.
    pub(super) fn remove(&mut self, id: u32) {
        let Some(&place) = self.places.get(id as usize) else { return };
        if place != ABSENT {
            self.heap.remove(place, &mut self.places);
            self.places[id as usize] = ABSENT;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn entries_come_out_in_order(changes in prop::collection::vec((0u32..40, 0u32..50, any::<bool>()), 1..200)) {
            let mut agenda = Agenda::default();
            let mut expected = std::collections::BTreeMap::new();
            for (id, date, drop) in changes {
                if drop {
                    agenda.remove(id);
                    expected.remove(&id);
                } else {
                    agenda.set(id, f64::from(date));
                    expected.insert(id, date);
                }
            }
            let mut sorted: Vec<(u32, u32)> = expected.into_iter().map(|(id, date)| (date, id)).collect();
            sorted.sort_unstable();
            for (date, id) in sorted {
                prop_assert_eq!(agenda.first(), Some((f64::from(date), id)));
                agenda.remove(id);
            }
            prop_assert_eq!(agenda.first(), None);
        }
    }
}
