//! Generated inputs, and the forms they are written in.

use crate::context::Context;
use crate::failure::Failure;
use crate::input::{read_document, read_platform, read_workflow};
use crate::recorded::machine;
use crate::schema;
use serde::Serialize;
use slackline_formats::document::RecordedMachine;
use slackline_formats::note::{self, Comments};
use slackline_formats::{
    Document, FileAccess, Format, instance, platform_toml, scenario, simgrid_xml,
};
use slackline_generate::Seed;
use slackline_generate::platform::recorded::Machine;
use slackline_generate::population::{Member, Population};
use slackline_generate::registry::{self, Family};
use slackline_generate::scenario::{Surroundings, onto};
use slackline_generate::workflow::runnable::Runnable;
use slackline_model::{Platform, Problem, Scenario, Workflow};
use slackline_schedule::Request;
use std::io::Write;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A format to write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// A format of workflows.
    Workflow(Format),
    /// Workflow and processors in one file.
    Instance,
    /// TOML of platforms and scenarios.
    Toml,
    /// XML of SimGrid.
    Xml,
    /// JSON of scenarios.
    Json,
}

impl Form {
    /// Form of a workflow by the name of a format.
    pub fn of_workflow(name: &str) -> Form {
        match name.parse::<Format>() {
            Ok(Format::Instance) | Err(_) => Form::Instance,
            Ok(format) => Form::Workflow(format),
        }
    }

    /// Extension of files of this form.
    pub fn extension(self) -> &'static str {
        match self {
            Form::Workflow(format) => format.extensions().first().copied().unwrap_or("txt"),
            Form::Instance => "instance.json",
            Form::Toml => "toml",
            Form::Xml => "xml",
            Form::Json => "json",
        }
    }
}

/// Generated workflow, platform or scenario.
pub enum Thing {
    /// A workflow with its document.
    Workflow(Box<Document>),
    /// A platform.
    Platform(Box<Platform>),
    /// A scenario.
    Scenario(Box<Scenario>),
}

/// Generated input, and the command that makes it again.
pub struct GeneratedInput {
    /// The input itself.
    pub thing: Thing,
    /// Command that makes it again.
    pub command: String,
    /// The network on which costs hold, for instances.
    pub bandwidth: Option<String>,
}

impl GeneratedInput {
    /// Whether seconds are known for every task on every processor.
    pub fn has_table(&self) -> bool {
        matches!(&self.thing, Thing::Workflow(d) if d.workflow.cost_table().is_some())
    }

    /// Writes a file, whole or not at all.
    pub fn write_file(
        &mut self,
        files: &FileAccess,
        path: &Path,
        form: Form,
    ) -> Result<(), Failure> {
        // A failure on the way is ours, not the file's: keep it whole.
        let mut failed = None;
        let written = files.write(path, |out| -> std::io::Result<()> {
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

    /// Writes it in a form.
    pub fn write(&mut self, form: Form, out: &mut dyn Write) -> Result<(), Failure> {
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

    /// Writes the files that no task makes into a folder.
    pub fn write_inputs(&self, files: &FileAccess, folder: &Path) -> Result<(), Failure> {
        let Thing::Workflow(document) = &self.thing else { return Ok(()) };
        let workflow = &document.workflow;
        for file in workflow.files().filter(|&f| workflow.producer(f).is_none()) {
            let (name, bytes) = (workflow.file_name(file), workflow.file_bytes(file));
            let path = folder.join(name);
            let content = content(name, bytes as u64, 0);
            files.write(&path, |out| out.write_all(&content))?;
        }
        Ok(())
    }

    /// Sizes as text.
    pub fn summary(&self) -> String {
        match &self.thing {
            Thing::Workflow(d) => {
                let (tasks, edges) = (d.workflow.len(), d.workflow.edge_count());
                format!("{}, {}", count(tasks, "task"), count(edges, "edge"))
            }
            Thing::Platform(p) => {
                let hosts = count(p.hosts().len(), "host");
                let cores = count(p.total_cores() as usize, "core");
                format!("{hosts}, {cores}, {}", count(p.links().len(), "link"))
            }
            Thing::Scenario(s) => {
                let (hosts, links) = (count(s.hosts.len(), "host"), count(s.links.len(), "link"));
                let arrivals = count(s.arrivals.len(), "arrival");
                format!("changes of {hosts} and {links}, {arrivals}")
            }
        }
    }

    /// Entry of a manifest.
    pub fn entry(&self, file: String, member: &Member) -> GeneratedFile {
        let (tasks, edges, hosts) = match &self.thing {
            Thing::Workflow(d) => (Some(d.workflow.len()), Some(d.workflow.edge_count()), None),
            Thing::Platform(p) => (None, None, Some(p.hosts().len())),
            Thing::Scenario(_) => (None, None, None),
        };
        let parameter = |(name, value): (&str, &str)| (name.to_string(), value.into());
        GeneratedFile {
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

/// One generated file.
#[derive(Serialize)]
pub struct GeneratedFile {
    /// Name of the file.
    pub file: String,
    /// Seed of the population.
    pub seed: u64,
    /// Number of the member.
    pub member: u64,
    /// Values of its parameters.
    pub parameters: serde_json::Map<String, serde_json::Value>,
    /// Command that makes it again.
    pub command: String,
    /// Tasks of a workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<usize>,
    /// Edges of a workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edges: Option<usize>,
    /// Hosts of a platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<usize>,
}

/// Members of a population, and all that their generator reads.
pub struct Generation {
    /// The members.
    pub population: Population,
    /// Name of the format to write; by the name of the file where none is said.
    pub to: Option<String>,
    /// Workflows to be like.
    pub instances: Vec<Workflow>,
    /// Machines of a recorded run.
    pub machines: Vec<Machine>,
    /// Platform that a scenario is for.
    pub platform: Option<Platform>,
    /// Workflows that a scenario lets arrive.
    pub workflows: Vec<String>,
    /// Scenario that the generated one is added to.
    pub onto: Option<Scenario>,
    /// Options that name these files, for the command that makes a member again.
    pub files: String,
    /// Number of members that are written, of a study.
    pub first: Option<u64>,
    /// Commands for the tasks, where some are wanted.
    pub runnable: Option<Runnable>,
}

impl Generation {
    /// Makes a member.
    pub fn make(&self, member: &Member) -> Result<GeneratedInput, Failure> {
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
    pub fn form(&self, path: Option<&Path>) -> Form {
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

    /// Writes all members into a folder, with a manifest.
    pub fn write_population(&self, folder: &Path, files: &FileAccess) -> Result<Manifest, Failure> {
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
            made.write_file(files, &folder.join(&file), form)?;
            if self.runnable.is_some() {
                made.write_inputs(files, folder)?;
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
        files.write(&folder.join("manifest.json"), |out| -> std::io::Result<()> {
            serde_json::to_writer_pretty(&mut *out, &manifest)?;
            out.write_all(b"\n")
        })?;
        Ok(manifest)
    }
}

/// Manifest of a folder of generated files.
#[derive(Serialize)]
pub struct Manifest {
    /// Name and version of the document.
    pub schema: &'static str,
    family: &'static str,
    generator: &'static str,
    source: &'static str,
    /// The files.
    pub members: Vec<GeneratedFile>,
}

/// So many bytes, which follow from a seed and the name of the file.
pub fn content(name: &str, bytes: u64, seed: u64) -> Vec<u8> {
    let mut word = xxh3_64_with_seed(name.as_bytes(), seed);
    let mut content = Vec::with_capacity(bytes as usize + 8);
    while (content.len() as u64) < bytes {
        // Splitmix: a step and a stir.
        word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut stirred = word;
        stirred = (stirred ^ (stirred >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        stirred = (stirred ^ (stirred >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        content.extend((stirred ^ (stirred >> 31)).to_le_bytes());
    }
    content.truncate(bytes as usize);
    content
}

/// `1 task`, `2 tasks`.
fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// The makespan of a workflow on a platform, as the usual planner plans it.
pub fn planned(
    workflow: &Path,
    platform: &Path,
    context: &mut Context<'_>,
) -> Result<f64, Failure> {
    let workflow = read_workflow(workflow, None, context)?;
    let platform = read_platform(platform, context)?;
    let problem = Problem::new(&workflow, &platform)?;
    let plan = slackline_schedule::registry::usual(&problem).plan(&problem, &Request::default())?;
    // Enough digits for a scale; the command that makes it again names them.
    Ok((plan.makespan() * 1e3).round() / 1e3)
}

/// The machines of a recorded run; what it does not say of them, and of the network, is told.
pub fn machines(file: &Path, context: &mut Context<'_>) -> Result<Vec<Machine>, Failure> {
    let recorded = read_document(file, None, context)?.recorded;
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
            context.note(&format!(
                "the {what} of {} taken from the defaults",
                count(missing, "machine")
            ));
        }
    }
    context.note("the network is assumed: a link to one switch for each machine");
    Ok(machines.iter().map(|m| machine(m, |cores| cores)).collect())
}
