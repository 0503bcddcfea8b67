//! Performance models of disks as text: a table of the platform TOML, a property of SimGrid's XML.

use crate::contents_db;
use crate::error::{FormatError, Result};
use crate::platform_toml::{Bytes, DiskBandwidth, Seconds};
use serde::{Deserialize, Serialize};
use slackline_io::Siblings;
use slackline_model::distribution::Distribution;
use slackline_model::platform::{Contents, DiskModel, DiskSegment};
use std::sync::Arc;

/// The property that names the file with the contents of a disk.
pub(crate) const CONTENT: &str = "content";

#[derive(Clone, Deserialize, Serialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case",
    deny_unknown_fields
)]
pub(crate) enum ModelTable {
    Linear {},
    Affine {
        read_latency: Seconds,
        write_latency: Seconds,
    },
    Piecewise {
        segments: Vec<SegmentTable>,
    },
    Concurrency {
        read: Vec<DiskBandwidth>,
        write: Vec<DiskBandwidth>,
    },
    Stochastic {
        read: Distribution,
        write: Distribution,
        stream: String,
        #[serde(default)]
        seed: u64,
    },
}

#[derive(Clone, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct SegmentTable {
    from: Bytes,
    read: DiskBandwidth,
    write: DiskBandwidth,
    read_latency: Seconds,
    write_latency: Seconds,
}

impl ModelTable {
    /// None for the model that needs no word.
    pub(crate) fn of(model: &DiskModel) -> Option<ModelTable> {
        let rates = |list: &[f64]| list.iter().map(|rate| DiskBandwidth(*rate)).collect();
        Some(match model {
            DiskModel::Linear => return None,
            DiskModel::Affine { read_latency, write_latency } => ModelTable::Affine {
                read_latency: Seconds(*read_latency),
                write_latency: Seconds(*write_latency),
            },
            DiskModel::Piecewise(segments) => ModelTable::Piecewise {
                segments: segments
                    .iter()
                    .map(|segment| SegmentTable {
                        from: Bytes(segment.from),
                        read: DiskBandwidth(segment.read),
                        write: DiskBandwidth(segment.write),
                        read_latency: Seconds(segment.read_latency),
                        write_latency: Seconds(segment.write_latency),
                    })
                    .collect(),
            },
            DiskModel::Concurrency { read, write } => {
                ModelTable::Concurrency { read: rates(read), write: rates(write) }
            }
            DiskModel::Stochastic { read, write, stream, seed } => ModelTable::Stochastic {
                read: *read,
                write: *write,
                stream: stream.clone(),
                seed: *seed,
            },
        })
    }

    pub(crate) fn model(self) -> DiskModel {
        let rates = |list: Vec<DiskBandwidth>| list.into_iter().map(|rate| rate.0).collect();
        match self {
            ModelTable::Linear {} => DiskModel::Linear,
            ModelTable::Affine { read_latency, write_latency } => {
                DiskModel::Affine { read_latency: read_latency.0, write_latency: write_latency.0 }
            }
            ModelTable::Piecewise { segments } => {
                let segment = |segment: SegmentTable| DiskSegment {
                    from: segment.from.0,
                    read: segment.read.0,
                    write: segment.write.0,
                    read_latency: segment.read_latency.0,
                    write_latency: segment.write_latency.0,
                };
                DiskModel::Piecewise(segments.into_iter().map(segment).collect())
            }
            ModelTable::Concurrency { read, write } => {
                DiskModel::Concurrency { read: rates(read), write: rates(write) }
            }
            ModelTable::Stochastic { read, write, stream, seed } => {
                DiskModel::Stochastic { read, write, stream, seed }
            }
        }
    }
}

/// A model as the value of a property; none for the one that needs no word.
pub(crate) fn to_property(model: &DiskModel) -> Option<String> {
    serde_json::to_string(&ModelTable::of(model)?).ok()
}

/// A model from the value of a property.
pub(crate) fn from_property(text: &str) -> Result<DiskModel> {
    let table: ModelTable = serde_json::from_str(text).map_err(crate::error::json_error)?;
    Ok(table.model())
}

/// The contents that a file beside the platform lists; none where it cannot be looked for.
pub(crate) fn read_contents(
    siblings: Option<Siblings<'_>>,
    file: &str,
) -> Result<Option<Arc<Contents>>> {
    let Some(siblings) = siblings.filter(|_| !file.is_empty()) else { return Ok(None) };
    let path = siblings.path(file)?;
    if contents_db::recognise(&path) {
        let contents = contents_db::read(&path).map_err(|error| error.in_file(&path))?;
        return Ok(Some(Arc::new(contents)));
    }
    let (path, text) = siblings.read(file)?;
    let contents = Contents::parse(text);
    let contents = contents.map_err(|(line, why)| FormatError::at(line, 1, why).in_file(&path))?;
    Ok(Some(Arc::new(contents)))
}
