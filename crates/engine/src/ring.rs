//! A queue in a ring.

use crate::prefetch::{LINE_BYTES, prefetch_any};

/// Slots of a ring that holds its first item.
const SLOTS_MIN: usize = 8;

/// A queue of plain values that doubles when it is full: in steady state nothing is allocated. 24 bytes,
/// where a deque of the standard library has 32.
#[derive(Debug)]
pub struct Ring<T> {
    /// A power of two of slots, or none yet.
    slots: Box<[T]>,
    /// Items taken out and put in since the start, modulo 2^32.
    taken: u32,
    put: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { slots: Box::default(), taken: 0, put: 0 }
    }
}

impl<T: Copy> Ring<T> {
    /// Items in the queue.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.put.wrapping_sub(self.taken) as usize
    }

    /// Nothing is in it.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.taken == self.put
    }

    /// The item that was put in first.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        // SAFETY: something was put in.
        if self.is_empty() { None } else { Some(unsafe { self.item(self.taken) }) }
    }

    /// Takes out the item that was put in first.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let item = *self.front()?;
        self.taken = self.taken.wrapping_add(1);
        Some(item)
    }

    /// Takes out the first item, which was looked at where it stands; does nothing if there is none.
    #[inline]
    pub const fn drop_front(&mut self) {
        if !self.is_empty() {
            self.taken = self.taken.wrapping_add(1);
        }
    }

    /// Takes out items from the first on while `is_next` holds, and has `put` lay them into `room`, which is
    /// large enough for all. Returns how many they are.
    #[inline(always)]
    pub(crate) fn pop_while<U>(
        &mut self,
        is_next: impl Fn(&T) -> bool,
        room: &mut [U],
        put: impl Fn(&mut U, &T),
    ) -> usize {
        let first = self.taken;
        let mut taken = first;
        for place in &mut room[..self.len()] {
            // SAFETY: no more are taken than were put in, so that something was.
            let item = unsafe { self.item(taken) };
            if !is_next(item) {
                break;
            }
            put(place, item);
            taken = taken.wrapping_add(1);
        }
        self.taken = taken;
        self.rewind();
        taken.wrapping_sub(first) as usize
    }

    /// Begins at the first slot again if the ring is empty: what it uses of the memory is what it holds then.
    #[inline]
    pub const fn rewind(&mut self) {
        if self.is_empty() {
            self.taken = 0;
            self.put = 0;
        }
    }

    /// Puts in `item` as the last.
    #[inline]
    pub fn push_back(&mut self, item: T) {
        self.push_with(|| item);
    }

    /// Puts in what `make` gives, which is put together where it is to stand.
    #[inline(always)]
    pub fn push_with(&mut self, make: impl Fn() -> T) {
        if self.len() == self.slots.len() {
            self.grow(make());
        }
        let slot = self.slot(self.put);
        // SAFETY: there are slots, more than items, and a place masked by their number less one is one of
        // them.
        let place = unsafe { self.slots.get_unchecked_mut(slot) };
        *place = make();
        self.put = self.put.wrapping_add(1);
    }

    /// Doubles the ring; `filler` stands where nothing is.
    #[cold]
    fn grow(&mut self, filler: T) {
        let mut slots = Vec::with_capacity((self.slots.len() * 2).max(SLOTS_MIN));
        slots.extend(self.iter().copied());
        self.put = slots.len() as u32;
        self.taken = 0;
        slots.resize(slots.capacity(), filler);
        self.slots = slots.into_boxed_slice();
    }

    /// Items from the first to the last.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        (0..self.len() as u32).map(|place| &self.slots[self.slot(self.taken.wrapping_add(place))])
    }

    /// Changes every item, from the first to the last.
    pub fn change_all(&mut self, mut change: impl FnMut(&mut T)) {
        for place in 0..self.len() as u32 {
            let slot = self.slot(self.taken.wrapping_add(place));
            change(&mut self.slots[slot]);
        }
    }

    #[inline]
    const fn slot(&self, count: u32) -> usize {
        (count & (self.slots.len() as u32).wrapping_sub(1)) as usize
    }

    /// The item with `count` items before it since the start.
    ///
    /// # Safety
    /// Something was put in before, so that there are slots: a place masked by their number less one is one
    /// of them.
    #[inline]
    unsafe fn item(&self, count: u32) -> &T {
        debug_assert!(!self.slots.is_empty(), "there are slots once something was put in");
        // SAFETY: see above.
        unsafe { self.slots.get_unchecked(self.slot(count)) }
    }

    /// The item that `place` came before.
    #[inline]
    pub fn get(&self, place: usize) -> Option<&T> {
        if place < self.len() {
            self.slots.get(self.slot(self.taken.wrapping_add(place as u32)))
        } else {
            None
        }
    }

    /// Asks for the memory of the first items, of no more than so many.
    #[inline]
    pub fn prefetch_first(&self, items: usize) {
        self.prefetch_lines(self.taken, items.min(self.len()));
    }

    /// Asks for the memory of the next items to be put in, of so many.
    #[inline]
    pub fn prefetch_next(&self, items: usize) {
        self.prefetch_lines(self.put, items);
    }

    /// Asks for the memory of so many items from that one on.
    #[inline]
    fn prefetch_lines(&self, first: u32, items: usize) {
        let step = (LINE_BYTES / size_of::<T>().max(1)).max(1) as u32;
        let (mut place, end) = (first, first.wrapping_add(items as u32));
        while (end.wrapping_sub(place) as i32) > 0 {
            prefetch_any(&self.slots, self.slot(place));
            place = place.wrapping_add(step);
        }
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
            assert_eq!((ring.len(), ring.is_empty()), (reference.len(), reference.is_empty()));
            assert!(ring.iter().eq(&reference));
        }
    }
}
