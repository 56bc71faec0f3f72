//! Transport of chunks between ranks of one host: copies their bytes in memory, a slice per call, without
//! network traffic.

use super::driver::{Event, ReceivedCounts, SentCounts};
use super::share::Post;
use crate::Clock;
use std::collections::VecDeque;

/// Bytes copied per call, so that network traffic is served in between.
const SLICE_BYTES: u64 = 1 << 20;

/// Copies posted chunks in order.
#[derive(Debug)]
pub(super) struct Local {
    /// Posted chunks, each with its remaining bytes.
    posted: VecDeque<(Post, u64)>,
    source: Vec<u8>,
    destination: Vec<u8>,
}

impl Local {
    pub(super) fn new() -> Self {
        let buffer = vec![0; SLICE_BYTES as usize];
        Self { posted: VecDeque::new(), source: buffer.clone(), destination: buffer }
    }

    pub(super) fn post(&mut self, post: Post) {
        self.posted.push_back((post, post.bytes));
    }

    pub(super) fn is_idle(&self) -> bool {
        self.posted.is_empty()
    }

    /// Copies up to [`SLICE_BYTES`] of the posted chunks.
    pub(super) fn copy(&mut self, clock: Clock, events: &mut Vec<Event>) {
        let mut free = SLICE_BYTES;
        while let Some((post, left)) = self.posted.front_mut() {
            let bytes = free.min(*left);
            let (from, to) = (&self.source[..bytes as usize], &mut self.destination[..bytes as usize]);
            to.copy_from_slice(std::hint::black_box(from));
            free -= bytes;
            *left -= bytes;
            if *left > 0 {
                return;
            }
            let at = clock.now();
            let is_verified = None;
            let seen = ReceivedCounts { is_verified, ..ReceivedCounts::default() };
            events.push(Event::Arrived { chunk: post.chunk, at, seen });
            events.push(Event::Completed { send: post.send, at, seen: SentCounts::default() });
            self.posted.pop_front();
        }
    }
}
