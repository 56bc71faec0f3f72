//! Response times of PFC: what takes effect a fixed time after it was decided, in order.
//!
//! A switch or NIC sends a pause frame some time after a threshold was crossed, and acts on one that it
//! receives some time after that would be taken in as a frame of data.

use std::collections::VecDeque;
use units::{Cycle, Instant, Span};

/// A queue whose items are all due the same time after they are put in.
#[derive(Clone, Debug)]
pub(crate) struct Delayed<T> {
    delay: Span,
    items: VecDeque<(Instant, T)>,
}

impl<T> Delayed<T> {
    pub(crate) const fn new(delay: Span) -> Self {
        Self { delay, items: VecDeque::new() }
    }

    /// Puts `item` in at `now`; returns it if it is due at once.
    pub(crate) fn push(&mut self, now: Instant, item: T) -> Option<T> {
        if self.delay == Span::ZERO {
            return Some(item);
        }
        self.items.push_back((now + self.delay, item));
        None
    }

    /// How many are not due.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// When the first is due; never if there is none.
    pub(crate) fn next_due(&self) -> Instant {
        self.items.front().map_or(Instant::NEVER, |&(at, _)| at)
    }

    /// When the last is due; never if there is none.
    pub(crate) fn last_due(&self) -> Instant {
        self.items.back().map_or(Instant::NEVER, |&(at, _)| at)
    }

    /// Takes out the first if it is due by `now`.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<T> {
        if self.next_due() > now { None } else { self.items.pop_front().map(|(_, item)| item) }
    }

    /// See [`Cycle`].
    pub(crate) fn visit(&mut self, cycle: &mut Cycle, mut visit: impl FnMut(&mut T, &mut Cycle)) {
        let Self { delay: _, items } = self;
        cycle.same(items.len() as u64);
        for (at, item) in items {
            cycle.time(at);
            visit(item, cycle);
        }
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
