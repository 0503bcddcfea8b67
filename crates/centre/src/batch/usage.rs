//! Core-seconds that groups have held, over all time or a sliding window.

use std::collections::VecDeque;

/// From a date on, so much was held and so many cores are.
#[derive(Clone, Copy, Debug, Default)]
struct Since {
    date: f64,
    held: f64,
    cores: f64,
}

impl Since {
    fn at(self, date: f64) -> f64 {
        self.held + self.cores * (date - self.date)
    }
}

/// Use by group.
#[derive(Clone, Debug, Default)]
pub(super) struct Usage {
    window: Option<f64>,
    /// The course of each group: with a window, from the last change before the window began.
    groups: Vec<VecDeque<Since>>,
}

impl Usage {
    pub(super) fn new(window: Option<f64>, groups: usize) -> Usage {
        Usage { window, groups: vec![VecDeque::new(); groups] }
    }

    /// A group holds `change` cores more (or less) from `now` on.
    pub(super) fn change(&mut self, group: u32, now: f64, change: f64) {
        let group = group as usize;
        if group >= self.groups.len() {
            self.groups.resize(group + 1, VecDeque::new());
        }
        let course = &mut self.groups[group];
        let last = course.back().copied().unwrap_or_default();
        let next = Since { date: now, held: last.at(now), cores: last.cores + change };
        match course.back_mut() {
            Some(last) if last.date == now => *last = next,
            // Without a window only the last entry counts.
            Some(last) if self.window.is_none() => *last = next,
            _ => course.push_back(next),
        }
    }

    /// Core-seconds that a group has held until now, within the window.
    pub(super) fn of(&mut self, group: u32, now: f64) -> f64 {
        let Some(course) = self.groups.get_mut(group as usize) else { return 0.0 };
        let Some(last) = course.back() else { return 0.0 };
        let total = last.at(now);
        let Some(window) = self.window else { return total };
        let begin = now - window;
        while course.get(1).is_some_and(|next| next.date <= begin) {
            course.pop_front();
        }
        let before = course.front().filter(|first| first.date <= begin);
        total - before.map_or(0.0, |first| first.at(begin))
    }
}
