//! Messages under way and the agents that wait for them.
//!
//! Matching is by receiver, source, context and tag, in the order in which each side posts. With
//! a named source that order does not depend on time, so that ranks may post ahead of the clock;
//! a receive from any source takes the message that was sent first, and needs the clock.

use crate::action::ANY;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// No message.
pub(super) const NONE: u32 = u32::MAX;

/// Room, in bytes, of a receive that takes any size.
pub(super) const ANY_SIZE: u64 = u64::MAX;

/// State of a message, as bits.
pub(super) mod flag {
    /// The send is posted.
    pub(crate) const SENT: u16 = 1;
    /// The receive is posted.
    pub(crate) const POSTED: u16 = 2;
    /// The transfer starts at the send.
    pub(crate) const EAGER: u16 = 4;
    /// The sender continued without waiting for the transfer.
    pub(crate) const DETACHED: u16 = 8;
    pub(crate) const DONE: u16 = 16;
    pub(crate) const SENDER_WAITS: u16 = 32;
    pub(crate) const RECEIVER_WAITS: u16 = 64;
    /// The sender has dropped its request.
    pub(crate) const SENDER_GONE: u16 = 128;
    pub(crate) const RECEIVER_GONE: u16 = 256;
    pub(crate) const STARTED: u16 = 512;
    /// A receive from any source.
    pub(crate) const WILD: u16 = 1024;
}

/// A message, or a receive that waits for one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) flags: u16,
    pub(super) src: u32,
    pub(super) dst: u32,
    pub(super) context: u32,
    pub(super) tag: i32,
    /// Size of the message, and of the buffer of the receive.
    pub(super) bytes: u64,
    pub(super) room: u64,
    /// Dates at which both sides were posted, and at which the transfer ended, in seconds.
    pub(super) sent: f64,
    pub(super) posted: f64,
    pub(super) end: f64,
    /// The agents on both sides.
    pub(super) sender: u32,
    pub(super) receiver: u32,
    /// The line of the trace that posted it first.
    pub(super) line: u32,
    /// Requests of a running program on both sides.
    pub(super) send_ticket: u32,
    pub(super) receive_ticket: u32,
    /// The next one of its queue.
    next: u32,
    /// Number of its first post among all posts: the older one matches first.
    order: u64,
    /// Number of its send among all sends.
    pub(super) sent_as: u64,
}

/// One side of a message, as requests refer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle(u32);

impl Handle {
    pub(super) fn sender(message: u32) -> Handle {
        Handle(message << 1)
    }
    pub(super) fn receiver(message: u32) -> Handle {
        Handle(message << 1 | 1)
    }
    /// A send that is over for its sender.
    pub(super) const COMPLETE: Handle = Handle(u32::MAX);

    #[inline]
    pub(super) fn message(self) -> u32 {
        self.0 >> 1
    }
    #[inline]
    pub(super) fn is_receive(self) -> bool {
        self.0 & 1 == 1
    }
}

/// Ends of a queue of messages.
#[derive(Clone, Copy, Debug)]
struct Queue {
    head: u32,
    tail: u32,
}

/// The result of a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Posted {
    pub(super) message: u32,
    pub(super) matched: bool,
}

/// All messages that are not over.
#[derive(Clone, Debug, Default)]
pub(super) struct Mail {
    messages: Vec<Message>,
    free: Vec<u32>,
    /// Messages without receive and receives without message, by source and destination.
    queues: HashMap<u64, Queue, BuildHasherDefault<PairHasher>>,
    /// Receives from any source, by destination; only ranks that have some are listed.
    wild: HashMap<u32, Vec<u32>>,
    order: u64,
    sends: u64,
    /// Sends without receive.
    pub(super) unexpected: usize,
}

impl Mail {
    #[inline]
    pub(super) fn get(&self, message: u32) -> &Message {
        &self.messages[message as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, message: u32) -> &mut Message {
        &mut self.messages[message as usize]
    }

    pub(super) fn release(&mut self, message: u32) {
        self.messages[message as usize].flags = 0;
        self.free.push(message);
    }

    fn add(&mut self, mut message: Message) -> u32 {
        message.order = self.order;
        self.order += 1;
        match self.free.pop() {
            Some(slot) => {
                self.messages[slot as usize] = message;
                slot
            }
            None => {
                self.messages.push(message);
                self.messages.len() as u32 - 1
            }
        }
    }

    /// Posts a send; it matches the oldest receive that fits.
    pub(super) fn send(&mut self, mut send: Message) -> Posted {
        send.sent_as = self.sends;
        self.sends += 1;
        let key = pair(send.src, send.dst);
        let specific = self.find(key, |m| {
            m.flags & flag::SENT == 0
                && m.context == send.context
                && (m.tag == send.tag || m.tag == ANY)
        });
        if !self.wild.is_empty()
            && let Some(list) = self.wild.get(&send.dst)
        {
            let fits = |&&m: &&u32| {
                let m = &self.messages[m as usize];
                m.context == send.context && (m.tag == send.tag || m.tag == ANY)
            };
            if let Some(&wild) = list.iter().find(fits) {
                let older = |s: (u32, Option<u32>)| self.get(s.0).order < self.get(wild).order;
                if !specific.is_some_and(older) {
                    self.take_wild(send.dst, wild);
                    return self.join_send(wild, send);
                }
            }
        }
        match specific {
            Some((message, before)) => {
                self.unlink(key, message, before);
                self.join_send(message, send)
            }
            None => {
                self.unexpected += 1;
                let message = self.add(send);
                self.append(key, message);
                Posted { message, matched: false }
            }
        }
    }

    fn join_send(&mut self, message: u32, send: Message) -> Posted {
        let m = &mut self.messages[message as usize];
        m.src = send.src;
        m.tag = send.tag;
        m.bytes = send.bytes;
        m.sent = send.sent;
        m.sender = send.sender;
        m.send_ticket = send.send_ticket;
        m.sent_as = send.sent_as;
        m.flags |= send.flags;
        Posted { message, matched: true }
    }

    /// Posts a receive from a named source; it matches the oldest message that fits.
    pub(super) fn receive(&mut self, receive: Message) -> Posted {
        let key = pair(receive.src, receive.dst);
        let found = self.find(key, |m| {
            m.flags & flag::SENT != 0
                && m.context == receive.context
                && (m.tag == receive.tag || receive.tag == ANY)
        });
        match found {
            Some((message, before)) => {
                self.unlink(key, message, before);
                self.unexpected -= 1;
                self.join_receive(message, receive);
                Posted { message, matched: true }
            }
            None => {
                let message = self.add(receive);
                self.append(key, message);
                Posted { message, matched: false }
            }
        }
    }

    fn join_receive(&mut self, message: u32, receive: Message) {
        let m = &mut self.messages[message as usize];
        m.posted = receive.posted;
        m.room = receive.room;
        m.receiver = receive.receiver;
        m.receive_ticket = receive.receive_ticket;
        m.flags |= receive.flags;
    }

    /// Posts a receive from any source at the date `now`: it matches the message that was sent first up to
    /// then. Without one, also returns the date of the first later send that is already known.
    pub(super) fn receive_any(&mut self, receive: Message, ranks: u32, now: f64) -> (Posted, f64) {
        let (found, later) = self.first_sent(&receive, ranks, now);
        if let Some((key, message, before)) = found {
            self.unlink(key, message, before);
            self.unexpected -= 1;
            self.join_receive(message, receive);
            return (Posted { message, matched: true }, f64::INFINITY);
        }
        let dst = receive.dst;
        let message = self.add(Message { flags: receive.flags | flag::WILD, ..receive });
        self.wild.entry(dst).or_default().push(message);
        (Posted { message, matched: false }, later)
    }

    /// Matches the waiting receives from any source of a rank: returns one that now has a message,
    /// with that message (which replaces it), and the date of the next send to try again at.
    pub(super) fn rematch(&mut self, dst: u32, ranks: u32, now: f64) -> (Option<(u32, u32)>, f64) {
        let mut next = f64::INFINITY;
        for wild in self.wild.get(&dst).cloned().unwrap_or_default() {
            let receive = *self.get(wild);
            let (found, later) = self.first_sent(&receive, ranks, now);
            next = next.min(later);
            if let Some((key, message, before)) = found {
                self.unlink(key, message, before);
                self.unexpected -= 1;
                self.take_wild(dst, wild);
                self.join_receive(message, receive);
                return (Some((wild, message)), now);
            }
        }
        (None, next)
    }

    /// The message that fits a receive and was sent first up to `now`, with its queue and its predecessor there, and the
    /// date of the first one after that. Eager messages come before others, then the earlier send, then the earlier post.
    #[allow(clippy::type_complexity)]
    fn first_sent(
        &self,
        receive: &Message,
        ranks: u32,
        now: f64,
    ) -> (Option<(u64, u32, Option<u32>)>, f64) {
        let mut best: Option<((bool, f64, u64), u64, u32, Option<u32>)> = None;
        let mut later = f64::INFINITY;
        for src in 0..ranks {
            let key = pair(src, receive.dst);
            let fits = |m: &Message| {
                m.flags & flag::SENT != 0
                    && m.context == receive.context
                    && (m.tag == receive.tag || receive.tag == ANY)
            };
            let Some((message, before)) = self.find(key, fits) else { continue };
            let m = self.get(message);
            if m.sent > now {
                later = later.min(m.sent);
            } else {
                // Eager transfers are under way already, the others have yet to start.
                let rank = (m.flags & flag::EAGER == 0, m.sent, m.order);
                if best.is_none_or(|b| rank < b.0) {
                    best = Some((rank, key, message, before));
                }
            }
        }
        (best.map(|(_, key, message, before)| (key, message, before)), later)
    }

    /// Whether a message that fits was sent up to `now`; else the date of the first known one.
    pub(super) fn peek(&self, receive: &Message, ranks: u32, now: f64) -> (Option<u32>, f64) {
        let (found, later) = if receive.src == NONE {
            self.first_sent(receive, ranks, now)
        } else {
            let key = pair(receive.src, receive.dst);
            let fits = |m: &Message| {
                m.flags & flag::SENT != 0
                    && m.context == receive.context
                    && (m.tag == receive.tag || receive.tag == ANY)
            };
            match self.find(key, fits) {
                Some((message, before)) if self.get(message).sent <= now => {
                    (Some((key, message, before)), f64::INFINITY)
                }
                Some((message, _)) => (None, self.get(message).sent),
                None => (None, f64::INFINITY),
            }
        };
        (found.map(|(_, message, _)| message), later)
    }

    /// Removes a receive that has not matched a message; false when it has.
    pub(super) fn withdraw(&mut self, message: u32) -> bool {
        let Message { flags, src, dst, order, .. } = *self.get(message);
        if flags & flag::SENT != 0 {
            return false;
        }
        if flags & flag::WILD != 0 {
            self.take_wild(dst, message);
        } else {
            let key = pair(src, dst);
            let Some((_, before)) = self.find(key, |m| m.order == order) else { return false };
            self.unlink(key, message, before);
        }
        self.release(message);
        true
    }

    fn take_wild(&mut self, dst: u32, message: u32) {
        if let Some(list) = self.wild.get_mut(&dst) {
            list.retain(|&m| m != message);
            if list.is_empty() {
                self.wild.remove(&dst);
            }
        }
    }

    /// The first of a queue that fits, with the one before it.
    #[inline]
    fn find(&self, key: u64, fits: impl Fn(&Message) -> bool) -> Option<(u32, Option<u32>)> {
        let queue = self.queues.get(&key)?;
        let (mut at, mut before) = (queue.head, None);
        while at != NONE {
            let message = &self.messages[at as usize];
            if fits(message) {
                return Some((at, before));
            }
            before = Some(at);
            at = message.next;
        }
        None
    }

    fn unlink(&mut self, key: u64, message: u32, before: Option<u32>) {
        let next = self.messages[message as usize].next;
        self.messages[message as usize].next = NONE;
        if let Some(before) = before {
            self.messages[before as usize].next = next;
        }
        if let Some(queue) = self.queues.get_mut(&key) {
            if before.is_none() {
                queue.head = next;
            }
            if next == NONE {
                match before {
                    Some(before) => queue.tail = before,
                    None => {
                        self.queues.remove(&key);
                    }
                }
            }
        }
    }

    fn append(&mut self, key: u64, message: u32) {
        self.messages[message as usize].next = NONE;
        match self.queues.entry(key) {
            std::collections::hash_map::Entry::Occupied(mut entry) => {
                let tail = entry.get().tail;
                entry.get_mut().tail = message;
                self.messages[tail as usize].next = message;
            }
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(Queue { head: message, tail: message });
            }
        }
    }

    /// Messages an agent waits for.
    pub(super) fn waited_for(&self, agent: u32) -> Vec<Message> {
        let waits = |m: &&Message| {
            (m.receiver == agent && m.flags & flag::RECEIVER_WAITS != 0)
                || (m.sender == agent && m.flags & flag::SENDER_WAITS != 0)
        };
        self.messages.iter().filter(|m| m.flags & flag::DONE == 0).filter(waits).copied().collect()
    }

    /// All sends and receives that are not matched, in order of posting.
    pub(super) fn unmatched(&self) -> Vec<Message> {
        let mut found = Vec::new();
        for queue in self.queues.values() {
            let mut at = queue.head;
            while at != NONE {
                found.push(self.messages[at as usize]);
                at = self.messages[at as usize].next;
            }
        }
        for &wild in self.wild.values().flatten() {
            found.push(self.messages[wild as usize]);
        }
        found.sort_by_key(|message| message.order);
        found
    }
}

impl Message {
    /// A send.
    pub(super) fn send(src: u32, dst: u32, context: u32, tag: i32, bytes: u64) -> Message {
        Message {
            flags: flag::SENT,
            src,
            dst,
            context,
            tag,
            bytes,
            room: ANY_SIZE,
            sent: 0.0,
            posted: 0.0,
            end: f64::NAN,
            sender: NONE,
            receiver: NONE,
            line: 0,
            send_ticket: super::NO_TICKET,
            receive_ticket: super::NO_TICKET,
            next: NONE,
            order: 0,
            sent_as: 0,
        }
    }

    /// A receive.
    pub(super) fn receive(src: u32, dst: u32, context: u32, tag: i32, room: u64) -> Message {
        Message { flags: flag::POSTED, room, bytes: 0, ..Message::send(src, dst, context, tag, 0) }
    }
}

#[inline]
fn pair(src: u32, dst: u32) -> u64 {
    u64::from(src) << 32 | u64::from(dst)
}

/// Multiplicative hash of a pair of ranks (2^64 over the golden ratio).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PairHasher(u64);

impl Hasher for PairHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }
    #[inline]
    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 29);
    }
}
