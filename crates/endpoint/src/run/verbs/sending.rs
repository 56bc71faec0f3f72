//! Sending end of a queue pair.

use super::CREDIT_RECEIVES;
use super::address::{End, Slots};
use super::stamps::Posts;
use super::work::Work;
use crate::verbs::{QueuePair, WorkList};
use std::io;
use units::Instant;

/// Sending end.
pub(super) struct Sender {
    pub(super) queue_pair: QueuePair,
    /// Number of the queue pair in the run.
    pub(super) number: u32,
    pub(super) end: End,
    /// Name in errors.
    pub(super) name: String,
    pub(super) work: Work,
    /// Posting times of its requests, if completions have timestamps.
    pub(super) posts: Posts,
    id: u64,
}

impl Sender {
    /// A sender whose work request ids are `id` plus the request number in the low 32 bits.
    pub(super) fn new(queue_pair: QueuePair, number: u32, end: End, id: u64, work: Work) -> Self {
        Self { queue_pair, number, end, name: String::new(), work, posts: Posts::default(), id }
    }

    /// Sets the memory of the peer to write to.
    pub(super) fn aim(&mut self, to: Slots, name: String) -> io::Result<()> {
        self.name = name;
        self.work.aim(to);
        if to.is_looked_at() { self.queue_pair.post_receives(self.id, CREDIT_RECEIVES) } else { Ok(()) }
    }

    /// Posts writes with one call, using `list` as buffer, up to the free queue space and until `most_bytes`
    /// is reached; returns the number of bytes. `now` is required if completions have timestamps.
    pub(super) fn go(
        &mut self,
        list: &mut WorkList,
        most_bytes: u64,
        now: Option<Instant>,
    ) -> io::Result<u64> {
        let bytes = self.work.fill(list, self.id, most_bytes);
        if let Some(now) = now {
            self.posts.add(self.work.requests(), now);
        }
        self.queue_pair.post(list)?;
        Ok(bytes)
    }

    /// Handles a credit: the number of messages that the receiver has checked.
    pub(super) fn on_credit(&mut self, looked: u32) -> io::Result<()> {
        self.work.on_credit(looked);
        self.queue_pair.post_receives(self.id, 1)
    }
}
