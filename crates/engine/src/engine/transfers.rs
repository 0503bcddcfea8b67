//! Files on their way: a transfer is one block between two hosts, or the blocks that turn one
//! spread over hosts into another, and one operation in any case.

use super::learn::NEARLY;
use super::{Engine, Op};
use crate::backend::{BackendError, Movement, OpError, OpId, Report};
use crate::bandwidth_estimation::Departure;
use slackline_model::problem::Block;
use slackline_model::trace::Happening;
use slackline_model::{FileId, HostId, TaskId};
use slackline_react::{Event, FileCopy, Holders};

/// A file on its way.
pub(super) struct Transfer {
    pub(super) file: FileId,
    pub(super) from: Holders,
    pub(super) to: Holders,
    pub(super) blocks: Box<[Block]>,
    pub(super) op: OpId,
    /// Sample it yields for bandwidth estimation when done.
    pub(super) departure: Option<Box<Departure>>,
}

impl Transfer {
    fn bytes(&self) -> f64 {
        self.blocks.iter().map(|block| block.bytes).sum()
    }

    /// Whether a host sends or receives some of it.
    pub(super) fn uses(&self, host: HostId) -> bool {
        self.blocks.iter().any(|block| block.from == host || block.to == host)
    }
}

impl Engine<'_, '_> {
    /// Starts a transfer of a file, unless one is under way; returns its number. None where no source is left, storage has
    /// no room, or the transfer rests after a failure.
    pub(super) fn fetch(
        &mut self,
        file: FileId,
        from: Option<HostId>,
        to: &Holders,
    ) -> Result<Option<u64>, BackendError> {
        if let Some(&under_way) = self.movements.arriving.get(&(file, to.clone())) {
            return Ok(Some(under_way));
        }
        if self.attempts.rests_moving(file, to) || !self.makes_room(file, to)? {
            return Ok(None);
        }
        let mut wanted = from.map(Holders::Host);
        loop {
            let Some(from) = wanted.take().or_else(|| self.source_of(file, to)) else {
                return Ok(None);
            };
            // Copies may have disappeared unnoticed: check the source.
            let gone = from.hosts().iter().fold(false, |gone, &h| self.notice_gone(file, h) | gone);
            if !gone && self.begin_transfer(file, from, to)? {
                return Ok(self.movements.arriving.get(&(file, to.clone())).copied());
            }
        }
    }

    /// Requests a transfer from the backend; false where its source turned out to be gone, so that another is to be tried.
    fn begin_transfer(
        &mut self,
        file: FileId,
        from: Holders,
        to: &Holders,
    ) -> Result<bool, BackendError> {
        self.count_if_left_behind(file, &from);
        let id = self.movements.next_transfer;
        self.movements.next_transfer += 1;
        let bytes = self.situation.workflow.file_bytes(file);
        let charged = self.situation.charges_local();
        let moved = from.blocks_to(to, bytes).filter(|b| b.moves() || charged);
        let alive = |place: HostId| self.situation.living_host(place).unwrap_or(place);
        let blocks: Box<[Block]> =
            moved.map(|b| Block { from: alive(b.from), to: alive(b.to), ..b }).collect();
        let since = self.begun_at(file, &from);
        let op = self.new_op(Op::Transfer(id));
        match self.backend.transfer(op, Movement { file, blocks: &blocks, since }) {
            Ok(_) => {}
            Err(OpError::Lost { host: Some(host), .. }) => {
                self.operations.ops.remove(&op);
                self.found_gone(host, self.situation.now)?;
                return Ok(to.touches(host)); // if the target is gone, no source helps
            }
            Err(error) => {
                self.operations.ops.remove(&op);
                self.move_failed(file, from, to, &error)?;
                return Ok(true);
            }
        }
        for &Block { from, to, bytes } in &*blocks {
            self.log(Happening::TransferStarted { file, from, to, bytes });
        }
        self.movements.arriving.insert((file, to.clone()), id);
        let copies = &mut self.situation.copies[file.index()];
        copies.retain(|c| c.holders != *to || (from == *to && c.from.is_none()));
        copies.reserve_exact(1); // mostly the last one
        let (holders, source) = (to.clone(), Some(from.clone()));
        copies.push(FileCopy { holders, from: source, fraction: 0.0, turn: id });
        let departure = self.departs(&blocks).map(Box::new);
        let to = to.clone();
        self.movements.transfers.insert(id, Transfer { file, from, to, blocks, op, departure });
        Ok(true)
    }

    /// Since when a transfer that is asked for now counts as begun.
    fn begun_at(&self, file: FileId, from: &Holders) -> f64 {
        let made_there = |c: &FileCopy| c.holders == *from && c.from.is_none();
        if self.settings.anticipated && self.situation.copies[file.index()].iter().any(made_there) {
            return self.situation.made_at(file);
        }
        self.situation.now
    }

    /// Counts a copy that a migration left behind as used.
    pub(super) fn count_if_left_behind(&mut self, file: FileId, holders: &Holders) {
        if let Some(used) = self.movements.left_behind.get_mut(&(file, holders.clone()))
            && !std::mem::replace(used, true)
        {
            self.recorder.counters.copies_used += 1;
        }
    }

    /// The source of a transfer: that of the plan, else the host of the producer, else the copy of the shortest transfer
    /// (ties: lower holders). Sources from which a transfer failed before are used only if there are no others.
    fn source_of(&self, file: FileId, to: &Holders) -> Option<Holders> {
        let all = || {
            let sources = self.situation.sources(file).filter(|s| !self.is_lost(s));
            sources.filter(|s| self.attempts.may_come(s, to))
        };
        let any_fresh = all().any(|s| self.attempts.is_fresh(file, s, to));
        let sources = || all().filter(|s| !any_fresh || self.attempts.is_fresh(file, s, to));
        let wanted = to.host().and_then(|to| self.queues.source(file, to));
        let wanted = wanted.map(|from| Holders::Host(self.situation.place_of(from)));
        let producer = self.situation.workflow.producer(file);
        let made_at = producer.and_then(|p| self.situation.task(p).procs());
        let made_at = made_at.map(|procs| self.situation.holders_of(procs));
        if let Some(source) =
            [wanted, made_at].into_iter().flatten().find(|s| sources().any(|x| x == s))
        {
            return Some(source);
        }
        let bytes = self.situation.workflow.file_bytes(file);
        let network = &self.situation.view.network;
        let seconds =
            |from: &Holders| network.together(from.blocks_to(to, bytes).filter(Block::moves));
        sources().min_by(|a, b| seconds(a).total_cmp(&seconds(b)).then(a.cmp(b))).cloned()
    }

    pub(super) fn file_arrived(&mut self, id: u64, at: f64, report: &Report) {
        let Some(transfer) = self.movements.transfers.remove(&id) else { return };
        let Transfer { file, from, to, blocks, departure, .. } = transfer;
        self.learn_connection(departure.map(|departure| *departure), &blocks, at, report);
        // Where the actual size differs from the stated one, all blocks are scaled alike.
        let stated: f64 = blocks.iter().map(|block| block.bytes).sum();
        let weighs = |bytes: f64| {
            let (_, all) = report.sizes.first()?;
            let even = all / blocks.len() as f64;
            let real = if stated > 0.0 { bytes * (all / stated) } else { even };
            (real != bytes).then_some(real)
        };
        for &Block { from, to, bytes } in &*blocks {
            let real = weighs(bytes);
            self.recorder.counters.bytes_moved += real.unwrap_or(bytes);
            self.log(Happening::TransferFinished { file, from, to, bytes: real });
        }
        for &host in from.hosts().iter().chain(to.hosts()) {
            self.found_there(host, at);
        }
        to.hosts().iter().for_each(|&host| self.monitor.is_there(file, host));
        self.move_succeeded(file, &to);
        self.movements.arriving.remove(&(file, to.clone()));
        self.movements.asked.remove(&id);
        self.recorder.counters.transfers += 1;
        let arriving = |c: &&mut FileCopy| c.holders == to && !c.is_complete();
        if let Some(copy) = self.situation.copies[file.index()].iter_mut().find(arriving) {
            copy.fraction = 1.0;
        }
        let mut readers: Vec<TaskId> = Vec::new();
        for consumer in self.situation.workflow.consumers(file) {
            let procs = self.queues.assigned(consumer);
            if procs.is_some_and(|procs| self.situation.holders_of(procs) == to) {
                readers.push(consumer);
            }
        }
        readers.into_iter().for_each(|reader| self.touch_reader(reader));
        self.instant.events.push(Event::TransferFinished { file, to });
    }

    /// A transfer failed: the policy is notified, and readers may request it again.
    pub(super) fn transfer_failed(&mut self, id: u64, error: &OpError) -> Result<(), BackendError> {
        let Some(transfer) = self.movements.transfers.get(&id) else { return Ok(()) };
        let (file, from, to) = (transfer.file, transfer.from.clone(), transfer.to.clone());
        self.end_transfer(id, &error.to_string());
        if !matches!(error, OpError::Lost { host: Some(_), .. }) {
            self.move_failed(file, from, &to, error)?;
        }
        self.queues.look_again();
        self.instant.events.push(Event::TransferFailed { file, to });
        Ok(())
    }

    /// Stops a transfer and discards the part that had arrived.
    pub(super) fn break_off(&mut self, id: u64, why: &str) -> Result<(), BackendError> {
        let Some(op) = self.end_transfer(id, why) else { return Ok(()) };
        if let Some(state) = self.operations.ops.get_mut(&op) {
            *state = Op::Ending;
            self.backend.cancel(op)?;
        }
        Ok(())
    }

    /// Removes a transfer and the part that had arrived; returns its operation.
    fn end_transfer(&mut self, id: u64, why: &str) -> Option<OpId> {
        let mut transfer = self.movements.transfers.remove(&id)?;
        self.departure_failed(transfer.departure.take().map(|departure| *departure));
        let file = transfer.file;
        let share = self.measure(transfer.op);
        let received = share * transfer.bytes();
        self.recorder.counters.lost_bytes += received;
        self.recorder.counters.bytes_moved += received;
        for block in &*transfer.blocks {
            let (from, to, reason) = (block.from, block.to, why.to_string());
            let bytes = share * block.bytes;
            self.log(Happening::TransferFailed { file, from, to, bytes, reason });
        }
        self.movements.arriving.remove(&(file, transfer.to.clone()));
        self.movements.asked.remove(&id);
        let copies = &mut self.situation.copies[file.index()];
        copies.retain(|c| c.holders != transfer.to || c.is_complete());
        Some(transfer.op)
    }

    /// Stops transfers to hosts where no task of the plan reads the file any more.
    pub(super) fn break_off_orphans(&mut self) -> Result<(), BackendError> {
        let workflow = self.situation.workflow.clone();
        let wanted = |t: &Transfer| {
            workflow.consumers(t.file).any(|c| {
                self.queues
                    .assigned(c)
                    .is_some_and(|procs| self.situation.holders_of(procs) == t.to)
            })
        };
        let orphans: Vec<u64> = self
            .movements
            .transfers
            .iter()
            .filter(|(id, t)| !self.movements.asked.contains(id) && !wanted(t))
            .map(|(&id, _)| id)
            .collect();
        for id in orphans {
            self.break_off(id, "no longer wanted")?;
        }
        Ok(())
    }

    /// The share of a transfer that is done, extrapolated from its time and the learned bandwidth, where the backend
    /// cannot measure it.
    pub(super) fn learned_passed(&self, id: u64) -> Option<f64> {
        let transfer = self.movements.transfers.get(&id).filter(|_| self.abilities.guesses)?;
        let elapsed = self.situation.now - transfer.departure.as_ref()?.date();
        let whole = self.situation.view.network.together(transfer.blocks.iter().copied());
        (whole > 0.0).then(|| (elapsed / whole).clamp(0.0, NEARLY))
    }

    /// Transfers that use a host.
    pub(super) fn transfers_of(&self, host: HostId) -> Vec<u64> {
        self.movements.transfers.iter().filter(|(_, t)| t.uses(host)).map(|(&id, _)| id).collect()
    }

    /// The operation of a transfer is gone with a host.
    pub(super) fn transfer_lost(&mut self, id: u64) -> Result<(), BackendError> {
        if let Some(op) = self.movements.transfers.get(&id).map(|t| t.op) {
            self.operations.ops.remove(&op);
            // Only the variant is read: the loss of the host is known already.
            let error = OpError::Lost { host: Some(HostId(0)), why: "a host is gone".to_string() };
            self.transfer_failed(id, &error)?;
        }
        Ok(())
    }
}
