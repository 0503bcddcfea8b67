//! The chain of waits that determined the makespan of a run (its critical path), and the makespan the run would have had
//! without one of the causes.
//!
//! The chain is found backwards from the task that ended last: the time in which the task ran, the waits before that,
//! and then the same for its parent that ended last, down to the begin of the run. Links follow each other without a
//! gap, so that their seconds add up to the makespan.

use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

/// One task of a run, as far as it is known. Dates are in seconds on the clock of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Tasks it depends on, by position in [`Steps::steps`].
    pub parents: Vec<usize>,
    /// Date at which the first attempt was handed to a queue, where there is one.
    pub submitted: Option<f64>,
    /// Start and end of the attempt that counted.
    pub ran: Option<(f64, f64)>,
    /// Host it ran on, by position in [`Steps::cores`].
    pub host: usize,
    /// Cores it held.
    pub cores: u32,
    /// Failed attempts before, by start and end.
    pub earlier: Vec<(f64, f64)>,
    /// Transfers it waited for, by start and end.
    pub fetches: Vec<(f64, f64)>,
}

/// A run: dates in seconds on one clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    /// Begin of the run.
    pub began: f64,
    /// Its tasks.
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
    /// No host had enough free cores for the task.
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

    /// The cause as text for people.
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

/// The chain of waits, from the begin of the run to its end. Ties between tasks that end together: lower position.
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

/// Splits the time from `from`, when a task was ready, to `to`, when it began, by cause, latest part first. Where several
/// causes apply, the first of data, slot, queue and engine counts.
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

/// Free cores of hosts over time.
struct Busy {
    /// Dates in order.
    changes: Vec<f64>,
    /// Per change: most cores free on any one host from then until the next.
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

    /// Seconds between two dates during which some host has at least `cores` free.
    fn seconds_with_room(&self, cores: u32, from: f64, to: f64) -> f64 {
        let first = self.changes.partition_point(|&at| at <= from);
        let last = self.changes.partition_point(|&at| at < to);
        let inside = self.changes.get(first..last).unwrap_or_default();
        let mut seconds = 0.0;
        let mut since = from;
        for &at in inside.iter().chain(std::iter::once(&to)) {
            if !self.is_full(cores, (since + at) / 2.0) {
                seconds += at - since;
            }
            since = at;
        }
        seconds
    }

    fn is_full(&self, cores: u32, at: f64) -> bool {
        let index = self.changes.partition_point(|&change| change <= at);
        index.checked_sub(1).is_some_and(|index| self.room[index] < cores)
    }
}

/// Sums of seconds of a chain by cause.
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

/// Repeats a run with a change, task by task, and returns its makespan in seconds. A task begins once its parents have
/// ended, its recorded waits for anything but a slot have passed, and a host has room (its own if possible, else the
/// lowest). Recorded waits exclude the times at which all hosts were full; therefore they also pass only while some host
/// has room. With unchanged slots, tasks of a host begin in their recorded order, since an engine may keep a slot for a
/// task that is about to become ready.
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
    let mut inputs: Vec<TaskInput> = vec![TaskInput::default(); count];
    let mut missing: Vec<usize> = vec![0; count];
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (place, &task) in order.iter().enumerate() {
        let step = &run.steps[task];
        let begun = first(task);
        // A task that began before its parent ended did not wait for it.
        let mut ready = run.began;
        for &parent in &step.parents {
            if let Some((_, end)) = run.steps[parent].ran.filter(|r| r.1 <= begun) {
                ready = ready.max(end);
                missing[task] += 1;
                children[parent].push(task);
            }
        }
        let mut links = Vec::new();
        wait(&mut links, run, &busy, task, ready.min(begun), begun);
        let counted = links.iter().filter(|l| change.queue || l.cause != Cause::Queue);
        let wait = counted.map(|l| busy.seconds_with_room(step.cores, l.from, l.to)).sum();
        let (start, end) = step.ran.unwrap_or((begun, begun));
        let seconds = if change.failures { end - begun } else { end - start };
        inputs[task] = TaskInput { place, wait, seconds };
    }
    Repetition::of(run, change, order, inputs).run(missing, &children)
}

/// Inputs of a repeated run for one task.
#[derive(Clone, Copy, Debug, Default)]
struct TaskInput {
    /// Position in the order of starts.
    place: usize,
    /// Seconds that it waits once ready, while a host has room for it.
    wait: f64,
    /// Seconds that it takes.
    seconds: f64,
}

/// Tasks of the same number of cores. They share a clock that advances only while some host has room for them.
#[derive(Debug, Default)]
struct Width {
    clock: f64,
    /// Clock at which tasks have waited, earliest first.
    due: BinaryHeap<Reverse<(Date, usize)>>,
}

/// A repeated run.
struct Repetition<'r> {
    run: &'r Steps,
    change: Change,
    inputs: Vec<TaskInput>,
    cores: Vec<u32>,
    free: Vec<u32>,
    /// Seconds since the begin of the run.
    now: f64,
    widths: BTreeMap<u32, Width>,
    /// Ends of tasks on hosts.
    ends: BinaryHeap<Reverse<(Date, usize, usize)>>,
    /// Tasks that need only a host, by position in the order of starts. Tasks of zero duration need none and are not here.
    waiting: BTreeSet<(usize, usize)>,
    /// By host, with unchanged slots: tasks of positive duration that have not begun, in their recorded order.
    pending: Vec<VecDeque<usize>>,
}

impl<'r> Repetition<'r> {
    fn of(
        run: &'r Steps,
        change: Change,
        order: Vec<usize>,
        inputs: Vec<TaskInput>,
    ) -> Repetition<'r> {
        let cores: Vec<u32> = run.cores.iter().map(|&c| c.saturating_mul(change.slots)).collect();
        let mut pending: Vec<VecDeque<usize>> = vec![VecDeque::new(); cores.len()];
        if change.slots == 1 {
            for task in order.into_iter().filter(|&task| inputs[task].seconds > 0.0) {
                if let Some(pending) = pending.get_mut(run.steps[task].host) {
                    pending.push_back(task);
                }
            }
        }
        Repetition {
            run,
            change,
            inputs,
            free: cores.clone(),
            cores,
            now: 0.0,
            widths: BTreeMap::new(),
            ends: BinaryHeap::new(),
            waiting: BTreeSet::new(),
            pending,
        }
    }

    fn run(mut self, mut missing: Vec<usize>, children: &[Vec<usize>]) -> f64 {
        for (task, step) in self.run.steps.iter().enumerate() {
            if step.ran.is_some() && missing[task] == 0 {
                self.ready(task);
            }
        }
        while let Some(at) = self.next() {
            let room = self.room();
            for (_, width) in self.widths.range_mut(..=room) {
                width.clock += at - self.now;
            }
            self.now = at;
            while let Some(&Reverse((Date(end), task, host))) = self.ends.peek()
                && end <= at
            {
                self.ends.pop();
                if self.inputs[task].seconds > 0.0 {
                    self.free[host] += self.held(task, host);
                }
                for &child in &children[task] {
                    missing[child] -= 1;
                    if missing[child] == 0 {
                        self.ready(child);
                    }
                }
            }
            self.collect_due();
            self.begin_tasks();
        }
        self.now
    }

    /// Cores a task takes of a host.
    fn held(&self, task: usize, host: usize) -> u32 {
        self.run.steps[task].cores.min(self.cores[host])
    }

    /// Most cores that are free on any one host.
    fn room(&self) -> u32 {
        self.free.iter().copied().max().unwrap_or(0)
    }

    /// Cores of a task, at most those of the largest host.
    fn width(&self, task: usize) -> u32 {
        self.run.steps[task].cores.min(self.cores.iter().copied().max().unwrap_or(0))
    }

    fn ready(&mut self, task: usize) {
        let wait = self.inputs[task].wait;
        let width = self.widths.entry(self.width(task)).or_default();
        width.due.push(Reverse((Date(width.clock + wait), task)));
    }

    /// Date of the next change.
    fn next(&self) -> Option<f64> {
        let room = self.room();
        let due = self.widths.range(..=room).filter_map(|(_, width)| {
            let Reverse((Date(due), _)) = width.due.peek()?;
            Some(self.now + (due - width.clock).max(0.0))
        });
        let end = self.ends.peek().map(|Reverse((Date(end), ..))| *end);
        due.chain(end).min_by(f64::total_cmp)
    }

    fn collect_due(&mut self) {
        for width in self.widths.values_mut() {
            // Rounding of sums stays below a microsecond.
            while let Some(&Reverse((Date(due), task))) = width.due.peek()
                && due <= width.clock + 1e-6
            {
                width.due.pop();
                if self.inputs[task].seconds > 0.0 {
                    self.waiting.insert((self.inputs[task].place, task));
                } else {
                    self.ends.push(Reverse((Date(self.now), task, self.run.steps[task].host)));
                }
            }
        }
    }

    fn begin_tasks(&mut self) {
        if self.change.slots == 1 {
            for host in 0..self.cores.len() {
                while let Some(&task) = self.pending[host].front()
                    && self.waiting.contains(&(self.inputs[task].place, task))
                    && self.held(task, host) <= self.free[host]
                {
                    self.pending[host].pop_front();
                    self.begin(task, host);
                }
            }
            return;
        }
        let mut left: u64 = self.free.iter().map(|&cores| u64::from(cores)).sum();
        let mut begun = Vec::new();
        for &(_, task) in &self.waiting {
            if left == 0 {
                break;
            }
            let own = self.run.steps[task].host.min(self.cores.len().saturating_sub(1));
            let fits = |&host: &usize| {
                self.held(task, host) <= self.free[host] && self.width(task) <= self.cores[host]
            };
            if let Some(host) = std::iter::once(own).chain(0..self.cores.len()).find(fits) {
                let held = self.held(task, host);
                left -= u64::from(held);
                self.free[host] -= held;
                begun.push((task, host));
            }
        }
        for (task, host) in begun {
            self.free[host] += self.held(task, host);
            self.begin(task, host);
        }
    }

    fn begin(&mut self, task: usize, host: usize) {
        self.waiting.remove(&(self.inputs[task].place, task));
        self.free[host] -= self.held(task, host);
        self.ends.push(Reverse((Date(self.now + self.inputs[task].seconds), task, host)));
    }
}

/// A finite number of seconds, ordered.
#[derive(Clone, Copy, Debug, PartialEq)]
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
        let found: Vec<(usize, Cause, f64, f64)> =
            links.iter().map(|l| (l.task, l.cause, l.from, l.to)).collect();
        let expected = [
            (2, Cause::Engine, 0.0, 1.0),
            (2, Cause::Slot, 1.0, 5.0),
            (2, Cause::Ran, 5.0, 11.0),
            (3, Cause::Engine, 11.0, 11.5),
            (3, Cause::Queue, 11.5, 13.0),
            (3, Cause::Ran, 13.0, 20.0),
        ];
        assert_eq!(found, expected);
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
    /// Tasks that wait for the engine side by side hold no slots meanwhile.
    #[test]
    fn waits_pass_while_there_is_room() {
        let mut steps = vec![step(&[], 0.0, 10.0), step(&[], 0.0, 12.0)];
        // All are ready at 10; the engine starts one after the other on two slots, though both are free at times.
        steps.extend(
            (0..8).map(|k| step(&[0], 13.0 + 5.0 * f64::from(k), 17.0 + 5.0 * f64::from(k))),
        );
        let run = Steps { began: 0.0, steps, cores: vec![2] };
        assert!((repeat(&run, Change::NONE) - 52.0).abs() < 1e-6);
        assert!((repeat(&run, Change { slots: 2, ..Change::NONE }) - 52.0).abs() < 1e-6);
    }
}
