//! A queue that mostly has one item.

use std::collections::VecDeque;

/// A queue for what a queue pair mostly has one of at a time: one item needs no memory of its own, so that a million
/// queue pairs need no million allocations.
#[derive(Clone, Debug)]
#[expect(clippy::box_collection, reason = "a pointer is a quarter of an empty queue, and mostly it is empty")]
pub struct OneOrMore<T> {
    /// None only if there is none at all.
    first: Option<T>,
    more: Option<Box<VecDeque<T>>>,
}

impl<T> Default for OneOrMore<T> {
    fn default() -> Self {
        Self { first: None, more: None }
    }
}

impl<T> OneOrMore<T> {
    /// How many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.as_ref().map_or(0, |more| more.len())
    }

    /// There is none.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// The oldest.
    #[inline]
    #[must_use]
    pub const fn front(&self) -> Option<&T> {
        self.first.as_ref()
    }

    /// The oldest.
    #[inline]
    #[must_use]
    pub const fn front_mut(&mut self) -> Option<&mut T> {
        self.first.as_mut()
    }

    /// The newest.
    #[must_use]
    pub fn back(&self) -> Option<&T> {
        self.more.as_ref().and_then(|more| more.back()).or(self.first.as_ref())
    }

    /// The item that `index` are older than.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&T> {
        if index == 0 { self.first.as_ref() } else { self.more.as_ref()?.get(index - 1) }
    }

    /// The item that `index` are older than.
    #[inline]
    #[must_use]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if index == 0 { self.first.as_mut() } else { self.more.as_mut()?.get_mut(index - 1) }
    }

    /// Changes every item, from the oldest to the newest.
    pub fn change_all(&mut self, change: impl FnMut(&mut T)) {
        let more = self.more.iter_mut().flat_map(|more| more.iter_mut());
        self.first.iter_mut().chain(more).for_each(change);
    }

    /// Adds the newest.
    pub fn push_back(&mut self, item: T) {
        if self.first.is_none() {
            self.first = Some(item);
        } else {
            self.more.get_or_insert_default().push_back(item);
        }
    }

    /// Takes the oldest out.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let next = self.more.as_mut().and_then(|more| more.pop_front());
        std::mem::replace(&mut self.first, next)
    }

    /// From the oldest to the newest.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(self.more.iter().flat_map(|more| more.iter()))
    }

    /// How many of the oldest `is_before` holds for; it must not hold for one after it did not.
    pub fn partition_point(&self, is_before: impl Fn(&T) -> bool) -> usize {
        match &self.first {
            Some(first) if is_before(first) => {
                1 + self.more.as_ref().map_or(0, |more| more.partition_point(is_before))
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_queue_whatever_its_length() {
        let (mut queue, mut reference) = (OneOrMore::default(), VecDeque::new());
        for round in 0..60 {
            for item in 0..round % 5 {
                queue.push_back(10 * round + item);
                reference.push_back(10 * round + item);
            }
            for _ in 0..round % 4 {
                assert_eq!(queue.pop_front(), reference.pop_front());
            }
            assert!(queue.iter().eq(&reference));
            assert_eq!((queue.len(), queue.is_empty()), (reference.len(), reference.is_empty()));
            assert_eq!((queue.front(), queue.back()), (reference.front(), reference.back()));
            assert_eq!(queue.get(1), reference.get(1));
            assert_eq!(queue.get_mut(2), reference.get_mut(2));
            for limit in [0, 10 * round, 10 * round + 2] {
                let is_before = |item: &u32| *item < limit;
                assert_eq!(queue.partition_point(is_before), reference.partition_point(is_before));
            }
        }
    }
}
