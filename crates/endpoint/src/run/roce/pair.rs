//! Sending and receiving end of a queue pair of driver `roce`: posts chunks as work requests, and converts
//! their completions to events.

use super::memory::ADDRESS;
use crate::run::driver::{Event, ReceivedCounts, SentCounts};
use crate::run::messages::Messages;
use crate::run::share::Post;
use crate::{Ended, Endpoint, Operation, PairId, Request};
use std::collections::VecDeque;
use transport::{Completion, Counters, PostError, Status, WorkId};

/// Posted receives per queue pair: packets that may arrive before the receiver polls and reposts, those of one
/// call (GRO).
const RECEIVES: usize = 64;

/// Sending end.
pub(super) struct SendingPair {
    id: PairId,
    /// Largest work request.
    part_bytes: u64,
    /// Number of the next message, on an unreliable connection.
    next_message: Option<u32>,
    /// Chunks in flight, oldest first.
    chunks: VecDeque<InFlight>,
    /// Counters when the previous chunk completed.
    before: Counters,
}

/// A chunk in flight.
struct InFlight {
    send: u32,
    /// Its last work request.
    last: WorkId,
    seen: SentCounts,
    has_failed: bool,
}

impl SendingPair {
    /// A sender of work requests of at most `part_bytes`; on an unreliable connection each is a message.
    pub(super) fn new(id: PairId, part_bytes: u64, is_unreliable: bool) -> Self {
        let (next_message, before) = (is_unreliable.then_some(0), Counters::default());
        Self { id, part_bytes, next_message, chunks: VecDeque::new(), before }
    }

    /// Posts a chunk.
    pub(super) fn post(&mut self, endpoint: &mut Endpoint, post: &Post) -> Result<(), PostError> {
        let mut left = post.bytes;
        let last = loop {
            let bytes = left.min(self.part_bytes);
            left -= bytes;
            let immediate = match self.next_message {
                Some(number) => Some(number),
                None => (left == 0).then_some(post.chunk),
            };
            let write = Operation::Write(ADDRESS).of(0..bytes as usize);
            let work = endpoint.post(self.id, Request { immediate, ..write })?;
            self.next_message = self.next_message.map(|number| number.wrapping_add(1));
            if left == 0 {
                break work;
            }
        };
        let seen = SentCounts::default();
        self.chunks.push_back(InFlight { send: post.send, last, seen, has_failed: false });
        Ok(())
    }

    /// Handles a completion; returns an event if it is the last of a chunk.
    pub(super) fn on_ended(&mut self, ended: &Ended) -> Option<Event> {
        let chunk = self.chunks.front_mut()?;
        chunk.seen.messages += u64::from(self.next_message.is_some());
        chunk.seen.frames += ended.sent.packets;
        chunk.seen.bytes += ended.sent.frame_bytes;
        chunk.seen.retransmits += ended.sent.retransmits;
        chunk.has_failed |= ended.completion.status != Status::Success;
        if ended.completion.work != chunk.last {
            return None;
        }
        let InFlight { send, mut seen, has_failed, .. } = self.chunks.pop_front()?;
        seen.timeouts = ended.counters.timeouts - self.before.timeouts;
        seen.naks = ended.counters.naks_received - self.before.naks_received;
        seen.cnps = ended.counters.cnps_received - self.before.cnps_received;
        self.before = ended.counters;
        Some(match has_failed {
            false => Event::Completed { send, at: ended.at, seen },
            true => Event::Failed { send, seen },
        })
    }

    /// The run has ended: appends an event for each chunk that an unreliable connection has not sent completely.
    pub(super) fn end(&mut self, events: &mut Vec<Event>) {
        if self.next_message.is_some() {
            let unsent = self.chunks.drain(..);
            events.extend(unsent.map(|InFlight { send, seen, .. }| Event::Unsent { send, seen }));
        }
    }
}

/// Receiving end.
pub(super) struct ReceivingPair {
    id: PairId,
    verifies: bool,
    /// Of an unreliable connection.
    messages: Option<Messages>,
    /// Counters when the previous chunk or, on an unreliable connection, message arrived.
    before: Counters,
    wrong_bytes: u64,
}

impl ReceivingPair {
    pub(super) fn new(
        endpoint: &mut Endpoint,
        id: PairId,
        verifies: bool,
        messages: Option<Messages>,
    ) -> Self {
        for _ in 0..RECEIVES {
            post_receive(endpoint, id);
        }
        Self { id, verifies, messages, before: Counters::default(), wrong_bytes: 0 }
    }

    /// Handles the completion of a receive, unless the queue pair failed: a chunk or, on an unreliable
    /// connection, a message arrived.
    pub(super) fn on_ended(&mut self, ended: &Ended, endpoint: &mut Endpoint, events: &mut Vec<Event>) {
        let Completion { status: Status::Success, immediate: Some(immediate), .. } = ended.completion else {
            return;
        };
        post_receive(endpoint, self.id);
        let seen = self.seen(&ended.counters, endpoint);
        match &mut self.messages {
            None => events.push(Event::Arrived { chunk: immediate, at: ended.at, seen }),
            Some(messages) => messages.on_message(immediate, ended.at, seen, events),
        }
    }

    /// The run has ended: appends an event for a chunk that an unreliable connection has received in part.
    pub(super) fn end(&mut self, endpoint: &Endpoint, events: &mut Vec<Event>) {
        let seen = self.seen(endpoint.pair(self.id).counters(), endpoint);
        if let Some(messages) = &mut self.messages {
            messages.on_stop(seen, events);
        }
    }

    /// Statistics since the previous call.
    fn seen(&mut self, counters: &Counters, endpoint: &Endpoint) -> ReceivedCounts {
        let wrong_bytes = endpoint.pair(self.id).memory().wrong_bytes();
        let since = |count: fn(&Counters) -> u64| count(counters) - count(&self.before);
        let seen = ReceivedCounts {
            messages: 0,
            frames: since(|counters| counters.data_received),
            bytes: since(|counters| counters.data_received_bytes),
            out_of_order: since(|counters| counters.out_of_order),
            marks: since(|counters| counters.marks),
            cnps: since(|counters| counters.cnps_sent),
            is_verified: self.verifies.then_some(wrong_bytes == self.wrong_bytes),
        };
        (self.before, self.wrong_bytes) = (*counters, wrong_bytes);
        seen
    }
}

/// Posts an empty receive, for a chunk number as immediate data.
fn post_receive(endpoint: &mut Endpoint, id: PairId) {
    // A failed queue pair rejects it, and receives nothing more.
    let _ = endpoint.post_receive(id, 0..0);
}
