//! Jobs of Slurm's accounting with the columns that the user selected: `sacct --parsable2`, and
//! `sacct --json`. What a listing does not have is unknown; [`super::sacct`] asks for certain columns and refuses
//! other listings.

use super::listing::{Line, Listing, State, is_unknown};
use super::sacct;
use crate::error::{FormatError, Result};
use serde_json::Value;

/// A job or a member of an array; of a job that was requeued, one of its attempts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Job {
    /// Number as users see it: `7`, `2_1`.
    pub id: String,
    /// Name.
    pub name: String,
    /// State; none if it is none that is known.
    pub state: Option<State>,
    /// Submission, in seconds since 1970 as if dates were in UTC.
    pub submit: Option<f64>,
    /// Start.
    pub start: Option<f64>,
    /// End; none without a start.
    pub end: Option<f64>,
    /// Requested cores.
    pub requested_cores: Option<f64>,
    /// Cores it got.
    pub allocated_cores: Option<f64>,
    /// Requested memory of all cores and nodes, in bytes.
    pub memory: Option<f64>,
    /// Requested time, in seconds.
    pub limit: Option<f64>,
    /// List of nodes, such as `n[1-3]`.
    pub nodes: Option<String>,
    /// Command with which it was submitted.
    pub submit_line: Option<String>,
    /// Exit code.
    pub exit: Option<i64>,
    /// Largest resident memory of its steps, in bytes.
    pub peak_memory: Option<f64>,
    /// Processor time, in seconds.
    pub cpu: Option<f64>,
    /// Bytes read by the step that read most.
    pub read: Option<f64>,
    /// Bytes written by the step that wrote most.
    pub written: Option<f64>,
}

/// A listing as jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accounting {
    /// Jobs in order of their lines.
    pub jobs: Vec<Job>,
    /// Lines with a `|` in a value, whose columns were moved back.
    pub mended: usize,
    /// Lines with too few values, left out.
    pub cut_off: usize,
}

/// Reads `sacct --parsable2`; what steps used is their job's.
pub fn parse(text: &str) -> Result<Accounting> {
    let mut lines = text.lines().enumerate();
    let Some((_, header)) = lines.next() else { return Err(FormatError::new("empty")) };
    let listing = Listing::of(header);
    for needed in ["JobID", "State"] {
        if listing.place(needed).is_none() {
            return Err(FormatError::at(1, 1, format!("no column {needed}")));
        }
    }
    let mut accounting = Accounting::default();
    for (index, line) in lines.filter(|(_, l)| !l.is_empty()) {
        let Line { fields, is_mended } = listing.split(line);
        if fields.len() < listing.len() {
            accounting.cut_off += 1;
            continue;
        }
        if fields.len() > listing.len() {
            let message = format!("{} values under {} columns", fields.len(), listing.len());
            return Err(FormatError::at(index + 1, 1, message)
                .with_help("a '|' in a value that is neither JobName nor SubmitLine"));
        }
        accounting.mended += usize::from(is_mended);
        let cell = |name: &str| {
            let value = listing.place(name).map(|place| fields[place].trim())?;
            (!is_unknown(value)).then_some(value)
        };
        let Some(id) = cell("JobID") else {
            return Err(FormatError::at(index + 1, 1, "a job without an id"));
        };
        let used = [cell("MaxRSS"), cell("MaxDiskRead"), cell("MaxDiskWrite")];
        let [memory, read, written] = used.map(|text| text.and_then(amount));
        if let Some((of, _)) = id.split_once('.') {
            if let Some(job) = accounting.jobs.last_mut().filter(|job| job.id == of) {
                most(&mut job.peak_memory, memory);
                most(&mut job.read, read);
                most(&mut job.written, written);
            }
            continue;
        }
        let number = |name: &str| cell(name).and_then(|c| c.parse::<f64>().ok());
        let date = |name: &str| cell(name).and_then(sacct::seconds);
        let start = date("Start");
        let allocated_cores = number("AllocCPUS").or_else(|| number("NCPUS"));
        let requested_cores = number("ReqCPUS").or(allocated_cores);
        accounting.jobs.push(Job {
            id: id.to_string(),
            name: cell("JobName").unwrap_or("job").to_string(),
            state: cell("State").and_then(State::of),
            submit: date("Submit"),
            start,
            end: date("End").filter(|_| start.is_some()),
            requested_cores,
            allocated_cores,
            memory: cell("ReqMem")
                .and_then(|m| requested_memory(m, requested_cores, number("NNodes"))),
            limit: cell("Timelimit").and_then(duration),
            nodes: cell("NodeList").map(str::to_string),
            submit_line: cell("SubmitLine").map(str::to_string),
            exit: cell("ExitCode").and_then(|c| c.split(':').next()?.parse().ok()),
            peak_memory: memory,
            cpu: cell("TotalCPU").and_then(duration).filter(|s| *s > 0.0),
            read,
            written,
        });
    }
    Ok(accounting)
}

fn most(known: &mut Option<f64>, value: Option<f64>) {
    if let Some(value) = value.filter(|v| *v > 0.0 && known.is_none_or(|k| *v > k)) {
        *known = Some(value);
    }
}

/// `3352K`, `0.01M`, `12G`: powers of 1024.
fn amount(text: &str) -> Option<f64> {
    let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let power = match &text[at..] {
        "" => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return None,
    };
    Some(text[..at].parse::<f64>().ok()? * 1024f64.powi(power))
}

/// `100M`; older versions add `c` (per core) or `n` (per node).
fn requested_memory(text: &str, cores: Option<f64>, nodes: Option<f64>) -> Option<f64> {
    if let Some(per_core) = text.strip_suffix('c') {
        return Some(amount(per_core)? * cores.unwrap_or(1.0));
    }
    if let Some(per_node) = text.strip_suffix('n') {
        return Some(amount(per_node)? * nodes.unwrap_or(1.0));
    }
    amount(text)
}

/// Seconds of `[days-]hours:minutes:seconds`, `minutes:seconds` or `minutes`, fractions allowed.
pub fn duration(text: &str) -> Option<f64> {
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (days.parse::<f64>().ok()?, rest),
        None => (0.0, text),
    };
    let parts: Option<Vec<f64>> = rest.split(':').map(|p| p.parse().ok()).collect();
    let seconds = match (parts?.as_slice(), text.contains('-')) {
        ([hours], true) => hours * 3600.0,
        ([hours, minutes], true) => hours * 3600.0 + minutes * 60.0,
        ([minutes], false) => minutes * 60.0,
        ([minutes, seconds], false) => minutes * 60.0 + seconds,
        ([hours, minutes, seconds], _) => hours * 3600.0 + minutes * 60.0 + seconds,
        _ => return None,
    };
    Some(days * 86400.0 + seconds)
}

/// Reads `sacct --json`.
pub fn parse_json(document: &Value) -> Result<Vec<Job>> {
    let records =
        document["jobs"].as_array().ok_or_else(|| FormatError::in_path("jobs", "no list"))?;
    let mut jobs = Vec::with_capacity(records.len());
    // Newer versions write {"set": …, "number": N}.
    let number = |value: &Value| -> Option<f64> {
        match value {
            Value::Object(object) if object.get("set") == Some(&Value::Bool(false)) => None,
            Value::Object(object) => object.get("number")?.as_f64(),
            other => other.as_f64(),
        }
    };
    for (index, record) in records.iter().enumerate() {
        let fail = |key: &str| {
            FormatError::in_path(format!("jobs[{index}].{key}"), "missing or of another type")
        };
        let id = record["job_id"].as_u64().ok_or_else(|| fail("job_id"))?;
        let array = record["array"]["job_id"].as_u64().filter(|&array| array != 0);
        let member = number(&record["array"]["task_id"]);
        let time = &record["time"];
        let date = |key: &str| number(&time[key]).filter(|at| *at > 0.0);
        let state = match &record["state"]["current"] {
            Value::Array(states) => states.first().and_then(Value::as_str),
            state => state.as_str(),
        };
        let cores = number(&record["required"]["CPUs"]).filter(|c| *c > 0.0);
        let memory = number(&record["required"]["memory"]).or_else(|| {
            let per_cpu = number(&record["required"]["memory_per_cpu"])?;
            Some(per_cpu * cores.unwrap_or(1.0))
        });
        let mut peak = None;
        for step in record["steps"].as_array().into_iter().flatten() {
            for used in step["tres"]["requested"]["max"].as_array().into_iter().flatten() {
                if used["type"] == "mem" {
                    most(&mut peak, used["count"].as_f64());
                }
            }
        }
        let cpu = &time["total"];
        let cpu =
            cpu["seconds"].as_f64().zip(cpu["microseconds"].as_f64()).map(|(s, us)| s + us / 1e6);
        let start = date("start");
        let text = |key: &str| record[key].as_str().filter(|t| !is_unknown(t)).map(str::to_string);
        jobs.push(Job {
            id: match (array, member) {
                (Some(array), Some(member)) => format!("{array}_{member}"),
                _ => id.to_string(),
            },
            name: record["name"].as_str().unwrap_or("job").to_string(),
            state: state.and_then(State::of),
            submit: date("submission"),
            start,
            end: date("end").filter(|_| start.is_some()),
            requested_cores: cores,
            allocated_cores: cores,
            memory: memory.filter(|m| *m > 0.0).map(|mb| mb * 1024.0 * 1024.0),
            limit: number(&time["limit"]).map(|minutes| minutes * 60.0),
            nodes: text("nodes"),
            submit_line: text("submit_line"),
            exit: number(&record["exit_code"]["return_code"]).map(|c| c as i64),
            peak_memory: peak,
            cpu: cpu.filter(|s| *s > 0.0),
            read: None,
            written: None,
        });
    }
    Ok(jobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_durations() {
        assert_eq!(amount("3352K"), Some(3352.0 * 1024.0));
        assert_eq!(requested_memory("2Gc", Some(4.0), None), Some(8.0 * 1024f64.powi(3)));
        assert_eq!(duration("1-02:00:00"), Some(93600.0));
        assert_eq!(duration("00:00.003"), Some(0.003));
        assert_eq!(duration("05"), Some(300.0));
        assert_eq!(duration("UNLIMITED"), None);
    }

    #[test]
    fn steps_add_to_their_job() {
        let text = "JobID|State|Start|End|MaxRSS|AllocCPUS\n7|COMPLETED|Unknown|2026-01-01T00:00:09||2\n\
                    7.batch|COMPLETED|||3K|2\n7.0|COMPLETED|||2K|1\n8.0|COMPLETED|||9K|1\n";
        let jobs = parse(text).unwrap().jobs;
        assert_eq!(jobs.len(), 1);
        assert_eq!((jobs[0].state, jobs[0].peak_memory), (Some(State::Completed), Some(3072.0)));
        assert_eq!((jobs[0].start, jobs[0].end), (None, None));
    }
}
