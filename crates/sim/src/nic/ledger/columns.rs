//! Compressed lists of numbers, sizes and ranges, with their builders: values that are equal for all items,
//! or form an arithmetic sequence, are stored once.

use engine::prefetch::prefetch;
use std::ops::Range;

/// An arithmetic sequence.
#[derive(Clone, Copy, Debug)]
struct Steps {
    first: u32,
    step: u32,
}

impl Steps {
    /// Modulo 2^32.
    #[inline]
    const fn of(self, item: u32) -> u32 {
        self.first.wrapping_add(item.wrapping_mul(self.step))
    }
}

/// A number for each item of a list; an arithmetic sequence is stored as first number and step.
#[derive(Debug)]
pub(super) struct Numbers {
    steps: Steps,
    each: Box<[u32]>,
}

impl Numbers {
    /// The numbers of a whole list.
    pub(super) fn of_all(numbers: impl Iterator<Item = u32> + Clone) -> Self {
        let mut ahead = numbers.clone();
        let first = ahead.next().unwrap_or(0);
        let steps = Steps { first, step: ahead.next().map_or(1, |second| second.wrapping_sub(first)) };
        let follow = numbers.clone().zip(0..).all(|(number, item)| number == steps.of(item));
        Self { steps, each: if follow { Box::default() } else { numbers.collect() } }
    }

    pub(super) fn from(first: u32) -> Self {
        Self { steps: Steps { first, step: 1 }, each: Box::default() }
    }

    #[inline]
    pub(super) fn of(&self, item: u32) -> u32 {
        self.each.get(item as usize).copied().unwrap_or_else(|| self.steps.of(item))
    }

    #[inline]
    pub(super) fn prefetch(&self, item: usize) {
        prefetch(&self.each, item);
    }
}

/// Builder of [`Numbers`].
#[derive(Debug)]
pub(super) struct NumbersMaker {
    steps: Steps,
    each: Vec<u32>,
}

impl Default for NumbersMaker {
    fn default() -> Self {
        Self { steps: Steps { first: 0, step: 1 }, each: Vec::new() }
    }
}

impl NumbersMaker {
    /// Adds the number of the next item.
    #[inline]
    pub(super) fn push(&mut self, item: u32, number: u32) {
        if !self.each.is_empty() {
            self.each.push(number);
        } else if number != self.steps.of(item) {
            self.begin(item, number);
        }
    }

    /// Adds the first number, the second, or the first that breaks the sequence.
    #[cold]
    fn begin(&mut self, item: u32, number: u32) {
        match item {
            0 => self.steps.first = number,
            1 => self.steps.step = number.wrapping_sub(self.steps.first),
            _ => {
                self.each.extend((0..item).map(|item| self.steps.of(item)));
                self.each.push(number);
            }
        }
    }

    pub(super) fn finish(self) -> Numbers {
        Numbers { steps: self.steps, each: self.each.into() }
    }
}

/// One past the last item of each queue pair, in a list grouped by queue pair.
#[derive(Debug)]
pub(super) struct Shares(Numbers);

impl Shares {
    /// Queue pairs with one item each.
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

/// Builder of [`Shares`].
#[derive(Debug, Default)]
pub(super) struct SharesMaker {
    queue_pairs: u32,
    ends: NumbersMaker,
}

impl SharesMaker {
    /// Ends the items of the next queue pair at `end`.
    #[inline]
    pub(super) fn push(&mut self, end: u32) {
        self.ends.push(self.queue_pairs, end);
        self.queue_pairs += 1;
    }

    pub(super) fn finish(self) -> Shares {
        Shares(self.ends.finish())
    }
}

/// Payload of each chunk [bytes]; stored once if it is equal for all.
#[derive(Debug)]
pub(super) struct ChunkBytes {
    all: u64,
    each: Box<[u64]>,
}

impl ChunkBytes {
    /// Equal for all.
    pub(super) fn same(all: u64) -> Self {
        Self { all, each: Box::default() }
    }

    /// Payload of a chunk.
    #[inline]
    pub(super) fn of(&self, chunk: u32) -> u64 {
        self.each.get(chunk as usize).copied().unwrap_or(self.all)
    }
}

/// Builder of [`ChunkBytes`].
#[derive(Debug, Default)]
pub(super) struct ChunkBytesMaker {
    all: u64,
    each: Vec<u64>,
}

impl ChunkBytesMaker {
    /// Adds the payload of the next chunk.
    #[inline]
    pub(super) fn push(&mut self, chunk: u32, bytes: u64) {
        if !self.each.is_empty() {
            self.each.push(bytes);
        } else if bytes != self.all {
            self.begin(chunk, bytes);
        }
    }

    /// Adds the first payload, or the first that differs.
    #[cold]
    fn begin(&mut self, chunk: u32, bytes: u64) {
        if chunk == 0 {
            self.all = bytes;
            return;
        }
        self.each.resize(chunk as usize, self.all);
        self.each.push(bytes);
    }

    pub(super) fn finish(self) -> ChunkBytes {
        ChunkBytes { all: self.all, each: self.each.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computable_numbers_are_not_stored() {
        let steps = [vec![7, 8, 9], vec![7, 9, 11], vec![7, 5, 3], vec![7, 7], vec![7], vec![]];
        let others = [vec![7, 9, 8], vec![7, 8, 9, 11], vec![7, 7, 8]];
        let steps = steps.into_iter().map(|numbers| (numbers, false));
        for (numbers, is_stored) in steps.chain(others.into_iter().map(|numbers| (numbers, true))) {
            let mut list = NumbersMaker::default();
            (0..).zip(&numbers).for_each(|(item, &number)| list.push(item, number));
            let list = list.finish();
            let at_once = Numbers::of_all(numbers.iter().copied());
            for list in [list, at_once] {
                assert_eq!(!list.each.is_empty(), is_stored);
                (0..).zip(&numbers).for_each(|(item, &number)| assert_eq!(list.of(item), number));
            }
        }
    }

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

    #[test]
    fn a_value_common_to_all_is_stored_once() {
        for (bytes, is_stored) in [(vec![7, 7, 7], false), (vec![7, 8, 7], true), (vec![], false)] {
            let mut chunks = ChunkBytesMaker::default();
            (0..).zip(&bytes).for_each(|(chunk, &bytes)| chunks.push(chunk, bytes));
            let chunks = chunks.finish();
            assert_eq!(!chunks.each.is_empty(), is_stored);
            (0..).zip(bytes).for_each(|(chunk, bytes)| assert_eq!(chunks.of(chunk), bytes));
        }
    }
}
