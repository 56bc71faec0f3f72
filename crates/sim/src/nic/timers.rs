//! When a host does something by itself.

use crate::fast_forward::visit_heap;
use crate::prefetch::{LINE_BYTES, prefetch_line};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::{Cycle, Instant};

/// What may be due at a host, besides packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// The job starts: post what waits for nothing.
    Start,
    /// Post an outgoing transfer.
    Post(u32),
    /// Look at the retransmission deadline of a sender.
    Retransmit(u32),
    /// Renew the pause the receive buffer asked for.
    RenewPause,
    /// What storage does by itself.
    Storage,
    /// Look at a TCP source.
    TcpSource(u32),
    /// Look at a TCP sink.
    TcpSink(u32),
    /// A chunk of a sender within the host has been copied.
    Local(u32),
    /// The software has taken in an inbound transfer.
    Received(u32),
    /// Take on the next change of throughput.
    Throughput,
}

/// The timers of a host, soonest first.
#[derive(Debug)]
pub(super) struct Timers {
    /// When the first goes off: kept here, as it is asked for before everything that a host does.
    next: Instant,
    queue: BinaryHeap<Reverse<(Instant, Timer)>>,
}

impl FromIterator<(Instant, Timer)> for Timers {
    fn from_iter<I: IntoIterator<Item = (Instant, Timer)>>(timers: I) -> Self {
        let mut timers = Self { next: Instant::NEVER, queue: timers.into_iter().map(Reverse).collect() };
        timers.look();
        timers
    }
}

impl Timers {
    /// When the first goes off; never if there is none.
    #[inline]
    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    #[inline]
    pub(super) fn push(&mut self, at: Instant, timer: Timer) {
        self.next = self.next.min(at);
        self.queue.push(Reverse((at, timer)));
    }

    /// Takes out the first; of those at one time in the order of [`Timer`].
    pub(super) fn pop(&mut self) -> Option<Timer> {
        let first = self.queue.pop();
        self.look();
        first.map(|Reverse((_, timer))| timer)
    }

    fn look(&mut self) {
        self.next = self.queue.peek().map_or(Instant::NEVER, |&Reverse((at, _))| at);
    }

    /// Asks for what the next [`Self::push`] needs: the place at the end, and the one that it is compared with.
    #[inline]
    pub(super) fn prefetch(&self) {
        let timers = self.queue.as_slice();
        if let Some(first) = timers.first() {
            prefetch_line(first, size_of_val(timers) / LINE_BYTES);
            prefetch_line(&timers[(timers.len() - 1) / 2], 0);
        }
    }

    /// See [`Cycle`].
    pub(super) fn visit(&mut self, cycle: &mut Cycle) {
        cycle.same(self.queue.len() as u64);
        visit_heap(&mut self.queue, |(at, _)| cycle.time(at));
        self.look();
    }
}
