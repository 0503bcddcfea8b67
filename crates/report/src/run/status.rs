//! The state of a real run.

use crate::Printer;
use crate::table::{Table, count, cut, wrap};
use slackline_core::run::clock::Clock;
use slackline_core::run::status::{RunState, StatusReport};
use slackline_model::units::fmt_seconds;

/// Attempts under way, and failed tasks, that are shown.
const SHOWN: usize = 8;

/// The text for people.
pub fn tell(status: &StatusReport, output: &dyn Printer) -> String {
    let clock = Clock::local();
    let headline = format!("{}: {}", status.workflow, status.state.name());
    let mut text = format!("{}\n", output.bold(&headline));
    if let Some(why) = &status.why {
        text.push_str(&wrap(why, 2, output.style().width));
    }
    text.push('\n');
    let mut table = Table::new(&["<", "<"]);
    let mut row = |name: &str, value: String| table.row([name.to_string(), value]);
    let share = 100.0 * status.tasks_done as f64 / status.tasks.max(1) as f64;
    let mut done = format!("{} of {} done ({share:.0} %)", status.tasks_done, status.tasks);
    if status.tasks_running > 0 {
        done.push_str(&format!(", {} running", status.tasks_running));
    }
    if status.tasks_failed > 0 {
        done.push_str(&format!(", {} failed", status.tasks_failed));
    }
    row("tasks", done);
    row("began", clock.date(status.began));
    row("elapsed", fmt_seconds(status.elapsed));
    if let Some(end) = &status.expected_end {
        let at = status.expected_end_at.unwrap_or(status.began);
        let date = |seconds: f64| clock.time(at + seconds - end.p50);
        row(
            "end expected",
            format!(
                "after {} to {} ({} to {}), most likely {}",
                fmt_seconds(end.p10),
                fmt_seconds(end.p90),
                date(end.p10),
                date(end.p90),
                date(end.p50)
            ),
        );
    }
    let cores: u32 = status.hosts.iter().map(|host| host.cores).sum();
    let busy: u32 = status.hosts.iter().map(|host| host.busy).sum();
    let hosts = count(status.hosts.len(), "host");
    let cores = match status.state {
        RunState::Running => format!("{hosts}, {busy} of {} busy", count(cores as usize, "core")),
        _ => format!("{hosts}, {}", count(cores as usize, "core")),
    };
    row("platform", format!("{}: {cores}", status.platform));
    row("policy", status.policy.clone());
    if let Some(process) = &status.process {
        row("driven by", format!("process {} on {}", process.pid, process.host));
    }
    row("folder", status.folder.clone());
    text.push_str(&table.render(output.style().table_width));
    if !status.running.is_empty() {
        text.push_str("\nWaiting for\n\n");
        let mut table = Table::new(&["<task", ">attempt", "<host", ">for", ">expected"]);
        for task in status.running.iter().take(SHOWN) {
            let seconds = fmt_seconds(task.seconds);
            table.row([
                cut(&task.task, 34),
                task.attempt.to_string(),
                cut(&task.host, 20),
                if task.is_waiting { format!("{seconds}, queued") } else { seconds },
                task.expected.map_or("-".to_string(), fmt_seconds),
            ]);
        }
        text.push_str(&table.render(output.style().table_width));
        if status.running.len() > SHOWN {
            text.push_str(&format!("  … and {} more\n", status.running.len() - SHOWN));
        }
    }
    if !status.failures.is_empty() {
        text.push_str("\nFailed\n\n");
        let mut table = Table::new(&["<task", ">attempt", "<host", "<why", "<last line"]);
        for task in status.failures.iter().take(SHOWN) {
            table.row([
                cut(&task.task, 30),
                task.attempt.to_string(),
                cut(&task.host, 16),
                cut(&task.reason, 24),
                cut(task.last_line.as_deref().unwrap_or("-"), 40),
            ]);
        }
        text.push_str(&table.render(output.style().table_width));
        if status.failures.len() > SHOWN {
            text.push_str(&format!("  … and {} more\n", status.failures.len() - SHOWN));
        }
    }
    text
}

/// The verb to go on with; empty where there is nothing to do.
pub fn next_step(status: &StatusReport) -> String {
    let verb = match status.state {
        RunState::Stopped => "resume",
        RunState::Failed => "log",
        RunState::Finished | RunState::Running => return String::new(),
    };
    format!("\nslackline {verb} {}\n", status.folder)
}
