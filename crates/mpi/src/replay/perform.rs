//! The effect of each action of a trace.

use super::agent::{Agent, Pending, Request};
use super::comm::{Comm, Together};
use super::live::{Found, Joined};
use super::mail::{ANY_SIZE, Handle, Message, NONE, flag};
use super::report::Explained;
use super::{CHORUS, Feed, LOOK, NO_TICKET, POLL, Replay, ReplayError, TALK};
use crate::action::{ANY, Action, Call, Envelope, Kind, Mode, Which};
use crate::collectives::{self, Op, Ranks, Script, Team};
use crate::settings::ReplaySettings;
use crate::trace::Version;
use slackline_model::activity::Activity as Simulated;
use std::cell::Cell;

/// Codes in traces that SimGrid captured for a partner that is any rank or none, and for any tag.
const CAPTURED_PARTNER: i32 = -333;
const CAPTURED_ANY_TAG: i32 = -444;
const ANY_OR_NO_RANK: &str = "-333 as a partner stands for both MPI_ANY_SOURCE and MPI_PROC_NULL \
    in traces that SimGrid captured (-trace-ti): write -1 for MPI_ANY_SOURCE, and leave out \
    messages to or from MPI_PROC_NULL";
const ANY_TAG: &str = "-444 as a tag stands for MPI_ANY_TAG in traces that SimGrid captured \
    (-trace-ti): write the tag of the message, or -1 for any";

/// Bytes in the messages that make a communicator.
const COLOUR: u64 = 8;
const NAME: u64 = 4;

impl Replay<'_> {
    /// Carries out the agent's line, or continues it; false when it has to wait.
    pub(super) fn perform(&mut self, agent: usize) -> Result<bool, ReplayError> {
        let line = std::mem::replace(&mut self.agents[agent].line, super::idle());
        let done = self.act(agent, &line.action, line.comm, line.request);
        self.agents[agent].line = line;
        done
    }

    fn act(
        &mut self,
        agent: usize,
        action: &Action,
        comm: u32,
        number: Option<u32>,
    ) -> Result<bool, ReplayError> {
        let posts = matches!(
            action,
            Action::Send(..)
                | Action::Isend(..)
                | Action::Put(..)
                | Action::Get(_)
                | Action::Recv(_)
                | Action::Irecv(_)
                | Action::Sendrecv(..)
                | Action::Start(_)
        );
        self.agents[agent].ticket = number.unwrap_or(NO_TICKET);
        // From the first receive with any source on, matching depends on time.
        self.strict |= match action {
            Action::Recv(wanted) | Action::Irecv(wanted) | Action::Sendrecv(_, wanted) => {
                wanted.peer == ANY
            }
            Action::RecvInit(wanted) => wanted.peer == ANY,
            Action::Probe(_) | Action::Iprobe(_) | Action::Poll(_) | Action::Cancel(_) => true,
            _ => false,
        };
        if self.strict && posts && !self.synchronise(agent)? {
            self.agents[agent].again = true;
            return Ok(false);
        }
        match action {
            Action::Compute(flops) => return self.compute(agent, *flops),
            Action::Sleep(seconds) => self.agents[agent].clock += seconds,
            Action::Isend(envelope, mode) => {
                let handle = self.isend(agent, comm, envelope, *mode)?;
                self.remember(agent, comm, envelope, true, number, Pending::Side(handle));
            }
            Action::Irecv(envelope) => {
                let handle = self.irecv(agent, comm, envelope)?;
                self.remember(agent, comm, envelope, false, number, Pending::Side(handle));
            }
            Action::Put(envelope, mode) => {
                let bytes = envelope.bytes.unwrap_or(0);
                let (to, context) = self.partner(agent, comm, envelope.peer)?;
                let waits = *mode == Mode::Synchronous;
                let handle = self.put(agent, to, context, envelope.tag, bytes, waits)?;
                self.remember(agent, comm, envelope, true, number, Pending::Side(handle));
            }
            Action::Get(envelope) => {
                let bytes = envelope.bytes.unwrap_or(0);
                let (from, context) = self.partner(agent, comm, envelope.peer)?;
                let handle = self.fetch(agent, from, context, envelope.tag, bytes)?;
                self.remember(agent, comm, envelope, false, number, Pending::Side(handle));
            }
            Action::Send(envelope, mode) => {
                let synchronous = *mode == Mode::Synchronous;
                let bytes = envelope.bytes.unwrap_or(0);
                let (to, context) = self.partner(agent, comm, envelope.peer)?;
                self.pay_send(agent, bytes, synchronous);
                let tag = envelope.tag;
                let handle = self.post_send(agent, to, context, tag, bytes, synchronous)?;
                self.wait_for(agent, handle);
            }
            Action::Recv(envelope) => return self.recv(agent, comm, envelope),
            Action::Sendrecv(send, receive) => {
                let sent = self.isend(agent, comm, send, Mode::Standard)?;
                let received = self.irecv(agent, comm, receive)?;
                self.wait_for(agent, sent);
                self.wait_for(agent, received);
            }
            Action::Wait(which) => return self.wait(agent, comm, which),
            Action::Waitall => {
                let requests = std::mem::take(&mut self.agents[agent].requests);
                for request in &requests {
                    self.await_request(agent, &request.pending);
                }
                // The list is used again; prepared requests stay in it.
                let mut kept = requests;
                kept.retain_mut(|request| match &mut request.pending {
                    Pending::Prepared(_, _, active) => {
                        *active = None;
                        true
                    }
                    _ => false,
                });
                self.agents[agent].requests = kept;
            }
            Action::Test(which) => return self.test(agent, comm, which, Need::All),
            Action::Testany(which) => return self.test(agent, comm, which, Need::First),
            Action::Testsome(which) => return self.test(agent, comm, which, Need::Any),
            Action::Cancel(which) => return self.cancel(agent, comm, which),
            Action::Waitany(which) => return self.wait_any(agent, which, false),
            Action::Waitsome(which) => return self.wait_any(agent, which, true),
            Action::Probe(envelope) => return self.probe(agent, comm, envelope),
            Action::Iprobe(envelope) => return self.iprobe(agent, comm, envelope),
            Action::Poll(envelope) => {
                if !self.poll(agent, comm, envelope)? {
                    return Ok(false);
                }
                let (found, _) = self.look(agent, comm, envelope)?;
                self.agents[agent].outcome.found = found.map(|message| self.seen(message));
            }
            Action::SendInit(envelope, mode) => {
                let pending = Pending::Prepared(*envelope, Some(*mode), None);
                self.remember(agent, comm, envelope, true, number, pending);
            }
            Action::RecvInit(envelope) => {
                let pending = Pending::Prepared(*envelope, None, None);
                self.remember(agent, comm, envelope, false, number, pending);
            }
            Action::Start(which) => self.start_prepared(agent, which)?,
            Action::Collective(call) => self.collective(agent, comm, call)?,
            Action::Icollective(call) => self.background(agent, comm, call, number)?,
            Action::CommSplit { id, colour, key } => {
                let colour = colour.map(|colour| (colour, *key));
                return self.split(agent, comm, *id, colour);
            }
            Action::CommDup(id) => return self.duplicate(agent, comm, *id, None),
            Action::CommCreate(id, members) => {
                return self.duplicate(agent, comm, *id, Some(members));
            }
            Action::CommWindow(id) => return self.window(agent, comm, *id),
            Action::CommGroup(id, members) => {
                return self.group(agent, comm, *id, members);
            }
            Action::Init => {
                let state = &mut self.agents[agent];
                state.active = None;
                state.initialised = true;
                state.clock += self.settings.init;
            }
            Action::Finalize => {
                let state = &mut self.agents[agent];
                state.active = None;
                if !state.finalized {
                    state.finish();
                    self.final_steps(agent)?;
                }
            }
            Action::Nothing => {}
        }
        Ok(self.agents[agent].waiting == 0)
    }

    /// Carries out the steps after the last action.
    pub(super) fn final_steps(&mut self, agent: usize) -> Result<(), ReplayError> {
        if self.settings.final_barrier {
            self.agents[agent].counts = false;
            self.collective(agent, 0, &Call::new(Kind::Barrier, 0))?;
        }
        Ok(())
    }

    /// The communicator with a number of the trace.
    fn comm(&self, agent: usize, id: u32) -> Result<u32, ReplayError> {
        let known = self.agents[agent].comms.iter().find(|(name, _)| *name == id);
        match known {
            Some(&(_, comm)) => Ok(comm),
            None => Err(self.error(agent, format!("this rank is in no communicator {id}"))),
        }
    }

    pub(super) fn error(&self, agent: usize, message: impl std::fmt::Display) -> ReplayError {
        let rank = self.agents[agent].rank;
        match &self.agents[rank as usize].cursor {
            Some(feed) => ReplayError::Input(feed.error_of(rank, feed.line(), message)),
            None => ReplayError::Input(slackline_io::FormatError::new(message)),
        }
    }

    /// The rank of the world behind a partner, and the context of the message.
    #[inline]
    fn partner(&self, agent: usize, comm: u32, peer: i32) -> Result<(u32, u32), ReplayError> {
        let comm = if comm == 0 { 0 } else { self.comm(agent, comm)? };
        let size = self.comms[comm as usize].size();
        if peer == CAPTURED_PARTNER {
            return Err(self.error(agent, ANY_OR_NO_RANK));
        }
        if peer < 0 || peer as usize >= size {
            let message = format!("there is no rank {peer}: ranks go from 0 to {}", size - 1);
            return Err(self.error(agent, message));
        }
        Ok((self.comms[comm as usize].global(peer as u32), 2 * comm + TALK))
    }

    fn check_tag(&self, agent: usize, wanted: &Envelope) -> Result<(), ReplayError> {
        match wanted.tag {
            CAPTURED_ANY_TAG => Err(self.error(agent, ANY_TAG)),
            _ => Ok(()),
        }
    }

    fn isend(
        &mut self,
        agent: usize,
        comm: u32,
        envelope: &Envelope,
        mode: Mode,
    ) -> Result<Handle, ReplayError> {
        let bytes = envelope.bytes.unwrap_or(0);
        let (to, context) = self.partner(agent, comm, envelope.peer)?;
        self.agents[agent].clock += self.settings.ois.of(bytes);
        self.post_send(agent, to, context, envelope.tag, bytes, mode == Mode::Synchronous)
    }

    fn irecv(&mut self, agent: usize, comm: u32, wanted: &Envelope) -> Result<Handle, ReplayError> {
        let room = wanted.bytes.unwrap_or(ANY_SIZE);
        self.check_tag(agent, wanted)?;
        if wanted.peer == ANY {
            return self.receive_any(agent, comm, wanted.tag, room);
        }
        let (from, context) = self.partner(agent, comm, wanted.peer)?;
        self.post_receive(agent, from, context, wanted.tag, room)
    }

    /// A receive from any source, at the simulation's date.
    fn receive_any(
        &mut self,
        agent: usize,
        comm: u32,
        tag: i32,
        room: u64,
    ) -> Result<Handle, ReplayError> {
        let comm = self.comm(agent, comm)?;
        let now = self.agents[agent].clock;
        let rank = self.agents[agent].rank;
        let mut receive = Message::receive(NONE, rank, 2 * comm + TALK, tag, room);
        receive.posted = now;
        receive.receive_ticket = self.agents[agent].ticket;
        receive.receiver = agent as u32;
        receive.line = self.line_of(agent);
        let (posted, later) = self.mail.receive_any(receive, self.ranks as u32, now);
        if posted.matched {
            self.received(agent, posted.message)?;
        } else if later < f64::INFINITY {
            let delay = (later - self.simulation.clock()).max(0.0);
            self.simulation.start(Simulated::Sleep(delay), LOOK + u64::from(rank))?;
        }
        Ok(Handle::receiver(posted.message))
    }

    fn recv(&mut self, agent: usize, comm: u32, wanted: &Envelope) -> Result<bool, ReplayError> {
        let version_one = self.version(agent) == Version::One;
        if wanted.bytes.is_none() && !version_one && !self.poll(agent, comm, wanted)? {
            return Ok(false);
        }
        let handle = self.irecv(agent, comm, wanted)?;
        let state = &mut self.agents[agent];
        if state.ticket != NO_TICKET {
            state.outcome.completed.push(state.ticket);
        }
        self.wait_for(agent, handle);
        Ok(self.agents[agent].waiting == 0)
    }

    fn version(&self, agent: usize) -> Version {
        self.agents[agent].cursor.as_ref().map_or(Version::Three, super::Feed::version)
    }

    /// A receive of unknown size polls for the message: true when it is there. Polls without a message
    /// are not simulated: the agent waits until such a message is sent and continues from the poll that
    /// finds it, so that a message that is never sent is a deadlock.
    fn poll(&mut self, agent: usize, comm: u32, wanted: &Envelope) -> Result<bool, ReplayError> {
        if !self.synchronise(agent)? {
            self.agents[agent].again = true;
            return Ok(false);
        }
        let sent = self.first_sent(agent, comm, wanted)?;
        let seen = date_of_poll(self.agents[agent].clock, sent, &self.settings);
        let now = self.simulation.clock();
        self.watched = true;
        let state = &mut self.agents[agent];
        if seen <= now * (1.0 + 1e-12) {
            state.clock = seen;
            state.polling = None;
            return Ok(true);
        }
        let known = state.polling.replace(seen).unwrap_or(f64::INFINITY);
        state.again = true;
        if seen < known {
            self.simulation.start(Simulated::Sleep(seen - now), POLL + agent as u64)?;
        }
        Ok(false)
    }

    /// The first date at which a message that fits was or will be sent, as far as is known.
    fn first_sent(&self, agent: usize, comm: u32, wanted: &Envelope) -> Result<f64, ReplayError> {
        let receive = self.wanted(agent, comm, wanted)?;
        Ok(self.mail.peek(&receive, self.ranks as u32, f64::NEG_INFINITY).1)
    }

    /// Whether a message that fits was sent; else when the first known one will be.
    fn look(
        &self,
        agent: usize,
        comm: u32,
        wanted: &Envelope,
    ) -> Result<(Option<u32>, f64), ReplayError> {
        let receive = self.wanted(agent, comm, wanted)?;
        Ok(self.mail.peek(&receive, self.ranks as u32, self.agents[agent].clock))
    }

    /// Returns the message that a watching agent waits for.
    pub(super) fn watched_for(&self, agent: usize) -> Option<Message> {
        let state = &self.agents[agent];
        match &state.line.action {
            Action::Recv(wanted) | Action::Probe(wanted) | Action::Poll(wanted)
                if state.watches() =>
            {
                self.wanted(agent, state.line.comm, wanted).ok()
            }
            _ => None,
        }
    }

    /// A receive of any size that is not posted.
    fn wanted(&self, agent: usize, comm: u32, wanted: &Envelope) -> Result<Message, ReplayError> {
        self.check_tag(agent, wanted)?;
        let (from, context) = match wanted.peer {
            ANY => (NONE, 2 * self.comm(agent, comm)? + TALK),
            peer => self.partner(agent, comm, peer)?,
        };
        let rank = self.agents[agent].rank;
        Ok(Message::receive(from, rank, context, wanted.tag, ANY_SIZE))
    }

    /// Waits until a message that fits is there.
    fn probe(&mut self, agent: usize, comm: u32, wanted: &Envelope) -> Result<bool, ReplayError> {
        if !self.synchronise(agent)? {
            self.agents[agent].again = true;
            return Ok(false);
        }
        let (found, later) = self.look(agent, comm, wanted)?;
        if let Some(message) = found {
            self.agents[agent].outcome.found = Some(self.seen(message));
            return Ok(true);
        }
        self.agents[agent].again = true;
        if later < f64::INFINITY {
            self.agents[agent].clock = later;
            return self.synchronise(agent);
        }
        self.agents[agent].probing = true;
        self.watched = true;
        Ok(false)
    }

    /// Returns the fields of a message that a probe reports.
    fn seen(&self, message: u32) -> Found {
        let Message { src, tag, bytes, .. } = *self.mail.get(message);
        Found { src, tag, bytes }
    }

    /// Sleeps, then probes for a message. Failed probes of all ranks make the next ones longer.
    fn iprobe(&mut self, agent: usize, comm: u32, wanted: &Envelope) -> Result<bool, ReplayError> {
        if !self.synchronise(agent)? {
            self.agents[agent].again = true;
            return Ok(false);
        }
        if self.agents[agent].step == 0 {
            let turns = if self.settings.grow { self.missed + 1.0 } else { 1.0 };
            let state = &mut self.agents[agent];
            state.clock += self.settings.iprobe * turns;
            (state.step, state.again) = (1, true);
            return self.synchronise(agent);
        }
        let (found, _) = self.look(agent, comm, wanted)?;
        match found {
            Some(message) => {
                self.missed = 0.0;
                let found = self.seen(message);
                let outcome = &mut self.agents[agent].outcome;
                (outcome.flag, outcome.found) = (true, Some(found));
            }
            None => {
                self.missed += 1.0;
                self.check_polling(agent, self.settings.iprobe)?;
            }
        }
        Ok(true)
    }

    /// Fails for a running rank whose unsuccessful probes or tests take no time: it would repeat them for ever.
    fn check_polling(&self, agent: usize, cost: f64) -> Result<(), ReplayError> {
        if cost > 0.0 || self.program.is_none() {
            return Ok(());
        }
        let key = match self.agents[agent].line.action {
            Action::Iprobe(_) => "smpi/iprobe",
            _ => "smpi/test",
        };
        let rank = self.agents[agent].rank;
        Err(ReplayError::Program(format!(
            "rank {rank} polls, and `{key}=0` makes polling take no time: it would never see \
             anything change; set `{key}` to the seconds that a probe takes"
        )))
    }

    /// Gives up receives that no message has met.
    fn cancel(&mut self, agent: usize, comm: u32, which: &Which) -> Result<bool, ReplayError> {
        if !self.synchronise(agent)? {
            self.agents[agent].again = true;
            return Ok(false);
        }
        for k in 0..Self::count(which) {
            let Some(at) = self.request(agent, comm, which, k) else { continue };
            if let Pending::Side(handle) = self.agents[agent].requests[at].pending
                && handle != Handle::COMPLETE
                && handle.is_receive()
                && self.mail.withdraw(handle.message())
            {
                self.agents[agent].requests[at].pending = Pending::Tested;
                self.agents[agent].outcome.flag = true;
            }
        }
        Ok(true)
    }

    fn remember(
        &mut self,
        agent: usize,
        comm: u32,
        envelope: &Envelope,
        sends: bool,
        number: Option<u32>,
        pending: Pending,
    ) {
        let state = &mut self.agents[agent];
        let (mut src, mut dst) = (envelope.peer, state.rank as i32);
        if sends {
            std::mem::swap(&mut src, &mut dst);
        }
        let tag = envelope.tag;
        state.requests.push(Request { src, dst, tag, number, comm, pending });
    }

    /// Position of the request that is meant.
    fn request(&self, agent: usize, comm: u32, which: &Which, k: usize) -> Option<usize> {
        let requests = &self.agents[agent].requests;
        match which {
            Which::Key(src, dst, tag) => requests.iter().position(|r| {
                (r.src, r.dst, r.tag, r.comm) == (*src, *dst, *tag, comm)
                    && !matches!(r.pending, Pending::Prepared(..))
            }),
            Which::Last => requests.len().checked_sub(1),
            Which::Numbers(numbers) => {
                let wanted = Some(*numbers.get(k)?);
                requests.iter().position(|r| r.number == wanted)
            }
        }
    }

    fn count(which: &Which) -> usize {
        if let Which::Numbers(numbers) = which { numbers.len() } else { 1 }
    }

    fn wait(&mut self, agent: usize, comm: u32, which: &Which) -> Result<bool, ReplayError> {
        for k in 0..Self::count(which) {
            let Some(at) = self.request(agent, comm, which, k) else {
                // What a test completed is gone in version 1: there is nothing to wait for.
                if self.version(agent) == Version::One {
                    return Ok(true);
                }
                return Err(self.error(agent, "there is no such request to wait for"));
            };
            let pending = self.agents[agent].requests[at].pending.clone();
            self.await_request(agent, &pending);
            self.take_request(agent, at);
        }
        Ok(self.agents[agent].waiting == 0)
    }

    fn await_request(&mut self, agent: usize, pending: &Pending) {
        match *pending {
            Pending::Side(handle) | Pending::Prepared(_, _, Some(handle)) => {
                self.wait_for(agent, handle);
            }
            Pending::Background(other) => match self.agents[other as usize].done {
                Some(date) => {
                    let owed = self.agents[other as usize].owed;
                    let state = &mut self.agents[agent];
                    state.clock = state.clock.max(date) + owed;
                }
                None => {
                    self.agents[other as usize].waiter = Some(agent as u32);
                    self.agents[agent].waiting += 1;
                }
            },
            Pending::Tested | Pending::Prepared(_, _, None) => {}
        }
    }

    fn is_done(&self, pending: &Pending) -> bool {
        match *pending {
            Pending::Side(handle) | Pending::Prepared(_, _, Some(handle)) => {
                handle == Handle::COMPLETE
                    || self.mail.get(handle.message()).flags & flag::DONE != 0
            }
            Pending::Background(other) => self.agents[other as usize].done.is_some(),
            Pending::Tested | Pending::Prepared(_, _, None) => true,
        }
    }

    /// A request is done with; prepared ones can be started again.
    fn take_request(&mut self, agent: usize, at: usize) {
        let state = &mut self.agents[agent];
        if let (Some(number), Some(Feed::Live(_))) = (state.requests[at].number, &state.cursor) {
            state.outcome.completed.push(number);
        }
        match &mut state.requests[at].pending {
            Pending::Prepared(_, _, active) => *active = None,
            _ => {
                state.requests.remove(at);
            }
        }
    }

    /// Sleeps, then tests. Failed tests of all ranks make the next ones longer.
    fn test(
        &mut self,
        agent: usize,
        comm: u32,
        which: &Which,
        need: Need,
    ) -> Result<bool, ReplayError> {
        if !self.synchronise(agent)? {
            self.agents[agent].again = true;
            return Ok(false);
        }
        let turns = if self.settings.grow { self.failures + 1.0 } else { 1.0 };
        let pause = self.settings.test * turns;
        if self.agents[agent].step == 0 {
            if self.is_tested(agent, comm, which) {
                return Ok(true);
            }
            let state = &mut self.agents[agent];
            state.clock += pause;
            state.step = 1;
            state.missed = false;
            state.again = true;
            return if self.synchronise(agent)? { Ok(true) } else { Ok(false) };
        }
        let found: Option<Vec<usize>> =
            (0..Self::count(which)).map(|k| self.request(agent, comm, which, k)).collect();
        let Some(found) = found else {
            if self.version(agent) == Version::One {
                return Ok(true);
            }
            return Err(self.error(agent, "there is no such request to test"));
        };
        // A test of a collective in the background tests its messages one after the other.
        if let [at] = found[..]
            && let Pending::Background(helper) = self.agents[agent].requests[at].pending
        {
            let step = self.agents[agent].step as usize;
            let now = self.agents[agent].clock;
            let parts = &self.agents[helper as usize].parts;
            let count = parts.len();
            let missed = step >= 2 && parts[step - 2].1 > now;
            let state = &mut self.agents[agent];
            state.missed |= missed;
            if step <= count {
                state.clock += pause;
                state.step += 1;
                state.again = true;
                return if self.synchronise(agent)? { Ok(true) } else { Ok(false) };
            }
        }
        let wanted = found.len();
        let mut done: Vec<usize> = found
            .into_iter()
            .filter(|&at| self.is_done(&self.agents[agent].requests[at].pending))
            .collect();
        let enough = match need {
            Need::All => done.len() == wanted && !self.agents[agent].missed,
            _ => !done.is_empty(),
        };
        if !enough {
            self.failures += 1.0;
            self.check_polling(agent, self.settings.test)?;
            return Ok(true);
        }
        self.failures = 0.0;
        self.agents[agent].outcome.flag = true;
        if need == Need::First {
            done.truncate(1);
        }
        if need != Need::All || matches!(self.agents[agent].cursor, Some(Feed::Live(_))) {
            // Later ones first, so that the positions of the others stay what they are.
            done.sort_unstable_by(|a, b| b.cmp(a));
            for at in done {
                let pending = self.agents[agent].requests[at].pending.clone();
                self.await_request(agent, &pending);
                self.take_request(agent, at);
            }
            return Ok(true);
        }
        for at in done {
            let pending = self.agents[agent].requests[at].pending.clone();
            self.await_request(agent, &pending);
            match &mut self.agents[agent].requests[at].pending {
                Pending::Prepared(_, _, active) => *active = None,
                other => *other = Pending::Tested,
            }
        }
        Ok(true)
    }

    /// Whether a trace tests a request again that a test has found done: SimGrid leaves that out.
    fn is_tested(&self, agent: usize, comm: u32, which: &Which) -> bool {
        let is_tested =
            |at: usize| matches!(self.agents[agent].requests[at].pending, Pending::Tested);
        self.version(agent) == Version::Three
            && Self::count(which) == 1
            && self.request(agent, comm, which, 0).is_some_and(is_tested)
    }

    /// Waits until one of some requests is done; with `some`, takes all that are then.
    fn wait_any(&mut self, agent: usize, which: &Which, some: bool) -> Result<bool, ReplayError> {
        if !self.synchronise(agent)? {
            self.agents[agent].again = true;
            return Ok(false);
        }
        let mut open = Vec::new();
        for k in 0..Self::count(which) {
            let Some(at) = self.request(agent, 0, which, k) else { continue };
            open.push(at);
        }
        if open.is_empty() {
            return Err(self.error(agent, "there is no such request to wait for"));
        }
        let done: Vec<usize> = open
            .iter()
            .copied()
            .filter(|&at| self.is_done(&self.agents[agent].requests[at].pending))
            .collect();
        if done.is_empty() {
            let pendings: Vec<Pending> =
                open.iter().map(|&at| self.agents[agent].requests[at].pending.clone()).collect();
            for pending in &pendings {
                match *pending {
                    Pending::Background(other) => {
                        self.agents[other as usize].waiter = Some(agent as u32);
                    }
                    Pending::Side(handle) | Pending::Prepared(_, _, Some(handle)) => {
                        let waits = if handle.is_receive() {
                            flag::RECEIVER_WAITS
                        } else {
                            flag::SENDER_WAITS
                        };
                        self.mail.get_mut(handle.message()).flags |= waits;
                    }
                    _ => {}
                }
            }
            let state = &mut self.agents[agent];
            (state.waiting, state.any, state.again) = (1, true, true);
            return Ok(false);
        }
        self.agents[agent].any = false;
        let mut taken = if some { done } else { done[..1].to_vec() };
        taken.sort_unstable_by(|a, b| b.cmp(a));
        for at in taken {
            let pending = self.agents[agent].requests[at].pending.clone();
            self.await_request(agent, &pending);
            self.take_request(agent, at);
        }
        // The other requests are no longer waited for.
        for k in 0..self.agents[agent].requests.len() {
            match self.agents[agent].requests[k].pending {
                Pending::Side(handle) if handle != Handle::COMPLETE => {
                    let waits =
                        if handle.is_receive() { flag::RECEIVER_WAITS } else { flag::SENDER_WAITS };
                    self.mail.get_mut(handle.message()).flags &= !waits;
                }
                Pending::Background(other) => self.agents[other as usize].waiter = None,
                _ => {}
            }
        }
        Ok(true)
    }

    fn start_prepared(&mut self, agent: usize, which: &Which) -> Result<(), ReplayError> {
        for k in 0..Self::count(which) {
            let at = self.request(agent, 0, which, k);
            let prepared = at.map(|at| (at, self.agents[agent].requests[at].clone()));
            let Some((at, Request { pending: Pending::Prepared(envelope, mode, None), comm, .. })) =
                prepared
            else {
                return Err(self.error(agent, "there is no such prepared request to start"));
            };
            let handle = match mode {
                Some(mode) => self.isend(agent, comm, &envelope, mode)?,
                None => self.irecv(agent, comm, &envelope)?,
            };
            self.agents[agent].requests[at].pending =
                Pending::Prepared(envelope, mode, Some(handle));
        }
        Ok(())
    }

    /// Checks that the members agree, and gives the communicator, my rank in it and the number of
    /// what they do.
    fn together(
        &mut self,
        agent: usize,
        comm: u32,
        what: Together,
    ) -> Result<(u32, u32, u64), ReplayError> {
        let comm = if comm == 0 { 0 } else { self.comm(agent, comm)? };
        let rank = self.agents[agent].rank;
        let me = self.comms[comm as usize].local(rank);
        match self.comms[comm as usize].join(me, what) {
            Ok(number) => {
                if let Some(program) = &mut self.program {
                    let size = self.comms[comm as usize].size() as u32;
                    let request = self.agents[agent].ticket;
                    let joined = Joined { rank, request, comm, sequence: number, me, size };
                    program.joined(joined)?;
                    if !self.parked.is_empty() {
                        self.ready.append(&mut self.parked);
                        self.ready.sort_unstable_by(|a, b| b.cmp(a));
                    }
                }
                Ok((comm, me, number))
            }
            Err((other, theirs)) => {
                let other = self.comms[comm as usize].global(other);
                let message = format!("rank {rank} does {what} where rank {other} does {theirs}");
                Err(self.error(agent, message))
            }
        }
    }

    /// Writes the script of a collective; one in the background knows no selector.
    fn compose(
        &mut self,
        agent: usize,
        (comm, me): (u32, u32),
        call: &Call,
        script: &mut Script,
        background: bool,
    ) -> Result<(), ReplayError> {
        let state = &self.comms[comm as usize];
        let size = state.size();
        if call.kind.has_root() && call.root as usize >= size {
            let message =
                format!("there is no rank {}: ranks go from 0 to {}", call.root, size - 1);
            return Err(self.error(agent, message));
        }
        let queried = Cell::new(state.queried[me as usize]);
        let per_host = || state.layout.per_host();
        let selected = if background {
            collectives::in_background(call.kind)
        } else {
            self.settings.choice.select(call, &Ranks::new(size, &per_host, &queried))
        };
        if me == 0
            && let Some(explained) = &mut self.explained
        {
            let bytes = call.bytes;
            let (algorithm, by) = (selected.name, selected.by);
            let entry = Explained { kind: call.kind, ranks: size, bytes, algorithm, by };
            *explained.entry(entry).or_default() += 1;
        }
        let mut team = Team::new(me, &state.layout, &self.settings.choice, &queried, script);
        if size > 1 {
            (selected.algorithm)(call, &mut team);
        }
        script.finish(call.flops);
        self.comms[comm as usize].queried[me as usize] = queried.get();
        Ok(())
    }

    fn collective(&mut self, agent: usize, comm: u32, call: &Call) -> Result<(), ReplayError> {
        let (comm, me, _) = self.together(agent, comm, Together::of(call))?;
        self.completes(agent);
        let mut script = std::mem::take(&mut self.agents[agent].script);
        script.clear();
        let composed = self.compose(agent, (comm, me), call, &mut script, false);
        self.agents[agent].script = script;
        self.begin_script(agent, comm, 2 * comm + CHORUS);
        composed
    }

    /// The action of a running rank completes the request it makes.
    fn completes(&mut self, agent: usize) {
        let state = &mut self.agents[agent];
        if state.ticket != NO_TICKET {
            state.outcome.completed.push(state.ticket);
        }
    }

    fn begin_script(&mut self, agent: usize, comm: u32, context: u32) {
        let state = &mut self.agents[agent];
        state.at = 0;
        state.script_requests.clear();
        (state.chorus_comm, state.chorus_context) = (comm, context);
    }

    /// Begins a collective that another agent does while the rank continues.
    fn background(
        &mut self,
        agent: usize,
        comm: u32,
        call: &Call,
        number: Option<u32>,
    ) -> Result<(), ReplayError> {
        let (comm, me, sequence) = self.together(agent, comm, Together::of(call))?;
        let Agent { rank, host, speed, clock, .. } = self.agents[agent];
        let mut helper = Agent::new(rank, host, speed, None);
        helper.clock = clock;
        let mut script = Script::default();
        self.compose(agent, (comm, me), call, &mut script, true)?;
        // The rank posts everything before it continues.
        let sends = script.ops.iter().filter_map(|op| match op {
            Op::Isend { bytes, .. } => Some(self.settings.ois.of(*bytes)),
            _ => None,
        });
        self.agents[agent].clock += sends.sum::<f64>();
        helper.script = script;
        let id = self.agents.len() as u32;
        self.agents.push(helper);
        // Each has a context of its own: collectives in the background may overtake each other.
        let context = 1 << 31 | (comm << 20) | (sequence as u32 & 0xf_ffff);
        self.begin_script(id as usize, comm, context);
        self.ready.push(id);
        let envelope = Envelope { peer: ANY, tag: ANY, bytes: None };
        self.remember(agent, comm, &envelope, true, number, Pending::Background(id));
        Ok(())
    }

    /// A collective in the background is over.
    pub(super) fn background_over(&mut self, agent: usize) -> Result<(), ReplayError> {
        let (date, owed) = (self.agents[agent].clock, self.agents[agent].owed);
        self.agents[agent].done = Some(date);
        self.agents[agent].over = true;
        if let Some(waiter) = self.agents[agent].waiter.take() {
            let state = &mut self.agents[waiter as usize];
            state.clock = state.clock.max(date);
            if state.any {
                state.waiting = 0; // It takes what is done itself.
            } else {
                state.clock += owed;
                state.waiting = state.waiting.saturating_sub(1);
            }
            if state.waiting == 0 {
                self.ready.push(waiter);
            }
        }
        Ok(())
    }

    /// Colours to rank 0 and back, then a broadcast in every new communicator.
    fn split(
        &mut self,
        agent: usize,
        comm: u32,
        id: u32,
        colour: Option<(i32, i32)>,
    ) -> Result<bool, ReplayError> {
        if self.agents[agent].step == 0 {
            let (comm, me, number) = self.together(agent, comm, Together::Split)?;
            self.completes(agent);
            self.comms[comm as usize].colour(number, me, colour);
            let mut script = std::mem::take(&mut self.agents[agent].script);
            script.clear();
            let state = &self.comms[comm as usize];
            let queried = Cell::new(false);
            let choice = &self.settings.choice;
            let mut team = Team::new(me, &state.layout, choice, &queried, &mut script);
            if me == 0 {
                (1..team.size).for_each(|rank| {
                    team.irecv(rank);
                });
                team.waitall();
            } else {
                team.send(0, COLOUR);
                team.recv(0);
            }
            self.agents[agent].script = script;
            self.begin_script(agent, comm, 2 * comm + CHORUS);
            self.agents[agent].step = 1 + number as u32;
            self.agents[agent].again = true;
            return Ok(true);
        }
        let number = u64::from(self.agents[agent].step - 1);
        let parent = self.comm(agent, comm)?;
        let groups = self.comms[parent as usize].groups(number);
        let me = self.comms[parent as usize].local(self.agents[agent].rank);
        let mut script = std::mem::take(&mut self.agents[agent].script);
        script.clear();
        if me == 0 {
            let state = &self.comms[parent as usize];
            let queried = Cell::new(false);
            let choice = &self.settings.choice;
            let mut team = Team::new(me, &state.layout, choice, &queried, &mut script);
            let mut told = vec![false; team.size];
            // One colour after the other, each by key; slow members delay the next.
            for (_, members) in &groups {
                for rank in members.iter().map(|&rank| state.local(rank) as usize) {
                    told[rank] = true;
                    if rank != 0 {
                        team.isend(rank, COLOUR);
                    }
                }
                team.waitall();
            }
            for rank in (1..team.size).filter(|&rank| !told[rank]) {
                team.isend(rank, COLOUR);
            }
            team.waitall();
        }
        let mine = colour.and_then(|(c, _)| groups.into_iter().find(|group| group.0 == c));
        self.agents[agent].script = script;
        match mine {
            Some((colour, members)) => {
                let next = self.comms.len() as u32;
                let made = self.comms[parent as usize].made(number, colour, || next);
                self.found_comm(agent, parent, id, made, members)
            }
            None => {
                self.begin_script(agent, parent, 2 * parent + CHORUS);
                Ok(true)
            }
        }
    }

    /// Makes a communicator of the same ranks, or some of them, under another number.
    fn duplicate(
        &mut self,
        agent: usize,
        comm: u32,
        id: u32,
        chosen: Option<&[u32]>,
    ) -> Result<bool, ReplayError> {
        let what = if chosen.is_some() { Together::Create } else { Together::Dup };
        let (parent, me, number) = self.together(agent, comm, what)?;
        let state = &self.comms[parent as usize];
        let members: Vec<u32> = match chosen {
            None => (0..state.size() as u32).map(|rank| state.global(rank)).collect(),
            Some(chosen) => {
                if !chosen.contains(&me) {
                    return Ok(true);
                }
                self.chosen(agent, parent, chosen)?
            }
        };
        self.agents[agent].script.clear();
        // Different members may make different communicators, if no rank is in two of them.
        let colour = members.first().map_or(0, |&rank| rank as i32);
        let next = self.comms.len() as u32;
        let made = self.comms[parent as usize].made(number, colour, || next);
        self.found_comm(agent, parent, id, made, members)
    }

    /// Makes a communicator with the same ranks, without messages.
    fn window(&mut self, agent: usize, comm: u32, id: u32) -> Result<bool, ReplayError> {
        let (parent, _, number) = self.together(agent, comm, Together::Window)?;
        let state = &self.comms[parent as usize];
        let members = (0..state.size() as u32).map(|rank| state.global(rank)).collect();
        let next = self.comms.len() as u32;
        let made = self.comms[parent as usize].made(number, 0, || next);
        self.know_comm(agent, id, made, members);
        Ok(true)
    }

    /// Makes a communicator that only its members know of: the n-th call of each is for the n-th such communicator.
    fn group(
        &mut self,
        agent: usize,
        comm: u32,
        id: u32,
        chosen: &[u32],
    ) -> Result<bool, ReplayError> {
        let parent = if comm == 0 { 0 } else { self.comm(agent, comm)? };
        let rank = self.agents[agent].rank;
        let members = self.chosen(agent, parent, chosen)?;
        if !members.contains(&rank) {
            let message = "this rank is not in the communicator that it makes";
            return Err(self.error(agent, message));
        }
        self.agents[agent].script.clear();
        let next = self.comms.len() as u32;
        let group = self.groups.entry((parent, members.clone())).or_default();
        let begun = group.begun.entry(rank).or_default();
        if *begun == group.made.len() {
            group.made.push(next);
        }
        let made = group.made[*begun];
        *begun += 1;
        self.found_comm(agent, parent, id, made, members)
    }

    /// Ranks of the world behind different ranks of a communicator.
    fn chosen(&self, agent: usize, parent: u32, chosen: &[u32]) -> Result<Vec<u32>, ReplayError> {
        let state = &self.comms[parent as usize];
        let size = state.size() as u32;
        let mut seen = chosen.to_vec();
        seen.sort_unstable();
        if seen.windows(2).any(|w| w[0] == w[1]) || seen.last().is_some_and(|&r| r >= size) {
            let message = "the new communicator's ranks are not different ranks of this one";
            return Err(self.error(agent, message));
        }
        Ok(chosen.iter().map(|&rank| state.global(rank)).collect())
    }

    /// Makes communicator `comm`, unless another member has, under a number of the rank.
    fn know_comm(&mut self, agent: usize, id: u32, comm: u32, members: Vec<u32>) {
        if comm as usize == self.comms.len() {
            let agents = &self.agents;
            let made = Comm::of(members, |rank| agents[rank as usize].host);
            self.comms.push(made);
        }
        let state = &mut self.agents[agent];
        state.comms.retain(|(name, _)| *name != id);
        state.comms.push((id, comm));
    }

    /// Makes communicator `comm`, unless another member has, and broadcasts its name.
    fn found_comm(
        &mut self,
        agent: usize,
        parent: u32,
        id: u32,
        comm: u32,
        members: Vec<u32>,
    ) -> Result<bool, ReplayError> {
        self.know_comm(agent, id, comm, members.clone());
        let ranks: Vec<usize> =
            members.iter().map(|&rank| self.comms[parent as usize].local(rank) as usize).collect();
        let me = self.comms[parent as usize].local(self.agents[agent].rank);
        let mut script = std::mem::take(&mut self.agents[agent].script);
        let layout = &self.comms[parent as usize].layout;
        let queried = Cell::new(false);
        let mut team = Team::new(me, layout, &self.settings.choice, &queried, &mut script);
        team.within(&ranks, |team| {
            collectives::binomial_bcast(&Call::new(Kind::Bcast, NAME), team);
        });
        self.agents[agent].script = script;
        self.begin_script(agent, parent, 2 * parent + CHORUS);
        Ok(true)
    }
}

/// The number of requests of a test that have to be done.
#[derive(Clone, Copy, PartialEq)]
enum Need {
    All,
    Any,
    First,
}

/// Polls whose dates are added up one by one; the dates of further ones are computed.
const COUNTED: u32 = 1_000_000;

/// The date of the first poll (there is at least one) that finds a message sent at a date. Each poll is `iprobe`
/// seconds after the one before; with `grow`, the k-th is k times that.
fn date_of_poll(mut clock: f64, sent: f64, settings: &ReplaySettings) -> f64 {
    let (pause, grow) = (settings.iprobe, settings.grow);
    if pause == 0.0 || sent == f64::INFINITY {
        return clock.max(sent);
    }
    for turn in 1..=COUNTED {
        clock += pause * if grow { f64::from(turn) } else { 1.0 };
        if clock >= sent {
            return clock;
        }
    }
    // n more of them, the k-th of which takes COUNTED + k pauses where they grow.
    let (pauses, first) = ((sent - clock) / pause, f64::from(COUNTED) + 0.5);
    let n = if grow { (first * first + 2.0 * pauses).sqrt() - first } else { pauses }.ceil();
    let more = if grow { n * (first + n / 2.0) } else { n };
    (clock + pause * more).max(sent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_are_regular_or_grow() {
        let mut settings = ReplaySettings { iprobe: 0.5, grow: false, ..Default::default() };
        assert_eq!(date_of_poll(1.0, 0.0, &settings), 1.5); // at least one poll
        assert_eq!(date_of_poll(1.0, 2.2, &settings), 2.5);
        assert_eq!(date_of_poll(0.0, 2e6, &settings), 2e6);
        assert_eq!(date_of_poll(0.0, 2e6 + 0.1, &settings), 2e6 + 0.5);
        settings.grow = true;
        assert_eq!(date_of_poll(1.0, 2.2, &settings), 2.5); // 1.5, 2.5
        // Two million of them: n (n + 1) / 2 pauses.
        let all = 0.5 * 2e6 * (2e6 + 1.0) / 2.0;
        assert_eq!(date_of_poll(0.0, all, &settings), all);
        assert_eq!(date_of_poll(0.0, all + 1.0, &settings), all + 0.5 * (2e6 + 1.0));
        assert_eq!(date_of_poll(0.0, 1e300, &settings), 1e300);
        settings.iprobe = 0.0;
        assert_eq!(date_of_poll(1.0, 2.2, &settings), 2.2);
    }
}
