//! Use of pools over time, for the strips under a chart.

use crate::chart::{Chart, StepSeries};
use slackline_model::Problem;
use slackline_model::Schedule;
use slackline_model::schedule::use_over_time;

/// Most strips of one chart.
const MOST: usize = 16;

impl Chart {
    /// Adds a strip for every pool of a name of which a schedule takes, with its capacity; the largest shares first
    /// where there are too many. False where there is no such pool.
    pub fn add_pools(&mut self, problem: &Problem<'_>, schedule: &Schedule, name: &str) -> bool {
        let pools = problem.pools();
        let named = || pools.ids().filter(|id| *pools.all()[*id as usize].name == *name);
        let mut found: Vec<(f64, usize, StepSeries)> = Vec::new();
        for (order, id) in named().enumerate() {
            let pool = &pools.all()[id as usize];
            let steps = use_over_time(problem, schedule, id);
            let most = steps.iter().map(|(_, level)| *level).max().unwrap_or(0);
            if most == 0 {
                continue;
            }
            let place = pools.place(id, problem.platform());
            let steps = steps.into_iter().map(|(date, level)| (date, pool.unit.value(level)));
            let course = StepSeries {
                name: format!("{name} of {}", place.trim_matches('\'')),
                steps: steps.collect(),
                capacity: Some(pool.unit.value(pool.capacity)),
                top: pool.unit.show_short(pool.capacity),
            };
            found.push((most as f64 / pool.capacity.max(1) as f64, order, course));
        }
        if found.len() > MOST {
            found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            self.facts.push(format!("{name}: the {MOST} fullest of {} shown", found.len()));
            found.truncate(MOST);
            found.sort_by_key(|(_, order, _)| *order);
        }
        self.courses.extend(found.into_iter().map(|(.., course)| course));
        named().next().is_some()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a broken fixture is a broken test

    use super::*;
    use crate::gantt::{SvgOptions, svg};
    use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
    use slackline_model::{Placement, ProcId, Task, TaskId, WorkflowBuilder};

    #[test]
    fn memory_lies_under_the_rows_with_what_there_is() {
        let mut b = PlatformBuilder::new("one");
        b.set_matrix(Matrix::Uniform { bandwidth: 1.0, latency: 0.0 });
        let root = b.root().unwrap();
        let spec = HostSpec { cores: 2, memory: Some(32e9), ..HostSpec::new("h", 1.0) };
        b.add_host(root, spec).unwrap();
        let mut w = WorkflowBuilder::new("two");
        for name in ["a", "b"] {
            w.add_task(Task { memory: 20e9, ..Task::new(name, 10.0) }).unwrap();
        }
        let (platform, workflow) = (b.build().unwrap(), w.build().unwrap());
        let problem = Problem::new(&workflow, &platform).unwrap();
        let mut schedule = Schedule { placements: vec![None; 2], ..Schedule::default() };
        schedule.place(TaskId(0), Placement::new(ProcId(0), 0.0, 10.0));
        schedule.place(TaskId(1), Placement::new(ProcId(1), 10.0, 20.0));
        let mut chart = Chart::of_schedule(&problem, &schedule);
        assert!(chart.add_pools(&problem, &schedule, "memory"));
        assert!(!chart.add_pools(&problem, &schedule, "licence"));
        let course = &chart.courses[0];
        assert_eq!(course.steps, [(0.0, 20e9), (10.0, 20e9), (20.0, 0.0)]);
        assert_eq!((course.capacity, course.top.as_str()), (Some(32e9), "32 GB"));
        let picture = svg(&chart, &SvgOptions::default());
        assert!(picture.contains(">memory of h<") && picture.contains(">32 GB<"), "{picture}");
    }
}
