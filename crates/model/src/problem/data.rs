//! Places of data, and the dates at which it can be elsewhere, for planners, bounds, the validator
//! and policies.

use super::{Block, DataCopy, Lanes, Problem, blocks};
use crate::ids::{EdgeId, FileId, HostId, ProcId, TaskId};
use crate::platform::Network;
use crate::workflow::Payload;

impl Problem<'_> {
    /// Seconds to move `bytes` from the processors of one task to those of another. Between
    /// single hosts the plain transfer; nothing when both use the same hosts; otherwise all hosts
    /// send and receive their shares at once, over their own links and those that they share.
    pub fn transfer_between(&self, bytes: f64, from: &[ProcId], to: &[ProcId]) -> f64 {
        self.payload_between(Payload::single(bytes), from, to)
    }

    /// Seconds to move files that leave together from the processors of one task to those of
    /// another.
    pub fn payload_between(&self, payload: Payload, from: &[ProcId], to: &[ProcId]) -> f64 {
        if let (&[a], &[b]) = (from, to) {
            return self.network.payload_time(payload, self.host_of(a), self.host_of(b));
        }
        self.redistribution(payload, &self.places_of(from), &self.places_of(to))
    }

    /// Seconds to move `bytes` to one host, which need not have processors.
    fn transfer_to_host(&self, bytes: f64, from: &[ProcId], host: HostId) -> f64 {
        match from {
            &[a] => self.transfer(bytes, self.host_of(a), host),
            _ => {
                let (whole, to) = (Payload::single(bytes), [self.platform.place_of(host)]);
                self.redistribution(whole, &self.places_of(from), &to)
            }
        }
    }

    /// Seconds to move the data of an edge; a pure control dependency takes no time.
    pub fn edge_transfer(&self, edge: EdgeId, from: &[ProcId], to: &[ProcId]) -> f64 {
        if self.workflow.is_control(edge) {
            0.0
        } else {
            self.payload_between(self.workflow.edge_payload(edge), from, to)
        }
    }

    /// Mean seconds that the data of an edge takes between processors.
    #[inline]
    pub fn mean_edge_transfer(&self, edge: EdgeId) -> f64 {
        if self.workflow.is_control(edge) {
            0.0
        } else {
            self.mean_payload_transfer(self.workflow.edge_payload(edge))
        }
    }

    /// Seconds to move `bytes` from some places to others, in equal blocks, if nothing else moves.
    /// If nothing is shared the slowest block counts; else the links of the hosts and those they
    /// share bound everything together, including data that could stay on a host.
    fn redistribution(&self, payload: Payload, from: &[HostId], to: &[HostId]) -> f64 {
        match (from, to) {
            (&[a], &[b]) => return self.network.payload_time(payload, a, b),
            (a, b) if a == b && self.network.local.is_empty() => return 0.0,
            // One parallel task, which waits for no link that it does not use.
            _ if payload.total == 0.0 => return 0.0,
            _ => {}
        }
        if let Network::Matrix(_) = self.platform.network() {
            // Every file is an operation of its own, and none disturbs another.
            return self.network.together(blocks(from, to, payload.largest).filter(Block::moves));
        }
        let group = |host: HostId| self.network.group_of[host.index()] as usize;
        let mut worst = 0.0f64;
        for (i, &a) in from.iter().enumerate() {
            // One host represents all of its group.
            if from[..i].iter().any(|&x| group(x) == group(a)) {
                continue;
            }
            for (j, &b) in to.iter().enumerate() {
                if to[..j].iter().any(|&y| group(y) == group(b)) {
                    continue;
                }
                let (pair, hosts) = ((group(a), group(b)), (from.len(), to.len()));
                let largest = || {
                    let moved = blocks(from, to, 1.0).filter(Block::moves);
                    moved.map(|block| block.bytes).fold(0.0, f64::max)
                };
                let share = match &self.bottlenecks {
                    Some(bottlenecks) => bottlenecks.share(pair, hosts, largest),
                    None => 1.0 / from.len().min(to.len()) as f64,
                };
                let other = |c: &&HostId| **c != a && group(**c) == group(b);
                if let Some(&b) = to.iter().find(other) {
                    worst = worst.max(self.network.payload_time(payload.scaled(share), a, b));
                } else if let Some(&a) = from.iter().find(|&&c| c != b && group(c) == group(a)) {
                    worst = worst.max(self.network.payload_time(payload.scaled(share), a, b));
                }
            }
        }
        worst
    }

    /// The places of some processors, each by its first host, sorted.
    pub fn places_of(&self, procs: &[ProcId]) -> Vec<HostId> {
        let place = |p: &ProcId| self.platform.place_of(self.host_of(*p));
        let mut places: Vec<HostId> = procs.iter().map(place).collect();
        places.sort_unstable();
        places.dedup();
        places
    }

    /// Returns the date at which a file that exists can be at the place of a host if nothing else
    /// moves: the inputs of the workflow, and results of finished tasks. Infinite where no copy is
    /// left.
    pub fn arrival(&self, file: FileId, host: HostId) -> f64 {
        let unwritten = self.workflow.producer(file).is_none();
        if unwritten && !self.state.inputs_listed {
            return self.state.now;
        }
        let bytes = self.workflow.file_bytes(file);
        let copies = self.state.copies_of(file).iter();
        let from = copies.map(|c| c.at.max(self.state.now) + self.transfer(bytes, c.host, host));
        let made =
            self.workflow.producer(file).and_then(|p| self.state.fixed(p)).map(|p| {
                p.finish.max(self.state.now) + self.transfer_to_host(bytes, p.procs(), host)
            });
        from.chain(made).fold(f64::INFINITY, f64::min)
    }

    /// Returns the date at which a file can be at several processors, which read it in equal blocks
    /// where they are at several places.
    pub fn arrival_at(&self, file: FileId, procs: &[ProcId]) -> f64 {
        let places = self.places_of(procs);
        if let &[place] = places.as_slice() {
            return self.arrival(file, procs.first().map_or(place, |&p| self.host_of(p)));
        }
        if self.workflow.producer(file).is_none() && !self.state.inputs_listed {
            return self.state.now;
        }
        let bytes = self.workflow.file_bytes(file);
        let from = |copy: &DataCopy| {
            let source = [self.platform.place_of(copy.host)];
            let whole = Payload::single(bytes);
            copy.at.max(self.state.now) + self.redistribution(whole, &source, &places)
        };
        self.state.copies_of(file).iter().map(from).fold(f64::INFINITY, f64::min)
    }

    /// Returns the date at which the data of an edge is at the processors of its reader, if its
    /// producer ends at `finish` on `from`: all of it from there, but for files that a copy brings
    /// sooner.
    pub fn edge_arrival(&self, edge: EdgeId, finish: f64, from: &[ProcId], to: &[ProcId]) -> f64 {
        // Transfers that have not begun cannot begin in the past.
        let finish = finish.max(self.state.now);
        if self.workflow.is_control(edge) {
            return finish;
        }
        match to.first() {
            Some(_) if !self.state.copies.is_empty() && self.at_one_place(to) => {
                self.sooner_by_copies(self.files_of(edge), finish, from, to)
            }
            _ => finish + self.payload_between(self.workflow.edge_payload(edge), from, to),
        }
    }

    /// Computes [`edge_arrival`](Self::edge_arrival) for the first processor of every host that has
    /// one and passes it to `later`; copies are looked up once.
    pub fn edge_arrivals(
        &self,
        edge: EdgeId,
        finish: f64,
        from: &[ProcId],
        mut later: impl FnMut(HostId, f64),
    ) {
        let files: Vec<_> = self.files_of(edge).collect();
        let copied = files.iter().any(|(_, copies)| !copies.is_empty());
        for host in self.platform.host_ids() {
            let Some(first) = self.procs_of(host).next() else { continue };
            let to = [ProcId(first)];
            let arrival = if copied && !self.workflow.is_control(edge) {
                let finish = finish.max(self.state.now);
                self.sooner_by_copies(files.iter().copied(), finish, from, &to)
            } else {
                self.edge_arrival(edge, finish, from, &to)
            };
            later(host, arrival);
        }
    }

    /// The sizes of the files of an edge, and where copies of them are.
    fn files_of(&self, edge: EdgeId) -> impl Iterator<Item = (f64, &[DataCopy])> {
        let files = self.workflow.edge_files(edge);
        files.map(|file| (self.workflow.file_bytes(file), self.state.copies_of(file)))
    }

    /// Returns the date at which all of some files are at one place: those that copies bring sooner
    /// from there, the others together from the place of their producer.
    #[inline]
    fn sooner_by_copies<'c>(
        &self,
        files: impl Iterator<Item = (f64, &'c [DataCopy])>,
        finish: f64,
        from: &[ProcId],
        to: &[ProcId],
    ) -> f64 {
        let host = self.host_of(to[0]);
        let (mut latest, mut left) = (0.0f64, Payload::single(0.0));
        let mut all_copied = true;
        for (size, copies) in files {
            let direct = finish + self.transfer_between(size, from, to);
            let copied = copies
                .iter()
                .map(|c| c.at.max(self.state.now) + self.transfer(size, c.host, host))
                .fold(f64::INFINITY, f64::min);
            if copied < direct {
                latest = latest.max(copied);
            } else {
                left = left.and(Payload::single(size));
                all_copied = false;
            }
        }
        if all_copied { latest } else { latest.max(finish + self.payload_between(left, from, to)) }
    }

    pub(super) fn at_one_place(&self, procs: &[ProcId]) -> bool {
        let place = |p: ProcId| self.platform.place_of(self.host_of(p));
        procs.iter().all(|&p| place(p) == place(procs[0]))
    }

    /// The inputs of an unfinished task that no task writes and that are not everywhere.
    #[inline]
    pub fn staged_inputs(&self, task: TaskId) -> &[FileId] {
        self.staged.of_task(task)
    }

    /// Whether some unfinished task has such inputs.
    pub fn has_staging(&self) -> bool {
        self.staged.any()
    }

    /// Earliest date at which the staged inputs of a task can be on a host, if nothing else moves.
    pub fn staged_arrival(&self, task: TaskId, host: HostId) -> f64 {
        let inputs = self.staged_inputs(task).iter();
        inputs.map(|&file| self.arrival(file, host)).fold(0.0, f64::max)
    }

    /// The links on which inputs queue when they leave the origin.
    pub fn lanes(&self) -> Option<&Lanes> {
        self.lanes.as_deref()
    }
}
