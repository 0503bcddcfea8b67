//! One module per engine: each reads the artefacts of its engine as a [`RecordedRun`].

pub(crate) mod cwl;
pub(crate) mod dask;
pub(crate) mod makeflow;
pub(crate) mod mermaid;
pub(crate) mod nextflow;
pub(crate) mod parsl;
pub(crate) mod ro_crate;
pub(crate) mod slurm;
pub(crate) mod snakemake;

use crate::record::RecordedRun;
use crate::sources::Found;
use slackline_io::{FileAccess, FormatError, Result};
use std::fmt;

/// An engine whose records are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Engine {
    /// Snakemake: `.snakemake/metadata`, logs, benchmarks.
    #[default]
    Snakemake,
    /// Nextflow: `trace.txt` or the execution report, with work folders or the process graph.
    Nextflow,
    /// Parsl: `monitoring.db`.
    Parsl,
    /// Dask: graph, task stream, performance report.
    Dask,
    /// CWL: CWLProv and the log of cwltool.
    Cwl,
    /// Workflow Run RO-Crate.
    RoCrate,
    /// Makeflow: the workflow, its log, resource summaries.
    Makeflow,
    /// Slurm: `sacct`.
    Slurm,
    /// Slackline's own runs, whose logs are read elsewhere: no records of this engine are looked for.
    Slackline,
}

impl Engine {
    /// Every engine whose records are looked for.
    pub const ALL: [Engine; 8] = [
        Engine::Snakemake,
        Engine::Nextflow,
        Engine::Parsl,
        Engine::Dask,
        Engine::Cwl,
        Engine::RoCrate,
        Engine::Makeflow,
        Engine::Slurm,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Snakemake => "snakemake",
            Engine::Nextflow => "nextflow",
            Engine::Parsl => "parsl",
            Engine::Dask => "dask",
            Engine::Cwl => "cwl",
            Engine::RoCrate => "ro-crate",
            Engine::Makeflow => "makeflow",
            Engine::Slurm => "slurm",
            Engine::Slackline => "slackline",
        }
    }

    /// The engine of a name.
    pub fn named(name: &str) -> Option<Engine> {
        Engine::ALL.into_iter().find(|engine| engine.name() == name)
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The names of all engines as a list in messages.
pub(crate) fn names() -> String {
    Engine::ALL.map(Engine::name).join(", ")
}

/// Reads the artefacts of an engine.
pub(crate) fn read(engine: Engine, found: &Found, files: &FileAccess) -> Result<RecordedRun> {
    match engine {
        Engine::Snakemake => snakemake::read(found, files),
        Engine::Nextflow => nextflow::read(found, files),
        Engine::Parsl => parsl::read(found),
        Engine::Dask => dask::read(found, files),
        Engine::Cwl => cwl::read(found, files),
        Engine::RoCrate => ro_crate::read(found, files),
        Engine::Makeflow => makeflow::read(found, files),
        Engine::Slurm => slurm::read(found, files),
        Engine::Slackline => Err(FormatError::new("runs of slackline have logs of their own")),
    }
}

/// A JSON document of a file, with the place of an error.
fn json(files: &FileAccess, path: &std::path::Path) -> Result<serde_json::Value> {
    let text = files.read_text(path)?;
    serde_json::from_str(&text).map_err(|e| {
        slackline_io::FormatError::at(e.line(), e.column().max(1), format!("not valid JSON: {e}"))
            .in_file(path)
    })
}

/// A name that no task has yet: the name itself, or `name#2` and so on. `taken` counts the tasks of each name.
fn unique(taken: &mut std::collections::HashMap<String, usize>, name: String) -> String {
    let count = taken.entry(name.clone()).or_default();
    *count += 1;
    match *count {
        1 => name,
        n => {
            let numbered = format!("{name}#{n}");
            if taken.contains_key(&numbered) {
                return unique(taken, numbered);
            }
            taken.insert(numbered.clone(), 1);
            numbered
        }
    }
}
