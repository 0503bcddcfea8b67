//! Facts that moldable plans report.

use super::machines::Machines;
use slackline_model::Schedule;
use slackline_model::approx::sort_key;
use slackline_model::schedule::Detail;

/// Name and value of a reported fact.
pub(crate) type Fact = (&'static str, Detail);

/// Adds the widths, processor-seconds, longest path and use of processors to a plan, and the method's own
/// facts. A longest path among these takes precedence.
pub(crate) fn told(
    machines: &Machines<'_, '_>,
    mut schedule: Schedule,
    facts: Vec<Fact>,
) -> Schedule {
    let problem = machines.problem;
    let workflow = problem.workflow();
    let cluster_of = |proc| machines.clusters.iter().find(|c| c.procs.contains(&proc));
    let mut allocation = Vec::new();
    for task in workflow.tasks() {
        let Some(placement) = schedule.placement(task) else { continue };
        let cluster = cluster_of(placement.proc()).map_or("", |c| c.name.as_str());
        allocation.push(Detail::Record(vec![
            ("task", Detail::Text(workflow.task_name(task).to_string())),
            ("cluster", Detail::Text(cluster.to_string())),
            ("width", Detail::Count(placement.procs().len() as u64)),
        ]));
    }
    let seconds = |t| schedule.placement(t).map_or(0.0, |p| p.seconds());
    let levels = workflow.bottom_levels(seconds, |_| 0.0);
    let path = levels.into_iter().fold(0.0, f64::max);
    let peak = peak(&schedule);
    let mut details = vec![
        ("allocation", Detail::List(allocation)),
        ("work", Detail::Number(work(&schedule))),
        ("area", Detail::Number(schedule.makespan() * peak as f64)),
        ("critical_path", Detail::Number(path)),
        ("peak", Detail::Count(peak)),
        ("distinct", Detail::Count(distinct(&schedule, problem.procs()))),
    ];
    for (name, value) in facts {
        match details.iter_mut().find(|d| d.0 == name) {
            Some(known) => known.1 = value,
            None => details.push((name, value)),
        }
    }
    schedule.details = details;
    schedule
}

/// Processor-seconds of all tasks.
pub(crate) fn work(schedule: &Schedule) -> f64 {
    let area = |p: &slackline_model::Placement| p.seconds() * p.procs().len() as f64;
    schedule.placements.iter().flatten().map(area).sum()
}

/// Most processors that are busy at the same time.
fn peak(schedule: &Schedule) -> u64 {
    let mut changes: Vec<(f64, i64)> = Vec::new();
    for placement in schedule.placements.iter().flatten().filter(|p| p.finish > p.start) {
        let width = placement.procs().len() as i64;
        changes.push((sort_key(placement.start), width));
        changes.push((sort_key(placement.finish), -width));
    }
    // At the same date first those that end.
    changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut busy, mut most) = (0i64, 0i64);
    for (_, change) in changes {
        busy += change;
        most = most.max(busy);
    }
    most as u64
}

/// Processors that are ever used.
fn distinct(schedule: &Schedule, procs: usize) -> u64 {
    let mut used = vec![false; procs];
    for placement in schedule.placements.iter().flatten() {
        for proc in placement.procs() {
            used[proc.index()] = true;
        }
    }
    used.iter().filter(|&&u| u).count() as u64
}
