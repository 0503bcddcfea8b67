//! Conversion of recorded seconds to work: seconds x speed of the machine they were measured on, if the file
//! has it, else x a reference speed.

use crate::detect::Format;
use crate::document::{Document, Recorded, RecordedTask, Run};
use crate::error::{FormatError, Result};
use slackline_model::units::fmt_speed;
use slackline_model::workflow::REFERENCE_SPEED;
use slackline_model::{TaskId, Workflow};
use std::collections::HashMap;
use std::fmt;

/// Quantity from which the work of a workflow's tasks was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Times {
    /// Flop, or a table of times by machine.
    Work,
    /// Seconds, all counted at one speed that is not in the file.
    Assumed {
        /// Flop/s.
        speed: f64,
    },
    /// Seconds, counted at the speeds of the recorded machines.
    Machines {
        /// Of the slowest, flop/s.
        least: f64,
        /// Of the fastest.
        most: f64,
        /// Tasks whose machine is not known, or not its speed: they count at the reference speed.
        unknown: usize,
    },
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Times::Work => f.write_str("work as stated"),
            Times::Assumed { speed } => {
                write!(f, "recorded seconds at {}, assumed", fmt_speed(speed))
            }
            Times::Machines { least, most, unknown } => {
                write!(f, "recorded seconds at ")?;
                match least == most {
                    true => write!(f, "the {} of their machines", fmt_speed(least))?,
                    false => write!(
                        f,
                        "the speeds of their machines, {} to {}",
                        fmt_speed(least),
                        fmt_speed(most)
                    )?,
                }
                match unknown {
                    0 => Ok(()),
                    1 => write!(f, "; 1 task at {}, assumed", fmt_speed(REFERENCE_SPEED)),
                    n => write!(f, "; {n} tasks at {}, assumed", fmt_speed(REFERENCE_SPEED)),
                }
            }
        }
    }
}

/// Warning about run times below zero, which count as 0.
pub(crate) fn negative_times(count: usize, what: &str) -> Option<String> {
    let have = if count == 1 { format!("{what} has") } else { format!("{what}s have") };
    (count > 0).then(|| format!("{count} {have} a negative run time, which is taken as 0"))
}

/// Warning about sizes below zero, which count as 0.
pub(crate) fn negative_sizes(count: usize) -> Option<String> {
    let files = if count == 1 { "file has" } else { "files have" };
    (count > 0).then(|| format!("{count} {files} a negative size, which is taken as 0"))
}

/// Speeds of the machines of a recorded run.
pub(crate) struct Speeds<'r> {
    by_name: HashMap<&'r str, Option<f64>>,
    /// Of all machines, where they are alike: tasks that name no machine ran on one of them.
    common: Option<f64>,
}

impl<'r> Speeds<'r> {
    pub(crate) fn of(run: Option<&'r Run>) -> Speeds<'r> {
        let machines = run.map_or(&[][..], |run| &run.machines);
        // One flop per cycle, as a `GHz` counts everywhere.
        let speed = |mhz: Option<f64>| mhz.map(|mhz| mhz * 1e6);
        let by_name = machines.iter().map(|m| (m.name.as_str(), speed(m.speed_mhz))).collect();
        let first = machines.first().and_then(|m| m.speed_mhz);
        let alike = machines.iter().all(|m| m.speed_mhz == first);
        Speeds { by_name, common: speed(first.filter(|_| alike)) }
    }

    /// Flop/s of the machine that a task ran on, the mean of several; `None` where not all are
    /// known. Fails with the name of a machine that is not there.
    pub(crate) fn of_task<'t>(
        &self,
        task: &'t RecordedTask,
    ) -> std::result::Result<Option<f64>, &'t str> {
        if task.machines.is_empty() {
            return Ok(self.common);
        }
        let mut sum = Some(0.0);
        for name in &task.machines {
            let speed = self.by_name.get(name.as_str()).ok_or(name.as_str())?;
            sum = sum.zip(*speed).map(|(sum, speed)| sum + speed);
        }
        Ok(sum.map(|sum| sum / task.machines.len() as f64))
    }
}

impl Recorded {
    /// Flop/s at which the seconds of every task count.
    pub(crate) fn speeds(&self) -> impl Iterator<Item = Option<f64>> + '_ {
        let speeds = Speeds::of(self.run.as_ref());
        self.tasks.iter().map(move |task| speeds.of_task(task).ok().flatten())
    }
}

impl Document {
    /// Returns the quantity from which the work of the tasks was read, in a file of this format.
    pub fn times(&self, format: Format) -> Times {
        let speed = self.workflow.reference_speed();
        let known = || self.recorded.iter().flat_map(Recorded::speeds).flatten();
        let least = known().fold(f64::INFINITY, f64::min);
        match format.tells_seconds() {
            false => Times::Work,
            true if least.is_finite() => Times::Machines {
                least,
                most: known().fold(0.0, f64::max),
                unknown: self.workflow.len() - known().count(),
            },
            true => Times::Assumed { speed },
        }
    }

    /// Converts the document so that all recorded seconds count at one speed.
    pub fn at_reference_speed(mut self, format: Format, speed: f64) -> Result<Document> {
        if !format.tells_seconds() {
            let message = format!("{format} states work, not seconds at some speed");
            return Err(FormatError::new(message).with_help("leave the reference speed out"));
        }
        let known: Vec<Option<f64>> = self.recorded.iter().flat_map(Recorded::speeds).collect();
        let usual = self.workflow.reference_speed();
        let at = |task: TaskId| known.get(task.index()).copied().flatten().unwrap_or(usual);
        let factor = |workflow: &Workflow, task| workflow.work(task) / at(task) * speed;
        self.workflow = self.workflow.with_work(speed, factor);
        // What was measured is not known any more.
        let machines = self.recorded.iter_mut().flat_map(|r| r.run.iter_mut());
        machines.flat_map(|run| &mut run.machines).for_each(|m| m.speed_mhz = None);
        Ok(self)
    }
}
