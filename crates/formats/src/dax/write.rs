//! Writing DAX.

use super::MEMORY_UNIT;
use crate::document::Document;
use crate::error::Result;
use crate::text::{file_names, gpus_of, join_arguments, seconds};
use crate::xml::escaped;
use slackline_model::{FileId, TaskId, Workflow};
use std::io::Write;

/// Writes a document as DAX 2.1. Control dependencies, sizes, cores of rigid tasks, memory and
/// commands are kept; moldable widths, speed-up models, cost tables and recorded runs are not
/// part of the format.
pub fn write(document: &Document, out: &mut dyn Write) -> Result<()> {
    let workflow = &document.workflow;
    let names = file_names(workflow);
    let children = workflow.tasks().filter(|&t| workflow.in_degree(t) > 0).count();
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(
        out,
        "<adag xmlns=\"http://pegasus.isi.edu/schema/DAX\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
         xsi:schemaLocation=\"http://pegasus.isi.edu/schema/DAX \
         http://pegasus.isi.edu/schema/dax-2.1.xsd\" version=\"2.1\" count=\"1\" index=\"0\" \
         name=\"{}\" jobCount=\"{}\" fileCount=\"{}\" childCount=\"{children}\">",
        escaped(workflow.name())?,
        workflow.len(),
        workflow.file_count(),
    )?;
    for file in workflow.files() {
        if workflow.producer(file).is_none() && workflow.consumers(file).len() == 0 {
            let (name, bytes) = (escaped(&names[file.index()])?, workflow.file_bytes(file));
            writeln!(out, "  <filename file=\"{name}\" link=\"none\" size=\"{bytes}\"/>")?;
        }
    }
    for task in workflow.tasks() {
        write_job(workflow, task, &names, out)?;
    }
    for child in workflow.tasks().filter(|&t| workflow.in_degree(t) > 0) {
        writeln!(out, "  <child ref=\"{}\">", escaped(workflow.task_name(child))?)?;
        for (parent, _) in workflow.predecessors(child) {
            writeln!(out, "    <parent ref=\"{}\"/>", escaped(workflow.task_name(parent))?)?;
        }
        writeln!(out, "  </child>")?;
    }
    writeln!(out, "</adag>")?;
    Ok(())
}

fn write_job(
    workflow: &Workflow,
    task: TaskId,
    names: &[String],
    out: &mut dyn Write,
) -> Result<()> {
    let kind = workflow.kind_name(workflow.kind(task));
    writeln!(
        out,
        "  <job id=\"{}\" name=\"{}\" runtime=\"{}\">",
        escaped(workflow.task_name(task))?,
        escaped(kind)?,
        seconds(workflow.work(task), workflow.reference_speed()),
    )?;
    let mut profile = |namespace: &str, key: &str, value: &str| -> Result<()> {
        let value = escaped(value)?;
        let attributes = format!("namespace=\"{namespace}\" key=\"{key}\"");
        writeln!(out, "    <profile {attributes}>{value}</profile>")?;
        Ok(())
    };
    let command = workflow.command(task);
    if let Some(command) = command.filter(|c| c.program != kind) {
        profile("hints", "pfn", &command.program)?;
    }
    let (narrowest, widest) = workflow.width(task);
    if widest > 1 && narrowest == widest {
        profile("pegasus", "cores", &widest.to_string())?;
    }
    if workflow.memory(task) > 0.0 {
        profile("pegasus", "memory", &(workflow.memory(task) / MEMORY_UNIT).to_string())?;
    }
    if let Some(gpus) = gpus_of(workflow, task) {
        profile("pegasus", "gpus", &gpus.to_string())?;
    }
    if let Some(command) = command {
        let line = join_arguments(&command.arguments);
        writeln!(out, "    <argument>{}</argument>", escaped(&line)?)?;
    }
    let mut uses = |file: FileId, link: &str| -> Result<()> {
        let (name, bytes) = (escaped(&names[file.index()])?, workflow.file_bytes(file));
        let fixed = "register=\"true\" transfer=\"true\" optional=\"false\" type=\"data\"";
        writeln!(out, "    <uses file=\"{name}\" link=\"{link}\" {fixed} size=\"{bytes}\"/>")?;
        Ok(())
    };
    let own = |file: &FileId| workflow.producer(*file) == Some(task);
    for file in workflow.inputs(task).filter(|f| !own(f)) {
        uses(file, "input")?;
    }
    for file in workflow.outputs(task) {
        let reads_it_too = workflow.consumers(file).any(|t| t == task);
        uses(file, if reads_it_too { "inout" } else { "output" })?;
    }
    writeln!(out, "  </job>")?;
    Ok(())
}
