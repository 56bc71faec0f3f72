//! Which items of a list belong to which queue pair, where those of one queue pair follow those of another.

use std::ops::Range;

/// One past the last item of each queue pair; empty where each has one item.
#[derive(Debug)]
pub(super) struct Shares(Box<[u32]>);

impl Shares {
    pub(super) fn new(ends: impl Iterator<Item = u32> + Clone) -> Self {
        let has_one_each = ends.clone().zip(1..).all(|(end, number)| end == number);
        Self(ends.filter(|_| !has_one_each).collect())
    }

    /// One past the last item of a queue pair.
    #[inline]
    pub(super) fn end_of(&self, queue_pair: u32) -> u32 {
        self.0.get(queue_pair as usize).copied().unwrap_or(queue_pair + 1)
    }

    /// The items of a queue pair.
    #[inline]
    pub(super) fn of(&self, queue_pair: u32) -> Range<u32> {
        queue_pair.checked_sub(1).map_or(0, |before| self.end_of(before))..self.end_of(queue_pair)
    }
}

#[cfg(test)]
mod tests {
    use super::Shares;

    #[test]
    fn one_each_needs_no_list() {
        for (ends, is_stored) in [(vec![1, 2, 3], false), (vec![2, 2, 5], true), (vec![1, 3], true)] {
            let shares = Shares::new(ends.iter().copied());
            assert_eq!(!shares.0.is_empty(), is_stored);
            let mut start = 0;
            for (queue_pair, end) in (0..).zip(ends) {
                assert_eq!(shares.of(queue_pair), start..end);
                start = end;
            }
        }
    }
}
