//! Send queue and receive queue of a queue pair, as ranges of work items (chunks, the parts of transfers) in
//! the ledger of the host: operations post, end and restart items to send, and remove items that were
//! received.

use super::receives::Receives;
use super::sends::Sends;
use super::work::Work;
use std::ops::Range;
use units::{Instant, State};

/// A work item of a sender: an index private to the ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WorkId(pub(super) u32);

impl WorkId {
    /// The only item of a queue pair, if each has exactly one.
    pub(crate) const fn only_of(queue_pair: u32) -> Self {
        Self(queue_pair)
    }
}

/// Consecutive work items of a sender.
#[derive(Clone, Debug)]
pub(crate) struct WorkIds(Range<u32>);

impl WorkIds {
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.start >= self.0.end
    }

    #[inline]
    pub(crate) const fn len(&self) -> usize {
        (self.0.end - self.0.start) as usize
    }
}

impl From<WorkId> for WorkIds {
    #[inline]
    fn from(WorkId(index): WorkId) -> Self {
        Self(index..index + 1)
    }
}

impl Iterator for WorkIds {
    type Item = WorkId;

    #[inline]
    fn next(&mut self) -> Option<WorkId> {
        self.0.next().map(WorkId)
    }
}

impl DoubleEndedIterator for WorkIds {
    fn next_back(&mut self) -> Option<WorkId> {
        self.0.next_back().map(WorkId)
    }
}

/// Send queue of a queue pair: work that was posted and has not ended, in the order of its schedule.
#[derive(Debug, State)]
pub(crate) struct SendQueue {
    /// The oldest item that was posted and has not ended, and the first that is not yet posted.
    oldest: u32,
    next: u32,
}

impl SendQueue {
    /// The queue of a sender that has posted nothing.
    #[inline]
    pub(super) const fn new(first: u32) -> Self {
        Self { oldest: first, next: first }
    }

    /// No item is open.
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.oldest == self.next
    }

    /// The oldest open item, if any.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<WorkId> {
        (self.oldest < self.next).then_some(WorkId(self.oldest))
    }

    /// The open item with `index` open items before it.
    #[inline]
    pub(crate) const fn at(&self, index: usize) -> WorkId {
        WorkId(self.oldest + index as u32)
    }

    /// All open items.
    pub(crate) const fn open(&self) -> WorkIds {
        WorkIds(self.oldest..self.next)
    }

    /// Whether all work of sender `number` was posted and has ended.
    pub(crate) fn is_done(&self, number: u32, sends: &Sends) -> bool {
        self.is_empty() && self.next == sends.end_of(number)
    }

    /// Sizes of open items, from the oldest at 0 [bytes].
    #[inline]
    pub(crate) fn sizes<'a>(&self, sends: &'a Sends) -> impl Fn(usize) -> u64 + use<'a> {
        let oldest = self.oldest;
        move |index| sends.bytes_of(WorkId(oldest + index as u32))
    }

    /// Posts every next item of sender `number` whose dependencies have arrived: a queue pair follows the
    /// order of its schedule. `begin` is called with each, and returns whether it is now open.
    #[inline]
    pub(crate) fn post_ready(
        &mut self,
        number: u32,
        sends: &mut Sends,
        now: Instant,
        mut begin: impl FnMut(&Sends, WorkId) -> bool,
    ) {
        let end = sends.end_of(number);
        while self.next < end && sends.post(WorkId(self.next), now) {
            let is_open = begin(sends, WorkId(self.next));
            self.next += 1;
            self.oldest += u32::from(!is_open);
        }
    }

    /// Posts only the next item, if it is ready.
    pub(crate) fn post_next(&mut self, number: u32, sends: &mut Sends, now: Instant) -> Option<WorkId> {
        let posted = WorkId(self.next);
        if self.next == sends.end_of(number) || !sends.post(posted, now) {
            return None;
        }
        self.next += 1;
        Some(posted)
    }

    /// Ends the oldest `count` items.
    #[inline]
    pub(crate) const fn end_oldest(&mut self, count: u32) -> WorkIds {
        let first = self.oldest;
        self.oldest += count;
        WorkIds(first..first + count)
    }

    /// Ends all open items.
    pub(crate) const fn end_all(&mut self) {
        self.oldest = self.next;
    }

    /// Makes all work of sender `number`, which has ended, wait for its dependencies again.
    pub(crate) fn rearm(&mut self, number: u32, sends: &mut Sends) {
        debug_assert!(self.is_empty(), "a round ends when everything is acknowledged");
        let first = sends.rearm(number);
        (self.oldest, self.next) = (first, first);
    }
}

/// Receive queue of a queue pair: work that has not arrived, item by item and round by round.
#[derive(Debug, State)]
pub(crate) struct ReceiveQueue {
    #[state(skip)]
    first: u32,
    /// Remaining items of the round.
    left: Range<u32>,
    round: u32,
}

impl ReceiveQueue {
    #[inline]
    pub(super) const fn new(own: Range<u32>) -> Self {
        Self { first: own.start, left: own, round: 0 }
    }

    /// Removes the next item; returns it with its round.
    pub(crate) fn take_next(&mut self, receives: &Receives) -> (Work, u32) {
        if self.left.is_empty() {
            self.left.start = self.first;
            self.round += 1;
        }
        let work = receives.at(self.left.start);
        self.left.start += 1;
        (work, self.round)
    }
}
