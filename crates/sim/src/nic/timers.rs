//! When a host does something by itself.

use engine::prefetch::{LINE_BYTES, prefetch_line};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::{Cycle, Instant, Span, visit_heap};

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
    /// A pause frame is ready to be sent, or takes effect.
    Pause,
}

/// A retransmission timer that was set of late.
#[derive(Clone, Copy, Debug)]
struct Armed {
    sender: u32,
    /// How long after the first of them it goes off [ps].
    after: u32,
}

/// The timers of a host, soonest first.
#[derive(Debug)]
pub(super) struct Timers {
    /// When the first goes off: kept here, as it is asked for before everything that a host does.
    next: Instant,
    /// When the first of `armed` goes off; never if there is none.
    armed_from: Instant,
    /// Retransmission timers that are not in the queue yet: most runs of short messages are over before the
    /// first goes off, so that none needs a place in an order.
    armed: Vec<Armed>,
    queue: BinaryHeap<Reverse<(Instant, Timer)>>,
}

impl FromIterator<(Instant, Timer)> for Timers {
    fn from_iter<I: IntoIterator<Item = (Instant, Timer)>>(timers: I) -> Self {
        let queue = timers.into_iter().map(Reverse).collect();
        let mut timers = Self { next: Instant::NEVER, armed_from: Instant::NEVER, armed: Vec::new(), queue };
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

    /// The same of a retransmission timer: each goes off so long after it is set, so that they come in order
    /// of time.
    #[inline]
    pub(super) fn arm(&mut self, at: Instant, sender: u32) {
        match at.0.checked_sub(self.armed_from.0).map(u32::try_from) {
            Some(Ok(after)) => self.armed.push(Armed { sender, after }),
            _ => self.arm_first(at, sender),
        }
    }

    /// The same, if it is the first, or not near the first.
    #[inline(never)]
    fn arm_first(&mut self, at: Instant, sender: u32) {
        if !self.armed.is_empty() {
            return self.push(at, Timer::Retransmit(sender));
        }
        self.armed.push(Armed { sender, after: 0 });
        self.armed_from = at;
        self.next = self.next.min(at);
    }

    /// Takes out the first; of those at one time in the order of [`Timer`].
    pub(super) fn pop(&mut self) -> Option<Timer> {
        if self.armed_from <= self.next {
            self.enqueue_armed();
        }
        let first = self.queue.pop();
        self.look();
        first.map(|Reverse((_, timer))| timer)
    }

    /// Puts all into the queue.
    #[cold]
    fn enqueue_armed(&mut self) {
        let Self { armed_from, armed, queue, .. } = self;
        let timer =
            |Armed { sender, after }| Reverse((*armed_from + Span(after.into()), Timer::Retransmit(sender)));
        queue.extend(armed.drain(..).map(timer));
        *armed_from = Instant::NEVER;
    }

    fn look(&mut self) {
        let first = self.queue.peek().map_or(Instant::NEVER, |&Reverse((at, _))| at);
        self.next = first.min(self.armed_from);
    }

    /// Asks for what the next [`Self::arm`] needs: the place at the end.
    #[inline]
    pub(super) fn prefetch(&self) {
        if let Some(first) = self.armed.first() {
            prefetch_line(first, size_of_val(&*self.armed) / LINE_BYTES);
        }
    }

    /// See [`Cycle`].
    pub(super) fn visit(&mut self, cycle: &mut Cycle) {
        self.enqueue_armed();
        cycle.same(self.queue.len() as u64);
        visit_heap(&mut self.queue, |(at, _)| cycle.time(at));
        self.look();
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
                        expected.push((at, Timer::Retransmit(number)));
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
