//! The list of all generators. Adding one is a file and an entry here.

use crate::costs::{self, Costs};
use crate::draw::Seed;
use crate::error::{GenerateError, Result};
use crate::graph::Graph;
use crate::platform::recorded::{self, Machine};
use crate::platform::simulacrum::{self, Recipe};
use crate::platform::{grid5000, simple};
use crate::scenario::{self, Surroundings};
use crate::workflow::application::{astronomy, earth, life, physics};
use crate::workflow::daggen::{self, Daggen};
use crate::workflow::layered::{self, Layered, SelectiveRescheduling};
use crate::workflow::nondeterministic::{self, Nondeterministic};
use crate::workflow::stg::{self, Stg};
use crate::workflow::sweep::{self, Sweep};
use crate::workflow::{like, numerical, regular};
use slackline_model::parameter::{Parameter, Values};
use slackline_model::{Platform, Scenario, Workflow};

/// The kind of objects that a generator makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Workflows.
    Workflow,
    /// Platforms.
    Platform,
    /// Worlds.
    Scenario,
}

impl Family {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Family::Workflow => "workflow",
            Family::Platform => "platform",
            Family::Scenario => "scenario",
        }
    }
}

/// The function of a generator, by what it needs and returns.
#[derive(Clone, Copy)]
enum Make {
    /// A shape, which then gets costs.
    Shape(fn(&Values, Seed) -> Result<Graph>),
    /// A workflow with its own costs.
    Application(fn(&Values, Seed) -> Result<Workflow>),
    /// A workflow with choices and loops.
    Choices(fn(&Values, Seed) -> Result<Workflow>),
    /// A workflow like those given.
    Like,
    /// The machines of a recorded run.
    Recorded(fn(&Values, &[Machine]) -> Result<Platform>),
    /// A platform.
    Platform(fn(&Values, Seed) -> Result<Platform>),
    /// A world.
    Scenario(fn(&Values, Seed, &Surroundings<'_>) -> Result<Scenario>),
}

/// An entry of the registry.
pub struct Generator {
    /// The kind of its objects.
    pub family: Family,
    /// As on the command line.
    pub name: &'static str,
    /// Description, one sentence.
    pub about: &'static str,
    /// The publication that defines it.
    pub source: &'static str,
    parameters: &'static [&'static [Parameter]],
    /// Defaults that differ from those of the parameters.
    defaults: &'static [(&'static str, &'static str)],
    make: Make,
}

impl Generator {
    /// Its parameters in order.
    pub fn parameters(&self) -> impl Iterator<Item = &'static Parameter> + use<> {
        self.parameters.iter().copied().flatten()
    }

    /// Whether it makes an application, which has its own costs.
    pub fn is_application(&self) -> bool {
        matches!(self.make, Make::Application(_))
    }

    /// Whether what it makes has choices and loops, which few formats can say.
    pub fn has_choices(&self) -> bool {
        matches!(self.make, Make::Choices(_))
    }

    /// The default of one of its parameters.
    pub fn default_of(&self, parameter: &Parameter) -> &'static str {
        let own = self.defaults.iter().find(|(name, _)| *name == parameter.name);
        own.map_or(parameter.default, |(_, value)| value)
    }

    /// Checks parameters as given by name and text.
    pub fn settings(&self, given: &[(String, String)]) -> Result<Values> {
        Ok(Values::read(self.name, self.parameters(), self.defaults, given)?)
    }

    /// The command that makes this thing (member of a population) again.
    pub fn command(&self, settings: &Values, seed: Seed) -> String {
        let mut command = format!("slackline generate {} {}", self.family.name(), self.name);
        for (name, value) in settings.iter() {
            let default = self.parameters().find(|p| p.name == name);
            if default.is_none_or(|p| self.default_of(p) != value) {
                command.push_str(&format!(" --{name} {value}"));
            }
        }
        command.push_str(&format!(" --seed {}", seed.seed));
        if seed.member > 0 {
            command.push_str(&format!(" --member {}", seed.member));
        }
        command
    }

    /// Whether it needs workflows to make another like them.
    pub fn needs_instances(&self) -> bool {
        matches!(self.make, Make::Like)
    }

    /// Makes a workflow.
    pub fn workflow(&self, settings: &Values, seed: Seed) -> Result<Workflow> {
        self.workflow_like(settings, seed, &[])
    }

    /// Makes a workflow, like the given ones where the generator is of that sort.
    pub fn workflow_like(
        &self,
        settings: &Values,
        seed: Seed,
        instances: &[Workflow],
    ) -> Result<Workflow> {
        match self.make {
            Make::Shape(shape) => shape(settings, seed)?.workflow(&Costs::read(settings)?, seed),
            Make::Application(make) | Make::Choices(make) => make(settings, seed),
            Make::Like => {
                let formulas = settings.word("fit") == "auto";
                like::like(instances, settings.count("tasks")?, formulas, seed)
            }
            _ => Err(self.makes_another("workflow")),
        }
    }

    /// Whether it takes the machines of a recorded run.
    pub fn needs_machines(&self) -> bool {
        matches!(self.make, Make::Recorded(_))
    }

    /// Makes a platform, of the given machines where the generator is of that sort.
    pub fn platform_of(
        &self,
        settings: &Values,
        seed: Seed,
        machines: &[Machine],
    ) -> Result<Platform> {
        match self.make {
            Make::Recorded(make) => make(settings, machines),
            _ => self.platform(settings, seed),
        }
    }

    /// Makes a platform.
    pub fn platform(&self, settings: &Values, seed: Seed) -> Result<Platform> {
        match self.make {
            Make::Platform(make) => make(settings, seed),
            _ => Err(self.makes_another("platform")),
        }
    }

    /// Makes a world.
    pub fn scenario(
        &self,
        settings: &Values,
        seed: Seed,
        around: &Surroundings<'_>,
    ) -> Result<Scenario> {
        match self.make {
            Make::Scenario(make) => make(settings, seed, around),
            _ => Err(self.makes_another("scenario")),
        }
    }

    fn makes_another(&self, wanted: &str) -> GenerateError {
        let (name, family) = (self.name, self.family.name());
        GenerateError::Impossible(format!("'{name}' makes a {family}, not a {wanted}"))
    }
}

/// The generator of that name.
pub fn find(family: Family, name: &str) -> Result<&'static Generator> {
    of(family).find(|g| g.name == name).ok_or_else(|| GenerateError::UnknownGenerator {
        family: family.name(),
        name: name.into(),
        known: of(family).map(|g| g.name).collect::<Vec<_>>().join(", "),
    })
}

/// All generators of a family.
pub fn of(family: Family) -> impl Iterator<Item = &'static Generator> {
    ALL.iter().filter(move |g| g.family == family)
}

const fn shape(
    name: &'static str,
    about: &'static str,
    source: &'static str,
    parameters: &'static [&'static [Parameter]],
    make: fn(&Values, Seed) -> Result<Graph>,
) -> Generator {
    let make = Make::Shape(make);
    Generator { family: Family::Workflow, name, about, source, parameters, defaults: &[], make }
}

const fn application(
    name: &'static str,
    about: &'static str,
    source: &'static str,
    parameters: &'static [&'static [Parameter]],
    make: fn(&Values, Seed) -> Result<Workflow>,
) -> Generator {
    let make = Make::Application(make);
    Generator { family: Family::Workflow, name, about, source, parameters, defaults: &[], make }
}

const fn platform(
    name: &'static str,
    about: &'static str,
    source: &'static str,
    parameters: &'static [&'static [Parameter]],
    make: fn(&Values, Seed) -> Result<Platform>,
) -> Generator {
    let make = Make::Platform(make);
    Generator { family: Family::Platform, name, about, source, parameters, defaults: &[], make }
}

const fn scenario(
    name: &'static str,
    about: &'static str,
    source: &'static str,
    parameters: &'static [&'static [Parameter]],
    make: fn(&Values, Seed, &Surroundings<'_>) -> Result<Scenario>,
) -> Generator {
    let make = Make::Scenario(make);
    Generator { family: Family::Scenario, name, about, source, parameters, defaults: &[], make }
}

impl Generator {
    const fn with_defaults(
        mut self,
        defaults: &'static [(&'static str, &'static str)],
    ) -> Generator {
        self.defaults = defaults;
        self
    }
}

/// Beta costs on four processors, as the application graphs of the PEFT study.
const BETA: &[(&str, &str)] = &[("costs", "beta"), ("processors", "4")];
/// Beta costs on four processors with one mean per level: all paths are critical.
const BETA_LEVELS: &[(&str, &str)] =
    &[("costs", "beta"), ("processors", "4"), ("per-level", "yes")];
/// The weights of the GTP study.
const GTP: &[(&str, &str)] = &[
    ("costs", "uniform"),
    ("processors", "10"),
    ("ccr", "0.5"),
    ("ccr-by", "means"),
    ("data-spread", "0.5"),
    ("bandwidth", "1Bps"),
];
/// The weights of the selective-rescheduling study.
const SR: &[(&str, &str)] = &[
    ("costs", "uniform"),
    ("low", "50"),
    ("high", "100"),
    ("whole", "no"),
    ("processors", "5"),
    ("ccr", "0.5"),
    ("ccr-by", "means"),
    ("bandwidth", "1Bps"),
];

/// Every generator.
pub static ALL: &[Generator] = &[
    shape(
        "daggen",
        "layered random graphs by width, regularity, density and jump",
        "F. Suter, daggen; widths of Arabnejad and Barbosa 2014 with --width-rule root",
        &[daggen::PARAMETERS, costs::PARAMETERS],
        |s, seed| Daggen::read(s)?.graph(seed),
    ),
    shape(
        "stg",
        "the four random methods of the Standard Task Graph set",
        "Tobita and Kasahara 2002; weights as Hernandez 2008",
        &[stg::PARAMETERS, costs::PARAMETERS],
        |s, seed| Stg::read(s)?.graph(seed),
    )
    .with_defaults(GTP),
    shape(
        "sr",
        "layered graphs with one entry and one exit",
        "Zhao and Sakellariou 2004",
        &[layered::SR, costs::PARAMETERS],
        |s, seed| SelectiveRescheduling::read(s)?.graph(seed),
    )
    .with_defaults(SR),
    shape(
        "layered",
        "equal levels with a mean number of parents per task; any size",
        "",
        &[layered::LAYERED, costs::PARAMETERS],
        |s, seed| Layered::read(s)?.graph(seed),
    ),
    shape(
        "random",
        "edges drawn uniformly among all pairs of tasks",
        "",
        &[regular::RANDOM, costs::PARAMETERS],
        |s, seed| regular::random(s.count("tasks")?, s.number("edges-per-task")?, seed),
    ),
    shape(
        "gauss",
        "Gaussian elimination",
        "Amoura, Bampis and Koenig 1998",
        &[numerical::GAUSS, costs::PARAMETERS],
        |s, _| numerical::gauss(s.count("size")?),
    )
    .with_defaults(BETA),
    shape(
        "fft",
        "fast Fourier transform: recursive calls, then butterflies",
        "Topcuoglu, Hariri and Wu 2002",
        &[numerical::FFT, costs::PARAMETERS],
        |s, _| numerical::fft(s.count("points")?),
    )
    .with_defaults(BETA_LEVELS),
    shape(
        "strassen",
        "Strassen's matrix product, 25 tasks",
        "Strassen 1969; as in the parallel-task-graph studies",
        &[costs::PARAMETERS],
        |_, _| numerical::strassen(),
    ),
    shape(
        "laplace",
        "Laplace equation on a square grid",
        "Wu and Gajski 1990",
        &[numerical::LAPLACE, costs::PARAMETERS],
        |s, _| numerical::laplace(s.count("size")?),
    )
    .with_defaults(BETA),
    shape(
        "fork-join",
        "stages of parallel tasks between single ones",
        "",
        &[regular::FORK_JOIN, costs::PARAMETERS],
        |s, _| regular::fork_join(s.count("width")?, s.count("stages")?),
    ),
    shape("out-tree", "a tree from one root", "", &[regular::TREE, costs::PARAMETERS], |s, _| {
        regular::out_tree(s.count("tasks")?, s.count("arity")?)
    }),
    shape("in-tree", "a tree into one root", "", &[regular::TREE, costs::PARAMETERS], |s, _| {
        regular::in_tree(s.count("tasks")?, s.count("arity")?)
    }),
    shape(
        "chain",
        "one chain, or several side by side",
        "",
        &[regular::CHAIN, costs::PARAMETERS],
        |s, _| regular::chains(s.count("tasks")?, s.count("chains")?),
    ),
    application(
        "sweep",
        "parameter sweep: independent tasks that share input files",
        "Berman et al. 1999",
        &[sweep::PARAMETERS],
        |s, seed| Sweep::read(s)?.workflow(seed),
    ),
    Generator {
        family: Family::Workflow,
        name: "nondeterministic",
        about: "choices and loops in nested regions; tasks of hours that several machines share",
        source: "",
        parameters: &[nondeterministic::PARAMETERS],
        defaults: &[],
        make: Make::Choices(|s, seed| Nondeterministic::read(s)?.workflow(seed)),
    },
    Generator {
        family: Family::Workflow,
        name: "like",
        about: "like given workflows: their structure, run times and file sizes fitted to theirs",
        source: "after Coleman et al. 2022 (WfCommons)",
        parameters: &[like::PARAMETERS],
        defaults: &[],
        make: Make::Like,
    },
    application(
        "montage",
        "mosaics of the sky; many small tasks, much data",
        "Juve et al. 2013; Pegasus workflow set",
        &[astronomy::MONTAGE],
        astronomy::montage,
    ),
    application(
        "cybershake",
        "earthquake hazards; large inputs",
        "Juve et al. 2013; Pegasus workflow set",
        &[earth::CYBERSHAKE],
        earth::cybershake,
    ),
    application(
        "epigenomics",
        "genome mapping; parallel chains, compute bound",
        "Juve et al. 2013; Pegasus workflow set",
        &[life::EPIGENOMICS],
        life::epigenomics,
    ),
    application(
        "inspiral",
        "LIGO search for gravitational waves; compute bound",
        "Juve et al. 2013; Pegasus workflow set",
        &[physics::INSPIRAL],
        physics::inspiral,
    ),
    application(
        "sipht",
        "search for small RNAs; a few long tasks",
        "Juve et al. 2013; Pegasus workflow set",
        &[life::SIPHT],
        life::sipht,
    ),
    application(
        "wien2k",
        "WIEN2k electronic structure; two parallel sections, run times are a stand-in",
        "Blaha et al. 2001; shape as in the QoS studies",
        &[physics::WIEN2K],
        physics::wien2k,
    ),
    application(
        "1000genome",
        "mutations in human populations",
        "da Silva et al. 2019; figures of WfCommons traces",
        &[life::GENOME],
        life::genome,
    ),
    application(
        "cycles",
        "crop simulations and their summaries",
        "da Silva et al. 2019; figures of WfCommons traces",
        &[earth::CYCLES],
        earth::cycles,
    ),
    application(
        "seismology",
        "many deconvolutions gathered by one task",
        "Filgueira et al. 2016; figures of WfCommons traces",
        &[earth::SEISMOLOGY],
        earth::seismology,
    ),
    application(
        "blast",
        "searches in one large data base",
        "Hazekamp and Thain 2017; figures of WfCommons traces",
        &[life::BLAST],
        life::blast,
    ),
    application(
        "bwa",
        "alignments against one index",
        "Hazekamp and Thain 2017; figures of WfCommons traces",
        &[life::BWA],
        life::bwa,
    ),
    application(
        "soykb",
        "variants in soybean genomes; large shared inputs",
        "Liu et al. 2016; figures of WfCommons traces",
        &[life::SOYKB],
        life::soykb,
    ),
    application(
        "srasearch",
        "downloads and searches of sequence archives",
        "Rynge, SRA search; figures of WfCommons traces",
        &[life::SRASEARCH],
        life::srasearch,
    ),
    platform(
        "grid5000",
        "Grid'5000 or a part of it, with the published figures",
        "Grid'5000; figures of its public description and of the studies",
        &[grid5000::PARAMETERS],
        grid5000::grid5000,
    ),
    platform(
        "multi-cluster",
        "clusters of Grid'5000 drawn by heterogeneity",
        "Suter and Casanova 2007",
        &[grid5000::MULTI],
        grid5000::multi_cluster,
    ),
    platform(
        "simulacrum",
        "a random network whose nodes become hosts, clusters or routers",
        "Quinson, Bobelin and Suter 2010 (SIMULACRUM)",
        &[simulacrum::PARAMETERS],
        |s, seed| Recipe::read(s)?.platform(seed),
    ),
    Generator {
        family: Family::Platform,
        name: "recorded",
        about: "the machines of a recorded run (WfFormat), over an assumed network",
        source: "",
        parameters: &[recorded::PARAMETERS],
        defaults: &[],
        make: Make::Recorded(recorded::recorded),
    },
    platform("cluster", "one cluster, homogeneous or not", "", &[simple::CLUSTER], simple::cluster),
    platform(
        "processors",
        "abstract processors p1, p2, ..., fully connected, without contention",
        "Topcuoglu, Hariri and Wu 2002",
        &[simple::PROCESSORS],
        simple::processors,
    ),
    platform(
        "cloud",
        "machines to lease, with prices and billing",
        "price lists of Amazon EC2",
        &[simple::CLOUD],
        simple::cloud,
    ),
    platform(
        "sweep-grid",
        "clusters reached from one origin by a link each",
        "Berman et al. 1999",
        &[simple::SWEEP_GRID],
        simple::sweep_grid,
    ),
    scenario(
        "sce",
        "hosts and links change their level at random, bounded by z %",
        "Hernandez 2008, SCE(x, y, z)",
        &[scenario::SCE],
        scenario::sce,
    ),
    scenario(
        "failure",
        "hosts fail at one point in time",
        "Hernandez 2008, TE2",
        &[scenario::FAILURE],
        scenario::failure,
    ),
    scenario(
        "failures",
        "hosts fail at a rate and are repaired",
        "Schroeder and Gibson 2010",
        &[scenario::FAILURES],
        scenario::failures,
    ),
    scenario(
        "load",
        "other people's jobs come and go on every host",
        "",
        &[scenario::LOAD],
        scenario::load,
    ),
    scenario(
        "errors",
        "estimates are wrong on a still platform",
        "Zhao and Sakellariou 2004; Berman et al. 1999",
        &[scenario::ERRORS],
        scenario::errors,
    ),
    scenario(
        "arrivals",
        "workflows arrive one after another",
        "Arabnejad and Barbosa 2012 to 2017",
        &[scenario::ARRIVALS],
        scenario::arrivals,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_generator_works_with_its_defaults_and_repeats_itself() {
        let mut names = std::collections::HashSet::new();
        for generator in of(Family::Workflow) {
            assert!(names.insert(generator.name));
            let settings = generator.settings(&[]).unwrap();
            let original = Sweep::default().workflow(Seed::new(1)).unwrap();
            let instances = [original];
            let make = |seed| generator.workflow_like(&settings, seed, &instances).unwrap();
            let one = make(Seed::new(1));
            assert_eq!(one, make(Seed::new(1)), "{}", generator.name);
            assert_ne!(one, make(Seed { seed: 1, member: 1 }), "{}", generator.name);
        }
    }

    #[test]
    fn every_platform_and_world_repeats_itself() {
        let workflows = ["w.json".to_string()];
        let mut platforms = Vec::new();
        for generator in of(Family::Platform) {
            let settings = generator.settings(&[]).unwrap();
            let machines = ["a", "b"].map(|n| Machine { name: n.into(), ..Machine::default() });
            let make = || generator.platform_of(&settings, Seed::new(4), &machines).unwrap();
            assert_eq!(format!("{:?}", make().hosts()), format!("{:?}", make().hosts()));
            // Every pair of hosts can talk, or a sample of them.
            let p = make();
            let mut cache = slackline_model::platform::RouteCache::new();
            let step = (p.hosts().len() / 7).max(1);
            for a in p.host_ids().step_by(step) {
                for b in p.host_ids().step_by(step).filter(|&b| b != a) {
                    if matches!(p.network(), slackline_model::platform::Network::Zones) {
                        cache.route(&p, a, b).unwrap();
                    }
                }
            }
            platforms.push(p);
        }
        for generator in of(Family::Scenario) {
            let settings = generator.settings(&[]).unwrap();
            for p in platforms.iter().filter(|p| p.hosts().len() < 100) {
                let around = Surroundings { platform: Some(p), workflows: &workflows };
                let make = || generator.scenario(&settings, Seed::new(4), &around).unwrap();
                let world = make();
                assert_eq!(world, make(), "{}", generator.name);
                let settled = world.at_makespan(10.0);
                settled.on(p).unwrap_or_else(|e| panic!("{} on {}: {e}", generator.name, p.name()));
            }
        }
    }

    #[test]
    fn unknown_names_are_answered_with_the_known_ones() {
        let error = find(Family::Workflow, "montag").err().unwrap().to_string();
        assert!(error.contains("daggen, stg"), "{error}");
    }
}
