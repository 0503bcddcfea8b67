//! Scripts, and the team through which algorithms write them: one rank, with the placement of all ranks on hosts.

use super::choice::{Choice, Ranks, Selector};
use crate::action::{Call, Kind};
use std::cell::Cell;

/// One step of a rank inside a collective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// Begins to send.
    Isend {
        /// Destination.
        to: u32,
        /// Size.
        bytes: u64,
    },
    /// Begins to receive.
    Irecv {
        /// Source.
        from: u32,
    },
    /// Sends.
    Send {
        /// Destination.
        to: u32,
        /// Size.
        bytes: u64,
    },
    /// Sends and waits for the receiver.
    Ssend {
        /// Destination.
        to: u32,
        /// Size.
        bytes: u64,
    },
    /// Receives.
    Recv {
        /// Source.
        from: u32,
    },
    /// Waits for requests of this script, counted from its first.
    Wait {
        /// The first.
        first: u32,
        /// Their number.
        count: u32,
    },
    /// Computes, flop.
    Compute(f64),
}

/// The steps of one rank, in order.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// The steps.
    pub ops: Vec<Op>,
    /// Number of requests posted.
    posted: u32,
    /// Requests below this number are covered by a `waitall`.
    waited: u32,
    /// Whether the computation of a reduction is in the script already.
    computed: bool,
}

impl Script {
    /// Removes all steps; the memory is kept.
    pub fn clear(&mut self) {
        *self = Script { ops: std::mem::take(&mut self.ops), ..Script::default() };
        self.ops.clear();
    }

    /// Appends the computation of a reduction, in flop, unless the algorithm has placed it with [`Team::compute`].
    pub fn finish(&mut self, flops: f64) {
        if flops > 0.0 && !self.computed {
            self.ops.push(Op::Compute(flops));
        }
    }
}

/// The placement of the members of a communicator on hosts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// Host of every rank, numbered from 0 in order of first appearance.
    pub node: Vec<u32>,
    /// Ranks of every host, rising.
    pub members: Vec<Vec<u32>>,
}

impl Layout {
    /// The layout of ranks on hosts, given by the host of each rank.
    pub fn new(hosts: impl Iterator<Item = u32>) -> Layout {
        let mut known = std::collections::HashMap::new();
        let mut layout = Layout::default();
        for (rank, host) in hosts.enumerate() {
            let next = known.len() as u32;
            let node = *known.entry(host).or_insert(next);
            layout.node.push(node);
            if node == next {
                layout.members.push(Vec::new());
            }
            layout.members[node as usize].push(rank as u32);
        }
        layout
    }

    /// Returns the number of ranks on every host; `None` where they differ.
    pub fn per_host(&self) -> Option<usize> {
        let first = self.members.first()?.len();
        self.members.iter().all(|members| members.len() == first).then_some(first)
    }
}

/// One rank of a group that runs a collective, writing its script.
pub struct Team<'a> {
    /// My rank.
    pub me: usize,
    /// Number of ranks in the team.
    pub size: usize,
    /// Ranks of the communicator behind the team's; `None` when they are the same.
    members: Option<Vec<u32>>,
    layout: &'a Layout,
    choice: &'a Choice,
    /// Whether any rank of this communicator has queried the placement on hosts.
    queried: &'a Cell<bool>,
    script: &'a mut Script,
}

impl<'a> Team<'a> {
    /// All of a communicator, seen by `me`.
    pub fn new(
        me: u32,
        layout: &'a Layout,
        choice: &'a Choice,
        queried: &'a Cell<bool>,
        script: &'a mut Script,
    ) -> Team<'a> {
        let size = layout.node.len();
        Team { me: me as usize, size, members: None, layout, choice, queried, script }
    }

    /// The rank in the communicator of a rank of this team.
    fn real(&self, rank: usize) -> u32 {
        self.members.as_ref().map_or(rank as u32, |members| members[rank])
    }

    /// All ranks other than this one, ascending.
    pub fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let me = self.me;
        (0..self.size).filter(move |&rank| rank != me)
    }

    /// Returns the hosts of all, by ranks of the communicator.
    pub fn layout(&self) -> &'a Layout {
        self.layout
    }

    /// My rank in the communicator.
    pub fn my_real_rank(&self) -> u32 {
        self.real(self.me)
    }

    /// Ranks of this team per host, in order of first appearance.
    pub fn nodes(&self) -> Vec<Vec<usize>> {
        self.queried.set(true);
        let layout = self.own_layout();
        layout.members.iter().map(|m| m.iter().map(|&r| r as usize).collect()).collect()
    }

    /// The hosts as some algorithms assume them, from the number of ranks per host alone: blocks of successive ranks of
    /// that size, single ranks where hosts have different numbers.
    pub fn blocks(&self) -> Vec<Vec<usize>> {
        self.queried.set(true);
        let ranks: Vec<usize> = (0..self.size).collect();
        ranks.chunks(self.per_host().unwrap_or(1).max(1)).map(<[usize]>::to_vec).collect()
    }

    fn own_layout(&self) -> Layout {
        let hosts = (0..self.size).map(|rank| self.layout.node[self.real(rank) as usize]);
        Layout::new(hosts)
    }

    /// Returns the number of ranks of the team on every host; `None` where they differ.
    pub fn per_host(&self) -> Option<usize> {
        self.own_layout().per_host()
    }

    /// Runs an algorithm on some members of this team as a team of their own; does nothing on
    /// other ranks.
    pub fn within(&mut self, ranks: &[usize], work: impl FnOnce(&mut Team<'_>)) {
        let Some(me) = ranks.iter().position(|&rank| rank == self.me) else { return };
        let members = Some(ranks.iter().map(|&rank| self.real(rank)).collect());
        // It stands for a new communicator, in which no rank has queried the placement yet.
        let queried = Cell::new(false);
        let mut team = Team {
            me,
            size: ranks.len(),
            members,
            layout: self.layout,
            choice: self.choice,
            queried: &queried,
            script: &mut *self.script,
        };
        work(&mut team);
    }

    /// Runs another collective inside this one, by the algorithm that is selected for it.
    pub fn run(&mut self, call: &Call) {
        self.run_by(self.choice, call);
    }

    /// Runs another collective inside this one, by the algorithm that the given selector selects.
    pub fn run_as(&mut self, selector: Selector, call: &Call) {
        self.run_by(&Choice::of(selector), call);
    }

    fn run_by(&mut self, choice: &Choice, call: &Call) {
        let per_host = || self.per_host();
        let ranks = Ranks::new(self.size, &per_host, self.queried);
        let algorithm = choice.select(call, &ranks).algorithm;
        algorithm(call, self);
    }

    /// Whether a setting names the algorithm of a collective, so that no selector is used.
    pub fn has_fixed(&self, kind: Kind) -> bool {
        self.choice.has_fixed(kind)
    }

    /// A barrier inside a collective.
    pub fn barrier(&mut self) {
        self.run(&Call::new(Kind::Barrier, 0));
    }

    /// Places the computation here rather than at the end of the script.
    pub fn compute(&mut self, flops: f64) {
        self.script.computed = true;
        self.script.ops.push(Op::Compute(flops));
    }

    /// Posts a send; gives the number of its request.
    pub fn isend(&mut self, to: usize, bytes: u64) -> u32 {
        let to = self.real(to);
        self.script.ops.push(Op::Isend { to, bytes });
        self.script.posted += 1;
        self.script.posted - 1
    }

    /// Posts a receive; gives the number of its request.
    pub fn irecv(&mut self, from: usize) -> u32 {
        let from = self.real(from);
        self.script.ops.push(Op::Irecv { from });
        self.script.posted += 1;
        self.script.posted - 1
    }

    /// Sends.
    pub fn send(&mut self, to: usize, bytes: u64) {
        let to = self.real(to);
        self.script.ops.push(Op::Send { to, bytes });
    }

    /// Sends and waits for the receiver.
    pub fn ssend(&mut self, to: usize, bytes: u64) {
        let to = self.real(to);
        self.script.ops.push(Op::Ssend { to, bytes });
    }

    /// Receives.
    pub fn recv(&mut self, from: usize) {
        let from = self.real(from);
        self.script.ops.push(Op::Recv { from });
    }

    /// Sends and receives at once.
    pub fn sendrecv(&mut self, to: usize, bytes: u64, from: usize) {
        let first = self.isend(to, bytes);
        self.irecv(from);
        self.script.ops.push(Op::Wait { first, count: 2 });
    }

    /// Waits for one request.
    pub fn wait(&mut self, request: u32) {
        self.script.ops.push(Op::Wait { first: request, count: 1 });
    }

    /// Waits for everything posted since the last time.
    pub fn waitall(&mut self) {
        let (first, posted) = (self.script.waited, self.script.posted);
        if posted > first {
            self.script.ops.push(Op::Wait { first, count: posted - first });
        }
        self.script.waited = posted;
    }
}
