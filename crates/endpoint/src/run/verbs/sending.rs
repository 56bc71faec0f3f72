//! The end of a queue pair that sends.

use super::CREDIT_RECEIVES;
use super::address::{End, Slots};
use super::stamps::Posts;
use super::work::Work;
use crate::verbs::{QueuePair, WorkList};
use std::io;
use units::Instant;

/// The end that sends.
pub(super) struct Sender {
    pub(super) queue_pair: QueuePair,
    /// Its number in the run, and how peers know its end.
    pub(super) number: u32,
    pub(super) end: End,
    /// As errors call it.
    pub(super) name: String,
    pub(super) work: Work,
    /// When its requests were posted, where completions have stamps.
    pub(super) posts: Posts,
    id: u64,
}

impl Sender {
    /// One whose requests are known by `id` with their number in its low 32 bits.
    pub(super) fn new(queue_pair: QueuePair, number: u32, end: End, id: u64, work: Work) -> Self {
        Self { queue_pair, number, end, name: String::new(), work, posts: Posts::default(), id }
    }

    /// Its data goes there.
    pub(super) fn aim(&mut self, to: Slots, name: String) -> io::Result<()> {
        self.name = name;
        self.work.aim(to);
        if to.is_looked_at() { self.queue_pair.post_receives(self.id, CREDIT_RECEIVES) } else { Ok(()) }
    }

    /// Posts what there is room for by one call, in the room of `list`, and no more once it is `most_bytes`;
    /// returns how much it is [bytes]. The time is told where completions have stamps.
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

    /// The receiver has looked at so many messages.
    pub(super) fn on_credit(&mut self, looked: u32) -> io::Result<()> {
        self.work.on_credit(looked);
        self.queue_pair.post_receives(self.id, 1)
    }
}
