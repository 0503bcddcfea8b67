//! Peak storage for the files that tasks write, per place.
//!
//! A place is a host, or a group of hosts that share their storage. A file occupies its place of origin from the start of
//! the task that writes it, and each place of a reader from the end of that task. With deletion after the last reader,
//! the original is deleted at the end of the last reader anywhere, a copy at the end of the last reader at its place.
//! Results stay; inputs of the workflow do not count.

use slackline_model::{HostId, Placement, Problem, Schedule, approx};
use std::collections::BTreeMap;

/// The largest sum of sizes at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct StoragePeak {
    /// The first of its hosts.
    pub host: HostId,
    /// Name of the place: the host, or the zone whose hosts share their storage.
    pub place: String,
    /// Peak in bytes, with deletion after the last reader.
    pub peak: f64,
    /// First date of that peak, in seconds.
    pub at: f64,
    /// Peak in bytes without deletion.
    pub peak_kept: f64,
    /// Capacity in bytes, if bounded.
    pub capacity: Option<f64>,
}

/// The name of the place of a host and its capacity: the outermost zone that shares storage, else the host.
fn place(problem: &Problem<'_>, host: HostId) -> (String, Option<f64>) {
    let platform = problem.platform();
    let mut named = None;
    let mut around = Some(platform.host(host).zone);
    while let Some(id) = around {
        let zone = platform.zone(id);
        if zone.shared_storage {
            named = Some((zone.name.to_string(), zone.storage_capacity));
        }
        around = zone.parent;
    }
    let own = platform.host(host);
    named.unwrap_or_else(|| {
        (own.name.to_string(), own.resources.as_ref().and_then(|resources| resources.storage))
    })
}

/// Peaks of all places that get files, ordered by the first host of each. Where the storage of the whole platform is
/// bounded, its peak follows as the last one, with host 0.
pub fn storage_peaks(problem: &Problem<'_>, schedule: &Schedule) -> Vec<StoragePeak> {
    let (workflow, platform) = (problem.workflow(), problem.platform());
    // Per place: (date, whether bytes are added, bytes).
    let mut changes: BTreeMap<HostId, Vec<(f64, bool, f64)>> = BTreeMap::new();
    let mut kept: BTreeMap<HostId, f64> = BTreeMap::new();
    for file in workflow.files() {
        let bytes = workflow.file_bytes(file);
        let Some(writer) = workflow.producer(file).and_then(|task| schedule.placement(task)) else {
            continue;
        };
        if bytes <= 0.0 {
            continue;
        }
        let stays = workflow.is_result(file);
        let readers: Vec<&Placement> =
            workflow.consumers(file).filter_map(|task| schedule.placement(task)).collect();
        let all = readers.len() == workflow.consumers(file).len();
        let over = readers.iter().map(|reader| reader.finish).fold(writer.finish, f64::max);
        let home = platform.place_of(problem.host_of(writer.proc()));
        let mut add = |place: HostId, from: f64, until: Option<f64>| {
            *kept.entry(place).or_default() += bytes;
            let changes = changes.entry(place).or_default();
            changes.push((from, true, bytes));
            changes.extend(until.map(|until| (until, false, bytes)));
        };
        // It is kept while some reader is not scheduled.
        add(home, writer.start, (!stays && all).then_some(over));
        let mut copies: BTreeMap<HostId, f64> = BTreeMap::new();
        for reader in readers {
            for host in problem.hosts_of(reader.procs()) {
                let there = platform.place_of(host);
                if there != home {
                    let last = copies.entry(there).or_insert(0.0);
                    *last = last.max(reader.finish);
                }
            }
        }
        for (there, last) in copies {
            add(there, writer.finish, Some(last));
        }
    }
    let mut peaks = Vec::new();
    let mut everywhere: Vec<(f64, bool, f64)> = Vec::new();
    for (host, list) in changes {
        everywhere.extend(&list);
        let (peak, at) = highest(list);
        let (place, capacity) = place(problem, host);
        let peak_kept = kept.get(&host).copied().unwrap_or(0.0);
        peaks.push(StoragePeak { host, place, peak, at, peak_kept, capacity });
    }
    if let Some(capacity) = platform.storage() {
        let (peak, at) = highest(everywhere);
        let peak_kept = kept.values().sum();
        let (host, place) = (HostId(0), "platform".to_string());
        peaks.push(StoragePeak { host, place, peak, at, peak_kept, capacity: Some(capacity) });
    }
    peaks
}

/// The largest sum and the first date at which it is reached. At one date (by `approx`), deletions come first.
fn highest(mut changes: Vec<(f64, bool, f64)>) -> (f64, f64) {
    let key = |change: &(f64, bool, f64)| approx::sort_key(change.0);
    changes.sort_by(|a, b| key(a).total_cmp(&key(b)).then(a.1.cmp(&b.1)).then(a.0.total_cmp(&b.0)));
    let (mut sum, mut peak, mut at) = (0.0f64, 0.0f64, 0.0);
    for (date, comes, bytes) in changes {
        sum = if comes { sum + bytes } else { (sum - bytes).max(0.0) };
        if approx::gt(sum, peak) {
            (peak, at) = (sum, date);
        }
    }
    (peak, at)
}
