//! Random workflows with choices and loops: tasks of hours that several machines can share, in nested regions.

use crate::draw::{Draws, Seed};
use crate::error::{Result, bad};
use slackline_model::control::{BranchSpec, ChoiceSpec, ControlBuilder, Iterations, LoopSpec};
use slackline_model::parameter::{Kind, Parameter, Values};
use slackline_model::units::Quantity;
use slackline_model::workflow::REFERENCE_SPEED;
use slackline_model::{SpeedUp, Task, Workflow, WorkflowBuilder};
use std::sync::Arc;

/// A random workflow with choices and loops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nondeterministic {
    /// Number of tasks; more where regions need them.
    pub tasks: usize,
    /// Number of choices, of two or three branches.
    pub choices: usize,
    /// Number of loops.
    pub loops: usize,
    /// Most blocks around a task.
    pub depth: usize,
    /// Bounds of the time on one machine, seconds at the reference speed.
    pub seconds: (f64, f64),
    /// Most of a task that cannot be shared; its own part is uniform below.
    pub alpha: f64,
    /// Most probability of another pass; that of a loop is uniform between half of it and it.
    pub again: f64,
    /// Most passes of a loop.
    pub passes: usize,
}

impl Default for Nondeterministic {
    fn default() -> Nondeterministic {
        Nondeterministic {
            tasks: 20,
            choices: 2,
            loops: 1,
            depth: 2,
            seconds: (1800.0, 14_400.0),
            alpha: 0.3,
            again: 0.6,
            passes: 6,
        }
    }
}

pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter::new("tasks", Kind::Count(1, 100_000), "20", "tasks; more where blocks need them"),
    Parameter::new("choices", Kind::Count(0, 10_000), "2", "choices of two or three branches"),
    Parameter::new("loops", Kind::Count(0, 10_000), "1", "loops"),
    Parameter::new("depth", Kind::Count(1, 100), "2", "most blocks around a task"),
    Parameter::new(
        "min-seconds",
        Kind::Quantity(Quantity::Duration),
        "30min",
        "least time of a task on one machine",
    ),
    Parameter::new(
        "max-seconds",
        Kind::Quantity(Quantity::Duration),
        "4h",
        "most time of a task on one machine",
    ),
    Parameter::new("alpha", Kind::Number(0.0, 1.0), "0.3", "most of a task that cannot be shared"),
    Parameter::new("again", Kind::Number(0.0, 1.0), "0.6", "most probability of another pass"),
    Parameter::new("passes", Kind::Count(1, 1000), "6", "most passes of a loop"),
];

/// A region while it is filled.
struct Region {
    /// Its name; none for the workflow itself.
    name: Option<String>,
    depth: usize,
    /// Its items in an order that they can follow.
    items: Vec<String>,
    /// Loops need a task in their bodies.
    body_of: Option<usize>,
}

impl Nondeterministic {
    pub(crate) fn read(s: &Values) -> Result<Nondeterministic> {
        let seconds = (s.number("min-seconds")?, s.number("max-seconds")?);
        if seconds.0 > seconds.1 {
            return Err(bad(
                "min-seconds",
                seconds.0,
                format!("it is above max-seconds = {}", seconds.1),
            ));
        }
        Ok(Nondeterministic {
            tasks: s.count("tasks")?,
            choices: s.count("choices")?,
            loops: s.count("loops")?,
            depth: s.count("depth")?,
            seconds,
            alpha: s.number("alpha")?,
            again: s.number("again")?,
            passes: s.count("passes")?,
        })
    }

    /// Draws the workflow.
    pub fn workflow(&self, seed: Seed) -> Result<Workflow> {
        let mut shape = seed.draws("nondeterministic/shape");
        let mut chances = seed.draws("nondeterministic/chances");
        let mut times = seed.draws("nondeterministic/times");
        let mut regions = vec![Region { name: None, depth: 0, items: Vec::new(), body_of: None }];
        let mut tasks: Vec<(String, Option<String>)> = Vec::new();
        let mut builder = ControlBuilder::default();
        let (mut choices, mut loops) = (0..self.choices, 0..self.loops);
        // Blocks of both kinds in turn, each in a region that is not too deep.
        loop {
            let (choice, spec) = (choices.next(), loops.next());
            if choice.is_none() && spec.is_none() {
                break;
            }
            if let Some(number) = choice {
                let at = self.room(&regions, &mut shape);
                let decider = format!("decide{number}");
                add_task(&mut tasks, &mut regions[at], &decider);
                builder.choice(self.choice(number, &decider, at, &mut regions, &mut chances));
            }
            if let Some(number) = spec {
                let at = self.room(&regions, &mut shape);
                let region = regions[at].name.clone();
                let name = format!("loop{number}");
                regions[at].items.push(name.clone());
                let depth = regions[at].depth + 1;
                regions.push(Region {
                    name: Some(name.clone()),
                    depth,
                    items: Vec::new(),
                    body_of: Some(number),
                });
                let again = format!("{name}.again");
                regions.push(Region { name: Some(again), depth, items: Vec::new(), body_of: None });
                let again = chances.uniform(self.again / 2.0, self.again);
                let iterations = Iterations::Again { again, max: Some(self.passes as u64) };
                let by = Some(format!("check{number}"));
                builder.repeat(LoopSpec {
                    name,
                    region,
                    by,
                    iterations: Some(iterations),
                    ..LoopSpec::default()
                });
            }
        }
        let checks = regions.iter().filter(|region| region.body_of.is_some()).count();
        let rest =
            self.tasks.saturating_sub(tasks.len() + checks).max(usize::from(regions.len() == 1));
        for number in 0..rest {
            let at = shape.below(regions.len());
            add_task(&mut tasks, &mut regions[at], &format!("t{number}"));
        }
        // What checks a pass comes last in it.
        for region in &mut regions {
            if let Some(number) = region.body_of {
                add_task(&mut tasks, region, &format!("check{number}"));
            }
        }
        for (name, region) in &tasks {
            builder.task(name, region.as_deref());
        }
        for Region { items, body_of, .. } in &regions {
            for (at, item) in items.iter().enumerate().skip(1) {
                let last = body_of.is_some() && at + 1 == items.len();
                let before = if last {
                    (0..at).collect()
                } else {
                    let count = shape.between(1, 2);
                    shape.distinct(count, at)
                };
                before.into_iter().for_each(|b| builder.edge(&items[b], item, None));
            }
        }
        let control =
            builder.build().map_err(|why| bad("choices", self.choices, why.to_string()))?;
        let mut workflow = WorkflowBuilder::new(format!("nondeterministic-{}", tasks.len()));
        for (name, _) in tasks {
            let seconds = times.uniform(self.seconds.0, self.seconds.1);
            let serial = times.uniform(0.0, self.alpha);
            let task = Task::new(name, seconds * REFERENCE_SPEED);
            let speedup = SpeedUp::Amdahl { serial };
            workflow.add_task(Task { speedup, max_width: u32::MAX, spread: true, ..task })?;
        }
        Ok(workflow.build()?.with_control(Arc::new(control)))
    }

    /// A region that may contain a block.
    fn room(&self, regions: &[Region], shape: &mut Draws) -> usize {
        let fits = |at: &usize| regions[*at].depth < self.depth;
        let fit: Vec<usize> = (0..regions.len()).filter(fits).collect();
        fit[shape.below(fit.len())]
    }

    fn choice(
        &self,
        number: usize,
        decider: &str,
        at: usize,
        regions: &mut Vec<Region>,
        chances: &mut Draws,
    ) -> ChoiceSpec {
        let name = format!("choice{number}");
        let region = regions[at].name.clone();
        regions[at].items.push(name.clone());
        let depth = regions[at].depth + 1;
        let branches = chances.between(2, 3);
        let shares: Vec<f64> = (0..branches).map(|_| chances.uniform(0.2, 1.0)).collect();
        let whole: f64 = shares.iter().sum();
        // Short numbers that add up: the last branch takes the rest.
        let mut left = 1000.0;
        let branch = |(index, share): (usize, &f64)| {
            let last = index + 1 == branches;
            let thousandths = if last { left } else { (1000.0 * share / whole).round() };
            left -= thousandths;
            BranchSpec {
                name: format!("b{index}"),
                probability: Some(thousandths / 1000.0),
                ..BranchSpec::default()
            }
        };
        let branches: Vec<BranchSpec> = shares.iter().enumerate().map(branch).collect();
        for branch in &branches {
            let of = Some(format!("{name}.{}", branch.name));
            regions.push(Region { name: of, depth, items: Vec::new(), body_of: None });
        }
        ChoiceSpec {
            name,
            region,
            by: Some(decider.to_string()),
            branches,
            ..ChoiceSpec::default()
        }
    }
}

fn add_task(tasks: &mut Vec<(String, Option<String>)>, region: &mut Region, name: &str) {
    tasks.push((name.to_string(), region.name.clone()));
    region.items.push(name.to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_tasks_are_as_many_as_asked_for() {
        for seed in 0..50 {
            let wanted =
                Nondeterministic { choices: 3, loops: 4, depth: 3, ..Nondeterministic::default() };
            let workflow = wanted.workflow(Seed::new(seed)).unwrap();
            let control = workflow.control().unwrap();
            assert_eq!(
                (workflow.len(), control.choices().len(), control.loops().len()),
                (20, 3, 4)
            );
            let parts = control.split();
            let counts = control.executions(&parts);
            assert!(counts.iter().all(|c| c.mean >= 0.0 && c.most.is_finite()));
        }
        let plain =
            Nondeterministic { tasks: 1, choices: 0, loops: 0, ..Nondeterministic::default() };
        assert_eq!(plain.workflow(Seed::new(1)).unwrap().len(), 1);
    }
}
