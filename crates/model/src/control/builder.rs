//! Building and checking the control structure of a workflow.

use super::files::{FileUse, Files};
use super::law::{Iterations, chances_problem};
use super::{
    Branch, Choice, Control, Item, Loop, Reads, Region, RegionId, RegionKind, StatedEdge, Value,
};
use crate::workflow::Workflow;
use std::collections::{BTreeSet, HashMap};
use std::fmt;

/// An error in a control structure, with the item it concerns.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlError {
    /// The item: its kind and number; none where several are meant.
    pub item: Option<Item>,
    /// The stated dependency.
    pub edge: Option<usize>,
    /// The cause, with the names of the items.
    pub message: String,
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ControlError {}

impl ControlError {
    fn of(item: Item, message: impl Into<String>) -> ControlError {
        ControlError { item: Some(item), edge: None, message: message.into() }
    }

    fn of_edge(edge: usize, message: impl Into<String>) -> ControlError {
        ControlError { item: None, edge: Some(edge), message: message.into() }
    }
}

/// A branch as the file states it.
#[derive(Clone, Debug, Default)]
pub struct BranchSpec {
    /// Its name.
    pub name: String,
    /// Its probability, where stated.
    pub probability: Option<f64>,
    /// The values that lead here.
    pub when: Vec<Value>,
    /// Whether every other value leads here.
    pub otherwise: bool,
    /// Names and the files they mean here.
    pub pass: Vec<(String, String)>,
}

/// A choice as the file states it.
#[derive(Clone, Debug, Default)]
pub struct ChoiceSpec {
    /// Its name.
    pub name: String,
    /// Name of the region that contains it; none for the workflow itself.
    pub region: Option<String>,
    /// The deciding task.
    pub by: Option<String>,
    /// The value of that task that decides.
    pub reads: Option<Reads>,
    /// The branches.
    pub branches: Vec<BranchSpec>,
}

/// A loop as the file states it.
#[derive(Clone, Debug, Default)]
pub struct LoopSpec {
    /// Its name.
    pub name: String,
    /// Name of the region that contains it; none for the workflow itself.
    pub region: Option<String>,
    /// The deciding task.
    pub by: Option<String>,
    /// The value of that task that decides.
    pub reads: Option<Reads>,
    /// Values for another pass.
    pub again_when: Vec<Value>,
    /// Values for the end.
    pub stop_when: Vec<Value>,
    /// Meaning of every other value: another pass (true), the end (false) or an error (none).
    pub otherwise: Option<bool>,
    /// The number of passes.
    pub iterations: Option<Iterations>,
    /// Pairs of names: written in a pass under the first, read in the next under the second.
    pub carry: Vec<(String, String)>,
}

/// Collects tasks, choices, loops and dependencies; [`build`](Self::build) checks them.
#[derive(Clone, Debug, Default)]
pub struct ControlBuilder {
    tasks: Vec<(String, Option<String>)>,
    choices: Vec<ChoiceSpec>,
    loops: Vec<LoopSpec>,
    /// By name; resolved when all are known.
    edges: Vec<(String, String, Option<f64>)>,
    files: Files,
}

impl ControlBuilder {
    /// Adds a task and the name of the region that contains it.
    pub fn task(&mut self, name: &str, region: Option<&str>) {
        self.tasks.push((name.to_string(), region.map(str::to_string)));
    }

    /// Adds a choice.
    pub fn choice(&mut self, choice: ChoiceSpec) {
        self.choices.push(choice);
    }

    /// Adds a loop.
    pub fn repeat(&mut self, spec: LoopSpec) {
        self.loops.push(spec);
    }

    /// Adds a dependency between tasks, choices and loops by name.
    pub fn edge(&mut self, from: &str, to: &str, bytes: Option<f64>) {
        self.edges.push((from.to_string(), to.to_string(), bytes));
    }

    /// Adds a file that tasks read or write, and its size.
    pub fn file(&mut self, name: &str, bytes: f64) {
        self.files.declare(name, bytes);
    }

    /// A task, by its number, reads or writes a file.
    pub fn uses(&mut self, task: u32, name: &str, how: FileUse) {
        self.files.uses(task, name, how);
    }

    /// Checks everything; the error names the item and the cause.
    pub fn build(self) -> Result<Control, ControlError> {
        let names = self.names()?;
        let (regions, of_name) = self.regions(&names)?;
        let region = |item: Item, name: &Option<String>| match name {
            None => Ok(RegionId::WORKFLOW),
            Some(name) => of_name.get(name).copied().ok_or_else(|| {
                let own = self.name(item);
                ControlError::of(
                    item,
                    format!("'{own}' is in '{name}': there is no branch and no loop of that name"),
                )
            }),
        };
        let mut control = Control {
            task_names: self.tasks.iter().map(|(name, _)| name.clone()).collect(),
            task_region: Vec::new(),
            choices: Vec::new(),
            loops: Vec::new(),
            regions,
            edges: Vec::new(),
            files: self.files.clone(),
        };
        for (t, (_, name)) in self.tasks.iter().enumerate() {
            control.task_region.push(region(Item::Task(t as u32), name)?);
        }
        for (c, spec) in self.choices.iter().enumerate() {
            let item = Item::Choice(c as u32);
            let choice = self.read_choice(c, region(item, &spec.region)?, &names, &of_name)?;
            control.choices.push(choice);
        }
        for (l, spec) in self.loops.iter().enumerate() {
            let item = Item::Loop(l as u32);
            let spec = self.read_loop(l, region(item, &spec.region)?, &names, &of_name)?;
            control.loops.push(spec);
        }
        control.check_nesting()?;
        control.fill_regions();
        for (l, spec) in control.loops.iter().enumerate() {
            if control.region(spec.body).items.is_empty() {
                let message = format!("loop '{}' has no body: nothing is in it", spec.name);
                return Err(ControlError::of(Item::Loop(l as u32), message));
            }
        }
        for (number, (from, to, bytes)) in self.edges.iter().enumerate() {
            let end = |name: &String| {
                names.get(name.as_str()).copied().ok_or_else(|| {
                    let message = format!("there is no task, choice or loop '{name}'");
                    ControlError::of_edge(number, message)
                })
            };
            let edge = StatedEdge { from: end(from)?, to: end(to)?, bytes: *bytes };
            control.lift(edge.from, edge.to).map_err(|e| ControlError::of_edge(number, e))?;
            control.edges.push(edge);
        }
        control.resolve_deciders()?;
        control.connect_files()?;
        control.finish()?;
        Ok(control)
    }

    fn name(&self, item: Item) -> &str {
        match item {
            Item::Task(t) => &self.tasks[t as usize].0,
            Item::Choice(c) => &self.choices[c as usize].name,
            Item::Loop(l) => &self.loops[l as usize].name,
        }
    }

    /// All items by name; tasks, choices and loops share one space.
    fn names(&self) -> Result<HashMap<&str, Item>, ControlError> {
        let mut names = HashMap::new();
        let tasks = (0..self.tasks.len() as u32).map(Item::Task);
        let choices = (0..self.choices.len() as u32).map(Item::Choice);
        let loops = (0..self.loops.len() as u32).map(Item::Loop);
        for item in tasks.chain(choices).chain(loops) {
            let name = self.name(item);
            if item.is_block() {
                check_name(name).map_err(|why| ControlError::of(item, why))?;
            }
            if names.insert(name, item).is_some() {
                let message = format!(
                    "the name '{name}' appears twice; tasks, choices and loops share one set of names"
                );
                return Err(ControlError::of(item, message));
            }
        }
        Ok(names)
    }

    /// All regions without their items, and what they are called.
    fn regions(
        &self,
        names: &HashMap<&str, Item>,
    ) -> Result<(Vec<Region>, HashMap<String, RegionId>), ControlError> {
        let mut regions = vec![empty(RegionKind::Workflow)];
        let mut of_name = HashMap::new();
        let mut add = |name: String, kind| {
            regions.push(empty(kind));
            of_name.insert(name, RegionId(regions.len() as u32 - 1)).is_none()
        };
        for (c, choice) in self.choices.iter().enumerate() {
            let item = Item::Choice(c as u32);
            if choice.branches.len() < 2 {
                let message = format!("choice '{}' needs two branches or more", choice.name);
                return Err(ControlError::of(item, message));
            }
            for (b, branch) in choice.branches.iter().enumerate() {
                check_name(&branch.name).map_err(|why| ControlError::of(item, why))?;
                let kind = RegionKind::Branch { choice: c as u32, branch: b as u32 };
                if !add(format!("{}.{}", choice.name, branch.name), kind) {
                    let message = format!(
                        "branch '{}' of choice '{}' appears twice",
                        branch.name, choice.name
                    );
                    return Err(ControlError::of(item, message));
                }
            }
        }
        for (l, spec) in self.loops.iter().enumerate() {
            add(spec.name.clone(), RegionKind::Body(l as u32));
            add(format!("{}.again", spec.name), RegionKind::Again(l as u32));
        }
        debug_assert!(names.len() >= self.choices.len());
        Ok((regions, of_name))
    }

    fn decider(
        &self,
        item: Item,
        by: &Option<String>,
        names: &HashMap<&str, Item>,
    ) -> Result<Option<u32>, ControlError> {
        let Some(by) = by else { return Ok(None) };
        match names.get(by.as_str()) {
            Some(Item::Task(task)) => Ok(Some(*task)),
            _ => {
                let message = format!(
                    "'{}' is decided by '{by}', which is {}",
                    self.name(item),
                    match item {
                        Item::Choice(_) => "no task of the same region",
                        _ => "no task of its body",
                    }
                );
                Err(ControlError::of(item, message))
            }
        }
    }

    fn read_choice(
        &self,
        index: usize,
        region: RegionId,
        names: &HashMap<&str, Item>,
        of_name: &HashMap<String, RegionId>,
    ) -> Result<Choice, ControlError> {
        let item = Item::Choice(index as u32);
        let spec = &self.choices[index];
        let error = |why: String| ControlError::of(item, format!("choice '{}': {why}", spec.name));
        let stated: Vec<f64> = spec.branches.iter().filter_map(|b| b.probability).collect();
        let is_known = !stated.is_empty();
        if is_known && stated.len() < spec.branches.len() {
            let why = "give the probability of every branch or of none";
            return Err(error(why.to_string()));
        }
        if let Some(why) = chances_problem(&stated).filter(|_| is_known) {
            return Err(error(why));
        }
        if spec.branches.iter().filter(|b| b.otherwise).count() > 1 {
            return Err(error("only one branch can be the one for all other values".to_string()));
        }
        let mut seen: Vec<&Value> = Vec::new();
        for value in spec.branches.iter().flat_map(|b| &b.when) {
            if seen.contains(&value) {
                return Err(error(format!("the value {value} leads to two branches")));
            }
            seen.push(value);
        }
        let alike = 1.0 / spec.branches.len() as f64;
        let branch = |b: &BranchSpec| Branch {
            name: b.name.clone(),
            probability: b.probability.unwrap_or(alike),
            when: b.when.clone(),
            otherwise: b.otherwise,
            pass: b.pass.clone(),
            region: of_name[&format!("{}.{}", spec.name, b.name)],
        };
        Ok(Choice {
            name: spec.name.clone(),
            region,
            by: self.decider(item, &spec.by, names)?,
            reads: spec.reads.clone(),
            branches: spec.branches.iter().map(branch).collect(),
            is_known,
        })
    }

    fn read_loop(
        &self,
        index: usize,
        region: RegionId,
        names: &HashMap<&str, Item>,
        of_name: &HashMap<String, RegionId>,
    ) -> Result<Loop, ControlError> {
        let item = Item::Loop(index as u32);
        let spec = &self.loops[index];
        let error = |why: String| ControlError::of(item, format!("loop '{}': {why}", spec.name));
        let Some(iterations) = &spec.iterations else {
            return Err(error("its iterations are unknown: state them".to_string()));
        };
        if let Some(why) = iterations.problem() {
            return Err(error(format!("iterations: {why}")));
        }
        if let Some(both) = spec.again_when.iter().find(|v| spec.stop_when.contains(v)) {
            return Err(error(format!("the value {both} means both another pass and the end")));
        }
        Ok(Loop {
            name: spec.name.clone(),
            region,
            by: self.decider(item, &spec.by, names)?,
            reads: spec.reads.clone(),
            again_when: spec.again_when.clone(),
            stop_when: spec.stop_when.clone(),
            otherwise: spec.otherwise,
            law: iterations.law(),
            iterations: iterations.clone(),
            carry: spec.carry.clone(),
            body: of_name[&spec.name],
            again: of_name[&format!("{}.again", spec.name)],
        })
    }
}

fn empty(kind: RegionKind) -> Region {
    Region {
        kind,
        items: Vec::new(),
        before: Vec::new(),
        order: Vec::new(),
        nearest: Vec::new(),
        last: Vec::new(),
    }
}

/// Names of blocks and branches must fit into names of regions, decisions and instances.
fn check_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(fits) {
        Ok(())
    } else {
        Err(format!(
            "'{name}': names of choices, branches and loops consist of letters, digits, _ and -"
        ))
    }
}

impl Control {
    /// A plain workflow as one region without choices and loops.
    pub fn of_plain(workflow: &Workflow) -> Result<Control, ControlError> {
        let mut builder = ControlBuilder::default();
        for task in workflow.tasks() {
            builder.task(workflow.task_name(task), None);
        }
        for edge in workflow.edges() {
            let (from, to) = workflow.edge_ends(edge);
            let bytes = (!workflow.is_control(edge)).then(|| workflow.edge_bytes(edge));
            builder.edge(workflow.task_name(from), workflow.task_name(to), bytes);
        }
        builder.build()
    }

    /// The regions around an item, the innermost first.
    fn around(&self, item: Item) -> Vec<RegionId> {
        let mut region = self.region_of(item);
        let mut path = vec![region];
        while let Some(block) = self.block_of(region) {
            region = self.region_of(block);
            path.push(region);
        }
        path
    }

    /// No block is inside itself.
    fn check_nesting(&self) -> Result<(), ControlError> {
        let choices = (0..self.choices.len() as u32).map(Item::Choice);
        let loops = (0..self.loops.len() as u32).map(Item::Loop);
        let blocks = self.choices.len() + self.loops.len();
        for item in choices.chain(loops) {
            let mut around = item;
            for _ in 0..=blocks {
                match self.block_of(self.region_of(around)) {
                    None => break,
                    Some(block) if block == item => {
                        let message = format!("'{}' is inside itself", self.item_name(item));
                        return Err(ControlError::of(item, message));
                    }
                    Some(block) => around = block,
                }
            }
        }
        Ok(())
    }

    fn fill_regions(&mut self) {
        let tasks = (0..self.task_names.len() as u32).map(Item::Task);
        let choices = (0..self.choices.len() as u32).map(Item::Choice);
        let loops = (0..self.loops.len() as u32).map(Item::Loop);
        for item in tasks.chain(choices).chain(loops) {
            let region = self.region_of(item);
            let region = &mut self.regions[region.index()];
            region.items.push(item);
            region.before.push(Vec::new());
        }
    }

    /// Adds a dependency between the items of the deepest common region that are or contain its
    /// ends.
    pub(super) fn lift(&mut self, from: Item, to: Item) -> Result<(), String> {
        let (outer_from, outer_to) = (self.around(from), self.around(to));
        let (name_from, name_to) = (self.item_name(from), self.item_name(to));
        if from == to {
            return Err(format!("'{name_from}' depends on itself"));
        }
        // Common regions are a common end of both paths.
        let mut common = 0;
        while common < outer_from.len().min(outer_to.len())
            && outer_from[outer_from.len() - 1 - common] == outer_to[outer_to.len() - 1 - common]
        {
            common += 1;
        }
        let top = |path: &[RegionId], item: Item| match path.len() - common {
            0 => Some(item),
            inner => self.block_of(path[inner - 1]),
        };
        let (Some(a), Some(b)) = (top(&outer_from, from), top(&outer_to, to)) else {
            return Err(format!("'{name_from}' and '{name_to}' have no region in common"));
        };
        if a == b {
            if a == from || a == to {
                let (inner, outer) =
                    if a == from { (name_to, name_from) } else { (name_from, name_to) };
                return Err(format!(
                    "'{inner}' and '{outer}' cannot depend on each other: one is inside the other"
                ));
            }
            return match a {
                Item::Choice(c) => Err(format!(
                    "'{name_from}' and '{name_to}' lie in branches of choice '{}', which exclude each other",
                    self.choices[c as usize].name
                )),
                // From the body to `again` and from there to the next body: implied.
                _ => Ok(()),
            };
        }
        let region = outer_from[outer_from.len() - common];
        let region = &mut self.regions[region.index()];
        let at = region.position(b);
        if let Err(place) = region.before[at].binary_search(&a) {
            region.before[at].insert(place, a);
        }
        Ok(())
    }

    fn resolve_deciders(&mut self) -> Result<(), ControlError> {
        for c in 0..self.choices.len() {
            let item = Item::Choice(c as u32);
            let Some(by) = self.choices[c].by else { continue };
            if self.region_of(Item::Task(by)) != self.choices[c].region {
                let message = format!(
                    "choice '{}' is decided by '{}', which is no task of the same region",
                    self.choices[c].name,
                    self.task_name(by)
                );
                return Err(ControlError::of(item, message));
            }
            self.lift(Item::Task(by), item).map_err(|why| ControlError::of(item, why))?;
        }
        for (l, spec) in self.loops.iter().enumerate() {
            if let Some(by) = spec.by.filter(|&by| self.region_of(Item::Task(by)) != spec.body) {
                let message = format!(
                    "loop '{}' is decided by '{}', which is no task of its body",
                    spec.name,
                    self.task_name(by)
                );
                return Err(ControlError::of(Item::Loop(l as u32), message));
            }
        }
        Ok(())
    }

    /// Orders every region, and finds the blocks that come before each item.
    pub(super) fn finish(&mut self) -> Result<(), ControlError> {
        for r in 0..self.regions.len() {
            let region = &self.regions[r];
            let size = region.items.len();
            let before: Vec<Vec<usize>> = (region.before.iter())
                .map(|b| b.iter().map(|&i| region.position(i)).collect())
                .collect();
            let mut after = vec![Vec::new(); size];
            let mut missing = vec![0; size];
            for (at, list) in before.iter().enumerate() {
                missing[at] = list.len();
                list.iter().for_each(|&b| after[b].push(at));
            }
            let mut ready: BTreeSet<usize> = (0..size).filter(|&i| missing[i] == 0).collect();
            let mut order = Vec::with_capacity(size);
            while let Some(at) = ready.pop_first() {
                order.push(at);
                for &next in &after[at] {
                    missing[next] -= 1;
                    if missing[next] == 0 {
                        ready.insert(next);
                    }
                }
            }
            if order.len() < size {
                return Err(self.circle(r, &before, &missing));
            }
            let (nearest, last) = blocks_before(region, &before, &order);
            let region = &mut self.regions[r];
            (region.order, region.nearest, region.last) = (order, nearest, last);
        }
        Ok(())
    }

    /// The error for items that wait for each other.
    fn circle(&self, region: usize, before: &[Vec<usize>], missing: &[usize]) -> ControlError {
        let region = &self.regions[region];
        let mut at = missing.iter().position(|&m| m > 0).unwrap_or(0);
        let mut path: Vec<usize> = Vec::new();
        while !path.contains(&at) {
            path.push(at);
            at = before[at].iter().copied().find(|&b| missing[b] > 0).unwrap_or(at);
        }
        let first = path.iter().position(|&p| p == at).unwrap_or(0);
        let mut circle = path.split_off(first);
        circle.reverse();
        let names: Vec<&str> = circle.iter().map(|&i| self.item_name(region.items[i])).collect();
        let item = circle.first().map(|&i| region.items[i]);
        let message =
            format!("'{}' wait for each other (also through what is in them)", names.join("', '"));
        ControlError { item, edge: None, message }
    }
}

/// Per item the nearest blocks before it, and the last blocks of a region.
fn blocks_before(
    region: &Region,
    before: &[Vec<usize>],
    order: &[usize],
) -> (Vec<Vec<Item>>, Vec<Item>) {
    let mut all: Vec<BTreeSet<Item>> = vec![BTreeSet::new(); region.items.len()];
    for &at in order {
        let mut mine = BTreeSet::new();
        for &b in &before[at] {
            mine.extend(all[b].iter().copied());
            if region.items[b].is_block() {
                mine.insert(region.items[b]);
            }
        }
        all[at] = mine;
    }
    let ends = |set: &BTreeSet<Item>| -> Vec<Item> {
        let covered = |&item: &Item| {
            set.iter().any(|&other| other != item && all[region.position(other)].contains(&item))
        };
        set.iter().copied().filter(|item| !covered(item)).collect()
    };
    let nearest = all.iter().map(ends).collect();
    let blocks = region.items.iter().copied().filter(|i| i.is_block()).collect();
    (nearest, ends(&blocks))
}
