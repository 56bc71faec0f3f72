//! Sending and receiving end of a queue pair of driver `roce`: posts chunks as work requests, and converts
//! their completions to events.

use super::memory::ADDRESS;
use crate::run::driver::{Event, ReceivedCounts, SentCounts};
use crate::run::share::Post;
use crate::{Ended, Endpoint, Operation, PairId};
use std::collections::VecDeque;
use transport::{Counters, PostError, Status, WorkId};

/// Posted receives per queue pair: chunks that may arrive before the receiver polls and reposts.
const RECEIVES: usize = 64;

/// Sending end.
pub(super) struct SendingPair {
    id: PairId,
    region_bytes: u64,
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
    pub(super) fn new(id: PairId, region_bytes: u64) -> Self {
        Self { id, region_bytes, chunks: VecDeque::new(), before: Counters::default() }
    }

    /// Posts a chunk.
    pub(super) fn post(&mut self, endpoint: &mut Endpoint, post: &Post) -> Result<(), PostError> {
        let mut left = post.bytes;
        while left > self.region_bytes {
            endpoint.post(self.id, Operation::Write(ADDRESS).of(0..self.region_bytes as usize))?;
            left -= self.region_bytes;
        }
        let request = Operation::Write(ADDRESS).with_immediate(0..left as usize, post.chunk);
        let last = endpoint.post(self.id, request)?;
        let seen = SentCounts::default();
        self.chunks.push_back(InFlight { send: post.send, last, seen, has_failed: false });
        Ok(())
    }

    /// Handles a completion; returns an event if it is the last of a chunk.
    pub(super) fn on_ended(&mut self, ended: &Ended) -> Option<Event> {
        let chunk = self.chunks.front_mut()?;
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
}

/// Receiving end.
pub(super) struct ReceivingPair {
    id: PairId,
    verifies: bool,
    /// Counters when the previous chunk arrived.
    before: Counters,
    wrong_bytes: u64,
}

impl ReceivingPair {
    pub(super) fn new(endpoint: &mut Endpoint, id: PairId, verifies: bool) -> Self {
        for _ in 0..RECEIVES {
            post_receive(endpoint, id);
        }
        Self { id, verifies, before: Counters::default(), wrong_bytes: 0 }
    }

    /// Handles the completion of a receive: a chunk arrived, unless the queue pair failed.
    pub(super) fn on_ended(&mut self, ended: &Ended, endpoint: &mut Endpoint) -> Option<Event> {
        let chunk = ended.completion.immediate.filter(|_| ended.completion.status == Status::Success)?;
        post_receive(endpoint, self.id);
        let wrong_bytes = endpoint.pair(self.id).memory().wrong_bytes();
        let since = |count: fn(&Counters) -> u64| count(&ended.counters) - count(&self.before);
        let seen = ReceivedCounts {
            frames: since(|counters| counters.data_received),
            bytes: since(|counters| counters.data_received_bytes),
            out_of_order: since(|counters| counters.out_of_order),
            marks: since(|counters| counters.marks),
            cnps: since(|counters| counters.cnps_sent),
            is_verified: self.verifies.then_some(wrong_bytes == self.wrong_bytes),
        };
        (self.before, self.wrong_bytes) = (ended.counters, wrong_bytes);
        Some(Event::Arrived { chunk, at: ended.at, seen })
    }
}

/// Posts an empty receive, for a chunk number as immediate data.
fn post_receive(endpoint: &mut Endpoint, id: PairId) {
    // A failed queue pair rejects it, and receives nothing more.
    let _ = endpoint.post_receive(id, 0..0);
}
