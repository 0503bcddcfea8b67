//! InfiniBand: flows that share an adapter slow each other down beyond max-min sharing.
//!
//! The penalty of a flow follows from the numbers of flows that leave its sender and enter its
//! receiver. When a flow begins or ends, the flows that can be reached from its sender over common senders and
//! receivers are looked at again; those of a sender that has become idle are not, as in SimGrid.

use crate::settings::Penalties;
use slackline_model::activity::Transfer;
use slackline_simulate::{ActivityId, Simulation, SimulationError};
use std::collections::HashMap;

#[derive(Clone, Copy, Debug)]
struct Flow {
    id: ActivityId,
    src: u32,
    dst: u32,
    /// Rate without penalty, bytes/s.
    best: f64,
    penalty: f64,
}

/// Flows under way.
#[derive(Clone, Debug)]
pub(super) struct Penalised {
    penalties: Penalties,
    flows: HashMap<u32, Flow>,
    /// Messages by the host they leave and by the host they enter.
    out: Vec<Vec<u32>>,
    into: Vec<Vec<u32>>,
}

impl Penalised {
    pub(super) fn new(penalties: Penalties, hosts: usize) -> Penalised {
        Penalised {
            penalties,
            flows: HashMap::new(),
            out: vec![Vec::new(); hosts],
            into: vec![Vec::new(); hosts],
        }
    }

    pub(super) fn begin(
        &mut self,
        simulation: &mut Simulation<'_>,
        message: u32,
        id: ActivityId,
        transfer: Transfer,
    ) -> Result<(), SimulationError> {
        let (src, dst) = (transfer.src.0, transfer.dst.0);
        let best = simulation.fastest(transfer)?;
        self.flows.insert(message, Flow { id, src, dst, best, penalty: 1.0 });
        self.out[src as usize].push(message);
        self.into[dst as usize].push(message);
        self.update(simulation, src)
    }

    pub(super) fn end(
        &mut self,
        simulation: &mut Simulation<'_>,
        message: u32,
    ) -> Result<(), SimulationError> {
        let Some(flow) = self.flows.remove(&message) else { return Ok(()) };
        self.out[flow.src as usize].retain(|&m| m != message);
        self.into[flow.dst as usize].retain(|&m| m != message);
        self.update(simulation, flow.src)
    }

    /// Looks again at all flows that hang together with those that leave `host`.
    fn update(
        &mut self,
        simulation: &mut Simulation<'_>,
        host: u32,
    ) -> Result<(), SimulationError> {
        let mut senders = vec![host];
        let mut reached = Vec::new();
        let mut k = 0;
        while k < senders.len() {
            let sender = senders[k];
            k += 1;
            for &message in &self.out[sender as usize] {
                reached.push(message);
                for &other in &self.into[self.flows[&message].dst as usize] {
                    let src = self.flows[&other].src;
                    if !senders.contains(&src) {
                        senders.push(src);
                    }
                }
            }
        }
        for message in reached {
            let penalty = self.penalty(&self.flows[&message]);
            if let Some(flow) = self.flows.get_mut(&message)
                && flow.penalty != penalty
            {
                flow.penalty = penalty;
                simulation.limit_rate(flow.id, flow.best / penalty)?;
            }
        }
        Ok(())
    }

    fn penalty(&self, flow: &Flow) -> f64 {
        let Penalties { entering, leaving, busy } = self.penalties;
        let leave = &self.out[flow.src as usize];
        let enter = &self.into[flow.dst as usize];
        let out = if leave.len() <= 1 {
            1.0
        } else {
            let of = |message: &u32| {
                let towards = self.into[self.flows[message].dst as usize].len();
                leave.len() as f64 * leaving * if towards > 2 { busy } else { 1.0 }
            };
            leave.iter().map(of).fold(0.0, f64::max)
        };
        let inward = if enter.len() <= 1 {
            1.0
        } else {
            let mine = enter.iter().filter(|m| self.flows[m].src == flow.src).count();
            let mut senders: Vec<u32> = enter.iter().map(|m| self.flows[m].src).collect();
            senders.sort_unstable();
            senders.dedup();
            mine as f64 * entering * senders.len() as f64
        };
        out.max(inward)
    }
}
