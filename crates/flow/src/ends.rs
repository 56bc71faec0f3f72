//! End times of flows: a binary heap with an index by slot, since most rates change often.

use units::Instant;

/// Not in the heap.
const NONE: u32 = u32::MAX;

/// End times by slot; of equal ones the lowest slot is first.
#[derive(Default)]
pub(crate) struct Ends {
    heap: Vec<(Instant, u32)>,
    /// Index of each slot in the heap.
    places: Vec<u32>,
    /// Changes since the heap was last ordered.
    said: Vec<(Instant, u32)>,
}

impl Ends {
    /// Sets or replaces the end time of a flow; [`Self::order`] must follow.
    pub(crate) fn set(&mut self, slot: u32, at: Instant) {
        self.said.push((at, slot));
    }

    /// Applies the changes and restores the order of the heap.
    pub(crate) fn order(&mut self) {
        let said = std::mem::take(&mut self.said);
        let is_most = said.len() > self.heap.len() / 8;
        for &(at, slot) in &said {
            let place = self.put(slot, at);
            if !is_most {
                self.rise(place);
                self.sink(self.places[slot as usize] as usize);
            }
        }
        if is_most {
            (0..self.heap.len() / 2).rev().for_each(|place| self.sink(place));
        }
        self.said = said;
        self.said.clear();
    }

    /// Changes an end time without restoring the order; returns its index in the heap.
    fn put(&mut self, slot: u32, at: Instant) -> usize {
        if slot as usize >= self.places.len() {
            self.places.resize(slot as usize + 1, NONE);
        }
        let place = &mut self.places[slot as usize];
        if *place == NONE {
            *place = self.heap.len() as u32;
            self.heap.push((at, slot));
        }
        self.heap[*place as usize].0 = at;
        *place as usize
    }

    /// The earliest end time.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.heap.first().map(|end| end.0)
    }

    /// Removes the first flow and returns it, if it ends by `now`.
    pub(crate) fn take(&mut self, now: Instant) -> Option<u32> {
        let &(_, slot) = self.heap.first().filter(|end| end.0 <= now)?;
        self.heap.swap_remove(0);
        self.places[slot as usize] = NONE;
        if let Some(&(_, moved)) = self.heap.first() {
            self.places[moved as usize] = 0;
            self.sink(0);
        }
        Some(slot)
    }

    fn rise(&mut self, mut place: usize) {
        while place > 0 {
            let above = (place - 1) / 2;
            if self.heap[above] <= self.heap[place] {
                return;
            }
            self.swap(above, place);
            place = above;
        }
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let below = (2 * place + 1..=2 * place + 2).filter(|&below| below < self.heap.len());
            let Some(least) = below.min_by_key(|&below| self.heap[below]) else { return };
            if self.heap[place] <= self.heap[least] {
                return;
            }
            self.swap(place, least);
            place = least;
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        for place in [one, other] {
            self.places[self.heap[place].1 as usize] = place as u32;
        }
    }
}
