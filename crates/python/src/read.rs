//! Reads files, and generates workflows and platforms.

use crate::errors::{self, bad_input, input};
use crate::platform::{Platform_, Scenario_};
use crate::requests::Listener;
use crate::workflow::Workflow_;
use pyo3::prelude::*;
use slackline_core::formats::scenario::parse_scenario;
use slackline_core::formats::{Format, PlatformFormat};
use slackline_core::input::{
    WorkflowValue, format_of, read_document, read_platform, read_scenario,
};
use slackline_core::{Context, Failure, bundled};
use slackline_generate::Seed;
use slackline_generate::registry::{self, Family, Generator};
use slackline_io::FileAccess;
use std::path::{Path, PathBuf};

/// Content of a file.
#[derive(Clone, Copy, PartialEq)]
enum FileKind {
    Workflow,
    Platform,
    Scenario,
}

/// Access to files of the machine, and to bundled ones by name.
pub(crate) fn files() -> FileAccess {
    FileAccess::default().with_bundled(bundled::named)
}

fn kind_of(path: &Path, text: &str, from: Option<Format>) -> FileKind {
    if from.is_none() && Format::detect(Some(path), text) == Ok(Format::Instance) {
        return FileKind::Workflow;
    }
    if from.is_none() && PlatformFormat::recognise(Some(path), text).is_some() {
        return FileKind::Platform;
    }
    let workflow = from.is_some() || Format::all().any(|format| format.recognises(text));
    if !workflow && parse_scenario(text).is_ok() { FileKind::Scenario } else { FileKind::Workflow }
}

/// Reads a workflow, a platform or a scenario, by default recognised from the content. Returns the value and warnings.
#[pyfunction]
#[pyo3(signature = (path, format = None, kind = None))]
pub(crate) fn read(
    py: Python<'_>,
    path: &str,
    format: Option<&str>,
    kind: Option<&str>,
) -> PyResult<(Py<PyAny>, Vec<String>)> {
    let format: Option<Format> = format.map(str::parse).transpose().map_err(input)?;
    let place = PathBuf::from(path);
    let mut listener = Listener::default();
    let files = files();
    let failed = |failure: Failure| errors::of_failure(failure, &[path.to_string()]);
    let text = files.read_text(&place).map_err(|error| failed(error.into()))?;
    let kind = match kind {
        None => kind_of(&place, &text, format),
        Some("workflow") => FileKind::Workflow,
        Some("platform") => FileKind::Platform,
        Some("scenario") => FileKind::Scenario,
        Some(other) => return Err(bad_input(&format!("there is no kind of file '{other}'"))),
    };
    let mut context = Context::new(files, &mut listener);
    let source = Some(path.to_string());
    let object = match kind {
        FileKind::Platform => {
            let platform = read_platform(&place, &mut context).map_err(failed)?;
            Py::new(py, Platform_::of(platform, source))?.into_any()
        }
        FileKind::Scenario => {
            let scenario = read_scenario(&context.files, &place).map_err(failed)?;
            Py::new(py, Scenario_::fixed(scenario, source))?.into_any()
        }
        FileKind::Workflow => {
            let format = format_of(&context.files, &place, format).map_err(failed)?;
            let document = read_document(&place, Some(format), &mut context).map_err(failed)?;
            let value = WorkflowValue { document, format };
            Py::new(py, Workflow_::of_value(value, source))?.into_any()
        }
    };
    Ok((object, listener.warnings()))
}

/// The platform of an instance file, which has both workflow and processors; none for other files.
#[pyfunction]
pub(crate) fn platform_of(path: &str) -> PyResult<Option<Platform_>> {
    let place = PathBuf::from(path);
    let files = files();
    let failed = |failure: Failure| errors::of_failure(failure, &[path.to_string()]);
    let text = files.read_text(&place).map_err(|error| failed(error.into()))?;
    if Format::detect(Some(&place), &text) != Ok(Format::Instance) {
        return Ok(None);
    }
    let mut listener = Listener::default();
    let mut context = Context::new(files, &mut listener);
    let platform = read_platform(&place, &mut context).map_err(failed)?;
    Ok(Some(Platform_::of(platform, None)))
}

/// Workflow, platform and warnings from the records of another engine.
#[pyfunction]
pub(crate) fn import_run(
    py: Python<'_>,
    paths: Vec<String>,
) -> PyResult<(Workflow_, Platform_, Vec<String>)> {
    let places: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
    let files = files();
    py.detach(|| {
        let run = slackline_import::read(&places, &slackline_import::Options::default(), &files);
        let run = run.map_err(|error| errors::of_failure(error.into(), &paths))?;
        let document = run.document().map_err(|error| errors::of_failure(error.into(), &paths))?;
        let platform = run.platform().map_err(|error| errors::of_failure(error.into(), &paths))?;
        let warnings = document.warnings.clone();
        let value = WorkflowValue { document, format: Format::WfFormat };
        Ok((Workflow_::of_value(value, None), Platform_::of(platform, None), warnings))
    })
}

fn family(name: &str) -> PyResult<Family> {
    [Family::Workflow, Family::Platform, Family::Scenario]
        .into_iter()
        .find(|family| family.name() == name)
        .ok_or_else(|| bad_input(&format!("nothing generates a '{name}'")))
}

/// Generators of a family: names, one sentence each, and their parameters with defaults and meanings.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn generators(
    of: &str,
) -> PyResult<Vec<(&'static str, &'static str, Vec<(&'static str, &'static str, &'static str)>)>> {
    let parameters = |generator: &'static Generator| {
        let one = |p| -> (&'static str, &'static str, &'static str) {
            let p: &'static slackline_model::parameter::Parameter = p;
            (p.name, generator.default_of(p), p.about)
        };
        generator.parameters().map(one).collect()
    };
    let row = |g: &'static Generator| (g.name, g.about, parameters(g));
    Ok(registry::of(family(of)?).map(row).collect())
}

/// Generates a workflow or a platform.
#[pyfunction]
pub(crate) fn generate(
    py: Python<'_>,
    of: &str,
    name: &str,
    given: Vec<(String, String)>,
    seed: u64,
) -> PyResult<Py<PyAny>> {
    let family = family(of)?;
    let generator = registry::find(family, name).map_err(input)?;
    let settings = generator.settings(&given).map_err(input)?;
    if family == Family::Platform {
        let made = py.detach(|| generator.platform(&settings, Seed::new(seed))).map_err(input)?;
        return Ok(Py::new(py, Platform_::of(made, None))?.into_any());
    }
    let made = py.detach(|| generator.workflow(&settings, Seed::new(seed))).map_err(input)?;
    Ok(Py::new(py, Workflow_::of(made))?.into_any())
}

/// The workflow of a text in a format, under a name.
#[pyfunction]
#[pyo3(signature = (text, format, name = "", path = None))]
pub(crate) fn workflow_of_text(
    py: Python<'_>,
    text: &str,
    format: &str,
    name: &str,
    path: Option<String>,
) -> PyResult<Workflow_> {
    let format: Format = format.parse().map_err(input)?;
    let mut document = py.detach(|| format.read(text)).map_err(input)?;
    if document.workflow.name() != name && !name.is_empty() {
        document.workflow = document.workflow.renamed(name);
    }
    Ok(Workflow_::of_value(WorkflowValue { document, format }, path))
}
