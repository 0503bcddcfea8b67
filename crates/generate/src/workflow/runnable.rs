//! Any workflow as one that can be run: each task burns CPU time and writes files that follow from
//! those it reads (`slackline burn`), in the proportions of the original.

use slackline_model::workflow::{Command, REFERENCE_SPEED, Workflow, WorkflowBuilder};
use slackline_model::{FileId, TaskId, WorkflowError};

/// Mean work of the tasks of a runnable workflow, and mean size of its files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Runnable {
    /// Mean seconds of a task.
    pub seconds: f64,
    /// Mean bytes of a file.
    pub bytes: f64,
}

impl Runnable {
    /// The workflow with commands, its times and sizes scaled to these means. Times become work at
    /// 1 Gflop/s; anonymous files get names.
    pub fn of(&self, original: &Workflow) -> Result<Workflow, WorkflowError> {
        let seconds = scale(self.seconds, original.tasks().map(|t| original.work(t)));
        let bytes = scale(self.bytes, original.files().map(|f| original.file_bytes(f)));
        let mut made = WorkflowBuilder::new(original.name());
        made.set_reference_speed(REFERENCE_SPEED);
        let size = |file: FileId| (original.file_bytes(file) * bytes).round();
        let names: Vec<String> = original.files().map(|f| safe(&original.file_label(f))).collect();
        let argv = |task: TaskId| {
            let mut words = vec!["burn".to_string(), "--seconds".to_string()];
            words.push(format!("{:.6}", original.work(task) * seconds));
            for file in original.inputs(task) {
                words.extend(["--in".to_string(), names[file.index()].clone()]);
            }
            for file in original.outputs(task) {
                let name = &names[file.index()];
                words.extend(["--out".to_string(), format!("{name}:{}", size(file))]);
            }
            words
        };
        for id in original.tasks() {
            let mut task = original.task(id);
            task.work = original.work(id) * seconds * REFERENCE_SPEED;
            task.command = Some(Command {
                program: "slackline".to_string(),
                arguments: argv(id),
                ..Command::default()
            });
            made.add_task(task)?;
        }
        for file in original.files() {
            let id = made.add_file(&names[file.index()], size(file))?;
            if let Some(producer) = original.producer(file) {
                made.writes(producer, id)?;
            }
            original.consumers(file).for_each(|task| made.reads(task, id));
        }
        for edge in original.edges().filter(|&e| original.edge_files(e).len() == 0) {
            let (from, to) = original.edge_ends(edge);
            made.add_control(from, to)?;
        }
        made.build()
    }
}

/// The factor that brings the mean of some numbers to a wanted one.
fn scale(wanted: f64, values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    let sum: f64 = values.sum();
    if sum > 0.0 { wanted * count / sum } else { 0.0 }
}

/// A name that stays in its folder.
fn safe(name: &str) -> String {
    name.replace(['/', '\0'], "_")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a broken fixture is a broken test

    use super::*;
    use slackline_model::Task;

    #[test]
    fn means_are_as_wanted_and_commands_name_their_files() {
        let mut b = WorkflowBuilder::new("w");
        let a = b.add_task(Task::new("a", 3e9)).unwrap();
        let c = b.add_task(Task::new("c", 1e9)).unwrap();
        b.add_edge(a, c, 300.0).unwrap();
        let raw = b.add_file("raw/x", 100.0).unwrap();
        b.reads(a, raw);
        let last = b.add_task(Task::new("last", 2e9)).unwrap();
        b.add_control(c, last).unwrap();
        let made = Runnable { seconds: 0.5, bytes: 50.0 }.of(&b.build().unwrap()).unwrap();
        let times: Vec<f64> = made.tasks().map(|t| made.work(t) / 1e9).collect();
        assert_eq!(times, [0.75, 0.25, 0.5]);
        let command = made.command(a).unwrap();
        assert_eq!(command.program, "slackline");
        let words = "burn --seconds 0.750000 --in raw_x --out a_to_c:75";
        assert_eq!(command.arguments.join(" "), words);
        assert_eq!(made.in_degree(last), 1);
    }
}
