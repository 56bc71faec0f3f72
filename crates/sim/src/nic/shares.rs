//! Which items of a list belong to which queue pair, where those of one queue pair follow those of another.

use super::numbers::{Numbers, NumbersMaker};
use std::ops::Range;

/// One past the last item of each queue pair.
#[derive(Debug)]
pub(super) struct Shares(Numbers);

impl Shares {
    /// Of queue pairs with one item each.
    pub(super) fn of_one() -> Self {
        Self(Numbers::from(1))
    }

    /// One past the last item of a queue pair.
    #[inline]
    pub(super) fn end_of(&self, queue_pair: u32) -> u32 {
        self.0.of(queue_pair)
    }

    /// The items of a queue pair.
    #[inline]
    pub(super) fn of(&self, queue_pair: u32) -> Range<u32> {
        queue_pair.checked_sub(1).map_or(0, |before| self.end_of(before))..self.end_of(queue_pair)
    }
}

/// The same in the making.
#[derive(Debug, Default)]
pub(super) struct SharesMaker {
    queue_pairs: u32,
    ends: NumbersMaker,
}

impl SharesMaker {
    /// The items of the next queue pair end at `end`.
    #[inline]
    pub(super) fn push(&mut self, end: u32) {
        self.ends.push(self.queue_pairs, end);
        self.queue_pairs += 1;
    }

    pub(super) fn finish(self) -> Shares {
        Shares(self.ends.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::{Shares, SharesMaker};

    #[test]
    fn one_item_each_is_that_of_the_same_number() {
        assert_eq!([0, 1, 7].map(|queue_pair| Shares::of_one().of(queue_pair)), [0..1, 1..2, 7..8]);
    }

    #[test]
    fn each_queue_pair_has_the_items_since_the_one_before() {
        for ends in [vec![1, 2, 3], vec![2, 2, 5], vec![2, 3, 4], vec![1, 3]] {
            let mut shares = SharesMaker::default();
            ends.iter().for_each(|&end| shares.push(end));
            let shares = shares.finish();
            let mut start = 0;
            for (queue_pair, end) in (0..).zip(ends) {
                assert_eq!(shares.of(queue_pair), start..end);
                start = end;
            }
        }
    }
}
