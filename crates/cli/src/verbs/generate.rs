//! `slackline generate`: workflows, platforms and worlds from the registry of generators, one or
//! a population. Options and help come from the registry.

use crate::failure::Failure;
use crate::input::{check_output, format_parser, read_platform, read_workflow};
use crate::output::Output;
use crate::table::Table;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use serde::Serialize;
use slackline_formats::note::{self, Comments};
use slackline_formats::{Document, Format, instance, platform_toml, scenario, simgrid_xml, source};
use slackline_generate::parameter::{Kind, Parameter};
use slackline_generate::population::{Member, Population, STUDIES};
use slackline_generate::registry::{self, Family, Generator};
use slackline_generate::scenario::{Surroundings, onto};
use slackline_generate::workflow::like::Likeness;
use slackline_generate::{GenerateError, Seed};
use slackline_model::{Platform, Scenario, Workflow};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Generate workflows, platforms and worlds, reproducibly from a seed
pub(crate) struct Generate(ArgMatches);

impl FromArgMatches for Generate {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Generate, clap::Error> {
        Ok(Generate(matches.clone()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0 = matches.clone();
        Ok(())
    }
}

impl Args for Generate {
    fn augment_args(command: Command) -> Command {
        command
            .about("Generate workflows, platforms and worlds, reproducibly from a seed")
            .after_help(
                "Examples:\n  \
                 slackline generate workflow daggen --tasks 100 --fat 0.5 --seed 7 -o graph.json\n  \
                 slackline generate workflow like run.json --tasks 5000 --report -o larger.json\n  \
                 slackline generate workflow montage --tasks 50,100,200 --count 10 -o montages/\n  \
                 slackline generate platform grid5000 --machine rennes-16 -o rennes.toml\n  \
                 slackline generate scenario sce --variability 30 --platform rennes.toml -o world.toml\n  \
                 slackline generate study peft --first 100 -o peft/",
            )
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommand(family_command(Family::Workflow, "A task graph, with costs"))
            .subcommand(family_command(Family::Platform, "Machines and the network between them"))
            .subcommand(family_command(
                Family::Scenario,
                "A world: what happens to a platform, how wrong estimates are, what arrives",
            ))
            .subcommand(study_command())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn family_command(family: Family, about: &'static str) -> Command {
    Command::new(family.name())
        .about(about)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand_value_name("KIND")
        .subcommand_help_heading("Kinds")
        .subcommands(registry::of(family).map(kind_command))
}

fn kind_command(generator: &'static Generator) -> Command {
    let source = match generator.source {
        "" => String::new(),
        source => format!("Source: {source}\n"),
    };
    let mut command = Command::new(generator.name)
        .about(generator.about)
        .after_help(format!(
            "{source}Values separated by commas make every combination, written to a folder."
        ))
        .arg(
            Arg::new("seed")
                .long("seed")
                .value_name("N")
                .default_value("1")
                .value_parser(value_parser!(u64))
                .help("Everything is drawn from this number"),
        )
        .arg(
            Arg::new("member")
                .long("member")
                .value_name("N")
                .value_parser(value_parser!(u64))
                .conflicts_with("count")
                .help("Makes this member of the population of the seed"),
        )
        .arg(
            Arg::new("count")
                .long("count")
                .value_name("N")
                .default_value("1")
                .value_parser(value_parser!(u64).range(1..))
                .help("Makes this many, and a manifest, in a folder"),
        )
        .arg(
            Arg::new("output")
                .short('o')
                .long("output")
                .value_name("PATH")
                .value_parser(value_parser!(PathBuf))
                .help("File or folder to write; standard output if absent"),
        )
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .requires("output")
                .help("Says what was made as JSON"),
        );
    command = match generator.family {
        Family::Workflow => {
            let format = Arg::new("to").long("to").value_name("FORMAT");
            let format = format.value_parser(format_parser());
            command.arg(format.help("Format of the workflow; from the name of the file if absent"))
        }
        Family::Platform => {
            let format = Arg::new("to").long("to").value_name("FORMAT");
            let format = format.value_parser(["toml", "xml"]);
            command.arg(format.help("toml, or SimGrid's xml; from the name of the file if absent"))
        }
        Family::Scenario => {
            let file = |name: &'static str| {
                Arg::new(name).long(name).value_name("FILE").value_parser(value_parser!(PathBuf))
            };
            command
                .arg(file("platform").help("The platform that it happens to"))
                .arg(
                    file("workflow")
                        .action(ArgAction::Append)
                        .help("A workflow that arrives; give it again for more"),
                )
                .arg(file("onto").help("Adds to the world in this file"))
                .arg(
                    Arg::new("to")
                        .long("to")
                        .value_name("FORMAT")
                        .value_parser(["toml", "json"])
                        .help("From the name of the file if absent, else toml"),
                )
        }
    };
    if generator.needs_instances() {
        command = command
            .arg(
                Arg::new("instances")
                    .value_name("WORKFLOW")
                    .required(true)
                    .action(ArgAction::Append)
                    .value_parser(value_parser!(PathBuf))
                    .help("Workflows to learn from"),
            )
            .arg(
                Arg::new("report")
                    .long("report")
                    .action(ArgAction::SetTrue)
                    .requires("output")
                    .help("Compares what was made with each of the workflows"),
            );
    }
    command.args(generator.parameters().map(|p| parameter_arg(generator, p)))
}

fn parameter_arg(generator: &Generator, parameter: &'static Parameter) -> Arg {
    let default = generator.default_of(parameter);
    let mut help = format!("{} [{}; default {default}", parameter.about, parameter.range());
    if !parameter.published.is_empty() {
        help.push_str(&format!("; published: {}", parameter.published));
    }
    help.push(']');
    let value = match parameter.kind {
        Kind::Count(..) => "N",
        Kind::Number(..) => "X",
        Kind::Quantity(_) => "QUANTITY",
        Kind::Choice(_) => "WORD",
        Kind::Switch => "YES|NO",
        Kind::Text => "TEXT",
    };
    let arg = Arg::new(parameter.name)
        .long(parameter.name)
        .value_name(value)
        .help(help)
        .help_heading("Parameters")
        .allow_hyphen_values(true);
    match parameter.kind {
        Kind::Switch => arg.num_args(0..=1).default_missing_value("yes"),
        _ => arg,
    }
}

fn study_command() -> Command {
    let list: Vec<String> = STUDIES.iter().map(|s| format!("  {:24}{}", s.name, s.about)).collect();
    Command::new("study")
        .about("The workflows of a published study")
        .after_help(format!("Studies:\n{}", list.join("\n")))
        .arg(
            Arg::new("name")
                .value_name("STUDY")
                .required(true)
                .value_parser(STUDIES.iter().map(|s| s.name).collect::<Vec<_>>()),
        )
        .arg(
            Arg::new("seed")
                .long("seed")
                .value_name("N")
                .default_value("1")
                .value_parser(value_parser!(u64))
                .help("Everything is drawn from this number"),
        )
        .arg(
            Arg::new("first")
                .long("first")
                .value_name("N")
                .value_parser(value_parser!(u64).range(1..))
                .help("Only the first of them"),
        )
        .arg(
            Arg::new("output")
                .short('o')
                .long("output")
                .value_name("FOLDER")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("Folder to write to"),
        )
        .arg(
            Arg::new("to")
                .long("to")
                .value_name("FORMAT")
                .value_parser(format_parser())
                .help("Format of the workflows; instance where they have a table of seconds"),
        )
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Prints the manifest"))
}

impl From<GenerateError> for Failure {
    fn from(error: GenerateError) -> Failure {
        Failure::input(error)
    }
}

impl Generate {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        match self.0.subcommand() {
            Some(("study", matches)) => study(matches, output),
            Some((family, matches)) => {
                let family = match family {
                    "platform" => Family::Platform,
                    "scenario" => Family::Scenario,
                    _ => Family::Workflow,
                };
                let Some((kind, matches)) = matches.subcommand() else {
                    return Err(Failure::input("say what kind to generate"));
                };
                let generator = registry::find(family, kind)?;
                Job::read(generator, matches, output)?.run(output)
            }
            None => Err(Failure::input("say what to generate: workflow, platform or scenario")),
        }
    }
}

/// What the generators work on, and the form of what they make.
struct Job {
    population: Population,
    member: Option<u64>,
    output: Option<PathBuf>,
    to: Option<String>,
    json: bool,
    report: bool,
    instances: Vec<Workflow>,
    platform: Option<Platform>,
    workflows: Vec<String>,
    onto: Option<Scenario>,
    /// The files behind these, for the command that makes it again.
    files: String,
    first: Option<u64>,
}

impl Job {
    fn read(
        generator: &'static Generator,
        matches: &ArgMatches,
        output: &mut Output,
    ) -> Result<Job, Failure> {
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
        let mut job = Job {
            population: Population::new(generator, &given, count, seed)?,
            member: number("member"),
            output: path("output"),
            to: text_of(matches),
            json: matches.get_flag("json"),
            report: generator.needs_instances() && matches.get_flag("report"),
            instances: Vec::new(),
            platform: None,
            workflows: Vec::new(),
            onto: None,
            files: String::new(),
            first: None,
        };
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
            job.onto = Some(scenario::read_scenario(&file)?);
            job.files.push_str(&format!(" --onto {}", file.display()));
        }
        Ok(job)
    }

    fn run(&self, output: &mut Output) -> Result<(), Failure> {
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
        check_output(&self.output)?;
        let mut made = self.make(&member)?;
        let form = self.form(Some(path));
        made.write_file(path, form)?;
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

    fn make(&self, member: &Member) -> Result<Made, Failure> {
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
                let workflow = generator.workflow_like(settings, seed, &self.instances)?;
                Thing::Workflow(Box::new(Document::new(workflow)))
            }
            Family::Platform => Thing::Platform(Box::new(generator.platform(settings, seed)?)),
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
        Ok(Made { thing, command, bandwidth })
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
            made.write_file(&folder.join(&file), form)?;
            entries.push(made.entry(file, &member));
        }
        let manifest = Manifest {
            schema: "slackline/manifest/1",
            family: generator.family.name(),
            generator: generator.name,
            source: generator.source,
            members: entries,
        };
        source::write_whole(&folder.join("manifest.json"), |out| -> std::io::Result<()> {
            serde_json::to_writer_pretty(&mut *out, &manifest)?;
            out.write_all(b"\n")
        })?;
        if self.json {
            return output.json(&manifest);
        }
        output.say(&format!("{}: {members} files and manifest.json\n", folder.display()))
    }
}

/// The value of `--to`, whatever its type.
fn text_of(matches: &ArgMatches) -> Option<String> {
    match matches.try_get_one::<Format>("to") {
        Ok(format) => format.map(|f| f.name().to_string()),
        Err(_) => matches.try_get_one::<String>("to").ok().flatten().cloned(),
    }
}

fn study(matches: &ArgMatches, output: &mut Output) -> Result<(), Failure> {
    let name = matches.get_one::<String>("name").map_or("", String::as_str);
    let Some(study) = STUDIES.iter().find(|s| s.name == name) else {
        return Err(Failure::input(format!("there is no study '{name}'")));
    };
    let seed = matches.get_one::<u64>("seed").copied().unwrap_or(1);
    let population = study.population(seed)?;
    let job = Job {
        first: Some(matches.get_one::<u64>("first").copied().unwrap_or(population.len())),
        population,
        member: None,
        output: None,
        to: text_of(matches),
        json: matches.get_flag("json"),
        report: false,
        instances: Vec::new(),
        platform: None,
        workflows: Vec::new(),
        onto: None,
        files: String::new(),
    };
    match matches.get_one::<PathBuf>("output") {
        Some(folder) => job.write_population(folder, output),
        None => Err(Failure::input("a study needs a folder").with_help("name one with -o FOLDER")),
    }
}

/// A format to write.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Workflow(Format),
    Instance,
    Toml,
    Xml,
    Json,
}

impl Form {
    fn of_workflow(name: &str) -> Form {
        match name.parse::<Format>() {
            Ok(Format::Instance) | Err(_) => Form::Instance,
            Ok(format) => Form::Workflow(format),
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Form::Workflow(format) => format.extensions().first().copied().unwrap_or("txt"),
            Form::Instance => "instance.json",
            Form::Toml => "toml",
            Form::Xml => "xml",
            Form::Json => "json",
        }
    }
}

enum Thing {
    Workflow(Box<Document>),
    Platform(Box<Platform>),
    Scenario(Box<Scenario>),
}

/// What was generated, and the command that makes it again.
struct Made {
    thing: Thing,
    command: String,
    /// The network on which costs hold, for instances.
    bandwidth: Option<String>,
}

impl Made {
    fn has_table(&self) -> bool {
        matches!(&self.thing, Thing::Workflow(d) if d.workflow.cost_table().is_some())
    }

    fn write_file(&mut self, path: &Path, form: Form) -> Result<(), Failure> {
        // A failure on the way is ours, not the file's: keep it whole.
        let mut failed = None;
        let written = source::write_whole(path, |out| -> std::io::Result<()> {
            self.write(form, out).map_err(|failure| {
                failed = Some(failure);
                std::io::Error::other("not written")
            })
        });
        match (written, failed) {
            (_, Some(failure)) => Err(failure),
            (written, None) => Ok(written?),
        }
    }

    fn write(&mut self, form: Form, out: &mut dyn Write) -> Result<(), Failure> {
        let note = self.command.clone();
        let note = note.as_str();
        match (&mut self.thing, form) {
            (Thing::Workflow(document), Form::Workflow(format)) => {
                Ok(note::write_workflow(format, document, note, out)?)
            }
            (Thing::Workflow(document), _) => {
                let platform = processors(&document.workflow, self.bandwidth.clone())?;
                Ok(instance::write(&document.workflow, &platform, out)?)
            }
            (Thing::Platform(platform), Form::Xml) => {
                let text = simgrid_xml::to_string(platform)?;
                Ok(Comments::Xml.write(note, out, |out| out.write_all(text.as_bytes()))?)
            }
            (Thing::Platform(platform), _) => {
                let text = platform_toml::to_string(platform)?;
                Ok(Comments::Hash.write(note, out, |out| out.write_all(text.as_bytes()))?)
            }
            (Thing::Scenario(world), Form::Json) => {
                Ok(out.write_all(scenario::to_json(world)?.as_bytes())?)
            }
            (Thing::Scenario(world), _) => Ok(out.write_all(scenario::to_toml(world).as_bytes())?),
        }
    }

    fn summary(&self) -> String {
        match &self.thing {
            Thing::Workflow(d) => {
                format!("{} tasks, {} edges", d.workflow.len(), d.workflow.edge_count())
            }
            Thing::Platform(p) => {
                format!(
                    "{} hosts, {} cores, {} links",
                    p.hosts().len(),
                    p.total_cores(),
                    p.links().len()
                )
            }
            Thing::Scenario(s) => format!(
                "{} hosts and {} links that change, {} arrivals",
                s.hosts.len(),
                s.links.len(),
                s.arrivals.len()
            ),
        }
    }

    fn entry(&self, file: String, member: &Member) -> Entry {
        let (tasks, edges, hosts) = match &self.thing {
            Thing::Workflow(d) => (Some(d.workflow.len()), Some(d.workflow.edge_count()), None),
            Thing::Platform(p) => (None, None, Some(p.hosts().len())),
            Thing::Scenario(_) => (None, None, None),
        };
        let parameter = |(name, value): (&str, &str)| (name.to_string(), value.into());
        Entry {
            file,
            seed: member.seed.seed,
            member: member.seed.member,
            parameters: member.settings.iter().map(parameter).collect(),
            command: self.command.clone(),
            tasks,
            edges,
            hosts,
        }
    }
}

/// The processors of a workflow's table of seconds.
fn processors(workflow: &Workflow, bandwidth: Option<String>) -> Result<Platform, Failure> {
    let Some(table) = workflow.cost_table() else {
        let message = "an instance needs the seconds of every task on every processor";
        let help = "add --processors N, or write another format";
        return Err(Failure::input(message).with_help(help));
    };
    let generator = registry::find(Family::Platform, "processors")?;
    let mut given = vec![("processors".to_string(), table.columns.len().to_string())];
    given.extend(bandwidth.map(|value| ("bandwidth".to_string(), value)));
    Ok(generator.platform(&generator.settings(&given)?, Seed::new(0))?)
}

/// What is in a folder of generated files.
#[derive(Serialize)]
struct Manifest {
    schema: &'static str,
    family: &'static str,
    generator: &'static str,
    source: &'static str,
    members: Vec<Entry>,
}

/// One generated file.
#[derive(Serialize)]
struct Entry {
    file: String,
    seed: u64,
    member: u64,
    parameters: serde_json::Map<String, serde_json::Value>,
    command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    edges: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hosts: Option<usize>,
}

/// How like the generated workflow is to one it was learnt from.
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
