//! Random small cases (workflow, platform and its changes, settings) with all kinds of failures, and the invariants that
//! have to hold in them. A [`World`] here is such a case; [`Course`] is what the model calls a world.

use crate::late::{DelayedBackend, Disorder};
use proptest::prelude::*;
use slackline_engine::{
    Backend, Dispatch, Ending, Execution, Inputs, Outcome, RunSnapshot, Settings, Simulated,
};
use slackline_model::platform::{
    DeclaredRoute, HostSpec, LinkSpec, PlatformBuilder, Profile, ProfileEvent, RoutingKind,
};
use slackline_model::scenario::{
    HostStory, LinkName, LinkStory, Moment, Outage, Scenario, World as Course,
};
use slackline_model::trace::Happening;
use slackline_model::workflow::CostTable;
use slackline_model::{
    FileId, HostId, Platform, Problem, ProcId, Task, TaskId, Workflow, WorkflowBuilder,
};
use slackline_react::gtp::{Period, rewound_tasks};
use slackline_react::registry::{self, Options};
use slackline_react::{Decision, Event, Policy, Situation, TaskState, Transfers};
use slackline_schedule::Need;
use slackline_schedule::registry::find;
use slackline_simulate::Models;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// An outage: date, duration (none: for ever), and whether the data of the host are kept; seconds.
pub type Off = (u32, Option<u32>, bool);

#[derive(Clone, Debug)]
pub struct World {
    /// Per task and host: seconds at full speed.
    pub times: Vec<Vec<f64>>,
    /// Parent, child, bytes.
    pub edges: Vec<(u32, u32, f64)>,
    /// Files: size in bytes, writer, readers.
    pub files: Vec<(u32, Option<u32>, Vec<u32>)>,
    /// Per task: whether it needs the memory of `roomy` hosts.
    pub large: Vec<bool>,
    /// Per host: whether it has that memory.
    pub roomy: Vec<bool>,
    pub cores: Vec<u32>,
    /// Levels of hosts in tenths, 0 included, by date.
    pub levels: Vec<BTreeMap<u32, u32>>,
    pub outages: Vec<Vec<Off>>,
    /// Levels of links in tenths by date.
    pub links: BTreeMap<(usize, usize), BTreeMap<u32, u32>>,
    /// Whether inputs are on the first host only.
    pub origin: bool,
    pub model: &'static str,
    pub transfers: Transfers,
    pub dispatch: Dispatch,
    /// Monitoring delay and decision time, in seconds.
    pub delays: (f64, f64),
    pub retries: u32,
}

/// Cases in which at most one host fails and inputs are everywhere.
pub fn plain() -> impl Strategy<Value = World> {
    worlds(false)
}

/// Cases in which any hosts may fail, also all at once, with shared files, memory and inputs at an origin.
pub fn harsh() -> impl Strategy<Value = World> {
    worlds(true)
}

fn worlds(harsh: bool) -> impl Strategy<Value = World> {
    let size = (2usize..14, 2usize..5);
    size.prop_flat_map(move |(tasks, hosts)| {
        let t = tasks as u32;
        let times = prop::collection::vec(prop::collection::vec(1u32..11, hosts), tasks);
        let edges = prop::collection::vec((0..t, 0..t, 0u32..9), 0..30);
        let least = if harsh { 0u32 } else { 1 };
        let slow = prop::collection::vec((0..hosts, 0u32..60, least..10), 0..8);
        let links = prop::collection::vec((0..hosts, 0..hosts, 0u32..60, 1u32..10), 0..8);
        // One host may fail for ever; the others continue.
        let death = prop::option::of((0..hosts, 1u32..40));
        let shared = prop::collection::vec(
            (1u32..9, prop::option::of(0..t), prop::collection::vec(0..t, 1..4)),
            0..if harsh { 4 } else { 1 },
        );
        let large = prop::collection::vec(prop::bool::weighted(0.2), tasks);
        let roomy = prop::collection::vec(any::<bool>(), hosts);
        let cores = prop::collection::vec(1u32..4, hosts);
        let away = (0..hosts, 0u32..40, prop::option::weighted(0.8, 1u32..15), any::<bool>());
        let away = prop::collection::vec(away, 0..if harsh { 6 } else { 1 });
        // An outage of all hosts.
        let all = prop::option::weighted(0.3, (1u32..30, 1u32..10, any::<bool>()));
        let way = (
            prop::sample::select(vec!["fifo", "matrix", "CM02"]),
            prop::sample::select(vec![
                Transfers::Push,
                Transfers::Pull { window: 1 },
                Transfers::Pull { window: 3 },
            ]),
            prop::sample::select(vec![Dispatch::InOrder, Dispatch::FirstReady]),
            prop::sample::select(vec![(0.0, 0.0), (2.5, 0.0), (0.0, 1.5), (4.0, 0.5)]),
            any::<bool>(),
        );
        ((times, edges, slow, links, death), (shared, large, roomy, cores, away, all), way)
    })
    .prop_map(move |((times, edges, slow, links, death), more, way)| {
        let (shared, large, mut roomy, cores, away, all) = more;
        let (model, transfers, dispatch, delays, origin) = way;
        let (tasks, hosts) = (times.len(), times[0].len());
        let times = times.into_iter().map(|r| r.into_iter().map(f64::from).collect()).collect();
        let mut seen = HashSet::new();
        let edges = edges.into_iter().filter(|&(a, b, _)| a < b && seen.insert((a, b)));
        let edges = edges.map(|(a, b, data)| (a, b, f64::from(data))).collect();
        // A file is written before it is read.
        let files = shared.into_iter().take(if harsh { 4 } else { 0 }).map(|(size, by, mut to)| {
            to.retain(|&reader| by.is_none_or(|writer| writer < reader));
            to.sort_unstable();
            to.dedup();
            (size, by, to)
        });
        let files = files.filter(|(.., readers)| !readers.is_empty()).collect();
        let mut outages: Vec<Vec<Off>> = vec![Vec::new(); hosts];
        if let Some((host, date)) = death {
            outages[host].push((date, None, false));
        }
        if harsh {
            for (host, from, lasts, keeps) in away {
                outages[host].push((from, lasts, keeps));
            }
            if let Some((from, lasts, keeps)) = all {
                outages.iter_mut().for_each(|of| of.push((from, Some(lasts), keeps)));
            }
        }
        for of in &mut outages {
            apart(of);
        }
        roomy[0] = true;
        let mut levels = vec![BTreeMap::new(); hosts];
        for (host, date, level) in slow {
            levels[host].insert(date, level);
        }
        // A host at level 0 continues in the end.
        for of_host in &mut levels {
            if of_host.last_key_value().is_some_and(|(_, &level)| level == 0) {
                of_host.insert(70, 5);
            }
        }
        let mut courses: BTreeMap<(usize, usize), BTreeMap<u32, u32>> = BTreeMap::new();
        for (a, b, date, level) in links {
            if a < b {
                courses.entry((a, b)).or_default().insert(date, level);
            }
        }
        World {
            times,
            edges,
            files,
            large: if harsh { large } else { vec![false; tasks] },
            roomy,
            cores: if harsh { cores } else { vec![1; hosts] },
            levels,
            outages,
            links: courses,
            origin: origin && harsh,
            model,
            transfers,
            dispatch,
            delays,
            retries: Settings::default().retries,
        }
    })
}

/// Sorts outages and drops those that overlap an earlier one.
fn apart(outages: &mut Vec<Off>) {
    outages.sort_unstable_by_key(|o| o.0);
    let mut free = Some(0);
    outages.retain(|&(from, lasts, _)| match free {
        Some(date) if from >= date => {
            free = lasts.map(|seconds| from + seconds + 1);
            true
        }
        _ => false,
    });
}

impl World {
    /// A case without changes: one core per host, inputs everywhere.
    pub fn still(times: Vec<Vec<f64>>, edges: &[(u32, u32, f64)]) -> World {
        let (tasks, hosts) = (times.len(), times[0].len());
        World {
            times,
            edges: edges.to_vec(),
            files: Vec::new(),
            large: vec![false; tasks],
            roomy: vec![true; hosts],
            cores: vec![1; hosts],
            levels: vec![BTreeMap::new(); hosts],
            outages: vec![Vec::new(); hosts],
            links: BTreeMap::new(),
            origin: false,
            model: "fifo",
            transfers: Transfers::Push,
            dispatch: Dispatch::default(),
            delays: (0.0, 0.0),
            retries: Settings::default().retries,
        }
    }

    pub fn workflow(&self) -> Workflow {
        let mut b = WorkflowBuilder::new("example");
        for (i, &large) in self.large.iter().enumerate() {
            let memory = if large { 8.0 } else { 0.0 };
            b.add_task(Task { memory, ..Task::new(format!("v{i}"), 1.0) }).unwrap();
        }
        for &(from, to, data) in &self.edges {
            b.add_edge(TaskId(from), TaskId(to), data).unwrap();
        }
        for (index, (bytes, writer, readers)) in self.files.iter().enumerate() {
            let file = b.add_file(&format!("f{index}"), f64::from(*bytes)).unwrap();
            if let Some(writer) = writer {
                b.writes(TaskId(*writer), file).unwrap();
            }
            readers.iter().for_each(|&reader| b.reads(TaskId(reader), file));
        }
        b.set_cost_table(CostTable {
            columns: (1..=self.cores.len()).map(|p| format!("p{p}")).collect(),
            seconds: self.times.concat(),
        });
        b.build().unwrap()
    }

    /// The platform at nominal levels.
    pub fn platform(&self) -> Platform {
        let mut b = PlatformBuilder::new("grid");
        let zone = b.add_zone(None, "grid-zone", RoutingKind::Full).unwrap();
        let mut ids = Vec::new();
        for (h, (&cores, &roomy)) in self.cores.iter().zip(&self.roomy).enumerate() {
            let memory = if roomy { None } else { Some(4.0) };
            let spec = HostSpec { cores, memory, ..HostSpec::new(format!("p{}", h + 1), 1.0) };
            ids.push(b.add_host(zone, spec).unwrap());
        }
        for i in 0..ids.len() {
            for j in i + 1..ids.len() {
                let link = b.add_link(LinkSpec::new(link(i, j), 1.0, 0.0)).unwrap();
                b.add_route(zone, DeclaredRoute::between(ids[i], ids[j], [link])).unwrap();
            }
        }
        b.build().unwrap()
    }

    pub fn course(&self, platform: &Platform) -> Course {
        let profile = |levels: &BTreeMap<u32, u32>| {
            let event = |(&date, &level): (&u32, &u32)| ProfileEvent {
                date: f64::from(date),
                value: f64::from(level) / 10.0,
            };
            let once = || Profile::once(levels.iter().map(event).collect()).unwrap();
            (!levels.is_empty()).then(once)
        };
        let hosts = self.levels.iter().zip(&self.outages).enumerate();
        let hosts = hosts.map(|(host, (levels, outages))| HostStory {
            host: format!("p{}", host + 1),
            availability: profile(levels),
            outages: outages
                .iter()
                .map(|&(from, lasts, keeps_data)| Outage {
                    from: Moment::Seconds(f64::from(from)),
                    lasts: lasts.map(f64::from),
                    keeps_data,
                })
                .collect(),
        });
        let links = self.links.iter().map(|(&(a, b), levels)| LinkStory {
            link: LinkName::Named(link(a, b)),
            bandwidth: profile(levels),
            outages: Vec::new(),
        });
        let (hosts, links) = (hosts.collect(), links.collect());
        Scenario { hosts, links, ..Scenario::default() }.on(platform).unwrap()
    }

    pub fn settings(&self) -> Settings {
        Settings {
            monitoring_delay: self.delays.0,
            decision_seconds: self.delays.1,
            dispatch: self.dispatch,
            retries: self.retries,
            ..Settings::default()
        }
    }

    pub fn inputs(&self) -> Inputs {
        if self.origin { Inputs::At(HostId(0)) } else { Inputs::Everywhere }
    }

    pub fn execution<'r>(&self) -> Execution<'r> {
        let (workflow, platform) = (Arc::new(self.workflow()), Arc::new(self.platform()));
        let (settings, inputs) = (self.settings(), self.inputs());
        Execution { settings, inputs, ..Execution::new(workflow, platform) }
    }

    /// Whether every policy can finish, whatever it decided before: in the end a host with enough memory stays up, and the
    /// inputs exist. In other cases a run may stall by chance, as when a task is on a host that fails for ever.
    pub fn lets_all_finish(&self) -> bool {
        let stays = |of: &[Off]| of.iter().all(|(_, lasts, _)| lasts.is_some());
        let keeps = |of: &[Off]| of.iter().all(|(.., keeps)| *keeps);
        let mut hosts = self.outages.iter().zip(&self.roomy);
        let origin = &self.outages[0];
        hosts.any(|(of, roomy)| *roomy && stays(of))
            && (!self.origin || (stays(origin) && keeps(origin)))
    }

    /// Calls `run` with a simulated backend of this case.
    pub fn with_backend<T>(&self, run: impl FnOnce(&mut dyn Backend) -> T) -> T {
        let (workflow, nominal) = (self.workflow(), self.platform());
        let course = self.course(&nominal);
        let platform = nominal.in_world(&course);
        let problem = Problem::at_peak(&workflow, &nominal).unwrap();
        let truth = |task: TaskId, procs: &[ProcId]| problem.exec_on(task, procs[0]);
        let models = Models::preset(self.model).unwrap();
        let backend = Simulated::new(platform.clone(), models, Box::new(truth)).unwrap();
        run(&mut backend.in_world(&course))
    }

    /// Runs a policy, through faults if given, and records the situation at each date.
    pub fn watched(
        &self,
        name: &str,
        policy: &mut dyn Policy,
        disorder: Option<Disorder>,
    ) -> (Outcome, Vec<(f64, Snapshot)>) {
        let mut seen: Vec<(f64, Snapshot)> = Vec::new();
        let mut watch = |snapshot: &RunSnapshot<'_>| {
            let now = snapshot.situation;
            seen.pop_if(|last| last.0 == now.now);
            seen.push((now.now, Snapshot::of(now)));
            assert!(seen.len() < 5_000, "{name}: the run does not end");
        };
        let execution = Execution { watch: Some(&mut watch), ..self.execution() };
        let outcome = self.with_backend(|backend| match disorder {
            None => execution.run(policy, backend).unwrap(),
            Some(disorder) => {
                execution.run(policy, &mut DelayedBackend::new(backend, disorder)).unwrap()
            }
        });
        (outcome, seen)
    }

    /// All policies that survive the loss of a host.
    pub fn policies(&self) -> impl Iterator<Item = (&'static str, Box<dyn Policy>)> {
        let period = Period::Seconds(7.0);
        let heft = find("heft").unwrap();
        let options = Options { transfers: self.transfers, period, ..Options::new(heft) };
        registry::ALL
            .iter()
            .filter(|e| e.survives && !e.needs.contains(&Need::Independent))
            .map(move |entry| (entry.name, entry.policy(&options).unwrap()))
    }

    /// Work of a core of a host between two dates, in seconds at full speed.
    fn work(&self, host: usize, from: f64, to: f64) -> f64 {
        let (mut done, mut at, mut level) = (0.0, 0.0f64, 1.0);
        let of_host = self.levels[host].iter().map(|(&d, &l)| (f64::from(d), f64::from(l) / 10.0));
        for (date, next) in of_host.chain([(f64::INFINITY, 0.0)]) {
            done += level * (date.min(to) - at.max(from)).max(0.0);
            (at, level) = (date, next);
        }
        done
    }

    /// Checks that every completed computation got exactly the work it needs from its processor.
    pub fn work_is_conserved(&self, outcome: &Outcome) -> Result<(), String> {
        let host_of: Vec<HostId> = self.platform().host_of_procs().collect();
        let mut begun: HashMap<TaskId, (usize, f64)> = HashMap::new();
        for record in outcome.trace.records() {
            match &record.what {
                Happening::TaskStarted { task, procs } => {
                    begun.insert(*task, (host_of[procs[0].index()].index(), record.at));
                }
                Happening::TaskFinished { task } => {
                    let (host, start) = begun[task];
                    let needed = self.times[task.index()][host];
                    let got = self.work(host, start, record.at);
                    if (got - needed).abs() > 1e-6 * needed {
                        return Err(format!("{task:?} got {got} of {needed}"));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Replays the trace with the workflow alone, checks the rules at every record, and compares with recorded situations.
    /// With a `late` backend, a task may start when a parent has been rewound since the request.
    pub fn replay(
        &self,
        outcome: &Outcome,
        seen: &[(f64, Snapshot)],
        late: bool,
    ) -> Result<(), String> {
        let w = self.workflow();
        let host_of: Vec<HostId> = self.platform().host_of_procs().collect();
        let host = |p: &ProcId| host_of[p.index()];
        let mut running: BTreeMap<TaskId, Vec<ProcId>> = BTreeMap::new();
        let mut busy: HashMap<ProcId, TaskId> = HashMap::new();
        let mut done: BTreeSet<TaskId> = BTreeSet::new();
        let mut ever: BTreeSet<TaskId> = BTreeSet::new();
        let mut there: HashSet<(FileId, HostId)> = HashSet::new();
        for file in w.files().filter(|&f| w.producer(f).is_none()) {
            let hosts = if self.origin { 1 } else { self.cores.len() };
            there.extend((0..hosts).map(|h| (file, HostId::new(h))));
        }
        // Files on hosts that were lost and may keep their data.
        let mut shelved: HashSet<(FileId, HostId)> = HashSet::new();
        let mut last = 0.0;
        let mut seen = seen.iter().peekable();
        for record in outcome.trace.records() {
            while let Some((date, snapshot)) = seen.next_if(|(date, _)| *date < record.at) {
                let same = snapshot.done == done
                    && snapshot.running == running
                    && snapshot.there.iter().all(|copy| there.contains(copy));
                if !same {
                    return Err(format!("at {date}: {snapshot:?}, but {done:?}, {running:?}"));
                }
            }
            if record.at < last {
                return Err(format!("time goes back to {}", record.at));
            }
            last = record.at;
            match &record.what {
                Happening::TaskStarted { task, procs } => {
                    if done.contains(task) || running.contains_key(task) {
                        return Err(format!("{task:?} starts twice"));
                    }
                    let was_done = |p: &TaskId| done.contains(p) || (late && ever.contains(p));
                    if let Some((parent, _)) = w.predecessors(*task).find(|(p, _)| !was_done(p)) {
                        return Err(format!("{task:?} starts before {parent:?} is done"));
                    }
                    for p in procs {
                        if let Some(other) = busy.insert(*p, *task) {
                            return Err(format!("{task:?} and {other:?} share {p:?}"));
                        }
                        if self.large[task.index()] && !self.roomy[host(p).index()] {
                            return Err(format!("{task:?} does not fit on {p:?}"));
                        }
                        let stays = |f: FileId| w.producer(f).is_none() && !self.origin;
                        let is_there = |f: FileId| stays(f) || there.contains(&(f, host(p)));
                        let missing = w.inputs(*task).find(|&f| !is_there(f));
                        if let Some(f) = missing {
                            return Err(format!("{task:?} at {} without {f:?}", record.at));
                        }
                    }
                    running.insert(*task, procs.clone());
                }
                Happening::TaskFinished { task } => {
                    let procs = running.remove(task).ok_or("an end without a start")?;
                    for p in procs {
                        busy.remove(&p);
                        there.extend(w.outputs(*task).map(|f| (f, host(&p))));
                    }
                    done.insert(*task);
                    ever.insert(*task);
                }
                Happening::TaskFailed { task, .. } | Happening::TaskCancelled { task } => {
                    for p in running.remove(task).into_iter().flatten() {
                        busy.remove(&p);
                    }
                }
                Happening::TaskRewound { task } if !done.remove(task) => {
                    return Err(format!("{task:?} is rewound without being done"));
                }
                Happening::TaskRestored { task } => {
                    let needed = |f: &FileId| w.consumers(*f).any(|reader| !done.contains(&reader));
                    let is_there = |f: FileId| there.iter().any(|&(file, _)| file == f);
                    if !w.outputs(*task).filter(needed).all(is_there) || running.contains_key(task)
                    {
                        return Err(format!("{task:?} counts again without its results"));
                    }
                    done.insert(*task);
                }
                Happening::TransferStarted { file, from, .. }
                    if !there.contains(&(*file, *from)) =>
                {
                    return Err(format!("{file:?} leaves {from:?} without being there"));
                }
                Happening::TransferFinished { file, to, .. } => {
                    there.insert((*file, *to));
                }
                Happening::HostLost { host } => {
                    if self.outages[host.index()].iter().any(|(.., keeps)| *keeps) {
                        shelved.extend(there.iter().filter(|(_, h)| h == host));
                    }
                    there.retain(|(_, h)| h != host);
                }
                Happening::HostBack { host } => {
                    there.extend(shelved.iter().filter(|(_, h)| h == host));
                }
                _ => {}
            }
        }
        match outcome.ending {
            Ending::Finished if done.len() == w.len() => Ok(()),
            // A policy may give a workflow up.
            Ending::Finished if outcome.arrived.iter().any(|a| a.abandoned.is_some()) => Ok(()),
            Ending::Finished => Err(format!("{} of {} tasks done", done.len(), w.len())),
            Ending::CannotFinish(_) => Ok(()),
        }
    }
}

fn link(a: usize, b: usize) -> String {
    format!("l{}-{}", a + 1, b + 1)
}

/// The engine's situation at the end of an instant.
#[derive(Debug, Default, PartialEq)]
pub struct Snapshot {
    done: BTreeSet<TaskId>,
    running: BTreeMap<TaskId, Vec<ProcId>>,
    there: BTreeSet<(FileId, HostId)>,
}

impl Snapshot {
    fn of(now: &Situation) -> Snapshot {
        let mut found = Snapshot::default();
        for task in now.workflow.tasks() {
            match now.task(task) {
                TaskState::Done(_) => {
                    found.done.insert(task);
                }
                TaskState::Running { procs, .. } => {
                    found.running.insert(task, procs.to_vec());
                }
                _ => {}
            }
        }
        for file in now.workflow.files() {
            found.there.extend(now.holders(file).map(|h| (file, h)));
        }
        found
    }
}

/// A minimal policy: one task at a time on the lowest host that fits it. Lost results are made again, and where no host
/// fits it waits.
pub struct OneByOne;

impl Policy for OneByOne {
    fn react(&mut self, _: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        let problem = now.problem().unwrap();
        let lost = rewound_tasks(now, true);
        let done = |t: TaskId| now.task(t).is_done() && !lost.contains(&t);
        let ready = |t: &TaskId| {
            let waits = matches!(now.task(*t), TaskState::Waiting) || lost.contains(t);
            waits && now.workflow.predecessors(*t).all(|(p, _)| done(p))
        };
        // A task that waits for a rewound parent stays where it is, and does not count as busy.
        let busy = now.tasks.begun().any(|t| now.workflow.predecessors(t).all(|(p, _)| done(p)));
        let next = now.workflow.tasks().find(ready).filter(|_| !busy);
        let start = next.and_then(|task| {
            let takes = |h: &HostId| now.computes(*h) && now.fits(task, *h);
            let host = now.platform.host_ids().filter(takes);
            let host = host.min_by_key(|&h| now.shuns(task, h))?;
            Some((task, ProcId(problem.procs_of(host).start)))
        });
        if !lost.is_empty() {
            decisions.push(Decision::Rewind(lost));
        }
        if let Some((task, proc)) = start {
            decisions.push(Decision::Start { task, procs: [proc].into() });
        }
    }
}
