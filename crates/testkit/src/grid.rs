//! Small platforms in the style of the GTP thesis: unrelated machines, and one undirected link per pair that carries one
//! transfer at a time.

use slackline_engine::{Backend, Execution, Outcome, RunSnapshot, Settings, Simulated};
use slackline_model::platform::{
    DeclaredRoute, HostSpec, LinkSpec, PlatformBuilder, Profile, ProfileEvent, RoutingKind,
};
use slackline_model::{Platform, Problem, ProcId, TaskId, Workflow};
use slackline_react::Policy;
use slackline_simulate::Models;
use std::sync::Arc;

/// A change of level: `(host, date, level)` or `(host, host, date, level)`; dates in seconds. Level 0 turns a host off for
/// ever.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    Host(usize, f64, f64),
    Link(usize, usize, f64, f64),
}

fn profile(events: Vec<(f64, f64)>) -> Option<Arc<Profile>> {
    if events.is_empty() {
        return None;
    }
    let events = events.into_iter().map(|(date, value)| ProfileEvent { date, value }).collect();
    Some(Arc::new(Profile::once(events).unwrap()))
}

/// A platform of machines `p1`, `p2`, … of speed 1 and links of bandwidth 1, with these changes.
pub fn grid(hosts: usize, changes: &[Change]) -> Platform {
    let mut b = PlatformBuilder::new("grid");
    let zone = b.add_zone(None, "grid-zone", RoutingKind::Full).unwrap();
    let of_host = |h: usize, ends: bool| {
        let pick = |c: &Change| match *c {
            Change::Host(host, date, level) if host == h => {
                (ends == (level == 0.0)).then_some((date, level))
            }
            _ => None,
        };
        profile(changes.iter().filter_map(pick).collect())
    };
    let ids: Vec<_> = (0..hosts)
        .map(|h| {
            let (availability, state) = (of_host(h, false), of_host(h, true));
            let spec =
                HostSpec { availability, state, ..HostSpec::new(format!("p{}", h + 1), 1.0) };
            b.add_host(zone, spec).unwrap()
        })
        .collect();
    for i in 0..hosts {
        for j in i + 1..hosts {
            let pick = |c: &Change| match *c {
                Change::Link(x, y, date, level) if (x, y) == (i, j) => Some((date, level)),
                _ => None,
            };
            let bandwidth_profile = profile(changes.iter().filter_map(pick).collect());
            let name = format!("l{}-{}", i + 1, j + 1);
            let link = b
                .add_link(LinkSpec { bandwidth_profile, ..LinkSpec::new(name, 1.0, 0.0) })
                .unwrap();
            b.add_route(zone, DeclaredRoute::between(ids[i], ids[j], [link])).unwrap();
        }
    }
    b.build().unwrap()
}

/// Calls `run` with a simulated backend in which tasks take exactly as long as estimated (at full speed).
pub fn with_backend<T>(
    workflow: &Workflow,
    platform: &Platform,
    model: &str,
    run: impl FnOnce(&mut dyn Backend) -> T,
) -> T {
    let problem = Problem::at_peak(workflow, platform).unwrap();
    let truth = |task: TaskId, procs: &[ProcId]| {
        problem.exec_wide(task, problem.class_of(procs[0]), procs.len() as u32)
    };
    let models = Models::preset(model).unwrap();
    let mut backend = Simulated::new(platform.clone(), models, Box::new(truth)).unwrap();
    run(&mut backend)
}

/// Runs a policy on such a backend.
pub fn simulate(
    workflow: &Workflow,
    platform: &Platform,
    policy: &mut dyn Policy,
    model: &str,
    settings: Settings,
) -> Outcome {
    let (w, p) = (Arc::new(workflow.clone()), Arc::new(platform.clone()));
    let mut instants = 0;
    let mut watch = |snapshot: &RunSnapshot<'_>| {
        let now = snapshot.situation;
        instants += 1;
        assert!(instants < 100_000, "the run does not end; it is {} now", now.now);
    };
    let execution = Execution { settings, watch: Some(&mut watch), ..Execution::new(w, p) };
    with_backend(workflow, platform, model, |backend| execution.run(policy, backend).unwrap())
}
