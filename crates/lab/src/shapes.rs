//! Worlds of real shapes: applications as they were recorded, on the platforms people have, while
//! levels change, others compute too, machines fail and estimates are wrong.

use crate::papers::StudyError;
use slackline_engine::Stage;
use slackline_formats::{parse_workflow, platform_toml};
use slackline_generate::Seed;
use slackline_generate::registry::{self as generators, Family, Generator};
use slackline_generate::scenario::{Surroundings, onto};
use slackline_model::parameter::Given;
use slackline_model::problem::Inputs;
use slackline_model::scenario::{Knowledge, Scenario};
use slackline_model::{HostId, Platform, Workflow};
use slackline_react::{StaticPlan, Transfers};
use slackline_schedule::list::heft::HEFT;
use std::path::Path;
use std::sync::Arc;

/// Applications: name to show, generator, tasks. `like` follows a bundled recording.
pub const WORKFLOWS: [(&str, &str, usize); 16] = [
    ("montage, 50", "montage", 50),
    ("montage, 200", "montage", 200),
    ("cybershake, 60", "cybershake", 60),
    ("cybershake, 120", "cybershake", 120),
    ("epigenomics", "epigenomics", 60),
    ("inspiral", "inspiral", 60),
    ("sipht", "sipht", 60),
    ("1000genome", "1000genome", 60),
    ("cycles", "cycles", 70),
    ("seismology", "seismology", 100),
    ("blast", "blast", 50),
    ("bwa", "bwa", 80),
    ("soykb", "soykb", 80),
    ("srasearch", "srasearch", 40),
    ("like a montage", LIKE_MONTAGE, 60),
    ("like an epigenomics", LIKE_EPIGENOMICS, 60),
];

const LIKE_MONTAGE: &str = "like montage";
const LIKE_EPIGENOMICS: &str = "like epigenomics";

/// Parameters of a generator, by name.
type Settings = &'static [(&'static str, &'static str)];

/// Platforms: name to show, generator with its parameters; without one, bundled.
pub const PLATFORMS: [(&str, &str, Settings); 8] = [
    ("grid5000", "grid5000", &[("nodes", "paradent:5,parapide:3,sagittaire:4,gdx:4")]),
    ("multi-cluster", "multi-cluster", &[("clusters", "2")]),
    ("volunteers", "simulacrum", &[("community", "volunteer"), ("nodes", "16")]),
    ("mixed", "simulacrum", &[("community", "mixed"), ("nodes", "16")]),
    ("cloud", "cloud", &[("limit", "2")]),
    ("small-cluster", "", &[]),
    ("two-site-grid", "", &[]),
    ("four-sites", "", &[]),
];

/// One layer of a scenario: a generator and its parameters; those in makespans end in `m`.
type Layer = (&'static str, Settings);

/// A kind of scenario.
pub struct World {
    /// Name to show.
    pub name: &'static str,
    layers: &'static [Layer],
    /// Delay after which changes are observed, in makespans.
    delay: f64,
}

impl World {
    const fn of(name: &'static str, layers: &'static [Layer]) -> World {
        World { name, layers, delay: 0.0 }
    }

    const fn seen_after(mut self, delay: f64) -> World {
        self.delay = delay;
        self
    }

    /// Whether hosts are lost in it.
    pub fn has_failures(&self) -> bool {
        self.layers.iter().any(|(generator, _)| generator.starts_with("failure"))
    }

    /// Whether nothing happens in it.
    pub fn is_still(&self) -> bool {
        self.layers.is_empty()
    }
}

/// Kinds of scenarios.
pub static WORLDS: [World; 20] = [
    World::of("still", &[]),
    World::of("30 %, rare", &[("sce", &[("variability", "30"), ("gap", "3")])]),
    World::of("30 %, frequent", &[("sce", &[("variability", "30"), ("gap", "0.1")])]),
    World::of("60 %, rare", &[("sce", &[("variability", "60"), ("gap", "3")])]),
    World::of("60 %, frequent", &[("sce", &[("variability", "60"), ("gap", "0.1")])]),
    World::of("90 %, rare", &[("sce", &[("variability", "90"), ("gap", "3")])]),
    World::of("90 %, frequent", &[("sce", &[("variability", "90"), ("gap", "0.1")])]),
    World::of("half load, short", &[("load", &[("jobs", "0.5"), ("length", "0.25m")])]),
    World::of("half load, long", &[("load", &[("jobs", "0.5"), ("length", "2m")])]),
    World::of("double load, short", &[("load", &[("jobs", "2"), ("length", "0.25m")])]),
    World::of("double load, long", &[("load", &[("jobs", "2"), ("length", "2m")])]),
    World::of("failure", &[("failure", &[("at", "0.5m")])]),
    World::of("failure, return", &[("failure", &[("at", "0.5m"), ("lasts", "0.33m")])]),
    World::of("failures", &[("failures", &[("mtbf", "8m"), ("repair", "0.25m")])]),
    World::of("errors, uniform", &[("errors", &[("law", "uniform"), ("error", "0.5")])]),
    World::of("errors, log-normal", &[("errors", &[("law", "log-normal"), ("error", "0.4")])]),
    World::of(
        "errors, by kind",
        &[("errors", &[("law", "uniform"), ("error", "0.5"), ("per", "kind")])],
    ),
    World::of("60 %, rare, seen late", &[("sce", &[("variability", "60"), ("gap", "3")])])
        .seen_after(0.1),
    World::of("half load, long, seen late", &[("load", &[("jobs", "0.5"), ("length", "2m")])])
        .seen_after(0.1),
    World::of(
        "all together",
        &[
            ("load", &[("jobs", "0.5"), ("length", "2m")]),
            ("failure", &[("at", "0.5m"), ("lasts", "0.33m")]),
            ("errors", &[("law", "log-normal"), ("error", "0.3")]),
        ],
    )
    .seen_after(0.05),
];

/// A kind of workflow on a platform under a kind of scenario, by their positions in the lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Of [`WORKFLOWS`].
    pub workflow: usize,
    /// Of [`PLATFORMS`].
    pub platform: usize,
    /// Of [`WORLDS`].
    pub world: usize,
}

impl Shape {
    /// All there are.
    pub fn all() -> Vec<Shape> {
        let pairs = |world| {
            let all =
                (0..WORKFLOWS.len()).flat_map(move |w| (0..PLATFORMS.len()).map(move |p| (w, p)));
            all.map(move |(workflow, platform)| Shape { workflow, platform, world })
        };
        (0..WORLDS.len()).flat_map(pairs).collect()
    }

    /// Every workflow under every kind of scenario once, every platform equally often with each of them.
    pub fn some() -> Vec<Shape> {
        let count = PLATFORMS.len();
        let turn = |s: &Shape| s.platform == (s.workflow + 3 * s.world) % count;
        Shape::all().into_iter().filter(turn).collect()
    }

    /// Its kind of scenario.
    pub fn world(&self) -> &'static World {
        &WORLDS[self.world]
    }

    /// Name to show.
    pub fn name(&self) -> String {
        let (workflow, platform) = (WORKFLOWS[self.workflow].0, PLATFORMS[self.platform].0);
        format!("{workflow}; {platform}; {}", self.world().name)
    }

    /// One replication of this shape, and the same without changes. Inputs are everywhere for even seeds, on
    /// the platform's origin, or its first host, for odd ones.
    pub fn stages(&self, seed: u64) -> Result<Stages, StudyError> {
        let workflow = Arc::new(workflow(WORKFLOWS[self.workflow], seed)?);
        let platform = Arc::new(platform(PLATFORMS[self.platform], seed)?);
        let mut still = Stage::new(workflow, platform.clone());
        still.inputs = match seed % 2 {
            0 => Inputs::Everywhere,
            _ => Inputs::At(platform.origin().unwrap_or(HostId(0))),
        };
        let outcome = still.run(&mut StaticPlan::new(&HEFT, Transfers::Push));
        let makespan = outcome.map_err(StudyError::of)?.makespan;
        let mut stage = still.clone();
        for (generator, given) in self.world().layers {
            let above = scenario((generator, given), &platform, seed, makespan)?;
            stage.scenario = onto(stage.scenario, above);
        }
        let known = stage.scenario.known(&stage.workflow, &platform, Knowledge::Estimates);
        stage.known = known.map_err(StudyError::of)?;
        stage.settings.monitoring_delay = self.world().delay * makespan;
        Ok(Stages { still, stage })
    }
}

/// The same replication with run times given to the policy that have relative errors of at most `share`.
pub fn told_wrong(stage: &Stage, share: f64, seed: u64) -> Result<Stage, StudyError> {
    let share = share.to_string();
    let given = [("law", "uniform"), ("error", &share), ("wrong", "estimate")];
    // Errors have no dates, so that no makespan counts.
    let wrong = scenario(("errors", &given), &stage.platform, seed, 1.0)?;
    let known = wrong.known(&stage.workflow, &stage.platform, Knowledge::Estimates);
    Ok(Stage { known: known.map_err(StudyError::of)?, ..stage.clone() })
}

/// A replication, and the same without changes.
pub struct Stages {
    /// While nothing happens.
    pub still: Stage,
    /// As it is.
    pub stage: Stage,
}

fn texts(given: &[(&str, &str)]) -> Given {
    given.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

fn generator(family: Family, name: &str) -> Result<&'static Generator, StudyError> {
    generators::find(family, name).map_err(StudyError::of)
}

fn workflow((_, name, tasks): (&str, &str, usize), seed: u64) -> Result<Workflow, StudyError> {
    let recorded = match name {
        LIKE_MONTAGE => Some(("montage.json", MONTAGE)),
        LIKE_EPIGENOMICS => Some(("epigenomics.dax", EPIGENOMICS)),
        _ => None,
    };
    let instances = match recorded {
        Some((file, text)) => {
            let document = parse_workflow(text, Some(Path::new(file)), None);
            vec![document.map_err(StudyError::of)?.workflow]
        }
        None => Vec::new(),
    };
    let make = generator(Family::Workflow, if recorded.is_some() { "like" } else { name })?;
    let given = texts(&[("tasks", &tasks.to_string())]);
    let settings = make.settings(&given).map_err(StudyError::of)?;
    make.workflow_like(&settings, Seed::new(seed), &instances).map_err(StudyError::of)
}

fn platform(
    (name, made_by, given): (&str, &str, &[(&str, &str)]),
    seed: u64,
) -> Result<Platform, StudyError> {
    let bundled = match name {
        "small-cluster" => Some(SMALL_CLUSTER),
        "two-site-grid" => Some(TWO_SITE_GRID),
        "four-sites" => Some(FOUR_SITES),
        _ => None,
    };
    if let Some(text) = bundled {
        return platform_toml::parse(text).map_err(StudyError::of);
    }
    let make = generator(Family::Platform, made_by)?;
    let settings = make.settings(&texts(given)).map_err(StudyError::of)?;
    make.platform(&settings, Seed::new(seed)).map_err(StudyError::of)
}

/// Number of makespans during which changes occur.
const HORIZON: f64 = 20.0;

fn scenario(
    (name, given): (&str, &[(&str, &str)]),
    platform: &Platform,
    seed: u64,
    makespan: f64,
) -> Result<Scenario, StudyError> {
    let make = generator(Family::Scenario, name)?;
    let seconds = |share: &str| share.parse::<f64>().ok().map(|s| format!("{}s", s * makespan));
    let mut all: Given = texts(given);
    for (_, value) in &mut all {
        if let Some(scaled) = value.strip_suffix('m').and_then(seconds) {
            *value = scaled;
        }
    }
    let lasting = [("makespan", 1.0), ("horizon", HORIZON)];
    for (parameter, share) in lasting {
        // Some generators take the duration of changes in makespans, others in seconds.
        let has = make.parameters().any(|p| p.name == parameter);
        if has && (parameter == "makespan" || name != "sce") {
            all.push((parameter.to_string(), format!("{}s", share * makespan)));
        }
    }
    let settings = make.settings(&all).map_err(StudyError::of)?;
    let around = Surroundings { platform: Some(platform), ..Surroundings::default() };
    make.scenario(&settings, Seed::new(seed), &around).map_err(StudyError::of)
}

const MONTAGE: &str = include_str!("../../../examples/workflows/montage.json");
const EPIGENOMICS: &str = include_str!("../../../examples/workflows/epigenomics.dax");
const SMALL_CLUSTER: &str = include_str!("../../../examples/platforms/small-cluster.toml");
const TWO_SITE_GRID: &str = include_str!("../../../examples/platforms/two-site-grid.toml");
const FOUR_SITES: &str = include_str!("../../../examples/platforms/four-sites.toml");

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_can_be_made() {
        let shapes = Shape::all();
        assert_eq!(shapes.len(), 16 * 8 * 20);
        // Every workflow, platform and kind of scenario at least once.
        let once = |s: &&Shape| {
            s.world % 16 == s.workflow && s.platform == (s.workflow + s.world / 16) % 8
        };
        for shape in shapes.iter().filter(once) {
            let made = shape.stages(1).unwrap();
            assert_eq!(
                made.stage.scenario.is_still(),
                shape.world().is_still(),
                "{}",
                shape.name()
            );
        }
        let some = Shape::some();
        assert_eq!(some.len(), 16 * 20);
        for platform in 0..8 {
            assert_eq!(some.iter().filter(|s| s.platform == platform).count(), 40);
        }
    }
}
