//! Dates from which the processors of every cluster are free.
//!
//! Interchangeable processors differ in that date only: a tournament finds in O(log h) the one of h that is
//! free first, the first in order among those free early enough, and the next one.

use super::ground::Ground;
use slackline_model::ProcId;

/// Processors of one kind in a cluster.
#[derive(Clone, Debug)]
pub(super) struct Alike {
    /// Their kind.
    pub(super) kind: usize,
    /// In rising order.
    pub(super) procs: Vec<ProcId>,
    /// Winners of the tournament: the first is the one at 1, those that meet for the place at k have
    /// 2k and 2k + 1; the last half are the processors.
    winners: Vec<f64>,
}

impl Alike {
    fn new(kind: usize, procs: Vec<ProcId>, now: f64) -> Alike {
        let leaves = procs.len().next_power_of_two();
        let mut alike = Alike { kind, winners: vec![f64::INFINITY; 2 * leaves], procs };
        (0..alike.procs.len()).for_each(|at| alike.set(at, now));
        alike
    }

    fn leaves(&self) -> usize {
        self.winners.len() / 2
    }

    fn set(&mut self, position: usize, free: f64) {
        let mut at = self.leaves() + position;
        self.winners[at] = free;
        while at > 1 {
            at /= 2;
            self.winners[at] = self.winners[2 * at].min(self.winners[2 * at + 1]);
        }
    }

    /// When the first of them is free.
    #[inline]
    pub(super) fn first_free(&self) -> f64 {
        self.winners[1]
    }

    /// The first in order that is free early enough; whoever is free earlier is, too.
    #[inline]
    pub(super) fn first(&self, early: impl Fn(f64) -> bool) -> Option<ProcId> {
        if !early(self.winners[1]) {
            return None;
        }
        let mut at = 1;
        while at < self.leaves() {
            at = if early(self.winners[2 * at]) { 2 * at } else { 2 * at + 1 };
        }
        self.procs.get(at - self.leaves()).copied()
    }

    /// When the first of the others is free.
    #[inline]
    fn first_besides(&self, position: usize) -> f64 {
        let (mut at, mut free) = (self.leaves() + position, f64::INFINITY);
        while at > 1 {
            free = free.min(self.winners[at ^ 1]);
            at /= 2;
        }
        free
    }
}

/// Position of a processor in the tournaments.
#[derive(Clone, Copy, Debug)]
struct Seat {
    cluster: u32,
    group: u32,
    position: u32,
}

/// The processors of all clusters; see the module's head.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    free: Vec<f64>,
    /// None for those of no cluster.
    seats: Vec<Option<Seat>>,
    /// Per cluster.
    groups: Vec<Vec<Alike>>,
}

impl Columns {
    /// All free from now on.
    pub(super) fn new(ground: &Ground<'_>) -> Columns {
        let mut seats = vec![None; ground.procs()];
        let mut groups = Vec::with_capacity(ground.clusters.len());
        for (index, cluster) in ground.clusters.iter().enumerate() {
            let mut kinds: Vec<(usize, Vec<ProcId>)> = Vec::new();
            for &proc in &cluster.procs {
                let kind = ground.kind(proc);
                let known = kinds.iter().position(|(other, _)| *other == kind);
                let group = known.unwrap_or_else(|| {
                    kinds.push((kind, Vec::new()));
                    kinds.len() - 1
                });
                let procs = &mut kinds[group].1;
                let position = procs.len() as u32;
                let seat = Seat { cluster: index as u32, group: group as u32, position };
                seats[proc.index()] = Some(seat);
                procs.push(proc);
            }
            let alike = |(kind, procs)| Alike::new(kind, procs, ground.now);
            groups.push(kinds.into_iter().map(alike).collect());
        }
        Columns { free: vec![ground.now; seats.len()], seats, groups }
    }

    /// From when on a processor is free.
    #[inline]
    pub(super) fn free(&self, proc: ProcId) -> f64 {
        self.free[proc.index()]
    }

    pub(super) fn set_free(&mut self, proc: ProcId, date: f64) {
        self.free[proc.index()] = date;
        if let Some(Seat { cluster, group, position }) = self.seats[proc.index()] {
            self.groups[cluster as usize][group as usize].set(position as usize, date);
        }
    }

    /// The processors of a cluster, by kind.
    #[inline]
    pub(super) fn of(&self, cluster: usize) -> &[Alike] {
        &self.groups[cluster]
    }

    /// Date at which the first other processor of a group of a cluster is free.
    #[inline]
    pub(super) fn first_besides(&self, cluster: usize, group: usize, proc: ProcId) -> f64 {
        let alike = &self.groups[cluster][group];
        match self.seats[proc.index()] {
            Some(seat) if (seat.cluster as usize, seat.group as usize) == (cluster, group) => {
                alike.first_besides(seat.position as usize)
            }
            _ => alike.first_free(),
        }
    }
}
