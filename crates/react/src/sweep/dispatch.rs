//! `do_schedule`: idle hosts and links take work off their queues, wherever something has happened.

use super::queues::{Item, Phase, Queues};
use super::{Choices, LinkOrder};
use crate::policy::Decision;
use crate::room::{self, Room};
use crate::situation::{FileCopy, Situation};
use slackline_model::{FileId, ProcId, TaskId};

impl Queues {
    /// Whether a task could begin in a cluster.
    pub(super) fn is_ready(&self, now: &Situation, task: TaskId, cluster: usize) -> bool {
        let gate = self.clusters[cluster].gate;
        // What is dropped at this instant still is there in the situation.
        let bounded = self.stores[cluster].capacity.is_some() && !now.inputs_everywhere();
        let is_there = |file: FileId| !bounded || self.lanes[cluster].there.contains(&file);
        now.workflow.inputs(task).all(|file| now.has(file, gate) && is_there(file))
    }

    /// Idle processors begin the first tasks of their queues, or one of a neighbour's.
    pub(super) fn start_tasks(
        &mut self,
        now: &Situation,
        choices: &Choices,
        decisions: &mut Vec<Decision>,
    ) {
        let mut room = Room::after(now, decisions);
        for cluster in 0..self.clusters.len() {
            if !self.stirred[cluster] && room.is_none() {
                continue;
            }
            for at in 0..self.clusters[cluster].procs.len() {
                let proc = self.clusters[cluster].procs[at];
                if !self.is_idle(now, proc) {
                    continue;
                }
                let found = match self.columns[proc.index()].queue.front() {
                    Some(&task) if self.is_ready(now, task, cluster) => Some((proc, 0)),
                    Some(_) => None, // the host waits
                    None if choices.steal => self.to_steal(now, cluster, proc),
                    None => None,
                };
                let Some((from, position)) = found else { continue };
                let task = self.columns[from.index()].queue[position];
                let has_room = room::allows(room.as_ref(), now, task, &[proc])
                    && now.is_open(now.host_of[proc.index()]);
                if has_room && self.make_room_to_start(now, task, cluster, decisions) {
                    if let Some(room) = &mut room {
                        room.take(now, task, &[proc]);
                    }
                    self.columns[from.index()].queue.remove(position);
                    self.steals += usize::from(from != proc);
                    for file in now.workflow.inputs(task) {
                        self.stores[cluster].touch(file, now.now);
                    }
                    self.set_phase(task, Phase::Running);
                    self.columns[proc.index()].running = Some((task, now.now));
                    decisions.push(Decision::Start { task, procs: [proc].into() });
                }
            }
        }
    }

    fn is_idle(&self, now: &Situation, proc: ProcId) -> bool {
        self.columns[proc.index()].running.is_none() && now.is_alive(now.host_of[proc.index()])
    }

    /// The first ready task of the longest queue of a cluster that fits on an idle processor: whose it is and
    /// where in the queue.
    fn to_steal(&self, now: &Situation, cluster: usize, idle: ProcId) -> Option<(ProcId, usize)> {
        let procs = &self.clusters[cluster].procs;
        let host = now.host_of[idle.index()];
        let ready = |p: ProcId| {
            let queue = &self.columns[p.index()].queue;
            queue.iter().position(|&task| self.is_ready(now, task, cluster) && now.fits(task, host))
        };
        let mut best: Option<(usize, ProcId, usize)> = None;
        for &proc in procs {
            let long = self.columns[proc.index()].queue.len();
            if best.is_none_or(|(longest, ..)| long > longest)
                && long > 0
                && let Some(position) = ready(proc)
            {
                best = Some((long, proc, position));
            }
        }
        best.map(|(_, from, position)| (from, position))
    }

    /// An idle host has nothing to do while tasks are in no queue.
    pub(super) fn someone_asks(&self, now: &Situation) -> bool {
        self.open > 0
            && self
                .clusters
                .iter()
                .flat_map(|c| &c.procs)
                .any(|&proc| self.is_idle(now, proc) && self.columns[proc.index()].queue.is_empty())
    }

    /// Idle links begin a transfer of their queues.
    pub(super) fn start_transfers(
        &mut self,
        now: &Situation,
        choices: &Choices,
        decisions: &mut Vec<Decision>,
    ) {
        self.send_from_the_origin(now);
        for line in 0..self.lanes.len() {
            // Links other than those of the clusters affect all.
            if self.stirred.get(line) == Some(&false) {
                continue;
            }
            while self.lanes[line].moving.is_none() {
                let Some(position) = self.next_transfer(now, line, choices, decisions) else {
                    break;
                };
                let item = self.lanes[line].queue.remove(position);
                let gate = self.clusters[item.cluster].gate;
                let to = if item.is_output { self.target } else { now.living_host(gate) };
                // What is dropped at this instant still is there in the situation.
                let is_there = |copy: &FileCopy| {
                    item.is_output
                        || !copy.is_complete()
                        || self.lanes[item.cluster].there.contains(&item.file)
                };
                let Some(to) = to.filter(|&to| !now.copy(item.file, to).is_some_and(is_there))
                else {
                    continue; // there already, or on its way
                };
                let from = match (item.is_output, item.from) {
                    (true, _) => None,
                    (false, Some(cluster)) => {
                        now.living_host(now.place_of(self.clusters[cluster].gate))
                    }
                    (false, None) => self.origin.filter(|&origin| now.is_alive(origin)),
                };
                self.lanes[line].moving = Some((item, now.now));
                decisions.push(Decision::Copy { file: item.file, from, to });
            }
        }
        self.stirred.fill(false);
    }

    /// Fetches from the origin what another cluster should have passed on but neither has nor will get.
    fn send_from_the_origin(&mut self, now: &Situation) {
        if self.ways.between.is_empty() {
            return;
        }
        for line in 0..self.lanes.len() {
            let queue = std::mem::take(&mut self.lanes[line].queue);
            let (late, rest) = queue.into_iter().partition(|item: &Item| {
                item.from.is_some_and(|source| {
                    let alive = now.living_host(self.clusters[source].gate).is_some();
                    let has = self.lanes[source].there.contains(&item.file);
                    let to_it =
                        |i: &Item| !i.is_output && i.cluster == source && i.file == item.file;
                    let comes = self.lanes.iter().any(|lane| {
                        lane.queue.iter().any(to_it)
                            || lane.moving.as_ref().is_some_and(|(i, _)| to_it(i))
                    });
                    !alive || !(has || comes)
                })
            });
            self.lanes[line].queue = rest;
            let late: Vec<Item> = late;
            for item in late {
                let queue = &mut self.lanes[item.cluster].queue;
                let at = queue.partition_point(|i| i.planned <= item.planned);
                queue.insert(at, Item { from: None, ..item });
            }
        }
    }

    /// Whether the ends of a transfer can be used and its file is where it comes from.
    fn can_go(&self, now: &Situation, item: &Item) -> bool {
        let alive = |cluster: usize| now.living_host(self.clusters[cluster].gate).is_some();
        alive(item.cluster)
            && match item.from {
                _ if item.is_output => {
                    self.unsent.get(&item.file).is_some_and(|&(_, made)| made == item.cluster)
                }
                Some(source) => alive(source) && self.lanes[source].there.contains(&item.file),
                None => true,
            }
    }

    /// Next item of an idle link's queue.
    fn next_transfer(
        &mut self,
        now: &Situation,
        line: usize,
        choices: &Choices,
        decisions: &mut Vec<Decision>,
    ) -> Option<usize> {
        if let Some(position) = self.leaders_next(now, line, decisions) {
            return Some(position);
        }
        let mut waits = false;
        for position in 0..self.lanes[line].queue.len() {
            let item = self.lanes[line].queue[position];
            if now.living_host(self.clusters[item.cluster].gate).is_none()
                || (waits && !item.is_output)
            {
                continue;
            }
            if self.can_go(now, &item) {
                if item.is_output || self.make_room(now, &item, decisions) {
                    return Some(position);
                }
                continue; // others may go meanwhile, outputs make room
            }
            waits |= match choices.link_order {
                LinkOrder::Strict => true,
                LinkOrder::Greedy => false,
                LinkOrder::Hybrid(wait) => {
                    let soon = item.planned >= now.now && item.planned <= now.now + wait;
                    if soon && !waits {
                        // It is checked again when the output is there, or is late.
                        decisions.push(Decision::WakeAt(item.planned + wait.max(1e-3)));
                    }
                    soon
                }
            };
            // What the link waits for may itself wait for the room of an output that is there.
            if waits && self.stores[item.cluster].capacity.is_none() {
                return None;
            }
        }
        None
    }

    /// Puts the leader's inputs before all others, where storage is bounded.
    fn leaders_next(
        &mut self,
        now: &Situation,
        line: usize,
        decisions: &mut Vec<Decision>,
    ) -> Option<usize> {
        self.stores.iter().find(|store| store.capacity.is_some())?;
        for position in 0..self.lanes[line].queue.len() {
            let item = self.lanes[line].queue[position];
            if item.is_output || self.stores[item.cluster].capacity.is_none() {
                continue;
            }
            let leader = self.leader(now, item.cluster);
            let reads = |task: TaskId| now.workflow.inputs(task).any(|f| f == item.file);
            if leader.is_some_and(reads)
                && self.can_go(now, &item)
                && self.make_room(now, &item, decisions)
            {
                return Some(position);
            }
        }
        None
    }
}
