//! Parameter sweeps: independent tasks that share input files, as in the study of Berman et al.
//! 1999: chunks of tasks read one large file each, and also private inputs, and write one output.

use crate::draw::Seed;
use crate::error::{Result, bad};
use slackline_model::parameter::{Kind, Parameter, Values};
use slackline_model::units::Quantity;
use slackline_model::workflow::REFERENCE_SPEED;
use slackline_model::{Task, Workflow, WorkflowBuilder};

/// A parameter sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sweep {
    /// Number of tasks.
    pub tasks: usize,
    /// Number of shared files; successive tasks share one, equally many each.
    pub chunks: usize,
    /// Shared files each task reads: its own and the ones after it.
    pub shared_per_task: usize,
    /// Size of a shared file, bytes.
    pub shared_bytes: f64,
    /// Private input files of a task.
    pub private_inputs: usize,
    /// Bounds of the size of private inputs and of the output, bytes.
    pub private_bytes: (f64, f64),
    /// Bounds of the run time, seconds at the reference speed.
    pub seconds: (f64, f64),
    /// Probability that a shared file is replaced by a random one.
    pub perturbation: f64,
}

impl Default for Sweep {
    fn default() -> Sweep {
        Sweep {
            tasks: 400,
            chunks: 8,
            shared_per_task: 1,
            shared_bytes: 4.8e6,
            private_inputs: 2,
            private_bytes: (8e3, 12e3),
            seconds: (90.0, 110.0),
            perturbation: 0.0,
        }
    }
}

pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter::new("tasks", Kind::Count(1, 1 << 28), "400", "number of tasks").published("400"),
    Parameter::new(
        "chunks",
        Kind::Count(0, 1 << 28),
        "8",
        "shared files; tasks are dealt out to them",
    )
    .published("8"),
    Parameter::new("shared-per-task", Kind::Count(0, 1 << 20), "1", "shared files each task reads"),
    Parameter::new(
        "shared-size",
        Kind::Quantity(Quantity::Size),
        "4800kB",
        "size of a shared file",
    )
    .published("doubling up to 4800 and 9600 kB"),
    Parameter::new("private-inputs", Kind::Count(0, 1 << 20), "2", "private inputs of a task")
        .published("2"),
    Parameter::new(
        "min-size",
        Kind::Quantity(Quantity::Size),
        "8kB",
        "least private input or output",
    )
    .published("8 kB"),
    Parameter::new(
        "max-size",
        Kind::Quantity(Quantity::Size),
        "12kB",
        "most private input or output",
    )
    .published("12 kB"),
    Parameter::new("min-seconds", Kind::Quantity(Quantity::Duration), "90s", "least run time")
        .published("90 s"),
    Parameter::new("max-seconds", Kind::Quantity(Quantity::Duration), "110s", "most run time")
        .published("110 s"),
    Parameter::new(
        "perturbation",
        Kind::Number(0.0, 1.0),
        "0",
        "probability that a shared file is replaced by a random one",
    ),
];

impl Sweep {
    pub(crate) fn read(s: &Values) -> Result<Sweep> {
        let ordered = |low: &str, high: &str| -> Result<(f64, f64)> {
            let (from, to) = (s.number(low)?, s.number(high)?);
            if from > to {
                return Err(bad(low, from, format!("it is above {high} = {to}")));
            }
            Ok((from, to))
        };
        Ok(Sweep {
            tasks: s.count("tasks")?,
            chunks: s.count("chunks")?,
            shared_per_task: s.count("shared-per-task")?,
            shared_bytes: s.number("shared-size")?,
            private_inputs: s.count("private-inputs")?,
            private_bytes: ordered("min-size", "max-size")?,
            seconds: ordered("min-seconds", "max-seconds")?,
            perturbation: s.number("perturbation")?,
        })
    }

    /// Draws the sweep.
    pub fn workflow(&self, seed: Seed) -> Result<Workflow> {
        let mut builder = WorkflowBuilder::new(format!("sweep-{}", self.tasks));
        let mut seconds = seed.draws("sweep/seconds");
        let mut sizes = seed.draws("sweep/sizes");
        let mut access = seed.draws("sweep/access");
        let mut shared = Vec::with_capacity(self.chunks);
        for chunk in 0..self.chunks {
            shared.push(builder.add_file(&format!("shared{chunk}"), self.shared_bytes)?);
        }
        let chunk_of = |task: usize| task * self.chunks / self.tasks.max(1);
        for index in 0..self.tasks {
            let work = seconds.uniform(self.seconds.0, self.seconds.1) * REFERENCE_SPEED;
            let task = builder.add_task(Task::new(format!("t{index}"), work).of_kind("run"))?;
            for next in 0..self.shared_per_task.min(self.chunks) {
                let moved = access.chance(self.perturbation);
                let other = access.below(self.chunks);
                let chunk = if moved { other } else { (chunk_of(index) + next) % self.chunks };
                builder.reads(task, shared[chunk]);
            }
            let mut draw = || sizes.uniform(self.private_bytes.0, self.private_bytes.1).round();
            for input in 0..self.private_inputs {
                let file = builder.add_file(&format!("t{index}.in{input}"), draw())?;
                builder.reads(task, file);
            }
            let output = builder.add_file(&format!("t{index}.out"), draw())?;
            builder.writes(task, output)?;
        }
        Ok(builder.build()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_sweep() {
        let w = Sweep::default().workflow(Seed::new(1)).unwrap();
        assert_eq!((w.len(), w.edge_count(), w.file_count()), (400, 0, 8 + 400 * 3));
        for file in w.files().take(8) {
            assert_eq!(w.consumers(file).len(), 50);
        }
        let mean = w.total_work() / REFERENCE_SPEED / 400.0;
        assert!((mean - 100.0).abs() < 1.0, "{mean}");
        let mixed = Sweep { perturbation: 0.5, ..Sweep::default() }.workflow(Seed::new(1)).unwrap();
        let uses: usize = mixed.files().take(8).map(|f| mixed.consumers(f).len()).sum();
        assert_eq!(uses, 400);
        assert!(mixed.files().take(8).any(|f| mixed.consumers(f).len() != 50));
    }
}
