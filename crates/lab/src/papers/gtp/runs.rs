//! The runs of the study. Claims and tables request the runs they need; they are evaluated twice: the first
//! time to collect the requests, the second time, with everything run, to be judged.

use crate::cell::{Cell, Recipe, planner, policy, transfers_name};
use crate::papers::{Options, Size, StudyError, Watch};
use crate::worlds::{GtpWorld, Kind, Links, Way};
use slackline_engine::{Outcome, Recording};
use slackline_generate::scenario::studied::gtp_doomed;
use slackline_model::trace::Happening;
use slackline_model::workflow::Shape;
use slackline_model::{TaskId, Workflow};
use slackline_react::Transfers;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// A scenario family: how much is communicated, and over what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    /// CCR 0.1, no contention.
    F1,
    /// CCR 0.5.
    F2,
    /// CCR 1.5.
    F3,
}

impl Family {
    /// SCE(x, y, z): processors, tasks, variability in per cent.
    pub(super) fn at(self, processors: usize, tasks: usize, variability: u32) -> Setting {
        let links = if self == Family::F1 { Links::Free } else { Links::Fifo };
        Setting { family: self, processors, tasks, variability, persistence: 30, links }
    }
}

/// Worlds of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Setting {
    pub(super) family: Family,
    pub(super) processors: usize,
    pub(super) tasks: usize,
    /// z, in per cent.
    pub(super) variability: u32,
    /// m, in tenths of a still makespan.
    pub(super) persistence: u32,
    pub(super) links: Links,
}

impl Setting {
    fn sce(&self) -> String {
        format!("SCE({},{},{})", self.processors, self.tasks, self.variability)
    }
}

/// Driver of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Method {
    Heft,
    Dls,
    DlsSr,
    Gtp,
    GtpC,
    /// With a failure half-way of its own run without one.
    GtpR,
    /// With a failure half-way of its own run without one.
    GtpCR,
}

impl Method {
    pub(super) fn name(self) -> &'static str {
        match self {
            Method::Heft => "HEFT",
            Method::Dls => "DLS",
            Method::DlsSr => "DLS/sr",
            Method::Gtp => "GTP",
            Method::GtpC => "GTP/c",
            Method::GtpR => "GTP/r",
            Method::GtpCR => "GTP/c/r",
        }
    }

    fn policy(self) -> &'static str {
        match self {
            Method::Heft | Method::Dls => "static",
            Method::DlsSr => "dls/sr",
            Method::Gtp => "gtp",
            Method::GtpC => "gtp/c",
            Method::GtpR => "gtp/r",
            Method::GtpCR => "gtp/c/r",
        }
    }

    fn planner(self) -> &'static str {
        match self {
            Method::Dls | Method::DlsSr => "dls-median",
            _ => "heft",
        }
    }

    fn fails(self) -> bool {
        matches!(self, Method::GtpR | Method::GtpCR)
    }
}

/// A method and how it is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Run {
    pub(super) method: Method,
    /// Tasks of a queue that fetch their inputs; none: PUSH.
    pub(super) window: Option<u32>,
    /// Rescheduling cycle, in per cent of the still makespan.
    pub(super) cycle: u32,
}

impl Run {
    /// As in most of the thesis: PULL of the first task, cycles of 10 %.
    pub(super) fn of(method: Method) -> Run {
        Run { method, window: Some(1), cycle: 10 }
    }

    pub(super) fn push(method: Method) -> Run {
        Run { window: None, ..Run::of(method) }
    }

    pub(super) fn cycle(method: Method, cycle: u32) -> Run {
        Run { cycle, ..Run::of(method) }
    }

    pub(super) fn window(method: Method, window: u32) -> Run {
        Run { window: Some(window), ..Run::of(method) }
    }

    fn transfers(self) -> Transfers {
        self.window.map_or(Transfers::Push, |window| Transfers::Pull { window })
    }
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let transfers = transfers_name(self.transfers());
        write!(f, "{} {transfers}, cycle {} %", self.method.name(), self.cycle)
    }
}

/// Figures of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    pub(super) nsl: f64,
    /// NSL that the first plan promises.
    pub(super) promised: f64,
    pub(super) remappings: f64,
    /// Plans adopted after the first.
    pub(super) points: f64,
    pub(super) migrations: f64,
    /// Work computed again and data sent again, seconds at peak.
    pub(super) overhead: f64,
    /// Edges with data.
    pub(super) edges: f64,
    /// Edges whose data crossed a link in the end.
    pub(super) crossed: f64,
    pub(super) copies: f64,
    pub(super) copies_used: f64,
    pub(super) rewound_tasks: f64,
    pub(super) rewound_levels: f64,
    /// Work lost by the failure: of tasks rewound and tasks that ran there.
    pub(super) rewound_work: f64,
    /// NSL that the failure added.
    pub(super) extra: f64,
}

/// All runs that were asked for.
pub(super) struct Runs {
    seed: u64,
    graphs: usize,
    /// Divisor of the number of tasks, for quick runs.
    shrink: usize,
    /// Tasks of the setting in which reactive methods push: DLS/sr maps again so often then that
    /// it takes minutes at the published 1000.
    pub(super) most_pushed: usize,
    asked: RefCell<BTreeMap<Setting, BTreeSet<Run>>>,
    done: BTreeMap<(Setting, Run), Vec<Measured>>,
}

impl Runs {
    pub(super) fn new(options: &Options, graphs: usize, shrink: usize) -> Runs {
        Runs {
            seed: options.seed,
            graphs,
            shrink,
            most_pushed: if options.size == Size::Full { 1000 } else { 500 },
            asked: RefCell::new(BTreeMap::new()),
            done: BTreeMap::new(),
        }
    }

    /// The setting as it is run.
    fn actual(&self, setting: Setting) -> Setting {
        Setting { tasks: (setting.tasks / self.shrink).max(setting.tasks.min(30)), ..setting }
    }

    /// Its name, with the number of tasks really run.
    pub(super) fn name(&self, setting: Setting) -> String {
        self.actual(setting).sce()
    }

    /// A figure of every graph; nothing while runs are only collected.
    pub(super) fn get(
        &self,
        setting: Setting,
        run: Run,
        of: impl Fn(&Measured) -> f64,
    ) -> Vec<f64> {
        let setting = self.actual(setting);
        self.asked.borrow_mut().entry(setting).or_default().insert(run);
        self.done.get(&(setting, run)).map(|all| all.iter().map(of).collect()).unwrap_or_default()
    }

    /// NSL of every graph.
    pub(super) fn nsl(&self, setting: Setting, run: Run) -> Vec<f64> {
        self.get(setting, run, |m| m.nsl)
    }

    /// Runs what was asked for.
    pub(super) fn run_all(&mut self, watch: &Watch<'_>) -> Result<(), StudyError> {
        let asked = self.asked.take();
        // The longest first, so that no thread waits long for the last.
        let mut jobs: Vec<(Setting, usize)> =
            asked.keys().flat_map(|&s| (0..self.graphs).map(move |g| (s, g))).collect();
        jobs.sort_by_key(|(s, g)| (std::cmp::Reverse(s.tasks), *s, *g));
        let results = watch.over("simulated runs", &jobs, |&(setting, graph)| {
            let runs = asked.get(&setting).into_iter().flatten().copied();
            Place { setting, graph, seed: self.seed }.measure(runs)
        })?;
        for ((setting, _), measured) in jobs.into_iter().zip(results) {
            for (run, figures) in measured {
                self.done.entry((setting, run)).or_default().push(figures);
            }
        }
        Ok(())
    }

    /// The requested runs, one by one.
    pub(super) fn cells(&self) -> Vec<Recipe> {
        let mut all = Vec::new();
        for (&setting, runs) in self.asked.borrow().iter() {
            for graph in 0..self.graphs {
                let place = Place { setting, graph, seed: self.seed };
                let world = format!(
                    "{:?}, {}, links {:?}, m = {}, graph {graph}",
                    setting.family,
                    setting.sce(),
                    setting.links,
                    f64::from(setting.persistence) / 10.0
                );
                for &run in runs {
                    let name = format!("{world}: {run}");
                    all.push(Recipe::new(name, move || Ok(place.cell(&place.world()?, run)?.0)));
                }
                for method in [Method::Heft, Method::Dls] {
                    if runs.iter().any(|run| run.method.planner() == method.planner()) {
                        let name = format!("{world}: promised by {}", method.name());
                        all.push(Recipe::new(name, move || {
                            place.world()?.promised(planner(method.planner())?)
                        }));
                    }
                }
            }
        }
        all
    }

    /// Settings of the second pass that the first did not request: there must be none.
    pub(super) fn forgotten(&self) -> usize {
        let asked = self.asked.borrow();
        let all = asked.iter().flat_map(|(s, runs)| runs.iter().map(move |r| (*s, *r)));
        all.filter(|key| !self.done.contains_key(key)).count()
    }
}

fn kind(setting: &Setting) -> Kind {
    Kind {
        processors: setting.processors,
        tasks: setting.tasks,
        variability: f64::from(setting.variability) / 100.0,
        ccr: match setting.family {
            Family::F1 => 0.1,
            Family::F2 => 0.5,
            Family::F3 => 1.5,
        },
        persistence: f64::from(setting.persistence) / 10.0,
        failure: false,
    }
}

/// Setting, graph number and seed of a case.
#[derive(Clone, Copy)]
struct Place {
    setting: Setting,
    graph: usize,
    seed: u64,
}

impl Place {
    fn world(&self) -> Result<GtpWorld, StudyError> {
        GtpWorld::with_links(&kind(&self.setting), self.graph, self.seed, self.setting.links)
    }

    /// A run there, and where a processor dies also when the same run ends without that.
    fn cell(&self, world: &GtpWorld, run: Run) -> Result<(Cell, Option<f64>), StudyError> {
        let method = run.method;
        let way = Way {
            policy: policy(method.policy())?,
            planner: planner(method.planner())?,
            transfers: run.transfers(),
            period: f64::from(run.cycle) / 100.0,
        };
        let calm = world.cell(&way)?;
        if !method.fails() {
            return Ok((calm, None));
        }
        let before = calm.run(Recording::Nothing)?.outcome.makespan;
        let host = gtp_doomed(self.setting.processors, self.graph, self.seed);
        Ok((world.with_failure(host, before / 2.0)?.cell(&way)?, Some(before)))
    }

    /// All runs there.
    fn measure(&self, runs: impl Iterator<Item = Run>) -> Result<Vec<(Run, Measured)>, StudyError> {
        let world = self.world()?;
        let mut all = Vec::new();
        for run in runs {
            let (cell, calm) = self.cell(&world, run)?;
            let outcome = cell.finish(Recording::KeepWork)?;
            let promised = world.promised(planner(run.method.planner())?)?.end()?;
            let extra = calm.map_or(0.0, |before| outcome.makespan - before);
            let figures = Measured {
                promised: promised / world.critical_path,
                extra: extra / world.critical_path,
                ..figures(&world, &outcome)
            };
            all.push((run, figures));
        }
        Ok(all)
    }
}

fn figures(world: &GtpWorld, outcome: &Outcome) -> Measured {
    let workflow = world.workflow();
    let carries = |e: &slackline_model::EdgeId| workflow.edge_bytes(*e) > 0.0;
    let crosses = |e: &slackline_model::EdgeId| {
        let (from, to) = workflow.edge_ends(*e);
        let place = |t: TaskId| outcome.schedule.placement(t).map(|p| p.proc());
        place(from) != place(to)
    };
    let crossed: Vec<_> = workflow.edges().filter(carries).filter(crosses).collect();
    let needed: f64 = crossed.iter().map(|&e| workflow.edge_bytes(e)).sum();
    let counters = &outcome.counters;
    let (rewound_tasks, rewound_levels, rewound_work) = rewound(workflow, outcome);
    Measured {
        nsl: world.nsl(outcome),
        promised: 0.0,
        remappings: counters.remappings as f64,
        points: counters.replannings as f64,
        migrations: counters.migrations as f64,
        overhead: counters.lost_seconds + (counters.bytes_moved - needed).max(0.0),
        edges: workflow.edges().filter(carries).count() as f64,
        crossed: crossed.len() as f64,
        copies: counters.copies_left as f64,
        copies_used: counters.copies_used as f64,
        rewound_tasks,
        rewound_levels,
        rewound_work,
        extra: 0.0,
    }
}

/// Tasks that a failure made begin again, the levels they span, and the work that was lost.
fn rewound(workflow: &Workflow, outcome: &Outcome) -> (f64, f64, f64) {
    let level = Shape::of(workflow).level;
    let mut started = vec![0.0; workflow.len()];
    let mut took = vec![0.0; workflow.len()];
    let (mut tasks, mut work) = (0usize, 0.0);
    let mut levels: Option<(u32, u32)> = None;
    for record in outcome.trace.records() {
        let (task, lost) = match &record.what {
            Happening::TaskStarted { task, .. } => {
                started[task.index()] = record.at;
                continue;
            }
            Happening::TaskFinished { task } => {
                took[task.index()] = record.at - started[task.index()];
                continue;
            }
            Happening::TaskRewound { task } => (*task, took[task.index()]),
            Happening::TaskFailed { task, .. } => (*task, record.at - started[task.index()]),
            _ => continue,
        };
        tasks += 1;
        work += lost;
        let own = level[task.index()];
        levels = Some(levels.map_or((own, own), |(low, high)| (low.min(own), high.max(own))));
    }
    let deep = levels.map_or(0.0, |(low, high)| f64::from(high - low + 1));
    (tasks as f64, deep, work)
}
