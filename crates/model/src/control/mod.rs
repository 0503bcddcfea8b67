//! Choices and loops: workflows whose course is only known while they run.
//!
//! Such a workflow is a tree of **regions**; a region is a graph of **items**: tasks, choices and
//! loops. A choice has one region per branch, of which exactly one is taken. A loop has a body,
//! which runs once per pass, and `again`, what runs between two passes (often nothing). The
//! [`Workflow`](crate::Workflow) that carries a [`Control`] lists the tasks; all dependencies and
//! files are kept here, because names of files mean something else in every branch and pass.
//!
//! [`Walk`] is the course of one run through the regions, [`Unfolding`] the plain workflow that
//! results, [`SubWorkflow`] a part between two decisions.

mod builder;
mod decisions;
mod files;
mod law;
mod learn;
pub mod normal;
mod split;
mod unfold;
mod walk;

pub use builder::{BranchSpec, ChoiceSpec, ControlBuilder, ControlError, LoopSpec};
pub use decisions::{Chances, Decider, Decision, DecisionKind, Given, OutcomeError};
pub use files::FileUse;
pub use files::Files;
pub use law::{Count, Iterations, Law, MOST_PASSES};
pub use learn::DecisionCounts;
pub use split::{SubWorkflow, Trigger};
pub use unfold::{DrawnCourse, LocalFile, MOST_INSTANCES, UnfoldError, Unfolding, draw_course};
pub use walk::{Due, Instance, InstanceId, Released, Walk};

use std::fmt;

/// A task, choice or loop, by its number among its kind. The order is that of the file: tasks,
/// then choices, then loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Item {
    /// A task.
    Task(u32),
    /// A choice.
    Choice(u32),
    /// A loop.
    Loop(u32),
}

impl Item {
    /// Whether it is a choice or a loop.
    pub fn is_block(self) -> bool {
        !matches!(self, Item::Task(_))
    }
}

/// A region, by its number; 0 is the workflow itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionId(pub u32);

impl RegionId {
    /// The region around all others.
    pub const WORKFLOW: RegionId = RegionId(0);

    /// Position in an array.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The role of a region in the control structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionKind {
    /// The workflow itself.
    Workflow,
    /// A branch of a choice.
    Branch {
        /// The choice.
        choice: u32,
        /// Number of the branch.
        branch: u32,
    },
    /// The repeated part of a loop.
    Body(u32),
    /// The part that runs between two passes of a loop.
    Again(u32),
}

/// A region and its graph of items.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// Its role.
    pub kind: RegionKind,
    /// Its items, in file order.
    pub items: Vec<Item>,
    /// The items of the same region that each one waits for directly, in file order.
    pub before: Vec<Vec<Item>>,
    /// Positions of the items in topological order, ties in file order.
    pub(crate) order: Vec<usize>,
    /// Per item: the blocks before it that come before no other block before it.
    pub(crate) nearest: Vec<Vec<Item>>,
    /// The blocks that come before no other block of the region.
    pub(crate) last: Vec<Item>,
}

impl Region {
    /// Position of an item among those of the region.
    pub(crate) fn position(&self, item: Item) -> usize {
        self.items.binary_search(&item).unwrap_or(usize::MAX)
    }

    /// Items that no other item of the region waits for.
    pub(crate) fn sinks(&self) -> impl Iterator<Item = Item> + '_ {
        self.items.iter().copied().filter(|i| self.before.iter().all(|b| !b.contains(i)))
    }
}

/// A value that decides: of a JSON document, or an exit code.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text.
    Text(String),
    /// A number.
    Number(f64),
    /// True or false.
    Truth(bool),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => write!(f, "{text:?}"),
            Value::Number(number) => write!(f, "{number}"),
            Value::Truth(truth) => write!(f, "{truth}"),
        }
    }
}

/// The place from which the deciding value is read.
#[derive(Clone, Debug, PartialEq)]
pub enum Reads {
    /// The exit code of the deciding task.
    ExitCode,
    /// A place in one of its outputs.
    Output {
        /// Name of the file.
        file: String,
        /// JSON pointer.
        at: String,
    },
}

/// One way a choice can go.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// Its name.
    pub name: String,
    /// Its probability; where the file states none all branches are equally likely.
    pub probability: f64,
    /// The values that lead here.
    pub when: Vec<Value>,
    /// Whether every other value leads here, too.
    pub otherwise: bool,
    /// In this branch the first name means the second file.
    pub pass: Vec<(String, String)>,
    /// Its region.
    pub region: RegionId,
}

/// A choice: exactly one of its branches is taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Unique among tasks, choices and loops.
    pub name: String,
    /// The region that contains it.
    pub region: RegionId,
    /// The task whose end decides.
    pub by: Option<u32>,
    /// The value of that task that decides.
    pub reads: Option<Reads>,
    /// Its branches.
    pub branches: Vec<Branch>,
    /// Whether the file states probabilities.
    pub is_known: bool,
}

/// A loop: its body is repeated until the decision after a pass says that it is enough.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// Unique among tasks, choices and loops.
    pub name: String,
    /// The region that contains it.
    pub region: RegionId,
    /// The task of the body whose end decides.
    pub by: Option<u32>,
    /// The value of that task that decides.
    pub reads: Option<Reads>,
    /// Values for another pass.
    pub again_when: Vec<Value>,
    /// Values for the end.
    pub stop_when: Vec<Value>,
    /// Meaning of every other value: another pass (true), the end (false) or an error (none).
    pub otherwise: Option<bool>,
    /// The number of passes as stated.
    pub iterations: Iterations,
    /// The number of passes.
    pub law: Law,
    /// The next pass reads the second name as what this pass wrote under the first.
    pub carry: Vec<(String, String)>,
    /// The region that is repeated.
    pub body: RegionId,
    /// The region that runs between two passes.
    pub again: RegionId,
}

/// A dependency as the file states it, with the bytes that it carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatedEdge {
    /// The item that must end first.
    pub from: Item,
    /// The item that waits.
    pub to: Item,
    /// Anonymous data; none for a mere dependency.
    pub bytes: Option<f64>,
}

/// The choices and loops of a workflow, and what depends on what; see the module's head.
#[derive(Clone, Debug, PartialEq)]
pub struct Control {
    task_names: Vec<String>,
    task_region: Vec<RegionId>,
    choices: Vec<Choice>,
    loops: Vec<Loop>,
    regions: Vec<Region>,
    edges: Vec<StatedEdge>,
    files: Files,
}

impl Control {
    /// Its choices, in file order.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// Its loops, in file order.
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// All regions; the first is the workflow itself.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// A region.
    pub fn region(&self, region: RegionId) -> &Region {
        &self.regions[region.index()]
    }

    /// Number of tasks.
    pub fn tasks(&self) -> usize {
        self.task_names.len()
    }

    /// Name of a task.
    pub fn task_name(&self, task: u32) -> &str {
        &self.task_names[task as usize]
    }

    /// The dependencies as stated.
    pub fn edges(&self) -> &[StatedEdge] {
        &self.edges
    }

    /// The files that tasks read and write by name.
    pub fn file_uses(&self) -> &Files {
        &self.files
    }

    /// Name of an item.
    pub fn item_name(&self, item: Item) -> &str {
        match item {
            Item::Task(t) => &self.task_names[t as usize],
            Item::Choice(c) => &self.choices[c as usize].name,
            Item::Loop(l) => &self.loops[l as usize].name,
        }
    }

    /// The region that contains an item.
    pub fn region_of(&self, item: Item) -> RegionId {
        match item {
            Item::Task(t) => self.task_region[t as usize],
            Item::Choice(c) => self.choices[c as usize].region,
            Item::Loop(l) => self.loops[l as usize].region,
        }
    }

    /// The block a region belongs to.
    pub fn block_of(&self, region: RegionId) -> Option<Item> {
        match self.regions[region.index()].kind {
            RegionKind::Workflow => None,
            RegionKind::Branch { choice, .. } => Some(Item::Choice(choice)),
            RegionKind::Body(l) | RegionKind::Again(l) => Some(Item::Loop(l)),
        }
    }

    /// Name of a region as `in` has it: `CHOICE.BRANCH`, `LOOP`, `LOOP.again`.
    pub fn region_name(&self, region: RegionId) -> String {
        match self.regions[region.index()].kind {
            RegionKind::Workflow => String::new(),
            RegionKind::Branch { choice, branch } => {
                let choice = &self.choices[choice as usize];
                format!("{}.{}", choice.name, choice.branches[branch as usize].name)
            }
            RegionKind::Body(l) => self.loops[l as usize].name.clone(),
            RegionKind::Again(l) => format!("{}.again", self.loops[l as usize].name),
        }
    }

    /// Whether some loop has no limit.
    pub fn endless_loop(&self) -> Option<&Loop> {
        self.loops.iter().find(|l| l.law.most().is_none())
    }
}

#[cfg(test)]
mod tests;
