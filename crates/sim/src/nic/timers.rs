//! Timers of a host: a heap of events by time, and a list of recently set retransmission timers, which are
//! added to the heap when the first of them is due.

use crate::packet::ConnectionId;
use engine::prefetch::{LINE_BYTES, prefetch_line};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::{Instant, Span, State};

/// An event of a host other than the arrival or departure of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, State)]
pub(super) enum Timer {
    /// A job starts, by its index at the host: posts transfers without dependencies.
    Start(u32),
    /// Posts an outgoing transfer.
    Post(u32),
    /// Checks the deadlines of the sending end of a connection: retransmission, and of TCP the next write.
    Sender(ConnectionId),
    /// Renews the pause requested by the receive buffer.
    RenewPause,
    /// Storage: start of a client, or end of service at a target.
    Storage,
    /// Checks the deadline of the receiving end of a connection.
    Receiver(ConnectionId),
    /// A chunk of a sender within the host has been copied.
    Local(u32),
    /// The software has processed an inbound transfer.
    Received(u32),
    /// A rank has finished with an inbound transfer.
    Finished(u32),
    /// Applies the next change of throughput.
    Throughput,
    /// A pause frame is ready to be sent, or takes effect.
    Pause,
}

/// A recently set retransmission timer.
#[derive(Clone, Copy, Debug)]
struct Armed {
    sender: u32,
    /// Its expiry after that of the first of them [ps].
    after: u32,
}

/// The timers of a host, soonest first.
#[derive(Debug, State)]
#[state(before = Self::enqueue_armed, after = Self::update_earliest)]
pub(super) struct Timers {
    /// Expiry of the first: cached, since it is read before every action of a host.
    #[state(skip)]
    next: Instant,
    /// Expiry of the first of `armed`; never if it is empty.
    #[state(skip)]
    armed_from: Instant,
    /// Retransmission timers not yet in the queue. Most runs of short messages end before the first expires,
    /// so that none is ever sorted.
    #[state(skip)]
    armed: Vec<Armed>,
    queue: BinaryHeap<Reverse<(Instant, Timer)>>,
}

impl FromIterator<(Instant, Timer)> for Timers {
    fn from_iter<I: IntoIterator<Item = (Instant, Timer)>>(timers: I) -> Self {
        let queue = timers.into_iter().map(Reverse).collect();
        let mut timers = Self { next: Instant::NEVER, armed_from: Instant::NEVER, armed: Vec::new(), queue };
        timers.update_earliest();
        timers
    }
}

impl Timers {
    /// Expiry of the first timer; never if there is none.
    #[inline]
    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    #[inline]
    pub(super) fn push(&mut self, at: Instant, timer: Timer) {
        self.next = self.next.min(at);
        self.queue.push(Reverse((at, timer)));
    }

    /// Adds a retransmission timer of a reliable connection: each has the same duration, so that they expire in the order in which
    /// they are set.
    #[inline]
    pub(super) fn arm(&mut self, at: Instant, sender: u32) {
        match at.0.checked_sub(self.armed_from.0).map(u32::try_from) {
            Some(Ok(after)) => self.armed.push(Armed { sender, after }),
            _ => self.arm_first(at, sender),
        }
    }

    /// Same, if it is the first, or not near the first.
    #[inline(never)]
    fn arm_first(&mut self, at: Instant, sender: u32) {
        if !self.armed.is_empty() {
            return self.push(at, Timer::Sender(ConnectionId::rc(sender)));
        }
        self.armed.push(Armed { sender, after: 0 });
        self.armed_from = at;
        self.next = self.next.min(at);
    }

    /// Removes the first timer; of those with equal times, the first in the order of [`Timer`].
    pub(super) fn pop(&mut self) -> Option<Timer> {
        if self.armed_from <= self.next {
            self.enqueue_armed();
        }
        let first = self.queue.pop();
        self.update_earliest();
        first.map(|Reverse((_, timer))| timer)
    }

    /// Moves all into the queue.
    #[cold]
    fn enqueue_armed(&mut self) {
        let Self { armed_from, armed, queue, .. } = self;
        let timer = |Armed { sender, after }| {
            Reverse((*armed_from + Span(after.into()), Timer::Sender(ConnectionId::rc(sender))))
        };
        queue.extend(armed.drain(..).map(timer));
        *armed_from = Instant::NEVER;
    }

    fn update_earliest(&mut self) {
        let first = self.queue.peek().map_or(Instant::NEVER, |&Reverse((at, _))| at);
        self.next = first.min(self.armed_from);
    }

    /// Prefetches the slot at the end, which the next [`Self::arm`] writes.
    #[inline]
    pub(super) fn prefetch(&self) {
        if let Some(first) = self.armed.first() {
            prefetch_line(first, size_of_val(&*self.armed) / LINE_BYTES);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn timers_go_off_in_order_however_they_were_set(
            steps in prop::collection::vec((0..3_u8, prop_oneof![0..50_u64, Just(1 << 33)]), 0..200),
        ) {
            let mut timers = Timers::from_iter([]);
            let mut expected: Vec<(Instant, Timer)> = Vec::new();
            for (number, (step, at)) in (0..).zip(steps) {
                let at = Instant(at);
                match step {
                    0 => {
                        timers.arm(at, number);
                        expected.push((at, Timer::Sender(ConnectionId::rc(number))));
                    }
                    1 => {
                        timers.push(at, Timer::Post(number));
                        expected.push((at, Timer::Post(number)));
                    }
                    _ => {
                        expected.sort_unstable();
                        let first = (!expected.is_empty()).then(|| expected.remove(0).1);
                        prop_assert_eq!(timers.pop(), first);
                    }
                }
                let next = expected.iter().map(|&(at, _)| at).min();
                prop_assert_eq!(timers.next(), next.unwrap_or(Instant::NEVER));
            }
        }
    }
}
