//! FIFO queue of plain values in a ring buffer that doubles when it is full.

use crate::prefetch::{LINE_BYTES, prefetch_any};
use units::{Cycle, State};

/// Slots of a ring at the first item.
const SLOTS_MIN: usize = 8;

/// FIFO queue of plain values in a ring buffer that doubles when it is full: nothing is allocated in steady
/// state. 24 bytes, compared with 32 for a deque of the standard library.
#[derive(Debug)]
pub struct Ring<T> {
    /// A power of two of slots; empty before the first item.
    slots: Box<[T]>,
    /// Items removed and appended since the start, modulo 2^32.
    taken: u32,
    put: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { slots: Box::default(), taken: 0, put: 0 }
    }
}

impl<T: Copy> Ring<T> {
    /// Number of items.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.put.wrapping_sub(self.taken) as usize
    }

    /// Whether it has no items.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.taken == self.put
    }

    /// The oldest item.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        // SAFETY: the ring is not empty.
        if self.is_empty() { None } else { Some(unsafe { self.item(self.taken) }) }
    }

    /// Removes and returns the oldest item.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let item = *self.front()?;
        self.taken = self.taken.wrapping_add(1);
        Some(item)
    }

    /// Removes the oldest item without copying it; does nothing if there is none.
    #[inline]
    pub const fn drop_front(&mut self) {
        if !self.is_empty() {
            self.taken = self.taken.wrapping_add(1);
        }
    }

    /// Moves the oldest item to the end; the ring never grows.
    #[inline]
    pub fn rotate(&mut self) {
        if self.len() > 1 {
            // SAFETY: the ring is not empty, so it has slots, and an index masked by their number minus one is
            // valid.
            let oldest = *unsafe { self.item(self.taken) };
            let slot = self.slot(self.put);
            // SAFETY: see above; of a full ring it is the slot of the oldest.
            *unsafe { self.slots.get_unchecked_mut(slot) } = oldest;
            self.taken = self.taken.wrapping_add(1);
            self.put = self.put.wrapping_add(1);
        }
    }

    /// Removes items from the oldest on while `is_next` is true, and writes them to `room` with `put`; `room`
    /// must be large enough for all. Returns their number.
    #[inline(always)]
    pub(crate) fn pop_while<U>(
        &mut self,
        is_next: impl Fn(&T) -> bool,
        room: &mut [U],
        put: impl Fn(&mut U, &T),
    ) -> usize {
        let first = self.taken;
        let mut taken = first;
        for output in &mut room[..self.len()] {
            // SAFETY: at most as many items are removed as were appended, so the ring has slots.
            let item = unsafe { self.item(taken) };
            if !is_next(item) {
                break;
            }
            put(output, item);
            taken = taken.wrapping_add(1);
        }
        self.taken = taken;
        self.rewind();
        taken.wrapping_sub(first) as usize
    }

    /// Restarts at the first slot if the ring is empty, so that it reuses the same memory.
    #[inline]
    pub const fn rewind(&mut self) {
        if self.is_empty() {
            self.taken = 0;
            self.put = 0;
        }
    }

    /// Appends `item`.
    #[inline]
    pub fn push_back(&mut self, item: T) {
        self.push_with(|| item);
    }

    /// Appends the item built by `make`, which is built directly in its slot.
    #[inline(always)]
    pub fn push_with(&mut self, make: impl Fn() -> T) {
        if self.len() == self.slots.len() {
            self.grow(make());
        }
        let slot = self.slot(self.put);
        // SAFETY: there are more slots than items, and an index masked by the number of slots minus one is
        // valid.
        let item = unsafe { self.slots.get_unchecked_mut(slot) };
        *item = make();
        self.put = self.put.wrapping_add(1);
    }

    /// Doubles the ring; `filler` initialises the free slots.
    #[cold]
    fn grow(&mut self, filler: T) {
        let mut slots = Vec::with_capacity((self.slots.len() * 2).max(SLOTS_MIN));
        slots.extend(self.iter().copied());
        self.put = slots.len() as u32;
        self.taken = 0;
        slots.resize(slots.capacity(), filler);
        self.slots = slots.into_boxed_slice();
    }

    /// Items, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        (0..self.len() as u32).map(|index| &self.slots[self.slot(self.taken.wrapping_add(index))])
    }

    /// Changes every item, oldest first.
    pub fn change_all(&mut self, mut change: impl FnMut(&mut T)) {
        for index in 0..self.len() as u32 {
            let slot = self.slot(self.taken.wrapping_add(index));
            change(&mut self.slots[slot]);
        }
    }

    #[inline]
    const fn slot(&self, count: u32) -> usize {
        (count & (self.slots.len() as u32).wrapping_sub(1)) as usize
    }

    /// The item with `count` items appended before it since the start.
    ///
    /// # Safety
    /// An item was appended before, so there are slots, and an index masked by their number minus one is
    /// valid.
    #[inline]
    unsafe fn item(&self, count: u32) -> &T {
        debug_assert!(!self.slots.is_empty(), "there are slots once an item was appended");
        // SAFETY: see above.
        unsafe { self.slots.get_unchecked(self.slot(count)) }
    }

    /// The item at `index`; 0 is the oldest.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        if index < self.len() {
            self.slots.get(self.slot(self.taken.wrapping_add(index as u32)))
        } else {
            None
        }
    }

    /// Prefetches the memory of the oldest items, at most `items`.
    #[inline]
    pub fn prefetch_first(&self, items: usize) {
        self.prefetch_lines(self.taken, items.min(self.len()));
    }

    /// Prefetches the memory of the next `items` items to be appended.
    #[inline]
    pub fn prefetch_next(&self, items: usize) {
        self.prefetch_lines(self.put, items);
    }

    /// Prefetches the memory of `items` items from number `first` on.
    #[inline]
    fn prefetch_lines(&self, first: u32, items: usize) {
        let step = (LINE_BYTES / size_of::<T>().max(1)).max(1) as u32;
        let (mut count, end) = (first, first.wrapping_add(items as u32));
        while (end.wrapping_sub(count) as i32) > 0 {
            prefetch_any(&self.slots, self.slot(count));
            count = count.wrapping_add(step);
        }
    }
}

impl<T: Copy + State> State for Ring<T> {
    fn visit(&mut self, cycle: &mut Cycle) {
        self.len().visit(cycle);
        self.change_all(|item| item.visit(cycle));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn it_is_a_queue_whatever_its_length() {
        let (mut ring, mut reference) = (Ring::default(), VecDeque::new());
        let mut next = 0;
        for round in 0..300_u32 {
            for _ in 0..round % 23 {
                next += 1;
                ring.push_back(next);
                reference.push_back(next);
            }
            for _ in 0..round % 19 {
                assert_eq!(ring.front(), reference.front());
                assert_eq!(ring.pop_front(), reference.pop_front());
            }
            ring.rotate();
            reference.rotate_left(1.min(reference.len()));
            assert_eq!((ring.len(), ring.is_empty()), (reference.len(), reference.is_empty()));
            assert!(ring.iter().eq(&reference));
        }
    }
}
