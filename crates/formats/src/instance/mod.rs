//! Scheduling instances: a workflow and the processors to plan it on in one JSON file; read and
//! written.
//!
//! ```json
//! {
//!   "name": "two",
//!   "tasks": [{"id": "a", "cost": 6}, {"id": "b", "cost": 4}],
//!   "edges": [{"from": "a", "to": "b", "data": 10}],
//!   "processors": [{"id": "p", "speed": 2}, {"id": "q", "speed": 1}],
//!   "exec": [[3, 6], [2, 5]],
//!   "bandwidth": [[null, 5], [5, null]],
//!   "latency": 0.5
//! }
//! ```
//!
//! A task takes `exec[task][processor]` where that table is given (the workflow then carries it as its cost
//! table, one column per processor), else `cost / speed`. Data take `latency + data / bandwidth` between
//! different processors; a bandwidth of `null` means that they take no time beyond the latency. `bandwidth` and
//! `latency` are matrices from row to column or one number for all pairs; the diagonal is ignored. Numbers have
//! no units: cost is read as flop, speed as flop/s, data as bytes. `cost` may be missing where `exec` is given,
//! `speed` is 1 where it is missing. Ids are text or whole numbers. `meta` may hold anything; other members are
//! refused.
//!
//! Further members of a processor: `price` (money per second of computation), `cluster` (processors of one
//! cluster agree in speed, price, billing and column of `exec`; together they are a class of the platform;
//! in a file with `exec`, prices or clusters, one without a cluster is a class of its own), `leasable` (it
//! exists only while leased), `billing`. The file's `billing: {quantum, minimum, setup}`, in seconds, is the
//! default for processors.
//!
//! A task that may use several processors has `alpha` (serial fraction, Amdahl), `downey: {parallelism, sigma}`
//! or `speedup: [1, 0.6, ...]` (time on 1, 2 ... processors over time on one), and takes any number of them
//! unless it has `width: [least, most]`; `most` may be null.
//!
//! Resources other than cores that concurrent tasks share (amounts as plain numbers, memory in bytes):
//!
//! - A processor's `host` joins it to others of that host: they are its cores, and agree in
//!   everything; entries of the matrices between them are ignored. `hosts` lists the capacities of each:
//!   `{"id", "memory", "gpus": 2 | {"a100": 1}, "resources": {"scratch": 200}, "windows": [[0, 60]], "storage"}`.
//! - `sites`: hosts that share something, `{"id", "hosts": ["h"], "resources", "storage"}`; `resources`
//!   and `storage` of the file are the whole platform's.
//! - A task demands `memory`, `memory_per_core`, `gpus` (`2`, or `{"l4": 1}`) and `resources`.
//! - `files` are files by name, `{"id", "size", "from", "to": ["task"], "keep": true}`: without `from` an
//!   input, without `to` a result; `keep` makes a result of one that is read.
//!
//! Written are the processors of the platform one by one (a core each), with the contention-free
//! network that a planner sees. Lost: kinds, commands, vendors of devices, zones that share nothing.

mod reader;
mod schema;
pub mod stream;
#[cfg(test)]
mod tests;
mod writer;

pub use writer::write;

use schema::File;

use crate::detect::Codec;
use crate::document::Document;
use crate::error::{FormatError, Result, json_error};
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use slackline_model::{Platform, Workflow};
use std::fmt;

/// Behind the front door an instance is its workflow; it takes a platform to write one.
pub(crate) const CODEC: Codec = Codec {
    name: "instance",
    about: "workflow and processors in one file (JSON)",
    extensions: &["instance.json", "json"],
    comments: None,
    recognise,
    read: |text, _| Ok(Document::new(read(text)?.workflow)),
    write: None,
};

/// Whether a text has the members of an instance at its top.
fn recognise(text: &str) -> bool {
    // The first tests spare most other files the walk.
    text.trim_start().starts_with('{')
        && text.contains("\"processors\"")
        && has_members(text, ["tasks", "processors"])
}

/// Whether an object has both members at its top.
fn has_members(text: &str, names: [&str; 2]) -> bool {
    struct Members<'a>([&'a str; 2], &'a mut [bool; 2]);
    impl<'de> Visitor<'de> for Members<'_> {
        type Value = ();
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
            while let Some(key) = map.next_key::<String>()? {
                self.1[0] |= key == self.0[0];
                self.1[1] |= key == self.0[1];
                map.next_value::<IgnoredAny>()?;
            }
            Ok(())
        }
    }
    let mut seen = [false; 2];
    // A file that breaks off is still one of its kind.
    let _ = serde_json::Deserializer::from_str(text).deserialize_map(Members(names, &mut seen));
    seen == [true, true]
}

/// A workflow and the platform to plan it on.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Tasks and dependencies.
    pub workflow: Workflow,
    /// The hosts in the order of their first processors; one that no processor names is a processor.
    pub platform: Platform,
}

/// Reads an instance.
pub fn read(text: &str) -> Result<Instance> {
    let file: File = serde_json::from_str(text).map_err(json_error)?;
    Ok(Instance { workflow: file.workflow()?, platform: file.platform()? })
}
