//! A recorded run in Slackline's own terms: workflow, platform, trace and the plan that was followed.

use crate::engines::Engine;
use crate::record::{Attempt, Outcome, RecordedRun, value};
use slackline_formats::document::{Recorded, RecordedMachine, RecordedTask, Run, RuntimeSystem};
use slackline_formats::{Document, FormatError, platform_toml};
use slackline_io::Result;
use slackline_model::trace::{Happening, Record};
use slackline_model::units::Quantity;
use slackline_model::workflow::{Command, REFERENCE_SPEED, Task};
use slackline_model::{
    FileId, HostId, Placement, Platform, ProcId, Schedule, TaskId, Trace, WorkflowBuilder,
};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

/// Bandwidth of hosts where no transfer was measured, in bytes per second.
const ASSUMED_BANDWIDTH: f64 = 1.25e8;

/// Most cores of one attempt; larger numbers are treated as errors of the records.
const MOST_WIDTH: f64 = 65_536.0;
/// Fraction of the busy time for which attempts may overlap beyond the recorded cores of a host, before the recorded
/// number is taken to be wrong.
const OVERLAP: f64 = 0.02;
/// Most cores of a host.
const MOST_CORES: f64 = 1_000_000.0;

impl RecordedRun {
    /// Cores an attempt held, rounded up to a width of at least 1.
    fn width(&self, attempt: &Attempt) -> u32 {
        value(attempt.cores).map_or(1, |cores| cores.ceil().clamp(1.0, MOST_WIDTH) as u32)
    }

    /// The workflow with what was recorded of it.
    pub fn document(&self) -> Result<Document> {
        let fail = |e: slackline_model::workflow::WorkflowError| FormatError::new(e);
        let mut builder = WorkflowBuilder::new(self.name.clone());
        let mut recorded = Recorded {
            runtime_system: Some(RuntimeSystem {
                name: Some(self.engine.name().to_string()),
                version: self.version.clone(),
                url: None,
            }),
            ..Recorded::default()
        };
        let written = |date: f64| crate::dates::write(self.zero + date);
        let producers = self.producers();
        let speeds = self.relative_speeds();
        for task in &self.tasks {
            let last = task.last();
            let speed = last.map_or(1.0, |a| self.speed_of(speeds.as_deref(), a));
            let seconds = last.and_then(Attempt::seconds);
            let width = last.map_or(1, |attempt| self.width(attempt));
            let peak = last.and_then(|a| value(a.peak_memory)).unwrap_or(0.0);
            builder
                .add_task(Task {
                    name: task.name.clone(),
                    kind: task.kind.clone(),
                    work: seconds.unwrap_or(0.0) * speed * REFERENCE_SPEED,
                    min_width: width,
                    max_width: width,
                    memory: peak,
                    command: task.command.clone().map(Command::shell),
                    ..Task::new("", 0.0)
                })
                .map_err(fail)?;
            let of_host = last.and_then(|a| a.host).map(|host| self.hosts[host].name.clone());
            recorded.tasks.push(RecordedTask {
                timed: seconds.is_some(),
                executed_at: last.and_then(|a| value(a.start)).map(written),
                cores: last.and_then(|a| value(a.cores)),
                average_cpu: last
                    .and_then(|a| Some(value(a.cpu)? / a.seconds().filter(|s| *s > 0.0)? * 100.0)),
                read_bytes: last.and_then(|a| value(a.read)),
                written_bytes: last.and_then(|a| value(a.written)),
                machines: of_host.into_iter().collect(),
                ..RecordedTask::default()
            });
        }
        let used: Vec<bool> = {
            let mut used = vec![false; self.files.len()];
            let named = self.tasks.iter().flat_map(|t| t.inputs.iter().chain(&t.outputs));
            named.for_each(|&file| used[file] = true);
            used
        };
        let mut ids = vec![FileId(0); self.files.len()];
        for (index, file) in self.files.iter().enumerate().filter(|(i, _)| used[*i]) {
            let bytes = value(file.bytes).unwrap_or(0.0);
            ids[index] = builder.add_file(&file.name, bytes).map_err(fail)?;
        }
        for (index, task) in self.tasks.iter().enumerate() {
            let id = TaskId(index as u32);
            for &file in &task.outputs {
                if producers[file] == Some(index) {
                    builder.writes(id, ids[file]).map_err(fail)?;
                }
            }
            task.inputs.iter().for_each(|&file| builder.reads(id, ids[file]));
        }
        for (index, task) in self.tasks.iter().enumerate() {
            for &(parent, _) in &task.after {
                builder.add_control(TaskId(parent as u32), TaskId(index as u32)).map_err(fail)?;
            }
        }
        recorded.run = Some(Run {
            makespan_seconds: self.makespan(),
            executed_at: self.first_date().map(written),
            machines: self
                .hosts
                .iter()
                .enumerate()
                .map(|(index, host)| RecordedMachine {
                    name: host.name.clone(),
                    cores: value(host.cores),
                    memory_bytes: value(host.memory),
                    // The format has MHz: one flop per cycle is assumed.
                    speed_mhz: speeds.as_ref().map(|speeds| speeds[index] * REFERENCE_SPEED / 1e6),
                    ..RecordedMachine::default()
                })
                .collect(),
        });
        let workflow = builder.build().map_err(fail)?;
        Ok(Document { recorded: Some(recorded), ..Document::new(workflow) })
    }

    /// Most cores that tasks held at once on each host.
    fn peak_cores(&self) -> Vec<u32> {
        let mut changes: Vec<Vec<(f64, i64)>> = vec![Vec::new(); self.hosts.len()];
        let mut widest = vec![1; self.hosts.len()];
        for attempt in self.tasks.iter().flat_map(|t| &t.attempts) {
            if let Some(host) = attempt.host {
                widest[host] = self.width(attempt).max(widest[host]);
            }
            let (Some(host), Some(start), Some(end)) =
                (attempt.host, value(attempt.start), value(attempt.end))
            else {
                continue;
            };
            if end > start {
                let width = i64::from(self.width(attempt));
                changes[host].push((start, width));
                changes[host].push((end, -width));
            }
        }
        changes
            .into_iter()
            .enumerate()
            .map(|(host, mut changes)| {
                // At one date, ends come before starts.
                changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                let recorded = value(self.hosts[host].cores).map_or(f64::INFINITY, f64::floor);
                let (mut now, mut peak, mut since) = (0i64, 0i64, f64::NAN);
                let (mut busy, mut above) = (0.0, 0.0);
                for (at, by) in changes {
                    let lasted = at - since;
                    if now > 0 && lasted > 0.0 {
                        busy += lasted;
                        above += if now as f64 > recorded { lasted } else { 0.0 };
                    }
                    now += by;
                    peak = peak.max(now);
                    since = at;
                }
                // Engines often record an end a little after the next start.
                if above <= OVERLAP * busy && recorded >= 1.0 {
                    peak = peak.min(recorded.min(MOST_CORES) as i64);
                }
                (peak.max(0) as u32).max(widest[host])
            })
            .collect()
    }

    /// Cores of each host, and whether they were recorded; otherwise the most that tasks held at once.
    pub fn cores(&self) -> Vec<(u32, bool)> {
        let peaks = self.peak_cores();
        let of = |(host, peak): (&crate::record::HostRecord, u32)| match value(host.cores) {
            Some(cores) if cores >= f64::from(peak) => (cores.min(MOST_CORES) as u32, true),
            _ => (peak, false),
        };
        self.hosts.iter().zip(peaks).map(of).collect()
    }

    /// Median bandwidth of the measured transfers, in bytes per second.
    pub fn bandwidth(&self) -> Option<f64> {
        let rates = self.transfers.iter().filter_map(|t| Some(t.bytes? / (t.end - t.start)));
        let mut rates: Vec<f64> = rates.filter(|r| r.is_finite() && *r > 0.0).collect();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied()
    }

    /// Whether the hosts shared their storage: assumed of every engine that works on a shared file system, and of our
    /// own runs that transferred nothing.
    pub fn shares_storage(&self) -> bool {
        match self.engine {
            Engine::Dask => false,
            Engine::Slackline => self.transfers.is_empty(),
            _ => true,
        }
    }

    /// The platform as TOML text.
    pub fn platform_toml(&self) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let mut text = format!("name = {}\n", quoted(&format!("{} ({})", self.name, self.engine)));
        if self.shares_storage() {
            text.push_str("\n[site.recorded]\nshared-storage = true    # files are where tasks look for them\n");
        }
        let bandwidth = self.bandwidth();
        let speeds = self.relative_speeds();
        for (index, (host, (cores, known))) in self.hosts.iter().zip(self.cores()).enumerate() {
            text.push_str(&format!("\n[host.{}]\ncores = {cores}", quoted(&host.name)));
            text.push_str(if known { "\n" } else { "    # as many as tasks held at once\n" });
            let (speed, why) = match &speeds {
                Some(speeds) => {
                    (speeds[index], "beside the other hosts, by kinds of tasks that ran on several")
                }
                None => (1.0, "recorded seconds count as they are"),
            };
            text.push_str(&format!(
                "speed = {}    # {why}\n",
                quoted(&Quantity::Speed.write(speed * REFERENCE_SPEED))
            ));
            if let Some(memory) = value(host.memory) {
                text.push_str(&format!("memory = {}\n", quoted(&Quantity::Size.write(memory))));
            }
            if self.shares_storage() {
                text.push_str("site = \"recorded\"\n");
            } else {
                let rate =
                    quoted(&Quantity::Bandwidth.write(bandwidth.unwrap_or(ASSUMED_BANDWIDTH)));
                let why = if bandwidth.is_some() {
                    "median of the measured transfers"
                } else {
                    "assumed"
                };
                text.push_str(&format!("bandwidth = {rate}    # {why}\n"));
            }
        }
        text
    }

    /// The platform.
    pub fn platform(&self) -> Result<Platform> {
        platform_toml::parse(&self.platform_toml())
    }

    /// The cores each attempt held, as processors of [`RecordedRun::platform`]: records contain only their number, and
    /// [`Cores`] chooses them.
    fn processors(&self) -> Vec<Vec<Vec<ProcId>>> {
        let cores = self.cores();
        let mut first = Vec::with_capacity(cores.len());
        let mut total = 0u32;
        for (cores, _) in &cores {
            first.push(total);
            total = total.saturating_add(*cores);
        }
        let mut order: Vec<(usize, usize)> = Vec::new();
        for (index, task) in self.tasks.iter().enumerate() {
            order.extend((0..task.attempts.len()).map(|attempt| (index, attempt)));
        }
        let at = |&(task, attempt): &(usize, usize)| &self.tasks[task].attempts[attempt];
        let start = |pair: &(usize, usize)| value(at(pair).start).unwrap_or(f64::MAX);
        order.sort_by(|a, b| start(a).total_cmp(&start(b)).then(a.cmp(b)));
        let mut held: Vec<Cores> = cores.iter().map(|(cores, _)| Cores::of(*cores)).collect();
        let mut result: Vec<Vec<Vec<ProcId>>> =
            self.tasks.iter().map(|t| vec![Vec::new(); t.attempts.len()]).collect();
        for pair in &order {
            let attempt = at(pair);
            let (Some(host), Some(start), Some(end)) =
                (attempt.host, value(attempt.start), value(attempt.end))
            else {
                continue;
            };
            let chosen = held[host].take(self.width(attempt), start, end);
            result[pair.0][pair.1] =
                chosen.into_iter().map(|core| ProcId(first[host].saturating_add(core))).collect();
        }
        result
    }

    /// The trace of the run, from its first date on.
    pub fn trace(&self) -> Trace {
        let zero = self.first_date().unwrap_or(0.0);
        let procs = self.processors();
        // Of one date: ends (0), then starts (1), then ends of attempts without length (2).
        let mut records: Vec<(f64, u8, Happening)> = Vec::new();
        for (index, task) in self.tasks.iter().enumerate() {
            let id = TaskId(index as u32);
            for (number, attempt) in task.attempts.iter().enumerate() {
                let (Some(start), Some(end)) = (value(attempt.start), value(attempt.end)) else {
                    continue;
                };
                let of_attempt = procs[index][number].clone();
                if of_attempt.is_empty() || attempt.outcome == Outcome::Cached {
                    continue;
                }
                records.push((
                    start - zero,
                    1,
                    Happening::TaskStarted { task: id, procs: of_attempt },
                ));
                let rank = if end > start { 0 } else { 2 };
                let happening = match attempt.outcome {
                    Outcome::Completed | Outcome::Cached => Happening::TaskFinished { task: id },
                    Outcome::Cancelled => Happening::TaskCancelled { task: id },
                    Outcome::TimedOut => failed(id, "time limit"),
                    Outcome::OutOfMemory => failed(id, "out of memory"),
                    Outcome::Failed | Outcome::Open => match attempt.exit {
                        Some(code) => failed(id, &format!("exit code {code}")),
                        None => failed(id, "failed"),
                    },
                };
                records.push((end - zero, rank, happening));
            }
        }
        let producers = self.producers();
        let exported = self.exported_files();
        for transfer in &self.transfers {
            let (from, to) = (HostId(transfer.from as u32), HostId(transfer.to as u32));
            let inputs = self.tasks[transfer.task].inputs.iter();
            let is_there = |&&file: &&usize| {
                let maker = producers[file].and_then(|p| self.tasks[p].last());
                maker.and_then(|a| a.host) == Some(transfer.from)
            };
            for &file in inputs.filter(is_there) {
                let Some(file_id) = exported[file] else { continue };
                let bytes = value(self.files[file].bytes).unwrap_or(0.0);
                let began = Happening::TransferStarted { file: file_id, from, to, bytes };
                records.push((transfer.start - zero, 1, began));
                let ended = Happening::TransferFinished { file: file_id, from, to, bytes: None };
                records.push((transfer.end - zero, 0, ended));
            }
        }
        records.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut trace = Trace::default();
        records.into_iter().for_each(|(at, _, what)| trace.push(at.max(0.0), what));
        trace
    }

    /// The ids of files in the exported workflow, which leaves out files that no task uses.
    fn exported_files(&self) -> Vec<Option<FileId>> {
        let mut used = vec![false; self.files.len()];
        let named = self.tasks.iter().flat_map(|t| t.inputs.iter().chain(&t.outputs));
        named.for_each(|&file| used[file] = true);
        let mut next = 0;
        let number = |used: bool| {
            next += u32::from(used);
            used.then(|| FileId(next - 1))
        };
        used.into_iter().map(number).collect()
    }

    /// Position of the attempt that represents a task in a plan: the one with the result, else the last with
    /// dates.
    pub(crate) fn planned_attempt(&self, task: usize) -> Option<usize> {
        let attempts = &self.tasks[task].attempts;
        let dated = |a: &Attempt| a.start.is_some() && a.end.is_some() && a.host.is_some();
        let succeeded = attempts.iter().rposition(|a| a.outcome.is_success() && dated(a));
        succeeded.or_else(|| attempts.iter().rposition(dated))
    }

    /// The placements of the attempts that represent their tasks. A task without dates has no length; it is on the first
    /// processor of the parent that ended last, at the end of that parent.
    pub fn schedule(&self) -> Schedule {
        let zero = self.first_date().unwrap_or(0.0);
        let procs = self.processors();
        let mut placements: Vec<Option<Placement>> = (0..self.tasks.len())
            .map(|index| {
                let number = self.planned_attempt(index)?;
                let attempt = &self.tasks[index].attempts[number];
                let (start, end) = (value(attempt.start)?, value(attempt.end)?);
                let held = &procs[index][number];
                (!held.is_empty()).then(|| Placement::wide(held, start - zero, end - zero))
            })
            .collect();
        let parents = self.parents();
        for index in order(&parents) {
            if placements[index].is_some() {
                continue;
            }
            let of_parents = parents[index].iter().filter_map(|&p| placements[p].as_ref());
            let last = of_parents.max_by(|a, b| a.finish.total_cmp(&b.finish));
            let (at, proc) = last.map_or((0.0, ProcId(0)), |p| (p.finish, p.procs()[0]));
            placements[index] = Some(Placement::wide(&[proc], at, at));
        }
        Schedule { placements, ..Schedule::default() }
    }

    /// The records of the trace, for writers that take them one by one.
    pub fn records(&self) -> Vec<Record> {
        self.trace().records().to_vec()
    }
}

/// A date with a total order, as a key of sets.
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

/// The cores of a host, as attempts take them in the order of their starts.
struct Cores {
    /// Those that were never taken.
    fresh: Range<u32>,
    /// Those that were released, by the latest release (equal ones: the lower core), so that few cores are used.
    free: BTreeSet<(Reverse<Date>, u32)>,
    /// Held ones, by their releases.
    held: BTreeSet<(Date, u32)>,
}

impl Cores {
    fn of(count: u32) -> Cores {
        Cores { fresh: 0..count, free: BTreeSet::new(), held: BTreeSet::new() }
    }

    /// The cores that an attempt takes, ascending. Where too few are free (records overlap), also held ones, those that
    /// are released first.
    fn take(&mut self, width: u32, start: f64, end: f64) -> Vec<u32> {
        while let Some(&(release, core)) = self.held.first().filter(|(at, _)| at.0 <= start) {
            self.held.remove(&(release, core));
            self.free.insert((Reverse(release), core));
        }
        let mut chosen = Vec::new();
        let mut until = end;
        while chosen.len() < width as usize {
            let free = self.free.pop_first().map(|(_, core)| core);
            if let Some(core) = free.or_else(|| self.fresh.next()) {
                chosen.push(core);
            } else if let Some((release, core)) = self.held.pop_first() {
                until = until.max(release.0);
                chosen.push(core);
            } else {
                break;
            }
        }
        self.held.extend(chosen.iter().map(|&core| (Date(until), core)));
        chosen.sort_unstable();
        chosen
    }
}

/// Tasks in a topological order; those on cycles are left out.
fn order(parents: &[Vec<usize>]) -> Vec<usize> {
    let mut missing: Vec<usize> = parents.iter().map(Vec::len).collect();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); parents.len()];
    for (child, of_task) in parents.iter().enumerate() {
        of_task.iter().for_each(|&parent| children[parent].push(child));
    }
    let mut order: Vec<usize> = (0..parents.len()).filter(|&t| missing[t] == 0).collect();
    let mut next = 0;
    while let Some(&task) = order.get(next) {
        next += 1;
        for &child in &children[task] {
            missing[child] -= 1;
            if missing[child] == 0 {
                order.push(child);
            }
        }
    }
    order
}

fn failed(task: TaskId, reason: &str) -> Happening {
    Happening::TaskFailed { task, reason: reason.to_string() }
}
