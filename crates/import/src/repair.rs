//! Repair of contradictions that may occur in records of any engine, with counts by name.

use crate::engines::Engine;
use crate::record::{Figure, Origin, Outcome, RecordedRun, value};
use slackline_io::{FormatError, Result};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

pub(crate) fn repair(run: &mut RecordedRun) -> Result<()> {
    if run.tasks.is_empty() {
        return Err(FormatError::new(format!("the records of {} hold no task", run.engine)));
    }
    if run.hosts.is_empty() {
        let host = run.host("unknown");
        for attempt in run.tasks.iter_mut().flat_map(|task| &mut task.attempts) {
            attempt.host = Some(host);
        }
        run.notes.push("the records name no host: one stands for all".to_string());
    }
    names(run);
    dates(run);
    threads(run);
    files(run);
    edges(run)
}

/// Names with the characters that WfFormat allows, all different.
fn names(run: &mut RecordedRun) {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"_.#:/-".contains(&b);
    let clean = |name: &mut String| {
        if name.is_empty() {
            name.push('_');
        } else if !name.bytes().all(allowed) {
            let allowed = |c: char| u8::try_from(c).is_ok_and(allowed);
            *name = name.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
        }
    };
    run.tasks.iter_mut().for_each(|task| clean(&mut task.name));
    for (index, name) in renamed(run.tasks.len(), |index| &run.tasks[index].name) {
        run.tasks[index].name = name;
    }
    run.files.iter_mut().for_each(|file| clean(&mut file.name));
    for (index, name) in renamed(run.files.len(), |index| &run.files[index].name) {
        run.files[index].name = name;
    }
    run.file_ids.clear();
}

/// Numbered names in place of those that occur again.
fn renamed<'n>(count: usize, name: impl Fn(usize) -> &'n str) -> Vec<(usize, String)> {
    let again = repeated(count, &name);
    if again.is_empty() {
        return Vec::new();
    }
    let mut taken: HashSet<String> = (0..count).map(|index| name(index).to_string()).collect();
    let mut last: HashMap<&str, usize> = HashMap::new();
    let mut renamed = Vec::with_capacity(again.len());
    for index in again {
        let number = last.entry(name(index)).or_insert(1);
        loop {
            *number += 1;
            let numbered = format!("{}#{number}", name(index));
            if taken.insert(numbered.clone()) {
                renamed.push((index, numbered));
                break;
            }
        }
    }
    renamed
}

/// The positions of names that occurred before, in order: an open table of positions, which takes a quarter of the
/// memory of a set.
fn repeated<'n>(count: usize, name: &impl Fn(usize) -> &'n str) -> Vec<usize> {
    const FREE: u32 = u32::MAX;
    let places = (2 * count).next_power_of_two().max(2);
    let mut table = vec![FREE; places];
    let hasher = RandomState::new();
    let mut again = Vec::new();
    for index in 0..count {
        let mut place = hasher.hash_one(name(index)) as usize & (places - 1);
        loop {
            match table[place] {
                FREE => {
                    table[place] = index as u32;
                    break;
                }
                known if name(known as usize) == name(index) => {
                    again.push(index);
                    break;
                }
                _ => place = (place + 1) & (places - 1),
            }
        }
    }
    again
}

/// Ends before starts, starts before submissions, attempts out of order.
fn dates(run: &mut RecordedRun) {
    let (mut backwards, mut early, mut undated) = (0, 0, 0);
    // A listing without any dates does not say that its tasks have not ended.
    let is_dated = run.first_date().is_some();
    for task in &mut run.tasks {
        for attempt in &mut task.attempts {
            if let (Some(start), Some(end)) = (attempt.start, attempt.end)
                && end.value < start.value
            {
                // A clock was set back, or dates of two clocks: how long it took is not known.
                attempt.end = Some(Figure { value: start.value, origin: Origin::Assumed });
                backwards += 1;
            }
            if let (Some(submitted), Some(start)) = (attempt.submitted, attempt.start)
                && start.value < submitted.value
            {
                attempt.submitted = Some(Figure { value: start.value, origin: Origin::Assumed });
                early += usize::from(submitted.value - start.value > 1e-3);
            }
            if attempt.end.is_none()
                && attempt.start.is_none()
                && attempt.outcome == Outcome::Completed
                && is_dated
            {
                attempt.outcome = Outcome::Open;
                undated += 1;
            }
        }
        task.attempts.sort_by(|a, b| {
            let date = |figure: Option<Figure>| value(figure).unwrap_or(f64::MAX);
            date(a.start.or(a.submitted)).total_cmp(&date(b.start.or(b.submitted)))
        });
    }
    run.repaired_times("end before start: counted as no time", backwards);
    run.repaired_times("start before submission: submitted when it started", early);
    run.repaired_times("completed without dates: counts as not ended", undated);
    let before = run.transfers.len();
    run.transfers.retain(|t| t.end >= t.start);
    run.repaired_times(
        "transfer that ends before it starts left out",
        before - run.transfers.len(),
    );
}

/// Computations that overlap on one thread: dates of two clocks, or taken around the measurement.
fn threads(run: &mut RecordedRun) {
    // Only Dask names threads; slots of other engines are groups of workers.
    if run.engine != Engine::Dask {
        return;
    }
    let mut of_thread: BTreeMap<(usize, String), Vec<(usize, usize)>> = BTreeMap::new();
    for (index, task) in run.tasks.iter().enumerate() {
        for (number, attempt) in task.attempts.iter().enumerate() {
            if let (Some(host), Some(slot), Some(_), Some(_)) =
                (attempt.host, &attempt.slot, attempt.start, attempt.end)
            {
                of_thread.entry((host, slot.clone())).or_default().push((index, number));
            }
        }
    }
    let mut overlaps = 0;
    for attempts in of_thread.values_mut() {
        let date = |run: &RecordedRun, (index, number): (usize, usize)| {
            let attempt = &run.tasks[index].attempts[number];
            (value(attempt.start).unwrap_or(0.0), value(attempt.end).unwrap_or(0.0))
        };
        attempts.sort_by(|&a, &b| {
            let (a, b) = (date(run, a), date(run, b));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        let mut free = f64::NEG_INFINITY;
        for &(index, number) in attempts.iter() {
            let (start, end) = date(run, (index, number));
            if start < free {
                let attempt = &mut run.tasks[index].attempts[number];
                attempt.start = Figure::derived(free.min(end));
                overlaps += 1;
            }
            free = free.max(end);
        }
    }
    run.repaired_times("overlap on one thread: started when the one before ended", overlaps);
}

/// Files with several producers, files read twice or by their own producer, negative sizes.
fn files(run: &mut RecordedRun) {
    let mut made = vec![false; run.files.len()];
    let mut several = 0;
    for task in &mut run.tasks {
        let mut own = BTreeSet::new();
        task.outputs.retain(|&file| own.insert(file));
        task.outputs.retain(|&file| {
            several += usize::from(made[file]);
            !std::mem::replace(&mut made[file], true)
        });
        let mut seen = BTreeSet::new();
        task.inputs.retain(|file| seen.insert(*file) && !own.contains(file));
        task.after.sort_by_key(|after| after.0);
        task.after.dedup_by_key(|after| after.0);
    }
    run.repaired_times("file of several producers: the first counts", several);
    let mut negative = 0;
    for file in &mut run.files {
        if file.bytes.is_some_and(|b| b.value < 0.0) {
            file.bytes = None;
            negative += 1;
        }
    }
    run.repaired_times("negative size taken for unknown", negative);
}

/// Dependencies against the order of time close cycles: those that are assumed go first, then those whose
/// child had ended before its parent began.
fn edges(run: &mut RecordedRun) -> Result<()> {
    if !run.has_edges() || is_acyclic(&run.parents()) {
        return Ok(());
    }
    let span = |run: &RecordedRun, task: usize| {
        let last = run.tasks[task].last();
        (last.and_then(|a| value(a.start)), last.and_then(|a| value(a.end)))
    };
    let contradicts = |run: &RecordedRun, parent: usize, child: usize| {
        let (began, ended) = (span(run, parent).0, span(run, child).1);
        began.zip(ended).is_some_and(|(began, ended)| ended <= began)
    };
    let mut dropped = 0;
    for child in 0..run.tasks.len() {
        let kept = run.tasks[child].after.clone();
        let kept: Vec<_> =
            kept.into_iter().filter(|(parent, _)| !contradicts(run, *parent, child)).collect();
        dropped += run.tasks[child].after.len() - kept.len();
        run.tasks[child].after = kept;
    }
    if !is_acyclic(&run.parents()) {
        let producers = run.producers();
        for child in 0..run.tasks.len() {
            let inputs = run.tasks[child].inputs.clone();
            let kept: Vec<usize> = inputs
                .into_iter()
                .filter(|&file| {
                    producers[file].is_none_or(|parent| !contradicts(run, parent, child))
                })
                .collect();
            dropped += run.tasks[child].inputs.len() - kept.len();
            run.tasks[child].inputs = kept;
        }
    }
    run.repaired_times("dependency against the order of time left out", dropped);
    let parents = run.parents();
    if is_acyclic(&parents) {
        return Ok(());
    }
    let on_cycle = cycle(&parents).map(|task| format!("'{}'", run.tasks[task].name));
    Err(FormatError::new(format!(
        "tasks wait for each other in a circle, {} among them",
        on_cycle.unwrap_or_default()
    ))
    .with_help("are these the records of two runs?"))
}

/// A task that is part of, or behind, a circle.
fn cycle(parents: &[Vec<usize>]) -> Option<usize> {
    let mut missing: Vec<usize> = parents.iter().map(Vec::len).collect();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); parents.len()];
    for (child, of_task) in parents.iter().enumerate() {
        of_task.iter().for_each(|&parent| children[parent].push(child));
    }
    let mut ready: Vec<usize> = (0..parents.len()).filter(|&t| missing[t] == 0).collect();
    while let Some(task) = ready.pop() {
        for &child in &children[task] {
            missing[child] -= 1;
            if missing[child] == 0 {
                ready.push(child);
            }
        }
    }
    missing.iter().position(|&n| n > 0)
}

fn is_acyclic(parents: &[Vec<usize>]) -> bool {
    cycle(parents).is_none()
}
