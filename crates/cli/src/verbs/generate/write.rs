//! Generated inputs, and the forms they are written in.

use crate::verbs::burn;
use serde::Serialize;
use slackline_core::Failure;
use slackline_formats::note::{self, Comments};
use slackline_formats::{
    Document, FileAccess, Format, instance, platform_toml, scenario, simgrid_xml,
};
use slackline_generate::Seed;
use slackline_generate::population::Member;
use slackline_generate::registry::{self, Family};
use slackline_model::{Platform, Scenario, Workflow};
use slackline_report::table::count;
use std::io::Write;
use std::path::Path;

/// A format to write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    Workflow(Format),
    Instance,
    Toml,
    Xml,
    Json,
}

impl Form {
    pub(super) fn of_workflow(name: &str) -> Form {
        match name.parse::<Format>() {
            Ok(Format::Instance) | Err(_) => Form::Instance,
            Ok(format) => Form::Workflow(format),
        }
    }

    pub(super) fn extension(self) -> &'static str {
        match self {
            Form::Workflow(format) => format.extensions().first().copied().unwrap_or("txt"),
            Form::Instance => "instance.json",
            Form::Toml => "toml",
            Form::Xml => "xml",
            Form::Json => "json",
        }
    }
}

pub(super) enum Thing {
    Workflow(Box<Document>),
    Platform(Box<Platform>),
    Scenario(Box<Scenario>),
}

/// Generated input, and the command that makes it again.
pub(super) struct GeneratedInput {
    pub(super) thing: Thing,
    pub(super) command: String,
    /// The network on which costs hold, for instances.
    pub(super) bandwidth: Option<String>,
}

impl GeneratedInput {
    pub(super) fn has_table(&self) -> bool {
        matches!(&self.thing, Thing::Workflow(d) if d.workflow.cost_table().is_some())
    }

    pub(super) fn write_file(
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

    pub(super) fn write(&mut self, form: Form, out: &mut dyn Write) -> Result<(), Failure> {
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
    pub(super) fn write_inputs(&self, files: &FileAccess, folder: &Path) -> Result<(), Failure> {
        let Thing::Workflow(document) = &self.thing else { return Ok(()) };
        let workflow = &document.workflow;
        for file in workflow.files().filter(|&f| workflow.producer(f).is_none()) {
            let (name, bytes) = (workflow.file_name(file), workflow.file_bytes(file));
            let path = folder.join(name);
            let content = burn::content(name, bytes as u64, 0);
            files.write(&path, |out| out.write_all(&content))?;
        }
        Ok(())
    }

    pub(super) fn summary(&self) -> String {
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

    pub(super) fn entry(&self, file: String, member: &Member) -> GeneratedFile {
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
pub(super) struct GeneratedFile {
    pub(super) file: String,
    pub(super) seed: u64,
    pub(super) member: u64,
    pub(super) parameters: serde_json::Map<String, serde_json::Value>,
    pub(super) command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tasks: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) edges: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hosts: Option<usize>,
}
