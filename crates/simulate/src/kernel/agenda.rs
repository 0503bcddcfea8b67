//! Dates of what comes next: an indexed 4-ary heap in which every id has at most one date.
//!
//! Re-dating an id moves it in place, so that the heap never holds stale entries. Equal dates
//! come out in the order of their ids.

const ABSENT: u32 = u32::MAX;
const ARITY: usize = 4;

/// Earliest date first.
#[derive(Clone, Debug, Default)]
pub(super) struct Agenda {
    heap: Vec<(f64, u32)>,
    /// Where an id lies in the heap.
    places: Vec<u32>,
}

impl Agenda {
    /// The earliest entry.
    pub(super) fn first(&self) -> Option<(f64, u32)> {
        self.heap.first().copied()
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
        let place = self.places[id as usize];
        if place == ABSENT {
            self.heap.push((date, id));
            self.rise(self.heap.len() - 1);
        } else {
            let before = self.heap[place as usize].0;
            self.heap[place as usize].0 = date;
            if date < before {
                self.rise(place as usize);
            } else if date > before {
                self.sink(place as usize);
            }
        }
    }

    /// Takes `id` out, if it is in.
    pub(super) fn remove(&mut self, id: u32) {
        let Some(&place) = self.places.get(id as usize) else { return };
        if place == ABSENT {
            return;
        }
        self.places[id as usize] = ABSENT;
        let place = place as usize;
        let (date, _) = self.heap.swap_remove(place);
        if place < self.heap.len() {
            self.places[self.heap[place].1 as usize] = place as u32;
            if self.heap[place].0 < date { self.rise(place) } else { self.sink(place) }
        }
    }

    fn rise(&mut self, mut place: usize) {
        let entry = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if !before(entry, self.heap[parent]) {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    fn sink(&mut self, mut place: usize) {
        let entry = self.heap[place];
        loop {
            let first = place * ARITY + 1;
            if first >= self.heap.len() {
                break;
            }
            let mut least = first;
            for child in first + 1..(first + ARITY).min(self.heap.len()) {
                if before(self.heap[child], self.heap[least]) {
                    least = child;
                }
            }
            if !before(self.heap[least], entry) {
                break;
            }
            self.put(place, self.heap[least]);
            place = least;
        }
        self.put(place, entry);
    }

    #[inline]
    fn put(&mut self, place: usize, entry: (f64, u32)) {
        self.heap[place] = entry;
        self.places[entry.1 as usize] = place as u32;
    }
}

#[inline]
fn before(a: (f64, u32), b: (f64, u32)) -> bool {
    a.0 < b.0 || (a.0 == b.0 && a.1 < b.1)
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
