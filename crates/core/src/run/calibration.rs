//! Platform and workflow as real runs showed them to be.

use super::{Recovered, RunSession, given_files, read_folder, refuse_names, reused};
use crate::context::Context;
use crate::failure::Failure;
use crate::input::{format_of, read_document};
use crate::recorded::machines_platform;
use crate::schema;
use serde::Serialize;
use slackline_analysis::calibration::{
    Connection, Learnt, MeasuredTransfer, Sample, Spread, moved, samples,
};
use slackline_analysis::overheads;
use slackline_engine::{Note, Record, SignalKind, bandwidth_estimation};
use slackline_formats::{Document, FileAccess, Format, platform_toml};
use slackline_machines::folder::Definition;
use slackline_model::control::{Branch, Control, DecisionCounts};
use slackline_model::names::printable;
use slackline_model::platform::{Charges, Profile};
use slackline_model::scenario::{HostWorld, LinkWorld, World};
use slackline_model::units::{fmt_rate, fmt_seconds};
use slackline_model::{FileId, Platform, TaskId, Workflow};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run that was learnt from.
#[derive(Serialize)]
pub struct Source {
    /// Folder of the run.
    pub run: String,
    /// When it began, seconds since 1970.
    pub began: f64,
    /// Policy that steered it.
    pub policy: String,
    /// Seconds.
    pub makespan: f64,
}

/// Figures learnt from runs.
#[derive(Serialize)]
pub struct Calibration {
    /// Name and version of the document.
    pub schema: &'static str,
    /// Runs that were learnt from.
    pub runs: Vec<Source>,
    /// Start-up seconds of tasks, and seconds before the first task.
    pub overhead: Spread,
    /// Seconds before the first task.
    pub queue_wait: Spread,
    /// Times of kinds, levels of hosts, figures of connections.
    #[serde(flatten)]
    pub learnt: Learnt,
    /// Outcomes of choices and loops.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<BlockCounts>,
}

/// How a choice or loop was decided.
#[derive(Serialize)]
pub struct BlockCounts {
    /// Name of the choice or loop.
    pub block: String,
    /// How often each branch was taken, or the loop ended after so many passes.
    pub outcomes: Vec<OutcomeCount>,
}

/// Frequency of an outcome.
#[derive(Serialize)]
pub struct OutcomeCount {
    /// Branch, or number of passes.
    pub outcome: String,
    /// Number of times.
    pub times: u64,
}

/// Learns from the folders of runs, or from recorded instances, and writes into `target`: the platform with the levels of
/// its hosts, a workflow (that of the last run where none is named) with learnt times, and every figure in
/// calibration.json. None where the folders hold no run.
pub fn from_runs(
    runs: &[PathBuf],
    wanted: Option<&Path>,
    target: &Path,
    context: &mut Context<'_>,
) -> Result<Option<Calibration>, Failure> {
    if let Some(run) = runs.iter().find(|run| is_same(run, target)) {
        let message = format!("--output {}: is the folder of a run that is read", run.display());
        return Err(Failure::input(message)
            .with_help("write to another folder: the run's own files would be lost"));
    }
    let (mut tasks, mut moves): (Vec<Sample>, Vec<MeasuredTransfer>) = (Vec::new(), Vec::new());
    let (mut gaps, mut waits) = (Vec::new(), Vec::new());
    let mut sources = Vec::new();
    let mut sizes: BTreeMap<String, f64> = BTreeMap::new();
    let mut last: Option<(Workflow, Platform, Charges, Format)> = None;
    let mut inputs = PathBuf::new();
    let mut counts = DecisionCounts::default();
    let mut all = Vec::new();
    for run in runs {
        let mut runs = read_folder(run)?.runs();
        let last = runs.pop();
        // Of a folder that was run in again and again, what was done before counts where it came to an end.
        runs.retain(|run| is_over(run) && has_tasks(run));
        let last = last.filter(|last| runs.is_empty() || has_tasks(last));
        all.extend(runs.into_iter().chain(last).map(|recovered| (run, recovered)));
    }
    for (run, recovered) in all {
        let header = recovered.header.clone();
        let steering = RunSession::open(run, header.clone(), context)?;
        let problem = steering.problem()?;
        let charges = steering.charges();
        // Of choices and loops the course tells what was done.
        let chose = chosen(&recovered.records);
        let mut repeated = None;
        if steering.is_undecided() {
            repeated = steering.repeat(&problem, recovered.clone())?.ran;
        }
        let course = repeated.as_ref().map(|ran| ran.outcome.workflow.clone());
        let course = course.as_ref().map(|whole| steering.problem_of(whole)).transpose()?;
        let of_course = course.flatten();
        if let Some(control) = steering.whole.control().filter(|_| of_course.is_some()) {
            let fell = |(decision, outcome): &(String, String)| {
                counts.add(control, decision, outcome);
            };
            chose.iter().for_each(fell);
        }
        let given = &problem;
        let problem = of_course.as_ref().unwrap_or(given);
        let network = problem.platform().charged_network(&charges);
        let stated = problem.workflow();
        let found = measured_sizes(&recovered.records, stated, &header.inputs);
        let named = |(file, bytes)| (stated.file_name(file).to_string(), bytes);
        sizes.extend(found.into_iter().map(named));
        inputs.clone_from(&header.inputs);
        let passages =
            bandwidth_estimation::passages(&recovered.records, problem.platform(), &network);
        moves.extend(moved(problem.platform(), &network, &passages));
        let (attempts, interruptions) = interrupted(&recovered.records);
        let reused = reused(&recovered.records);
        let repeated = match repeated {
            Some(ran) => Some(ran),
            None => steering.repeat(given, recovered)?.ran,
        };
        let Some(mut ran) = repeated else {
            return Err(Failure::work(format!("{}: this run is not over", run.display())));
        };
        for task in reused {
            ran.outcome.schedule.placements[task.index()] = None; // it took no time
        }
        tasks.extend(samples(problem, &ran.outcome.schedule));
        gaps.extend(overheads::gaps(
            problem,
            &ran.outcome.schedule,
            |task| attempts.get(&task).is_some_and(|&attempts| attempts > 1),
            &interruptions,
        ));
        waits.extend(overheads::first_start(&ran.outcome.schedule));
        sources.push(Source {
            run: run.display().to_string(),
            began: header.began,
            policy: header.policy,
            makespan: ran.outcome.makespan,
        });
        let whole = &steering.whole;
        let of_whole = |file| Some((file, *sizes.get(whole.file_name(file))?));
        let workflow = match whole.control() {
            Some(_) => Workflow::clone(whole),
            None => with_sizes(whole, &whole.files().filter_map(of_whole).collect())?,
        };
        let platform = problem.platform().clone();
        last = Some((workflow, platform, charges, steering.format()));
    }
    let learnt = Learnt::of(&tasks, &moves);
    let Some((mut workflow, platform, charges, mut format)) = last else { return Ok(None) };
    if let Some(path) = wanted {
        format = format_of(&context.files, path, None)?;
        workflow = read_document(path, Some(format), context)?.workflow;
        inputs = path.parent().unwrap_or(Path::new("")).to_path_buf();
    }
    let mut decisions = Vec::new();
    if let Some(control) = workflow.control().cloned() {
        decisions = block_counts(&control, &counts);
        workflow = workflow.with_control(Arc::new(control.with_counts(&counts)));
    }
    std::fs::create_dir_all(target)
        .map_err(|e| Failure::input(format!("{}: {e}", target.display())))?;
    bring_inputs(&workflow, &inputs, target)?;
    let given = (&workflow, &platform, &charges);
    write(&context.files, target, &learnt, &sources, given, format)?;
    let calibration = Calibration {
        schema: schema::names::CALIBRATION,
        runs: sources,
        overhead: Spread::of(&gaps),
        queue_wait: Spread::of(&waits),
        learnt,
        decisions,
    };
    context.files.write(&target.join("calibration.json"), |out| -> std::io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, &calibration)?;
        out.write_all(b"\n")
    })?;
    Ok(Some(calibration))
}

/// Fits overheads to the makespans of recorded instances, and writes them into `target`.
pub fn from_instances(
    paths: &[PathBuf],
    target: &Path,
    context: &mut Context<'_>,
) -> Result<InstancesCalibration, Failure> {
    let mut fitted = Vec::new();
    for path in paths {
        fitted.push(FittedInstance::fitted(path, context)?);
    }
    let seconds: Vec<f64> = fitted.iter().map(|run| run.overhead).collect();
    // What a run waited before its first task no file says: all of its gap is put down to the tasks.
    let waits: Vec<f64> = vec![0.0; fitted.len()];
    let (overhead, queue_wait) = (Spread::of(&seconds), Spread::of(&waits));
    let calibration = InstancesCalibration {
        schema: schema::names::CALIBRATION,
        instances: fitted,
        overhead,
        queue_wait,
    };
    std::fs::create_dir_all(target)
        .map_err(|e| Failure::input(format!("{}: {e}", target.display())))?;
    context.files.write(&target.join("calibration.json"), |out| -> std::io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, &calibration)?;
        out.write_all(b"\n")
    })?;
    Ok(calibration)
}

/// Returns whether two paths are one folder.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    real(one).is_some_and(|one| real(other) == Some(one))
}

/// A recorded run and the overhead per task that explains its length.
#[derive(Serialize)]
pub struct FittedInstance {
    /// The file.
    pub instance: String,
    /// Number of tasks.
    pub tasks: usize,
    /// Seconds, as recorded.
    pub recorded: f64,
    /// Seconds, as planned on its machines without overheads.
    pub planned: f64,
    /// Seconds of overhead per task that explain the difference.
    pub overhead: f64,
}

/// Overheads fitted to recorded instances.
#[derive(Serialize)]
pub struct InstancesCalibration {
    /// Name and version of the document.
    pub schema: &'static str,
    /// The instances.
    pub instances: Vec<FittedInstance>,
    /// Seconds of overhead per task.
    pub overhead: Spread,
    /// Seconds before the first task.
    pub queue_wait: Spread,
}

impl FittedInstance {
    fn fitted(path: &Path, context: &mut Context<'_>) -> Result<FittedInstance, Failure> {
        if path.is_dir() {
            let message =
                format!("{}: a folder of a run beside a recorded instance", path.display());
            return Err(Failure::input(message).with_help("calibrate from either"));
        }
        let failed = |e: &dyn std::fmt::Display| Failure::input(format!("{}: {e}", path.display()));
        let document = read_document(path, None, context)?;
        let missing = |what: &str| {
            let message = format!("{}: no recorded run {what}", path.display());
            Failure::input(message).with_help("WfFormat files of real runs have one")
        };
        let run = document.recorded.and_then(|recorded| recorded.run);
        let run = run.ok_or_else(|| missing("in it"))?;
        let recorded = run.makespan_seconds.filter(|&seconds| seconds > 0.0);
        let recorded = recorded.ok_or_else(|| missing("with a makespan"))?;
        let platform =
            machines_platform(&run.machines, overheads::slots).map_err(|e| failed(&e))?;
        let workflow = document.workflow;
        let fit = |seconds: Option<f64>| match seconds {
            Some(makespan) => overheads::fitted(&workflow, &platform, makespan),
            None => overheads::planned(&workflow, &platform),
        };
        Ok(FittedInstance {
            instance: path.display().to_string(),
            tasks: workflow.len(),
            recorded,
            planned: fit(None).map_err(|e| failed(&e))?,
            overhead: fit(Some(recorded)).map_err(|e| failed(&e))?,
        })
    }
}

/// Processes that were started for each task, and the dates at which a run was taken up again.
fn interrupted(records: &[(f64, Record)]) -> (BTreeMap<TaskId, usize>, Vec<f64>) {
    let (mut attempts, mut dates) = (BTreeMap::new(), Vec::new());
    for (date, record) in records {
        match record {
            Record::Note(Note::Process { task, .. }) => *attempts.entry(*task).or_default() += 1,
            Record::Note(Note::Driven { .. }) => dates.push(*date),
            _ => {}
        }
    }
    // At the first of them the run began.
    (attempts, dates.split_off(1.min(dates.len())))
}

/// Decisions of a run and their outcomes.
fn chosen(records: &[(f64, Record)]) -> Vec<(String, String)> {
    let chose = records.iter().filter_map(|(_, record)| match record {
        Record::Chose(chose) => Some((chose.decision.clone(), chose.outcome.clone()?)),
        _ => None,
    });
    chose.collect()
}

/// How each choice and loop that was decided fell.
fn block_counts(control: &Control, counts: &DecisionCounts) -> Vec<BlockCounts> {
    let choices = control.choices().iter().enumerate().map(|(number, choice)| {
        let times = counts.of_choice(number).iter().copied().chain(std::iter::repeat(0));
        let taken = choice.branches.iter().zip(times);
        let outcome =
            |(branch, times): (&Branch, u64)| OutcomeCount { outcome: branch.name.clone(), times };
        (choice.name.clone(), !counts.of_choice(number).is_empty(), taken.map(outcome).collect())
    });
    let loops = control.loops().iter().enumerate().map(|(number, spec)| {
        let passes = (1..).zip(counts.of_loop(number)).filter(|(_, times)| **times > 0);
        let outcome = |(passes, times): (u64, &u64)| OutcomeCount {
            outcome: if passes == 1 { "1 pass".to_string() } else { format!("{passes} passes") },
            times: *times,
        };
        let outcomes: Vec<OutcomeCount> = passes.map(outcome).collect();
        (spec.name.clone(), !outcomes.is_empty(), outcomes)
    });
    let decided = choices.chain(loops).filter(|(_, is_decided, _)| *is_decided);
    decided.map(|(block, _, outcomes)| BlockCounts { block, outcomes }).collect()
}

/// Whether a run is over.
fn is_over(run: &Recovered) -> bool {
    run.records.iter().any(|(_, record)| matches!(record, Record::Note(Note::Over { .. })))
}

/// Whether a run had tasks to do.
fn has_tasks(run: &Recovered) -> bool {
    let is_empty =
        |part: &Definition| part.redo.is_empty() && part.perhaps.is_empty() && !part.is_open;
    run.header.part.as_ref().is_none_or(|part| !is_empty(part))
}

/// Sizes of files: of outputs as tasks wrote them, of inputs as they are.
fn measured_sizes(
    records: &[(f64, Record)],
    workflow: &Workflow,
    inputs: &Path,
) -> BTreeMap<FileId, f64> {
    let given = workflow.files().filter(|file| workflow.producer(*file).is_none());
    let size = |file: FileId| {
        let found = std::fs::metadata(inputs.join(workflow.file_name(file))).ok()?;
        found.is_file().then_some((file, found.len() as f64))
    };
    let named = given.filter(|file| !workflow.file_name(*file).is_empty());
    let mut sizes: BTreeMap<FileId, f64> = named.filter_map(size).collect();
    for (_, record) in records {
        let Record::Next { signals, .. } = record else { continue };
        for signal in signals {
            if let SignalKind::Done(_, report) = &signal.what {
                sizes.extend(report.sizes.iter().copied());
            }
        }
    }
    sizes
}

fn with_sizes(workflow: &Workflow, sizes: &BTreeMap<FileId, f64>) -> Result<Workflow, Failure> {
    if sizes.iter().all(|(file, bytes)| workflow.file_bytes(*file) == *bytes) {
        return Ok(workflow.clone());
    }
    let mut builder = workflow.reopen().map_err(Failure::input)?;
    for (file, bytes) in sizes {
        builder.set_file_bytes(*file, *bytes).map_err(Failure::input)?;
    }
    builder.build().map_err(Failure::input)
}

/// Copies the files that no task makes beside the workflow, so that it runs where it is.
fn bring_inputs(workflow: &Workflow, from: &Path, target: &Path) -> Result<(), Failure> {
    if refuse_names(workflow).is_err() {
        return Ok(()); // what cannot be run needs none
    }
    for (_, name) in given_files(workflow) {
        let (from, to) = (from.join(name), target.join(name));
        let same = from.canonicalize().is_ok_and(|f| to.canonicalize().is_ok_and(|t| f == t));
        if same || !from.is_file() {
            continue;
        }
        let failed = |e| Failure::input(format!("{}: {e}", to.display()));
        to.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
        // Beside it first: what was there is replaced whole.
        let mut part = to.as_os_str().to_owned();
        part.push(".part");
        let copied = std::fs::copy(&from, &part).and_then(|_| std::fs::rename(&part, &to));
        if copied.is_err() {
            let _ = std::fs::remove_file(&part); // it may never have been there
        }
        copied.map_err(failed)?;
    }
    Ok(())
}

/// Writes platform and workflow as they were learnt to be.
fn write(
    files: &FileAccess,
    target: &Path,
    learnt: &Learnt,
    sources: &[Source],
    (workflow, platform, charges): (&Workflow, &Platform, &Charges),
    format: Format,
) -> Result<(), Failure> {
    let course = |name: &str| -> Result<HostWorld, Failure> {
        let level = learnt.level(name);
        let constant = (level < 1.0).then(|| Profile::constant(level)).transpose();
        let availability = constant.map_err(Failure::work)?.map(Arc::new);
        Ok(HostWorld { availability, ..HostWorld::default() })
    };
    let hosts = platform.hosts().iter().map(|h| course(&h.name)).collect::<Result<_, _>>()?;
    let links = vec![LinkWorld::default(); platform.links().len()];
    let world = World { hosts, links, pairs: Vec::new() };
    let connected = learnt.connect(&platform.in_world(&world), charges).map_err(Failure::work)?;
    let text = platform_toml::to_string(&connected)?;
    let head = comments(learnt, sources);
    files.write(&target.join("platform.toml"), |out| -> std::io::Result<()> {
        out.write_all(head.as_bytes())?;
        out.write_all(text.as_bytes())
    })?;
    let end = format.extensions().first().copied().unwrap_or("txt");
    let mut document = Document::new(learnt.teach(workflow));
    let from: Vec<String> = sources.iter().map(Source::told).collect();
    let note = format!("times learnt by slackline calibrate from {}", from.join(", "));
    files.write(&target.join(format!("workflow.{end}")), |out| {
        slackline_formats::note::write_workflow(format, &mut document, &note, out)
    })?;
    Ok(())
}

impl Source {
    fn told(&self) -> String {
        format!("{} ({})", printable(&self.run), date(self.began))
    }
}

/// Comments of a platform file: the samples behind its figures.
fn comments(learnt: &Learnt, sources: &[Source]) -> String {
    let mut text = String::new();
    for source in sources {
        text.push_str(&format!("# Learnt by slackline calibrate from {}\n", source.told()));
    }
    for host in &learnt.hosts {
        let (name, level) = (printable(&host.host), &host.level);
        text.push_str(&format!(
            "# {name}: level {:.3}, {} samples, deviation {:.3}\n",
            level.median, level.samples, level.deviation
        ));
    }
    for way in &learnt.connections {
        let latency =
            way.latency.map_or(String::new(), |s| format!(", latency {}", fmt_seconds(s)));
        text.push_str(&format!(
            "# {}: {}{latency}, {} samples, error {:.1} %\n",
            ends(way),
            fmt_rate(way.bandwidth.median),
            way.bandwidth.samples,
            100.0 * way.error
        ));
    }
    text
}

/// Both ends of a connection as text.
pub fn ends(way: &Connection) -> String {
    format!("{} to {}", printable(&way.from), printable(&way.to))
}

/// A moment, given in seconds since 1970, by the calendar.
fn date(seconds: f64) -> String {
    let minutes = (seconds / 60.0).floor() as i64;
    // Years begin in March here: the odd day is the last.
    let days = minutes.div_euclid(24 * 60) + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = (era * 400 + year + month / 10, (month + 2) % 12 + 1);
    let minute = minutes.rem_euclid(24 * 60);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", minute / 60, minute % 60)
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn moments_stand_in_the_calendar() {
        assert_eq!(date(0.0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_399.0), "2000-02-28 23:59 UTC");
        assert_eq!(date(951_782_400.0), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_794_796_524.0), "2026-11-16 02:35 UTC");
    }
}
