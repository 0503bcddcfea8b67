//! Performance models: the time that operations of a disk, or a storage of any kind, take.

use super::error::PlatformError;
use crate::distribution::Distribution;

/// Bandwidths and latencies for operations of at least so many bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiskSegment {
    /// Smallest operation of the segment, in bytes.
    pub from: f64,
    /// Bytes/s of a read.
    pub read: f64,
    /// Bytes/s of a write.
    pub write: f64,
    /// Seconds before a read.
    pub read_latency: f64,
    /// Seconds before a write.
    pub write_latency: f64,
}

/// A performance model; bandwidths that it does not name are those of the disk.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum DiskModel {
    /// Bandwidths alone (`linear_no_lat` in platform files of SimGrid).
    #[default]
    Linear,
    /// A latency before the bytes flow.
    Affine {
        /// Seconds before a read.
        read_latency: f64,
        /// Seconds before a write.
        write_latency: f64,
    },
    /// Latency and largest rate by the size of the operation; sides hold the largest bandwidths.
    Piecewise(Vec<DiskSegment>),
    /// Bytes/s of a side with 1, 2, … accesses at once, the last entry for more.
    Concurrency {
        /// Of all reads together.
        read: Vec<f64>,
        /// Of all writes together.
        write: Vec<f64>,
    },
    /// Durations are drawn, whatever the size; operations share the network alone.
    Stochastic {
        /// Seconds of a read.
        read: Distribution,
        /// Seconds of a write.
        write: Distribution,
        /// Name of the random stream; disks of one name draw the same numbers.
        stream: String,
        /// Seed of the random stream.
        seed: u64,
    },
}

/// A stock definition of a storage: round figures of the order of magnitude of such devices, from no
/// particular one, to be replaced by measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct StockDisk {
    /// Its name in files.
    pub name: &'static str,
    /// Bytes per second of all reads together.
    pub read_bandwidth: f64,
    /// Bytes per second of all writes together.
    pub write_bandwidth: f64,
    /// Bytes per second of both together.
    pub connection_bandwidth: Option<f64>,
    /// Its performance model.
    pub model: DiskModel,
}

impl StockDisk {
    /// Every definition.
    pub fn all() -> [StockDisk; 4] {
        let affine =
            |read_latency, write_latency| DiskModel::Affine { read_latency, write_latency };
        let disk = |name, read, write, connection, model| StockDisk {
            name,
            read_bandwidth: read,
            write_bandwidth: write,
            connection_bandwidth: connection,
            model,
        };
        let bay = DiskModel::Concurrency {
            read: vec![0.4e9, 0.8e9, 1.6e9, 2e9],
            write: vec![0.3e9, 0.6e9, 1.2e9, 1.5e9],
        };
        [
            disk("hard-disk", 180e6, 160e6, Some(180e6), affine(9e-3, 9e-3)),
            disk("ssd", 3e9, 2e9, Some(3.5e9), affine(80e-6, 20e-6)),
            disk("disk-bay", 2e9, 1.5e9, Some(2.5e9), bay),
            disk("shared-file-system", 10e9, 8e9, None, affine(2e-3, 3e-3)),
        ]
    }

    /// The definition of a name; the error lists the names.
    pub fn named(name: &str) -> Result<StockDisk, String> {
        let names = StockDisk::all().map(|disk| disk.name).join(", ");
        let mut all = StockDisk::all().into_iter();
        all.find(|disk| disk.name == name)
            .ok_or_else(|| format!("there is no stock storage `{name}`; there are {names}"))
    }
}

/// A direction of the operations of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskSide {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

impl DiskModel {
    /// The segment of an operation of so many bytes, where the model has segments.
    pub fn segment(&self, bytes: f64) -> Option<&DiskSegment> {
        let DiskModel::Piecewise(segments) = self else { return None };
        segments[..segments.partition_point(|segment| segment.from <= bytes)].last()
    }

    /// Seconds before the bytes of an operation flow.
    pub fn latency(&self, side: DiskSide, bytes: f64) -> f64 {
        let (read, write) = match self {
            DiskModel::Affine { read_latency, write_latency } => (*read_latency, *write_latency),
            DiskModel::Piecewise(_) => {
                self.segment(bytes).map_or((0.0, 0.0), |s| (s.read_latency, s.write_latency))
            }
            _ => return 0.0,
        };
        if side == DiskSide::Read { read } else { write }
    }

    /// The largest rate of a single operation in bytes/s, even alone on the disk; infinite without one.
    pub fn bound(&self, side: DiskSide, bytes: f64) -> f64 {
        let segment = self.segment(bytes);
        segment.map_or(f64::INFINITY, |s| if side == DiskSide::Read { s.read } else { s.write })
    }

    /// The bandwidths of all reads and of all writes together, in bytes/s, where the model states them: the
    /// largest of its segments or concurrencies.
    pub fn bandwidths(&self) -> Option<(f64, f64)> {
        let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
        match self {
            DiskModel::Piecewise(segments) => Some((
                largest(&mut segments.iter().map(|s| s.read)),
                largest(&mut segments.iter().map(|s| s.write)),
            )),
            DiskModel::Concurrency { read, write } => {
                Some((largest(&mut read.iter().copied()), largest(&mut write.iter().copied())))
            }
            _ => None,
        }
    }

    /// Fails where a bandwidth is not positive and finite, a latency is negative or infinite, or segments do
    /// not rise from 0.
    pub(super) fn check(&self, disk: &str) -> Result<(), PlatformError> {
        let wrong = |quantity: &'static str, value: f64| {
            Err(PlatformError::BadNumber {
                element: format!("disk \"{disk}\""),
                what: quantity,
                value,
                must: "a finite number that makes sense there",
            })
        };
        let rate = |value: f64| value > 0.0 && value.is_finite();
        let latency = |value: f64| value >= 0.0 && value.is_finite();
        match self {
            DiskModel::Linear => {}
            DiskModel::Affine { read_latency, write_latency } => {
                for value in [*read_latency, *write_latency] {
                    if !latency(value) {
                        return wrong("latency", value);
                    }
                }
            }
            DiskModel::Piecewise(segments) => {
                if segments.first().is_none_or(|first| first.from != 0.0) {
                    return wrong(
                        "beginning of the first segment",
                        segments.first().map_or(f64::NAN, |s| s.from),
                    );
                }
                for pair in segments.windows(2) {
                    if pair[1].from <= pair[0].from {
                        return wrong("beginning of a segment that overlaps another", pair[1].from);
                    }
                }
                for segment in segments {
                    for value in [segment.read, segment.write] {
                        if !rate(value) {
                            return wrong("bandwidth of a segment", value);
                        }
                    }
                    for value in [segment.from, segment.read_latency, segment.write_latency] {
                        if !latency(value) {
                            return wrong("latency of a segment", value);
                        }
                    }
                }
            }
            DiskModel::Concurrency { read, write } => {
                for side in [read, write] {
                    if side.is_empty() {
                        return wrong("number of bandwidths by concurrency", 0.0);
                    }
                    if let Some(value) = side.iter().find(|value| !rate(**value)) {
                        return wrong("bandwidth by concurrency", *value);
                    }
                }
            }
            DiskModel::Stochastic { read, write, .. } => {
                if !read.is_valid() || !write.is_valid() {
                    return wrong("parameter of a distribution", f64::NAN);
                }
            }
        }
        Ok(())
    }
}
