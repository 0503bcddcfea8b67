//! Members of an instance file, for reading.

use super::{FormatError, Result};
use crate::control::IterationsEntry;
use crate::resources::{Entries, Given, GpuCapacity, GpuDemand};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use slackline_model::platform::Billing;
use std::fmt;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default, rename = "meta")]
    _meta: IgnoredAny,
    pub(super) tasks: Vec<TaskEntry>,
    pub(super) edges: Vec<EdgeEntry>,
    #[serde(default)]
    pub(super) choices: Vec<ChoiceEntry>,
    #[serde(default)]
    pub(super) loops: Vec<LoopEntry>,
    pub(super) processors: Vec<ProcessorEntry>,
    pub(super) exec: Option<Vec<Vec<f64>>>,
    pub(super) bandwidth: Table,
    #[serde(default)]
    pub(super) latency: Table,
    pub(super) billing: Option<BillingEntry>,
    #[serde(default)]
    pub(super) hosts: Vec<HostEntry>,
    #[serde(default)]
    pub(super) sites: Vec<SiteEntry>,
    /// Shared by all hosts.
    #[serde(default)]
    pub(super) resources: Entries<Given>,
    /// Bytes that all files together may take.
    pub(super) storage: Option<f64>,
    #[serde(default)]
    pub(super) files: Vec<FileEntry>,
}

/// Capacities that the processors of one host share.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostEntry {
    pub(super) id: Id,
    pub(super) memory: Option<f64>,
    pub(super) gpus: Option<GpuCapacity>,
    #[serde(default)]
    pub(super) resources: Entries<Given>,
    #[serde(default)]
    pub(super) windows: Vec<(f64, f64)>,
    pub(super) storage: Option<f64>,
}

/// Hosts that share something.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SiteEntry {
    pub(super) id: Id,
    pub(super) hosts: Vec<Id>,
    #[serde(default)]
    pub(super) resources: Entries<Given>,
    pub(super) storage: Option<f64>,
}

/// A file by name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileEntry {
    pub(super) id: Id,
    pub(super) size: f64,
    pub(super) from: Option<Id>,
    #[serde(default)]
    pub(super) to: Vec<Id>,
    #[serde(default)]
    pub(super) keep: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskEntry {
    pub(super) id: Id,
    pub(super) cost: Option<f64>,
    pub(super) alpha: Option<f64>,
    pub(super) downey: Option<Downey>,
    pub(super) speedup: Option<Vec<f64>>,
    /// Fewest and most processors; no limit where null.
    pub(super) width: Option<(u32, Option<u32>)>,
    pub(super) memory: Option<f64>,
    pub(super) memory_per_core: Option<f64>,
    pub(super) gpus: Option<GpuDemand>,
    #[serde(default)]
    pub(super) resources: Entries<Given>,
    /// The branch or loop it belongs to.
    #[serde(rename = "in")]
    pub(super) region: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChoiceEntry {
    pub(super) id: Id,
    #[serde(rename = "in")]
    pub(super) region: Option<String>,
    pub(super) by: Option<Id>,
    pub(super) branches: Vec<BranchEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BranchEntry {
    pub(super) id: Id,
    pub(super) probability: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LoopEntry {
    pub(super) id: Id,
    #[serde(rename = "in")]
    pub(super) region: Option<String>,
    pub(super) by: Option<Id>,
    pub(super) iterations: Option<IterationsEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Downey {
    pub(super) parallelism: f64,
    pub(super) sigma: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EdgeEntry {
    pub(super) from: Id,
    pub(super) to: Id,
    #[serde(default)]
    pub(super) data: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProcessorEntry {
    pub(super) id: Id,
    pub(super) speed: Option<f64>,
    pub(super) price: Option<f64>,
    pub(super) cluster: Option<Id>,
    #[serde(default)]
    pub(super) leasable: bool,
    pub(super) billing: Option<BillingEntry>,
    pub(super) host: Option<Id>,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct BillingEntry {
    quantum: f64,
    minimum: f64,
    setup: f64,
}

impl BillingEntry {
    /// Converts to the model's billing; fails for values that the model excludes.
    pub(super) fn billing(self, path: &str) -> Result<Billing> {
        let BillingEntry { quantum, minimum, setup } = self;
        for (name, value) in [("quantum", quantum), ("minimum", minimum), ("setup", setup)] {
            if value < 0.0 {
                let message = format!("{name} cannot be {value}");
                return Err(FormatError::in_path(format!("{path}.{name}"), message));
            }
        }
        Ok(Billing { quantum, minimum, setup })
    }
}

/// Text, or a whole number taken as text.
#[derive(Clone, PartialEq)]
pub(super) struct Id(pub(super) String);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Id, D::Error> {
        struct Words;
        impl Visitor<'_> for Words {
            type Value = Id;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an id (text or a whole number)")
            }
            fn visit_str<E>(self, text: &str) -> std::result::Result<Id, E> {
                Ok(Id(text.to_string()))
            }
            fn visit_u64<E>(self, number: u64) -> std::result::Result<Id, E> {
                Ok(Id(number.to_string()))
            }
            fn visit_i64<E>(self, number: i64) -> std::result::Result<Id, E> {
                Ok(Id(number.to_string()))
            }
        }
        deserializer.deserialize_any(Words)
    }
}

/// A number for every pair of processors, or one for all; `None` where the file has `null`.
pub(super) enum Table {
    One(Option<f64>),
    Matrix(Vec<Vec<Option<f64>>>),
}

impl Default for Table {
    fn default() -> Table {
        Table::One(None)
    }
}

impl<'de> Deserialize<'de> for Table {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Table, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Table;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, null or a matrix")
            }
            fn visit_unit<E>(self) -> std::result::Result<Table, E> {
                Ok(Table::One(None))
            }
            fn visit_f64<E>(self, number: f64) -> std::result::Result<Table, E> {
                Ok(Table::One(Some(number)))
            }
            fn visit_u64<E>(self, number: u64) -> std::result::Result<Table, E> {
                Ok(Table::One(Some(number as f64)))
            }
            fn visit_i64<E>(self, number: i64) -> std::result::Result<Table, E> {
                Ok(Table::One(Some(number as f64)))
            }
            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut rows: A,
            ) -> std::result::Result<Table, A::Error> {
                let mut matrix = Vec::new();
                while let Some(row) = rows.next_element()? {
                    matrix.push(row);
                }
                Ok(Table::Matrix(matrix))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl Table {
    /// One number where the file has one, or the same for all pairs of processors of different hosts.
    pub(super) fn uniform(&self, host_of: &[usize]) -> Option<Option<f64>> {
        let rows = match self {
            Table::One(value) => return Some(*value),
            Table::Matrix(rows) => rows,
        };
        let mut off_diagonal = rows.iter().enumerate().flat_map(|(i, row)| {
            let other = move |&(j, _): &(usize, &Option<f64>)| host_of[i] != host_of[j];
            row.iter().enumerate().filter(other).map(|(_, entry)| *entry)
        });
        let Some(first) = off_diagonal.next() else { return Some(None) };
        off_diagonal.all(|entry| entry == first).then_some(first)
    }

    /// Entry of a pair of different processors.
    pub(super) fn entry(&self, from: usize, to: usize) -> Option<f64> {
        match self {
            Table::One(value) => *value,
            Table::Matrix(rows) => rows[from][to],
        }
    }

    /// Whether it has a row and a column per processor, and no entry that `bad` refuses.
    pub(super) fn check(
        &self,
        what: &str,
        host_of: &[usize],
        bad: impl Fn(f64) -> bool,
    ) -> Result<()> {
        let processors = host_of.len();
        let refuse = |path: String, value: f64| {
            Err(FormatError::in_path(path, format!("{what} cannot be {value}")))
        };
        let rows = match self {
            Table::One(Some(value)) if bad(*value) => return refuse(what.to_string(), *value),
            Table::One(_) => return Ok(()),
            Table::Matrix(rows) => rows,
        };
        check_length(what, rows.len(), processors, "processors")?;
        for (i, row) in rows.iter().enumerate() {
            check_length(&format!("{what}[{i}]"), row.len(), processors, "processors")?;
            for (j, entry) in row.iter().enumerate() {
                match *entry {
                    Some(value) if host_of[i] != host_of[j] && bad(value) => {
                        return refuse(format!("{what}[{i}][{j}]"), value);
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

pub(super) fn check_length(path: &str, found: usize, due: usize, of: &str) -> Result<()> {
    if found == due {
        return Ok(());
    }
    Err(FormatError::in_path(path, format!("{found} entries for {due} {of}")))
}
