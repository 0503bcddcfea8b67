//! Where the files of a run lie, and what an attempt at a task needs of them.

use super::Real;
use crate::attempt::{
    ATTEMPT_VARIABLE, Attempt, HOST_VARIABLE, Limits, RUN_VARIABLE, Scratch, Stamp, TASK_VARIABLE,
    checksum,
};
use crate::backend::{BackendError, Computation, OpError, OpId, What};
use slackline_model::problem::Inputs;
use slackline_model::{FileId, HostId, TaskId, Workflow};
use std::path::PathBuf;

/// Files of a task that have names: others stand for mere order.
pub(super) fn named<'w>(
    workflow: &'w Workflow,
    files: impl Iterator<Item = FileId> + 'w,
) -> impl Iterator<Item = FileId> + 'w {
    files.filter(|file| !workflow.file_name(*file).is_empty())
}

impl Real<'_> {
    /// Where a file lies at a host: in its store, or where the user put it, with the state that it has to
    /// be in.
    pub(super) fn place(&self, file: FileId, host: HostId) -> (PathBuf, Option<Option<Stamp>>) {
        let stored = self.stored(file, host);
        if self.workflow().producer(file).is_some() {
            return (stored, None);
        }
        let place = self.platform().place_of(host);
        let given = match self.inputs {
            Inputs::Everywhere => true,
            Inputs::At(origin) => self.platform().place_of(origin) == place,
        };
        if given && !stored.exists() {
            let name = self.workflow().file_name(file);
            (self.options.source.join(name), Some(self.options.stamps.get(name).copied()))
        } else {
            (stored, None)
        }
    }

    /// Where a file belongs at a host.
    pub(super) fn stored(&self, file: FileId, host: HostId) -> PathBuf {
        let place = self.host_name(self.platform().place_of(host));
        self.folder.store(place).join(self.workflow().file_name(file))
    }

    /// What an attempt at a task is to do.
    pub(super) fn attempt(
        &self,
        op: OpId,
        work: &Computation<'_>,
        number: u32,
    ) -> Result<Attempt, OpError> {
        let (workflow, task) = (self.workflow(), work.task);
        let name = workflow.task_name(task);
        let host = self.problem.host_of(work.procs[0]);
        let Some(command) = workflow.command(task) else {
            return Err(OpError::Refused(format!("task '{name}' has no command")));
        };
        let mut argv = vec![command.program.clone()];
        if command.program == "slackline" {
            argv[0] = self.options.myself.to_string_lossy().into_owned();
        }
        argv.extend(command.arguments.iter().cloned());
        let own = |file: FileId| workflow.file_name(file).to_string();
        let inputs = named(workflow, workflow.inputs(task));
        let outputs = named(workflow, workflow.outputs(task));
        let (mut brought, mut own_files) = (Vec::new(), Vec::new());
        for (index, file) in inputs.enumerate() {
            let (path, stamp) = self.place(file, host);
            own_files.extend(stamp.map(|stamp| (index, stamp)));
            brought.push((own(file), path));
        }
        let cores = work.procs.iter().map(|p| p.index()).filter(|_| self.options.pin);
        let width = work.procs.len().to_string();
        let env = [
            (RUN_VARIABLE, self.options.run.as_str()),
            (TASK_VARIABLE, name),
            (HOST_VARIABLE, self.host_name(host)),
            (ATTEMPT_VARIABLE, &number.to_string()),
            ("SLACKLINE_CORES", &width),
            ("OMP_NUM_THREADS", &width),
        ];
        Ok(Attempt {
            argv,
            env: env.map(|(name, value)| (name.to_string(), value.to_string())).into(),
            work: self.folder.work(self.host_name(host)).join(op.0.to_string()),
            scratch: self.options.scratch.as_ref().map(|base| {
                let begin = format!("slackline-{}-h{}-", self.options.run, host.0);
                Scratch { base: base.clone(), attempt: format!("{begin}op{}-", op.0), host: begin }
            }),
            inputs: brought,
            own: own_files,
            outputs: outputs.map(|file| (own(file), self.stored(file, host))).collect(),
            captured: self.folder.captured(name, number),
            checksum_limit: self.options.checksum_limit,
            limits: Limits { seconds: self.options.time_limit, cores: cores.collect() },
        })
    }

    /// The number of the next attempt at a task.
    pub(super) fn next_attempt(&self, task: TaskId) -> u32 {
        self.past.attempts.get(&task).copied().unwrap_or(0) + 1
    }

    /// Deletes copies: what says that nobody needs them is durable first.
    pub(super) fn delete_doomed(&mut self) -> Result<(), BackendError> {
        if self.doomed.is_empty() {
            return Ok(());
        }
        self.desk.log.settle().map_err(BackendError)?;
        for (file, host) in std::mem::take(&mut self.doomed) {
            let _ = std::fs::remove_file(self.stored(file, host)); // it may never have been there
        }
        Ok(())
    }

    /// Files that should be there and are not, or are not what they were.
    pub(super) fn look_for_files(&mut self) {
        let at = self.now;
        for ((file, host), kept) in std::mem::take(&mut self.past.files) {
            if self.lost[host.index()].is_some() {
                continue;
            }
            let path = self.stored(file, host);
            let found = std::fs::symlink_metadata(&path);
            let sized = found.is_ok_and(|found| found.is_file() && found.len() == kept.bytes);
            let right = || {
                let known = kept.checksum.as_ref();
                known.is_none_or(|known| checksum(&path).is_ok_and(|found| found == *known))
            };
            if !(sized && right()) {
                self.tell(at, What::CopyLost { file, host });
            }
        }
    }
}
