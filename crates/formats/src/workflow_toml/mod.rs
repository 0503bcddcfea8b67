//! Our own workflow TOML, made to be written by hand; read and written.
//!
//! ```toml
//! name = "thumbnails"
//! reference-speed = "2Gf"            # the machine on which times were taken; default 1Gf
//!
//! [defaults]                         # for every task and file without values of its own
//! memory = "500MB"
//! memory-per-core = "1GB"
//!
//! [kind.convert]                     # the same for tasks of one kind
//! retries = 1
//!
//! [files]                            # sizes; a file that no task writes must be listed
//! "photos.tar" = "250MB"
//!
//! [task.unpack]
//! command = "tar xf photos.tar"      # a shell line, or ["program", "argument", ...]
//! inputs = ["photos.tar"]
//! outputs = ["a.jpg", "b.jpg"]
//! time = "20s"                       # or seconds = 20, or work = "40Gf"
//!
//! [task.shrink]
//! kind = "convert"
//! command = ["mogrify", "-resize", "200", "a.jpg", "b.jpg"]
//! inputs = ["a.jpg", "b.jpg"]
//! seconds = 30
//! cores = "1-8"                      # or 4, or "2+"
//! alpha = 0.1                        # serial fraction (Amdahl)
//! gpus = { a100 = 1 }                # or gpus = 2: of any one kind
//! resources = { matlab = 1, io = 2 } # shared with all that run at the same time
//! results = []                       # outputs that are kept although some task reads them
//! spread = true                      # over the hosts of one cluster (message passing); else on one host
//!
//! [task.report]
//! after = ["unpack", { task = "shrink", data = "3MB" }]
//! work = "1Gf"
//! ```
//!
//! Without a speed that explains the times, every task has `seconds = { fast = 10, slow = 45 }`: its time per host or
//! class of hosts. Other speed-up models are `speedup = [1, 0.6, 0.45]` (time on 1, 2, 3 ... cores over time on
//! one) and `downey = { parallelism = 8, sigma = 0.5 }`. A fixed number of cores without a model means that the
//! time was taken at that width.
//!
//! Tasks for many samples are written once (docs/samples.md):
//!
//! ```toml
//! [samples]
//! file = "samples.csv"               # a row per sample; or lists, such as sample = ["S1", "S2"]
//!
//! [params]                           # values that --param NAME=VALUE replaces
//! quality = 20
//!
//! [files]
//! "{sample}.fastq" = "2GB"
//!
//! [task.trim]
//! foreach = "sample"                 # a task for each: trim.S1, trim.S2
//! command = "trim -q {quality} {inputs} > {sample}.trimmed"
//! inputs = ["{sample}.fastq"]
//! outputs = ["{sample}.trimmed"]
//! time = "5min"
//!
//! [task.join]
//! command = "cat {inputs} > all"     # no foreach: the files of all samples
//! inputs = ["{sample}.trimmed"]
//! outputs = ["all"]
//! time = "1min"
//! ```
//!
//! Lost in writing: that form, the difference between `Serial` and an Amdahl fraction of 1 for tasks of
//! variable width, the grouping of workflows that were joined, and the order in which files that
//! belong to different tasks are numbered.

mod choices;
mod reader;
mod samples;
mod surroundings;
mod writer;

pub use reader::{read, read_with};
pub use writer::write;

use crate::detect::Codec;

pub(crate) const CODEC: Codec = Codec {
    name: "toml",
    about: "Slackline's own workflow TOML, written by hand",
    extensions: &["toml"],
    comments: Some(crate::note::Comments::Hash),
    recognise: |text| text.lines().any(|line| line.trim_start().starts_with("[task.")),
    read: read_with,
    write: Some(|document, out| Ok(write(&document.workflow, out)?)),
};

#[cfg(test)]
mod sample_tests;
#[cfg(test)]
mod tests;
