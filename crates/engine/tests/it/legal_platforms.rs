//! Every planner and every policy on any platform that its file may describe: hosts without cores, links that
//! serve in turn, shared storage, matrices, leased machines, and memory, devices and licences that tasks share. Each plans
//! or finishes by the rules and not before the lower bound, or says that it does not support the problem.
#![allow(clippy::unwrap_used)] // a panic is how a test fails

use proptest::prelude::*;
use slackline_engine::{Ending, Stage, StageError};
use slackline_formats::{platform_toml, workflow_toml};
use slackline_model::problem::Inputs;
use slackline_model::schedule::{Limits, keeps_pools, validate};
use slackline_model::{Platform, Problem, ProblemError, Terms, Workflow};
use slackline_react::registry::{self as policies, Options};
use slackline_react::{StaticPlan, Transfers, gtp::Period};
use slackline_schedule::{PlanError, Planner, Request, bounds, registry};
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// One or several tasks of random shape.
#[derive(Clone, Debug)]
struct RandomTask {
    seconds: u32,
    /// Least and most processors.
    width: (u32, u32),
    spread: bool,
    large: bool,
    /// It needs a licence; a device.
    licence: bool,
    device: bool,
    /// Earlier tasks it depends on, and by how many files; 0 is pure control.
    parents: Vec<(usize, u32)>,
    /// Inputs of the workflow that it reads.
    inputs: Vec<usize>,
}

/// Hosts of one kind.
#[derive(Clone, Debug)]
struct RandomCluster {
    count: u32,
    cores: u32,
    speed: u32,
    roomy: bool,
    shared: bool,
    leasable: bool,
    /// Its machines are there until 12 s, and from 15 s on.
    windowed: bool,
    /// Seconds from the order of a machine to its start.
    setup: u32,
    price: u32,
    site: usize,
    bandwidth: u32,
    /// Tenths of the speed that are always available.
    level: u32,
    sharing: &'static str,
}

/// The network between clusters.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wiring {
    Switch,
    Sites { shared: [bool; 2], linked: bool },
    Matrix,
}

/// A case, from which two files are written.
#[derive(Clone)]
struct Case {
    tasks: Vec<RandomTask>,
    input_sizes: Vec<u32>,
    clusters: Vec<RandomCluster>,
    wiring: Wiring,
    fifo: bool,
    /// The host with the inputs: a front end with so many cores, or a machine of a cluster.
    origin: Option<Result<u32, usize>>,
    transfer_price: bool,
    limited: bool,
    transfers: Transfers,
    /// Licences of the platform.
    licences: u32,
}

fn tasks() -> impl Strategy<Value = Vec<RandomTask>> {
    let shape = (any::<bool>(), prop::sample::select(vec![0usize, 0, 1, 2]), any::<bool>());
    (1usize..7, shape).prop_flat_map(|(count, (dependent, wide, memory))| {
        let width = match wide {
            0 => Just((1, 1)).boxed(),
            1 => (1u32..3).prop_map(|w| (w, w)).boxed(),
            _ => (1u32..3, 0u32..3).prop_map(|(least, more)| (least, least + more)).boxed(),
        };
        let parents = if dependent {
            prop::collection::vec((0..count, 0u32..3), 0..3).boxed()
        } else {
            Just(Vec::new()).boxed()
        };
        let inputs = prop::collection::vec(0usize..3, 0..3);
        let sharing =
            (prop::bool::weighted(0.3), prop::bool::weighted(0.3), prop::bool::weighted(0.1));
        let task = (0u32..40, width, any::<bool>(), sharing, parents, inputs);
        let task = task.prop_map(move |(seconds, width, spread, sharing, parents, inputs)| {
            let (large, licence, device) = sharing;
            let (spread, large) = (spread && width.1 > 1, large && memory);
            let (licence, device) = (licence && memory, device && memory);
            RandomTask { seconds, width, spread, large, licence, device, parents, inputs }
        });
        prop::collection::vec(task, count)
    })
}

fn clusters() -> impl Strategy<Value = Vec<RandomCluster>> {
    let kinds = (any::<bool>(), any::<bool>(), any::<bool>());
    kinds.prop_flat_map(|(priced, leased, restless)| {
        let size = (1u32..4, prop::sample::select(vec![0u32, 1, 1, 2, 3]), 1u32..5);
        let often = prop::bool::weighted;
        let flags = (often(0.7), any::<bool>(), often(0.5), often(0.1));
        let rest = (0u32..3, 0u32..4, 0usize..2, 1u32..8, 1u32..11);
        let sharing = prop::sample::select(vec!["split-duplex", "shared", "fatpipe"]);
        let cluster = (size, flags, rest, sharing);
        let cluster = cluster.prop_map(move |((count, cores, speed), flags, rest, sharing)| {
            let (roomy, shared, leasable, windowed) = flags;
            let (setup, price, site, bandwidth, level) = rest;
            RandomCluster {
                count,
                cores,
                speed,
                roomy,
                shared,
                leasable: leasable && leased,
                windowed: windowed && !leased,
                setup,
                price: if priced { price } else { 0 },
                site,
                bandwidth,
                level: if restless { level } else { 10 },
                sharing,
            }
        });
        prop::collection::vec(cluster, 1..4)
    })
}

fn cases() -> impl Strategy<Value = Case> {
    let wiring = prop_oneof![
        Just(Wiring::Switch),
        any::<([bool; 2], bool)>().prop_map(|(shared, linked)| Wiring::Sites { shared, linked }),
        Just(Wiring::Matrix),
    ];
    let origin = prop_oneof![
        Just(None),
        Just(Some(Ok(0))),
        (1u32..3).prop_map(|cores| Some(Ok(cores))),
        (0usize..3).prop_map(|cluster| Some(Err(cluster))),
    ];
    let transfers = prop::sample::select(vec![Transfers::Push, Transfers::Pull { window: 1 }]);
    let sizes = prop::collection::vec(0u32..30, 3);
    let rest =
        (any::<bool>(), origin, prop::bool::weighted(0.2), any::<bool>(), transfers, 1u32..3);
    (tasks(), sizes, clusters(), wiring, rest).prop_map(
        |(tasks, input_sizes, mut clusters, wiring, rest)| {
            // A platform without any core is refused when it is read.
            clusters[0].cores = clusters[0].cores.max(1);
            let (fifo, origin, transfer_price, limited, transfers, licences) = rest;
            let fifo = fifo && wiring != Wiring::Matrix;
            Case {
                tasks,
                input_sizes,
                clusters,
                wiring,
                fifo,
                origin,
                transfer_price,
                limited,
                transfers,
                licences,
            }
        },
    )
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Case { limited, transfers, .. } = self;
        write!(f, "{}\n{}\nlimited: {limited}, {transfers:?}", self.workflow(), self.platform())
    }
}

impl Case {
    /// The platform file.
    fn platform(&self) -> String {
        let mut text = String::from("name = \"p\"\nresources = { licence = LICENCES }\n")
            .replace("LICENCES", &self.licences.to_string());
        match self.origin {
            None => {}
            Some(Ok(_)) => text += "origin = \"front\"\n",
            Some(Err(cluster)) => {
                writeln!(text, "origin = \"c{}-0\"", cluster % self.clusters.len()).unwrap();
            }
        }
        if self.fifo {
            text += "links = \"fifo\"\n";
        }
        let matrix = self.wiring == Wiring::Matrix;
        for (index, level) in self.clusters.iter().map(|c| c.level).enumerate() {
            if level < 10 {
                let level = f64::from(level) / 10.0;
                writeln!(text, "[profile.l{index}]\nevents = [[0, {level}]]").unwrap();
            }
        }
        if let Wiring::Sites { shared, linked } = self.wiring {
            for (index, shared) in shared.into_iter().enumerate() {
                writeln!(text, "[site.s{index}]\nshared-storage = {shared}").unwrap();
            }
            if linked {
                text += "[link.wan]\nbetween = [\"s0\", \"s1\"]\nbandwidth = \"2Bps\"\nlatency = \"500ms\"\n";
            }
        }
        let site = |text: &mut String, site: usize| {
            if let Wiring::Sites { .. } = self.wiring {
                writeln!(text, "site = \"s{site}\"").unwrap();
            }
        };
        let mut hosts = 0;
        if let Some(Ok(cores)) = self.origin {
            writeln!(text, "[host.front]\nspeed = \"2f\"\ncores = {cores}").unwrap();
            if !matrix {
                text += "bandwidth = \"4Bps\"\nlatency = \"250ms\"\n";
            }
            site(&mut text, 0);
            hosts += 1;
        }
        for (index, c) in self.clusters.iter().enumerate() {
            let shared = match self.wiring {
                Wiring::Sites { shared, .. } => c.shared && !shared[c.site],
                Wiring::Switch => c.shared,
                Wiring::Matrix => false,
            };
            // In a matrix every host is written by itself.
            let single = if matrix { c.count } else { 1 };
            for machine in 0..single {
                if matrix {
                    writeln!(text, "[host.c{index}-{machine}]").unwrap();
                } else {
                    writeln!(text, "[cluster.c{index}]\ncount = {}", c.count).unwrap();
                }
                writeln!(text, "cores = {}\nspeed = \"{}f\"", c.cores, c.speed).unwrap();
                writeln!(text, "memory = \"{}\"", if c.roomy { "9GB" } else { "1GB" }).unwrap();
                if c.roomy {
                    text += "gpus = { big = 1 }\n";
                }
                if c.price > 0 {
                    writeln!(text, "price = {}", c.price).unwrap();
                }
                if c.leasable {
                    let setup = c.setup;
                    writeln!(
                        text,
                        "leasable = true\nbilling = {{ quantum = \"5s\", setup = \"{setup}s\" }}"
                    )
                    .unwrap();
                }
                if c.windowed {
                    text += "windows = [[\"0s\", \"12s\"], [\"15s\", \"1000000s\"]]\n";
                }
                if c.level < 10 {
                    writeln!(text, "availability = \"l{index}\"").unwrap();
                }
                hosts += 1;
            }
            if !matrix {
                let (bandwidth, sharing) = (c.bandwidth, c.sharing);
                writeln!(text, "bandwidth = \"{bandwidth}Bps\"\nlatency = \"250ms\"").unwrap();
                writeln!(text, "sharing = \"{sharing}\"\nuplink = \"3Bps\"").unwrap();
                writeln!(text, "shared-storage = {shared}").unwrap();
                if self.transfer_price {
                    text += "transfer-price = 1e8\n";
                }
                site(&mut text, c.site);
            }
        }
        if matrix {
            text += "[matrix]\nlatency = \"500ms\"\nbandwidth = [\n";
            for from in 0..hosts {
                let row = (0..hosts).map(|to| {
                    if from == to {
                        "\"free\"".to_string()
                    } else {
                        format!("\"{}Bps\"", 1 + (from * 3 + to * 5) % 7)
                    }
                });
                writeln!(text, "  [{}],", row.collect::<Vec<_>>().join(", ")).unwrap();
            }
            text += "]\n";
        }
        text
    }

    /// The workflow file.
    fn workflow(&self) -> String {
        let mut text = String::from("name = \"w\"\nreference-speed = \"1f\"\n[files]\n");
        let of_edge = |from: usize, to: usize, files: u32| {
            (0..files).map(move |k| format!("e{from}-{to}-{k}")).collect::<Vec<_>>()
        };
        let parents = |to: usize| {
            let mut parents = self.tasks[to].parents.clone();
            parents.retain(|&(from, _)| from < to);
            parents.sort_unstable();
            parents.dedup_by_key(|(from, _)| *from);
            parents
        };
        for (index, size) in self.input_sizes.iter().enumerate() {
            writeln!(text, "in{index} = \"{size}B\"").unwrap();
        }
        for to in 0..self.tasks.len() {
            for (from, files) in parents(to) {
                for (k, name) in of_edge(from, to, files).iter().enumerate() {
                    writeln!(text, "{name} = \"{}B\"", (from * 7 + to * 3 + k * 5) % 20).unwrap();
                }
            }
        }
        for (index, task) in self.tasks.iter().enumerate() {
            writeln!(text, "[task.t{index}]\nseconds = {}", task.seconds).unwrap();
            match task.width {
                (1, 1) => {}
                (least, most) if least == most => writeln!(text, "cores = {least}").unwrap(),
                (least, most) => writeln!(text, "cores = \"{least}-{most}\"\nalpha = 0.1").unwrap(),
            }
            if task.spread {
                text += "spread = true\n";
            }
            if task.large {
                text += "memory = \"5GB\"\n";
            }
            if task.licence {
                text += "resources = { licence = 1 }\n";
            }
            if task.device {
                text += "gpus = { big = 1 }\n";
            }
            let mut inputs: Vec<String> = task.inputs.iter().map(|i| format!("in{i}")).collect();
            inputs.sort_unstable();
            inputs.dedup();
            let mut after = Vec::new();
            for (from, files) in parents(index) {
                match files {
                    0 => after.push(format!("\"t{from}\"")),
                    _ => inputs.extend(of_edge(from, index, files)),
                }
            }
            let readers = (index + 1..self.tasks.len()).flat_map(|to| {
                let of_this = parents(to).into_iter().filter(|(from, _)| *from == index);
                of_this.flat_map(move |(from, files)| of_edge(from, to, files))
            });
            let list = |names: &[String]| {
                names.iter().map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(", ")
            };
            writeln!(text, "inputs = [{}]", list(&inputs)).unwrap();
            writeln!(text, "outputs = [{}]", list(&readers.collect::<Vec<_>>())).unwrap();
            writeln!(text, "after = [{}]", after.join(", ")).unwrap();
        }
        text
    }

    fn limits(&self) -> Limits {
        if self.limited {
            Limits { budget: Some(1e9), deadline: Some(1e6) }
        } else {
            Limits::default()
        }
    }
}

/// Runs one method; a panic becomes words.
fn caught(name: &str, run: impl FnOnce() -> Result<(), String>) -> Option<String> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => None,
        Ok(Err(why)) => Some(format!("{name}: {why}")),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
            Some(format!("{name} panics: {}", text.unwrap_or_default()))
        }
    }
}

/// Refuses an end before the lower bound.
fn not_before(bound: f64, end: f64) -> Result<(), String> {
    if end >= bound * (1.0 - 1e-9) {
        Ok(())
    } else {
        Err(format!("ends at {end}, before the lower bound {bound}"))
    }
}

/// The rules that planners break on a problem, and runs of their plans.
fn planners(stage: &Stage, problem: &Problem<'_>, limits: Limits, bound: f64) -> Vec<String> {
    let request = Request { iterations: Some(15), limits, ..Request::seeded(7) };
    let able = registry::every().filter(|a| a.lacks(problem, &limits).is_none());
    let broken = able.filter_map(|algorithm| {
        caught(algorithm.name, || match algorithm.plan(problem, &request) {
            Ok(schedule) => {
                if let Some(violation) = validate(problem, &schedule, &Limits::default()).first() {
                    return Err(format!("made an invalid schedule: {violation}"));
                }
                not_before(bound, schedule.makespan())?;
                let mut policy = StaticPlan::of_schedule(schedule, algorithm, Transfers::Push);
                let outcome = stage.run(&mut policy).map_err(|e| e.to_string())?;
                match outcome.ending {
                    Ending::Finished => not_before(bound, outcome.makespan),
                    Ending::CannotFinish(why) => Err(format!("its plan cannot be followed: {why}")),
                }
            }
            Err(PlanError::Unsupported { .. } | PlanError::Infeasible { .. }) => Ok(()),
            Err(error) => Err(error.to_string()),
        })
    });
    broken.collect()
}

/// The rules that policies break in simulated runs.
fn policies(case: &Case, stage: &Stage, problem: &Problem<'_>, bound: f64) -> Vec<String> {
    let limits = case.limits();
    let request = Request { iterations: Some(15), limits, ..Request::seeded(7) };
    let planner = Planner { algorithm: registry::usual(problem), request };
    let options = Options {
        transfers: case.transfers,
        period: Period::Seconds(7.0),
        ..Options::new(planner)
    };
    let able = policies::ALL.iter().filter(|e| e.needs.iter().all(|n| n.is_met(problem, &limits)));
    let broken = able.filter_map(|entry| {
        caught(entry.name, || {
            let mut policy = entry.policy(&options).unwrap();
            match policy.check(problem) {
                Ok(()) => {}
                Err(PlanError::Unsupported { .. } | PlanError::Infeasible { .. }) => return Ok(()),
                Err(error) => return Err(error.to_string()),
            }
            let outcome = stage.run(policy.as_mut()).map_err(|e| e.to_string())?;
            if let Ending::CannotFinish(why) = outcome.ending {
                return Err(format!("cannot finish: {why}"));
            }
            if !keeps_pools(problem, &outcome.schedule) {
                return Err("holds more of a pool than there is".to_string());
            }
            match outcome.counters.rejected {
                0 => not_before(bound, outcome.makespan),
                times => Err(format!("{times} decisions break a rule")),
            }
        })
    });
    broken.collect()
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    let (platform, workflow) = (case.platform(), case.workflow());
    let read = platform_toml::parse(&platform);
    prop_assert!(read.is_ok(), "{}", read.unwrap_err());
    let platform: Arc<Platform> = read.unwrap().into();
    let read = workflow_toml::read(&workflow);
    prop_assert!(read.is_ok(), "{}", read.unwrap_err());
    let workflow: Arc<Workflow> = read.unwrap().workflow.into();
    let problem = Problem::charged(
        &workflow,
        &platform,
        &slackline_engine::usual_models(&platform, &workflow).charges(),
        Inputs::of(&platform),
    );
    let stage = Stage {
        terms: Terms { limits: case.limits(), ..Terms::default() },
        ..Stage::new(workflow.clone(), platform.clone())
    };
    let problem = match problem {
        Ok(problem) => problem,
        // What fits nowhere is refused by all in the same words.
        Err(refused) => {
            let fits_nowhere = matches!(refused, ProblemError::FitsNowhere { .. });
            prop_assert!(fits_nowhere, "{refused}");
            let mut policy = slackline_react::JustInTime::default();
            return match stage.run(&mut policy) {
                Err(StageError::Problem(error)) => {
                    prop_assert_eq!(error, refused);
                    Ok(())
                }
                other => Err(TestCaseError::fail(format!("{other:?}"))),
            };
        }
    };
    let bound = bounds::lower_bound(&problem);
    let mut broken = planners(&stage, &problem, case.limits(), bound);
    broken.extend(policies(case, &stage, &problem, bound));
    prop_assert!(broken.is_empty(), "{}", broken.join("\n"));
    Ok(())
}

proptest! {
    #![proptest_config(slackline_testkit::cases(400))]
    #[test]
    fn every_method_plans_and_runs_by_the_rules(case in cases()) {
        check(&case)?;
    }
}
