//! List of the queue pairs of a host that may still be needed: a contiguous range of numbers in a ring
//! buffer, from whose front finished ones are removed.

use engine::prefetch::prefetch;
use std::ops::{Index, IndexMut};
use units::State;

/// State of the queue pairs that may still be needed: a contiguous range of numbers. If all are created at
/// the start, it covers all.
#[derive(Debug, State)]
pub(crate) struct ResidentQueuePairs<T> {
    items: Vec<T>,
    first: u32,
}

impl<T> Default for ResidentQueuePairs<T> {
    fn default() -> Self {
        Self { items: Vec::new(), first: 0 }
    }
}

impl<T> FromIterator<T> for ResidentQueuePairs<T> {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Self {
        let mut items = Vec::from_iter(all);
        items.shrink_to_fit();
        Self { items, first: 0 }
    }
}

impl<T> Index<u32> for ResidentQueuePairs<T> {
    type Output = T;

    #[inline]
    fn index(&self, number: u32) -> &T {
        &self.items[self.index_of(number)]
    }
}

impl<T> IndexMut<u32> for ResidentQueuePairs<T> {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut T {
        let index = self.index_of(number);
        &mut self.items[index]
    }
}

impl<T> ResidentQueuePairs<T> {
    /// Index of a number; out of range if it is not resident.
    #[inline]
    const fn index_of(&self, number: u32) -> usize {
        number.wrapping_sub(self.first) as usize
    }

    #[inline]
    pub(crate) const fn has(&self, number: u32) -> bool {
        self.index_of(number) < self.items.len()
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        self.items.get(self.index_of(number))
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        let index = self.index_of(number);
        self.items.get_mut(index)
    }

    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.items.len()
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    #[inline]
    pub(crate) const fn first(&self) -> u32 {
        self.first
    }

    /// One past the last number so far.
    #[inline]
    pub(crate) const fn end(&self) -> u32 {
        self.first + self.items.len() as u32
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.items.iter_mut()
    }

    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u32, &T)> {
        (self.first..).zip(&self.items)
    }

    /// Adds the item after the last.
    pub(crate) fn push(&mut self, item: T) {
        self.items.push(item);
    }

    /// Number of leading items that are done and may be removed. It is 0 while there is capacity for another
    /// item, or if they are fewer than half of all, so that each item is checked and moved a few times only.
    pub(crate) fn count_done(&self, is_done: impl Fn(u32, &T) -> bool) -> usize {
        if self.items.len() < self.items.capacity() {
            return 0;
        }
        let done = self.numbered().take_while(|(number, item)| is_done(*number, item)).count();
        if 2 * done >= self.items.len() { done } else { 0 }
    }

    /// Removes the first `count` items, with their numbers.
    pub(crate) fn take_first(&mut self, count: usize) -> impl Iterator<Item = (u32, T)> {
        let first = self.first;
        self.first += count as u32;
        (first..).zip(self.items.drain(..count))
    }

    /// Prefetches the first cache line of an item, if it is resident.
    #[inline]
    pub(crate) fn prefetch(&self, number: u32) {
        prefetch(&self.items, self.index_of(number));
    }

    /// Prefetches the first cache line of each item.
    #[inline]
    pub(crate) fn prefetch_all(&self) {
        (0..self.items.len()).for_each(|index| prefetch(&self.items, index));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn finished_items_are_removed_in_order_and_the_rest_keep_their_numbers(done in prop::collection::vec(any::<bool>(), 1..200)) {
            let (mut resident, mut removed) = (ResidentQueuePairs::<u32>::default(), BTreeMap::new());
            for number in 0..done.len() as u32 {
                let count = resident.count_done(|number, _| done[number as usize]);
                removed.extend(resident.take_first(count));
                prop_assert_eq!(resident.end(), number);
                resident.push(10 * number);
            }
            prop_assert!(removed.iter().all(|(&number, &item)| done[number as usize] && item == 10 * number));
            for number in 0..done.len() as u32 {
                let item = Some(10 * number).filter(|_| !removed.contains_key(&number));
                prop_assert_eq!(resident.get(number).copied(), item);
                prop_assert_eq!(resident.has(number), item.is_some());
            }
        }
    }

    #[test]
    fn few_are_resident_if_they_finish_one_after_the_other() {
        let mut resident = ResidentQueuePairs::default();
        for number in 0..10_000_u32 {
            let count = resident.count_done(|done, _| done + 2 < number);
            resident.take_first(count).for_each(drop);
            resident.push(number);
            assert!(resident.len() <= 8);
        }
    }
}
