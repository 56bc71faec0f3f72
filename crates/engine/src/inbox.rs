//! Inbox: the queue of messages in flight on one directed link.

use crate::{Message, Ring};
use units::Instant;

/// Messages in flight on one link: a queue in order of sending and of arrival.
///
/// Memory is proportional to the messages in flight, independent of windows.
#[derive(Debug)]
pub struct Inbox<M> {
    messages: Ring<M>,
    /// End of the last window in which a message arrives: its node is already active in all windows before.
    pub(crate) active_until: Instant,
}

impl<M: Message> Inbox<M> {
    pub(crate) fn new() -> Self {
        Self { messages: Ring::default(), active_until: Instant::ZERO }
    }

    /// Arrival of the first message; never if there is none.
    #[inline]
    pub fn next_arrival(&self) -> Instant {
        self.messages.front().map_or(Instant::NEVER, Message::at)
    }

    /// Removes and returns the first message.
    #[inline]
    pub fn take_first(&mut self) -> Option<M> {
        self.messages.pop_front()
    }

    /// Removes and returns the first message if it arrives before `end`.
    #[inline]
    pub fn take_before(&mut self, end: Instant) -> Option<M> {
        if self.next_arrival() < end { self.take_first() } else { None }
    }

    /// Removes, in order, the messages that arrive before `end`, and writes them to `room` with `put`; `room`
    /// must be large enough for all messages in flight. Returns their number.
    ///
    /// # Panics
    /// If `room` is smaller.
    #[inline(always)]
    pub fn take_before_into<U>(&mut self, end: Instant, room: &mut [U], put: impl Fn(&mut U, &M)) -> usize {
        self.messages.pop_while(|message| message.at() < end, room, put)
    }

    /// Number of messages in flight.
    #[inline]
    pub const fn len(&self) -> usize {
        self.messages.len()
    }

    /// Messages in flight, in order.
    pub fn iter(&self) -> impl Iterator<Item = &M> {
        self.messages.iter()
    }

    /// Whether no message is in flight.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Appends the message built by `make`; see [`Ring::push_with`].
    #[inline(always)]
    pub(crate) fn push_with(&mut self, make: impl Fn() -> M) {
        let last = || self.messages.iter().next_back().map(Message::at);
        debug_assert!(last().is_none_or(|last| last <= make().at()), "a link is a queue");
        self.messages.push_with(make);
    }

    /// Changes every message, in order. For changes of times see
    /// [`Partition::state_mut`](crate::Partition::state_mut).
    pub fn change_all(&mut self, change: impl FnMut(&mut M)) {
        self.messages.change_all(change);
    }

    /// Prefetches the memory of the first messages, at most `messages`.
    #[inline]
    pub fn prefetch_first(&self, messages: usize) {
        self.messages.prefetch_first(messages);
    }

    /// Prefetches the memory of the next `messages` messages to be sent.
    #[inline]
    pub(crate) fn prefetch_next(&self, messages: usize) {
        self.messages.prefetch_next(messages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug)]
    struct At(u64);

    impl Message for At {
        fn at(&self) -> Instant {
            Instant(self.0)
        }
    }

    #[test]
    fn only_what_arrives_before_the_end_is_taken() {
        let mut inbox = Inbox::new();
        [10, 20, 20, 30].into_iter().for_each(|at| inbox.push_with(|| At(at)));
        let taken: Vec<u64> =
            std::iter::from_fn(|| inbox.take_before(Instant(30))).map(|message| message.0).collect();
        assert_eq!(taken, [10, 20, 20]);
        assert_eq!((inbox.next_arrival(), inbox.iter().count()), (Instant(30), 1));
    }

    #[test]
    fn two_inboxes_share_a_cache_line() {
        assert_eq!(size_of::<Inbox<At>>(), 32);
    }
}
