//! An engine in the middle of a run, to see where a plan would lead from there.

use super::{Engine, Op};
use crate::backend::{Backend, BackendError, Movement};
use crate::engine::transfers::Transfer;
use crate::execution::{Execution, Recording, Settings};
use crate::outcome::Ending;
use slackline_model::problem::Block;
use slackline_model::{FileId, TaskId};
use slackline_react::{
    Assignment, Decision, Event, FileCopy, Holders, Monitoring, Plan, Policy, Situation, TaskState,
};
use std::sync::Arc;

/// Adopts one plan, and leaves later events to another policy, if there is one.
struct Follow<'a> {
    plan: Option<Plan>,
    then: Option<&'a mut dyn Policy>,
}

impl Policy for Follow<'_> {
    fn monitoring(&self) -> Monitoring {
        self.then.as_ref().map_or(Monitoring::OnWakeUp, |then| then.monitoring())
    }

    fn wants(&mut self, events: &[Event], now: &Situation) -> bool {
        events.contains(&Event::Start)
            || self.then.as_mut().is_some_and(|then| then.wants(events, now))
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        match (self.plan.take(), &mut self.then) {
            (Some(plan), _) => decisions.push(Decision::Adopt(plan)),
            (None, Some(then)) => then.react(events, now, decisions),
            (None, None) => {}
        }
    }
}

/// Follows a plan, and then another policy, from a situation on, over a backend at date 0; gives the seconds
/// to the end, if it comes before `limit` seconds are over. A task that runs begins again first of all, and the
/// backend knows what is left of it.
pub(crate) fn seconds_to_end(
    now: &Situation,
    plan: &Plan,
    then: Option<&mut dyn Policy>,
    limit: f64,
    backend: &mut dyn Backend,
) -> Result<Option<f64>, BackendError> {
    let mut situation = now.clone();
    situation.now = 0.0;
    situation.tasks.end_pauses();
    // What runs takes of its pools again when it begins.
    situation.held.fill(0);
    if now.pools.has_windows() {
        situation.pools = Arc::new(now.pools.earlier(now.now));
    }
    let running: Vec<TaskId> = now.tasks.begun().filter(|&t| runs(now, t)).collect();
    running.iter().for_each(|&task| situation.set_task(task, TaskState::Waiting));
    if then.is_some() {
        date_back(&mut situation, now.now);
    }
    let under_way = take_incomplete(&mut situation);
    let settings = Settings { retries: 0, patience: 0.0, until: limit, ..Settings::default() };
    let recording = Recording::Nothing;
    let execution = Execution {
        settings,
        inputs: now.inputs,
        recording,
        ..Execution::new(now.workflow.clone(), now.platform.clone())
    };
    let mut engine = Engine::within(execution, situation, backend);
    engine.instant.open = engine.count_open();
    engine.monitor.looks_late = true;
    engine.go_on_leasing()?;
    for (file, copy) in under_way {
        engine.go_on_moving(file, copy)?;
    }
    let (plan, staying) = from_here(now, plan, &running);
    engine.operations.headstart.tasks =
        staying.into_iter().map(|t| (t, now.progress[t.index()])).collect();
    let plan = Some(plan);
    let ending = engine.steer(&mut Follow { plan, then })?;
    Ok((ending == Ending::Finished).then_some(engine.situation.now))
}

fn runs(now: &Situation, task: TaskId) -> bool {
    matches!(now.task(task), TaskState::Running { .. })
}

/// The plan with the tasks that go on where they are at the heads of their queues, and these.
fn from_here(now: &Situation, plan: &Plan, running: &[TaskId]) -> (Plan, Vec<TaskId>) {
    let mut moved = vec![false; now.tasks.len()];
    for assignment in &plan.assignments {
        let task = assignment.task;
        moved[task.index()] =
            runs(now, task) && now.task(task).procs() != Some(&assignment.procs[..]);
    }
    let stays = |t: &TaskId| runs(now, *t) && !moved[t.index()];
    let staying: Vec<TaskId> = running.iter().copied().filter(stays).collect();
    let first = staying
        .iter()
        .filter_map(|&task| Some(Assignment { task, procs: now.task(task).procs()?.into() }));
    let rest = plan.assignments.iter().filter(|a| !stays(&a.task)).cloned();
    let mut from_here = Plan { assignments: first.chain(rest).collect(), ..plan.clone() };
    for lease in &mut from_here.leases {
        (lease.from, lease.to) = (lease.from - now.now, lease.to - now.now);
    }
    (from_here, staying)
}

/// Dates everything done before date 0, for planners that start there.
fn date_back(situation: &mut Situation, seconds: f64) {
    for task in (0..situation.tasks.len()).map(TaskId::new) {
        if let TaskState::Done(placement) = situation.task(task) {
            let mut placement = placement.clone();
            placement.start -= seconds;
            placement.finish -= seconds;
            situation.set_task(task, TaskState::Done(placement));
        }
    }
}

/// Takes out the copies that are still on their way, in the order in which they were asked for.
fn take_incomplete(situation: &mut Situation) -> Vec<(FileId, FileCopy)> {
    let mut found = Vec::new();
    for (file, copies) in situation.copies.iter_mut().enumerate() {
        if copies.iter().any(|c| !c.is_complete()) {
            let incomplete = copies.extract_if(.., |c| !c.is_complete());
            found.extend(incomplete.map(|copy| (FileId::new(file), copy)));
        }
    }
    found.sort_by_key(|(_, copy)| copy.turn);
    found
}

impl Engine<'_, '_> {
    fn count_open(&self) -> usize {
        let tasks = (0..self.situation.tasks.len()).map(TaskId::new);
        tasks.filter(|&t| self.situation.is_to_run(t) && !self.is_abandoned(t)).count()
    }

    /// Continues the remaining part of a transfer.
    fn go_on_moving(&mut self, file: FileId, copy: FileCopy) -> Result<(), BackendError> {
        let FileCopy { holders: to, from: Some(from), fraction, .. } = copy else { return Ok(()) };
        let alive = |holders: &Holders| self.situation.is_reachable(holders);
        if !alive(&from) || !alive(&to) {
            return Ok(());
        }
        let bytes = self.situation.workflow.file_bytes(file) * (1.0 - fraction);
        let charged = self.situation.charges_local();
        let moved = from.blocks_to(&to, bytes).filter(|b| b.moves() || charged);
        let host = |place| self.situation.living_host(place).unwrap_or(place);
        let blocks: Box<[Block]> =
            moved.map(|b| Block { from: host(b.from), to: host(b.to), ..b }).collect();
        let id = self.movements.next_transfer;
        self.movements.next_transfer += 1;
        let op = self.new_op(Op::Transfer(id));
        if self.backend.transfer(op, Movement { file, blocks: &blocks, since: 0.0 }).is_err() {
            self.operations.ops.remove(&op);
            return Ok(());
        }
        self.operations.headstart.transfers.insert(id, fraction);
        self.movements.arriving.insert((file, to.clone()), id);
        let copies = &mut self.situation.copies[file.index()];
        let (holders, source) = (to.clone(), Some(from.clone()));
        copies.push(FileCopy { holders, from: source, fraction, turn: id });
        self.movements
            .transfers
            .insert(id, Transfer { file, from, to, blocks, op, departure: None });
        Ok(())
    }
}
