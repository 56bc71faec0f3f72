//! Event queue of a run.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;
use units::Instant;

/// Kind of event, in the order of processing at equal times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A flow has ended, or unused rates of ended flows are redistributed; may be outdated by changes of
    /// rates.
    Drained,
    /// The queue of a link may be empty; the index is the link.
    Emptied,
    /// The rest time of a link is over, and its rates are recomputed; the index is the link.
    Rested,
    /// The last bit of a flow leaves the link of this hop; the index is its slot.
    Passed(u8),
    /// A sender is due; the number is the version of its schedule, the index the sender.
    Look(u32),
    /// A chunk is delivered; the number is the chunk, the index its slot.
    Delivered,
    /// A transfer is received and processed; the number is the transfer, the index its job.
    TakenIn,
    /// A chunk is acknowledged; the number is the chunk, the index its slot.
    Completed,
    /// The window of a queue pair opens; the number is the queue pair.
    Opened,
    /// A transfer is posted; the number is the transfer, the index its job.
    Post,
}

/// (time, kind, number, index).
type Event = (Instant, Kind, u32, u32);

/// Future events in order of time.
#[derive(Default)]
pub(crate) struct Events {
    ahead: BinaryHeap<Reverse<Event>>,
    /// Transfers posted at the present time: contiguous ranges, with their jobs. Processed after all other
    /// events of that time.
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

    /// Time of the next event.
    pub(crate) fn next(&self) -> Option<Instant> {
        let posts = (!self.posts.is_empty()).then_some(self.now);
        posts.or_else(|| self.ahead.peek().map(|event| event.0.0))
    }

    /// Removes the next event, if it is due at `now`.
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

    /// Number of events processed.
    pub(crate) const fn done(&self) -> u64 {
        self.done
    }
}
