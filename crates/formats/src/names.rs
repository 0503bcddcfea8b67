//! Resolution of names in a file to parts of a workflow and a platform.

use crate::error::{FormatError, Result};
use slackline_model::names::printable;
use slackline_model::nearest::did_you_mean;
use slackline_model::{FileId, HostId, LinkId, Platform, Problem, ProcId, TaskId, Workflow};
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

/// Tasks, files, processors, hosts and links by name.
pub(crate) struct Names<'a> {
    pub(crate) workflow: &'a Workflow,
    pub(crate) platform: &'a Platform,
    tasks: HashMap<&'a str, TaskId>,
    /// Filled on first use: few documents name files.
    files: OnceCell<BTreeMap<String, FileId>>,
    /// Empty without a planning problem.
    procs: BTreeMap<String, ProcId>,
}

impl<'a> Names<'a> {
    pub(crate) fn of(problem: &'a Problem<'_>) -> Names<'a> {
        let procs = problem.proc_ids().map(|p| (problem.proc_name(p), p)).collect();
        Names { procs, ..Names::among(problem.workflow(), problem.platform()) }
    }

    /// The names of a workflow and a platform alone: [`proc`](Self::proc) finds none.
    pub(crate) fn among(workflow: &'a Workflow, platform: &'a Platform) -> Names<'a> {
        Names {
            workflow,
            platform,
            tasks: workflow.tasks().map(|t| (workflow.task_name(t), t)).collect(),
            files: OnceCell::new(),
            procs: BTreeMap::new(),
        }
    }

    pub(crate) fn task(&self, name: &str) -> Result<TaskId> {
        let known = || self.workflow.tasks().map(|t| self.workflow.task_name(t));
        let missing = || unknown("workflow has no task", name, known());
        self.tasks.get(name).copied().ok_or_else(missing)
    }

    pub(crate) fn proc(&self, name: &str) -> Result<ProcId> {
        let known = || self.procs.keys().map(String::as_str);
        let missing = || unknown("platform has no processor", name, known());
        self.procs.get(name).copied().ok_or_else(missing)
    }

    pub(crate) fn host(&self, name: &str) -> Result<HostId> {
        let known = || self.platform.hosts().iter().map(|host| &*host.name);
        let missing = || unknown("platform has no host", name, known());
        self.platform.host_named(name).ok_or_else(missing)
    }

    pub(crate) fn link(&self, name: &str) -> Result<LinkId> {
        let known = || self.platform.links().iter().map(|link| &*link.name);
        let missing = || unknown("platform has no link", name, known());
        self.platform.link_named(name).ok_or_else(missing)
    }

    pub(crate) fn file(&self, name: &str) -> Result<FileId> {
        let workflow = self.workflow;
        let all = || workflow.files().map(|f| (workflow.file_label(f), f)).collect();
        let files = self.files.get_or_init(all);
        let known = || files.keys().map(String::as_str);
        let missing = || unknown("workflow has no file", name, known());
        files.get(name).copied().ok_or_else(missing)
    }
}

/// The error of a name that does not exist, with the one probably meant. `lack` is its beginning, such as
/// "workflow has no task".
pub(crate) fn unknown<'k>(
    lack: &str,
    name: &str,
    known: impl Iterator<Item = &'k str>,
) -> FormatError {
    let hint = did_you_mean(name, known);
    FormatError::new(format!("the {lack} '{}'{hint}", printable(name)))
}
