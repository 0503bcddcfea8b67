//! A run while it goes on: on a terminal who runs what, elsewhere a line now and then; failures
//! are told at once.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use slackline_execute::folder::Failure;
use slackline_model::names::printable;
use slackline_model::units::fmt_seconds;
use slackline_model::{HostId, Problem, Schedule};
use slackline_react::{Situation, TaskState};
use std::io::{IsTerminal, Write};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// Time between two pictures on a terminal, and between two lines elsewhere.
const PICTURE: Duration = Duration::from_millis(150);
const LINE: Duration = Duration::from_secs(2);

/// Most hosts that are shown.
const HOSTS: usize = 16;

/// See the module's head.
pub(super) struct View<'a> {
    problem: &'a Problem<'a>,
    planned: &'a Schedule,
    news: Receiver<Failure>,
    quiet: bool,
    bar: Option<ProgressBar>,
    next: Instant,
    failures: usize,
}

impl<'a> View<'a> {
    pub(super) fn new(
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
        View { problem, planned, news, quiet, bar, next, failures: 0 }
    }

    pub(super) fn see(&mut self, now: &Situation) {
        while let Ok(failure) = self.news.try_recv() {
            self.failures += 1;
            self.tell(&failure);
        }
        if self.quiet || Instant::now() < self.next {
            return;
        }
        let done = now.tasks.iter().filter(|t| t.is_done()).count();
        let expected = fmt_seconds(self.expected(now));
        let planned = fmt_seconds(self.planned.makespan());
        let end = format!("end expected at {expected}, planned {planned}");
        match &self.bar {
            Some(bar) => {
                self.next = Instant::now() + PICTURE;
                bar.set_position(done as u64);
                bar.set_message(format!("{end}{}{}", self.trouble(), self.who(now)));
            }
            None => {
                self.next = Instant::now() + LINE;
                let running = now.tasks.iter().filter(|t| is_running(t)).count();
                let all = now.tasks.len();
                let at = fmt_seconds(now.now);
                let trouble = self.trouble();
                say(&format!(
                    "{at}: {done} of {all} tasks done, {running} running, {end}{trouble}"
                ));
            }
        }
    }

    fn trouble(&self) -> String {
        match self.failures {
            0 => String::new(),
            1 => ", 1 failure".to_string(),
            n => format!(", {n} failures"),
        }
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

    /// The planned end, and the most by which what has ended was later than planned.
    fn expected(&self, now: &Situation) -> f64 {
        let late = |(task, state): (usize, &TaskState)| match state {
            TaskState::Done(real) => {
                let plan = self.planned.placements.get(task)?.as_ref()?;
                Some((real.finish, real.finish - plan.finish))
            }
            _ => None,
        };
        let known = now.tasks.iter().enumerate().filter_map(late);
        let last = known.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(0.0, |(_, late)| late);
        (self.planned.makespan() + last).max(now.now)
    }

    fn who(&self, now: &Situation) -> String {
        let platform = self.problem.platform();
        let mut text = String::new();
        let running = |host: HostId| {
            let on = move |procs: &[slackline_model::ProcId]| {
                procs.iter().any(|p| self.problem.host_of(*p) == host)
            };
            now.tasks.iter().enumerate().filter_map(move |(task, state)| match state {
                TaskState::Running { procs, .. } if on(procs) => Some(task),
                _ => None,
            })
        };
        for host in platform.host_ids().take(HOSTS) {
            let workflow = self.problem.workflow();
            let name = |t: usize| workflow.task_name(slackline_model::TaskId::new(t)).to_string();
            let tasks: Vec<String> = running(host).map(name).collect();
            let state = match now.lost[host.index()] {
                true => "lost".to_string(),
                false => tasks.join(" "),
            };
            let line = format!("  {:16} {state}", platform.host(host).name);
            text.push('\n');
            text.extend(printable(&line).chars().take(79));
        }
        text
    }

    pub(super) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

fn is_running(state: &TaskState) -> bool {
    matches!(state, TaskState::Running { .. })
}

/// A line beside the results; nobody reading is no reason to stop the work.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
