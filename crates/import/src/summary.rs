//! Summary of an import: numbers of measured, derived, assumed and missing values (`import.json`).

use crate::dates;
use crate::record::{Figure, Origin, Outcome, RecordedRun};
use crate::waits::StartUp;
use serde::Serialize;
use std::collections::BTreeMap;

/// Values of one field, by origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Found in the records.
    pub measured: usize,
    /// Computed from other values of the records.
    pub derived: usize,
    /// Filled in by convention.
    pub assumed: usize,
    /// Not known.
    pub missing: usize,
}

impl Counts {
    fn add(&mut self, origin: Option<Origin>) {
        match origin {
            Some(Origin::Measured) => self.measured += 1,
            Some(Origin::Derived) => self.derived += 1,
            Some(Origin::Assumed) => self.assumed += 1,
            None => self.missing += 1,
        }
    }
}

/// The document `import.json`.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// `slackline/import/1`.
    pub schema: &'static str,
    /// The engine.
    pub engine: &'static str,
    /// Its version, where the records contain it.
    pub version: Option<String>,
    /// Name of the workflow.
    pub name: String,
    /// When the run began, RFC 3339.
    pub began: Option<String>,
    /// Seconds from the first date to the last end of a task.
    pub makespan: Option<f64>,
    /// Overheads of the engine, if tasks have dates.
    pub start_up: Option<StartUp>,
    /// Number of tasks.
    pub tasks: usize,
    /// Number of dependencies between tasks.
    pub edges: usize,
    /// Number of attempts.
    pub attempts: usize,
    /// Attempts that ended without a result.
    pub failed_attempts: usize,
    /// Number of files.
    pub files: usize,
    /// Number of hosts.
    pub hosts: usize,
    /// Number of measured transfers.
    pub transfers: usize,
    /// Origins of values, by field.
    pub fields: BTreeMap<&'static str, Counts>,
    /// Repairs by name.
    pub repairs: BTreeMap<String, usize>,
    /// Remarks.
    pub notes: Vec<String>,
}

impl RecordedRun {
    /// Counts what is known of the run.
    pub fn summary(&self) -> Summary {
        // Names of fields, in the order in which their figures are counted below.
        let of_task = ["requested_cores", "requested_memory", "requested_time"];
        let of_attempt = [
            "submitted",
            "start",
            "end",
            "cores",
            "peak_memory",
            "cpu",
            "bytes_read",
            "bytes_written",
        ];
        let mut by_task = [Counts::default(); 3];
        let mut by_attempt = [Counts::default(); 8];
        let add = |counts: &mut [Counts], figures: &[Option<Figure>]| {
            for (count, figure) in counts.iter_mut().zip(figures) {
                count.add(figure.map(|f| f.origin));
            }
        };
        for task in &self.tasks {
            add(&mut by_task, &[task.cores, task.memory, task.time_limit]);
            if task.attempts.is_empty() {
                add(&mut by_attempt[1..3], &[None, None]); // start and end
            }
            for a in &task.attempts {
                let times = [a.submitted, a.start, a.end, a.cores];
                add(&mut by_attempt[..4], &times);
                add(&mut by_attempt[4..], &[a.peak_memory, a.cpu, a.read, a.written]);
            }
        }
        let mut fields: BTreeMap<&'static str, Counts> = of_task.into_iter().zip(by_task).collect();
        if self.tasks.iter().any(|t| !t.attempts.is_empty()) {
            fields.extend(of_attempt.into_iter().zip(by_attempt));
        } else {
            fields.extend([("start", by_attempt[1]), ("end", by_attempt[2])]);
        }
        let mut count = |field: &'static str, figure: Option<Figure>| {
            fields.entry(field).or_default().add(figure.map(|f| f.origin));
        };
        for file in &self.files {
            count("file_size", file.bytes);
        }
        for host in &self.hosts {
            count("host_cores", host.cores);
            count("host_memory", host.memory);
        }
        let producers = self.producers();
        let mut edges = Counts::default();
        let parents = if self.has_edges() { self.parents() } else { Vec::new() };
        for (task, parents) in self.tasks.iter().zip(&parents) {
            for &parent in parents {
                let by_file = task.inputs.iter().any(|&file| producers[file] == Some(parent));
                let stated = task.after.iter().find(|after| after.0 == parent).map(|after| after.1);
                edges.add(if by_file { Some(Origin::Measured) } else { stated });
            }
        }
        fields.insert("edge", edges);
        let attempts = || self.tasks.iter().flat_map(|t| &t.attempts);
        Summary {
            schema: "slackline/import/1",
            engine: self.engine.name(),
            version: self.version.clone(),
            name: self.name.clone(),
            began: self.first_date().map(|date| dates::write(self.zero + date)),
            makespan: self.makespan(),
            start_up: self.start_up(),
            tasks: self.tasks.len(),
            edges: parents.iter().map(Vec::len).sum(),
            attempts: attempts().count(),
            failed_attempts: attempts()
                .filter(|a| !a.outcome.is_success() && a.outcome != Outcome::Open)
                .count(),
            files: self.files.len(),
            hosts: self.hosts.len(),
            transfers: self.transfers.len(),
            fields,
            repairs: self.repairs.clone(),
            notes: self.notes.clone(),
        }
    }
}
