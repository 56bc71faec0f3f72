//! The responder's part of a READ: its responses, in the order of the requests.

use crate::segment::Cursor;
use crate::{Config, Position};
use std::collections::VecDeque;
use wire::Psn;

/// What a READ request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Payload of its responses [bytes].
    pub bytes: u64,
    /// How many there are.
    pub packets: u32,
}

/// What the READ request at place `packet` of a work request of `bytes` asks for: the rest of the message
/// there. None beyond its end.
#[must_use]
pub fn wanted(config: &Config, bytes: u64, packet: u64) -> Option<Wanted> {
    (packet < config.packets(bytes)).then(|| {
        let cursor = Cursor::at(config, bytes, packet);
        Wanted { bytes: u64::from(cursor.message_left()), packets: cursor.packets_left(config) as u32 }
    })
}

/// A response to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadResponse<T = u32> {
    /// Its packet sequence number, of the requester's.
    pub psn: Psn,
    /// Its place among the responses to its request.
    pub position: Position,
    /// Payload [bytes].
    pub payload_bytes: u32,
    /// What the request was told apart by.
    pub tag: T,
}

/// Responses to one request that are still to be sent.
#[derive(Clone, Copy, Debug)]
struct Pending<T> {
    psn: Psn,
    left_bytes: u64,
    has_begun: bool,
    tag: T,
}

/// The responses that a responder has still to send. Its owner tells requests apart by a tag.
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
    /// Answers the request at `psn` with `bytes`, after those before it. What was to be sent from `psn` on is
    /// not: the requester went back.
    pub fn answer(&mut self, psn: Psn, bytes: u64, tag: T) {
        self.queue.retain(|pending| pending.psn.distance_from(psn) < 0);
        self.queue.push_back(Pending { psn, left_bytes: bytes, has_begun: false, tag });
    }

    /// Sends nothing more of what was asked for.
    pub fn clear(&mut self) {
        self.queue.clear();
    }

    /// There is nothing to send.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Requests that are not answered in full.
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
            position: Position::new(!pending.has_begun, ends),
            payload_bytes: payload_bytes as u32,
            tag: pending.tag,
        };
        pending.psn = pending.psn.add(1);
        pending.left_bytes -= payload_bytes;
        pending.has_begun = true;
        if ends {
            self.queue.pop_front();
        }
        Some(response)
    }
}
