//! A 4-ary heap of dates whose entries know their place, which the owner keeps by id: an id has at
//! most one date and is re-dated in place, so that there are no stale entries. Equal dates come
//! out in the order of their ids.

const ARITY: usize = 4;

/// Earliest date first.
#[derive(Clone, Debug, Default)]
pub(super) struct Heap {
    entries: Vec<(f64, u32)>,
}

impl Heap {
    /// The earliest entry.
    #[inline]
    pub(super) fn first(&self) -> Option<(f64, u32)> {
        self.entries.first().copied()
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
        self.entries[place as usize].0
    }

    /// Takes the same time off all dates.
    pub(super) fn advance(&mut self, time: f64) {
        self.entries.iter_mut().for_each(|entry| entry.0 -= time);
    }

    #[inline]
    pub(super) fn push(&mut self, date: f64, id: u32, places: &mut [u32]) {
        self.entries.push((date, id));
        self.rise(self.entries.len() - 1, places);
    }

    /// Gives the entry at `place` another date.
    #[inline]
    pub(super) fn set(&mut self, place: u32, date: f64, places: &mut [u32]) {
        let entry = &mut self.entries[place as usize];
        let before = std::mem::replace(&mut entry.0, date);
        if date < before {
            self.rise(place as usize, places);
        } else if date > before {
            self.sink(place as usize, places);
        }
    }

    /// Takes the entry at `place` out; the place its id had is left to the owner.
    #[inline]
    pub(super) fn remove(&mut self, place: u32, places: &mut [u32]) {
        let place = place as usize;
        let (date, _) = self.entries.swap_remove(place);
        if place < self.entries.len() {
            if self.entries[place].0 < date {
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
            if !before(entry, self.entries[parent]) {
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
            let Some(children) = self.entries.get(first..(first + ARITY).min(self.entries.len()))
            else {
                break;
            };
            let mut least = (0, entry);
            for (k, &child) in children.iter().enumerate() {
                if before(child, least.1) {
                    least = (first + k, child);
                }
            }
            if least.0 == 0 {
                break;
            }
            self.put(place, least.1, places);
            place = least.0;
        }
        self.put(place, entry, places);
    }

    #[inline]
    fn put(&mut self, place: usize, entry: (f64, u32), places: &mut [u32]) {
        self.entries[place] = entry;
        places[entry.1 as usize] = place as u32;
    }
}

#[inline]
fn before(a: (f64, u32), b: (f64, u32)) -> bool {
    a.0 < b.0 || (a.0 == b.0 && a.1 < b.1)
}
