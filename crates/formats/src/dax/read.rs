//! Reading DAX, one element at a time.

use super::MEMORY_UNIT;
use crate::document::Document;
use crate::error::{FormatError, Result};
use crate::flow::{Flow, Use};
use crate::text::{Streams, join_arguments, kind_of_name, set_cores, set_gpus, split_arguments};
use crate::times::{negative_sizes, negative_times};
use crate::xml::{Element, Node, Xml};
use slackline_model::workflow::{Command, REFERENCE_SPEED};
use slackline_model::{Task, TaskId, WorkflowBuilder};
use std::collections::{HashMap, HashSet};

/// Reads a DAX document.
pub fn read(text: &str) -> Result<Document> {
    let mut xml = Xml::new(text);
    let mut reader = Reader::default();
    loop {
        match xml.next()? {
            Node::Open(root) if root.name() == "adag" => {
                root.attributes(|key, value| {
                    if key == "name" {
                        reader.builder.set_name(value);
                    }
                    Ok(())
                })?;
                reader.adag(&mut xml)?;
                return reader.finish(text);
            }
            Node::Open(root) => {
                let message = format!("a DAX begins with <adag>, not with <{}>", root.name());
                return Err(root.error(message));
            }
            Node::Text(_) => {}
            Node::Close | Node::End => return Err(FormatError::new("no <adag> in the document")),
        }
    }
}

/// State of the reader.
#[derive(Default)]
struct Reader {
    builder: WorkflowBuilder,
    flow: Flow,
    /// Dependencies on jobs that had not been read yet: offset, parent, child.
    pending: Vec<(usize, String, String)>,
    untimed: usize,
    /// Paths of the programs of transformations.
    programs: HashMap<String, String>,
    /// Files of negative size.
    negative: HashSet<u32>,
    negative_times: usize,
}

/// A job while its element is open.
struct OpenJob {
    task: Task,
    timed: bool,
    program: Option<String>,
    arguments: Option<Vec<String>>,
    streams: Streams,
    uses: Vec<(u32, Use, Option<f64>)>,
}

/// One `<uses>`, `<file>` or `<filename>`.
#[derive(Default)]
struct FileUse {
    name: Option<String>,
    how: Option<Use>,
    bytes: Option<f64>,
}

impl Reader {
    /// A run time; one below zero counts as 0.
    fn counted(&mut self, seconds: f64) -> f64 {
        self.negative_times += usize::from(seconds < 0.0);
        seconds.max(0.0)
    }

    fn adag(&mut self, xml: &mut Xml<'_>) -> Result<()> {
        loop {
            match xml.next()? {
                Node::Open(element) => match element.name() {
                    "job" | "dax" | "dag" => self.job(&element, xml)?,
                    "child" => self.child(&element, xml)?,
                    "executable" => self.executable(&element, xml)?,
                    "file" | "filename" => {
                        self.file_use(&element, xml)?;
                    }
                    _ => xml.skip()?,
                },
                Node::Text(_) => {}
                Node::Close | Node::End => return Ok(()),
            }
        }
    }

    fn job(&mut self, element: &Element<'_>, xml: &mut Xml<'_>) -> Result<()> {
        let mut id = None;
        let mut runtime = None;
        let mut kind = None;
        let mut cores = None;
        element.attributes(|key, value| {
            match key {
                "id" => id = Some(value.into_owned()),
                "name" => kind = Some(value.into_owned()),
                "runtime" => runtime = Some(finite(element, "the runtime", &value)?),
                "cores" | "num_cores" => cores = Some(whole_cores(element, &value)?),
                _ => {}
            }
            Ok(())
        })?;
        let name =
            id.filter(|id| !id.is_empty()).ok_or_else(|| element.error("a job without id"))?;
        let kind = kind.unwrap_or_else(|| match element.name() {
            "job" => kind_of_name(&name).to_string(),
            sub_workflow => sub_workflow.to_string(),
        });
        let runtime = runtime.map(|seconds| self.counted(seconds));
        let mut task = Task::new(name, runtime.unwrap_or(0.0) * REFERENCE_SPEED).of_kind(kind);
        if let Some(cores) = cores {
            set_cores(&mut task, cores);
        }
        let mut job = OpenJob {
            task,
            timed: runtime.is_some(),
            program: None,
            arguments: None,
            streams: Streams::default(),
            uses: Vec::new(),
        };
        loop {
            match xml.next()? {
                Node::Open(inner) => self.part_of_job(&inner, xml, &mut job)?,
                Node::Text(_) => {}
                Node::Close | Node::End => break,
            }
        }
        let program = job.program.or_else(|| self.programs.get(&job.task.kind).cloned());
        if program.is_some() || job.arguments.is_some() || !job.streams.is_empty() {
            job.task.command = Some(job.streams.of(Command {
                program: program.unwrap_or_else(|| job.task.kind.clone()),
                arguments: job.arguments.unwrap_or_default(),
                ..Command::default()
            }));
        }
        self.untimed += usize::from(!job.timed);
        let task = self.builder.add_task(job.task).map_err(|e| element.error(e))?;
        for (name, how, bytes) in job.uses {
            self.flow.uses(task, name, how, bytes);
        }
        Ok(())
    }

    fn part_of_job(
        &mut self,
        element: &Element<'_>,
        xml: &mut Xml<'_>,
        job: &mut OpenJob,
    ) -> Result<()> {
        match element.name() {
            "uses" => {
                let (name, file) = self.file_use(element, xml)?;
                if let Some(how) = file.how {
                    job.uses.push((name, how, file.bytes));
                }
                Ok(())
            }
            "argument" => {
                let line = xml.content(file_inside)?;
                job.arguments.get_or_insert_default().extend(split_arguments(&line));
                Ok(())
            }
            "profile" => {
                if profile(element, xml, job)? {
                    self.negative_times += 1;
                }
                Ok(())
            }
            "stdin" => stream(element, xml, &mut job.streams.input),
            "stdout" => stream(element, xml, &mut job.streams.output),
            "stderr" => stream(element, xml, &mut job.streams.errors),
            _ => xml.skip(),
        }
    }

    /// Reads the path of a transformation's program, if it is on this machine.
    fn executable(&mut self, element: &Element<'_>, xml: &mut Xml<'_>) -> Result<()> {
        let mut name = None;
        element.attributes(|key, value| {
            if key == "name" {
                name = Some(value.into_owned());
            }
            Ok(())
        })?;
        loop {
            match xml.next()? {
                Node::Open(inner) => {
                    let mut path = None;
                    inner.attributes(|key, value| {
                        if key == "url" {
                            path = value.strip_prefix("file://").map(str::to_string);
                        }
                        Ok(())
                    })?;
                    if let (Some(name), Some(path), "pfn") = (&name, path, inner.name()) {
                        self.programs.entry(name.clone()).or_insert(path);
                    }
                    xml.skip()?;
                }
                Node::Text(_) => {}
                Node::Close | Node::End => return Ok(()),
            }
        }
    }

    /// A use of a file, its name already known to the flow.
    fn file_use(&mut self, element: &Element<'_>, xml: &mut Xml<'_>) -> Result<(u32, FileUse)> {
        let mut file = FileUse::default();
        element.attributes(|key, value| {
            match key {
                "file" | "name" => file.name = Some(value.into_owned()),
                "size" => file.bytes = Some(size(element, &value)?),
                "link" => file.how = link(element, &value)?,
                _ => {}
            }
            Ok(())
        })?;
        loop {
            match xml.next()? {
                Node::Open(inner) if inner.name() == "metadata" => {
                    let mut is_size = false;
                    inner.attributes(|key, value| {
                        is_size |= key == "key" && value == "size";
                        Ok(())
                    })?;
                    let content = xml.content(|_| Ok(String::new()))?;
                    if is_size {
                        file.bytes = Some(size(&inner, content.trim())?);
                    }
                }
                Node::Open(_) => xml.skip()?,
                Node::Text(_) => {}
                Node::Close | Node::End => break,
            }
        }
        let name = match &file.name {
            Some(name) if !name.is_empty() => self.flow.name(name)?,
            _ => return Err(element.error(format!("<{}> without a file name", element.name()))),
        };
        if let Some(bytes) = &mut file.bytes
            && *bytes < 0.0
        {
            self.negative.insert(name);
            *bytes = 0.0;
        }
        if let (None, Some(bytes)) = (file.how, file.bytes) {
            self.flow.size(name, bytes);
        }
        Ok((name, file))
    }

    fn child(&mut self, element: &Element<'_>, xml: &mut Xml<'_>) -> Result<()> {
        let child = reference(element)?;
        let known_child = self.builder.task_id(&child);
        loop {
            match xml.next()? {
                Node::Open(inner) if inner.name() == "parent" => {
                    let parent = reference(&inner)?;
                    match (self.builder.task_id(&parent), known_child) {
                        (Some(p), Some(c)) => self.depend(p, c).map_err(|e| inner.error(e))?,
                        _ => self.pending.push((inner.offset(), parent, child.clone())),
                    }
                    xml.skip()?;
                }
                Node::Open(_) => xml.skip()?,
                Node::Text(_) => {}
                Node::Close | Node::End => return Ok(()),
            }
        }
    }

    fn depend(&mut self, parent: TaskId, child: TaskId) -> std::result::Result<(), String> {
        if parent == child {
            return Err(format!("job '{}' is its own parent", self.builder.task_name(child)));
        }
        self.flow.declare(parent, child);
        Ok(())
    }

    fn finish(mut self, text: &str) -> Result<Document> {
        for (offset, parent, child) in std::mem::take(&mut self.pending) {
            let find = |name: &str| {
                self.builder.task_id(name).ok_or_else(|| {
                    FormatError::at_offset(text, offset, format!("no job has the id '{name}'"))
                })
            };
            let (p, c) = (find(&parent)?, find(&child)?);
            self.depend(p, c).map_err(|e| FormatError::at_offset(text, offset, e))?;
        }
        self.builder.set_reference_speed(REFERENCE_SPEED);
        let mut warnings = self.flow.finish(&mut self.builder)?;
        warnings.extend(negative_times(self.negative_times, "job"));
        warnings.extend(negative_sizes(self.negative.len()));
        if self.untimed > 0 {
            let (untimed, all) = (self.untimed, self.builder.len());
            warnings.push(format!("{untimed} of {all} jobs have no runtime: their work is 0"));
        }
        Ok(Document { warnings, ..Document::new(self.builder.build()?) })
    }
}

/// The file of one of a job's streams.
fn stream(element: &Element<'_>, xml: &mut Xml<'_>, file: &mut Option<String>) -> Result<()> {
    element.attributes(|key, value| {
        if matches!(key, "name" | "file") {
            *file = Some(value.into_owned());
        }
        Ok(())
    })?;
    xml.skip()
}

/// The file name in an element inside an argument.
fn file_inside(element: &Element<'_>) -> Result<String> {
    let mut name = String::new();
    element.attributes(|key, value| {
        if matches!(key, "file" | "name") {
            name = join_arguments(&[value]);
        }
        Ok(())
    })?;
    Ok(name)
}

/// Applies a profile to a job; returns whether its run time is below zero, which counts as 0.
fn profile(element: &Element<'_>, xml: &mut Xml<'_>, job: &mut OpenJob) -> Result<bool> {
    let (mut namespace, mut key) = (String::new(), String::new());
    element.attributes(|name, value| {
        match name {
            "namespace" => namespace = value.into_owned(),
            "key" => key = value.into_owned(),
            _ => {}
        }
        Ok(())
    })?;
    let content = xml.content(file_inside)?;
    let text = content.trim();
    match (namespace.as_str(), key.as_str()) {
        ("pegasus", "runtime") if !job.timed => {
            let seconds = finite(element, "the runtime", text)?;
            job.task.work = seconds.max(0.0) * REFERENCE_SPEED;
            job.timed = true;
            return Ok(seconds < 0.0);
        }
        ("pegasus", "memory") => {
            job.task.memory = number(element, "the memory", text)? * MEMORY_UNIT;
        }
        ("pegasus", "gpus") => {
            let gpus = text.trim().parse().ok();
            let message = || format!("gpus must be a whole number, not '{text}'");
            set_gpus(&mut job.task, gpus.ok_or_else(|| element.error(message()))?);
        }
        ("pegasus", "cores") | ("condor", "request_cpus") | ("globus", "count") => {
            set_cores(&mut job.task, whole_cores(element, text)?);
        }
        ("hints", "pfn") => job.program = Some(content),
        _ => {}
    }
    Ok(false)
}

fn whole_cores(element: &Element<'_>, text: &str) -> Result<u32> {
    let cores = text.trim().parse().ok().filter(|&cores: &u32| cores > 0);
    let message = || format!("cores must be a whole number from 1, not '{text}'");
    cores.ok_or_else(|| element.error(message()))
}

/// Converts the value of `link`; `none` is no use.
fn link(element: &Element<'_>, value: &str) -> Result<Option<Use>> {
    match value.to_ascii_lowercase().as_str() {
        "input" => Ok(Some(Use::Read)),
        "output" => Ok(Some(Use::Write)),
        "inout" | "checkpoint" => Ok(Some(Use::Update)),
        "none" => Ok(None),
        _ => {
            let known = "input, output, inout, checkpoint or none";
            Err(element.error(format!("the link of a file is {known}, not '{value}'")))
        }
    }
}

/// The size of a file. The generator of the classic workflows let some overflow: the caller decides about
/// negative sizes.
fn size(element: &Element<'_>, text: &str) -> Result<f64> {
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => {
            Err(element.error(format!("the size of a file must be a finite number, not '{text}'")))
        }
    }
}

/// A finite number, also one below zero.
fn finite(element: &Element<'_>, what: &str, text: &str) -> Result<f64> {
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(element.error(format!("{what} must be a finite number, not '{text}'"))),
    }
}

fn number(element: &Element<'_>, what: &str, text: &str) -> Result<f64> {
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => {
            let message =
                format!("{what} must be a finite number that is not negative, not '{text}'");
            Err(element.error(message))
        }
    }
}

fn reference(element: &Element<'_>) -> Result<String> {
    let mut reference = None;
    element.attributes(|key, value| {
        if key == "ref" {
            reference = Some(value.into_owned());
        }
        Ok(())
    })?;
    reference.ok_or_else(|| element.error(format!("<{}> without ref", element.name())))
}
