//! Tasks that are interchangeable in a chart.
//!
//! Tasks that read the same shared files, have private inputs and outputs of the same sizes and take equally
//! long everywhere would complete at the same dates on every processor, whatever has been placed before. The
//! sweeps of practice consist of few such classes: a plan evaluates each class, not each task. Of a class the
//! first task that waits goes first.

use super::chart::Chart;
use super::ground::Ground;
use slackline_model::TaskId;
use std::collections::HashMap;

/// Behind the last task of a class.
const NONE: u32 = u32::MAX;

/// Open tasks by class.
pub(super) struct Waiting<'t> {
    tasks: &'t [TaskId],
    /// Per task: the position of the next one of its class.
    next: Vec<u32>,
    /// The first waiting task of every class and the class, in the order of the tasks.
    heads: Vec<Head>,
    classes: usize,
}

/// The first waiting task of a class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    position: u32,
    pub(super) task: TaskId,
    pub(super) class: usize,
}

impl<'t> Waiting<'t> {
    /// Every task for itself.
    pub(super) fn apart(tasks: &'t [TaskId]) -> Waiting<'t> {
        let head = |(position, &task): (usize, &TaskId)| Head {
            position: position as u32,
            task,
            class: position,
        };
        let heads = tasks.iter().enumerate().map(head).collect();
        Waiting { tasks, next: vec![NONE; tasks.len()], heads, classes: tasks.len() }
    }

    /// Groups tasks into classes for the present state of a chart.
    pub(super) fn alike(
        tasks: &'t [TaskId],
        ground: &Ground<'_>,
        chart: &Chart<'_>,
    ) -> Waiting<'t> {
        let mut kinds: Vec<usize> =
            ground.clusters.iter().flat_map(|c| &c.procs).map(|&p| ground.kind(p)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let mut known: HashMap<Box<[u64]>, (usize, u32)> = HashMap::new();
        let (mut next, mut heads) = (vec![NONE; tasks.len()], Vec::new());
        let mut marks = Vec::new();
        for (index, &task) in tasks.iter().enumerate() {
            let position = index as u32;
            describe(task, ground, chart, &kinds, &mut marks);
            if let Some((_, last)) = known.get_mut(&marks[..]) {
                next[*last as usize] = position;
                *last = position;
                continue;
            }
            let class = heads.len();
            known.insert(marks.as_slice().into(), (class, position));
            heads.push(Head { position, task, class });
        }
        Waiting { tasks, next, classes: heads.len(), heads }
    }

    /// Number of classes there were at first.
    pub(super) fn classes(&self) -> usize {
        self.classes
    }

    /// The first waiting task of every class that has one, in the order of the tasks.
    pub(super) fn heads(&self) -> &[Head] {
        &self.heads
    }

    /// The first task of a class has been placed.
    pub(super) fn take(&mut self, index: usize) {
        let Head { position, class, .. } = self.heads[index];
        let position = self.next[position as usize];
        if position == NONE {
            self.heads.remove(index);
            return;
        }
        let before = self.heads[index + 1..].partition_point(|head| head.position < position);
        self.heads[index..=index + before].rotate_left(1);
        let task = self.tasks[position as usize];
        self.heads[index + before] = Head { position, task, class };
    }
}

/// All that completion times of a task depend on.
fn describe(
    task: TaskId,
    ground: &Ground<'_>,
    chart: &Chart<'_>,
    kinds: &[usize],
    marks: &mut Vec<u64>,
) {
    // Sizes and dates are not negative: what names a file has the sign bit set.
    const FILE: u64 = 1 << 63;
    marks.clear();
    marks.push(ground.release(task).to_bits());
    marks.extend(kinds.iter().map(|&kind| ground.seconds_on(task, kind).to_bits()));
    let inputs = ground.inputs(task);
    marks.push(inputs.len() as u64);
    marks.extend(inputs.iter().map(|&file| {
        match ground.shared(file).is_some() || chart.is_spread(file) {
            true => FILE | u64::from(file.0),
            false => ground.bytes(file).to_bits(),
        }
    }));
    marks.extend(ground.outputs(task).iter().map(|&file| ground.bytes(file).to_bits()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_of_a_class_queues_in_the_order_of_tasks() {
        let tasks: Vec<TaskId> = (0..5).map(TaskId::new).collect();
        // Two classes: 0, 3, 4 and 1, 2.
        let head = |position: u32, class| Head { position, task: tasks[position as usize], class };
        let next = vec![3, 2, NONE, 4, NONE];
        let mut waiting =
            Waiting { tasks: &tasks, next, heads: vec![head(0, 0), head(1, 1)], classes: 2 };
        let mut taken = Vec::new();
        while let Some(first) = waiting.heads().first() {
            taken.push((first.task.index(), first.class));
            waiting.take(0);
        }
        assert_eq!(taken, [(0, 0), (1, 1), (2, 1), (3, 0), (4, 0)]);
    }
}
