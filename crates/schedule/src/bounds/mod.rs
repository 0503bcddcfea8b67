//! Lower bounds: no schedule of the problem ends earlier.
//!
//! - [`critical_path`]: every task at its fastest, transfers free.
//! - [`area`]: all work at its fastest, spread evenly.
//! - `pools`: resources other than processors that tasks share.
//! - heads and tails that count transfers (`levels`), unrelated machines by linear programming
//!   duality (`load`), stretches of time that must hold too much work (`interval`), and, for
//!   problems of moderate size, all of these under the assumption that the plan ends by T: if they
//!   contradict each other, T is a bound (Klein, Scholl, "destructive improvement", 1999).
//!
//! [`lower_bound`] is the best of them; its effort is bounded, large problems get the cheap ones.

pub(crate) mod granule;
pub(crate) mod interval;
pub(crate) mod levels;
pub(crate) mod load;
mod pools;

use crate::flat_problem::FlatProblem;
use interval::Window;
use levels::{Levels, View};
use load::Load;
use slackline_model::{Problem, TaskId};

// All limits are on counts, never on time, so that a bound is the same on every machine.

/// Elementary steps that a single bound may take: some tens of milliseconds.
const EFFORT: f64 = 2e7;
/// Tasks x banks (see [`FlatProblem`]) up to which the destructive bound, which repeats all others, is computed.
const MODERATE: usize = 4000;
/// Most repetitions of a bound that starts from the last bound found.
const REPEATS: usize = 8;
/// Relative gain below which a bound is not repeated, and excess within which an end counts as met: rounding.
const SAME: f64 = 1e-9;

/// The best of the bounds that are not too costly for the size of the problem, in seconds.
pub fn lower_bound(problem: &Problem<'_>) -> f64 {
    let simple = critical_path(problem).max(area(problem)).max(class_load(problem));
    let simple = simple.max(pools::area(problem));
    let Ok(compact) = FlatProblem::relaxed(problem) else { return simple };
    if compact.len() == 0 || levels::effort(&compact) > EFFORT {
        return simple;
    }
    Bounder::new(problem, &compact).best(simple)
}

/// Whether a run can be shorter than every plan, because plans count transfers that a run may avoid or speed up. A plan
/// that is optimal among plans is then no lower bound of runs.
pub fn runs_beat_plans(problem: &Problem<'_>) -> bool {
    FlatProblem::is_relaxed(problem)
}

/// Longest path with every task on its fastest processor and free transfers. Tasks that are done or
/// running count with their actual end.
pub fn critical_path(problem: &Problem<'_>) -> f64 {
    let workflow = problem.workflow();
    let mut end = vec![0.0f64; workflow.len()];
    let mut latest = 0.0f64;
    for &task in workflow.topological_order() {
        end[task.index()] = match problem.state().fixed(task) {
            Some(placement) => placement.finish,
            None => {
                let parents = workflow.predecessors(task).map(|(p, _)| end[p.index()]);
                let seconds = (0..problem.classes())
                    .map(|class| least_seconds(problem, task, class))
                    .fold(f64::INFINITY, f64::min);
                parents.fold(problem.release(task), f64::max) + seconds
            }
        };
        latest = latest.max(end[task.index()]);
    }
    latest
}

/// All unfinished work at its fastest, spread evenly over all processors from now on.
pub fn area(problem: &Problem<'_>) -> f64 {
    let work: f64 = unfinished(problem)
        .map(|task| {
            (0..problem.classes())
                .map(|class| least_area(problem, task, class))
                .fold(f64::INFINITY, f64::min)
        })
        .sum();
    if work == 0.0 {
        return 0.0;
    }
    problem.state().now + work / problem.procs() as f64
}

fn unfinished<'a>(problem: &'a Problem<'_>) -> impl Iterator<Item = TaskId> + 'a {
    problem.workflow().tasks().filter(|&t| problem.state().fixed(t).is_none())
}

/// The fractional assignment of all work to the cost classes.
fn class_load(problem: &Problem<'_>) -> f64 {
    let classes = problem.classes();
    let mut count = vec![0.0; classes];
    let mut offset = vec![0.0; classes];
    for proc in problem.proc_ids() {
        let from = problem.available_from(proc);
        // A processor that is gone has no capacity.
        if from.is_finite() {
            count[problem.class_of(proc)] += 1.0;
            offset[problem.class_of(proc)] += problem.state().now;
        }
    }
    let usable: Vec<usize> = (0..classes).filter(|&c| count[c] > 0.0).collect();
    let tasks: Vec<TaskId> = unfinished(problem).collect();
    let size = tasks.len() * usable.len();
    // The bound takes at least four passes over all areas.
    if size == 0 || size as f64 > EFFORT / 4.0 {
        return 0.0;
    }
    let mut areas = Vec::with_capacity(size);
    for &task in &tasks {
        areas.extend(usable.iter().map(|&class| least_area(problem, task, class)));
    }
    let pick = |values: &[f64]| usable.iter().map(|&c| values[c]).collect::<Vec<f64>>();
    let load = Load { area: &areas, count: &pick(&count), offset: &pick(&offset) };
    load.bound(((EFFORT / size as f64) as usize).min(200))
}

/// Least seconds of a task on a class at any width.
fn least_seconds(problem: &Problem<'_>, task: TaskId, class: usize) -> f64 {
    over_widths(problem, task, class, |seconds, _| seconds)
}

/// Least processor-seconds of a task on a class at any width.
fn least_area(problem: &Problem<'_>, task: TaskId, class: usize) -> f64 {
    over_widths(problem, task, class, |seconds, width| seconds * f64::from(width))
}

/// The least value over the possible widths of a task; a width beyond the processors of the class does not help.
fn over_widths(
    problem: &Problem<'_>,
    task: TaskId,
    class: usize,
    value: impl Fn(f64, u32) -> f64,
) -> f64 {
    let (least, most) = problem.workflow().width(task);
    if most == 1 {
        return problem.exec(task, class);
    }
    let most = most.min(problem.class_sizes()[class]).max(least);
    (least..=most)
        .map(|width| value(problem.exec_wide(task, class, width), width))
        .fold(f64::INFINITY, f64::min)
}

/// The bounds that work on flat arrays.
pub(crate) struct Bounder<'c> {
    view: View<'c>,
    /// Processor-seconds of task x bank.
    area: Vec<f64>,
    /// Seconds of which all dates are multiples, if there are any.
    granule: Option<f64>,
    /// Per resource other than processors: the demand of each task, and when each unit is free.
    groups: Vec<(Vec<f64>, Vec<f64>)>,
}

impl<'c> Bounder<'c> {
    /// Prepares the bounds of a problem with unfinished tasks.
    pub(crate) fn new(problem: &Problem<'_>, compact: &'c FlatProblem) -> Bounder<'c> {
        let banks = compact.banks();
        let mut seconds = Vec::with_capacity(compact.len() * banks);
        let mut area = Vec::with_capacity(compact.len() * banks);
        // Computed by cost class: there are many more banks.
        let mut least: Vec<(f64, f64)> = Vec::new();
        for (index, &task) in compact.tasks.iter().enumerate() {
            if compact.flexible[index] {
                let of = |c| (least_seconds(problem, task, c), least_area(problem, task, c));
                least.clear();
                least.extend((0..problem.classes()).map(of));
            }
            for bank in 0..banks {
                if compact.flexible[index] {
                    let (least_seconds, least_area) = least[compact.class(bank)];
                    seconds.push(least_seconds);
                    area.push(least_area);
                } else {
                    seconds.push(compact.seconds(index, bank));
                    area.push(compact.seconds(index, bank));
                }
            }
        }
        let first_free = |s| compact.certain[compact.cores(s)].iter().copied();
        let open = (0..banks).map(|s| first_free(s).fold(f64::INFINITY, f64::min)).collect();
        // Windows of hosts may open at dates that are no multiples.
        let granule = granule::of(compact).filter(|_| !problem.pools().has_windows());
        let groups = pools::groups(problem, compact);
        Bounder { view: View { compact, seconds, open }, area, granule, groups }
    }

    /// The granule of all dates, if there is one.
    pub(crate) fn granule(&self) -> Option<f64> {
        self.granule
    }

    /// Heads and tails, valid for every schedule.
    pub(crate) fn levels(&self) -> Levels {
        Levels::of(&self.view)
    }

    /// The best bound, at least `known`.
    pub(crate) fn best(&self, known: f64) -> f64 {
        let n = self.view.compact.len();
        let levels = self.levels();
        let mut bound = self.round(known.max(levels.longest(&self.view)));
        bound = self.round(bound.max(self.load(&self.view, &levels, bound)));
        let windows = self.windows(&self.view, &levels);
        // Intervals tried are those that begin at so many heads: with n right ends, about 4 million.
        let left_ends = (4_000_000 / n.max(1)).clamp(4, 4000);
        for (group, open) in &self.groups {
            let own = pools::windows(&windows, group);
            for _ in 0..REPEATS {
                let next = interval::bound(&own, open, bound, left_ends.min(400));
                let next = self.round(next);
                if next <= bound * (1.0 + SAME) {
                    break;
                }
                bound = next;
            }
        }
        for _ in 0..REPEATS {
            let next = interval::bound(&windows, &self.view.compact.certain, bound, left_ends);
            let next = self.round(next);
            if next <= bound * (1.0 + SAME) {
                break;
            }
            bound = next;
        }
        if n * self.view.compact.banks() <= MODERATE { self.destructive(bound) } else { bound }
    }

    fn round(&self, bound: f64) -> f64 {
        granule::round_up(bound, self.granule)
    }

    /// The largest end found that leads to a contradiction, by seven steps upwards from a bound: 8 % at first, half as
    /// much after each end that is not contradicted.
    fn destructive(&self, bound: f64) -> f64 {
        let mut low = bound;
        let mut step = bound * 0.08;
        for _ in 0..7 {
            let target = match self.granule {
                Some(g) => (((low + step) / g).floor() * g).max(low),
                None => low + step,
            };
            if self.contradicts(target) {
                // The end is after the target: at the next granule at least.
                low = match self.granule {
                    Some(g) => self.round(target + g * 0.5),
                    None => target,
                };
            } else if target <= low {
                break;
            } else {
                step *= 0.5;
            }
        }
        low
    }

    /// The times on which the bounds are computed, valid for every schedule.
    pub(crate) fn view(&self) -> &View<'c> {
        &self.view
    }

    /// The banks that remain possible, with heads and tails, if the plan ends by `target`; none
    /// if some task has no bank left.
    pub(crate) fn restricted(&self, target: f64) -> Option<(View<'c>, Levels)> {
        let mut view = self.view.clone();
        let banks = view.compact.banks();
        let limit = target * (1.0 + SAME);
        let mut levels = Levels::of(&view);
        // Each exclusion raises heads and tails, which excludes more; most of it happens at once.
        for _ in 0..4 {
            let mut changed = false;
            for task in 0..view.compact.len() {
                let mut possible = false;
                for at in task * banks..(task + 1) * banks {
                    if view.seconds[at].is_finite() {
                        let ends = levels.head[at] + view.seconds[at] + levels.tail[at];
                        if ends > limit {
                            view.seconds[at] = f64::INFINITY;
                            changed = true;
                        } else {
                            possible = true;
                        }
                    }
                }
                if !possible {
                    return None;
                }
            }
            if !changed {
                break;
            }
            levels = Levels::of(&view);
        }
        Some((view, levels))
    }

    /// No schedule ends by `target`: shown by assuming it.
    fn contradicts(&self, target: f64) -> bool {
        let limit = target * (1.0 + SAME);
        let Some((view, levels)) = self.restricted(target) else { return true };
        let windows = self.windows(&view, &levels);
        let shared = |(group, open): &(Vec<f64>, Vec<f64>)| {
            interval::bound(&pools::windows(&windows, group), open, target, 200) > limit
        };
        interval::bound(&windows, &view.compact.certain, target, 400) > limit
            || self.groups.iter().any(shared)
            || self.load(&view, &levels, target) > limit
            || self.forced(&view, &levels, target) > limit
    }

    fn windows(&self, view: &View<'_>, levels: &Levels) -> Vec<Window> {
        let banks = view.compact.banks();
        let mut windows = Vec::with_capacity(view.compact.len());
        for task in 0..view.compact.len() {
            let mut w = Window {
                head: f64::INFINITY,
                seconds: f64::INFINITY,
                tail: f64::INFINITY,
                width: f64::from(view.compact.width[task]),
            };
            for at in task * banks..(task + 1) * banks {
                if view.seconds[at].is_finite() {
                    w.head = w.head.min(levels.head[at]);
                    w.seconds = w.seconds.min(view.seconds[at]);
                    w.tail = w.tail.min(levels.tail[at]);
                }
            }
            windows.push(w);
        }
        windows
    }

    /// The bound by the fractional assignment of work to banks. A core is idle at least until the first of its possible
    /// tasks can start and for the least tail after its last one, but counted at most up to the bound `known`.
    fn load(&self, view: &View<'_>, levels: &Levels, known: f64) -> f64 {
        let compact = view.compact;
        let (n, banks) = (compact.len(), compact.banks());
        let area: Vec<f64> = (self.area.iter().zip(&view.seconds))
            .map(|(&a, s)| if s.is_finite() { a } else { f64::INFINITY })
            .collect();
        let mut count = Vec::with_capacity(banks);
        let mut offset = Vec::with_capacity(banks);
        for bank in 0..banks {
            let (mut head, mut tail) = (f64::INFINITY, f64::INFINITY);
            for at in (0..n).map(|t| t * banks + bank).filter(|&at| view.seconds[at].is_finite()) {
                head = head.min(levels.head[at]);
                tail = tail.min(levels.tail[at]);
            }
            let cores = compact.cores(bank);
            count.push(cores.len() as f64);
            // Tasks that may spread over hosts do not belong to the one bank at which they are counted.
            let lost = |o: f64| if compact.faithful { o.max(head) + tail } else { o };
            let idle = compact.certain[cores].iter().map(|&o| lost(o).min(known));
            offset.push(idle.sum());
        }
        let rounds = ((EFFORT / 4.0 / (n * banks) as f64) as usize).min(150);
        Load { area: &area, count: &count, offset: &offset }.bound(rounds)
    }

    /// The interval bound of each bank alone, over the tasks that can only run there.
    fn forced(&self, view: &View<'_>, levels: &Levels, target: f64) -> f64 {
        let compact = view.compact;
        let banks = compact.banks();
        let mut only: Vec<Vec<Window>> = vec![Vec::new(); banks];
        for task in (0..compact.len()).filter(|&t| !compact.flexible[t]) {
            let mut at =
                (task * banks..(task + 1) * banks).filter(|&i| view.seconds[i].is_finite());
            if let (Some(i), None) = (at.next(), at.next()) {
                only[i % banks].push(Window {
                    head: levels.head[i],
                    seconds: view.seconds[i],
                    tail: levels.tail[i],
                    width: 1.0,
                });
            }
        }
        (0..banks)
            .filter(|&s| only[s].len() > 1)
            .map(|s| interval::bound(&only[s], &compact.certain[compact.cores(s)], target, 200))
            .fold(0.0, f64::max)
    }
}
