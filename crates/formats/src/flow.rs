//! From file names to files with one producer.
//!
//! Pegasus and WfCommons documents list the *names* that a task reads and writes, and separately the
//! dependencies between tasks. A name is not a file: the classic Montage workflows let hundreds of tasks write
//! `fit.txt`. The rules by which names become files:
//!
//! 1. **Declared dependencies are the truth.** They all become edges; a name never adds an edge
//!    between tasks that the document declares otherwise.
//! 2. A name that no task writes is an input of the workflow. A name with one writer is one file.
//!    A name with several writers is one file per writer, named `name#writer` (these stay the
//!    names when the workflow is written again).
//! 3. A task reads the instances written by its declared parents; if no parent writes the name,
//!    those of the nearest ancestors that do (the search up stops at a writer).
//! 4. If no ancestor writes the name, the task reads an instance from outside the workflow, a
//!    file without producer named `name#input`, and the reader of the document warns.
//! 5. A task without any declared dependency, neither parent nor child, is not described by
//!    them: here the flow of names makes the dependencies, and it reads all instances. A
//!    document that declares none is the case where this holds for every task.
//! 6. A task that reads and writes one name (`inout`) reads by rule 3 the files left by its ancestors,
//!    or by rule 5 those of tasks that only write it; if there is none it reads
//!    its own output, which makes no dependency. So an update in place never makes a circle.
//!
//! Sizes: that given by the writer, else the largest given by a reader, else 0.
//!
//! Rules 3 and 4 look for parents among sorted lists; only where no parent writes the name is
//! the declared graph searched, in total at most [`SEARCH_BUDGET`] steps.

use crate::error::{FormatError, Result};
use slackline_model::names::UniqueNames;
use slackline_model::{FileId, TaskId, WorkflowBuilder};

/// Most steps along declared dependencies that the search for ancestors takes.
const SEARCH_BUDGET: u64 = 2_000_000_000;

/// Most (task, file) pairs that come out: names read and written by all tasks multiply.
const MAX_READS: usize = 100_000_000;

/// Kind of use of a name by a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Read,
    Write,
    Update,
}

/// Uses of names and declared dependencies, collected while a document is read.
#[derive(Default)]
pub(crate) struct Flow {
    /// Run times and sizes below zero that a reader counted as 0.
    pub(crate) negative_times: usize,
    pub(crate) negative_sizes: usize,
    names: UniqueNames,
    /// Largest size given by a reader or a list of files; negative when none was given.
    read_bytes: Vec<f64>,
    /// (name, task).
    reads: Vec<(u32, u32)>,
    /// (name, task, bytes or negative).
    writes: Vec<(u32, u32, f64)>,
    /// (child, parent).
    declared: Vec<(u32, u32)>,
}

impl Flow {
    /// Position of a name, new or known.
    pub(crate) fn name(&mut self, name: &str) -> Result<u32> {
        if !self.names.names().has_room(name.len()) || self.names.names().len() >= u32::MAX as usize
        {
            return Err(FormatError::new("too many or too long file names"));
        }
        let position = match self.names.insert(name) {
            Ok(new) => {
                self.read_bytes.push(-1.0);
                new
            }
            Err(known) => known,
        };
        Ok(position as u32)
    }

    /// Says the size of a name without using it.
    pub(crate) fn size(&mut self, name: u32, bytes: f64) {
        let known = &mut self.read_bytes[name as usize];
        *known = known.max(bytes);
    }

    /// Records the use of a name by a task; the size must be finite and not negative if given.
    pub(crate) fn uses(&mut self, task: TaskId, name: u32, how: Use, bytes: Option<f64>) {
        if how != Use::Read {
            self.writes.push((name, task.0, bytes.unwrap_or(-1.0)));
        }
        if how != Use::Write {
            self.reads.push((name, task.0));
            if let (Use::Read, Some(bytes)) = (how, bytes) {
                self.size(name, bytes);
            }
        }
    }

    /// Declares that `child` runs after `parent`.
    pub(crate) fn declare(&mut self, parent: TaskId, child: TaskId) {
        self.declared.push((child.0, parent.0));
    }

    /// Adds files and dependencies to the builder that holds the tasks; gives warnings.
    pub(crate) fn finish(mut self, builder: &mut WorkflowBuilder) -> Result<Vec<String>> {
        sort_dedup(&mut self.declared);
        sort_dedup(&mut self.reads);
        // Stable: of one task's several sizes for a name the largest, which is known, stays.
        self.writes.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(b.2.total_cmp(&a.2)));
        self.writes.dedup_by_key(|w| (w.0, w.1));
        for &(child, parent) in &self.declared {
            builder.add_control(TaskId(parent), TaskId(child))?;
        }
        let instances = self.add_files(builder)?;
        let graph = Declared::new(builder.len(), &self.declared);
        Resolver { flow: &self, graph, builder, instances, outside: Vec::new(), reads: 0 }.run()
    }

    /// One file per name and writer, in the order of the names; gives the first file of each
    /// name (its instances follow each other in the order of the writers).
    fn add_files(&self, builder: &mut WorkflowBuilder) -> Result<Vec<FileId>> {
        let mut first = Vec::with_capacity(self.read_bytes.len());
        let mut writes = self.writes.as_slice();
        for (index, name) in self.names.names().iter().enumerate() {
            let count = writes.iter().take_while(|w| w.0 as usize == index).count();
            let (own, rest) = writes.split_at(count);
            writes = rest;
            let read_bytes = self.read_bytes[index].max(0.0);
            if own.is_empty() {
                first.push(builder.add_file(name, read_bytes)?);
            }
            for (i, &(_, task, bytes)) in own.iter().enumerate() {
                let bytes = if bytes < 0.0 { read_bytes } else { bytes };
                let file = if own.len() == 1 {
                    builder.add_file(name, bytes)?
                } else {
                    let wanted = format!("{name}#{}", builder.task_name(TaskId(task)));
                    let free = self.free_name(builder, wanted);
                    builder.add_file(&free, bytes)?
                };
                builder.writes(TaskId(task), file)?;
                if i == 0 {
                    first.push(file);
                }
            }
        }
        Ok(first)
    }

    /// A name that neither the document nor the builder uses yet.
    fn free_name(&self, builder: &WorkflowBuilder, mut name: String) -> String {
        while self.names.position(&name).is_some() || builder.file_id(&name).is_some() {
            name.push('#');
        }
        name
    }

    /// The writers of a name: their range in `writes`.
    fn writers(&self, name: u32) -> std::ops::Range<usize> {
        let start = self.writes.partition_point(|w| w.0 < name);
        start..start + self.writes[start..].partition_point(|w| w.0 == name)
    }

    fn reads(&self, name: u32, task: u32) -> bool {
        self.reads.binary_search(&(name, task)).is_ok()
    }
}

fn sort_dedup(pairs: &mut Vec<(u32, u32)>) {
    pairs.sort_unstable();
    pairs.dedup();
}

/// The declared dependencies as a graph to search.
struct Declared {
    parent_start: Vec<u32>,
    parents: Vec<u32>,
    child_start: Vec<u32>,
    children: Vec<u32>,
    /// Position of every task in a topological order; computed when first needed. Empty when
    /// the dependencies form a circle, which building the workflow reports.
    position: Option<Vec<u32>>,
    /// Search marks: the number of the search that saw a task last.
    seen: Vec<u32>,
    search: u32,
    steps: u64,
    stack: Vec<u32>,
}

impl Declared {
    /// From (child, parent) pairs sorted by child.
    fn new(tasks: usize, pairs: &[(u32, u32)]) -> Declared {
        let starts = |ends: &mut dyn Iterator<Item = u32>| {
            let mut start = vec![0u32; tasks + 1];
            ends.for_each(|t| start[t as usize + 1] += 1);
            for i in 0..tasks {
                start[i + 1] += start[i];
            }
            start
        };
        let child_start = starts(&mut pairs.iter().map(|p| p.1));
        let mut next = child_start.clone();
        let mut children = vec![0; pairs.len()];
        for &(child, parent) in pairs {
            children[next[parent as usize] as usize] = child;
            next[parent as usize] += 1;
        }
        Declared {
            parent_start: starts(&mut pairs.iter().map(|p| p.0)),
            parents: pairs.iter().map(|p| p.1).collect(),
            child_start,
            children,
            position: None,
            seen: Vec::new(),
            search: 0,
            steps: 0,
            stack: Vec::new(),
        }
    }

    fn parents(&self, task: u32) -> &[u32] {
        let at = |t: u32| self.parent_start[t as usize] as usize;
        &self.parents[at(task)..at(task + 1)]
    }

    fn children(&self, task: u32) -> &[u32] {
        let at = |t: u32| self.child_start[t as usize] as usize;
        &self.children[at(task)..at(task + 1)]
    }

    /// Neither parent nor child is declared.
    fn alone(&self, task: u32) -> bool {
        self.parents(task).is_empty() && self.children(task).is_empty()
    }

    /// Computes positions once; whether the graph is free of circles.
    fn order(&mut self) -> bool {
        if self.position.is_none() {
            let tasks = self.parent_start.len() - 1;
            let mut missing: Vec<u32> =
                (0..tasks as u32).map(|t| self.parents(t).len() as u32).collect();
            let mut order: Vec<u32> =
                (0..tasks as u32).filter(|&t| missing[t as usize] == 0).collect();
            let mut position = vec![0; tasks];
            let mut done = 0;
            while done < order.len() {
                let task = order[done];
                position[task as usize] = done as u32;
                done += 1;
                for &child in self.children(task) {
                    missing[child as usize] -= 1;
                    if missing[child as usize] == 0 {
                        order.push(child);
                    }
                }
            }
            self.position = Some(if done == tasks { position } else { Vec::new() });
            self.seen = vec![0; tasks];
        }
        self.position.as_ref().is_some_and(|p| !p.is_empty())
    }

    fn position(&self, task: u32) -> u32 {
        self.position.as_ref().map_or(0, |p| p[task as usize])
    }

    fn spend(&mut self, steps: usize) -> Result<()> {
        self.steps += steps as u64 + 1;
        if self.steps > SEARCH_BUDGET {
            return Err(FormatError::new(
                "too many files are read without a declared dependency on their writer",
            )
            .with_help("declare the task that writes a file as a parent of those that read it"));
        }
        Ok(())
    }

    /// Marks all descendants of `from` up to a position; [`saw`](Declared::saw) reads the marks.
    fn search_down(&mut self, from: u32, last: u32) -> Result<()> {
        self.search += 1;
        self.stack.push(from);
        while let Some(task) = self.stack.pop() {
            self.spend(self.children(task).len())?;
            for i in self.child_start[task as usize]..self.child_start[task as usize + 1] {
                let child = self.children[i as usize];
                if self.seen[child as usize] != self.search && self.position(child) <= last {
                    self.seen[child as usize] = self.search;
                    self.stack.push(child);
                }
            }
        }
        Ok(())
    }

    fn saw(&self, task: u32) -> bool {
        self.seen[task as usize] == self.search
    }

    /// The nearest ancestors of `from` for which `is_goal` holds, none before a position;
    /// sorted.
    fn search_up(
        &mut self,
        from: u32,
        first: u32,
        is_goal: impl Fn(u32) -> bool,
    ) -> Result<Vec<u32>> {
        self.search += 1;
        let mut goals = Vec::new();
        self.stack.push(from);
        while let Some(task) = self.stack.pop() {
            self.spend(self.parents(task).len())?;
            for i in self.parent_start[task as usize]..self.parent_start[task as usize + 1] {
                let parent = self.parents[i as usize];
                if self.seen[parent as usize] == self.search || self.position(parent) < first {
                    continue;
                }
                self.seen[parent as usize] = self.search;
                if is_goal(parent) { goals.push(parent) } else { self.stack.push(parent) }
            }
        }
        goals.sort_unstable();
        Ok(goals)
    }
}

/// Gives every use of a name its files.
struct Resolver<'a> {
    flow: &'a Flow,
    graph: Declared,
    builder: &'a mut WorkflowBuilder,
    /// First file of every name.
    instances: Vec<FileId>,
    /// (name, task): reads an instance from outside.
    outside: Vec<(u32, u32)>,
    reads: usize,
}

impl Resolver<'_> {
    fn run(mut self) -> Result<Vec<String>> {
        // (writer, name, reader): one writer, which is no parent of the reader.
        let mut distant: Vec<(u32, u32, u32)> = Vec::new();
        let flow = self.flow;
        for &(name, task) in &flow.reads {
            let range = flow.writers(name);
            let writers = &flow.writes[range];
            let itself = writers.binary_search_by_key(&task, |w| w.1).ok();
            if writers.len() == usize::from(itself.is_some()) {
                self.read(name, 0, task)?; // no task writes it, or only this one
            } else if self.graph.alone(task) {
                self.read_all(name, task, itself)?;
            } else if !self.read_from_parents(name, task)? {
                match writers {
                    [writer] => distant.push((writer.1, name, task)),
                    _ => self.read_from_ancestors(name, task, itself)?,
                }
            }
        }
        self.read_from_one_writer(distant)?;
        self.read_outside()
    }

    /// The task reads the instance of that number.
    fn read(&mut self, name: u32, instance: usize, task: u32) -> Result<()> {
        self.reads += 1;
        if self.reads > MAX_READS {
            return Err(FormatError::new(format!(
                "the tasks read more than {MAX_READS} files: names written and read by many tasks multiply"
            )));
        }
        let file = self.instances[name as usize].index() + instance;
        self.builder.reads(TaskId(task), FileId::new(file));
        Ok(())
    }

    /// Rule 5, and its side of rule 6.
    fn read_all(&mut self, name: u32, task: u32, itself: Option<usize>) -> Result<()> {
        let flow = self.flow;
        let mut found = false;
        for (i, &(_, writer, _)) in flow.writes[flow.writers(name)].iter().enumerate() {
            let left_for_updates = || !flow.reads(name, writer);
            if writer != task && (itself.is_none() || left_for_updates()) {
                self.read(name, i, task)?;
                found = true;
            }
        }
        match itself {
            Some(own) if !found => self.read(name, own, task),
            _ => Ok(()),
        }
    }

    /// Rule 3 for parents; whether there was one that writes the name.
    fn read_from_parents(&mut self, name: u32, task: u32) -> Result<bool> {
        let flow = self.flow;
        let writers = &flow.writes[flow.writers(name)];
        let parents = self.graph.parents(task);
        let at = |task: u32| writers.binary_search_by_key(&task, |w| w.1).ok();
        let instances: Vec<usize> = if parents.len() <= writers.len() {
            parents.iter().filter_map(|&p| at(p)).collect()
        } else {
            let is_parent = |i: &usize| parents.binary_search(&writers[*i].1).is_ok();
            (0..writers.len()).filter(is_parent).collect()
        };
        for &i in &instances {
            self.read(name, i, task)?;
        }
        Ok(!instances.is_empty())
    }

    /// Rules 3, 4 and 6 for a name of several writers, none a parent.
    fn read_from_ancestors(&mut self, name: u32, task: u32, itself: Option<usize>) -> Result<()> {
        let flow = self.flow;
        let writers = &flow.writes[flow.writers(name)];
        let at = |task: u32| writers.binary_search_by_key(&task, |w| w.1).ok();
        let mut nearest = Vec::new();
        if self.graph.order() {
            let first = writers.iter().map(|w| self.graph.position(w.1)).min().unwrap_or(0);
            nearest = self.graph.search_up(task, first, |t| at(t).is_some())?;
        }
        for &writer in &nearest {
            if let Some(i) = at(writer) {
                self.read(name, i, task)?;
            }
        }
        match itself {
            _ if !nearest.is_empty() => Ok(()),
            Some(own) => self.read(name, own, task),
            None => {
                self.outside.push((name, task));
                Ok(())
            }
        }
    }

    /// Rules 3 and 4 for names of one writer: one search down serves all its readers.
    fn read_from_one_writer(&mut self, mut distant: Vec<(u32, u32, u32)>) -> Result<()> {
        distant.sort_unstable();
        for queries in distant.chunk_by(|a, b| a.0 == b.0) {
            let ordered = self.graph.order();
            if ordered {
                let last = queries.iter().map(|q| self.graph.position(q.2)).max().unwrap_or(0);
                self.graph.search_down(queries[0].0, last)?;
            }
            for &(_, name, task) in queries {
                if ordered && self.graph.saw(task) {
                    self.read(name, 0, task)?;
                } else {
                    self.outside.push((name, task));
                }
            }
        }
        Ok(())
    }

    /// Rule 4: one file per name for all tasks that read it from outside.
    fn read_outside(mut self) -> Result<Vec<String>> {
        let flow = self.flow;
        let mut warnings = Vec::new();
        self.outside.sort_unstable();
        if let Some(&(name, task)) = self.outside.first() {
            let name = flow.names.names().get(name as usize);
            let task = self.builder.task_name(TaskId(task));
            let more = match self.outside.len() - 1 {
                0 => String::new(),
                more => format!(" (and {more} more of the kind)"),
            };
            warnings.push(format!(
                "'{task}' reads '{name}' but does not depend on the task that writes it: \
                 taken as an input from outside{more}"
            ));
        }
        for readers in self.outside.chunk_by(|a, b| a.0 == b.0) {
            let name = readers[0].0;
            let wanted = format!("{}#input", flow.names.names().get(name as usize));
            let free = flow.free_name(self.builder, wanted);
            let file = self.builder.add_file(&free, flow.read_bytes[name as usize].max(0.0))?;
            for &(_, task) in readers {
                self.builder.reads(TaskId(task), file);
            }
        }
        Ok(warnings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_model::{Task, Workflow};

    /// Uses as `task+name` (writes), `task-name` (reads), `task*name` (updates); dependencies as
    /// `parent>child`. Tasks are single letters.
    fn workflow(tasks: &str, script: &str) -> (Workflow, Vec<String>) {
        let mut builder = WorkflowBuilder::new("w");
        for name in tasks.split("").filter(|n| !n.is_empty()) {
            builder.add_task(Task::new(name, 1.0)).unwrap();
        }
        let mut flow = Flow::default();
        for part in script.split_whitespace() {
            let task = |name: &str| builder.task_id(name).unwrap();
            let (who, rest) = part.split_at(1);
            let (what, whom) = rest.split_at(1);
            let how = match what {
                "+" => Use::Write,
                "-" => Use::Read,
                "*" => Use::Update,
                _ => {
                    flow.declare(task(who), task(whom));
                    continue;
                }
            };
            let name = flow.name(whom).unwrap();
            flow.uses(task(who), name, how, Some(8.0));
        }
        let warnings = flow.finish(&mut builder).unwrap();
        (builder.build().unwrap(), warnings)
    }

    fn edges(w: &Workflow) -> String {
        let name = |t| w.task_name(t).to_string();
        let edge = |e| {
            let (from, to) = w.edge_ends(e);
            format!("{}{}{}", name(from), name(to), w.edge_bytes(e))
        };
        w.edges().map(edge).collect::<Vec<_>>().join(" ")
    }

    fn inputs(w: &Workflow, task: &str) -> String {
        let task = w.find_task(task).unwrap();
        w.inputs(task).map(|f| w.file_name(f)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn one_writer_one_file() {
        let (w, warnings) = workflow("abc", "a+x b-x c-x b-i a>b a>c");
        assert_eq!(edges(&w), "ab8 ac8");
        assert_eq!((w.file_count(), inputs(&w, "b")), (2, "x i".to_string()));
        assert!(warnings.is_empty());
    }

    #[test]
    fn a_shared_name_is_a_file_per_writer() {
        // Montage: a and b write the fit files that d gathers; c writes one that no task reads.
        let (w, _) = workflow("abcd", "a+f b+f c+f d-f a>d b>d");
        assert_eq!(edges(&w), "ad8 bd8");
        assert_eq!(w.file_count(), 3);
        assert_eq!(inputs(&w, "d"), "f#a f#b");
    }

    #[test]
    fn the_nearest_ancestors_serve() {
        // a writes f, b rewrites it, d reads it through c.
        let (w, _) = workflow("abcd", "a+f b*f d-f a>b b>c c>d");
        assert_eq!(inputs(&w, "b"), "f#a");
        assert_eq!(inputs(&w, "d"), "f#b");
        assert_eq!(edges(&w), "ab8 bc0 bd8 cd0");
        // One writer, two steps away.
        let (w, warnings) = workflow("abc", "a+f c-f a>b b>c");
        assert_eq!(edges(&w), "ab0 ac8 bc0");
        assert!(warnings.is_empty());
    }

    #[test]
    fn a_name_never_contradicts_declared_dependencies() {
        // b runs before a, so it cannot read what a writes.
        let (w, warnings) = workflow("abc", "a+f b-f c-f b>a b>c");
        assert_eq!(edges(&w), "ba0 bc0");
        assert_eq!(inputs(&w, "b"), "f#input");
        assert_eq!(inputs(&w, "c"), "f#input");
        assert_eq!(w.file_count(), 2);
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].contains("'b' reads 'f'"), "{warnings:?}");
        // The same with two writers.
        let (w, _) = workflow("abcd", "a+f d+f b-f b>a b>d");
        assert_eq!(inputs(&w, "b"), "f#input");
    }

    #[test]
    fn without_declared_dependencies_names_make_them() {
        let (w, _) = workflow("abcd", "a+x b-x b+y c-y d+x c-x");
        assert_eq!(edges(&w), "ab8 ac8 bc8 db8 dc8");
        // c is declared, d is not: only d depends by name.
        let (w, _) = workflow("abcd", "a+x b-x c-x d-x a>b b>c");
        assert_eq!(edges(&w), "ab8 ac8 ad8 bc0");
    }

    #[test]
    fn updates_in_place_make_no_circles() {
        let (w, _) = workflow("a", "a*x");
        assert_eq!((w.file_count(), w.edge_count()), (1, 0));
        assert_eq!(inputs(&w, "a"), "x");
        // Two updaters without order, one writer: both read the writer's.
        let (w, _) = workflow("abc", "a+x b*x c*x");
        assert_eq!(edges(&w), "ab8 ac8");
        let (w, _) = workflow("ab", "a*x b*x");
        assert_eq!(edges(&w), "");
        let (w, _) = workflow("ab", "a*x b*x a>b");
        assert_eq!(edges(&w), "ab8");
        assert_eq!((inputs(&w, "a"), inputs(&w, "b")), ("x#a".into(), "x#a".into()));
    }

    #[test]
    fn a_declared_circle_is_left_to_the_builder() {
        let mut builder = WorkflowBuilder::new("w");
        let mut flow = Flow::default();
        let task = |b: &mut WorkflowBuilder, n: &str| b.add_task(Task::new(n, 1.0)).unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|n| task(&mut builder, n));
        flow.declare(a, b);
        flow.declare(b, a);
        flow.declare(b, c);
        let f = flow.name("f").unwrap();
        flow.uses(a, f, Use::Write, None);
        flow.uses(c, f, Use::Read, None);
        flow.finish(&mut builder).unwrap();
        assert!(builder.build().unwrap_err().to_string().contains("circle"));
    }

    #[test]
    fn made_up_names_are_free() {
        let mut builder = WorkflowBuilder::new("w");
        let mut flow = Flow::default();
        let [a, b] = ["a", "b"].map(|n| builder.add_task(Task::new(n, 1.0)).unwrap());
        for (task, name) in [(a, "f"), (b, "f"), (a, "f#b")] {
            let name = flow.name(name).unwrap();
            flow.uses(task, name, Use::Write, None);
        }
        flow.finish(&mut builder).unwrap();
        let w = builder.build().unwrap();
        let names: Vec<_> = w.files().map(|f| w.file_name(f).to_string()).collect();
        assert_eq!(names, ["f#a", "f#b#", "f#b"]);
    }
}
