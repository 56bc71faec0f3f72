//! The responder's side of READs: queues responses in the order of the requests, and computes the range that
//! a READ request covers.

use crate::segment::Cursor;
use crate::{Config, Position};
use std::collections::VecDeque;
use wire::Psn;

/// Range requested by a READ request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadRange {
    /// Payload of its responses [bytes].
    pub bytes: u64,
    /// Number of responses.
    pub packets: u32,
}

/// The range requested by the READ request at packet `packet` of a work request of `bytes`: the rest of the
/// message there. `None` beyond the end of the work request.
#[must_use]
pub fn read_range(config: &Config, bytes: u64, packet: u64) -> Option<ReadRange> {
    (packet < config.packets(bytes)).then(|| {
        let cursor = Cursor::at(config, bytes, packet);
        ReadRange { bytes: u64::from(cursor.message_left()), packets: cursor.packets_left(config) as u32 }
    })
}

/// A response to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadResponse<T = u32> {
    /// Packet sequence number, in the requester's numbering.
    pub psn: Psn,
    /// Position among the responses to its request.
    pub position: Position,
    /// Payload [bytes].
    pub payload_bytes: u32,
    /// Identifies the request.
    pub tag: T,
}

/// Responses to one request that are still to be sent.
#[derive(Clone, Copy, Debug)]
struct Pending<T> {
    psn: Psn,
    left_bytes: u64,
    has_started: bool,
    tag: T,
}

/// Responses that a responder has still to send. The owner identifies requests by a tag.
#[derive(Clone, Debug)]
pub struct ReadResponses<T = u32> {
    queue: VecDeque<Pending<T>>,
}

impl<T> Default for ReadResponses<T> {
    fn default() -> Self {
        Self { queue: VecDeque::new() }
    }
}

impl<T: Copy> ReadResponses<T> {
    /// Queues responses of `bytes` to the request at `psn`, after those to earlier requests. Drops queued
    /// responses from `psn` on, since the requester went back.
    pub fn answer(&mut self, psn: Psn, bytes: u64, tag: T) {
        self.queue.retain(|pending| pending.psn.distance_from(psn) < 0);
        self.queue.push_back(Pending { psn, left_bytes: bytes, has_started: false, tag });
    }

    /// Drops all queued responses.
    pub fn clear(&mut self) {
        self.queue.clear();
    }

    /// Whether there is nothing to send.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Number of requests not answered completely.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// The next response.
    pub fn poll(&mut self, config: &Config) -> Option<ReadResponse<T>> {
        let pending = self.queue.front_mut()?;
        let payload_bytes = pending.left_bytes.min(u64::from(config.mtu_bytes));
        let ends = payload_bytes == pending.left_bytes;
        let response = ReadResponse {
            psn: pending.psn,
            position: Position::new(!pending.has_started, ends),
            payload_bytes: payload_bytes as u32,
            tag: pending.tag,
        };
        pending.psn = pending.psn.add(1);
        pending.left_bytes -= payload_bytes;
        pending.has_started = true;
        if ends {
            self.queue.pop_front();
        }
        Some(response)
    }
}
