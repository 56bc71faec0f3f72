//! Event queue of a run: a binary heap of future events, and a list of transfers posted at the present time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;
use units::Instant;

/// Event of a run, in the order of processing at equal times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// A flow has ended, or unused rates of ended flows are redistributed; may be outdated by changes of
    /// rates.
    FlowEnded,
    /// The queue of a link may be empty.
    QueueEmpty { link: u32 },
    /// The rest time of a link is over, and its rates are recomputed.
    RestOver { link: u32 },
    /// The last bit of the flow in a slot leaves the link of a hop.
    LinkPassed { hop: u8, slot: u32 },
    /// A sending port is due; outdated unless its schedule still has this version.
    PortDue { version: u32, port: u32 },
    /// A chunk is delivered.
    Delivered { chunk: u32, slot: u32 },
    /// A transfer is received and processed.
    Processed { transfer: u32, job: u32 },
    /// A rank has finished with a transfer.
    Finished { transfer: u32, job: u32 },
    /// A chunk is acknowledged.
    Acknowledged { chunk: u32, slot: u32 },
    /// The window of a queue pair opens.
    WindowOpen { queue_pair: u32 },
    /// A transfer is posted.
    Post { transfer: u32, job: u32 },
}

/// Contiguous transfers of a job.
struct Posts {
    transfers: Range<u32>,
    job: u32,
}

/// Future events in order of time.
#[derive(Default)]
pub(crate) struct Events {
    future: BinaryHeap<Reverse<(Instant, Event)>>,
    /// Transfers posted at the present time. Processed after all other events of that time.
    posts: VecDeque<Posts>,
    now: Instant,
    processed: u64,
}

impl Events {
    pub(crate) fn push(&mut self, at: Instant, event: Event) {
        match event {
            Event::Post { transfer, job } if at == self.now => self.post(transfer, job),
            _ => self.future.push(Reverse((at, event))),
        }
    }

    fn post(&mut self, transfer: u32, job: u32) {
        match self.posts.back_mut() {
            Some(last) if last.transfers.end == transfer && last.job == job => last.transfers.end += 1,
            _ => self.posts.push_back(Posts { transfers: transfer..transfer + 1, job }),
        }
    }

    /// Time of the next event.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        let posts = (!self.posts.is_empty()).then_some(self.now);
        posts.or_else(|| self.future.peek().map(|event| event.0.0))
    }

    /// Removes the next event, if it is due at `now`.
    pub(crate) fn pop_at(&mut self, now: Instant) -> Option<Event> {
        self.now = now;
        let event = match self.future.peek().is_some_and(|event| event.0.0 == now) {
            true => self.future.pop().map(|event| event.0.1),
            false => self.pop_post(),
        };
        self.processed += u64::from(event.is_some());
        event
    }

    fn pop_post(&mut self) -> Option<Event> {
        let Posts { transfers, job } = self.posts.front_mut()?;
        let post = transfers.next().map(|transfer| Event::Post { transfer, job: *job });
        if Range::is_empty(transfers) {
            self.posts.pop_front();
        }
        post
    }

    /// Number of events processed.
    pub(crate) const fn processed(&self) -> u64 {
        self.processed
    }
}
