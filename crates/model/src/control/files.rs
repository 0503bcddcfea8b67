//! Files that tasks read and write by name, where a name may mean several files.

use super::{Control, ControlError, Item, RegionId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Whether a task reads or writes a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    /// The task reads the file.
    Read,
    /// The task writes the file.
    Write,
}

/// Sizes by name, with the readers and writers of each file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Files {
    bytes: BTreeMap<String, f64>,
    /// Names in the order in which they were declared.
    declared: Vec<String>,
    reads: HashMap<u32, Vec<String>>,
    writes: HashMap<u32, Vec<String>>,
}

impl Files {
    pub(super) fn declare(&mut self, name: &str, bytes: f64) {
        if self.bytes.insert(name.to_string(), bytes).is_none() {
            self.declared.push(name.to_string());
        }
    }

    pub(super) fn uses(&mut self, task: u32, name: &str, how: FileUse) {
        let list = match how {
            FileUse::Read => self.reads.entry(task).or_default(),
            FileUse::Write => self.writes.entry(task).or_default(),
        };
        if !list.iter().any(|n| n == name) {
            list.push(name.to_string());
        }
    }

    /// All names, in the order of the file.
    pub fn names(&self) -> &[String] {
        &self.declared
    }

    /// Size of a file, 0 where unknown.
    pub fn bytes(&self, name: &str) -> f64 {
        self.bytes.get(name).copied().unwrap_or(0.0)
    }

    /// Names a task reads.
    pub fn read_by(&self, task: u32) -> &[String] {
        self.reads.get(&task).map_or(&[], Vec::as_slice)
    }

    /// Names a task writes.
    pub fn written_by(&self, task: u32) -> &[String] {
        self.writes.get(&task).map_or(&[], Vec::as_slice)
    }

    pub(super) fn writes(&self, task: u32, name: &str) -> bool {
        self.written_by(task).iter().any(|n| n == name)
    }

    /// Whether there is any.
    pub fn is_empty(&self) -> bool {
        self.declared.is_empty()
    }
}

impl Control {
    /// Whether an item writes a name, or gives it another meaning for later readers.
    pub(super) fn provides(&self, item: Item, name: &str) -> bool {
        let inside = |region: RegionId| {
            self.region(region).items.iter().any(|&item| self.provides(item, name))
        };
        match item {
            Item::Task(task) => self.files.writes(task, name),
            Item::Choice(c) => self.choices[c as usize]
                .branches
                .iter()
                .any(|b| b.pass.iter().any(|(to, _)| to == name) || inside(b.region)),
            Item::Loop(l) => {
                let spec = &self.loops[l as usize];
                inside(spec.body)
            }
        }
    }

    /// Adds the dependencies that names of files imply, after checking that their readers and
    /// writers are allowed.
    pub(super) fn connect_files(&mut self) -> Result<(), ControlError> {
        let mut writers: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for task in 0..self.tasks() as u32 {
            for name in self.files.written_by(task) {
                writers.entry(name.clone()).or_default().push(task);
            }
        }
        for (name, tasks) in &writers {
            for (i, &one) in tasks.iter().enumerate() {
                for &other in &tasks[i + 1..] {
                    if !self.exclude_each_other(one, other) {
                        let message = format!(
                            "'{}' and '{}' both write '{name}'; only tasks of different branches of one choice may",
                            self.task_name(one),
                            self.task_name(other)
                        );
                        return Err(ControlError {
                            item: Some(Item::Task(other)),
                            edge: None,
                            message,
                        });
                    }
                }
            }
        }
        for l in 0..self.loops.len() {
            self.check_carry(l as u32)?;
        }
        for c in 0..self.choices.len() as u32 {
            self.connect_passed(c)?;
        }
        for task in 0..self.tasks() as u32 {
            for name in self.files.read_by(task).to_vec() {
                self.connect_reader(task, &name, writers.get(&name).map_or(&[], Vec::as_slice))?;
            }
        }
        self.check_read_outputs()
    }

    /// Whether two tasks are in different branches of one choice.
    fn exclude_each_other(&self, one: u32, other: u32) -> bool {
        let branches = |task: u32| {
            let mut found = Vec::new();
            let mut region = self.region_of(Item::Task(task));
            while let Some(block) = self.block_of(region) {
                found.push((block, region));
                region = self.region_of(block);
            }
            found
        };
        let others = branches(other);
        branches(one).iter().any(|(block, region)| {
            matches!(block, Item::Choice(_))
                && others.iter().any(|(b, r)| b == block && r != region)
        })
    }

    fn connect_reader(
        &mut self,
        task: u32,
        name: &str,
        writers: &[u32],
    ) -> Result<(), ControlError> {
        let error =
            |message: String| ControlError { item: Some(Item::Task(task)), edge: None, message };
        let reader = self.task_name(task).to_string();
        if writers.contains(&task) {
            let message = format!("'{reader}' reads '{name}', which it writes itself");
            return Err(error(message));
        }
        for &writer in writers {
            // What another branch of the same choice writes is none of its business.
            if self.exclude_each_other(task, writer) {
                continue;
            }
            if self.is_hidden_in_again(writer, task) {
                let message = format!(
                    "'{reader}' reads '{name}', which '{}' writes between the passes of a loop: only tasks in the loop can read it",
                    self.task_name(writer)
                );
                return Err(error(message));
            }
            self.lift(Item::Task(writer), Item::Task(task)).map_err(error)?;
        }
        // Blocks that make the name mean something else for this reader.
        for c in 0..self.choices.len() as u32 {
            let item = Item::Choice(c);
            let passes = self.choices[c as usize]
                .branches
                .iter()
                .any(|b| b.pass.iter().any(|(to, _)| to == name));
            if !self.provides(item, name) || self.contains(item, task) {
                continue;
            }
            if self.is_alternative(item, task) {
                continue;
            }
            if let Some(branch) = self.branch_without(c, name) {
                let message = format!(
                    "'{reader}' reads '{name}' behind choice '{}', whose branch '{branch}' neither writes nor passes it",
                    self.choices[c as usize].name
                );
                return Err(error(message));
            }
            if passes {
                self.lift(item, Item::Task(task)).map_err(error)?;
            }
        }
        Ok(())
    }

    /// Whether an item is in another branch of a choice around a task.
    fn is_alternative(&self, item: Item, task: u32) -> bool {
        let branches = |mut region: RegionId| {
            let mut found = Vec::new();
            while let Some(block) = self.block_of(region) {
                found.push((block, region));
                region = self.region_of(block);
            }
            found
        };
        let mine = branches(self.region_of(Item::Task(task)));
        branches(self.region_of(item)).iter().any(|(block, region)| {
            matches!(block, Item::Choice(_)) && mine.iter().any(|(b, r)| b == block && r != region)
        })
    }

    /// Whether a task is inside a block.
    fn contains(&self, block: Item, task: u32) -> bool {
        let mut region = self.region_of(Item::Task(task));
        while let Some(around) = self.block_of(region) {
            if around == block {
                return true;
            }
            region = self.region_of(around);
        }
        false
    }

    /// The first branch of a choice that neither writes nor passes a name.
    fn branch_without(&self, choice: u32, name: &str) -> Option<&str> {
        let branches = &self.choices[choice as usize].branches;
        let lacks = |b: &&super::Branch| {
            let passed = b.pass.iter().any(|(to, _)| to == name);
            let items = &self.region(b.region).items;
            !passed && !items.iter().any(|&item| self.always_provides(item, name))
        };
        branches.iter().find(lacks).map(|b| b.name.as_str())
    }

    /// Whether an item provides a name whatever is decided inside it.
    fn always_provides(&self, item: Item, name: &str) -> bool {
        match item {
            Item::Choice(c) => self.provides(item, name) && self.branch_without(c, name).is_none(),
            Item::Loop(l) => {
                let body = self.region(self.loops[l as usize].body);
                body.items.iter().any(|&item| self.always_provides(item, name))
            }
            Item::Task(_) => self.provides(item, name),
        }
    }

    /// Whether a writer is in `again` of a loop that a reader is not in.
    fn is_hidden_in_again(&self, writer: u32, reader: u32) -> bool {
        let mut region = self.region_of(Item::Task(writer));
        while let Some(block) = self.block_of(region) {
            if let Item::Loop(l) = block
                && region == self.loops[l as usize].again
                && !self.contains(block, reader)
            {
                return true;
            }
            region = self.region_of(block);
        }
        false
    }

    /// A loop carries files that its passes write.
    fn check_carry(&mut self, number: u32) -> Result<(), ControlError> {
        let spec = self.loops[number as usize].clone();
        let item = Item::Loop(number);
        for (from, to) in &spec.carry {
            let error = |message: String| ControlError { item: Some(item), edge: None, message };
            let writes = |region: RegionId| {
                self.region(region).items.iter().any(|&i| self.provides(i, from))
            };
            if !writes(spec.body) && !writes(spec.again) {
                let message =
                    format!("loop '{}' carries '{from}', which nothing in it writes", spec.name);
                return Err(error(message));
            }
            let known = self.files.bytes.contains_key(to);
            if !known {
                let message = format!(
                    "loop '{}' carries '{from}' as '{to}', which no task writes and [files] does not list",
                    spec.name
                );
                return Err(error(message));
            }
        }
        let mut seen = BTreeSet::new();
        if let Some((_, twice)) = spec.carry.iter().find(|(_, to)| !seen.insert(to)) {
            let message = format!("loop '{}' carries two files as '{twice}'", spec.name);
            return Err(ControlError { item: Some(item), edge: None, message });
        }
        Ok(())
    }

    /// A name that a branch passes must exist, and be there before the choice ends.
    fn connect_passed(&mut self, number: u32) -> Result<(), ControlError> {
        let choice = self.choices[number as usize].clone();
        let item = Item::Choice(number);
        for branch in &choice.branches {
            for (to, from) in &branch.pass {
                let error =
                    |message: String| ControlError { item: Some(item), edge: None, message };
                if to == from || !self.files.bytes.contains_key(from) {
                    let message = format!(
                        "branch '{}' of choice '{}' passes '{from}' as '{to}': {}",
                        branch.name,
                        choice.name,
                        if to == from { "these are the same" } else { "there is no such file" }
                    );
                    return Err(error(message));
                }
                if !self.files.bytes.contains_key(to) {
                    let bytes = self.files.bytes(from);
                    self.files.declare(to, bytes);
                }
                for task in 0..self.tasks() as u32 {
                    let outside = self.files.writes(task, from) && !self.contains(item, task);
                    if outside && !self.is_alternative(item, task) {
                        self.lift(Item::Task(task), item).map_err(error)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The file a decision is read from is an output of its decider.
    fn check_read_outputs(&self) -> Result<(), ControlError> {
        let choices = self.choices.iter().enumerate();
        let choices = choices.map(|(c, x)| (Item::Choice(c as u32), &x.name, x.by, &x.reads));
        let loops = self.loops.iter().enumerate();
        let loops = loops.map(|(l, x)| (Item::Loop(l as u32), &x.name, x.by, &x.reads));
        for (item, name, by, reads) in choices.chain(loops) {
            let Some(reads) = reads else { continue };
            let error =
                |message: String| Err(ControlError { item: Some(item), edge: None, message });
            let Some(by) = by else {
                return error(format!(
                    "'{name}' says what is read but not of which task: add by = \"TASK\""
                ));
            };
            if let super::Reads::Output { file, at } = reads {
                if !self.files.writes(by, file) {
                    let decider = self.task_name(by);
                    return error(format!(
                        "'{name}' reads '{file}', which is no output of its decider '{decider}'"
                    ));
                }
                if !at.is_empty() && !at.starts_with('/') {
                    return error(format!(
                        "'{name}' reads at '{at}', which is no JSON pointer: it begins with /"
                    ));
                }
            }
        }
        Ok(())
    }
}
