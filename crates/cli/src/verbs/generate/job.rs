//! Reading what was asked for, making it, and writing one file or a population with a manifest.

use crate::input::{read_platform, read_workflow};
use crate::output::Output;
use crate::path_check::Files;
use clap::ArgMatches;
use slackline_core::Failure;
use slackline_core::generation::{
    Generation, Thing, {machines, planned},
};
use slackline_formats::{Format, scenario};
use slackline_generate::population::{Population, STUDIES};
use slackline_generate::registry::{Family, Generator};
use slackline_generate::workflow::like::Likeness;
use slackline_generate::workflow::runnable::Runnable;
use slackline_model::units::Quantity;
use slackline_report::generated::report;
use std::path::{Path, PathBuf};

/// A generation, and the place of its result.
pub(super) struct GenerationJob {
    generation: Generation,
    member: Option<u64>,
    output: Option<PathBuf>,
    json: bool,
    report: bool,
    /// The files that are read.
    reads: Vec<PathBuf>,
}

impl GenerationJob {
    pub(super) fn read(
        generator: &'static Generator,
        matches: &ArgMatches,
        output: &mut Output,
    ) -> Result<GenerationJob, Failure> {
        let mut given = Vec::new();
        for parameter in generator.parameters() {
            if let Some(value) = matches.get_one::<String>(parameter.name) {
                given.push((parameter.name.to_string(), value.clone()));
            }
        }
        let number = |name: &str| matches.get_one::<u64>(name).copied();
        let (count, seed) = (number("count").unwrap_or(1), number("seed").unwrap_or(1));
        let path = |name: &str| matches.try_get_one::<PathBuf>(name).ok().flatten().cloned();
        let paths = |name: &str| -> Vec<PathBuf> {
            let found = matches.try_get_many::<PathBuf>(name).ok().flatten();
            found.map(|list| list.cloned().collect()).unwrap_or_default()
        };
        let scale = generator.parameters().any(|p| p.name == MAKESPAN)
            && given.iter().all(|(name, _)| name != MAKESPAN);
        if scale {
            match (paths("workflow").as_slice(), path("platform")) {
                ([workflow], Some(platform)) => {
                    let seconds = planned(workflow, &platform, &mut output.context(false))?;
                    output.note(&format!("--makespan {seconds} s, as planned"));
                    given.push((MAKESPAN.to_string(), format!("{seconds}s")));
                }
                _ => output.note(
                    "--makespan 100s is assumed; name the workflow with --workflow to plan it",
                ),
            }
        }
        let mut job = GenerationJob {
            generation: Generation {
                population: Population::new(generator, &given, count, seed)?,
                to: text_of(matches),
                instances: Vec::new(),
                machines: Vec::new(),
                platform: None,
                workflows: Vec::new(),
                onto: None,
                files: String::new(),
                first: None,
                runnable: runnable(generator.family, matches)?,
            },
            member: number("member"),
            output: path("output"),
            json: matches.get_flag("json"),
            report: generator.needs_instances() && matches.get_flag("report"),
            reads: Vec::new(),
        };
        for name in ["run", "platform", "onto"] {
            job.reads.extend(path(name));
        }
        for name in ["instances", "workflow"] {
            job.reads.extend(paths(name));
        }
        job.check_files(output)?;
        if let Some(file) = path("run") {
            job.generation.machines = machines(&file, &mut output.context(false))?;
            job.generation.files.push_str(&format!(" {}", file.display()));
        }
        for file in paths("instances") {
            job.generation.instances.push(read_workflow(&file, None, output)?);
            job.generation.files.push_str(&format!(" {}", file.display()));
        }
        for file in paths("workflow") {
            job.generation.workflows.push(file.display().to_string());
            job.generation.files.push_str(&format!(" --workflow {}", file.display()));
        }
        if let Some(file) = path("platform") {
            job.generation.platform = Some(read_platform(&file, output)?);
            job.generation.files.push_str(&format!(" --platform {}", file.display()));
        }
        if let Some(file) = path("onto") {
            job.generation.onto = Some(scenario::read_scenario(&output.files, &file)?);
            job.generation.files.push_str(&format!(" --onto {}", file.display()));
        }
        Ok(job)
    }

    /// One file is written over none of those that are read; a population gets a folder.
    fn check_files(&self, output: &mut Output) -> Result<(), Failure> {
        if self.generation.population.len() > 1 {
            return Ok(());
        }
        Files::default()
            .reads_all(&self.reads)
            .writes("--output", self.output.as_ref())
            .json(self.json)
            .check(output)
    }

    pub(super) fn run(&self, output: &mut Output) -> Result<(), Failure> {
        let members = self.generation.population.len();
        if members > 1 {
            let Some(folder) = &self.output else {
                let message = format!("{members} files need a folder");
                return Err(Failure::input(message).with_help("name one with -o FOLDER"));
            };
            return self.write_population(folder, output);
        }
        let mut member = self.generation.population.member(0)?;
        member.seed.member = self.member.unwrap_or(0);
        let Some(path) = &self.output else {
            return self
                .generation
                .make(&member)?
                .write(self.generation.form(None), &mut *output.stream());
        };
        if let (Some(folder), true) = (path.parent(), self.generation.runnable.is_some()) {
            // Its inputs lie beside it: a folder of its own is the usual place.
            let failed = |e: std::io::Error| {
                Failure::input(format!("{}: cannot make this folder: {e}", folder.display()))
            };
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let mut made = self.generation.make(&member)?;
        let form = self.generation.form(Some(path));
        made.write_file(&output.files, path, form)?;
        if self.generation.runnable.is_some() {
            made.write_inputs(&output.files, path.parent().unwrap_or(Path::new("")))?;
        }
        if self.json {
            return output.json(&made.entry(path.display().to_string(), &member));
        }
        output.say(&format!("{}: {}\n", path.display(), made.summary()))?;
        if self.report
            && let Thing::Workflow(generated) = &made.thing
        {
            for original in &self.generation.instances {
                report(&Likeness::of(original, &generated.workflow), original.name(), output)?;
            }
        }
        Ok(())
    }

    fn write_population(&self, folder: &Path, output: &mut Output) -> Result<(), Failure> {
        let manifest = self.generation.write_population(folder, &output.files)?;
        if self.json {
            return output.json(&manifest);
        }
        let members = manifest.members.len();
        output.say(&format!("{}: {members} files and manifest.json\n", folder.display()))
    }
}

/// Options of runnable tasks, where they are asked for.
fn runnable(family: Family, matches: &ArgMatches) -> Result<Option<Runnable>, Failure> {
    if family != Family::Workflow || !matches.get_flag("runnable") {
        return Ok(None);
    }
    let read = |name: &str, what: Quantity| -> Result<f64, Failure> {
        let text = matches.get_one::<String>(name).map_or("", String::as_str);
        match what.parse_or_bare(text) {
            Ok(value) if value >= 0.0 && value.is_finite() => Ok(value),
            Ok(_) => Err(Failure::input(format!("--{name} {text}: expected 0 or more"))),
            Err(error) => Err(Failure::input(format!("--{name} {text}: {error}"))),
        }
    };
    let seconds = read("mean-seconds", Quantity::Duration)?;
    Ok(Some(Runnable { seconds, bytes: read("mean-size", Quantity::Size)? }))
}

/// The scale of time of some worlds.
const MAKESPAN: &str = "makespan";

/// The value of `--to`, whatever its type.
fn text_of(matches: &ArgMatches) -> Option<String> {
    match matches.try_get_one::<Format>("to") {
        Ok(format) => format.map(|f| f.name().to_string()),
        Err(_) => matches.try_get_one::<String>("to").ok().flatten().cloned(),
    }
}

/// Makes the workflows of a published study.
pub(super) fn study(matches: &ArgMatches, output: &mut Output) -> Result<(), Failure> {
    let name = matches.get_one::<String>("name").map_or("", String::as_str);
    let Some(study) = STUDIES.iter().find(|s| s.name == name) else {
        return Err(Failure::input(format!("there is no study '{name}'")));
    };
    let seed = matches.get_one::<u64>("seed").copied().unwrap_or(1);
    let population = study.population(seed)?;
    let generation = Generation {
        first: Some(matches.get_one::<u64>("first").copied().unwrap_or(population.len())),
        population,
        to: text_of(matches),
        instances: Vec::new(),
        machines: Vec::new(),
        platform: None,
        workflows: Vec::new(),
        onto: None,
        files: String::new(),
        runnable: None,
    };
    let job = GenerationJob {
        generation,
        member: None,
        output: None,
        json: matches.get_flag("json"),
        report: false,
        reads: Vec::new(),
    };
    match matches.get_one::<PathBuf>("output") {
        Some(folder) => job.write_population(folder, output),
        None => Err(Failure::input("a study needs a folder").with_help("name one with -o FOLDER")),
    }
}
