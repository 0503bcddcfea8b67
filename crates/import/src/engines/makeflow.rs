//! Makeflow: the workflow file, its transaction log, the summaries of the resource monitor.

use super::{json, unique};
use crate::engines::Engine;
use crate::record::{Attempt, Figure, Outcome, RecordedRun, TaskRecord, value};
use crate::sources::{Artefact, Found};
use serde_json::Value;
use slackline_io::{FileAccess, FormatError, Result};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// A rule of a makeflow.
#[derive(Debug, Default)]
struct Rule {
    targets: Vec<String>,
    sources: Vec<String>,
    command: String,
    category: String,
    cores: Option<f64>,
    /// In MB.
    memory: Option<f64>,
}

pub(crate) fn read(found: &Found, files: &FileAccess) -> Result<RecordedRun> {
    let mut run = RecordedRun::of(Engine::Makeflow);
    let Some(log) = found.one(Artefact::MakeflowLog, "logs")? else {
        return Err(FormatError::new("a makeflow without a log tells no times"));
    };
    let rules = match found.one(Artefact::MakeflowFile, "makeflows")? {
        Some(path) => parse_rules(&files.read_text(path)?).map_err(|e| e.in_file(path))?,
        None => rules_of_log(&files.read_text(log)?),
    };
    if rules.is_empty() {
        run.notes.push("no makeflow: rules have numbers for names and no edges".to_string());
    }
    let host = run.host("localhost");
    let mut taken = HashMap::new();
    for (number, rule) in rules.into_iter().enumerate() {
        let mut task = TaskRecord {
            kind: if rule.category.is_empty() { program(&rule.command) } else { rule.category },
            cores: rule.cores.and_then(Figure::measured),
            memory: rule.memory.and_then(|mb| Figure::measured(mb * 1e6)),
            ..TaskRecord::default()
        };
        let target = rule.targets.first().cloned().unwrap_or_else(|| number.to_string());
        task.name = unique(&mut taken, format!("{}:{target}", task.kind));
        task.command = Some(rule.command);
        for name in rule.targets {
            let file = run.file(&name);
            task.outputs.push(file);
        }
        for name in rule.sources {
            let file = run.file(&name);
            task.inputs.push(file);
        }
        run.tasks.push(task);
    }
    let has_rules = !run.tasks.is_empty();
    let text = files.read_text(log)?;
    parse_log(&mut run, &text, has_rules, host).map_err(|e| e.in_file(log))?;
    for path in found.all(Artefact::MakeflowSummary) {
        let summary = json(files, path)?;
        if let Some(number) = summary_number(path) {
            apply_summary(&mut run, number, &summary);
        }
    }
    Ok(run)
}

fn program(command: &str) -> String {
    let word = command.split_whitespace().next().unwrap_or("rule");
    word.rsplit('/').next().unwrap_or(word).to_string()
}

/// `resource-rule-3.summary` is of rule 3.
fn summary_number(path: &Path) -> Option<usize> {
    let name = path.file_name()?.to_str()?;
    name.strip_prefix("resource-rule-")?.strip_suffix(".summary")?.parse().ok()
}

fn apply_summary(run: &mut RecordedRun, number: usize, summary: &Value) {
    let amount = |key: &str| summary[key][0].as_f64().filter(|v| *v > 0.0);
    let machine = summary["host"].as_str().map(str::to_string);
    let cores = amount("machine_cpus");
    // The monitor names the machine: the only one is known by it.
    if let Some(name) = machine {
        if run.hosts.len() == 1 && run.hosts[0].name == "localhost" {
            run.host_ids.clear();
            run.host_ids.insert(name.clone(), 0);
            run.hosts[0].name = name.clone();
        }
        let host = run.host(&name);
        run.hosts[host].cores = cores.and_then(Figure::measured);
        if let Some(attempt) = run.tasks.get_mut(number).and_then(|t| t.attempts.last_mut()) {
            attempt.host = Some(host);
        }
    }
    let Some(attempt) = run.tasks.get_mut(number).and_then(|t| t.attempts.last_mut()) else {
        return;
    };
    let mb = |key: &str| amount(key).and_then(|v| Figure::measured(v * 1024.0 * 1024.0));
    attempt.peak_memory = mb("memory");
    attempt.cpu = amount("cpu_time").and_then(Figure::measured);
    attempt.read = mb("bytes_read");
    attempt.written = mb("bytes_written");
    attempt.exit = summary["exit_status"].as_i64();
}

/// Rules: `targets: sources`, then a command behind a tab; variables; categories.
fn parse_rules(text: &str) -> Result<Vec<Rule>> {
    let mut rules: Vec<Rule> = Vec::new();
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    let mut category = String::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let mut line = line.to_string();
        while line.ends_with('\\') {
            line.pop();
            match lines.next() {
                Some((_, more)) => line.push_str(more),
                None => break,
            }
        }
        let fail = |message: &str| FormatError::at(index + 1, 1, message);
        if line.starts_with('\t') || (line.starts_with(' ') && !line.trim().is_empty()) {
            let number = |name: &str| variables.get(name).and_then(|v| v.parse::<f64>().ok());
            let (cores, memory) = (number("CORES"), number("MEMORY"));
            let rule = rules.last_mut().filter(|r| r.command.is_empty());
            let rule = rule.ok_or_else(|| fail("a command without a rule"))?;
            rule.command = expand(line.trim(), &variables);
            (rule.cores, rule.memory) = (cores, memory);
            continue;
        }
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix(".MAKEFLOW CATEGORY") {
            category = name.trim().trim_matches('"').to_string();
            continue;
        }
        if line.starts_with(".MAKEFLOW") || line.starts_with("export ") {
            continue;
        }
        let assigned = line.split_once('=').filter(|(name, _)| {
            let name = name.trim_end_matches('+').trim();
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        });
        if let Some((name, value)) = assigned {
            let value = expand(value.trim().trim_matches('"'), &variables);
            let name = name.trim();
            match name.strip_suffix('+') {
                Some(name) => {
                    let known = variables.entry(name.trim().to_string()).or_default();
                    *known = format!("{known} {value}").trim().to_string();
                }
                None if name == "CATEGORY" => category = value,
                None => drop(variables.insert(name.to_string(), value)),
            }
            continue;
        }
        let Some((targets, sources)) = line.split_once(':') else {
            return Err(fail("neither a rule, a command nor a variable"));
        };
        let words = |text: &str| -> Vec<String> {
            let expanded = expand(text, &variables);
            // `local->remote` renames for the job.
            expanded
                .split_whitespace()
                .map(|w| w.split("->").next().unwrap_or(w).to_string())
                .collect()
        };
        let (targets, sources) = (words(targets), words(sources));
        if targets.is_empty() {
            return Err(fail("a rule without a target"));
        }
        rules.push(Rule { targets, sources, category: category.clone(), ..Rule::default() });
    }
    Ok(rules)
}

/// Rules as a verbose log repeats them (`makeflow --log-verbose`); none where they are not all there.
fn rules_of_log(text: &str) -> Vec<Rule> {
    let mut rules: BTreeMap<usize, Rule> = BTreeMap::new();
    for line in text.lines() {
        let Some(rest) = line.strip_prefix("# ") else { continue };
        let mut fields = rest.split('\t');
        let (Some(word), Some(Ok(number))) = (fields.next(), fields.next().map(str::parse)) else {
            continue;
        };
        if word == "NODE" {
            rules.entry(number).or_default();
        }
        let Some(rule) = rules.get_mut(&number) else { continue };
        let names = fields.filter(|name| !name.is_empty());
        match word {
            "CATEGORY" => rule.category = names.collect::<String>().trim_matches('"').to_string(),
            "SOURCES" => rule.sources = names.map(str::to_string).collect(),
            "TARGETS" => rule.targets = names.map(str::to_string).collect(),
            "COMMAND" => rule.command = names.collect::<Vec<_>>().join("\t"),
            _ => {}
        }
    }
    let is_whole = rules.keys().copied().eq(0..rules.len());
    if is_whole { rules.into_values().collect() } else { Vec::new() }
}

/// Puts values in for `$NAME` and `$(NAME)`; others stay.
fn expand(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        result.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let (name, tail) = match after.strip_prefix('(').and_then(|a| a.split_once(')')) {
            Some((name, tail)) => (name, tail),
            None => {
                let end = after
                    .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                    .unwrap_or(after.len());
                after.split_at(end)
            }
        };
        match variables.get(name) {
            Some(value) if !name.is_empty() => {
                result.push_str(value);
                rest = tail;
            }
            _ => {
                result.push('$');
                rest = after;
            }
        }
    }
    result.push_str(rest);
    result
}

/// Lines `time rule state pid …` in microseconds and `# FILE time name state size`.
fn parse_log(run: &mut RecordedRun, text: &str, has_rules: bool, host: usize) -> Result<()> {
    let micro = |text: &str| text.parse::<u64>().ok().map(|us| us as f64 / 1e6);
    let mut sizes: HashMap<&str, f64> = HashMap::new();
    let mut most = 0;
    for (index, line) in text.lines().enumerate() {
        let fail = |message: String| FormatError::at(index + 1, 1, message);
        let mut words = line.split_ascii_whitespace();
        let Some(first) = words.next() else { continue };
        if first == "#" {
            match words.next() {
                Some("FILE") => {
                    let (_, name, state, size) =
                        (words.next(), words.next(), words.next(), words.next());
                    // State 2: it exists; its size is that of the moment.
                    if let (Some(name), Some("2"), Some(Ok(bytes))) =
                        (name, state, size.map(str::parse::<f64>))
                    {
                        sizes.insert(name, bytes);
                    }
                }
                Some("STARTED") => {
                    if run.began.is_some() {
                        run.repaired("run continued: a second start in the log");
                    }
                    run.began =
                        run.began.or(words.next().and_then(micro).and_then(Figure::measured));
                }
                Some("COMPLETED" | "FAILED" | "ABORTED") => {
                    run.ended = words.next().and_then(micro).and_then(Figure::measured);
                }
                _ => {}
            }
            continue;
        }
        let (Some(at), Some(rule), Some(state)) = (micro(first), words.next(), words.next()) else {
            run.repaired("cut-off or unknown line of the log left out");
            continue;
        };
        let rule: usize =
            rule.parse().map_err(|_| fail(format!("'{rule}' is no number of a rule")))?;
        if rule > 10_000_000 {
            return Err(fail(format!("rule {rule}: no makeflow has that many")));
        }
        if rule >= run.tasks.len() {
            if has_rules {
                return Err(fail(format!(
                    "rule {rule} is not in the makeflow, which has {}",
                    run.tasks.len()
                )));
            }
            while run.tasks.len() <= rule {
                let name = format!("rule-{}", run.tasks.len());
                run.tasks.push(TaskRecord {
                    name,
                    kind: "rule".to_string(),
                    ..TaskRecord::default()
                });
            }
        }
        most = most.max(rule);
        let task = &mut run.tasks[rule];
        let outcome = match state {
            "0" => continue,
            "1" => {
                task.attempts.push(Attempt {
                    start: Figure::measured(at),
                    host: Some(host),
                    cores: task.cores.or(Figure::assumed(1.0)),
                    outcome: Outcome::Open,
                    ..Attempt::default()
                });
                continue;
            }
            "2" => Outcome::Completed,
            "3" => Outcome::Failed,
            "4" => Outcome::Cancelled,
            other => return Err(fail(format!("unknown state {other}"))),
        };
        if let Some(attempt) = task.attempts.last_mut().filter(|a| a.end.is_none()) {
            attempt.end = Figure::measured(at);
            attempt.outcome = outcome;
        }
    }
    for file in &mut run.files {
        file.bytes = sizes.get(file.name.as_str()).copied().and_then(Figure::measured);
    }
    let open =
        run.tasks.iter().filter(|t| t.attempts.iter().any(|a| value(a.end).is_none())).count();
    run.repaired_times("open task: the log has no end of a rule", open);
    Ok(())
}
