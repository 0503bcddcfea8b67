//! Decisions of a real run. The value from the deciding task is read once and logged; afterwards, also in a replay, the
//! log alone decides.

use crate::folder::{RunFolder, RunLog};
use serde_json::Value as Json;
use slackline_engine::{Chose, Ended, Oracle, Record};
use slackline_model::control::{Control, Decision, Reads, Value};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// Largest output from which a value is read, in bytes.
const MOST_BYTES: u64 = 1 << 20;
/// Most characters of a value in a message.
const MOST_SHOWN: usize = 200;

/// Source of decisions that are not in the log yet; they are appended to it.
pub struct DecisionSource {
    /// The log: a decision is durable in it before anything follows from the decision.
    pub log: Arc<RunLog>,
    /// The folder with the outputs.
    pub folder: Arc<RunFolder>,
    /// Names of the hosts.
    pub hosts: Vec<String>,
}

/// The `Oracle` of a real run: outcomes of decisions as the log or the deciding tasks have them.
pub struct LoggedOracle {
    /// Decisions of the log that have not been used yet.
    recorded: VecDeque<Chose>,
    source: Option<DecisionSource>,
    warnings: Rc<RefCell<Vec<String>>>,
    /// A decision was needed that neither has.
    open: Rc<Cell<bool>>,
}

impl LoggedOracle {
    /// Decides by the log and, with a source, by outputs of tasks where the log ends.
    pub fn new(records: &[(f64, Record)], source: Option<DecisionSource>) -> LoggedOracle {
        let chose = |(_, record): &(f64, Record)| match record {
            Record::Chose(chose) => Some(chose.clone()),
            _ => None,
        };
        let recorded = records.iter().filter_map(chose).collect();
        LoggedOracle { recorded, source, warnings: Rc::default(), open: Rc::default() }
    }

    /// Warnings for the user; filled while the run is under way.
    pub fn warnings(&self) -> Rc<RefCell<Vec<String>>> {
        Rc::clone(&self.warnings)
    }

    /// Whether a decision was needed that is not in the log.
    pub fn is_open(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.open)
    }
}

impl Oracle for LoggedOracle {
    fn outcome(
        &mut self,
        now: f64,
        control: &Control,
        decision: &Decision,
        by: Option<&Ended>,
    ) -> Result<Option<u32>, String> {
        let chose = match (self.recorded.pop_front(), &self.source) {
            (Some(chose), _) if chose.decision == decision.name => chose,
            (Some(chose), _) => {
                return Err(format!(
                    "the log has decision '{}' where '{}' is due",
                    chose.decision, decision.name
                ));
            }
            (None, None) => {
                self.open.set(true);
                return Ok(None);
            }
            (None, Some(source)) => {
                let path = |by: &Ended, file: &str| {
                    let host = source.hosts.get(by.place.index()).map_or("", String::as_str);
                    source.folder.store(host).join(file)
                };
                let chose = read_outcome(control, decision, by, &path);
                let kept = source.log.append(now, &Record::Chose(chose.clone()));
                let kept = kept.and_then(|()| source.log.settle());
                kept.map_err(|why| format!("the log of the run cannot be kept: {why}"))?;
                chose
            }
        };
        let Some(outcome) = &chose.outcome else {
            return Err(chose.why.unwrap_or_else(|| format!("decision '{}'", decision.name)));
        };
        self.warnings.borrow_mut().extend(chose.why);
        control.outcome_named(decision, outcome).map(Some).map_err(|e| e.to_string())
    }
}

/// Result of a decision, from the exit code or an output of the task that decides it; `path` is where an output is.
pub fn read_outcome(
    control: &Control,
    decision: &Decision,
    by: Option<&Ended>,
    path: &dyn Fn(&Ended, &str) -> PathBuf,
) -> Chose {
    let name = |outcome| Some(control.outcome_name(decision, outcome).to_string());
    let chose = Chose { decision: decision.name.clone(), value: None, outcome: None, why: None };
    if control.read_by(decision).is_none()
        && let Some(outcome) = control.certain_outcome(decision)
    {
        return Chose { outcome: name(outcome), ..chose };
    }
    let (read, found) = match value(control, decision, by, path) {
        Ok((json, place)) => {
            let value = model_value(&json);
            let found = value.as_ref().and_then(|v| control.outcome_of(decision, v));
            let known = control.values_of(decision);
            let known = if known.is_empty() { String::new() } else { format!(": {known}") };
            let why = match value {
                Some(_) => {
                    format!("{} from {place}, for which it has no outcome{known}", brief(&json))
                }
                None => format!(
                    "{} from {place}: a string, a number, true or false is expected{known}",
                    short(&json)
                ),
            };
            (Some(json), found.ok_or(why))
        }
        Err(why) => (None, Err(why)),
    };
    // Lists and objects cannot decide and may be large: they are not logged.
    let value = read.map(|json| if model_value(&json).is_some() { json } else { Json::Null });
    let chose = Chose { value, ..chose };
    match (control.last_pass(decision), found) {
        (Some(most), Ok(1..)) => {
            let why = format!(
                "decision '{}' asks for another pass, but `iterations` allows {most}: the loop ends",
                decision.name
            );
            Chose { outcome: name(0), why: Some(why), ..chose }
        }
        (_, Ok(outcome)) => Chose { outcome: name(outcome), ..chose },
        (_, Err(why)) => {
            let why = format!("decision '{}' reads {why}", decision.name);
            Chose { why: Some(why), ..chose }
        }
    }
}

/// Value of a decision, and where it was read.
fn value(
    control: &Control,
    decision: &Decision,
    by: Option<&Ended>,
    path: &dyn Fn(&Ended, &str) -> PathBuf,
) -> Result<(Json, String), String> {
    let (Some((_, reads)), Some(by)) = (control.read_by(decision), by) else {
        return Err("nothing: no task that decides it has ended".to_string());
    };
    match reads {
        Reads::ExitCode => {
            let place = format!("the exit code of '{}'", by.name);
            let code = by.exit_code.ok_or_else(|| format!("nothing from {place}: it has none"))?;
            Ok((Json::from(code), place))
        }
        Reads::Output { file, at } => {
            let place = format!("'{file}' of '{}', at '{at}'", by.name);
            let nothing = |why: String| format!("nothing from {place}: {why}");
            let stored = by.outputs.get(file).map_or(file, |stored| stored);
            let path = path(by, stored);
            let text = beginning(&path).map_err(|e| nothing(format!("{}: {e}", path.display())))?;
            let text = text.ok_or_else(|| nothing("it is larger than 1 MiB".to_string()))?;
            let json: Json = serde_json::from_slice(&text)
                .map_err(|e| nothing(format!("it is no JSON: {e}")))?;
            let found = json.pointer(at).cloned();
            Ok((found.ok_or_else(|| nothing("there is nothing at that place".to_string()))?, place))
        }
    }
}

/// The bytes of a file; none if there are more than [`MOST_BYTES`].
fn beginning(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= MOST_BYTES).then_some(bytes))
}

/// A JSON scalar as a value that can decide; none for null, lists and objects.
fn model_value(json: &Json) -> Option<Value> {
    match json {
        Json::String(text) => Some(Value::Text(text.clone())),
        Json::Number(number) => number.as_f64().map(Value::Number),
        Json::Bool(truth) => Some(Value::Truth(*truth)),
        _ => None,
    }
}

/// A value as text, shortened to [`MOST_SHOWN`] characters.
fn brief(json: &Json) -> String {
    let text = json.to_string();
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text,
    }
}

/// Description of a value that cannot decide.
fn short(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Array(_) => "a list",
        _ => "an object",
    }
}
