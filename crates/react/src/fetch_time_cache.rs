//! Hosts that hold nothing of some files are told apart by the network alone: what it takes to bring the
//! files to one of them holds for its whole group.

use crate::situation::Situation;
use slackline_model::{FileId, HostId};

/// Seconds until some files are on one host or another, worked out once per group of hosts.
pub(crate) struct FetchTimeCache<'a> {
    now: &'a Situation,
    /// The places where some of the files lie or arrive, in order.
    places: Vec<HostId>,
    /// By group of hosts of the network; NaN where not computed yet.
    seconds: Vec<f64>,
}

impl<'a> FetchTimeCache<'a> {
    pub(crate) fn to(
        now: &'a Situation,
        files: impl Iterator<Item = FileId>,
    ) -> FetchTimeCache<'a> {
        let copies = files.flat_map(|f| &now.copies[f.index()]);
        let mut places: Vec<HostId> =
            copies.flat_map(|c| c.holders.hosts().iter().copied()).collect();
        places.sort_unstable();
        places.dedup();
        FetchTimeCache { now, places, seconds: vec![f64::NAN; now.view.network.groups] }
    }

    /// Result of `seconds` for a host, called only where the answer may differ.
    pub(crate) fn seconds(&mut self, host: HostId, seconds: impl Fn(HostId) -> f64) -> f64 {
        if self.places.binary_search(&self.now.place_of(host)).is_ok() {
            return seconds(host);
        }
        let known = &mut self.seconds[self.now.view.network.group_of[host.index()] as usize];
        if known.is_nan() {
            *known = seconds(host);
        }
        *known
    }
}
