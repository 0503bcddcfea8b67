//! Workflows as work for a stack.

use super::{Task, Work};
use slackline_model::{TaskId, Workflow};

/// Tasks with their flop, files with their bytes.
pub fn work_of(workflow: &Workflow) -> Work {
    let task = |task: TaskId| Task {
        id: workflow.task_name(task).to_string(),
        work: workflow.work(task),
        inputs: workflow.inputs(task).map(|file| file.index()).collect(),
        outputs: workflow.outputs(task).map(|file| file.index()).collect(),
        dependencies: workflow.predecessors(task).map(|(parent, _)| parent.index()).collect(),
    };
    let file = |file| (workflow.file_label(file), workflow.file_bytes(file));
    Work {
        tasks: workflow.tasks().map(task).collect(),
        files: workflow.files().map(file).collect(),
    }
}
