//! What happens when.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;
use units::Instant;

/// What happens, in the order in which it does at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A flow has ended, or what those leave that have ended is handed on, unless rates have changed.
    Drained,
    /// The queue of a link may be empty; the place is the link.
    Emptied,
    /// A link is to be looked at, the place.
    Rested,
    /// The last bit of a flow leaves the link of this hop; the place is its slot.
    Passed(u8),
    /// A sender is to be looked at; the number is how often it was told when, the place the sender.
    Look(u32),
    /// A chunk is there; the number is the chunk, the place its slot.
    Delivered,
    /// A transfer is taken in; the number is the transfer, the place its job.
    TakenIn,
    /// A chunk is acknowledged; the number is the chunk, the place its slot.
    Completed,
    /// The window of a queue pair is open, the number.
    Opened,
    /// Something fails, is repaired, or routes change; the number is which of these times it is.
    Changed,
    /// A flow goes no further for want of acknowledgements; the place is its slot.
    Stalled,
    /// A flow goes on; the place is its slot.
    Resumed,
    /// The queue pair of a chunk has used up its retries; the number is the chunk.
    Failed,
    /// A transfer is posted; the number is the transfer, the place its job.
    Post,
}

/// (time, what, number, place).
type Event = (Instant, Kind, u32, u32);

/// What is to happen.
#[derive(Default)]
pub(crate) struct Events {
    ahead: BinaryHeap<Reverse<Event>>,
    /// Transfers that are posted at the present moment, those that follow each other together, with their
    /// jobs: the last of all that happens at it.
    posts: VecDeque<(Range<u32>, u32)>,
    now: Instant,
    done: u64,
}

impl Events {
    pub(crate) fn push(&mut self, at: Instant, kind: Kind, number: u32, place: u32) {
        match kind {
            Kind::Post if at == self.now => self.post(number, place),
            _ => self.ahead.push(Reverse((at, kind, number, place))),
        }
    }

    fn post(&mut self, transfer: u32, job: u32) {
        match self.posts.back_mut() {
            Some((others, of)) if others.end == transfer && *of == job => others.end += 1,
            _ => self.posts.push_back((transfer..transfer + 1, job)),
        }
    }

    /// When something happens next.
    pub(crate) fn next(&self) -> Option<Instant> {
        let posts = (!self.posts.is_empty()).then_some(self.now);
        posts.or_else(|| self.ahead.peek().map(|event| event.0.0))
    }

    /// What happens next, if it does at `now`.
    pub(crate) fn take_at(&mut self, now: Instant) -> Option<(Kind, u32, u32)> {
        self.now = now;
        self.done += 1;
        if self.ahead.peek().is_some_and(|event| event.0.0 == now) {
            return self.ahead.pop().map(|event| (event.0.1, event.0.2, event.0.3));
        }
        let Some((transfers, job)) = self.posts.front_mut() else {
            self.done -= 1;
            return None;
        };
        let post = transfers.next().map(|transfer| (Kind::Post, transfer, *job));
        if Range::is_empty(transfers) {
            self.posts.pop_front();
        }
        post
    }

    /// What has happened.
    pub(crate) const fn done(&self) -> u64 {
        self.done
    }
}
