//! Pictures of runs and forecasts.

use slackline_analysis::forecast::Forecast;
use slackline_core::Failure;
use slackline_core::choices::PlannedChoices;
use slackline_model::control::{Chances, draw_course};
use slackline_model::{Placement, Problem, ProcId, Schedule};
use slackline_schedule::nondet::Run;
use slackline_view::Chart;
use slackline_view::forecast::{Figure, Group, Picture};
use slackline_view::gantt::{self, SvgOptions};
use std::collections::HashMap;
use std::sync::Arc;

/// A run as a Gantt chart of its task instances.
pub fn run(planned: &PlannedChoices<'_>, run: &Run) -> Result<String, Failure> {
    let PlannedChoices { template, platform, kinds, .. } = planned;
    let given = run.outcomes.iter().map(|(decision, outcome)| {
        let outcome = template.control.outcome_name(decision, *outcome);
        (decision.name.clone(), outcome.to_string())
    });
    let mut chances = Chances { given: given.collect(), ..Chances::default() };
    let whole = Arc::new(template.tasks.clone().with_control(template.control.clone()));
    let (workflow, _) = draw_course(&whole, &mut chances).map_err(Failure::input)?;
    let problem = Problem::at_peak(&workflow, platform)?;
    let placed: HashMap<&str, _> = run.instances.iter().map(|i| (i.name.as_str(), i)).collect();
    let placements = workflow.tasks().map(|task| {
        let instance = placed.get(workflow.task_name(task))?;
        let hosts = &kinds.all()[instance.kind].hosts;
        let procs: Vec<ProcId> = (instance.machines.iter())
            .flat_map(|&m| problem.procs_of(hosts[m as usize]).map(ProcId))
            .collect();
        Some(Placement::wide(&procs, instance.start, instance.end))
    });
    let schedule = Schedule { placements: placements.collect(), ..Schedule::default() };
    let mut chart = Chart::of_schedule(&problem, &schedule).without_idle_hosts();
    chart.title = format!("{}, one run", template.tasks.name());
    chart.facts = vec![format!("cost {:.6}", run.cost)];
    Ok(gantt::svg(&chart, &SvgOptions::default()))
}

/// The distribution of makespan and cost, and what the decisions make of it.
pub fn forecast(
    planned: &PlannedChoices<'_>,
    forecast: &Forecast,
    deadline: Option<f64>,
) -> String {
    let (title, budget) = (planned.template.tasks.name(), planned.options.budget);
    let column = |pick: fn(&(f64, f64)) -> f64| forecast.runs.iter().map(pick).collect();
    let groups = |cost: bool| {
        let mut blocks: Vec<_> = forecast.explained.iter().collect();
        let share =
            |e: &&slackline_analysis::forecast::Explained| if cost { e.cost } else { e.makespan };
        blocks.sort_by(|a, b| share(b).total_cmp(&share(a)));
        let group = |block: &&slackline_analysis::forecast::Explained| Group {
            name: block.block.clone(),
            explained: share(block),
            courses: (block.courses.iter())
                .map(|c| (c.outcome.clone(), c.share, if cost { c.cost } else { c.makespan }))
                .collect(),
        };
        blocks.iter().take(4).map(group).collect()
    };
    let picture = Picture {
        title: format!("{title}: forecast of {} runs", forecast.runs.len()),
        figures: vec![
            Figure {
                name: "makespan".to_string(),
                is_time: true,
                values: column(|r| r.0),
                limit: deadline.map(|d| ("deadline".to_string(), d)),
                kept: forecast.deadline.map(|c| c.share),
                groups: groups(false),
            },
            Figure {
                name: "cost".to_string(),
                is_time: false,
                values: column(|r| r.1),
                limit: Some(("budget".to_string(), budget)),
                kept: Some(forecast.budget.share),
                groups: groups(true),
            },
        ],
    };
    slackline_view::forecast::svg(&picture)
}
