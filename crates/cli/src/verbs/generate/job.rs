//! Reading what was asked for, making it, and writing one file or a population with a manifest.

use super::write::{Form, GeneratedFile, GeneratedInput, Thing};
use crate::input::{read_document, read_platform, read_workflow};
use crate::output::Output;
use crate::path_check::Files;
use clap::ArgMatches;
use serde::Serialize;
use slackline_core::recorded::machine;
use slackline_core::{Failure, schema};
use slackline_formats::document::RecordedMachine;
use slackline_formats::{Document, Format, scenario};
use slackline_generate::platform::recorded::{Machine, usual};
use slackline_generate::population::{Member, Population, STUDIES};
use slackline_generate::registry::{Family, Generator};
use slackline_generate::scenario::{Surroundings, onto};
use slackline_generate::workflow::like::Likeness;
use slackline_generate::workflow::runnable::Runnable;
use slackline_model::units::Quantity;
use slackline_model::{Platform, Problem, Scenario, Workflow};
use slackline_report::table::{Table, count};
use slackline_schedule::{Request, registry};
use std::path::{Path, PathBuf};

/// Options of the generators and the output form.
pub(super) struct Generation {
    population: Population,
    member: Option<u64>,
    output: Option<PathBuf>,
    to: Option<String>,
    json: bool,
    report: bool,
    instances: Vec<Workflow>,
    machines: Vec<Machine>,
    platform: Option<Platform>,
    workflows: Vec<String>,
    onto: Option<Scenario>,
    /// The files behind these, for the command that makes it again.
    files: String,
    /// The files that are read.
    reads: Vec<PathBuf>,
    first: Option<u64>,
    /// Commands for the tasks, where some are wanted.
    runnable: Option<Runnable>,
}

impl Generation {
    pub(super) fn read(
        generator: &'static Generator,
        matches: &ArgMatches,
        output: &mut Output,
    ) -> Result<Generation, Failure> {
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
                    let seconds = planned(workflow, &platform, output)?;
                    output.note(&format!("--makespan {seconds} s, as planned"));
                    given.push((MAKESPAN.to_string(), format!("{seconds}s")));
                }
                _ => output.note(
                    "--makespan 100s is assumed; name the workflow with --workflow to plan it",
                ),
            }
        }
        let mut job = Generation {
            population: Population::new(generator, &given, count, seed)?,
            member: number("member"),
            output: path("output"),
            to: text_of(matches),
            json: matches.get_flag("json"),
            report: generator.needs_instances() && matches.get_flag("report"),
            instances: Vec::new(),
            machines: Vec::new(),
            platform: None,
            workflows: Vec::new(),
            onto: None,
            files: String::new(),
            reads: Vec::new(),
            first: None,
            runnable: runnable(generator.family, matches)?,
        };
        for name in ["run", "platform", "onto"] {
            job.reads.extend(path(name));
        }
        for name in ["instances", "workflow"] {
            job.reads.extend(paths(name));
        }
        job.check_files(output)?;
        if let Some(file) = path("run") {
            job.machines = machines(&file, output)?;
            job.files.push_str(&format!(" {}", file.display()));
        }
        for file in paths("instances") {
            job.instances.push(read_workflow(&file, None, output)?);
            job.files.push_str(&format!(" {}", file.display()));
        }
        for file in paths("workflow") {
            job.workflows.push(file.display().to_string());
            job.files.push_str(&format!(" --workflow {}", file.display()));
        }
        if let Some(file) = path("platform") {
            job.platform = Some(read_platform(&file, output)?);
            job.files.push_str(&format!(" --platform {}", file.display()));
        }
        if let Some(file) = path("onto") {
            job.onto = Some(scenario::read_scenario(&output.files, &file)?);
            job.files.push_str(&format!(" --onto {}", file.display()));
        }
        Ok(job)
    }

    /// One file is written over none of those that are read; a population gets a folder.
    fn check_files(&self, output: &mut Output) -> Result<(), Failure> {
        if self.population.len() > 1 {
            return Ok(());
        }
        Files::default()
            .reads_all(&self.reads)
            .writes("--output", self.output.as_ref())
            .json(self.json)
            .check(output)
    }

    pub(super) fn run(&self, output: &mut Output) -> Result<(), Failure> {
        let members = self.population.len();
        if members > 1 {
            let Some(folder) = &self.output else {
                let message = format!("{members} files need a folder");
                return Err(Failure::input(message).with_help("name one with -o FOLDER"));
            };
            return self.write_population(folder, output);
        }
        let mut member = self.population.member(0)?;
        member.seed.member = self.member.unwrap_or(0);
        let Some(path) = &self.output else {
            return self.make(&member)?.write(self.form(None), &mut *output.stream());
        };
        if let (Some(folder), true) = (path.parent(), self.runnable.is_some()) {
            // Its inputs lie beside it: a folder of its own is the usual place.
            let failed = |e: std::io::Error| {
                Failure::input(format!("{}: cannot make this folder: {e}", folder.display()))
            };
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let mut made = self.make(&member)?;
        let form = self.form(Some(path));
        made.write_file(&output.files, path, form)?;
        if self.runnable.is_some() {
            made.write_inputs(&output.files, path.parent().unwrap_or(Path::new("")))?;
        }
        if self.json {
            return output.json(&made.entry(path.display().to_string(), &member));
        }
        output.say(&format!("{}: {}\n", path.display(), made.summary()))?;
        if self.report
            && let Thing::Workflow(generated) = &made.thing
        {
            for original in &self.instances {
                report(&Likeness::of(original, &generated.workflow), original.name(), output)?;
            }
        }
        Ok(())
    }

    fn make(&self, member: &Member) -> Result<GeneratedInput, Failure> {
        let generator = self.population.generator;
        let (settings, seed) = (&member.settings, member.seed);
        let mut command = self.population.command(member);
        // With its blank: "sce" is also the beginning of "scenario".
        let kind = format!(" {} ", generator.name);
        if let Some(at) = command.find(&kind) {
            command.insert_str(at + kind.len() - 1, &self.files);
        }
        let thing = match generator.family {
            Family::Workflow => {
                let mut workflow = generator.workflow_like(settings, seed, &self.instances)?;
                if let Some(runnable) = &self.runnable {
                    workflow = runnable.of(&workflow)?;
                    let Runnable { seconds, bytes } = runnable;
                    command +=
                        &format!(" --runnable --mean-seconds {seconds}s --mean-size {bytes}B");
                }
                Thing::Workflow(Box::new(Document::new(workflow)))
            }
            Family::Platform => {
                let made = generator.platform_of(settings, seed, &self.machines)?;
                Thing::Platform(Box::new(made))
            }
            Family::Scenario => {
                let around =
                    Surroundings { platform: self.platform.as_ref(), workflows: &self.workflows };
                let mut made = generator.scenario(settings, seed, &around)?;
                if let Some(below) = &self.onto {
                    made = onto(below.clone(), made);
                }
                made.note = command.clone();
                Thing::Scenario(Box::new(made))
            }
        };
        let bandwidth =
            settings.iter().find(|(n, _)| *n == "bandwidth").map(|(_, v)| v.to_string());
        Ok(GeneratedInput { thing, command, bandwidth })
    }

    /// The format to write: as said, or as the name of the file says.
    fn form(&self, path: Option<&Path>) -> Form {
        let name = path.map(|p| p.to_string_lossy().to_lowercase()).unwrap_or_default();
        let said = self.to.as_deref();
        match self.population.generator.family {
            Family::Workflow => match said {
                Some(name) => Form::of_workflow(name),
                None if name.ends_with(".instance.json") => Form::Instance,
                None => match path.map(Format::for_output) {
                    Some(Ok(format)) => Form::Workflow(format),
                    _ if self.population.generator.has_choices() => Form::of_workflow("toml"),
                    _ => Form::of_workflow("wfformat"),
                },
            },
            Family::Platform => match said {
                Some("xml") => Form::Xml,
                None if name.ends_with(".xml") => Form::Xml,
                _ => Form::Toml,
            },
            Family::Scenario => match said {
                Some("json") => Form::Json,
                None if name.ends_with(".json") => Form::Json,
                _ => Form::Toml,
            },
        }
    }

    fn write_population(&self, folder: &Path, output: &mut Output) -> Result<(), Failure> {
        let members = self.first.map_or(self.population.len(), |n| n.min(self.population.len()));
        let inside = |e: std::io::Error| {
            Failure::input(format!("{}: cannot make this folder: {e}", folder.display()))
        };
        std::fs::create_dir_all(folder).map_err(inside)?;
        let generator = self.population.generator;
        let mut form = self.form(None);
        if let (Form::Workflow(_), None, true) = (form, &self.to, self.first.is_some()) {
            form = Form::Instance; // a study's workflows go with their processors
        }
        let digits = members.to_string().len();
        let mut entries = Vec::new();
        for number in 0..members {
            let member = self.population.member(number)?;
            let mut made = self.make(&member)?;
            let form = if form == Form::Instance && !made.has_table() && self.to.is_none() {
                Form::of_workflow("wfformat")
            } else {
                form
            };
            let file = format!("{}-{:0digits$}.{}", generator.name, number, form.extension());
            made.write_file(&output.files, &folder.join(&file), form)?;
            if self.runnable.is_some() {
                made.write_inputs(&output.files, folder)?;
            }
            entries.push(made.entry(file, &member));
        }
        let manifest = Manifest {
            schema: schema::names::MANIFEST,
            family: generator.family.name(),
            generator: generator.name,
            source: generator.source,
            members: entries,
        };
        output.files.write(&folder.join("manifest.json"), |out| -> std::io::Result<()> {
            serde_json::to_writer_pretty(&mut *out, &manifest)?;
            out.write_all(b"\n")
        })?;
        if self.json {
            return output.json(&manifest);
        }
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

/// The makespan of a workflow on a platform, as the usual planner plans it.
fn planned(workflow: &Path, platform: &Path, output: &mut Output) -> Result<f64, Failure> {
    let workflow = read_workflow(workflow, None, output)?;
    let platform = read_platform(platform, output)?;
    let problem = Problem::new(&workflow, &platform)?;
    let plan = registry::usual(&problem).plan(&problem, &Request::default())?;
    // Enough digits for a scale; the command that makes it again names them.
    Ok((plan.makespan() * 1e3).round() / 1e3)
}

/// The machines of a recorded run; what it does not say of them, and of the network, is told.
fn machines(file: &Path, output: &mut Output) -> Result<Vec<Machine>, Failure> {
    let recorded = read_document(file, None, output)?.recorded;
    let machines = recorded.and_then(|r| r.run).map_or(Vec::new(), |run| run.machines);
    if machines.is_empty() {
        let message = format!("{}: no recorded run with machines", file.display());
        return Err(Failure::input(message).with_help("WfFormat files of real runs name theirs"));
    }
    let without = |known: fn(&RecordedMachine) -> bool| {
        machines.iter().filter(|machine| !known(machine)).count()
    };
    for (what, missing) in
        [("speed", without(|m| m.speed_mhz.is_some())), ("cores", without(|m| m.cores.is_some()))]
    {
        if missing > 0 {
            output.note(&format!(
                "the {what} of {} taken from the defaults",
                count(missing, "machine")
            ));
        }
    }
    output.note("the network is assumed: a link to one switch for each machine");
    Ok(machines.iter().map(|m| machine(m, |cores| cores)).collect())
}

/// The value of `--to`, whatever its type.
fn text_of(matches: &ArgMatches) -> Option<String> {
    match matches.try_get_one::<Format>("to") {
        Ok(format) => format.map(|f| f.name().to_string()),
        Err(_) => matches.try_get_one::<String>("to").ok().flatten().cloned(),
    }
}

/// Manifest of a folder of generated files.
#[derive(Serialize)]
struct Manifest {
    schema: &'static str,
    family: &'static str,
    generator: &'static str,
    source: &'static str,
    members: Vec<GeneratedFile>,
}

/// Reports the likeness of the generated workflow to the one it was learnt from.
fn report(likeness: &Likeness, name: &str, output: &mut Output) -> Result<(), Failure> {
    let heading = output.bold(&format!("Compared with {name}"));
    output.text(&format!("\n{heading}\n"))?;
    let mut table = Table::new(&["<", ">original", ">generated"]);
    let mut row = |what: &str, a: String, b: String| table.row([what.to_string(), a, b]);
    row("tasks", likeness.tasks.0.to_string(), likeness.tasks.1.to_string());
    row("levels", likeness.levels.0.to_string(), likeness.levels.1.to_string());
    let per_task = likeness.edges_per_task;
    row("edges per task", format!("{:.3}", per_task.0), format!("{:.3}", per_task.1));
    for (share, (a, b)) in ["10 %", "50 %", "90 %"].into_iter().zip(likeness.run_times) {
        row(&format!("run time at {share}, s"), format!("{a:.4}"), format!("{b:.4}"));
    }
    output.text(&table.render(output.width))?;
    output.text(&format!(
        "  widths differ by {:.1} % of the tasks, run times by {:.1} % (largest gap of the two distributions)\n\n",
        100.0 * likeness.width_distance,
        100.0 * likeness.run_time_distance
    ))?;
    let mut table = Table::new(&["<kind", ">share", ">", ">50 %, s", ">", ">90 %, s", ">"]);
    for kind in &likeness.kinds {
        let percent = |x: f64| format!("{:.1} %", 100.0 * x);
        let [_, (a, b), (c, d)] = kind.run_times;
        let mut cells = vec![kind.kind.clone(), percent(kind.share.0), percent(kind.share.1)];
        cells.extend([a, b, c, d].map(|x| format!("{x:.3}")));
        table.row(cells);
    }
    output.text(&table.render(output.width))
}

/// Makes the workflows of a published study.
pub(super) fn study(matches: &ArgMatches, output: &mut Output) -> Result<(), Failure> {
    let name = matches.get_one::<String>("name").map_or("", String::as_str);
    let Some(study) = STUDIES.iter().find(|s| s.name == name) else {
        return Err(Failure::input(format!("there is no study '{name}'")));
    };
    let seed = matches.get_one::<u64>("seed").copied().unwrap_or(1);
    let population = study.population(seed)?;
    let job = Generation {
        first: Some(matches.get_one::<u64>("first").copied().unwrap_or(population.len())),
        population,
        member: None,
        output: None,
        to: text_of(matches),
        json: matches.get_flag("json"),
        report: false,
        instances: Vec::new(),
        machines: Vec::new(),
        platform: None,
        workflows: Vec::new(),
        onto: None,
        reads: Vec::new(),
        files: String::new(),
        runnable: None,
    };
    match matches.get_one::<PathBuf>("output") {
        Some(folder) => job.write_population(folder, output),
        None => Err(Failure::input("a study needs a folder").with_help("name one with -o FOLDER")),
    }
}
