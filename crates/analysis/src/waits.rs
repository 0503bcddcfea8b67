//! The chain of waits that decided the makespan of a run, and the same run with less of one cause.
//!
//! From the last end backwards: what a task ran, what it waited for before that, then the same of the
//! parent that ended last, to the begin of the run. The links of a chain follow each other without a gap,
//! so that their seconds add up to the makespan.

use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

/// One task of a run, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Tasks it waits for.
    pub parents: Vec<usize>,
    /// Date at which the first attempt was handed to a queue, where there is one.
    pub submitted: Option<f64>,
    /// Start and end of the attempt that counted.
    pub ran: Option<(f64, f64)>,
    /// Host it ran on.
    pub host: usize,
    /// Cores it held.
    pub cores: u32,
    /// Attempts before, by start and end.
    pub earlier: Vec<(f64, f64)>,
    /// Transfers it waited for, by start and end.
    pub fetches: Vec<(f64, f64)>,
}

/// A run: dates in seconds on one clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    /// Begin of the run.
    pub began: f64,
    /// Tasks.
    pub steps: Vec<Step>,
    /// Cores of each host.
    pub cores: Vec<u32>,
}

/// The cause of a stretch of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The task computed.
    Ran,
    /// Inputs were on their way.
    Data,
    /// No host had as many free cores as the task takes.
    Slot,
    /// The task was submitted and had room, and the queue did not start it.
    Queue,
    /// The engine had not submitted or started it though it could have.
    Engine,
    /// Attempts that failed, and the time until the next.
    Repeated,
}

impl Cause {
    /// All causes, in order of report.
    pub const ALL: [Cause; 6] =
        [Cause::Ran, Cause::Data, Cause::Slot, Cause::Queue, Cause::Engine, Cause::Repeated];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Ran => "ran",
            Cause::Data => "waited for data",
            Cause::Slot => "waited for a slot",
            Cause::Queue => "in the queue",
            Cause::Engine => "waited for the engine",
            Cause::Repeated => "repeated after failure",
        }
    }
}

/// A stretch of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Link {
    /// The task, by position.
    pub task: usize,
    /// Its cause.
    pub cause: Cause,
    /// Begin, in seconds after the begin of the run.
    pub from: f64,
    /// End.
    pub to: f64,
}

/// The chain of waits, from the begin of the run to its end.
pub fn chain(run: &Steps) -> Vec<Link> {
    let busy = Busy::of(run);
    let end = |task: usize| run.steps[task].ran.map(|(_, end)| end);
    let mut links = Vec::new();
    let last = (0..run.steps.len()).filter(|&t| end(t).is_some());
    let Some(mut task) =
        last.max_by(|&a, &b| end(a).partial_cmp(&end(b)).expect("finite dates").then(b.cmp(&a)))
    else {
        return links;
    };
    let mut until = end(task).unwrap_or(run.began);
    loop {
        let step = &run.steps[task];
        let (start, _) = step.ran.unwrap_or((until, until));
        push(&mut links, task, Cause::Ran, start.min(until), until);
        let mut begun = start.min(until);
        if let Some(first) =
            step.earlier.iter().map(|e| e.0).min_by(f64::total_cmp).filter(|&f| f < begun)
        {
            push(&mut links, task, Cause::Repeated, first, begun);
            begun = first;
        }
        let parents = step.parents.iter().copied().filter(|&p| end(p).is_some_and(|e| e <= begun));
        let parent = parents
            .max_by(|&a, &b| end(a).partial_cmp(&end(b)).expect("finite dates").then(b.cmp(&a)));
        let ready = parent.and_then(end).unwrap_or(run.began).min(begun);
        wait(&mut links, run, &busy, task, ready, begun);
        match parent {
            Some(parent) => (task, until) = (parent, ready),
            None => break,
        }
    }
    links.reverse();
    for link in &mut links {
        link.from -= run.began;
        link.to -= run.began;
    }
    links
}

fn push(links: &mut Vec<Link>, task: usize, cause: Cause, from: f64, to: f64) {
    if to > from {
        match links.last_mut() {
            Some(last) if last.task == task && last.cause == cause && last.from == to => {
                last.from = from
            }
            _ => links.push(Link { task, cause, from, to }),
        }
    }
}

/// Splits the time between the moment a task could run and the moment it did, latest part first.
fn wait(links: &mut Vec<Link>, run: &Steps, busy: &Busy, task: usize, from: f64, to: f64) {
    let step = &run.steps[task];
    let first = busy.changes.partition_point(|&at| at <= from);
    let last = busy.changes.partition_point(|&at| at < to);
    let mut cuts: Vec<f64> = busy.changes.get(first..last).unwrap_or_default().to_vec();
    cuts.extend(step.submitted.filter(|&at| at > from && at < to));
    cuts.extend(step.fetches.iter().flat_map(|f| [f.0, f.1]).filter(|&at| at > from && at < to));
    cuts.extend([from, to]);
    cuts.sort_by(f64::total_cmp);
    for pair in cuts.windows(2).rev() {
        let middle = (pair[0] + pair[1]) / 2.0;
        let cause = if step.fetches.iter().any(|f| f.0 <= middle && middle < f.1) {
            Cause::Data
        } else if busy.is_full(step.cores, middle) {
            Cause::Slot
        } else if step.submitted.is_some_and(|at| at <= middle) {
            Cause::Queue
        } else {
            Cause::Engine
        };
        push(links, task, cause, pair[0], pair[1]);
    }
}

/// The room on the hosts between any two changes.
struct Busy {
    changes: Vec<f64>,
    /// Per change: most cores that are free on any one host from then on.
    room: Vec<u32>,
}

impl Busy {
    fn of(run: &Steps) -> Busy {
        let mut events: Vec<(f64, bool, usize, u32)> = Vec::new();
        for step in &run.steps {
            for (start, end) in step.earlier.iter().copied().chain(step.ran).filter(|(s, e)| e > s)
            {
                events.push((start, true, step.host, step.cores));
                events.push((end, false, step.host, step.cores));
            }
        }
        events.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut busy = Busy { changes: Vec::new(), room: Vec::new() };
        let mut held = vec![0u32; run.cores.len()];
        // Hosts by their free cores.
        let mut free: BTreeMap<u32, usize> = BTreeMap::new();
        run.cores.iter().for_each(|&cores| *free.entry(cores).or_default() += 1);
        for (at, begins, host, cores) in events {
            let (Some(held), Some(&all)) = (held.get_mut(host), run.cores.get(host)) else {
                continue;
            };
            let before = all.saturating_sub(*held);
            *held = if begins { *held + cores } else { held.saturating_sub(cores) };
            if let Some(count) = free.get_mut(&before) {
                *count -= 1;
                if *count == 0 {
                    free.remove(&before);
                }
            }
            *free.entry(all.saturating_sub(*held)).or_default() += 1;
            let room = free.last_key_value().map_or(0, |(&cores, _)| cores);
            if busy.changes.last() == Some(&at) {
                busy.room.pop();
                busy.changes.pop();
            }
            busy.changes.push(at);
            busy.room.push(room);
        }
        busy
    }

    fn is_full(&self, cores: u32, at: f64) -> bool {
        let index = self.changes.partition_point(|&change| change <= at);
        index.checked_sub(1).is_some_and(|index| self.room[index] < cores)
    }
}

/// Seconds of a chain by cause.
pub fn by_cause(links: &[Link]) -> BTreeMap<Cause, f64> {
    let mut sums = BTreeMap::new();
    for link in links {
        *sums.entry(link.cause).or_insert(0.0) += link.to - link.from;
    }
    sums
}

/// The differences of a repeated run from the original.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Factor of the cores of each host.
    pub slots: u32,
    /// Whether tasks wait in the queue as long as they did.
    pub queue: bool,
    /// Whether attempts fail as they did.
    pub failures: bool,
}

impl Change {
    /// Everything as it was.
    pub const NONE: Change = Change { slots: 1, queue: true, failures: true };
}

/// Repeats a run task by task, in the order of their starts: each begins once its parents have ended, its
/// waits other than for slots have passed (those after its last wait for a slot, once there is one), and a host has
/// room (its own if possible). Returns the makespan.
pub fn repeat(run: &Steps, change: Change) -> f64 {
    let busy = Busy::of(run);
    let count = run.steps.len();
    let mut order: Vec<usize> = (0..count).filter(|&t| run.steps[t].ran.is_some()).collect();
    let first = |t: usize| {
        let step = &run.steps[t];
        let starts = step.earlier.iter().map(|e| e.0).chain(step.ran.map(|r| r.0));
        starts.fold(f64::INFINITY, f64::min)
    };
    order.sort_by(|&a, &b| first(a).total_cmp(&first(b)).then(a.cmp(&b)));
    let place: BTreeMap<usize, usize> = order.iter().enumerate().map(|(at, &t)| (t, at)).collect();
    let mut plans: Vec<(f64, f64)> = vec![(0.0, 0.0); count]; // delay once ready, seconds
    let mut late = vec![0.0; count]; // delay once there is a slot
    for &task in &order {
        let step = &run.steps[task];
        let begun = first(task);
        let parents = step.parents.iter().filter_map(|&p| run.steps[p].ran).map(|r| r.1);
        let ready = parents.filter(|&end| end <= begun).fold(run.began, f64::max).min(begun);
        let mut links = Vec::new();
        wait(&mut links, run, &busy, task, ready, begun);
        let counts = |cause: Cause| match cause {
            Cause::Slot => false,
            Cause::Queue => change.queue,
            _ => true,
        };
        // The latest link comes first: what follows the last wait for a slot is no part of the delay before it.
        let after = links.iter().position(|l| l.cause == Cause::Slot).unwrap_or(0);
        let seconds_of = |links: &[Link]| -> f64 {
            links.iter().filter(|l| counts(l.cause)).map(|l| l.to - l.from).sum()
        };
        late[task] = seconds_of(&links[..after]);
        let delay = seconds_of(&links[after..]);
        let (start, end) = step.ran.unwrap_or((begun, begun));
        let seconds = if change.failures { end - begun } else { end - start };
        plans[task] = (delay, seconds);
    }
    let cores: Vec<u32> = run.cores.iter().map(|&c| c.saturating_mul(change.slots)).collect();
    let mut free = cores.clone();
    let mut ends: Vec<Option<f64>> = vec![None; count];
    let mut missing: Vec<usize> = vec![0; count];
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); count];
    for &task in &order {
        for &parent in run.steps[task].parents.iter().filter(|p| place.contains_key(p)) {
            // A task that began before its parent ended did not wait for it.
            if run.steps[parent].ran.is_some_and(|r| r.1 <= first(task)) {
                missing[task] += 1;
                children[parent].push(task);
            }
        }
    }
    // Events in order of date: a task may start (its delay has passed), or ends.
    let mut events: std::collections::BinaryHeap<std::cmp::Reverse<(Date, u8, usize, usize)>> =
        Default::default();
    let mut waiting: std::collections::BTreeSet<(usize, usize)> = Default::default();
    for &task in order.iter().filter(|&&t| missing[t] == 0) {
        events.push(std::cmp::Reverse((Date(run.began + plans[task].0), 1, task, 0)));
    }
    // With as many slots as there were, tasks of a host begin in the order in which they did: an engine may keep a slot
    // for a task that is about to become ready.
    let own_host = |task: usize| run.steps[task].host.min(cores.len().saturating_sub(1));
    let mut turns: Vec<VecDeque<usize>> = vec![VecDeque::new(); cores.len()];
    if change.slots == 1 {
        order.iter().for_each(|&task| turns[own_host(task)].push_back(task));
    }
    let mut now = run.began;
    while let Some(std::cmp::Reverse((Date(at), kind, task, host))) = events.pop() {
        now = at;
        if kind == 0 {
            free[host] += run.steps[task].cores.min(cores[host]);
            ends[task] = Some(at);
            for &child in &children[task] {
                missing[child] -= 1;
                if missing[child] == 0 {
                    events.push(std::cmp::Reverse((Date(at + plans[child].0), 1, child, 0)));
                }
            }
        } else {
            waiting.insert((place[&task], task));
        }
        if events.peek().is_some_and(|next| next.0.0.0 <= at) {
            continue;
        }
        let mut begun = Vec::new();
        let mut left: u64 = free.iter().map(|&cores| u64::from(cores)).sum();
        for &(at_place, task) in &waiting {
            if left == 0 {
                break;
            }
            let step = &run.steps[task];
            let fits = |host: usize| free[host] >= step.cores.min(cores[host]) && cores[host] >= 1;
            let own = own_host(task);
            if turns.get(own).and_then(VecDeque::front).is_some_and(|&next| next != task) {
                continue;
            }
            let host = std::iter::once(own).chain(0..cores.len()).find(|&h| fits(h));
            let may_move = change.slots > 1;
            if let Some(host) = host.filter(|&h| may_move || h == own) {
                turns.get_mut(own).and_then(VecDeque::pop_front);
                free[host] -= step.cores.min(cores[host]);
                left -= u64::from(step.cores.min(cores[host]));
                let end = at + late[task] + plans[task].1;
                events.push(std::cmp::Reverse((Date(end), 0, task, host)));
                begun.push((at_place, task));
            }
        }
        for task in &begun {
            waiting.remove(task);
        }
    }
    now - run.began
}

#[derive(Clone, Copy, PartialEq)]
struct Date(f64);

impl Eq for Date {}

impl Ord for Date {
    fn cmp(&self, other: &Date) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Date {
    fn partial_cmp(&self, other: &Date) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(parents: &[usize], start: f64, end: f64) -> Step {
        Step { parents: parents.to_vec(), ran: Some((start, end)), cores: 1, ..Step::default() }
    }

    /// Two slots: 0 and 1 side by side, 2 waits for a slot though it has no parents, 3 for the queue.
    fn example() -> Steps {
        let mut steps = vec![
            step(&[], 1.0, 5.0),
            step(&[], 1.0, 9.0),
            step(&[], 5.0, 11.0),
            Step { submitted: Some(11.5), ..step(&[2], 13.0, 20.0) },
        ];
        steps[2].earlier = Vec::new();
        Steps { began: 0.0, steps, cores: vec![2] }
    }

    #[test]
    fn the_links_add_up_and_say_why() {
        let links = chain(&example());
        let told: Vec<(usize, Cause, f64, f64)> =
            links.iter().map(|l| (l.task, l.cause, l.from, l.to)).collect();
        let expected = [
            (2, Cause::Engine, 0.0, 1.0),
            (2, Cause::Slot, 1.0, 5.0),
            (2, Cause::Ran, 5.0, 11.0),
            (3, Cause::Engine, 11.0, 11.5),
            (3, Cause::Queue, 11.5, 13.0),
            (3, Cause::Ran, 13.0, 20.0),
        ];
        assert_eq!(told, expected);
        assert_eq!(by_cause(&links).values().sum::<f64>(), 20.0);
    }

    #[test]
    fn a_repeated_run_ends_as_it_did_or_sooner() {
        let run = example();
        assert_eq!(repeat(&run, Change::NONE), 20.0);
        assert_eq!(repeat(&run, Change { queue: false, ..Change::NONE }), 18.5);
        assert_eq!(repeat(&run, Change { slots: 2, ..Change::NONE }), 16.0);
        let mut failing = run.clone();
        failing.steps[3].earlier = vec![(11.0, 12.0)];
        assert_eq!(repeat(&failing, Change::NONE), 20.0);
        assert_eq!(repeat(&failing, Change { failures: false, ..Change::NONE }), 18.0);
        let causes = by_cause(&chain(&failing));
        assert_eq!(causes[&Cause::Repeated], 2.0);
    }
}
