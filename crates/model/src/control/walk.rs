//! The course of one run through the regions of a workflow.
//!
//! A walk knows which task instances were released, which are done, and which decisions are due. The
//! driver of a run reports ended instances and outcomes of decisions to it; it returns the instances
//! that each decision releases.

use super::decisions::DecisionKind;
use super::law::Count;
use super::split::{SubWorkflow, Trigger};
use super::{Control, Item, Region, RegionId, RegionKind};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A task instance of a run, in order of release.
pub type InstanceId = u32;

/// One execution of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// The task.
    pub task: u32,
    /// Its name with the passes of the loops around it: `outer#2/inner#1/solve`.
    pub name: String,
    /// The instances it waits for directly.
    pub waits: Vec<InstanceId>,
    /// The instances it gets anonymous data from, and how many bytes.
    pub data: Vec<(InstanceId, f64)>,
    scope: usize,
}

/// A region as this run passes through it.
#[derive(Clone, Debug)]
struct Scope {
    region: RegionId,
    /// Prefix of the names of its instances: the passes of the loops around it.
    path: String,
    /// The scope around it, and the position there of the block it belongs to.
    parent: Option<(usize, usize)>,
    /// The instances that what it begins with waits for.
    entry: Vec<InstanceId>,
    items: Vec<State>,
    /// The joins that were taken.
    joined: Vec<Vec<Item>>,
    is_open: bool,
    is_resolved: bool,
    is_complete: bool,
}

/// The progress of an item.
#[derive(Clone, Debug)]
enum State {
    /// Not yet released, or not yet decided.
    Waiting,
    Task(InstanceId),
    /// The branch that is taken.
    Choice(usize),
    Loop {
        /// One scope per pass.
        bodies: Vec<usize>,
        /// One scope per part between two passes.
        agains: Vec<usize>,
        is_over: bool,
    },
}

/// A decision, or a join, that has all it waits for.
#[derive(Clone, Debug, PartialEq)]
pub struct Due {
    /// Its name; that of a join is `join(A,B)` with its path in front.
    pub name: String,
    /// The decision; none where branches only meet.
    pub kind: Option<DecisionKind>,
    scope: usize,
    at: usize,
    join: Vec<Item>,
}

impl Due {
    /// The block whose place in the file says when it is taken among others.
    fn rank(&self, region: &Region) -> (Item, bool) {
        match self.join.last() {
            Some(&last) => (last, true),
            None => (region.items[self.at], false),
        }
    }
}

/// The instances that a decision releases.
#[derive(Clone, Debug, PartialEq)]
pub struct Released {
    /// The trigger of their sub-workflow.
    pub trigger: Trigger,
    /// The instances.
    pub instances: Vec<InstanceId>,
}

/// The course of one run through the regions of a workflow.
#[derive(Clone, Debug)]
pub struct Walk {
    control: Arc<Control>,
    scopes: Vec<Scope>,
    instances: Vec<Instance>,
    done: Vec<bool>,
    /// Scopes in which something is still to come.
    active: Vec<usize>,
}

impl Walk {
    /// Enters the workflow; what begins at once is released.
    pub fn new(control: Arc<Control>) -> (Walk, Released) {
        let mut walk = Walk {
            control,
            scopes: Vec::new(),
            instances: Vec::new(),
            done: Vec::new(),
            active: Vec::new(),
        };
        let whole = walk.enter(RegionId::WORKFLOW, String::new(), None, Vec::new());
        walk.scopes[whole].is_open = true;
        let instances = walk.release();
        (walk, Released { trigger: Trigger::Start, instances })
    }

    /// The structure it walks through.
    pub fn control(&self) -> &Arc<Control> {
        &self.control
    }

    /// All instances that were released.
    pub fn instances(&self) -> &[Instance] {
        &self.instances
    }

    /// An instance has ended.
    pub fn end(&mut self, instance: InstanceId) {
        self.done[instance as usize] = true;
    }

    /// Whether the run is over: everything released is done and nothing is left to decide.
    pub fn is_over(&self) -> bool {
        self.scopes[0].is_complete
    }

    fn enter(
        &mut self,
        region: RegionId,
        path: String,
        parent: Option<(usize, usize)>,
        entry: Vec<InstanceId>,
    ) -> usize {
        let items = vec![State::Waiting; self.control.region(region).items.len()];
        self.scopes.push(Scope {
            region,
            path,
            parent,
            entry,
            items,
            joined: Vec::new(),
            is_open: false,
            is_resolved: false,
            is_complete: false,
        });
        self.active.push(self.scopes.len() - 1);
        self.scopes.len() - 1
    }

    /// Whether nothing about an item is open but the time it takes.
    fn is_resolved(&self, scope: usize, at: usize) -> bool {
        match &self.scopes[scope].items[at] {
            State::Waiting => false,
            State::Task(_) => true,
            State::Choice(branch) => self.scopes[*branch].is_resolved,
            State::Loop { is_over, .. } => *is_over,
        }
    }

    /// Whether an item is done.
    fn is_complete(&self, scope: usize, at: usize) -> bool {
        match &self.scopes[scope].items[at] {
            State::Waiting => false,
            State::Task(instance) => self.done[*instance as usize],
            State::Choice(branch) => self.scopes[*branch].is_complete,
            State::Loop { is_over, .. } => *is_over,
        }
    }

    fn has_joined(&self, scope: usize, blocks: &[Item]) -> bool {
        blocks.len() < 2 || self.scopes[scope].joined.iter().any(|j| j == blocks)
    }

    /// Whether everything an item waits for is done.
    fn is_ready(&self, scope: usize, at: usize) -> bool {
        let region = self.control.region(self.scopes[scope].region);
        let done = |b: &Item| self.is_complete(scope, region.position(*b));
        self.scopes[scope].is_open
            && region.before[at].iter().all(done)
            && self.has_joined(scope, &region.nearest[at])
    }

    /// The instances at the end of an item.
    fn ends_of(&self, scope: usize, at: usize, found: &mut BTreeSet<InstanceId>) {
        match &self.scopes[scope].items[at] {
            State::Waiting => {}
            State::Task(instance) => {
                found.insert(*instance);
            }
            State::Choice(branch) => self.ends(*branch, found),
            State::Loop { bodies, .. } => {
                if let Some(&last) = bodies.last() {
                    self.ends(last, found);
                }
            }
        }
    }

    /// The instances at the end of a scope; what it begins after where nothing is in it.
    fn ends(&self, scope: usize, found: &mut BTreeSet<InstanceId>) {
        let region = self.control.region(self.scopes[scope].region);
        if region.items.is_empty() {
            found.extend(self.scopes[scope].entry.iter().copied());
        }
        for item in region.sinks() {
            self.ends_of(scope, region.position(item), found);
        }
    }

    /// The instances that an item waits for directly.
    fn waits(&self, scope: usize, at: usize) -> Vec<InstanceId> {
        let region = self.control.region(self.scopes[scope].region);
        if region.before[at].is_empty() {
            return self.scopes[scope].entry.clone();
        }
        let mut found = BTreeSet::new();
        for &b in &region.before[at] {
            self.ends_of(scope, region.position(b), &mut found);
        }
        found.into_iter().collect()
    }

    /// Releases what no open decision keeps back; returns the new instances.
    fn release(&mut self) -> Vec<InstanceId> {
        let control = self.control.clone();
        let first = self.instances.len();
        loop {
            let mut changed = false;
            let mut next = 0;
            while next < self.active.len() {
                let scope = self.active[next];
                next += 1;
                if !self.scopes[scope].is_resolved {
                    changed |= self.release_in(scope, &control);
                }
            }
            if !changed {
                break;
            }
        }
        (first as u32..self.instances.len() as u32).collect()
    }

    fn release_in(&mut self, scope: usize, control: &Control) -> bool {
        let region = control.region(self.scopes[scope].region);
        let mut changed = false;
        for &at in &region.order {
            if let State::Loop { bodies, agains, is_over: false } = &self.scopes[scope].items[at] {
                // Another pass begins once what is between is settled.
                if agains.len() == bodies.len()
                    && let Some(&again) = agains.last()
                    && self.scopes[again].is_resolved
                {
                    let mut entry = BTreeSet::new();
                    self.ends(again, &mut entry);
                    self.begin_pass(scope, at, entry.into_iter().collect());
                    changed = true;
                }
                continue;
            }
            let waiting = matches!(self.scopes[scope].items[at], State::Waiting);
            let known = |b: &Item| self.is_resolved(scope, region.position(*b));
            let free = waiting
                && region.before[at].iter().all(known)
                && self.has_joined(scope, &region.nearest[at]);
            if !free {
                continue;
            }
            match region.items[at] {
                Item::Task(task) => {
                    let instance = self.instance(scope, at, task);
                    self.scopes[scope].items[at] = State::Task(instance);
                    changed = true;
                }
                Item::Choice(_) => {}
                Item::Loop(_) => {
                    let entry = self.waits(scope, at);
                    self.scopes[scope].items[at] =
                        State::Loop { bodies: Vec::new(), agains: Vec::new(), is_over: false };
                    self.begin_pass(scope, at, entry);
                    changed = true;
                }
            }
        }
        let all = (0..region.items.len()).all(|at| self.is_resolved(scope, at));
        if all && self.has_joined(scope, &region.last) {
            self.scopes[scope].is_resolved = true;
            changed = true;
        }
        changed
    }

    fn begin_pass(&mut self, scope: usize, at: usize, entry: Vec<InstanceId>) {
        let Item::Loop(l) = self.control.region(self.scopes[scope].region).items[at] else {
            return;
        };
        let spec = &self.control.loops()[l as usize];
        let State::Loop { bodies, .. } = &self.scopes[scope].items[at] else { return };
        let path = format!("{}{}#{}/", self.scopes[scope].path, spec.name, bodies.len() + 1);
        let body = self.enter(spec.body, path, Some((scope, at)), entry);
        if let State::Loop { bodies, .. } = &mut self.scopes[scope].items[at] {
            bodies.push(body);
        }
    }

    fn instance(&mut self, scope: usize, at: usize, task: u32) -> InstanceId {
        let name = format!("{}{}", self.scopes[scope].path, self.control.task_name(task));
        let waits = self.waits(scope, at);
        let data = self.data_of(scope, at, task);
        self.instances.push(Instance { task, name, waits, data, scope });
        self.done.push(false);
        self.instances.len() as u32 - 1
    }

    /// The anonymous data that reach a new instance.
    fn data_of(&self, scope: usize, at: usize, task: u32) -> Vec<(InstanceId, f64)> {
        let control = &self.control;
        if control.edges().iter().all(|e| e.bytes.is_none()) {
            return Vec::new();
        }
        // It also represents the blocks that begin with it.
        let mut to = vec![Item::Task(task)];
        let (mut scope_of, mut at_of) = (scope, at);
        while let Some((outer, position)) = self.scopes[scope_of].parent {
            let region = control.region(self.scopes[scope_of].region);
            let later = match (&self.scopes[outer].items[position], region.kind) {
                (_, RegionKind::Again(_)) => true,
                (State::Loop { bodies, .. }, _) => bodies.len() > 1,
                _ => false,
            };
            if later || !region.before[at_of].is_empty() {
                break;
            }
            to.push(control.region(self.scopes[outer].region).items[position]);
            (scope_of, at_of) = (outer, position);
        }
        let mut data: Vec<(InstanceId, f64)> = Vec::new();
        for edge in control.edges().iter().filter(|e| to.contains(&e.to)) {
            let Some(bytes) = edge.bytes else { continue };
            let mut from = BTreeSet::new();
            if let Some((scope, at)) = self.visible(scope, edge.from) {
                self.ends_of(scope, at, &mut from);
            }
            for instance in from {
                match data.iter_mut().find(|(i, _)| *i == instance) {
                    Some((_, sum)) => *sum += bytes,
                    None => data.push((instance, bytes)),
                }
            }
        }
        data
    }

    /// Finds the last execution of an item that a scope sees: its scope, and its position there.
    fn visible(&self, from: usize, item: Item) -> Option<(usize, usize)> {
        let control = &self.control;
        let mut path = vec![(control.region_of(item), item)];
        while let Some(&(region, _)) = path.last()
            && let Some(block) = control.block_of(region)
        {
            path.push((control.region_of(block), block));
        }
        let mut scope = from;
        let mut depth = loop {
            let here = self.scopes[scope].region;
            match path.iter().position(|(region, _)| *region == here) {
                Some(depth) => break depth,
                None => scope = self.scopes[scope].parent?.0,
            }
        };
        loop {
            let (region, item) = path[depth];
            let at = control.region(region).position(item);
            let Some(deeper) = depth.checked_sub(1) else { return Some((scope, at)) };
            let inner = path[deeper].0;
            scope = match &self.scopes[scope].items[at] {
                State::Choice(branch) => *branch,
                State::Loop { bodies, agains, .. } => match control.region(inner).kind {
                    RegionKind::Again(_) => *agains.last()?,
                    _ => *bodies.last()?,
                },
                _ => return None,
            };
            if self.scopes[scope].region != inner {
                return None;
            }
            depth = deeper;
        }
    }

    /// The decisions that have all they wait for, in the order in which they are to be taken. Only
    /// the first may be taken before asking again.
    pub fn due(&mut self) -> Vec<Due> {
        self.settle();
        let control = self.control.clone();
        let mut due: Vec<((Item, bool), Due)> = Vec::new();
        for &scope in &self.active {
            let here = &self.scopes[scope];
            if here.is_complete && here.is_resolved {
                continue;
            }
            let region = control.region(here.region);
            let mut add = |at: usize, kind, name: String, join: Vec<Item>| {
                let one = Due { name, kind, scope, at, join };
                due.push((one.rank(region), one));
            };
            for (at, &item) in region.items.iter().enumerate() {
                match (item, &here.items[at]) {
                    (Item::Choice(c), State::Waiting) if self.is_ready(scope, at) => {
                        let name = format!("{}{}", here.path, control.item_name(item));
                        add(at, Some(DecisionKind::Choice(c)), name, Vec::new());
                    }
                    (Item::Loop(l), State::Loop { bodies, agains, is_over: false })
                        if bodies.len() > agains.len()
                            && bodies.last().is_some_and(|&b| self.scopes[b].is_complete) =>
                    {
                        let pass = bodies.len() as u64;
                        let name = format!("{}{}#{pass}", here.path, control.item_name(item));
                        add(at, Some(DecisionKind::Loop { number: l, pass }), name, Vec::new());
                    }
                    _ => {}
                }
            }
            for blocks in joins(region) {
                let done = |b: &Item| self.is_complete(scope, region.position(*b));
                if !self.has_joined(scope, blocks) && blocks.iter().all(done) {
                    let name = control.trigger_name(&Trigger::Join(blocks.clone()));
                    add(0, None, format!("{}{name}", here.path), blocks.clone());
                }
            }
        }
        due.sort_by_key(|(rank, _)| *rank);
        due.into_iter().map(|(_, due)| due).collect()
    }

    /// Finds out what is open and what is complete by now.
    fn settle(&mut self) {
        loop {
            let mut changed = false;
            for next in 0..self.active.len() {
                let scope = self.active[next];
                if !self.scopes[scope].is_open && self.may_open(scope) {
                    self.scopes[scope].is_open = true;
                    changed = true;
                }
                let here = &self.scopes[scope];
                if here.is_open
                    && !here.is_complete
                    && (0..here.items.len()).all(|at| self.is_complete(scope, at))
                {
                    self.scopes[scope].is_complete = true;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let scopes = &self.scopes;
        self.active.retain(|&s| !(scopes[s].is_complete && scopes[s].is_resolved));
    }

    /// Whether the body of a loop may begin; other scopes are open from their decision on.
    fn may_open(&self, scope: usize) -> bool {
        let Some((outer, at)) = self.scopes[scope].parent else { return false };
        let State::Loop { bodies, agains, .. } = &self.scopes[outer].items[at] else {
            return false;
        };
        match bodies.iter().rposition(|&b| b == scope) {
            Some(0) => self.is_ready(outer, at),
            Some(pass) => agains.get(pass - 1).is_some_and(|&a| self.scopes[a].is_complete),
            None => false,
        }
    }

    /// Takes a decision that is due; a join has no outcome.
    pub fn take(&mut self, due: &Due, outcome: u32) -> Released {
        let (scope, at) = (due.scope, due.at);
        let control = self.control.clone();
        let path = self.scopes[scope].path.clone();
        let trigger = match due.kind {
            None => {
                self.scopes[scope].joined.push(due.join.clone());
                Trigger::Join(due.join.clone())
            }
            Some(DecisionKind::Choice(c)) => {
                let region = control.choices()[c as usize].branches[outcome as usize].region;
                let entry = self.waits(scope, at);
                let branch = self.enter(region, path, Some((scope, at)), entry);
                self.scopes[branch].is_open = true;
                self.scopes[scope].items[at] = State::Choice(branch);
                Trigger::Branch { choice: c, branch: outcome }
            }
            Some(DecisionKind::Loop { number, pass }) if outcome > 0 => {
                let spec = &control.loops()[number as usize];
                let mut entry = BTreeSet::new();
                if let State::Loop { bodies, .. } = &self.scopes[scope].items[at]
                    && let Some(&body) = bodies.last()
                {
                    self.ends(body, &mut entry);
                }
                let path = format!("{path}{}#{pass}/", spec.name);
                let entry = entry.into_iter().collect();
                let again = self.enter(spec.again, path, Some((scope, at)), entry);
                self.scopes[again].is_open = true;
                if let State::Loop { agains, .. } = &mut self.scopes[scope].items[at] {
                    agains.push(again);
                }
                Trigger::Again(number)
            }
            Some(DecisionKind::Loop { number, .. }) => {
                if let State::Loop { is_over, .. } = &mut self.scopes[scope].items[at] {
                    *is_over = true;
                }
                Trigger::Exit(number)
            }
        };
        let instances = self.release();
        Released { trigger, instances }
    }

    /// Returns the number of executions of each sub-workflow that are still to come, given all that
    /// has happened.
    pub fn still_to_come(&self, parts: &[SubWorkflow]) -> Vec<Count> {
        let control = &self.control;
        let mut regions = vec![Count::ZERO; control.regions().len()];
        let mut ends: Vec<Trigger> = Vec::new();
        for &scope in &self.active {
            let here = &self.scopes[scope];
            let region = control.region(here.region);
            for (at, &item) in region.items.iter().enumerate() {
                match (item, &here.items[at]) {
                    (Item::Task(_), _) | (_, State::Task(_) | State::Choice(_)) => {}
                    (_, State::Waiting) => {
                        control.count_item(item, Count::certain(1.0), &mut regions);
                        if let Item::Loop(l) = item {
                            ends.push(Trigger::Exit(l));
                        }
                    }
                    (Item::Loop(l), State::Loop { bodies, agains, is_over: false }) => {
                        let spec = &control.loops()[l as usize];
                        let mut pass = bodies.len() as u64;
                        if agains.len() == bodies.len() {
                            // The next pass is certain, but has not begun.
                            pass += 1;
                            control.count(spec.body, Count::certain(1.0), &mut regions);
                        }
                        let more = spec.law.more_after(pass);
                        control.count(spec.body, more, &mut regions);
                        control.count(spec.again, more, &mut regions);
                        ends.push(Trigger::Exit(l));
                    }
                    _ => {}
                }
            }
            let joins = joins(region).into_iter().filter(|j| !self.has_joined(scope, j));
            ends.extend(joins.map(|j| Trigger::Join(j.clone())));
        }
        let count = |part: &SubWorkflow| match part.trigger {
            Trigger::Start => Count::ZERO,
            _ => {
                let live = ends.iter().filter(|e| **e == part.trigger).count();
                regions[part.region.index()].plus(Count::certain(live as f64))
            }
        };
        parts.iter().map(count).collect()
    }

    /// Returns the prefix of the name of an instance: the passes of the loops around it.
    pub(super) fn path_of(&self, instance: InstanceId) -> &str {
        &self.scopes[self.instances[instance as usize].scope].path
    }

    /// The scope of an instance, in which the names of its files are looked up.
    pub(super) fn place_of(&self, instance: InstanceId) -> usize {
        self.instances[instance as usize].scope
    }

    /// Returns the source of the file that has a name in a scope.
    pub(super) fn source(&self, scope: usize, name: &str) -> Source {
        self.look_up(scope, name, None)
    }

    /// Looks a name up in a scope, then around it. `within` is the item the search came out of,
    /// which is passed over.
    fn look_up(&self, scope: usize, name: &str, within: Option<usize>) -> Source {
        let here = &self.scopes[scope];
        let region = self.control.region(here.region);
        if let Some(found) = self.look_in(scope, name, within) {
            return found;
        }
        let Some((outer, at)) = here.parent else { return Source::Outside(name.to_string()) };
        match (region.kind, &self.scopes[outer].items[at]) {
            (RegionKind::Branch { choice, branch }, _) => {
                let branch = &self.control.choices()[choice as usize].branches[branch as usize];
                let passed = branch.pass.iter().find(|(to, _)| to == name);
                let name = passed.map_or(name, |(_, from)| from.as_str());
                self.look_up(outer, name, Some(at))
            }
            (RegionKind::Body(l), State::Loop { bodies, agains, .. }) => {
                let pass = bodies.iter().rposition(|&b| b == scope).unwrap_or(0);
                if pass > 0 {
                    let spec = &self.control.loops()[l as usize];
                    let carried = spec.carry.iter().find(|(_, to)| to == name);
                    if let Some((from, _)) = carried {
                        let found = self.look_in(agains[pass - 1], from, None);
                        let found = found.or_else(|| self.look_in(bodies[pass - 1], from, None));
                        if let Some(found) = found {
                            return found;
                        }
                    }
                    if let Some(found) = self.look_in(agains[pass - 1], name, None) {
                        return found;
                    }
                }
                self.look_up(outer, name, Some(at))
            }
            (RegionKind::Again(_), State::Loop { bodies, agains, .. }) => {
                let pass = agains.iter().rposition(|&a| a == scope).unwrap_or(0);
                let found = bodies.get(pass).and_then(|&body| self.look_in(body, name, None));
                found.unwrap_or_else(|| self.look_up(outer, name, Some(at)))
            }
            _ => self.look_up(outer, name, Some(at)),
        }
    }

    /// Looks a name up among what a scope writes, blocks in it included.
    fn look_in(&self, scope: usize, name: &str, within: Option<usize>) -> Option<Source> {
        let here = &self.scopes[scope];
        let region = self.control.region(here.region);
        let files = self.control.file_uses();
        for (at, &item) in region.items.iter().enumerate() {
            if Some(at) == within || !self.control.provides(item, name) {
                continue;
            }
            return match (&here.items[at], item) {
                (State::Task(instance), Item::Task(task)) => {
                    debug_assert!(files.writes(task, name));
                    Some(Source::Written(*instance, name.to_string()))
                }
                (State::Choice(branch), _) => {
                    let found = self.look_in(*branch, name, None);
                    Some(found.unwrap_or_else(|| self.look_up(*branch, name, None)))
                }
                (State::Loop { bodies, .. }, _) => self.look_in(*bodies.last()?, name, None),
                _ => None,
            };
        }
        None
    }
}

/// The origin of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// An instance wrote it under this name.
    Written(InstanceId, String),
    /// An input of the workflow.
    Outside(String),
}

/// The sets of blocks beside each other whose results meet in a region.
fn joins(region: &Region) -> Vec<&Vec<Item>> {
    let mut found: Vec<&Vec<Item>> = Vec::new();
    for blocks in region.nearest.iter().chain([&region.last]) {
        if blocks.len() > 1 && !found.contains(&blocks) {
            found.push(blocks);
        }
    }
    found
}
