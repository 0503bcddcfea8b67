//! Figures of earlier runs in the place of estimates: what a workflow's run folder has measured of its tasks and files.

use crate::context::Context;
use crate::failure::Failure;
use slackline_machines::folder::{self, Estimates};
use slackline_machines::up_to_date::History;
use slackline_model::median::upper_median;
use slackline_model::units::fmt_bytes;
use slackline_model::{Platform, TaskId, Workflow};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Remark on dates that follow from the estimates of a file alone, without a stated machine.
pub(crate) const RELATIVE: &str =
    "no machine is stated and no run of the workflow is known: times are relative, and no dates";

/// The figures of a folder that concern a workflow; none where nothing of it was measured.
pub(crate) fn of(history: &History, workflow: &Workflow) -> Option<Estimates> {
    if workflow.control().is_some() || workflow.cost_table().is_some() {
        return None;
    }
    let mut found = Estimates::default();
    let mut kinds: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut measured: BTreeMap<&str, f64> = BTreeMap::new();
    let mut sizes: BTreeMap<&str, f64> = BTreeMap::new();
    let mut peaks: BTreeMap<&str, u64> = BTreeMap::new();
    let mut kind_peaks: BTreeMap<&str, u64> = BTreeMap::new();
    for made in history.last() {
        if let Some(seconds) = made.seconds {
            measured.insert(&made.name, seconds);
            if !made.kind.is_empty() {
                kinds.entry(&made.kind).or_default().push(seconds);
            }
        }
        if let Some(peak) = made.peak {
            peaks.insert(&made.name, peak);
            if !made.kind.is_empty() {
                let most = kind_peaks.entry(&made.kind).or_default();
                *most = peak.max(*most);
            }
        }
        let files = made.outputs.iter();
        sizes.extend(files.map(|file| (file.name.as_str(), file.bytes as f64)));
    }
    let mut wanted = BTreeSet::new();
    for task in workflow.tasks() {
        let name = workflow.task_name(task);
        if let Some(seconds) = measured.get(name) {
            found.tasks.insert(name.to_string(), *seconds);
        } else {
            wanted.insert(workflow.kind_name(workflow.kind(task)));
        }
        match peaks.get(name) {
            Some(peak) => drop(found.peaks.insert(name.to_string(), *peak)),
            None => {
                let kind = workflow.kind_name(workflow.kind(task));
                let known = kind_peaks.get(kind).map(|peak| (kind.to_string(), *peak));
                found.kind_peaks.extend(known);
            }
        }
    }
    for kind in wanted {
        if let Some(median) = kinds.get_mut(kind).and_then(|values| upper_median(values)) {
            found.kinds.insert(kind.to_string(), median);
        }
    }
    for file in workflow.files() {
        let name = workflow.file_name(file);
        if let Some(bytes) = sizes.get(name).filter(|bytes| **bytes != workflow.file_bytes(file)) {
            found.files.insert(name.to_string(), *bytes);
        }
    }
    (!found.tasks.is_empty() || !found.kinds.is_empty()).then_some(found)
}

/// A workflow with the figures of earlier runs.
pub(crate) fn apply(estimates: &Estimates, workflow: Workflow) -> Result<Workflow, Failure> {
    if workflow.control().is_some() || workflow.cost_table().is_some() {
        return Ok(workflow);
    }
    let mut workflow = workflow;
    if !estimates.files.is_empty() {
        let mut builder = workflow.reopen().map_err(Failure::input)?;
        for (name, bytes) in &estimates.files {
            if let Some(file) = builder.file_id(name) {
                builder.set_file_bytes(file, *bytes).map_err(Failure::input)?;
            }
        }
        workflow = builder.build().map_err(Failure::input)?;
    }
    let speed = workflow.reference_speed();
    Ok(workflow.with_work(speed, |w, task| {
        let own = estimates.tasks.get(w.task_name(task));
        let seconds = own.or_else(|| estimates.kinds.get(w.kind_name(w.kind(task))));
        seconds.map_or(w.work(task), |seconds| seconds * speed)
    }))
}

/// Warns of what the measured peaks of memory say: that tasks use more than they declare, and that those that declare
/// nothing could use more than their host has where they run together. What is declared stays, and what is not declared
/// is no demand: nothing is placed or ended by an earlier run.
pub(crate) fn warn_of_memory(
    estimates: &Estimates,
    (workflow, platform): (&Workflow, &Platform),
    context: &mut Context<'_>,
) {
    memory_warnings(estimates, workflow, platform).iter().for_each(|text| context.warning(text));
}

fn memory_warnings(estimates: &Estimates, workflow: &Workflow, platform: &Platform) -> Vec<String> {
    let mut warnings = Vec::new();
    let measured = |task: TaskId| {
        let own = estimates.peaks.get(workflow.task_name(task));
        let of_kind = || estimates.kind_peaks.get(workflow.kind_name(workflow.kind(task)));
        own.or_else(of_kind).map(|peak| *peak as f64)
    };
    let whose = |task: TaskId| match workflow.kind_name(workflow.kind(task)) {
        "" => format!("task '{}'", workflow.task_name(task)),
        kind => format!("tasks of kind '{kind}'"),
    };
    // By whose they are: the most that was measured, and what the same task declares.
    let mut exceeded: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    // Cores and bytes of a task, and whether the bytes were measured.
    let mut needs: Vec<(u32, f64, Option<TaskId>)> = Vec::new();
    for task in workflow.tasks() {
        let width = workflow.width(task).0.max(1);
        let declared = workflow.memory_at(task, width);
        match measured(task) {
            Some(peak) if declared > 0.0 && peak > declared => {
                let most = exceeded.entry(whose(task)).or_default();
                *most = if peak > most.0 { (peak, declared) } else { *most };
            }
            Some(peak) if declared == 0.0 => {
                needs.push((width, peak, Some(task)));
                continue;
            }
            _ => {}
        }
        needs.push((width, declared, None));
    }
    for (whose, (peak, declared)) in exceeded {
        let (peak, declared) = (fmt_bytes(peak), fmt_bytes(declared));
        warnings.push(format!("{whose} used up to {peak} of memory, against {declared} declared"));
    }
    // Those that need most for each of their cores, as many as a host has cores for.
    needs.sort_by(|a, b| (b.1 * f64::from(a.0)).total_cmp(&(a.1 * f64::from(b.0))));
    let mut worst: Option<(f64, String)> = None;
    for host in platform.hosts() {
        let Some(has) = host.memory else { continue };
        let (mut cores, mut bytes, mut most, mut count) = (host.cores, 0.0, None, 0);
        for &(width, own, task) in &needs {
            if width <= cores && own > 0.0 {
                cores -= width;
                bytes += own;
                count += 1;
                most = most.or(task.map(|task| (task, own)));
            }
        }
        let Some((task, own)) = most.filter(|_| bytes > has) else { continue };
        if worst.as_ref().is_none_or(|(ratio, _)| bytes / has > *ratio) {
            let together = if count == 1 { "it alone" } else { "those that may run together" };
            let text = format!(
                "{} used up to {} of memory without a declared demand: {together} could need {} of the {} of '{}' \
                 (plans keep to what `memory` of a task says)",
                whose(task),
                fmt_bytes(own),
                fmt_bytes(bytes),
                fmt_bytes(has),
                host.name
            );
            worst = Some((bytes / has, text));
        }
    }
    warnings.extend(worst.map(|(_, text)| text));
    warnings
}

/// The figures of the run folder beside a workflow, which is said.
pub(crate) fn beside(
    path: &Path,
    workflow: &Workflow,
    context: &mut Context<'_>,
) -> Option<Estimates> {
    let folder = path.with_extension("run");
    let log = folder::log_of(&folder);
    if !log.is_file() {
        return None;
    }
    let found = folder::history(&log).ok().and_then(|history| of(&history, workflow))?;
    context.note(&format!(
        "estimates of {} of {} tasks are times of the runs in {} (--no-history leaves them out)",
        found.tasks.len(),
        workflow.len(),
        folder.display()
    ));
    Some(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a broken fixture is a broken test

    use super::*;
    use slackline_model::platform::{HostSpec, PlatformBuilder, RoutingKind};
    use slackline_model::{Task, WorkflowBuilder};

    #[test]
    fn warnings_name_who_uses_more_than_is_declared_and_than_there_is() {
        let mut b = WorkflowBuilder::new("w");
        for (name, memory) in [("a", 0.0), ("b", 0.0), ("c", 2e9)] {
            b.add_task(Task { memory, ..Task::new(name, 1.0) }).unwrap();
        }
        let workflow = b.build().unwrap();
        let mut builder = PlatformBuilder::new("p");
        let zone = builder.add_zone(None, "z", RoutingKind::Full).unwrap();
        let spec = HostSpec { cores: 2, memory: Some(8e9), ..HostSpec::new("h", 1.0) };
        builder.add_host(zone, spec).unwrap();
        let platform = builder.build().unwrap();
        let warnings = |peaks: &[(&str, u64)]| {
            let peaks = peaks.iter().map(|(name, peak)| (name.to_string(), *peak)).collect();
            memory_warnings(&Estimates { peaks, ..Estimates::default() }, &workflow, &platform)
        };
        assert!(warnings(&[("a", 3_000_000_000), ("c", 1_000_000_000)]).is_empty());
        assert_eq!(
            warnings(&[("c", 3_000_000_000)]),
            ["task 'c' used up to 3 GB of memory, against 2 GB declared"]
        );
        let together = warnings(&[("a", 5_000_000_000), ("b", 4_000_000_000)]);
        assert_eq!(together.len(), 1);
        assert!(together[0].contains("those that may run together could need 9 GB of the 8 GB"));
        let alone = warnings(&[("a", 9_000_000_000)]);
        assert!(alone[0].contains("of the 8 GB of 'h'"), "{alone:?}");
    }
}
