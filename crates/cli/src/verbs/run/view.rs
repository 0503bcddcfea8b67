//! A run while it goes on: on a terminal who runs what, elsewhere a line now and then; failures
//! are told at once.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use slackline_core::RunView;
use slackline_core::machines::folder::Failure;
use slackline_engine::{Counters, RunSnapshot};
use slackline_model::names::printable;
use slackline_model::units::fmt_seconds;
use slackline_model::{HostId, Problem, Schedule, TaskId};
use slackline_react::slackline::forecast::{Forecaster, Future};
use slackline_react::{Plan, Situation, TaskState};
use std::io::{IsTerminal, Write};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// Time between two pictures on a terminal, and between two lines elsewhere.
const PICTURE: Duration = Duration::from_millis(150);
const LINE: Duration = Duration::from_secs(2);

/// Largest share of time spent on the view.
const SHARE: u32 = 20;

/// Most hosts that are shown.
const HOSTS: usize = 16;

/// Columns of a terminal that does not say how many it has.
const COLUMNS: usize = 80;

/// Share of a running task that is taken for done at most.
const NEARLY: f64 = 0.99;

/// See the module's head.
pub(crate) struct View<'a> {
    problem: &'a Problem<'a>,
    planned: &'a Schedule,
    news: Receiver<Failure>,
    quiet: bool,
    bar: Option<ProgressBar>,
    next: Instant,
    failures: usize,
    forecaster: Forecaster,
}

impl RunView for View<'_> {
    fn see(&mut self, glance: &RunSnapshot<'_>) {
        self.look(glance);
    }

    fn finish(self: Box<Self>) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

impl<'a> View<'a> {
    pub(crate) fn new(
        problem: &'a Problem<'a>,
        planned: &'a Schedule,
        news: Receiver<Failure>,
        quiet: bool,
    ) -> View<'a> {
        let terminal = std::io::stderr().is_terminal() && !quiet;
        let bar = terminal.then(|| {
            let target = ProgressDrawTarget::stderr();
            let bar = ProgressBar::with_draw_target(Some(problem.tasks() as u64), target);
            let style = ProgressStyle::with_template("{bar:20} {pos}/{len}  {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        let next = Instant::now() + if terminal { PICTURE } else { LINE };
        let (failures, forecaster) = (0, Forecaster::default());
        View { problem, planned, news, quiet, bar, next, failures, forecaster }
    }

    fn look(&mut self, glance: &RunSnapshot<'_>) {
        while let Ok(failure) = self.news.try_recv() {
            self.failures += 1;
            self.tell(&failure);
        }
        let begin = Instant::now();
        if self.quiet || begin < self.next {
            return;
        }
        let now = glance.situation;
        let done = now.tasks.done();
        let expected = match self.expected(glance) {
            end if end.is_finite() => fmt_seconds(end),
            _ => "?".to_string(),
        };
        let planned = fmt_seconds(self.planned.makespan());
        let end = format!("end expected at {expected}, planned {planned}");
        let lost = now.lost.iter().filter(|lost| **lost).count();
        let turns = turns(glance.counters, lost, self.failures);
        let pause = match &self.bar {
            Some(bar) => {
                bar.set_length(now.tasks.len() as u64); // choices and loops release more
                bar.set_position(done as u64);
                let turns = turns.map_or(String::new(), |turns| format!("\n  {turns}"));
                bar.set_message(format!("{end}{}", self.fit(&format!("{turns}{}", self.who(now)))));
                PICTURE
            }
            None => {
                let running = now.tasks.begun().filter(|t| is_running(now.task(*t))).count();
                let (all, at) = (now.tasks.len(), fmt_seconds(now.now));
                let turns = turns.map_or(String::new(), |turns| format!(", {turns}"));
                say(&format!("{at}: {done} of {all} tasks done, {running} running, {end}{turns}"));
                LINE
            }
        };
        self.next = Instant::now() + pause.max(begin.elapsed() * SHARE);
    }

    fn tell(&self, failure: &Failure) {
        if self.quiet {
            return;
        }
        let host = &self.problem.platform().host(failure.host).name;
        let (name, attempt) = (printable(&failure.name), failure.attempt);
        let mut text = format!("{name} failed on {host} (attempt {attempt}): {}", failure.reason);
        if let Some(last) = failure.last_lines.last() {
            text.push_str(&format!(": {}", printable(last)));
        }
        match &self.bar {
            Some(bar) => bar.println(text),
            None => say(&text),
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

    /// Lines that a terminal does not break.
    fn fit(&self, text: &str) -> String {
        let columns = terminal_size::terminal_size_of(std::io::stderr());
        let columns = columns.map_or(COLUMNS, |(width, _)| usize::from(width.0).max(20));
        let cut = |line: &str| line.chars().take(columns - 1).collect::<String>();
        text.split('\n').map(cut).collect::<Vec<_>>().join("\n")
    }
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

/// A line beside the results; nobody reading is no reason to stop the work.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
