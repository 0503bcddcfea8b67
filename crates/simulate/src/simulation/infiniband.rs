//! InfiniBand: flows that share an adapter slow each other down beyond max-min sharing, as in SimGrid's model `IB`.
//!
//! The penalty of a flow follows from the numbers of flows that leave its sender and enter its
//! receiver. When a flow begins or ends, the penalties of all flows that are connected with its sender over common
//! senders and receivers are computed again; those of a sender that has become idle are not, as in SimGrid.

use crate::kernel::ActivityId;
use crate::models::{HostModel, Models, NetworkModel, Penalties};
use slackline_model::{HostId, Platform};
use std::collections::HashMap;

#[derive(Clone, Copy, Debug)]
struct Flow {
    src: u32,
    dst: u32,
    /// Rate without penalty, bytes/s.
    best: f64,
    penalty: f64,
}

/// Flows under way.
#[derive(Clone, Debug)]
pub(super) struct Infiniband {
    penalties: Penalties,
    flows: HashMap<ActivityId, Flow>,
    /// Flows by the host they leave and by the host they enter.
    out: Vec<Vec<ActivityId>>,
    into: Vec<Vec<ActivityId>>,
}

/// Flows that get another limit, bytes/s.
type Limits = Vec<(ActivityId, f64)>;

impl Infiniband {
    /// A state without flows; none where the models have no penalties.
    pub(super) fn of(models: &Models, platform: &Platform) -> Option<Infiniband> {
        let flows = models.network == NetworkModel::Flows && models.host == HostModel::Separate;
        let penalties = models.penalties.filter(|_| flows)?;
        let none = vec![Vec::new(); platform.hosts().len()];
        Some(Infiniband { penalties, flows: HashMap::new(), out: none.clone(), into: none })
    }

    /// Adds a flow with the rate `best` (bytes/s) when alone.
    pub(super) fn begin(
        &mut self,
        id: ActivityId,
        (src, dst): (HostId, HostId),
        best: f64,
    ) -> Limits {
        self.flows.insert(id, Flow { src: src.0, dst: dst.0, best, penalty: 1.0 });
        self.out[src.index()].push(id);
        self.into[dst.index()].push(id);
        self.update(src.0)
    }

    /// Removes a flow; nothing happens if the activity is none.
    pub(super) fn end(&mut self, id: ActivityId) -> Limits {
        let Some(flow) = self.flows.remove(&id) else { return Vec::new() };
        self.out[flow.src as usize].retain(|&other| other != id);
        self.into[flow.dst as usize].retain(|&other| other != id);
        self.update(flow.src)
    }

    /// Computes the penalties of all flows that are connected with those that leave `host`.
    fn update(&mut self, host: u32) -> Limits {
        let mut senders = vec![host];
        let mut reached = Vec::new();
        let mut k = 0;
        while k < senders.len() {
            let sender = senders[k];
            k += 1;
            for &id in &self.out[sender as usize] {
                reached.push(id);
                for other in &self.into[self.flows[&id].dst as usize] {
                    let src = self.flows[other].src;
                    if !senders.contains(&src) {
                        senders.push(src);
                    }
                }
            }
        }
        let mut limits = Vec::new();
        for id in reached {
            let penalty = self.penalty(&self.flows[&id]);
            if let Some(flow) = self.flows.get_mut(&id)
                && flow.penalty != penalty
            {
                flow.penalty = penalty;
                limits.push((id, flow.best / penalty));
            }
        }
        limits
    }

    /// The factor by which a flow is slower than alone: the larger one of its sender's and its receiver's.
    fn penalty(&self, flow: &Flow) -> f64 {
        let Penalties { entering, leaving, busy } = self.penalties;
        let leave = &self.out[flow.src as usize];
        let enter = &self.into[flow.dst as usize];
        let out = if leave.len() <= 1 {
            1.0
        } else {
            let of = |id: &ActivityId| {
                let towards = self.into[self.flows[id].dst as usize].len();
                // As in SimGrid, a receiver is busy from three flows on.
                leave.len() as f64 * leaving * if towards > 2 { busy } else { 1.0 }
            };
            leave.iter().map(of).fold(0.0, f64::max)
        };
        let inward = if enter.len() <= 1 {
            1.0
        } else {
            let mine = enter.iter().filter(|id| self.flows[id].src == flow.src).count();
            let mut senders: Vec<u32> = enter.iter().map(|id| self.flows[id].src).collect();
            senders.sort_unstable();
            senders.dedup();
            mine as f64 * entering * senders.len() as f64
        };
        out.max(inward)
    }
}
