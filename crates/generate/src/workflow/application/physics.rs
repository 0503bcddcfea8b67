//! LIGO Inspiral (Juve et al. 2013) and WIEN2k. The published figures of WIEN2k are lost: its
//! shape is the one stated (two parallel sections with synchronisation between them), its run
//! times are a stand-in.

use super::app::{App, fixed, kind, law, split};
use crate::draw::Seed;
use crate::error::Result;
use slackline_model::Workflow;
use slackline_model::parameter::{Kind, Parameter, Values};

pub(crate) const INSPIRAL: &[Parameter] = &[
    Parameter::new(
        "tasks",
        Kind::Count(6, 1 << 28),
        "100",
        "number of tasks; 4 K + 2 G, so an even number",
    )
    .published("30, 50, 100, 1000"),
    Parameter::new(
        "groups",
        Kind::Count(1, 1 << 20),
        "auto",
        "groups G of about six channels; auto: from the tasks",
    )
    .published("1 of 30 tasks, 1 of 50, 20 of 1000"),
];

/// LIGO Inspiral: banks and matched filters, coincidence, and both once more.
pub(crate) fn inspiral(s: &Values, seed: Seed) -> Result<Workflow> {
    let tasks = s.count("tasks")? / 2 * 2;
    let groups = s.maybe_count("groups").unwrap_or_else(|| {
        let near = (tasks as f64 / 26.0).floor().max(1.0) as usize;
        // n - 2 G must be a multiple of four.
        match (tasks / 2 + near) % 2 {
            0 => near,
            _ if near > 1 => near - 1,
            _ => near + 1,
        }
    });
    let channels = (tasks.saturating_sub(2 * groups) / 4).max(groups);
    let mut app = App::new(&format!("inspiral-{}", 4 * channels + 2 * groups), seed);
    let bank = kind("TmpltBank", law(18.1, 0.43, 16.9, 19.2));
    let filter = kind("Inspiral", law(462.6, 129.0, 231.0, 690.0));
    let coincidence = kind("Thinca", law(5.36, 0.21, 4.8, 5.8));
    let trigger = kind("TrigBank", law(5.12, 0.32, 4.2, 6.4));
    let frames = law(1.01e7, 6.1e6, 9.0e5, 1.57e7);
    for count in split(channels, groups) {
        let mut found = Vec::with_capacity(count);
        for _ in 0..count {
            let task = app.task(&bank)?;
            app.own_input(task, "gwf", frames)?;
            let templates = app.output(task, "bank.xml", law(9.9e5, 1.9e4, 9.3e5, 1.04e6))?;
            let task = app.task(&filter)?;
            app.own_input(task, "gwf", frames)?;
            app.reads(task, &[templates]);
            found.push(app.output(task, "triggers.xml", law(3.1e5, 9e4, 1.5e5, 4.7e5))?);
        }
        let first = app.step(&coincidence, &found, ("xml", law(3.6e4, 9e3, 1.8e4, 5.1e4)))?;
        let mut again = Vec::with_capacity(count);
        for _ in 0..count {
            let chosen =
                app.step(&trigger, &[first], ("bank.xml", law(1.29e4, 3.4e3, 6.4e3, 1.92e4)))?;
            let task = app.task(&filter)?;
            app.own_input(task, "gwf", frames)?;
            app.reads(task, &[chosen]);
            again.push(app.output(task, "triggers.xml", law(3.1e5, 9e4, 1.5e5, 4.7e5))?);
        }
        app.step(&coincidence, &again, ("xml", law(3.6e4, 9e3, 1.8e4, 5.1e4)))?;
    }
    app.finish()
}

pub(crate) const WIEN2K: &[Parameter] = &[Parameter::new(
    "tasks",
    Kind::Count(6, 1 << 28),
    "30",
    "number of tasks; two parallel sections of half of them",
)
.published("30")];

/// WIEN2k: lapw0, k-points, Fermi energy, k-points again, sum, mixer.
pub(crate) fn wien2k(s: &Values, seed: Seed) -> Result<Workflow> {
    let tasks = s.count("tasks")?;
    let mut app = App::new(&format!("wien2k-{tasks}"), seed);
    let first = (tasks - 4) / 2;
    let second = tasks - 4 - first;
    let potential =
        app.step(&kind("lapw0", law(40.0, 4.0, 30.0, 50.0)), &[], ("vsp", fixed(2e6)))?;
    let mut vectors = Vec::with_capacity(first);
    for _ in 0..first {
        let point = kind("lapw1", law(350.0, 70.0, 200.0, 600.0));
        vectors.push(app.step(&point, &[potential], ("vector", law(2e7, 4e6, 1e7, 4e7)))?);
    }
    let fermi =
        app.step(&kind("lapw2_fermi", law(6.0, 1.0, 4.0, 10.0)), &vectors, ("weight", fixed(1e6)))?;
    let mut densities = Vec::with_capacity(second);
    for _ in 0..second {
        let point = kind("lapw2", law(120.0, 24.0, 70.0, 200.0));
        densities.push(app.step(&point, &[fermi], ("clmval", law(1e6, 1e5, 7e5, 1.4e6)))?);
    }
    let sum =
        app.step(&kind("sumpara", law(2.0, 0.3, 1.0, 3.0)), &densities, ("clmval", fixed(1e6)))?;
    app.step(&kind("mixer", law(4.0, 0.5, 2.0, 6.0)), &[sum], ("clmsum", fixed(1e6)))?;
    app.finish()
}
