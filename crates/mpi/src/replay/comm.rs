//! Communicators, and whether their ranks agree on what they do together.

use crate::action::{Call, Kind};
use crate::collectives::Layout;
use slackline_model::HostId;
use std::collections::{HashMap, VecDeque};

/// An operation that the members of a communicator do together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Together {
    /// A collective: its root and, where all have the same, its bytes.
    Call(Kind, u32, u64),
    /// New communicators.
    Split,
    Dup,
    Create,
    Window,
}

impl Together {
    pub(super) fn of(call: &Call) -> Together {
        let bytes = match call.kind {
            Kind::Bcast | Kind::Reduce | Kind::Allreduce | Kind::ReduceScatter => call.bytes,
            _ => 0,
        };
        Together::Call(call.kind, if call.kind.has_root() { call.root } else { 0 }, bytes)
    }
}

impl std::fmt::Display for Together {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Together::Call(kind, root, bytes) => {
                write!(f, "{}", kind.name())?;
                if *bytes > 0 {
                    write!(f, " of {bytes} bytes")?;
                }
                if kind.has_root() { write!(f, " with root {root}") } else { Ok(()) }
            }
            Together::Split => f.write_str("comm_split"),
            Together::Dup => f.write_str("comm_dup"),
            Together::Create => f.write_str("comm_create"),
            Together::Window => f.write_str("comm_window"),
        }
    }
}

/// A joint operation that not all members have reached.
#[derive(Clone, Debug)]
struct Joint {
    what: Together,
    first: u32,
    arrived: u32,
    /// Colour and key of every member, while a communicator is split.
    colours: Vec<Option<(i32, i32)>>,
    /// Communicators made, by colour.
    made: HashMap<i32, u32>,
}

/// Communicators that the same members make, without the rest of the parent.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// Number of calls of each member.
    pub(super) begun: HashMap<u32, usize>,
    /// The communicator of each call.
    pub(super) made: Vec<u32>,
}

/// Ranks that talk to each other.
#[derive(Clone, Debug)]
pub(super) struct Comm {
    /// Ranks of the world; `None` for the world itself.
    members: Option<Vec<u32>>,
    index: HashMap<u32, u32>,
    pub(super) layout: Layout,
    /// Whether each member has been in a collective that queries the placement of ranks on hosts.
    pub(super) queried: Vec<bool>,
    /// Number of joint operations that each member has begun.
    begun: Vec<u64>,
    joints: VecDeque<Joint>,
    /// Number of the first of `joints`.
    base: u64,
}

impl Comm {
    pub(super) fn world(hosts: &[HostId]) -> Comm {
        Comm {
            members: None,
            index: HashMap::new(),
            layout: Layout::new(hosts.iter().map(|host| host.0)),
            queried: vec![false; hosts.len()],
            begun: vec![0; hosts.len()],
            joints: VecDeque::new(),
            base: 0,
        }
    }

    /// Some ranks of the world, whose hosts are given by `host`.
    pub(super) fn of(members: Vec<u32>, host: impl Fn(u32) -> HostId) -> Comm {
        let index = members.iter().enumerate().map(|(k, &rank)| (rank, k as u32)).collect();
        let layout = Layout::new(members.iter().map(|&rank| host(rank).0));
        let (queried, begun) = (vec![false; members.len()], vec![0; members.len()]);
        let (members, joints) = (Some(members), VecDeque::new());
        Comm { members, index, layout, queried, begun, joints, base: 0 }
    }

    pub(super) fn size(&self) -> usize {
        self.begun.len()
    }

    /// The rank of the world behind a rank of this communicator.
    #[inline]
    pub(super) fn global(&self, rank: u32) -> u32 {
        self.members.as_ref().map_or(rank, |members| members[rank as usize])
    }

    /// The rank here of a rank of the world that is a member.
    pub(super) fn local(&self, rank: u32) -> u32 {
        if self.members.is_none() { rank } else { self.index.get(&rank).copied().unwrap_or(0) }
    }

    /// A member begins what all do together: gives its number, or what another one does instead.
    pub(super) fn join(&mut self, me: u32, what: Together) -> Result<u64, (u32, Together)> {
        let number = self.begun[me as usize];
        self.begun[me as usize] += 1;
        let at = (number - self.base) as usize;
        if at == self.joints.len() {
            let (colours, made) = (Vec::new(), HashMap::new());
            self.joints.push_back(Joint { what, first: me, arrived: 0, colours, made });
        }
        let joint = &mut self.joints[at];
        if joint.what != what {
            return Err((joint.first, joint.what));
        }
        joint.arrived += 1;
        // What made communicators is kept: its members still ask for them.
        while let Some(front) = self.joints.front()
            && front.arrived as usize == self.begun.len()
            && matches!(front.what, Together::Call(..))
        {
            self.joints.pop_front();
            self.base += 1;
        }
        Ok(number)
    }

    /// A member says its colour and key in split `number`.
    pub(super) fn colour(&mut self, number: u64, me: u32, colour: Option<(i32, i32)>) {
        let size = self.size();
        let joint = &mut self.joints[(number - self.base) as usize];
        joint.colours.resize(size, None);
        joint.colours[me as usize] = colour;
    }

    /// Members of each colour, by rising colour; order by key, then rank. Ranks of the world.
    pub(super) fn groups(&self, number: u64) -> Vec<(i32, Vec<u32>)> {
        let mut all: Vec<(i32, i32, u32)> = Vec::new();
        for (me, colour) in self.joints[(number - self.base) as usize].colours.iter().enumerate() {
            if let Some((colour, key)) = *colour {
                all.push((colour, key, me as u32));
            }
        }
        all.sort_unstable();
        let mut groups: Vec<(i32, Vec<u32>)> = Vec::new();
        for (colour, _, me) in all {
            match groups.last_mut().filter(|group| group.0 == colour) {
                Some(group) => group.1.push(self.global(me)),
                None => groups.push((colour, vec![self.global(me)])),
            }
        }
        groups
    }

    /// The communicator made in `number` for a colour; the first call makes it.
    pub(super) fn made(&mut self, number: u64, colour: i32, make: impl FnOnce() -> u32) -> u32 {
        let joint = &mut self.joints[(number - self.base) as usize];
        *joint.made.entry(colour).or_insert_with(make)
    }
}
