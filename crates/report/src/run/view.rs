//! A run under way, in words.

use slackline_core::forecast::{Band, Pending, PendingTask};
use slackline_core::run::RecordedFailure as Failure;
use slackline_core::run::clock::{Clock, now as seconds_since_1970};
use slackline_engine::{Counters, RunSnapshot};
use slackline_model::names::printable;
use slackline_model::units::fmt_seconds;
use slackline_model::{HostId, Problem, Schedule, TaskId};
use slackline_react::slackline::forecast::{Forecaster, Future};
use slackline_react::{Plan, Situation, TaskState};

/// Most hosts that are shown.
const HOSTS: usize = 16;

/// Tasks under way that a line names.
const WAITED_FOR: usize = 3;

/// Share of a running task that is taken for done at most.
const NEARLY: f64 = 0.99;

/// Words for the snapshots of a run.
pub struct Words<'a> {
    problem: &'a Problem<'a>,
    planned: &'a Schedule,
    forecaster: Forecaster,
    clock: Clock,
    /// Failed attempts so far.
    failures: usize,
}

impl<'a> Words<'a> {
    /// Words for a run of a plan, with dates of a clock.
    pub fn new(problem: &'a Problem<'a>, planned: &'a Schedule, clock: Clock) -> Words<'a> {
        Words { problem, planned, forecaster: Forecaster::default(), clock, failures: 0 }
    }

    /// A snapshot as a line.
    pub fn line(&mut self, glance: &RunSnapshot<'_>) -> String {
        let now = glance.situation;
        let done = now.tasks.done();
        let end = self.end(glance);
        let turns = self.turns(glance).map_or(String::new(), |turns| format!(", {turns}"));
        let running = now.tasks.begun().filter(|t| is_running(now.task(*t))).count();
        let (all, at) = (now.tasks.len(), fmt_seconds(now.now));
        let time = self.clock.time(seconds_since_1970());
        let waits = self.waited_for(now);
        format!("{at} ({time}): {done} of {all} tasks done, {running} running, {end}{turns}{waits}")
    }

    /// A snapshot as several lines, none of them longer than so many columns, with the tasks of each host.
    pub fn picture(&mut self, glance: &RunSnapshot<'_>, columns: usize) -> String {
        let now = glance.situation;
        let end = self.end(glance);
        let turns = self.turns(glance).map_or(String::new(), |turns| format!("\n  {turns}"));
        let elapsed =
            format!("{} ({})", fmt_seconds(now.now), self.clock.time(seconds_since_1970()));
        let text = format!("{turns}{}", self.who(now));
        format!("{elapsed}\n  {}{}", fit(&end, columns), fit(&text, columns))
    }

    /// Deviations from the plan, as text.
    fn turns(&self, glance: &RunSnapshot<'_>) -> Option<String> {
        let lost = glance.situation.lost.iter().filter(|lost| **lost).count();
        turns(glance.counters, lost, self.failures)
    }

    /// A failed attempt as a line.
    pub fn failure(&mut self, failure: &Failure) -> String {
        self.failures += 1;
        let host = &self.problem.platform().host(failure.host).name;
        let (name, attempt) = (printable(&failure.name), failure.attempt);
        let mut text = format!("{name} failed on {host} (attempt {attempt}): {}", failure.reason);
        if let Some(last) = failure.last_lines.last() {
            text.push_str(&format!(": {}", printable(last)));
        }
        text
    }

    /// The expected end: a band of 8 of 10 draws of what is left, as seconds of the run and on the clock.
    fn end(&mut self, glance: &RunSnapshot<'_>) -> String {
        let planned = fmt_seconds(self.planned.makespan());
        let now = glance.situation.now;
        let expected = self.expected(glance);
        if !expected.is_finite() {
            return format!("end expected at ?, planned {planned}");
        }
        let shown = fmt_seconds(expected);
        let Some(band) = self.band(glance.situation) else {
            return format!("end expected at {shown}, planned {planned}");
        };
        let band = band.around(expected - now);
        let (from, to) = (now + band.p10, now + band.p90);
        let clock = |end: f64| self.clock.time(seconds_since_1970() + end - now);
        format!(
            "end expected at {shown} (8 of 10: {} to {}, {} to {}), planned {planned}",
            fmt_seconds(from),
            fmt_seconds(to),
            clock(from),
            clock(to)
        )
    }

    /// The band of the seconds that are left, by the times of tasks that are done.
    fn band(&self, now: &Situation) -> Option<Band> {
        let problem = now.seen_problem().ok()?;
        let workflow = problem.workflow();
        let seconds = |task: TaskId| {
            let procs = now.task(task).procs().filter(|procs| !procs.is_empty());
            match procs {
                Some(procs) => {
                    problem.exec_wide(task, problem.class_of(procs[0]), procs.len() as u32)
                }
                None => problem.mean_exec(task),
            }
        };
        let mut ratios = vec![Vec::new(); workflow.kinds()];
        let mut places = vec![usize::MAX; workflow.len()];
        let mut left = Vec::new();
        for task in workflow.tasks() {
            match now.task(task) {
                TaskState::Done(real) => {
                    let stated = seconds(task);
                    if stated > 0.0 && stated.is_finite() {
                        let ratio = (real.finish - real.start) / stated;
                        ratios[workflow.kind(task).index()].push(ratio);
                    }
                }
                _ => {
                    places[task.index()] = left.len();
                    left.push(task);
                }
            }
        }
        let pending = |&task: &TaskId| {
            let before = workflow.predecessors(task).map(|(before, _)| places[before.index()]);
            let running = match now.task(task) {
                TaskState::Running { procs, since } => {
                    let host = procs.first().map_or(0, |proc| problem.host_of(*proc).index());
                    Some((host, now.now - since))
                }
                _ => None,
            };
            let estimate = seconds(task);
            PendingTask {
                parents: before.filter(|&place| place != usize::MAX).collect(),
                seconds: if estimate.is_finite() { estimate } else { 0.0 },
                kind: workflow.kind(task).index(),
                cores: workflow.width(task).0,
                running,
            }
        };
        let cores = |host: HostId| {
            if now.lost[host.index()] { 0 } else { problem.platform().host(host).cores }
        };
        Pending {
            tasks: left.iter().map(pending).collect(),
            cores: problem.platform().host_ids().map(cores).collect(),
            ratios,
        }
        .band(0)
    }

    /// Tasks under way, those that have run longest first.
    fn waited_for(&self, now: &Situation) -> String {
        let mut running: Vec<(f64, TaskId)> = now
            .tasks
            .begun()
            .filter_map(|task| match now.task(task) {
                TaskState::Running { since, .. } => Some((*since, task)),
                _ => None,
            })
            .collect();
        running.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let names = running.iter().take(WAITED_FOR).map(|(_, task)| now.workflow.task_name(*task));
        let names: Vec<&str> = names.collect();
        let more = if running.len() > names.len() { ", …" } else { "" };
        match names.as_slice() {
            [] => String::new(),
            names => printable(&format!(", waiting for {}{more}", names.join(", "))).into_owned(),
        }
    }

    /// Expected end of the plan that is followed, from present knowledge; without one the planned end plus the lateness
    /// of the last finished task.
    fn expected(&mut self, glance: &RunSnapshot<'_>) -> f64 {
        let now = glance.situation;
        match glance.plan.and_then(|plan| self.forecast(now, plan)) {
            Some(end) => end.max(now.now),
            None => (self.planned.makespan() + self.late(now)).max(now.now),
        }
    }

    fn forecast(&mut self, now: &Situation, plan: &Plan) -> Option<f64> {
        let mut now = now.clone();
        let whole = now.seen_problem().ok()?;
        let share = |task: TaskId| match now.task(task) {
            TaskState::Running { procs, since } => {
                let class = whole.class_of(*procs.first()?);
                let seconds = whole.exec_wide(task, class, procs.len() as u32);
                Some((task, ((now.now - since) / seconds).clamp(0.0, NEARLY)))
            }
            _ => None,
        };
        let shares: Vec<(TaskId, f64)> = now.tasks.begun().filter_map(share).collect();
        shares.into_iter().for_each(|(task, share)| now.progress[task.index()] = share);
        let problem = now.problem().ok()?;
        let future = Future::lasting(&problem, &now);
        Some(self.forecaster.follow(&future, plan, f64::INFINITY).makespan)
    }

    fn late(&self, now: &Situation) -> f64 {
        let late = |(task, state): (usize, &TaskState)| match state {
            TaskState::Done(real) => {
                let plan = self.planned.placements.get(task)?.as_ref()?;
                Some((real.finish, real.finish - plan.finish))
            }
            _ => None,
        };
        let known = now.tasks.iter().enumerate().filter_map(late);
        known.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(0.0, |(_, late)| late)
    }

    fn who(&self, now: &Situation) -> String {
        let platform = self.problem.platform();
        let workflow = &now.workflow;
        let running = |host: HostId| {
            let on = move |task: &TaskId| match now.task(*task) {
                TaskState::Running { procs, .. } => {
                    procs.iter().any(|p| self.problem.host_of(*p) == host)
                }
                _ => false,
            };
            now.tasks.begun().filter(on).map(|task| workflow.task_name(task))
        };
        let mut text = String::new();
        for host in platform.host_ids().take(HOSTS) {
            let state = if now.lost[host.index()] {
                "lost".to_string()
            } else {
                running(host).collect::<Vec<_>>().join(" ")
            };
            text.push('\n');
            text.push_str(&printable(&format!("  {:16} {state}", platform.host(host).name)));
        }
        text
    }
}

/// Lines that a terminal does not break.
fn fit(text: &str, columns: usize) -> String {
    let cut = |line: &str| line.chars().take(columns - 1).collect::<String>();
    text.split('\n').map(cut).collect::<Vec<_>>().join("\n")
}

/// Deviations from the plan, as text.
fn turns(counters: &Counters, lost: usize, failures: usize) -> Option<String> {
    let times = |n: usize| if n == 1 { "once".to_string() } else { format!("{n} times") };
    let some = |n: usize, one: &str, more: &str| match n {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {more}")),
    };
    let Counters { replannings, migrations, rewound, .. } = *counters;
    let told = [
        (replannings > 0).then(|| format!("re-planned {}", times(replannings))),
        some(migrations, "task moved", "tasks moved"),
        some(rewound, "task rewound", "tasks rewound"),
        some(lost, "host away", "hosts away"),
        some(failures, "failure", "failures"),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join(", "))
}

fn is_running(state: &TaskState) -> bool {
    matches!(state, TaskState::Running { .. })
}
