//! A 4-ary heap of dates whose entries know their place, which the owner keeps by id: an id has at
//! most one date and is re-dated in place, so that there are no stale entries. Equal dates come
//! out in the order of their ids.

use crate::ranked::Ranked;

const ARITY: usize = 4;

/// Earliest date first.
#[derive(Clone, Debug, Default)]
pub(super) struct Heap {
    entries: Vec<Ranked>,
}

impl Heap {
    /// The earliest entry.
    #[inline]
    pub(super) fn first(&self) -> Option<(f64, u32)> {
        self.entries.first().map(|entry| (entry.value(), entry.id()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    /// The date at a place.
    #[inline]
    pub(super) fn date(&self, place: u32) -> f64 {
        self.entries[place as usize].value()
    }

    /// Takes the same time off all dates; none is before that time but by rounding.
    pub(super) fn advance(&mut self, time: f64) {
        for entry in &mut self.entries {
            *entry = Ranked::new((entry.value() - time).max(0.0), entry.id());
        }
    }

    #[inline]
    pub(super) fn push(&mut self, date: f64, id: u32, places: &mut [u32]) {
        self.entries.push(Ranked::new(date, id));
        self.rise(self.entries.len() - 1, places);
    }

    /// Gives the entry at `place` another date.
    #[inline]
    pub(super) fn set(&mut self, place: u32, date: f64, places: &mut [u32]) {
        let before = self.entries[place as usize];
        let entry = Ranked::new(date, before.id());
        self.entries[place as usize] = entry;
        if entry < before {
            self.rise(place as usize, places);
        } else if entry > before {
            self.sink(place as usize, places);
        }
    }

    /// Takes the entry at `place` out; the place its id had is left to the owner.
    #[inline]
    pub(super) fn remove(&mut self, place: u32, places: &mut [u32]) {
        let place = place as usize;
        let gone = self.entries.swap_remove(place);
        if let Some(&moved) = self.entries.get(place) {
            if moved < gone {
                self.rise(place, places);
            } else {
                self.sink(place, places);
            }
        }
    }

    fn rise(&mut self, mut place: usize, places: &mut [u32]) {
        let entry = self.entries[place];
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if entry >= self.entries[parent] {
                break;
            }
            self.put(place, self.entries[parent], places);
            place = parent;
        }
        self.put(place, entry, places);
    }

    fn sink(&mut self, mut place: usize, places: &mut [u32]) {
        let entry = self.entries[place];
        loop {
            let first = place * ARITY + 1;
            let Some(&child) = self.entries.get(first) else { break };
            let mut least = (child, first);
            let last = (first + ARITY).min(self.entries.len());
            for (k, &child) in self.entries[first + 1..last].iter().enumerate() {
                if child < least.0 {
                    least = (child, first + 1 + k);
                }
            }
            if least.0 > entry {
                break;
            }
            self.put(place, least.0, places);
            place = least.1;
        }
        self.put(place, entry, places);
    }

    #[inline]
    fn put(&mut self, place: usize, entry: Ranked, places: &mut [u32]) {
        self.entries[place] = entry;
        places[entry.id() as usize] = place as u32;
    }
}
