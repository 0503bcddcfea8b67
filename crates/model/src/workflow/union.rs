//! Union of workflows: another one joins those that are known, at its own cost alone.

use super::{CostTable, Member, NO_TASK, Rows, Workflow};
use crate::TaskId;

impl<T: Copy> Rows<T> {
    /// The rows of another, behind one's own.
    fn append(&mut self, other: &Rows<T>, shifted: impl Fn(T) -> T) {
        let offset = self.items.len() as u32;
        self.items.extend(other.items.iter().map(|&item| shifted(item)));
        self.start.extend(other.start[1..].iter().map(|&start| start + offset));
    }
}

impl Workflow {
    /// Adds a workflow beside what is there, as [`Workflow::union`] of all parts would have it:
    /// what was there keeps its numbers, names get `name/` in front. That no two tasks are then
    /// called the same is up to the caller.
    pub fn add_member(&mut self, part: &Workflow, name: &str) {
        let (tasks, files) = (self.len() as u32, self.file_count() as u32);
        let edges = self.edge_bytes.len() as u32;
        let (task, file) = (|t: u32| t + tasks, |f: u32| f + files);
        let kinds: Vec<u32> = part.kinds.iter().map(|kind| self.kind_called(kind)).collect();
        self.kind_of.extend(part.kind_of.iter().map(|&kind| kinds[kind as usize]));
        let prefixed = |own: &str| match own {
            "" => String::new(),
            own => format!("{name}/{own}"),
        };
        for own in part.task_names.iter() {
            self.task_names.push(&format!("{name}/{own}"));
        }
        for own in part.file_names.iter() {
            self.file_names.push(&prefixed(own));
        }
        self.work.extend_from_slice(&part.work);
        self.speedup.extend_from_slice(&part.speedup);
        self.width.extend_from_slice(&part.width);
        self.spread.extend_from_slice(&part.spread);
        self.memory.extend_from_slice(&part.memory);
        if self.has_demands() || part.has_demands() {
            self.demand.resize(tasks as usize, None);
            self.demand.extend_from_slice(&part.demand);
            self.demand.resize(tasks as usize + part.len(), None);
        }
        if !(self.kept.is_empty() && part.kept.is_empty()) {
            self.kept.resize(files as usize, false);
            self.kept.extend_from_slice(&part.kept);
            self.kept.resize(files as usize + part.file_count(), false);
        }
        self.demands = self.demands.and(part.demands);
        self.commands.extend_from_slice(&part.commands);
        self.file_bytes.extend_from_slice(&part.file_bytes);
        let producer = |&p: &u32| if p == NO_TASK { NO_TASK } else { p + tasks };
        self.producer.extend(part.producer.iter().map(producer));
        self.consumers.append(&part.consumers, task);
        self.inputs.append(&part.inputs, file);
        self.outputs.append(&part.outputs, file);
        self.successors.append(&part.successors, task);
        if !(self.edge_largest.is_empty() && part.edge_largest.is_empty()) {
            if self.edge_largest.is_empty() {
                self.edge_largest.clone_from(&self.edge_bytes);
            }
            let own =
                if part.edge_largest.is_empty() { &part.edge_bytes } else { &part.edge_largest };
            self.edge_largest.extend_from_slice(own);
        }
        self.edge_bytes.extend_from_slice(&part.edge_bytes);
        self.has_controls |= part.has_controls;
        self.edge_source.extend(part.edge_source.iter().map(|&t| t + tasks));
        self.edge_files.append(&part.edge_files, file);
        self.predecessors.append(&part.predecessors, |(t, edge)| (t + tasks, edge + edges));
        // The lowest ready task comes first: all that was there before all that is new.
        self.order.extend(part.order.iter().map(|t| TaskId(t.0 + tasks)));
        let same = |own: &CostTable| part.cost_table().filter(|t| t.columns == own.columns);
        self.cost_table = self.cost_table.take().and_then(|mut own| {
            own.seconds.extend_from_slice(&same(&own)?.seconds);
            Some(own)
        });
        self.members.push(Member { name: name.to_string(), tasks: tasks..self.len() as u32 });
    }

    fn kind_called(&mut self, name: &str) -> u32 {
        let known = self.kinds.iter().position(|kind| kind == name);
        known.unwrap_or_else(|| self.kinds.push(name)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Task, WorkflowBuilder};

    fn part(name: &str, tasks: u32, kind: &str) -> Workflow {
        let mut b = WorkflowBuilder::new(name);
        for i in 0..tasks {
            b.add_task(Task::new(format!("t{i}"), 1e9).of_kind(kind)).unwrap();
        }
        // Against the order of numbers, with data, without, and with files of the workflow.
        b.add_edge(TaskId(tasks - 1), TaskId(0), 3.0).unwrap();
        b.add_control(TaskId(tasks - 1), TaskId(1)).unwrap();
        let (input, result) = (b.add_file("in", 9.0).unwrap(), b.add_file("out", 4.0).unwrap());
        b.reads(TaskId(0), input);
        b.reads(TaskId(2), input);
        b.writes(TaskId(1), result).unwrap();
        let seconds = (0..tasks).map(f64::from).collect();
        b.set_cost_table(CostTable { columns: vec!["p".to_string()], seconds });
        b.build().unwrap()
    }

    #[test]
    fn adding_one_by_one_gives_the_union() {
        let parts = [part("a", 3, "x"), part("b", 5, "y"), part("a", 4, "x")];
        let mut grown = Workflow::union("all", &[&parts[0]]).unwrap();
        grown.add_member(&parts[1], "b");
        grown.add_member(&parts[2], "a#2");
        let all: Vec<&Workflow> = parts.iter().collect();
        assert_eq!(grown, Workflow::union("all", &all).unwrap());
    }
}
