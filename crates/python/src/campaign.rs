//! Comparisons of methods over workflows, platforms and scenarios, with the columns of a campaign.

use crate::errors::{self, input};
use crate::planner::own_planners;
use crate::platform::{Platform_, Scenario_};
use crate::policy::own_policies;
use crate::workflow::Workflow_;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use slackline_core::model::{Platform, Scenario, Workflow};
use slackline_core::react::added as policies;
use slackline_lab::campaign::{
    Campaign, METRICS, Method, MethodKind, Repeat, Row, Source, Variant,
};
use slackline_schedule::added as planners;
use slackline_view::plot::{self, BoxPlot};
use std::sync::Arc;

fn fixed<T>(label: &str, value: Arc<T>) -> Variant<T> {
    let source = Source::Fixed { value, hash: 0 };
    Variant { label: label.to_string(), factors: Vec::new(), source }
}

/// Label and value of a platform, number of the repetition, and the scenarios drawn for both.
type Conditions = (String, Arc<Platform>, u64, Vec<Variant<Scenario>>);

type Labelled<'py, T> = Vec<(String, Bound<'py, T>)>;

/// Runs every method on every combination for `repeat` repetitions, numbered from `first`. Returns a table by columns.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    workflows: Labelled<'py, Workflow_>,
    platforms: Labelled<'py, Platform_>,
    scenarios: Labelled<'py, Scenario_>,
    methods: Vec<(String, String)>,
    own: (Bound<'py, PyAny>, Bound<'py, PyAny>),
    repetitions: (u64, u64),
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let (first, repeat) = repetitions;
    let mut given: Vec<(String, Arc<Workflow>)> = Vec::new();
    for (label, workflow) in &workflows {
        given.push((label.clone(), Arc::new(workflow.get().frozen()?.workflow().clone())));
    }
    let (planners_, policies_) = (own_planners(&own.0)?, own_policies(&own.1)?);
    // Scenarios are drawn for each platform and repetition.
    let mut draws: Vec<Conditions> = Vec::new();
    for repetition in first..first.saturating_add(repeat) {
        for (label, platform) in &platforms {
            let platform = &platform.get().platform;
            let mut drawn = Vec::new();
            for (name, scenario) in &scenarios {
                let scenario = scenario.get().on(platform, repetition - 1)?;
                drawn.push(fixed(name, Arc::new(scenario)));
            }
            if drawn.is_empty() {
                drawn.push(fixed("", Arc::new(Scenario::default())));
            }
            draws.push((label.clone(), platform.clone(), repetition, drawn));
        }
    }
    let rows: Vec<Row> = errors::guarded(|| {
        py.detach(|| {
            policies::within(policies_, || {
                planners::within(planners_, || {
                    let mut parsed = Vec::new();
                    for (kind, text) in &methods {
                        let kind =
                            if kind == "plan" { MethodKind::Plan } else { MethodKind::Simulate };
                        parsed.push(Method::parse(kind, text).map_err(input)?);
                    }
                    let mut rows = Vec::new();
                    for (label, platform, repetition, scenarios) in draws {
                        let campaign = Campaign {
                            name: "compare".to_string(),
                            question: String::new(),
                            seed,
                            repeat: Repeat::Times(repeat),
                            sample: None,
                            workflows: given.iter().map(|(l, w)| fixed(l, w.clone())).collect(),
                            platforms: vec![fixed(&label, platform)],
                            scenarios,
                            methods: parsed.clone(),
                            columns: ["workflow", "platform", "scenario"]
                                .map(String::from)
                                .to_vec(),
                            text: String::new(),
                            reads: Vec::new(),
                        };
                        for combination in campaign.combinations() {
                            let draw =
                                campaign.draw(combination, repetition, env!("CARGO_PKG_VERSION"));
                            rows.extend(draw.run(campaign.methods_of(&combination)));
                            if errors::has_raised() {
                                return Ok(rows);
                            }
                        }
                        Python::attach(|py| py.check_signals())?;
                    }
                    Ok(rows)
                })
            })
        })
    })?;
    let columns = PyDict::new(py);
    for (at, name) in ["workflow", "platform", "scenario"].into_iter().enumerate() {
        let values = rows.iter().map(|row| row.factors.get(at).cloned().unwrap_or_default());
        columns.set_item(name, values.collect::<Vec<_>>())?;
    }
    columns.set_item("kind", rows.iter().map(|row| row.kind.name()).collect::<Vec<_>>())?;
    columns.set_item("method", rows.iter().map(|row| row.method.clone()).collect::<Vec<_>>())?;
    columns.set_item("repetition", rows.iter().map(|row| row.repetition).collect::<Vec<_>>())?;
    columns.set_item("done", rows.iter().map(|row| row.done).collect::<Vec<_>>())?;
    columns.set_item("why", rows.iter().map(|row| row.why.clone()).collect::<Vec<_>>())?;
    for (at, name) in METRICS.into_iter().enumerate() {
        columns.set_item(name, rows.iter().map(|row| row.metrics[at]).collect::<Vec<_>>())?;
    }
    columns
        .set_item("wall_seconds", rows.iter().map(|row| row.wall_seconds).collect::<Vec<_>>())?;
    Ok(columns)
}

/// Box plots of named samples.
#[pyfunction]
pub(crate) fn boxes(title: &str, axis: &str, samples: Vec<(String, Vec<f64>)>) -> String {
    let one = |(name, values)| BoxPlot { name, values };
    plot::boxes(title, axis, &samples.into_iter().map(one).collect::<Vec<_>>())
}
