//! Pegasus DAX, the XML of abstract workflows, versions 2.x and 3.x.
//!
//! - `<job id name runtime>` is a task: `id` its name, `name` (the transformation) its kind,
//!   `runtime` seconds on the reference machine. A sub-workflow (`<dax>`, `<dag>`) is one task.
//! - `<uses file|name link size>` are its files; `crate::flow` resolves names that several jobs
//!   write. Sizes may also be given in `<metadata key="size">`.
//! - `<child ref><parent ref/></child>` are the dependencies.
//! - Cores of a job are its attribute `cores`, or one of the profiles `pegasus`/`cores`, `condor`/`request_cpus` and
//!   `globus`/`count`. Run times and sizes below zero count as 0, with a warning.
//! - Profiles of the namespace `pegasus` that are read: `runtime` (seconds), `cores`, `gpus`, `memory`
//!   (MiB); and `hints`/`pfn`, the program to run, as does the `file://` place of an `<executable>`.
//!   `<argument>` gives its arguments, `<stdin>`, `<stdout>` and `<stderr>` the files of its streams.
//!
//! The writer uses the dialect of the classic synthetic workflows (2.1 with `runtime` and `size`), which
//! simulators read.

mod read;
mod write;

use crate::detect::Codec;

pub use read::read;
pub use write::write;

pub(crate) const CODEC: Codec = Codec {
    name: "dax",
    about: "Pegasus DAX 2.x and 3.x (XML)",
    extensions: &["dax", "xml"],
    comments: Some(crate::note::Comments::Xml),
    recognise: |text| crate::xml::root_name(text).as_deref() == Some("adag"),
    read: |text, _| read(text),
    write: Some(write),
};

/// Bytes in the unit of Pegasus' memory profile.
const MEMORY_UNIT: f64 = 1_048_576.0;

#[cfg(test)]
mod tests;
