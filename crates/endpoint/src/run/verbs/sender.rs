//! Sending end of a queue pair: posts writes of its chunks, and receives credits of a verifying receiver.

use super::CREDIT_RECEIVES;
use super::address::{End, Slots};
use super::timestamps::Posts;
use super::work::Work;
use crate::verbs::{QueuePair, WorkList};
use std::io;
use units::Instant;

/// Sending end of a queue pair of the adapter.
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
    pub(super) fn set_target(&mut self, to: Slots, name: String) -> io::Result<()> {
        self.name = name;
        self.work.set_target(to);
        if to.is_verified() { self.queue_pair.post_receives(self.id, CREDIT_RECEIVES) } else { Ok(()) }
    }

    /// Posts writes with one call, using `list` as buffer, up to the free queue space and until `bytes_max`
    /// is reached; returns the number of bytes. `now` is required if completions have timestamps.
    pub(super) fn post_writes(
        &mut self,
        list: &mut WorkList,
        bytes_max: u64,
        now: Option<Instant>,
    ) -> io::Result<u64> {
        let bytes = self.work.fill(list, self.id, bytes_max);
        if let Some(now) = now {
            self.posts.add(self.work.requests(), now);
        }
        self.queue_pair.post(list)?;
        Ok(bytes)
    }

    /// Handles a credit: the number of messages that the receiver has checked.
    pub(super) fn on_credit(&mut self, checked: u32) -> io::Result<()> {
        self.work.on_credit(checked);
        self.queue_pair.post_receives(self.id, 1)
    }
}
