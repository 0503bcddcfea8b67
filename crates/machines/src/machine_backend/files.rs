//! Locations of a run's files, and inputs and outputs of attempts.

use super::{CompletedCopy, MachineBackend};
use crate::attempt::{
    ATTEMPT_VARIABLE, Attempt, Completed, HOST_VARIABLE, KIND_VARIABLE, Limits, NODES_VARIABLE,
    RUN_VARIABLE, Scratch, Stamp, TASK_VARIABLE, Version, Written, checksum, is_missing, publish,
};
use crate::surroundings::surrounded;
use slackline_engine::{BackendError, Computation, OpError, OpId, SignalKind};
use slackline_model::problem::Inputs;
use slackline_model::resources::Amount;
use slackline_model::workflow::Surroundings;
use slackline_model::{FileId, HostId, TaskId, Workflow};
use std::path::PathBuf;
use std::sync::Arc;

/// Files of a task that have names: others stand for mere order.
pub(super) fn named<'w>(
    workflow: &'w Workflow,
    files: impl Iterator<Item = FileId> + 'w,
) -> impl Iterator<Item = FileId> + 'w {
    files.filter(|file| !workflow.file_name(*file).is_empty())
}

/// The files that a task reads, with the names by which its command knows them.
pub(super) fn reads(workflow: &Workflow, task: TaskId) -> Vec<(FileId, String)> {
    let own = |file: FileId| (file, workflow.file_name(file).to_string());
    match workflow.unfolded(task) {
        Some(unfolded) => unfolded.reads.clone(),
        None => named(workflow, workflow.inputs(task)).map(own).collect(),
    }
}

/// Environment of an instance: its name and, in a loop, the pass of the innermost one.
fn instance_variables(workflow: &Workflow, task: TaskId) -> Vec<(String, String)> {
    let Some(unfolded) = workflow.unfolded(task) else { return Vec::new() };
    let name = ("SLACKLINE_INSTANCE".to_string(), workflow.task_name(task).to_string());
    let pass = unfolded.pass().map(|pass| ("SLACKLINE_PASS".to_string(), pass.to_string()));
    [Some(name), pass].into_iter().flatten().collect()
}

/// The name by which a task's command knows one of its outputs.
fn written_as(workflow: &Workflow, task: TaskId, file: FileId) -> String {
    let local = workflow.unfolded(task).and_then(|u| u.writes.iter().find(|(f, _)| *f == file));
    local.map_or_else(|| workflow.file_name(file).to_string(), |(_, local)| local.clone())
}

impl MachineBackend<'_> {
    /// Path of a file at a host: in its store, or the user's path with the state it must have.
    pub(super) fn place(&self, file: FileId, host: HostId) -> (PathBuf, Option<Option<Stamp>>) {
        let stored = self.stored(file, host);
        if self.workflow().producer(file).is_some() {
            return (stored, None);
        }
        if self.is_given(file, host) && !stored.exists() {
            let name = self.workflow().file_name(file);
            (self.options.source.join(name), Some(self.options.stamps.get(name).copied()))
        } else {
            (stored, None)
        }
    }

    /// Whether a file is one of the user's, and is at a host from the beginning.
    pub(super) fn is_given(&self, file: FileId, host: HostId) -> bool {
        let platform = self.platform();
        self.workflow().producer(file).is_none()
            && !self.options.reuse.brought.contains_key(self.workflow().file_name(file))
            && match self.inputs {
                Inputs::Everywhere => true,
                Inputs::At(origin) => platform.place_of(origin) == platform.place_of(host),
            }
    }

    /// Path of a file in a host's store.
    pub(super) fn stored(&self, file: FileId, host: HostId) -> PathBuf {
        let place = self.host_name(self.platform().place_of(host));
        self.folder.store(place).join(self.workflow().file_name(file))
    }

    /// Path of an output left by an attempt on a host. The numbers of drive and operation belong to one attempt alone,
    /// so that none can replace another's output.
    fn left(&self, host: HostId, op: OpId, index: usize) -> PathBuf {
        let place = self.host_name(self.platform().place_of(host));
        self.folder.made(place).join(format!("{}-{}.{index}", self.options.drive, op.0))
    }

    /// Gives outputs of an attempt that counts their names in the store, in place of what had them.
    pub(super) fn accept(
        &mut self,
        task: TaskId,
        host: HostId,
        done: &Completed,
    ) -> Result<(), String> {
        let written = &done.written;
        let (problem, grown) = (self.problem, self.grown.clone());
        let workflow = grown.as_deref().unwrap_or_else(|| problem.workflow());
        let place = self.platform().place_of(host);
        for (file, written) in named(workflow, workflow.outputs(task)).zip(written) {
            let stored = self.stored(file, host);
            // An earlier version left outputs in the store itself.
            if let Some(left) = &written.path
                && let Err(error) = publish(left, &stored)
            {
                // An engine that was killed may have done so before it could write that down.
                let same = || match &written.checksum {
                    Some(known) => checksum(&stored).is_ok_and(|found| found == *known),
                    None => std::fs::metadata(&stored).is_ok_and(|found| {
                        let found = Stamp::of(&found);
                        found.bytes == written.bytes && Some(found.modified) == written.modified
                    }),
                };
                let done = || is_missing(left) && same();
                if !done() {
                    let name = workflow.file_name(file);
                    return Err(format!("output '{name}' cannot be kept: {error}"));
                }
            }
            self.doomed.retain(|doomed| *doomed != (file, host));
            match written.modified {
                Some(modified) => {
                    let stamp = Stamp { bytes: written.bytes, modified };
                    let checksum = written.checksum.clone();
                    self.versions.insert((file, place), Version { stamp, checksum });
                }
                None => drop(self.versions.remove(&(file, place))),
            }
        }
        self.note_made(task, host, done);
        self.doom_temporary(task);
        Ok(())
    }

    /// Gives whole copies their names. Returns how many bytes were copied.
    pub(super) fn accept_copies(&mut self, moved: &CompletedCopy) -> Result<u64, String> {
        let mut bytes = 0;
        for (host, part, stamp) in &moved.copies {
            let stored = self.stored(moved.file, *host);
            if let Err(error) = publish(part, &stored) {
                moved.discard();
                let label = self.workflow().file_label(moved.file);
                return Err(format!("'{label}' cannot be copied: {error}"));
            }
            bytes += stamp.bytes;
            let checksum = moved.known.as_ref().and_then(|known| known.checksum.clone());
            let version = Version { stamp: *stamp, checksum };
            self.versions.insert((moved.file, self.platform().place_of(*host)), version);
        }
        Ok(bytes)
    }

    /// Removes what an attempt has left that does not count.
    pub(super) fn discard(&self, written: &[Written]) {
        for left in written.iter().filter_map(|written| written.path.as_ref()) {
            let _ = std::fs::remove_file(left); // it may be gone
        }
    }

    /// Removes outputs of attempts that are not needed, by the numbers of driving process and operation.
    pub(super) fn sweep(&self, unwanted: impl Fn(u32, OpId) -> bool) {
        let number = |name: &str| -> Option<(u32, OpId)> {
            let (drive, rest) = name.split_once('-')?;
            Some((drive.parse().ok()?, OpId(rest.split('.').next()?.parse().ok()?)))
        };
        for host in self.platform().host_ids() {
            let folder = self.folder.made(self.host_name(host));
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let left = entry.file_name().to_str().and_then(number);
                if left.is_some_and(|(drive, op)| unwanted(drive, op)) {
                    let _ = std::fs::remove_file(entry.path()); // as far as it goes
                }
            }
        }
    }

    /// Attempt to make for a task.
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
        let around = command.surroundings.as_deref();
        if let Some(around) = around {
            argv = surrounded(around, &self.options.source, argv);
        }
        let nodes = around.map_or(1, Surroundings::nodes);
        if nodes > 1 {
            // A process for each core of each node.
            let start = ["srun", "--kill-on-bad-exit=1"].map(str::to_string);
            argv.splice(0..0, start);
        }
        let outputs = named(workflow, workflow.outputs(task));
        let (mut brought, mut own_files, mut versions) = (Vec::new(), Vec::new(), Vec::new());
        let place = self.platform().place_of(host);
        for (index, (file, local)) in reads(workflow, task).into_iter().enumerate() {
            let (path, stamp) = self.place(file, host);
            match stamp {
                Some(stamp) => own_files.push((index, stamp)),
                None => {
                    let known = self.versions.get(&(file, place));
                    versions.extend(known.map(|known| (index, known.clone())));
                }
            }
            brought.push((local, path));
        }
        let cores = work.procs.iter().map(|p| p.index()).filter(|_| self.options.pin);
        let width = work.procs.len().to_string();
        let env = [
            (RUN_VARIABLE, self.options.run.as_str()),
            (TASK_VARIABLE, name),
            (KIND_VARIABLE, workflow.kind_name(workflow.kind(task))),
            (HOST_VARIABLE, self.host_name(host)),
            (ATTEMPT_VARIABLE, &number.to_string()),
            ("SLACKLINE_CORES", &width),
            ("OMP_NUM_THREADS", &width),
        ];
        Ok(Attempt {
            argv,
            env: env
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .into_iter()
                .chain(self.grant(work, host))
                .chain((nodes > 1).then(|| (NODES_VARIABLE.to_string(), nodes.to_string())))
                .chain(around.iter().flat_map(|around| around.env.clone()))
                .chain(instance_variables(workflow, task))
                .collect(),
            work: self.folder.work(self.host_name(host)).join(op.0.to_string()),
            scratch: self.options.scratch.as_ref().map(|base| {
                let begin = format!("slackline-{}-h{}-", self.options.run, host.0);
                Scratch { base: base.clone(), attempt: format!("{begin}op{}-", op.0), host: begin }
            }),
            inputs: brought,
            own: own_files,
            keep: Some(self.folder.given(self.host_name(place))),
            versions,
            outputs: outputs
                .enumerate()
                .map(|(index, file)| (written_as(workflow, task, file), self.left(host, op, index)))
                .collect(),
            captured: self.folder.captured(name, number),
            checksum_limit: self.options.checksum_limit,
            accepts: workflow.unfolded(task).map_or_else(Vec::new, |u| u.accepts.to_vec()),
            limits: Limits {
                seconds: around.and_then(|around| around.time_limit).or(self.options.time_limit),
                cores: cores.collect(),
                memory: work.memory,
                enforce: self.options.enforce,
            },
        })
    }

    /// Environment that describes an attempt's grant: memory, named resources, and devices by their ids. On a host with
    /// devices, a task without one sees none.
    fn grant(&self, work: &Computation<'_>, host: HostId) -> Vec<(String, String)> {
        let mut env = Vec::new();
        if let Some(memory) = work.memory {
            env.push(("SLACKLINE_MEMORY".to_string(), memory.to_string()));
        }
        let named = self.workflow().demand(work.task).map_or(&[][..], |demand| &demand.named);
        if !named.is_empty() {
            let one = |(name, amount): &(Arc<str>, Amount)| format!("{name}={}", amount.units());
            let all: Vec<String> = named.iter().map(one).collect();
            env.push(("SLACKLINE_RESOURCES".to_string(), all.join(",")));
        }
        let own = self.platform().host(host).resources.as_deref();
        let kinds = own.map_or(&[][..], |own| own.gpus.as_slice());
        if kinds.is_empty() {
            return env;
        }
        let mut ids = work.devices.to_vec();
        ids.dedup();
        let is_amd = |id: &u32| {
            let mut next = 0;
            let kind = kinds.iter().find(|kind| {
                next += kind.count;
                *id < next
            });
            kind.is_some_and(|kind| kind.vendor.as_deref() == Some("amd"))
        };
        let list = |ids: Vec<u32>| ids.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let (amd, other): (Vec<u32>, Vec<u32>) = ids.iter().copied().partition(is_amd);
        env.push(("SLACKLINE_GPUS".to_string(), list(ids)));
        env.push(("CUDA_VISIBLE_DEVICES".to_string(), list(other)));
        if kinds.iter().any(|kind| kind.vendor.as_deref() == Some("amd")) {
            env.push(("ROCR_VISIBLE_DEVICES".to_string(), list(amd)));
        }
        env
    }

    /// The number of the next attempt at a task.
    pub(super) fn next_attempt(&self, task: TaskId) -> u32 {
        let before = self.options.reuse.history.attempts();
        let before = before.get(self.workflow().task_name(task)).copied().unwrap_or(0);
        self.past.attempts.get(&task).copied().unwrap_or(0).max(before) + 1
    }

    /// Deletes copies, after the record that they are not needed is durable.
    pub(super) fn delete_doomed(&mut self) -> Result<(), BackendError> {
        if self.doomed.is_empty() {
            return Ok(());
        }
        self.note_deleted();
        self.events.log.settle().map_err(BackendError::Journal)?;
        for (file, host) in std::mem::take(&mut self.doomed) {
            self.versions.remove(&(file, self.platform().place_of(host)));
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
            let found = match std::fs::symlink_metadata(&path) {
                Ok(found) => Some(found),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
                Err(_) => continue, // it may be there: attempts will show
            };
            let found = found.filter(|found| found.is_file() && found.len() == kept.bytes);
            let right = || {
                let known = kept.checksum.as_ref().filter(|_| kept.doubtful);
                known.is_none_or(|known| checksum(&path).is_ok_and(|found| found == *known))
            };
            match found.filter(|_| right()) {
                Some(found) => {
                    let (stamp, checksum) = (Stamp::of(&found), kept.checksum);
                    self.versions.insert((file, host), Version { stamp, checksum });
                }
                None => self.tell(at, SignalKind::CopyLost { file, host }),
            }
        }
    }
}
