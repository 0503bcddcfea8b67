//! Sub-workflows: the parts between two decisions, and how often each is executed.

use super::law::Count;
use super::{Control, Item, RegionId, RegionKind};
use std::collections::{BTreeSet, HashMap};

/// The tasks that are certain to run after a decision, up to the next ones.
#[derive(Clone, Debug, PartialEq)]
pub struct SubWorkflow {
    /// `start`, `CHOICE=BRANCH`, `LOOP=again`, `LOOP=exit` or `join(A,B)`.
    pub name: String,
    /// The event that releases it.
    pub trigger: Trigger,
    /// Its tasks, in file order.
    pub tasks: Vec<u32>,
    /// Direct dependencies among its tasks, as positions in `tasks`.
    pub edges: Vec<(u32, u32)>,
    /// It is executed as often as this region.
    pub region: RegionId,
}

/// An event that releases a sub-workflow.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trigger {
    /// The begin of the run.
    Start,
    /// A branch is taken.
    Branch {
        /// The choice.
        choice: u32,
        /// Number of the branch.
        branch: u32,
    },
    /// A loop goes round again.
    Again(u32),
    /// A loop ends.
    Exit(u32),
    /// The last of these blocks is done.
    Join(Vec<Item>),
}

/// Numbers of sub-workflows.
type Set = BTreeSet<usize>;

struct Splitting<'c> {
    control: &'c Control,
    parts: Vec<(Trigger, RegionId, BTreeSet<u32>)>,
    joins: HashMap<Vec<Item>, usize>,
}

impl Splitting<'_> {
    fn begin(&mut self, trigger: Trigger, region: RegionId) -> usize {
        self.parts.push((trigger, region, BTreeSet::new()));
        self.parts.len() - 1
    }

    /// The sub-workflows that what follows these blocks belongs to.
    fn on(
        &mut self,
        blocks: &[Item],
        outer: &Set,
        ends: &HashMap<Item, Set>,
        region: RegionId,
    ) -> Set {
        match blocks {
            [] => outer.clone(),
            [one] => ends.get(one).cloned().unwrap_or_default(),
            several => {
                let at = match self.joins.get(several) {
                    Some(&at) => at,
                    None => {
                        let at = self.begin(Trigger::Join(several.to_vec()), region);
                        self.joins.insert(several.to_vec(), at);
                        at
                    }
                };
                Set::from([at])
            }
        }
    }

    /// Enters a region in these sub-workflows; returns those in which it ends.
    fn enter(&mut self, id: RegionId, outer: &Set) -> Set {
        let control = self.control;
        let region = control.region(id);
        let mut ends: HashMap<Item, Set> = HashMap::new();
        for &at in &region.order {
            let item = region.items[at];
            let within = self.on(&region.nearest[at], outer, &ends, id);
            match item {
                Item::Task(task) => {
                    for &part in &within {
                        self.parts[part].2.insert(task);
                    }
                }
                Item::Choice(c) => {
                    let mut all = Set::new();
                    for (b, branch) in control.choices[c as usize].branches.iter().enumerate() {
                        let trigger = Trigger::Branch { choice: c, branch: b as u32 };
                        let part = self.begin(trigger, branch.region);
                        all.extend(self.enter(branch.region, &Set::from([part])));
                    }
                    ends.insert(item, all);
                }
                Item::Loop(l) => {
                    let spec = &control.loops[l as usize];
                    let part = self.begin(Trigger::Again(l), spec.again);
                    let mut body = self.enter(spec.again, &Set::from([part]));
                    body.extend(within);
                    self.enter(spec.body, &body);
                    let exit = self.begin(Trigger::Exit(l), id);
                    ends.insert(item, Set::from([exit]));
                }
            }
        }
        self.on(&region.last, outer, &ends, id)
    }
}

impl Control {
    /// The parts between decisions; those without tasks are kept as outcomes, except joins.
    pub fn split(&self) -> Vec<SubWorkflow> {
        let mut splitting = Splitting { control: self, parts: Vec::new(), joins: HashMap::new() };
        let start = splitting.begin(Trigger::Start, RegionId::WORKFLOW);
        splitting.enter(RegionId::WORKFLOW, &Set::from([start]));
        let waits: Vec<Vec<u32>> = (0..self.tasks() as u32).map(|t| self.waits(t)).collect();
        let parts = splitting.parts.into_iter();
        let kept =
            parts.filter(|(t, _, tasks)| !matches!(t, Trigger::Join(_)) || !tasks.is_empty());
        kept.map(|(trigger, region, tasks)| {
            let tasks: Vec<u32> = tasks.into_iter().collect();
            let mut edges = Vec::new();
            for (to, &task) in tasks.iter().enumerate() {
                let from = waits[task as usize].iter().filter_map(|u| tasks.binary_search(u).ok());
                edges.extend(from.map(|from| (from as u32, to as u32)));
            }
            edges.sort_unstable();
            SubWorkflow { name: self.trigger_name(&trigger), trigger, tasks, edges, region }
        })
        .collect()
    }

    /// Returns the name of the sub-workflow that a trigger releases.
    pub fn trigger_name(&self, trigger: &Trigger) -> String {
        match trigger {
            Trigger::Start => "start".to_string(),
            Trigger::Branch { choice, branch } => {
                let choice = &self.choices[*choice as usize];
                format!("{}={}", choice.name, choice.branches[*branch as usize].name)
            }
            Trigger::Again(l) => format!("{}=again", self.loops[*l as usize].name),
            Trigger::Exit(l) => format!("{}=exit", self.loops[*l as usize].name),
            Trigger::Join(blocks) => {
                let names: Vec<&str> = blocks.iter().map(|&b| self.item_name(b)).collect();
                format!("join({})", names.join(","))
            }
        }
    }

    /// The tasks that a task waits for directly and that no decision parts from it.
    fn waits(&self, task: u32) -> Vec<u32> {
        let item = Item::Task(task);
        let mut found = BTreeSet::new();
        self.item_waits(item, &mut found);
        found.into_iter().collect()
    }

    fn item_waits(&self, item: Item, found: &mut BTreeSet<u32>) {
        let region = self.region(self.region_of(item));
        let before = &region.before[region.position(item)];
        for &b in before {
            self.last_tasks_of(b, found);
        }
        if !before.is_empty() {
            return;
        }
        // What a body begins with waits for what the loop waits for, and for `again`.
        if let RegionKind::Body(l) = region.kind {
            self.item_waits(Item::Loop(l), found);
            self.last_tasks(self.loops[l as usize].again, found);
        }
    }

    fn last_tasks(&self, region: RegionId, found: &mut BTreeSet<u32>) {
        for item in self.region(region).sinks() {
            self.last_tasks_of(item, found);
        }
    }

    fn last_tasks_of(&self, item: Item, found: &mut BTreeSet<u32>) {
        match item {
            Item::Task(t) => {
                found.insert(t);
            }
            Item::Choice(c) => {
                for branch in &self.choices[c as usize].branches {
                    self.last_tasks(branch.region, found);
                }
            }
            // Its end is a decision.
            Item::Loop(_) => {}
        }
    }

    /// Returns the number of executions of every region in a run that has not begun.
    pub fn region_counts(&self) -> Vec<Count> {
        let mut counts = vec![Count::ZERO; self.regions.len()];
        self.count(RegionId::WORKFLOW, Count::certain(1.0), &mut counts);
        counts
    }

    /// Adds executions of a region and of all in it.
    pub(super) fn count(&self, region: RegionId, count: Count, counts: &mut [Count]) {
        let sum = &mut counts[region.index()];
        *sum = sum.plus(count);
        for &item in &self.region(region).items {
            self.count_item(item, count, counts);
        }
    }

    /// Adds what is inside an item that is executed so often.
    pub(super) fn count_item(&self, item: Item, count: Count, counts: &mut [Count]) {
        match item {
            Item::Task(_) => {}
            Item::Choice(c) => {
                for branch in &self.choices[c as usize].branches {
                    self.count(branch.region, count.thinned(branch.probability), counts);
                }
            }
            Item::Loop(l) => {
                let spec = &self.loops[l as usize];
                self.count(spec.body, count.times(spec.law.passes()), counts);
                self.count(spec.again, count.times(spec.law.rounds()), counts);
            }
        }
    }

    /// Returns the number of executions of every sub-workflow.
    pub fn executions(&self, parts: &[SubWorkflow]) -> Vec<Count> {
        let counts = self.region_counts();
        parts.iter().map(|part| counts[part.region.index()]).collect()
    }
}
