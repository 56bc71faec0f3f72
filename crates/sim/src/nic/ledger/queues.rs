//! How far a queue pair has come with its work, at either end.

use super::receives::Receives;
use super::sends::Sends;
use super::work::Work;
use std::ops::Range;
use units::Instant;

/// A piece of work of a sender; only the ledger knows where it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WorkId(pub(super) u32);

impl WorkId {
    /// The only piece of a queue pair, where all have just one.
    pub(crate) const fn only_of(queue_pair: u32) -> Self {
        Self(queue_pair)
    }
}

/// Pieces of a sender, one after the other.
#[derive(Clone, Debug)]
pub(in crate::nic) struct WorkIds(Range<u32>);

impl WorkIds {
    #[inline]
    pub(in crate::nic) const fn is_empty(&self) -> bool {
        self.0.start >= self.0.end
    }

    #[inline]
    pub(in crate::nic) const fn len(&self) -> usize {
        (self.0.end - self.0.start) as usize
    }
}

impl From<WorkId> for WorkIds {
    #[inline]
    fn from(WorkId(place): WorkId) -> Self {
        Self(place..place + 1)
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

/// The send queue of a queue pair: its work that was posted and has not ended, in the order of its schedule.
#[derive(Debug)]
pub(in crate::nic) struct SendQueue {
    /// The oldest piece that was posted and has not ended, and the first that is not yet posted.
    oldest: u32,
    next: u32,
}

impl SendQueue {
    /// Of a sender, before it has posted anything.
    #[inline]
    pub(super) const fn new(first: u32) -> Self {
        Self { oldest: first, next: first }
    }

    /// Nothing is open.
    #[inline]
    pub(in crate::nic) const fn is_empty(&self) -> bool {
        self.oldest == self.next
    }

    /// The oldest open piece, if there is one.
    #[inline]
    pub(in crate::nic) fn oldest(&self) -> Option<WorkId> {
        (self.oldest < self.next).then_some(WorkId(self.oldest))
    }

    /// The open piece before which so many are open.
    #[inline]
    pub(in crate::nic) const fn at(&self, index: usize) -> WorkId {
        WorkId(self.oldest + index as u32)
    }

    /// All that are open.
    pub(in crate::nic) const fn open(&self) -> WorkIds {
        WorkIds(self.oldest..self.next)
    }

    /// All work of sender `number` was posted and has ended.
    pub(in crate::nic) fn is_done(&self, number: u32, sends: &Sends) -> bool {
        self.is_empty() && self.next == sends.end_of(number)
    }

    /// Size of an open piece, the oldest being 0 [bytes].
    #[inline]
    pub(in crate::nic) fn sizes<'a>(&self, sends: &'a Sends) -> impl Fn(usize) -> u64 + use<'a> {
        let oldest = self.oldest;
        move |index| sends.bytes_of(WorkId(oldest + index as u32))
    }

    /// Posts every piece of sender `number` whose turn it is and whose dependencies have arrived: a queue pair
    /// keeps the order of its schedule. Each is handed to `begin`, which tells whether it is open now.
    #[inline]
    pub(in crate::nic) fn post_ready(
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

    /// Posts the next of them alone, if there is one.
    pub(in crate::nic) fn post_next(
        &mut self,
        number: u32,
        sends: &mut Sends,
        now: Instant,
    ) -> Option<WorkId> {
        let posted = WorkId(self.next);
        if self.next == sends.end_of(number) || !sends.post(posted, now) {
            return None;
        }
        self.next += 1;
        Some(posted)
    }

    /// The oldest `count` pieces have ended.
    #[inline]
    pub(in crate::nic) const fn end_oldest(&mut self, count: u32) -> WorkIds {
        let first = self.oldest;
        self.oldest += count;
        WorkIds(first..first + count)
    }

    /// All that are open have ended.
    pub(in crate::nic) const fn end_all(&mut self) {
        self.oldest = self.next;
    }

    /// All work of sender `number` waits for its dependencies again, now that it has ended.
    pub(in crate::nic) fn rearm(&mut self, number: u32, sends: &mut Sends) {
        debug_assert!(self.is_empty(), "a round ends when everything is acknowledged");
        let first = sends.rearm(number);
        (self.oldest, self.next) = (first, first);
    }

    /// Tells one state of it from another.
    pub(in crate::nic) const fn state(&self) -> [u32; 2] {
        [self.oldest, self.next]
    }
}

/// The receive queue of a queue pair: the work that still comes, piece by piece and round after round.
#[derive(Debug)]
pub(in crate::nic) struct ReceiveQueue {
    first: u32,
    /// What is left of a round.
    left: Range<u32>,
    round: u32,
}

impl ReceiveQueue {
    #[inline]
    pub(super) const fn new(own: Range<u32>) -> Self {
        Self { first: own.start, left: own, round: 0 }
    }

    /// Takes the next piece out, with its round.
    pub(in crate::nic) fn take_next(&mut self, receives: &Receives) -> (Work, u32) {
        if self.left.is_empty() {
            self.left.start = self.first;
            self.round += 1;
        }
        let work = receives.at(self.left.start);
        self.left.start += 1;
        (work, self.round)
    }

    /// Tells one state of it from another.
    pub(in crate::nic) const fn state(&self) -> [u32; 2] {
        [self.left.start, self.round]
    }
}
