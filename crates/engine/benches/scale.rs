//! Growth of the cost of a whole run with the number of tasks, by policy:
//!
//!     cargo bench -p slackline-engine                  # the whole table, some minutes
//!     cargo bench -p slackline-engine -- static 10000  # one row, one size
//!     cargo bench -p slackline-engine -- sce           # slackline where levels change
//!
//! Layered graphs (square root of n levels, three parents per task, uniform times, CCR 0.1) on a
//! cluster of 64 hosts that holds still; `sce` is the one in which hosts and links change ten times
//! per makespan. In a stream, workflows of 100 tasks each arrive at 500 processors; `given` is the
//! same work under a schedule that is known from the start. A sweep has 1,000 hosts in 20 clusters, 100 shared files and a
//! quota of 4; `plan` is the first plan of a policy alone, with so many tasks waiting that are alike where they read
//! the same file, `drawn` the same where each takes another time and reads and writes other sizes, and a plan considers
//! 4,000; `sweep` a run of such tasks without its plans. Every cell has a process of its own, which tells its
//! processor time, without drawing the world, and its peak memory, the world included.

#![allow(clippy::print_stdout)] // a table is what this makes

use slackline_engine::{Coming, Execution, Recording, Simulated, Stage};
use slackline_generate::Seed;
use slackline_generate::registry::{self as generators, Family};
use slackline_generate::scenario::Surroundings;
use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
use slackline_model::scenario::When;
use slackline_model::schedule::{Detail, Limits};
use slackline_model::{Platform, Problem, ProcId, Scenario, TaskId, Terms, Workflow};
use slackline_react::registry::{self as policies, Options};
use slackline_react::{Around, Decision, Event, Policy, Situation, StaticPlan, Transfers};
use slackline_schedule::registry as planners;
use slackline_simulate::{Models, NetworkModel};
use std::error::Error;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Policies, and how many times as long as `static` they may take.
const STILL: [(&str, f64); 7] = [
    ("static", 1.0),
    ("just-in-time", 3.0),
    ("work-queue", 3.0),
    ("fdws", 3.0),
    ("gtp/c", 3.0),
    ("slackline", 10.0),
    ("sr-slack", 10.0),
];

/// Tasks of the worlds that change.
const RESTLESS: usize = 1_000;

/// Tasks of such worlds, and how many times as long as `static` the slackline policy may take there
/// with its default effort.
const ROLLED_OUT: [(usize, f64); 2] = [(1_000, 10.0), (10_000, 30.0)];

struct Cell {
    seconds: f64,
    mebibytes: f64,
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    match &args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["cell", policy, workflows, "stream"] => stream(policy, workflows.parse()?),
        ["cell", policy, tasks, world @ ("plan" | "drawn")] => {
            sweep_plan(policy, tasks.parse()?, *world == "drawn")
        }
        ["cell", policy, tasks, "sweep"] => sweep_run(policy, tasks.parse()?),
        ["cell", policy, tasks, world] => cell(policy, tasks.parse()?, *world == "sce"),
        [] => table(),
        ["sweeps"] => sweeps(),
        ["sce"] => changing(),
        [policy] => row(policy, &[10_000, 100_000]).map(|_| ()),
        [policy, tasks @ ..] => {
            let tasks: std::result::Result<Vec<usize>, _> =
                tasks.iter().map(|t| t.parse()).collect();
            row(policy, &tasks?).map(|_| ())
        }
    }
}

fn table() -> Result<()> {
    let mut still = 0.0;
    for (policy, most) in STILL {
        let cells = row(policy, &[10_000, 100_000])?;
        let [small, large] = &cells[..] else { continue };
        still = if policy == "static" { large.seconds } else { still };
        let (ratio, growth) = (large.seconds / still, large.seconds / small.seconds);
        println!(
            "  {ratio:.1} times static (at most {most}), {growth:.1} from 10,000 on (at most 14)"
        );
    }
    let million = &row("static", &[1_000_000])?[0];
    let (growth, bytes) = (million.seconds / still, million.mebibytes * 1.048_576);
    println!("  {growth:.1} from 100,000 on (at most 14), {bytes:.0} bytes a task (at most 1000)");
    let ratio = restless("aheft", RESTLESS)? / restless("static", RESTLESS)?;
    println!("aheft, {RESTLESS} tasks, sce: {ratio:.1} times static (at most 20)");
    changing()?;
    let given = measured("given", 1_000, "stream")?;
    for policy in ["fdws", "b-fdws4", "mw-dbs"] {
        let (few, many) = (measured(policy, 100, "stream")?, measured(policy, 1_000, "stream")?);
        let ratio = many.seconds / given.seconds;
        let each = many.seconds / few.seconds / 10.0;
        let bytes = many.mebibytes * 10.485_76;
        println!(
            "{policy}, 1000 workflows: {ratio:.1} times a given schedule (at most 3), {each:.1} \
             times the time per event of 100 (at most 2), {bytes:.0} bytes a task (at most 3000)"
        );
    }
    sweeps()
}

/// Cost of reaction with ten changes of hosts and links per makespan.
fn changing() -> Result<()> {
    for (tasks, most) in ROLLED_OUT {
        let ratio = restless("slackline", tasks)? / restless("static", tasks)?;
        println!("slackline, {tasks} tasks, sce: {ratio:.1} times static (at most {most})");
    }
    Ok(())
}

/// Seconds in a world that changes, the mean of several runs: processor time comes in ticks of some milliseconds.
fn restless(policy: &str, tasks: usize) -> Result<f64> {
    const TIMES: usize = 10;
    let cells: Result<Vec<Cell>> = (0..TIMES).map(|_| measured(policy, tasks, "sce")).collect();
    Ok(cells?.iter().map(|cell| cell.seconds).sum::<f64>() / TIMES as f64)
}

fn sweeps() -> Result<()> {
    const POLICIES: [&str; 2] = ["sweep-minmin", "sweep-extended"];
    let independent = measured("minmin", 4_000, "plan")?;
    println!("minmin, 4000 independent tasks: {:.3} s", independent.seconds);
    for policy in POLICIES {
        let (some, many) =
            (measured(policy, 100_000, "plan")?, measured(policy, 1_000_000, "plan")?);
        let (ratio, growth) = (some.seconds / independent.seconds, many.seconds / some.seconds);
        println!(
            "{policy}, a plan with 100,000 waiting: {ratio:.1} times minmin (at most 20), \
             1,000,000: {growth:.1} times that (at most 12)"
        );
    }
    let independent = measured("minmin", 4_000, "drawn")?;
    for policy in POLICIES {
        let plan = measured(policy, 100_000, "drawn")?;
        let ratio = plan.seconds / independent.seconds;
        println!(
            "{policy}, where no two are alike and 4000 are considered: {ratio:.1} times minmin"
        );
    }
    let queue = measured("work-queue", 100_000, "sweep")?;
    for policy in POLICIES {
        let swept = measured(policy, 100_000, "sweep")?;
        let ratio = swept.seconds / queue.seconds;
        println!(
            "{policy}, 100,000 tasks, without its plans: {ratio:.1} times work-queue (at most 5)"
        );
    }
    Ok(())
}

fn row(policy: &str, sizes: &[usize]) -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    for &tasks in sizes {
        let cell = measured(policy, tasks, "still")?;
        let Cell { seconds, mebibytes } = cell;
        println!("{policy:<14} {tasks:>9} tasks {seconds:>9.3} s {mebibytes:>7.0} MiB");
        cells.push(cell);
    }
    Ok(cells)
}

/// Runs a cell in a process of its own.
fn measured(policy: &str, tasks: usize, world: &str) -> Result<Cell> {
    let output = Command::new(std::env::current_exe()?)
        .args(["cell", policy, &tasks.to_string(), world])
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(seconds)), Some(Ok(mebibytes))) => Ok(Cell { seconds, mebibytes }),
        _ => Err(String::from_utf8_lossy(&output.stderr).into()),
    }
}

fn cell(policy: &str, tasks: usize, restless: bool) -> Result<()> {
    let (workflow, platform) = (Arc::new(graph(tasks)?), Arc::new(cluster()?));
    let scenario = if restless { sce(&workflow, &platform)? } else { Scenario::default() };
    let course = scenario.on(&platform)?;
    let world = platform.in_world(&course);
    let problem = Problem::at_peak(&workflow, &platform)?;
    let truth = |task: TaskId, procs: &[ProcId]| problem.exec_on(task, procs[0]);
    let heft = planners::find("heft").ok_or("no HEFT")?;
    let options = Options { transfers: Transfers::Push, ..Options::new(heft) };
    let entry = policies::find(policy).ok_or("no such policy")?;
    let mut policy = entry.policy(&options)?;
    let clock = Clock::start();
    let mut backend =
        Simulated::new(world.clone(), Models::default(), Box::new(truth))?.in_world(&course);
    let recording = Recording::Nothing;
    let execution = Execution { recording, ..Execution::new(workflow.clone(), platform.clone()) };
    let outcome = execution.run(policy.as_mut(), &mut backend)?;
    let seconds = clock.seconds();
    let (end, plans) = (outcome.makespan, outcome.counters.replannings);
    println!("{seconds} {} {end} {plans} {:?}", peak_mebibytes(), outcome.ending);
    Ok(())
}

/// Workflows that arrive one after the other, under limits that leave some room.
fn stream(policy: &str, workflows: usize) -> Result<()> {
    const EVERY: f64 = 1.3;
    let mut coming = Vec::new();
    for index in 0..workflows {
        let limits = Limits { budget: Some(2_000.0), deadline: Some(600.0) };
        let terms = Terms { limits, ..Terms::default() };
        let when = When::At(EVERY * index as f64);
        coming.push(Coming { workflow: Arc::new(drawn(100, index as u64)?), when, terms });
    }
    let mut b = PlatformBuilder::new("site");
    b.set_matrix(Matrix::uniform(Some(1.25e8), 1e-4));
    let root = b.root()?;
    for (index, speed) in [1.0, 1.5, 2.0, 3.0].iter().cycle().take(500).enumerate() {
        let spec = HostSpec::new(format!("p{index}"), speed * 1e9);
        b.add_host(root, HostSpec { price: *speed, ..spec })?;
    }
    let platform = Arc::new(b.build()?);
    let heft = planners::find("heft").ok_or("no HEFT")?;
    let recording = Recording::Nothing;
    let mut stage = Stage::of_arrivals(coming, platform.clone())?;
    let mut policy: Box<dyn Policy> = if policy == "given" {
        stage.arrivals.clear();
        let problem = Problem::new(&stage.workflow, &platform)?;
        let plan = heft.plan(&problem, &Default::default())?;
        Box::new(StaticPlan::of_schedule(plan, heft, Transfers::Push))
    } else {
        policies::find(policy).ok_or("no such policy")?.policy(&Options::new(heft))?
    };
    let clock = Clock::start();
    let outcome = stage.run_as(policy.as_mut(), recording, None)?;
    let seconds = clock.seconds();
    println!("{seconds} {} {} {:?}", peak_mebibytes(), outcome.makespan, outcome.ending);
    Ok(())
}

/// A policy with the processor time of its plans: calls that are long and tell of a further one.
struct Timed {
    policy: Box<dyn Policy>,
    plans: usize,
    planning: f64,
}

impl Timed {
    fn plans(&self) -> usize {
        let report = self.policy.report();
        let events = report.iter().find(|(name, _)| *name == "events");
        match events {
            Some((_, Detail::List(plans))) => plans.len(),
            _ => 0,
        }
    }
}

impl Around for Timed {
    fn inner(&self) -> &dyn Policy {
        &*self.policy
    }

    fn inner_mut(&mut self) -> &mut dyn Policy {
        &mut *self.policy
    }

    fn call(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        const LONG: f64 = 1e-3;
        let clock = Clock::start();
        self.policy.react(events, now, decisions);
        let seconds = clock.seconds();
        if seconds > LONG && self.plans() > self.plans {
            self.plans = self.plans();
            self.planning += seconds;
        }
    }
}

fn sweep(policy: &str, tasks: usize, drawn: bool) -> Result<(Stage, Timed)> {
    let find = |family, name| generators::find(family, name);
    let (work, grid) = (find(Family::Workflow, "sweep")?, find(Family::Platform, "sweep-grid")?);
    let (tasks, clusters) = (tasks.to_string(), vec!["50:100"; 20].join(","));
    let mut given = texts(&[("tasks", &tasks), ("chunks", "100")]);
    if !drawn {
        given.extend(texts(&[("min-size", "10kB"), ("max-size", "10kB")]));
        given.extend(texts(&[("min-seconds", "100s"), ("max-seconds", "100s")]));
    }
    let workflow = work.workflow(&work.settings(&given)?, Seed::new(1))?;
    let given = texts(&[("clusters", &clusters), ("bandwidth", "10MBps")]);
    let platform = grid.platform(&grid.settings(&given)?, Seed::new(1))?;
    let models = Models { network: NetworkModel::Fifo, ..Models::default() };
    let stage = Stage { models, ..Stage::new(Arc::new(workflow), Arc::new(platform)) };
    let heft = planners::find("heft").ok_or("no HEFT")?;
    let mut options = Options::new(heft);
    if policy != "work-queue" && drawn {
        options.given.extend(texts(&[("subset", "random")]));
    }
    let policy = policies::find(policy).ok_or("no such policy")?.policy(&options)?;
    Ok((stage, Timed { policy, plans: 0, planning: 0.0 }))
}

fn sweep_plan(policy: &str, tasks: usize, drawn: bool) -> Result<()> {
    if policy == "minmin" {
        let (stage, _) = sweep("work-queue", tasks, drawn)?;
        let problem = Problem::at_peak(&stage.workflow, &stage.platform)?;
        let minmin = planners::find(policy).ok_or("no min-min")?;
        let clock = Clock::start();
        let plan = minmin.plan(&problem, &Default::default())?;
        println!("{} {} {}", clock.seconds(), peak_mebibytes(), plan.makespan());
        return Ok(());
    }
    let (mut stage, mut timed) = sweep(policy, tasks, drawn)?;
    stage.settings.until = 1e-3;
    stage.run_as(&mut timed, Recording::Nothing, None)?;
    println!("{} {} {}", timed.planning, peak_mebibytes(), timed.plans);
    Ok(())
}

fn sweep_run(policy: &str, tasks: usize) -> Result<()> {
    let (stage, mut timed) = sweep(policy, tasks, true)?;
    let clock = Clock::start();
    let outcome = stage.run_as(&mut timed, Recording::Nothing, None)?;
    let seconds = clock.seconds() - timed.planning;
    let (plans, planning) = (timed.plans, timed.planning);
    println!(
        "{seconds} {} {} {plans} {planning} {:?}",
        peak_mebibytes(),
        outcome.makespan,
        outcome.ending
    );
    Ok(())
}

fn texts(given: &[(&str, &str)]) -> Vec<(String, String)> {
    given.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

fn graph(tasks: usize) -> Result<Workflow> {
    drawn(tasks, 1)
}

fn drawn(tasks: usize, seed: u64) -> Result<Workflow> {
    let layered = generators::find(Family::Workflow, "layered")?;
    let tasks = tasks.to_string();
    let given =
        [("tasks", tasks.as_str()), ("costs", "uniform"), ("processors", "0"), ("ccr", "0.1")];
    Ok(layered.workflow(&layered.settings(&texts(&given))?, Seed::new(seed))?)
}

fn cluster() -> Result<Platform> {
    let cluster = generators::find(Family::Platform, "cluster")?;
    let given = texts(&[("hosts", "64"), ("speed", "1Gf")]); // where the CCR holds
    Ok(cluster.platform(&cluster.settings(&given)?, Seed::new(1))?)
}

/// Hosts and links that change ten times while the workflow would run undisturbed.
fn sce(workflow: &Workflow, platform: &Platform) -> Result<Scenario> {
    let heft = planners::find("heft").ok_or("no HEFT")?;
    let still = heft.plan(&Problem::new(workflow, platform)?, &Default::default())?.makespan();
    let sce = generators::find(Family::Scenario, "sce")?;
    let makespan = format!("{still}s");
    let given = [("variability", "60"), ("gap", "0.1"), ("makespan", makespan.as_str())];
    let around = Surroundings { platform: Some(platform), ..Surroundings::default() };
    Ok(sce.scenario(&sce.settings(&texts(&given))?, Seed::new(1), &around)?)
}

/// Processor time where the system tells it, else time.
struct Clock {
    ran: Option<f64>,
    since: Instant,
}

impl Clock {
    fn start() -> Clock {
        Clock { ran: processor_seconds(), since: Instant::now() }
    }

    fn seconds(&self) -> f64 {
        let ran = processor_seconds().zip(self.ran).map(|(now, before)| now - before);
        ran.unwrap_or_else(|| self.since.elapsed().as_secs_f64())
    }
}

fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? * 1e-9)
}

fn peak_mebibytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = peak.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kibibytes.unwrap_or(f64::NAN) / 1024.0
}
