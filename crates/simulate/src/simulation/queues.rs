//! Resources used by one activity at a time: links of the fifo model, sequential hosts.
//!
//! An activity is in the queue of every resource it needs, from its start to its end, and runs
//! while it is first in all of them. An activity enters all its queues at one moment, so that of two activities the
//! same one is ahead in every queue they share, and there is no deadlock.

use crate::kernel::ActivityId;
use std::collections::{HashMap, VecDeque};

/// Queues by resource.
#[derive(Clone, Debug, Default)]
pub(super) struct Queues {
    queues: HashMap<u32, VecDeque<ActivityId>>,
    /// The resources of each queued activity, ascending.
    needs: HashMap<ActivityId, Vec<u32>>,
}

impl Queues {
    /// Puts an activity at the end of the queues of `resources`; true when it may run at once.
    pub(super) fn enter(&mut self, activity: ActivityId, mut resources: Vec<u32>) -> bool {
        resources.sort_unstable();
        resources.dedup();
        for &resource in &resources {
            self.queues.entry(resource).or_default().push_back(activity);
        }
        self.needs.insert(activity, resources);
        self.is_first(activity)
    }

    /// Removes an activity; returns those that may run now, by the lowest resource that they waited for.
    pub(super) fn leave(&mut self, activity: ActivityId) -> Vec<ActivityId> {
        let Some(resources) = self.needs.remove(&activity) else { return Vec::new() };
        let mut heads = Vec::new();
        for &resource in &resources {
            if let Some(queue) = self.queues.get_mut(&resource) {
                let was_first = queue.front() == Some(&activity);
                queue.retain(|&waiting| waiting != activity);
                if let Some(&head) = queue.front().filter(|_| was_first)
                    && !heads.contains(&head)
                {
                    heads.push(head);
                }
            }
        }
        heads.retain(|&head| self.is_first(head));
        heads
    }

    /// Whether an activity is queued and not first everywhere.
    pub(super) fn is_waiting(&self, activity: ActivityId) -> bool {
        self.needs.contains_key(&activity) && !self.is_first(activity)
    }

    pub(super) fn clear(&mut self) {
        self.queues.clear();
        self.needs.clear();
    }

    fn is_first(&self, activity: ActivityId) -> bool {
        self.needs.get(&activity).is_some_and(|resources| {
            resources.iter().all(|resource| {
                self.queues.get(resource).and_then(VecDeque::front) == Some(&activity)
            })
        })
    }
}
