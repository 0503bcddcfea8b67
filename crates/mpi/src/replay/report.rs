//! Results and errors of a replay.

use super::mail::{Message, NONE, flag};
use super::{Replay, TALK};
use crate::action::{Activity, Kind};
use slackline_io::FormatError;
use slackline_simulate::SimulationError;
use thiserror::Error;

/// Receives the actions of all ranks.
pub trait Observer {
    /// An action of a rank, from `start` to `end`.
    fn action(&mut self, rank: u32, activity: Activity, start: f64, end: f64);
}

impl Observer for () {
    fn action(&mut self, _: u32, _: Activity, _: f64, _: f64) {}
}

/// A choice of algorithm.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Explained {
    /// The collective.
    pub kind: Kind,
    /// Number of ranks.
    pub ranks: usize,
    /// The size in bytes by which it was selected.
    pub bytes: u64,
    /// Name of the algorithm.
    pub algorithm: &'static str,
    /// Name of the selector that chose it.
    pub by: &'static str,
}

/// The results of a replay.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// End of the last action of any rank, seconds.
    pub makespan: f64,
    /// End of the last action of every rank, seconds.
    pub ends: Vec<f64>,
    /// Actions replayed.
    pub actions: u64,
    /// The end of every action of every rank, `init` and `finalize` left out.
    pub dates: Option<Vec<Vec<f64>>>,
    /// Seconds of every rank by [`Activity::index`].
    pub times: Vec<[f64; Activity::COUNT]>,
    /// Choices of algorithms and how often they were made.
    pub explained: Option<Vec<(Explained, u64)>>,
}

/// The reason why a replay cannot continue.
#[derive(Clone, Debug, Error)]
pub enum ReplayError {
    /// The trace is wrong.
    #[error(transparent)]
    Input(#[from] FormatError),
    /// More ranks than places for them.
    #[error("{ranks} ranks, but the hosts given have room for {places}")]
    TooFewHosts {
        /// Ranks of the trace.
        ranks: usize,
        /// Places.
        places: usize,
    },
    /// No rank can continue.
    #[error("deadlock at {date} s, ranks that wait for ever: {}\n{}", .blocked.len(), .blocked.join("\n"))]
    Deadlock {
        /// Date of the last event, seconds.
        date: f64,
        /// Every rank that waits: where, what it does and what it waits for.
        blocked: Vec<String>,
    },
    /// Messages or receives are left over.
    #[error("messages left over at the end: {}\n{}", .0.len(), .0.join("\n"))]
    Unmatched(Vec<String>),
    /// A host or a link went off.
    #[error("at {date} s {what} broke off: something it needs is off (host `{host}`)")]
    Broken {
        /// Date, seconds.
        date: f64,
        /// The operation that failed.
        what: String,
        /// The host of the rank that failed or sent.
        host: String,
    },
    /// A running program failed.
    #[error("{0}")]
    Program(String),
    /// The simulation failed.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
}

pub(super) fn conclude(replay: Replay<'_>) -> Result<Replayed, ReplayError> {
    let ranks = replay.ranks;
    if replay.agents[..ranks].iter().any(|agent| !agent.over) {
        return Err(deadlock(&replay));
    }
    let left = replay.mail.unmatched();
    if !left.is_empty() && replay.program.is_none() {
        let say = |m: &Message| {
            let sent = m.flags & flag::SENT != 0;
            let message = if sent {
                format!(
                    "rank {} sent {} bytes to rank {} (tag {}), which never receives them",
                    m.src, m.bytes, m.dst, m.tag
                )
            } else {
                format!("rank {} waits for {}, which never comes", m.dst, expected(m))
            };
            let rank = if sent { m.src } else { m.dst };
            match &replay.agents[rank as usize].cursor {
                Some(feed) => feed.error_of(rank, m.line, message).to_string(),
                None => message,
            }
        };
        return Err(ReplayError::Unmatched(left.iter().map(say).collect()));
    }
    let ends: Vec<f64> = replay.agents[..ranks].iter().map(|agent| agent.end).collect();
    Ok(Replayed {
        makespan: ends.iter().copied().fold(0.0, f64::max),
        ends,
        actions: replay.actions,
        dates: replay.dates,
        times: replay.agents[..ranks].iter().map(|agent| agent.times).collect(),
        explained: replay.explained.map(|map| map.into_iter().collect()),
    })
}

fn expected(m: &Message) -> String {
    let tag = if m.tag < 0 { "any tag".to_owned() } else { format!("tag {}", m.tag) };
    let what = if m.context % 2 == TALK { "a message" } else { "a part of a collective" };
    match m.src {
        NONE => format!("{what} from any source ({tag})"),
        src => format!("{what} from rank {src} ({tag})"),
    }
}

fn deadlock(replay: &Replay<'_>) -> ReplayError {
    let mut blocked = Vec::new();
    for (rank, agent) in replay.agents[..replay.ranks].iter().enumerate() {
        if agent.over {
            continue;
        }
        let mut waits: Vec<String> = Vec::new();
        for m in replay.mail.waited_for(rank as u32) {
            waits.push(if m.receiver == rank as u32 && m.flags & flag::RECEIVER_WAITS != 0 {
                expected(&m)
            } else {
                format!("rank {} to receive {} bytes (tag {})", m.dst, m.bytes, m.tag)
            });
        }
        waits.extend(replay.watched_for(rank).as_ref().map(expected));
        waits.truncate(8);
        let waits = if waits.is_empty() { "others".to_owned() } else { waits.join(", ") };
        let doing = agent.line.action.activity().name();
        let message = format!("rank {rank} waits in {doing} for {waits}");
        blocked.push(replay.error(rank, message).to_string());
    }
    ReplayError::Deadlock { date: replay.simulation.clock(), blocked }
}
