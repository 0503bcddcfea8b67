//! Files on their way: a transfer is one block between two hosts, or the blocks that turn one
//! spread over hosts into another.

use super::{Engine, Op};
use crate::backend::{Backend, BackendError, Movement, OpId};
use slackline_model::trace::Happening;
use slackline_model::{FileId, HostId};
use slackline_react::{Block, Event, FileCopy, Site};

/// A file on its way.
pub(super) struct Transfer {
    pub(super) file: FileId,
    pub(super) from: Site,
    pub(super) to: Site,
    /// Blocks and the operations that move them; none for those that have arrived.
    blocks: Vec<(Block, Option<OpId>)>,
}

impl Transfer {
    fn bytes(&self) -> f64 {
        self.blocks.iter().map(|(block, _)| block.bytes).sum()
    }

    fn received(&self, backend: &dyn Backend) -> f64 {
        let done = |op: &Option<OpId>| op.map_or(1.0, |op| backend.progress(op));
        self.blocks.iter().map(|(block, op)| done(op) * block.bytes).sum()
    }

    /// Received share.
    pub(super) fn fraction(&self, backend: &dyn Backend) -> f64 {
        let bytes = self.bytes();
        if bytes > 0.0 { self.received(backend) / bytes } else { 0.0 }
    }
}

impl Engine<'_, '_> {
    /// Brings a file to a site, unless it is there or on its way; gives the transfer.
    pub(super) fn fetch(
        &mut self,
        file: FileId,
        from: Option<HostId>,
        to: &Site,
    ) -> Result<Option<u64>, BackendError> {
        if let Some(&under_way) = self.arriving.get(&(file, to.clone())) {
            return Ok(Some(under_way));
        }
        let Some(from) = from.map(Site::Host).or_else(|| self.source_of(file, to)) else {
            return Ok(None);
        };
        self.count_if_left_behind(file, &from);
        let id = self.next_transfer;
        self.next_transfer += 1;
        let bytes = self.situation.workflow.file_bytes(file);
        let since = self.begun_at(file, &from);
        let mut blocks = Vec::new();
        let moved: Vec<Block> = from.blocks_to(to, bytes).collect();
        for block in moved {
            let (from, to) = (self.living_host(block.from), self.living_host(block.to));
            let (from, to) = (from.unwrap_or(block.from), to.unwrap_or(block.to));
            let block = Block { from, to, ..block };
            let bytes = block.bytes;
            let op = self.new_op(Op::Block { transfer: id, from, to });
            self.backend.transfer(op, Movement { file, bytes, from, to, since })?;
            blocks.push((block, Some(op)));
            self.log(Happening::TransferStarted { file, from, to, bytes });
        }
        self.arriving.insert((file, to.clone()), id);
        let copies = &mut self.situation.copies[file.index()];
        copies.retain(|c| c.site != *to);
        copies.push(FileCopy { site: to.clone(), from: Some(from.clone()), fraction: 0.0 });
        self.transfers.insert(id, Transfer { file, from, to: to.clone(), blocks });
        Ok(Some(id))
    }

    /// Since when a transfer that is asked for now counts as begun.
    fn begun_at(&self, file: FileId, from: &Site) -> f64 {
        let made_there = |c: &FileCopy| c.site == *from && c.from.is_none();
        if self.settings.anticipated && self.situation.copies[file.index()].iter().any(made_there) {
            return self.situation.made_at(file);
        }
        self.situation.now
    }

    /// A copy that a migration left behind serves after all.
    pub(super) fn count_if_left_behind(&mut self, file: FileId, site: &Site) {
        if let Some(used) = self.left_behind.get_mut(&(file, site.clone()))
            && !std::mem::replace(used, true)
        {
            self.counters.copies_used += 1;
        }
    }

    /// The plan's choice, else where the producer ran, else the nearest living copy.
    fn source_of(&self, file: FileId, to: &Site) -> Option<Site> {
        let sources = || self.situation.sources(file).filter(|s| !self.is_lost(s));
        let wanted = to.host().and_then(|to| self.queues.source(file, to));
        let wanted = wanted.map(|from| Site::Host(self.situation.place_of(from)));
        let producer = self.situation.workflow.producer(file);
        let made_at = producer.and_then(|p| self.situation.task(p).procs());
        let made_at = made_at.map(|procs| self.situation.site(procs));
        if let Some(source) =
            [wanted, made_at].into_iter().flatten().find(|s| sources().any(|x| x == s))
        {
            return Some(source);
        }
        let bytes = self.situation.workflow.file_bytes(file);
        let network = &self.situation.view.network;
        let seconds = |from: &Site| {
            let blocks = from.blocks_to(to, bytes);
            let times = blocks.map(|b| network.transfer_time(b.bytes, b.from, b.to));
            times.fold(0.0, f64::max)
        };
        sources().min_by(|a, b| seconds(a).total_cmp(&seconds(b)).then(a.cmp(b))).cloned()
    }

    pub(super) fn block_arrived(&mut self, id: u64, from: HostId, to: HostId) {
        let Some(transfer) = self.transfers.get_mut(&id) else { return };
        let file = transfer.file;
        let block = transfer.blocks.iter_mut().find(|(b, _)| (b.from, b.to) == (from, to));
        if let Some((block, op)) = block {
            *op = None;
            self.counters.bytes_moved += block.bytes;
        }
        let complete = transfer.blocks.iter().all(|(_, op)| op.is_none());
        self.log(Happening::TransferFinished { file, from, to });
        if complete && let Some(transfer) = self.transfers.remove(&id) {
            self.file_arrived(id, transfer);
        }
    }

    fn file_arrived(&mut self, id: u64, transfer: Transfer) {
        let Transfer { file, to, .. } = transfer;
        self.arriving.remove(&(file, to.clone()));
        self.asked.remove(&id);
        self.counters.transfers += 1;
        if let Some(copy) = self.situation.copies[file.index()].iter_mut().find(|c| c.site == to) {
            copy.fraction = 1.0;
        }
        for consumer in self.situation.workflow.consumers(file) {
            let procs = self.queues.assigned(consumer);
            if procs.is_some_and(|procs| self.situation.site(procs) == to) {
                self.queues.touch_reader(consumer, self.settings.dispatch);
            }
        }
        self.events.push(Event::TransferFinished { file, to });
    }

    /// A transfer broke off by itself: the policy is told, somebody may have to ask again.
    pub(super) fn transfer_failed(&mut self, id: u64, why: &str) -> Result<(), BackendError> {
        let Some(transfer) = self.transfers.get(&id) else { return Ok(()) };
        let (file, to) = (transfer.file, transfer.to.clone());
        self.break_off(id, why)?;
        self.queues.look_again();
        self.events.push(Event::TransferFailed { file, to });
        Ok(())
    }

    /// Stops a transfer and forgets what had arrived of it.
    pub(super) fn break_off(&mut self, id: u64, why: &str) -> Result<(), BackendError> {
        let Some(transfer) = self.transfers.remove(&id) else { return Ok(()) };
        let file = transfer.file;
        self.counters.lost_bytes += transfer.received(&*self.backend);
        for (block, op) in &transfer.blocks {
            let Some(op) = *op else { continue };
            self.counters.bytes_moved += self.backend.progress(op) * block.bytes;
            self.backend.cancel(op)?;
            self.ops.remove(&op);
            let (from, to, reason) = (block.from, block.to, why.to_string());
            self.log(Happening::TransferFailed { file, from, to, reason });
        }
        self.arriving.remove(&(file, transfer.to.clone()));
        self.asked.remove(&id);
        let copies = &mut self.situation.copies[file.index()];
        copies.retain(|c| c.site != transfer.to || c.is_complete());
        Ok(())
    }

    /// Transfers to sites where no task of the plan wants the file any more.
    pub(super) fn break_off_orphans(&mut self) -> Result<(), BackendError> {
        let workflow = self.situation.workflow.clone();
        let wanted = |t: &Transfer| {
            workflow.consumers(t.file).any(|c| {
                self.queues.assigned(c).is_some_and(|procs| self.situation.site(procs) == t.to)
            })
        };
        let orphans: Vec<u64> = self
            .transfers
            .iter()
            .filter(|(id, t)| !self.asked.contains(id) && !wanted(t))
            .map(|(&id, _)| id)
            .collect();
        for id in orphans {
            self.break_off(id, "no longer wanted")?;
        }
        Ok(())
    }

    /// Transfers that use a host.
    pub(super) fn transfers_of(&self, host: HostId) -> Vec<u64> {
        let shared = self.situation.platform.shares_storage();
        let sites = |t: &Transfer| !shared && (t.from.touches(host) || t.to.touches(host));
        let blocks = |t: &Transfer| t.blocks.iter().any(|(b, _)| b.from == host || b.to == host);
        let uses = |t: &Transfer| sites(t) || blocks(t);
        self.transfers.iter().filter(|(_, t)| uses(t)).map(|(&id, _)| id).collect()
    }
}
