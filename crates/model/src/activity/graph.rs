//! Placed activities and the order between them.

use super::Activity;
use thiserror::Error;

/// Activities wait for each other in a circle.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("activities wait for each other in a circle: {}", .members.join(" -> "))]
pub struct CycleError {
    /// Names of the activities on the circle, each waiting for the one before it; the first is
    /// repeated at the end.
    pub members: Vec<String>,
}

/// A graph of activities, each placed on its resources. An activity may start when all those
/// before it are done, but not before its own date.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ActivityGraph {
    /// Name of each activity.
    pub names: Vec<String>,
    /// The activities, in the order of `names`.
    pub activities: Vec<Activity>,
    /// Earliest start of each, seconds.
    pub not_before: Vec<f64>,
    /// The activities each must wait for.
    pub after: Vec<Vec<u32>>,
}

impl ActivityGraph {
    /// An empty graph.
    pub fn new() -> Self {
        ActivityGraph::default()
    }

    /// Number of activities.
    pub fn len(&self) -> usize {
        self.activities.len()
    }

    /// No activities.
    pub fn is_empty(&self) -> bool {
        self.activities.is_empty()
    }

    /// Adds an activity that may start at once; gives its number.
    pub fn add(&mut self, name: impl Into<String>, activity: impl Into<Activity>) -> u32 {
        self.names.push(name.into());
        self.activities.push(activity.into());
        self.not_before.push(0.0);
        self.after.push(Vec::new());
        self.activities.len() as u32 - 1
    }

    /// Makes `later` wait until `earlier` is done.
    pub fn order(&mut self, earlier: u32, later: u32) {
        self.after[later as usize].push(earlier);
    }

    /// Refuses circles of waiting.
    pub fn check_acyclic(&self) -> Result<(), CycleError> {
        // Depth-first search with an explicit stack: 0 unseen, 1 on the path, 2 finished.
        let mut mark = vec![0u8; self.len()];
        let mut path: Vec<(u32, usize)> = Vec::new();
        for root in 0..self.len() as u32 {
            if mark[root as usize] != 0 {
                continue;
            }
            mark[root as usize] = 1;
            path.push((root, 0));
            while let Some((node, next)) = path.last_mut() {
                let Some(&before) = self.after[*node as usize].get(*next) else {
                    mark[*node as usize] = 2;
                    path.pop();
                    continue;
                };
                *next += 1;
                match mark[before as usize] {
                    0 => {
                        mark[before as usize] = 1;
                        path.push((before, 0));
                    }
                    1 => return Err(self.cycle(&path, before)),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn cycle(&self, path: &[(u32, usize)], entry: u32) -> CycleError {
        let from = path.iter().position(|&(node, _)| node == entry).unwrap_or(0);
        let mut members: Vec<String> =
            path[from..].iter().map(|&(node, _)| self.names[node as usize].clone()).collect();
        members.push(self.names[entry as usize].clone());
        members.reverse();
        CycleError { members }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_named() {
        let mut graph = ActivityGraph::new();
        for name in ["a", "b", "c", "d"] {
            graph.add(name, Activity::Sleep(1.0));
        }
        graph.order(0, 1);
        graph.order(1, 2);
        graph.order(0, 3);
        assert_eq!(graph.check_acyclic(), Ok(()));
        graph.order(2, 1);
        let error = graph.check_acyclic().unwrap_err();
        assert_eq!(error.members, ["b", "c", "b"]);
    }
}
