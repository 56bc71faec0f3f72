//! Queue of actions that take effect after a fixed delay, in order; models the response times of PFC.
//!
//! A switch or NIC sends a pause frame some time after a threshold was crossed, and applies a received one
//! some time after it would have received a data frame.

use std::collections::VecDeque;
use units::{Instant, Span, State};

/// A queue with a fixed delay from insertion to the due time of each item.
#[derive(Clone, Debug, State)]
pub(crate) struct Delayed<T> {
    #[state(skip)]
    delay: Span,
    items: VecDeque<(Instant, T)>,
}

impl<T> Delayed<T> {
    pub(crate) const fn new(delay: Span) -> Self {
        Self { delay, items: VecDeque::new() }
    }

    /// Adds `item` at `now`; returns it if it is due immediately.
    pub(crate) fn push(&mut self, now: Instant, item: T) -> Option<T> {
        if self.delay == Span::ZERO {
            return Some(item);
        }
        self.items.push_back((now + self.delay, item));
        None
    }

    /// Number of items that are not due.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Due time of the first item; never if there is none.
    pub(crate) fn next_due(&self) -> Instant {
        self.items.front().map_or(Instant::NEVER, |&(at, _)| at)
    }

    /// Due time of the last item; never if there is none.
    pub(crate) fn last_due(&self) -> Instant {
        self.items.back().map_or(Instant::NEVER, |&(at, _)| at)
    }

    /// Removes the first item if it is due by `now`.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<T> {
        if self.next_due() > now { None } else { self.items.pop_front().map(|(_, item)| item) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_due_in_order_after_the_delay_and_at_once_without_one() {
        let mut delayed = Delayed::new(Span(100));
        assert_eq!([delayed.push(Instant(5), 'a'), delayed.push(Instant(7), 'b')], [None, None]);
        assert_eq!(delayed.last_due(), Instant(107));
        assert_eq!((delayed.next_due(), delayed.pop_due(Instant(104))), (Instant(105), None));
        assert_eq!([delayed.pop_due(Instant(105)), delayed.pop_due(Instant(105))], [Some('a'), None]);
        assert_eq!(delayed.next_due(), Instant(107));
        assert_eq!(Delayed::new(Span::ZERO).push(Instant(5), 'c'), Some('c'));
    }
}
