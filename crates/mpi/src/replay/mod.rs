//! The replay: ranks that work through their traces on a simulated platform.
//!
//! Every rank has a cursor into its trace and a clock of its own, and advances until it has to wait
//! for another. Computations without contention only move its clock. A message enters the
//! simulation once both sides are known, as a flow that begins when its protocol says. So a rank is
//! woken for a wait that ends, and for nothing else.
//!
//! A rank must not act ahead of the simulation where time decides (receives from any source, tests,
//! InfiniBand's penalties), nor run far ahead with sends without receivers: it then sleeps until
//! the simulation has caught up.

mod agent;
mod comm;
pub mod live;
mod mail;
mod perform;
mod report;

pub use report::{Explained, Observer, ReplayError, Replayed};

use crate::action::{Activity, Line};
use crate::collectives::Op;
use crate::settings::ReplaySettings;
use crate::trace::{Cursor, Traces, Version};
use agent::{Agent, Pending};
use comm::{Comm, Group};
use live::{Live, Program};
use mail::{ANY_SIZE, Handle, Mail, Message, flag};
use slackline_io::FormatError;
use slackline_model::activity::{Activity as Simulated, Exec, Transfer};
use slackline_model::{HostId, Platform};
use slackline_simulate::{Event, Simulation, Step};
use std::collections::{BTreeMap, HashMap};

/// Sends that a rank may be ahead with.
const AHEAD: u32 = 64;

/// Kinds of tags of simulated activities, in the upper half.
const WAKE: u64 = 1 << 32;
const LOOK: u64 = 2 << 32;
const POLL: u64 = 3 << 32;

/// Context of point-to-point messages and of collectives in a communicator.
const TALK: u32 = 0;
const CHORUS: u32 = 1;

/// A replay that has not yet run.
pub struct Replay<'p> {
    simulation: Simulation,
    settings: ReplaySettings,
    agents: Vec<Agent>,
    /// The first this many agents are the ranks; others do collectives in the background.
    ranks: usize,
    comms: Vec<Comm>,
    /// Communicators that only their members make, by the parent and the members.
    groups: HashMap<(u32, Vec<u32>), Group>,
    mail: Mail,
    ready: Vec<u32>,
    /// Events of the present date.
    events: Vec<Event>,
    /// Marks of agents, all off between uses.
    listed: Vec<bool>,
    /// Ranks act at the simulation's date only.
    strict: bool,
    /// Whether any rank has waited for a message without a receive (probed for one).
    watched: bool,
    /// Flows under way per host they leave, where that matters.
    leaving: Vec<u32>,
    /// Failed tests since a successful one, of all ranks.
    failures: f64,
    actions: u64,
    dates: Option<Vec<Vec<f64>>>,
    explained: Option<BTreeMap<Explained, u64>>,
    /// Failed probes since a successful one, of all ranks.
    missed: f64,
    /// The program that runs, where there is no trace.
    program: Option<&'p mut dyn Program>,
    /// Ranks whose action is over but for data that others have yet to supply.
    parked: Vec<u32>,
    /// Files the traces are read from; gone with the replay.
    _spools: Vec<tempfile::NamedTempFile>,
}

impl<'p> Replay<'p> {
    /// Puts rank r of the traces on `hosts[r]`.
    pub fn new(
        platform: &Platform,
        hosts: &[HostId],
        traces: Traces,
        settings: ReplaySettings,
    ) -> Result<Replay<'p>, ReplayError> {
        let ranks = traces.ranks();
        let (cursors, spools) = traces.into_cursors();
        let feeds = cursors.into_iter().map(Feed::Trace).collect();
        let mut replay = Replay::of(platform, hosts, ranks, feeds, settings)?;
        replay._spools = spools;
        Ok(replay)
    }

    /// Simulates a running program with rank r on `hosts[r]`.
    pub fn live(
        platform: &Platform,
        hosts: &[HostId],
        program: &'p mut dyn Program,
        settings: ReplaySettings,
    ) -> Result<Replay<'p>, ReplayError> {
        let feeds = hosts.iter().map(|_| Feed::Live(Live::default())).collect();
        let mut replay = Replay::of(platform, hosts, hosts.len(), feeds, settings)?;
        replay.program = Some(program);
        Ok(replay)
    }

    fn of(
        platform: &Platform,
        hosts: &[HostId],
        ranks: usize,
        feeds: Vec<Feed>,
        settings: ReplaySettings,
    ) -> Result<Replay<'p>, ReplayError> {
        if hosts.len() < ranks {
            return Err(ReplayError::TooFewHosts { ranks, places: hosts.len() });
        }
        let simulation = Simulation::new(platform.clone(), settings.models.clone())?;
        let mut load = vec![0u32; platform.hosts().len()];
        hosts[..ranks].iter().for_each(|host| load[host.index()] += 1);
        let mut agents = Vec::with_capacity(ranks);
        for (rank, feed) in feeds.into_iter().enumerate() {
            let host = platform.host(hosts[rank]);
            let alone = load[hosts[rank].index()] <= host.cores
                && host.availability.is_none()
                && host.state.is_none()
                && !settings.models.receiving_occupies_core;
            let speed = alone.then_some(host.speed);
            let mut agent = Agent::new(rank as u32, hosts[rank], speed, Some(feed));
            if let Some(profile) =
                host.availability.as_ref().filter(|_| settings.idle_before_profile)
            {
                agent.idle_until = profile.events().first().map_or(0.0, |event| event.date);
            }
            agents.push(agent);
        }
        Ok(Replay {
            simulation,
            strict: settings.models.penalties.is_some() || settings.gap > 0.0,
            watched: false,
            leaving: vec![0; if settings.gap > 0.0 { platform.hosts().len() } else { 0 }],
            settings,
            ranks,
            comms: vec![Comm::world(&hosts[..ranks])],
            groups: HashMap::new(),
            mail: Mail::default(),
            ready: (0..ranks as u32).rev().collect(),
            events: Vec::new(),
            listed: Vec::new(),
            agents,
            failures: 0.0,
            missed: 0.0,
            program: None,
            parked: Vec::new(),
            actions: 0,
            dates: None,
            explained: None,
            _spools: Vec::new(),
        })
    }

    /// Keeps the end of every action.
    pub fn keep_dates(&mut self) {
        self.dates = Some(vec![Vec::new(); self.ranks]);
    }

    /// Keeps which algorithm each collective took.
    pub fn explain_collectives(&mut self) {
        self.explained = Some(BTreeMap::new());
    }

    /// Runs to the end; `observer` is notified of every action.
    pub fn run(mut self, observer: &mut dyn Observer) -> Result<Replayed, ReplayError> {
        loop {
            while let Some(agent) = self.ready.pop() {
                self.advance(agent as usize, observer)?;
            }
            match self.simulation.step(f64::INFINITY)? {
                Step::Instant => {
                    let mut events = std::mem::take(&mut self.events);
                    events.clear();
                    events.extend_from_slice(self.simulation.events());
                    self.arrange(&mut events);
                    for &event in &events {
                        self.handle(event)?;
                    }
                    self.events = events;
                    self.keep_order();
                }
                Step::Limit | Step::Idle => break,
            }
        }
        self.conclude()
    }

    /// Puts messages that arrive together into the order of their sends; other events keep their places.
    fn arrange(&self, events: &mut [Event]) {
        let sent = |event: &Event| match event {
            Event::Done { tag, .. } if *tag < WAKE => Some(self.mail.get(*tag as u32).sent_as),
            _ => None,
        };
        if events.len() < 2 {
            return;
        }
        let places: Vec<usize> =
            (0..events.len()).filter(|&k| sent(&events[k]).is_some()).collect();
        let mut arrivals: Vec<Event> = places.iter().map(|&k| events[k]).collect();
        arrivals.sort_by_key(|event| sent(event));
        for (place, event) in places.into_iter().zip(arrivals) {
            events[place] = event;
        }
    }

    /// Agents act in the order of the events that woke them, each once; the last of the list is the next.
    fn keep_order(&mut self) {
        self.listed.resize(self.agents.len(), false);
        let listed = &mut self.listed;
        self.ready.retain(|&agent| !std::mem::replace(&mut listed[agent as usize], true));
        self.ready.iter().for_each(|&agent| listed[agent as usize] = false);
        self.ready.reverse();
    }

    fn handle(&mut self, event: Event) -> Result<(), ReplayError> {
        match event {
            Event::Done { tag, .. } if tag < WAKE => self.arrived(tag as u32),
            Event::Done { tag, .. } if tag < LOOK => {
                let agent = (tag - WAKE) as u32;
                let state = &mut self.agents[agent as usize];
                if std::mem::take(&mut state.computing) {
                    state.clock = self.simulation.clock()
                } else {
                    state.woken = state.clock
                }
                self.ready.push(agent);
                Ok(())
            }
            Event::Done { tag, .. } if tag < POLL => self.rematch((tag - LOOK) as u32),
            Event::Done { tag, .. } => {
                let agent = (tag - POLL) as u32;
                // Something sent earlier may have taken it on before.
                if self.agents[agent as usize].polling.is_some() {
                    self.call(agent);
                }
                Ok(())
            }
            Event::Failed { tag, .. } => {
                let platform = self.simulation.platform();
                let (what, host) = if tag < WAKE {
                    let message = self.mail.get(tag as u32);
                    let what =
                        format!("a message from rank {} to rank {}", message.src, message.dst);
                    (what, self.agents[message.src as usize].host)
                } else {
                    let rank = self.agents[((tag - WAKE) as u32) as usize].rank;
                    (format!("rank {rank}"), self.agents[rank as usize].host)
                };
                let host = platform.host(host).name.to_string();
                Err(ReplayError::Broken { date: self.simulation.clock(), what, host })
            }
            _ => Ok(()),
        }
    }

    /// Makes an agent that waits for messages ready; once, however many messages there are.
    fn call(&mut self, agent: u32) {
        if !std::mem::replace(&mut self.agents[agent as usize].called, true) {
            self.ready.push(agent);
        }
    }

    /// Advances an agent until it waits or has done everything.
    fn advance(&mut self, agent: usize, observer: &mut dyn Observer) -> Result<(), ReplayError> {
        self.agents[agent].called = false;
        loop {
            if self.agents[agent].waiting > 0 {
                return Ok(());
            }
            if std::mem::take(&mut self.agents[agent].probing) {
                let state = &mut self.agents[agent];
                state.clock = state.clock.max(self.simulation.clock());
            }
            if self.agents[agent].at < self.agents[agent].script.ops.len() {
                if !self.play(agent)? {
                    return Ok(());
                }
                continue;
            }
            if self.agents[agent].again {
                self.agents[agent].again = false;
                if !self.perform(agent)? {
                    return Ok(());
                }
                continue;
            }
            if self.agents[agent].unanswered && !self.answer(agent)? {
                return Ok(());
            }
            if let Some(activity) = self.agents[agent].active.take() {
                self.note(agent, activity, observer);
            }
            let state = &mut self.agents[agent];
            let Some(feed) = &mut state.cursor else {
                return self.background_over(agent);
            };
            if state.over {
                return Ok(());
            }
            if state.unmatched > AHEAD && state.clock > self.simulation.clock() {
                self.synchronise(agent)?;
                return Ok(());
            }
            let (comms, names) = (&self.comms, &state.comms);
            let sizes = |id: u32| {
                let known = names.iter().find(|(name, _)| *name == id);
                known.map(|&(_, comm)| comms[comm as usize].size() as u32)
            };
            let next = match (feed, &mut self.program) {
                (Feed::Trace(cursor), _) => cursor.next(&sizes)?,
                (Feed::Live(_), None) => None,
                (Feed::Live(live), Some(program)) => match program.next(agent as u32)? {
                    None => None,
                    Some(asked) => {
                        live.actions += u32::from(!asked.quiet);
                        state.unanswered = true;
                        state.outcome.completed.clear();
                        (state.outcome.flag, state.outcome.found) = (false, None);
                        if asked.quiet {
                            continue;
                        }
                        Some(asked.line)
                    }
                },
            };
            match next {
                Some(_) if state.finalized => {
                    return Err(self.error(agent, "an action after `finalize`: the rank has ended"));
                }
                Some(line) => {
                    self.actions += 1;
                    state.began = state.clock;
                    state.active = Some(line.action.activity());
                    state.line = line;
                    state.step = 0;
                    if !self.perform(agent)? {
                        return Ok(());
                    }
                }
                None => self.end_of_trace(agent)?,
            }
        }
    }

    /// Notifies the program that the agent's action is over; false when data are missing.
    fn answer(&mut self, agent: usize) -> Result<bool, ReplayError> {
        let Some(program) = &mut self.program else { return Ok(true) };
        let state = &mut self.agents[agent];
        if !program.has_data(agent as u32, &state.outcome) {
            self.parked.push(agent as u32);
            return Ok(false);
        }
        state.unanswered = false;
        program.done(agent as u32, state.clock, &state.outcome)?;
        Ok(true)
    }

    /// Books an action that is over.
    #[inline]
    fn note(&mut self, agent: usize, activity: Activity, observer: &mut dyn Observer) {
        let state = &mut self.agents[agent];
        state.times[activity.index()] += state.clock - state.began;
        if let Some(dates) = &mut self.dates
            && state.counts
        {
            dates[agent].push(state.clock);
        }
        observer.action(state.rank, activity, state.began, state.clock);
    }

    /// Sleeps until the simulation is where the agent is; true when it is there already.
    fn synchronise(&mut self, agent: usize) -> Result<bool, ReplayError> {
        let now = self.simulation.clock();
        let state = &self.agents[agent];
        if state.clock <= now || state.woken == state.clock {
            return Ok(true);
        }
        self.simulation.start(Simulated::Sleep(state.clock - now), WAKE + agent as u64)?;
        Ok(false)
    }

    /// One step of a script; false when the agent has to wait.
    fn play(&mut self, agent: usize) -> Result<bool, ReplayError> {
        let state = &mut self.agents[agent];
        let op = state.script.ops[state.at];
        let (comm, context) = (state.chorus_comm, state.chorus_context);
        if self.strict && !matches!(op, Op::Wait { .. }) && !self.synchronise(agent)? {
            return Ok(false);
        }
        self.agents[agent].at += 1;
        let member = |replay: &Self, rank: u32| replay.comms[comm as usize].global(rank);
        match op {
            Op::Isend { to, bytes } => {
                let to = member(self, to);
                self.agents[agent].clock += self.settings.ois.of(bytes);
                let handle = self.post_send(agent, to, context, 0, bytes, false)?;
                self.agents[agent].script_requests.push(handle);
                self.note_part(agent, handle);
            }
            Op::Irecv { from } => {
                let from = member(self, from);
                let handle = self.post_receive(agent, from, context, 0, ANY_SIZE)?;
                self.agents[agent].script_requests.push(handle);
                self.note_part(agent, handle);
            }
            Op::Send { to, bytes } | Op::Ssend { to, bytes } => {
                let synchronous = matches!(op, Op::Ssend { .. });
                let to = member(self, to);
                self.pay_send(agent, bytes, synchronous);
                let handle = self.post_send(agent, to, context, 0, bytes, synchronous)?;
                self.wait_for(agent, handle);
            }
            Op::Recv { from } => {
                let from = member(self, from);
                let handle = self.post_receive(agent, from, context, 0, ANY_SIZE)?;
                self.wait_for(agent, handle);
            }
            Op::Wait { first, count } => {
                for k in first..first + count {
                    let slot = &mut self.agents[agent].script_requests[k as usize];
                    let handle = std::mem::replace(slot, Handle::COMPLETE);
                    self.wait_for(agent, handle);
                }
            }
            Op::Compute(flops) => return self.compute(agent, flops),
        }
        Ok(self.agents[agent].waiting == 0)
    }

    /// Computes on the rank's host; false when that goes through the simulation.
    fn compute(&mut self, agent: usize, flops: f64) -> Result<bool, ReplayError> {
        let state = &mut self.agents[agent];
        match state.speed {
            Some(speed) => {
                state.clock += self.settings.burst(flops, speed) / speed;
                Ok(true)
            }
            None => {
                let speed = self.simulation.platform().host(state.host).speed;
                let exec = Exec::new(state.host, self.settings.burst(flops, speed));
                let begin = state.clock.max(state.idle_until);
                let delay = (begin - self.simulation.clock()).max(0.0);
                self.simulation.start_after(delay, exec, WAKE + agent as u64)?;
                self.agents[agent].computing = true;
                Ok(false)
            }
        }
    }

    /// Adds the cost of a blocking send before it is posted.
    #[inline]
    fn pay_send(&mut self, agent: usize, bytes: u64, synchronous: bool) {
        if bytes < self.settings.detached_below && !synchronous {
            self.agents[agent].clock += self.settings.os.of(bytes);
        }
    }

    /// The line of the trace that an agent carries out.
    #[inline]
    fn line_of(&self, agent: usize) -> u32 {
        self.agents[self.agents[agent].rank as usize].cursor.as_ref().map_or(0, Feed::line)
    }

    /// Posts a send at the agent's date.
    fn post_send(
        &mut self,
        agent: usize,
        to: u32,
        context: u32,
        tag: i32,
        bytes: u64,
        synchronous: bool,
    ) -> Result<Handle, ReplayError> {
        let state = &self.agents[agent];
        let mut send = Message::send(state.rank, to, context, tag, bytes);
        send.send_ticket = if is_talk(context) { state.ticket } else { NO_TICKET };
        send.sent = state.clock;
        send.sender = agent as u32;
        send.line = self.line_of(agent);
        let detached = bytes < self.settings.detached_below && !synchronous;
        if detached {
            send.flags |= flag::DETACHED | flag::SENDER_GONE;
        }
        if bytes < self.settings.eager_below && !synchronous {
            send.flags |= flag::EAGER;
        }
        let posted = self.mail.send(send);
        if self.watched && self.agents[to as usize].watches() {
            self.call(to);
        }
        if posted.matched {
            self.check_room(agent, posted.message)?;
        } else {
            self.agents[agent].unmatched += 1;
        }
        if posted.matched || send.flags & flag::EAGER != 0 {
            self.start(posted.message)?;
        }
        Ok(if detached { Handle::COMPLETE } else { Handle::sender(posted.message) })
    }

    /// A message that travels at once, whatever its receiver does. Its sender may wait for its end.
    fn put(
        &mut self,
        agent: usize,
        to: u32,
        context: u32,
        tag: i32,
        bytes: u64,
        waits: bool,
    ) -> Result<Handle, ReplayError> {
        let state = &self.agents[agent];
        let mut send = Message::send(state.rank, to, context, tag, bytes);
        send.send_ticket = state.ticket;
        send.sent = state.clock;
        send.sender = agent as u32;
        if !waits {
            send.flags |= flag::DETACHED | flag::SENDER_GONE;
        }
        let message = self.send_at_once(agent, send)?;
        Ok(if waits { Handle::sender(message) } else { Handle::COMPLETE })
    }

    /// A message from a rank that does nothing for it.
    fn fetch(
        &mut self,
        agent: usize,
        from: u32,
        context: u32,
        tag: i32,
        bytes: u64,
    ) -> Result<Handle, ReplayError> {
        let state = &self.agents[agent];
        let mut send = Message::send(from, state.rank, context, tag, bytes);
        send.sent = state.clock;
        send.sender = from;
        send.flags |= flag::DETACHED | flag::SENDER_GONE;
        self.send_at_once(agent, send)?;
        self.post_receive(agent, from, context, tag, bytes)
    }

    fn send_at_once(&mut self, agent: usize, mut send: Message) -> Result<u32, ReplayError> {
        send.line = self.line_of(agent);
        send.flags |= flag::EAGER;
        let posted = self.mail.send(send);
        if posted.matched {
            self.check_room(agent, posted.message)?;
        } else {
            self.agents[send.sender as usize].unmatched += 1;
        }
        self.start(posted.message)?;
        Ok(posted.message)
    }

    /// Posts a receive from a named rank at the agent's date.
    fn post_receive(
        &mut self,
        agent: usize,
        from: u32,
        context: u32,
        tag: i32,
        room: u64,
    ) -> Result<Handle, ReplayError> {
        let state = &self.agents[agent];
        let mut receive = Message::receive(from, state.rank, context, tag, room);
        receive.receive_ticket = if is_talk(context) { state.ticket } else { NO_TICKET };
        receive.posted = state.clock;
        receive.receiver = agent as u32;
        receive.line = self.line_of(agent);
        let posted = self.mail.receive(receive);
        if posted.matched {
            self.received(agent, posted.message)?;
        }
        Ok(Handle::receiver(posted.message))
    }

    /// A message that was sent before has found its receive.
    fn received(&mut self, agent: usize, message: u32) -> Result<(), ReplayError> {
        self.check_room(agent, message)?;
        let sender = self.mail.get(message).sender;
        self.agents[sender as usize].unmatched -= 1;
        if self.mail.get(message).flags & flag::STARTED == 0 {
            self.start(message)?;
        }
        Ok(())
    }

    fn check_room(&mut self, agent: usize, message: u32) -> Result<(), ReplayError> {
        let Message { bytes, room, src, dst, tag, send_ticket, receive_ticket, .. } =
            *self.mail.get(message);
        if let Some(program) = &mut self.program
            && send_ticket != NO_TICKET
            && receive_ticket != NO_TICKET
        {
            // A running program reports by itself what is cut off.
            let (send, receive) = (send_ticket, receive_ticket);
            return program.matched(live::Matched { src, send, dst, receive, tag, bytes });
        }
        if bytes <= room {
            return Ok(());
        }
        let what = format!(
            "truncation: rank {src} sends {bytes} bytes (tag {tag}) to rank {dst}, which has room for {room}"
        );
        Err(self.error(agent, what))
    }

    /// Lets a message travel.
    fn start(&mut self, message: u32) -> Result<(), ReplayError> {
        let m = self.mail.get_mut(message);
        m.flags |= flag::STARTED;
        let begin = if m.flags & flag::EAGER != 0 { m.sent } else { m.sent.max(m.posted) };
        let (src, dst) = (m.src, m.dst);
        let bytes = (m.bytes + self.settings.envelope) as f64;
        let (src, dst) = (self.agents[src as usize].host, self.agents[dst as usize].host);
        let mut delay = (begin - self.simulation.clock()).max(0.0);
        if !self.leaving.is_empty() {
            delay += self.settings.gap * f64::from(self.leaving[src.index()]);
            self.leaving[src.index()] += 1;
        }
        let transfer = Transfer::new(src, dst, bytes);
        self.simulation.start_after(delay, transfer, u64::from(message))?;
        Ok(())
    }

    /// Records a message of a collective in the background: tests check these one by one.
    fn note_part(&mut self, agent: usize, handle: Handle) {
        if agent < self.ranks {
            return;
        }
        let end = if handle == Handle::COMPLETE {
            f64::NEG_INFINITY
        } else {
            let Message { flags, end, .. } = *self.mail.get(handle.message());
            if flags & flag::DONE != 0 { end } else { f64::INFINITY }
        };
        self.agents[agent].parts.push((handle, end));
    }

    /// A message is there.
    fn arrived(&mut self, message: u32) -> Result<(), ReplayError> {
        let now = self.simulation.clock();
        let m = self.mail.get_mut(message);
        m.flags |= flag::DONE;
        m.end = now;
        let Message { flags, sender, receiver, src, bytes, .. } = *m;
        if !self.leaving.is_empty() {
            self.leaving[self.agents[src as usize].host.index()] -= 1;
        }
        for (side, handle) in
            [(sender, Handle::sender(message)), (receiver, Handle::receiver(message))]
        {
            // A number of a message is used again: only the last part that has it is still open.
            if side as usize >= self.ranks
                && let Some(state) = self.agents.get_mut(side as usize)
                && let Some(part) = state.parts.iter_mut().rfind(|part| part.0 == handle)
                && part.1 == f64::INFINITY
            {
                part.1 = now;
            }
        }
        if flags & flag::RECEIVER_WAITS != 0 {
            let overhead = self.receive_overhead(flags, bytes);
            if self.fulfil(receiver, overhead) {
                self.mail.get_mut(message).flags |= flag::RECEIVER_GONE;
            }
        }
        if flags & flag::SENDER_WAITS != 0 && self.fulfil(sender, 0.0) {
            self.mail.get_mut(message).flags |= flag::SENDER_GONE;
        }
        self.release_if_over(message);
        Ok(())
    }

    /// Something an agent waits for has come; true when that settles it. One that waits for the
    /// first of several finds out itself which one it is.
    fn fulfil(&mut self, agent: u32, overhead: f64) -> bool {
        let now = self.simulation.clock();
        let state = &mut self.agents[agent as usize];
        state.clock = state.clock.max(now);
        if state.any {
            if state.waiting > 0 {
                state.waiting = 0;
                self.ready.push(agent);
            }
            return false;
        }
        state.pay(overhead);
        state.waiting -= 1;
        if state.waiting == 0 {
            self.ready.push(agent);
        }
        true
    }

    #[inline]
    fn receive_overhead(&self, flags: u16, bytes: u64) -> f64 {
        if flags & flag::DETACHED != 0 { self.settings.or.of(bytes) } else { 0.0 }
    }

    #[inline]
    fn release_if_over(&mut self, message: u32) {
        const OVER: u16 = flag::DONE | flag::SENDER_GONE | flag::RECEIVER_GONE;
        if self.mail.get(message).flags & OVER == OVER {
            self.mail.release(message);
        }
    }

    /// Waits for one side of a message, now or when it comes.
    fn wait_for(&mut self, agent: usize, handle: Handle) {
        if handle == Handle::COMPLETE {
            return;
        }
        let id = handle.message();
        let (waits, gone) = if handle.is_receive() {
            (flag::RECEIVER_WAITS, flag::RECEIVER_GONE)
        } else {
            (flag::SENDER_WAITS, flag::SENDER_GONE)
        };
        let Message { flags, end, bytes, .. } = *self.mail.get(id);
        if flags & flag::DONE == 0 {
            self.mail.get_mut(id).flags |= waits;
            self.agents[agent].waiting += 1;
            return;
        }
        let overhead = if handle.is_receive() { self.receive_overhead(flags, bytes) } else { 0.0 };
        let state = &mut self.agents[agent];
        state.clock = state.clock.max(end);
        state.pay(overhead);
        self.mail.get_mut(id).flags |= gone;
        self.release_if_over(id);
    }

    /// Matches receives from any source with messages that were posted ahead of the clock.
    fn rematch(&mut self, rank: u32) -> Result<(), ReplayError> {
        let now = self.simulation.clock() * (1.0 + 1e-12);
        loop {
            let (found, next) = self.mail.rematch(rank, self.ranks as u32, now);
            let Some((wild, message)) = found else {
                if next < f64::INFINITY {
                    let delay = (next - self.simulation.clock()).max(0.0);
                    self.simulation.start(Simulated::Sleep(delay), LOOK + u64::from(rank))?;
                }
                return Ok(());
            };
            let agent = self.mail.get(message).receiver;
            self.agents[agent as usize].redirect(Handle::receiver(wild), Handle::receiver(message));
            self.mail.release(wild);
            let m = self.mail.get_mut(message);
            m.flags &= !flag::WILD;
            let already = m.flags & flag::DONE != 0;
            let waits = m.flags & flag::RECEIVER_WAITS != 0;
            self.received(agent as usize, message)?;
            if already && waits {
                let Message { flags, bytes, .. } = *self.mail.get(message);
                let overhead = self.receive_overhead(flags, bytes);
                if self.fulfil(agent, overhead) {
                    self.mail.get_mut(message).flags |= flag::RECEIVER_GONE;
                    self.release_if_over(message);
                }
            }
        }
    }

    fn end_of_trace(&mut self, agent: usize) -> Result<(), ReplayError> {
        if !self.agents[agent].finalized {
            if self.agents[agent].initialised {
                return Err(self.error(agent, "the trace is cut: it has `init` and no `finalize`"));
            }
            self.agents[agent].finish();
            self.final_steps(agent)?;
            return Ok(());
        }
        let state = &mut self.agents[agent];
        if matches!(state.cursor, Some(Feed::Live(_))) {
            state.over = true;
            return Ok(());
        }
        // Requests without a wait are waited for now; that is not part of the run.
        let left: Vec<Pending> = state.requests.drain(..).map(|request| request.pending).collect();
        for pending in left {
            if let Pending::Side(handle) = pending {
                self.wait_for(agent, handle);
            }
        }
        self.agents[agent].over = true;
        Ok(())
    }

    fn conclude(self) -> Result<Replayed, ReplayError> {
        report::conclude(self)
    }
}

/// The source of a rank's actions.
enum Feed {
    Trace(Cursor),
    Live(Live),
}

impl Feed {
    /// Line of the trace, or number of the action.
    #[inline]
    fn line(&self) -> u32 {
        match self {
            Feed::Trace(cursor) => cursor.line(),
            Feed::Live(live) => live.actions,
        }
    }

    fn version(&self) -> Version {
        match self {
            Feed::Trace(cursor) => cursor.version(),
            Feed::Live(_) => Version::Extended,
        }
    }

    /// An error about an action of `rank`.
    fn error_of(&self, rank: u32, line: u32, message: impl std::fmt::Display) -> FormatError {
        match self {
            Feed::Trace(cursor) => cursor.error_of(line as usize, 1, message),
            Feed::Live(_) => FormatError::new(format!("rank {rank}, action {line}: {message}")),
        }
    }
}

/// Stands for no request of a running rank.
const NO_TICKET: u32 = u32::MAX;

/// Whether messages of this context are the program's own, not parts of collectives.
#[inline]
fn is_talk(context: u32) -> bool {
    context >> 31 == 0 && context % 2 == TALK
}

/// A rank's source of actions; none for an agent in the background.
type Lines = Option<Feed>;

/// An action that does nothing.
fn idle() -> Line {
    Line::plain(crate::action::Action::Nothing)
}
