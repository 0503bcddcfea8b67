//! Durations of storages whose model is stochastic: drawn once, before a flow starts.

use slackline_model::activity::StorageFlow;
use slackline_model::platform::{DiskModel, DiskSide, Platform};
use slackline_model::rng::{Stream, stream};
use std::collections::HashMap;

/// Durations drawn for disks whose model is stochastic, from their named streams.
#[derive(Debug, Default)]
pub struct DrawnDelays {
    streams: HashMap<(u64, String), Stream>,
}

impl DrawnDelays {
    /// Limits a flow to the durations drawn for the disks it uses; without bytes they are delays.
    pub fn apply(&mut self, platform: &Platform, flow: &mut StorageFlow) {
        for (disk, side) in [(flow.read, DiskSide::Read), (flow.write, DiskSide::Write)] {
            let Some(disk) = disk else { continue };
            let model = &platform.disk(disk).model;
            let DiskModel::Stochastic { read, write, stream: name, seed } = model else { continue };
            let random = self
                .streams
                .entry((*seed, name.clone()))
                .or_insert_with(|| stream(*seed, &format!("storage/{name}"), 0));
            let seconds = if side == DiskSide::Read { read } else { write }.draw(random);
            if flow.bytes > 0.0 && seconds > 0.0 {
                flow.rate = flow.rate.min(flow.bytes / seconds);
            } else {
                flow.delay += seconds;
            }
        }
    }
}
