//! Finished tasks that must be repeated after processors died.
//!
//! The printed rule of GTP/r ("some out-edge is not fully received, or a successor on the same
//! processor is rewound") never rewinds an unfinished exit task, counts edges to finished
//! successors, and lets a consumer migrate away from data whose producer is dead, which blocks for ever. The
//! rule here is the one that avoids all three: among the tasks whose host is gone, in reverse
//! topological order, rewind those that are not done, and those of which some consumer still
//! needs data that no living host has. Copies (GTP/c/r) only enlarge who has it.

use crate::data_location::Holders;
use crate::situation::{Situation, TaskState};
use slackline_model::{FileId, TaskId};

/// The finished tasks to rewind, in topological order. `reuse_copies` counts copies anywhere
/// (GTP/c/r); otherwise only data at the consumer's own hosts and at the producer's counts (GTP/r).
pub fn rewound_tasks(now: &Situation, reuse_copies: bool) -> Vec<TaskId> {
    let workflow = &*now.workflow;
    let mut rewound = vec![false; workflow.len()];
    for &task in workflow.topological_order().iter().rev() {
        let TaskState::Done(placement) = now.task(task) else { continue };
        let needs = |child: TaskId| rewound[child.index()] || !now.task(child).is_done();
        if !workflow.successors(task).any(|(child, _)| needs(child)) {
            continue; // no task reads it any more
        }
        // What a wide task wrote is with all its hosts together.
        let made_at = now.holders_of(placement.procs());
        let available = |file: FileId, consumer: TaskId, redone: bool| {
            let is_there = |at: &Holders| now.sources(file).any(|source| source == at);
            if is_there(&made_at) {
                return true;
            }
            if reuse_copies {
                return now.sources(file).next().is_some();
            }
            // Without copies, data counts only where the consumer that fetched it still is.
            let holders = now.task(consumer).procs().map(|procs| now.holders_of(procs));
            !redone && holders.is_some_and(|holders| is_there(&holders))
        };
        rewound[task.index()] = workflow.successors(task).any(|(child, edge)| {
            let redone = rewound[child.index()];
            needs(child) && workflow.edge_files(edge).any(|f| !available(f, child, redone))
        });
    }
    workflow.topological_order().iter().copied().filter(|t| rewound[t.index()]).collect()
}
