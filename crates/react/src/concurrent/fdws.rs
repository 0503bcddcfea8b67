//! FDWS without queues (Arabnejad, Barbosa, 2012 to 2014): fairness among concurrent workflows.
//!
//! Whenever processors are free, each workflow offers its ready task of highest upward rank; of
//! these the one of highest `rank_r = 1 / PRT * 1 / |CP|` is taken first, where PRT is the share
//! of the workflow's tasks not yet started (this one included) and |CP| the length of its critical
//! path in mean times. It goes to the free processor where it ends first. When all offers are
//! placed the workflows offer again. Workflows that are nearly done, or short, come first.
//!
//! O(rounds x workflows x processors) per call, plus a scan of the unfinished tasks.
//! Ties: the workflow that arrived first, then the lower task; the lower processor.

use crate::idle;
use crate::policy::{Decision, Event, Policy};
use crate::situation::{Situation, TaskState};
use slackline_model::{HostId, TaskId, approx};
use slackline_schedule::list::ranks;

/// The policy; see the module's head.
#[derive(Clone, Debug, Default)]
pub struct Fdws {
    /// Results are sent to all hosts as soon as they exist, which is what the papers' estimate
    /// of start times assumes; otherwise inputs travel when a task is placed.
    pub send_everywhere: bool,
    /// Upward rank of every task.
    rank: Vec<f64>,
    /// Length of the critical path of every workflow.
    critical_path: Vec<f64>,
}

impl Fdws {
    /// The policy whose tasks find their inputs as early as the papers assume.
    pub fn sending_everywhere() -> Fdws {
        Fdws { send_everywhere: true, ..Fdws::default() }
    }

    fn learn(&mut self, now: &Situation) -> Result<(), String> {
        self.rank = ranks::upward(&now.nominal_problem().map_err(|e| e.to_string())?);
        self.critical_path = vec![0.0; now.arrived.len()];
        for (&rank, &part) in self.rank.iter().zip(&now.part_of) {
            let longest = &mut self.critical_path[part as usize];
            *longest = longest.max(rank);
        }
        Ok(())
    }

    fn assign(&self, now: &Situation, decisions: &mut Vec<Decision>) -> Result<(), String> {
        let problem = now.problem().map_err(|e| e.to_string())?;
        let mut idle = idle::idle_procs(now);
        let workflows = now.arrived.len();
        let (mut left, mut all) = (vec![0.0f64; workflows], vec![0.0f64; workflows]);
        let mut ready: Vec<Vec<TaskId>> = vec![Vec::new(); workflows];
        for task in now.workflow.tasks() {
            let part = now.part_of[task.index()] as usize;
            all[part] += 1.0;
            if matches!(now.task(task), TaskState::Waiting) {
                left[part] += 1.0;
            }
            if idle::is_ready(now, task) {
                ready[part].push(task);
            }
        }
        let key = |t: TaskId| approx::sort_key(self.rank[t.index()]);
        for tasks in &mut ready {
            // The best offer is at the end, where it is popped.
            tasks.sort_by(|&a, &b| key(a).total_cmp(&key(b)).then(b.cmp(&a)));
        }
        loop {
            let mut pool: Vec<(f64, usize, TaskId)> = Vec::new();
            for (part, tasks) in ready.iter_mut().enumerate() {
                if let Some(task) = tasks.pop() {
                    let rank_r = all[part] / left[part].max(1.0) / self.critical_path[part];
                    pool.push((approx::sort_key(rank_r), part, task));
                }
            }
            pool.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            if pool.is_empty() || !idle.contains(&true) {
                return Ok(());
            }
            for (_, part, task) in pool {
                let Some(procs) = idle::quickest_idle(&problem, now, task, &idle) else { continue };
                for proc in &procs {
                    idle[proc.index()] = false;
                }
                left[part] -= 1.0;
                decisions.push(Decision::Start { task, procs: procs.into() });
            }
        }
    }
}

/// Sends the results of tasks that have just ended to every host that lacks them.
fn send_results(events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
    for event in events {
        let &Event::TaskFinished(task) = event else { continue };
        for file in now.workflow.outputs(task) {
            if now.workflow.consumers(file).len() == 0 {
                continue;
            }
            for to in (0..now.platform.hosts().len()).map(HostId::new) {
                if now.is_alive(to) && now.copy(file, to).is_none() {
                    decisions.push(Decision::Copy { file, from: None, to });
                }
            }
        }
    }
}

impl Policy for Fdws {
    fn wants(&mut self, events: &[Event], _now: &Situation) -> bool {
        events.iter().any(idle::worth_a_look)
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        if self.rank.len() != now.tasks.len()
            && let Err(why) = self.learn(now)
        {
            decisions.push(Decision::GiveUp(why));
            return;
        }
        if self.send_everywhere {
            send_results(events, now, decisions);
        }
        idle::when_idle(events, now, decisions, |now, decisions| self.assign(now, decisions));
    }
}
