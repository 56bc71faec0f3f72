//! Completion times of flows: a binary heap with the index of each flow in it, so that its time can be
//! replaced when its rate changes.

use units::Instant;

/// Not in the heap.
const NONE: u32 = u32::MAX;

/// Completion times by slot; of equal ones the lowest slot is first.
#[derive(Default)]
pub(crate) struct CompletionHeap {
    heap: Vec<(Instant, u32)>,
    /// Index of each slot in the heap.
    positions: Vec<u32>,
    /// Changes since the heap was last ordered.
    changes: Vec<(Instant, u32)>,
}

impl CompletionHeap {
    /// Sets or replaces the end time of a flow; [`Self::apply_changes`] must follow.
    pub(crate) fn set(&mut self, slot: u32, at: Instant) {
        self.changes.push((at, slot));
    }

    /// Applies the changes and restores the order of the heap.
    pub(crate) fn apply_changes(&mut self) {
        let changes = std::mem::take(&mut self.changes);
        let is_most = changes.len() > self.heap.len() / 8;
        for &(at, slot) in &changes {
            let position = self.set_unordered(slot, at);
            if !is_most {
                self.sift_up(position);
                self.sift_down(self.positions[slot as usize] as usize);
            }
        }
        if is_most {
            (0..self.heap.len() / 2).rev().for_each(|position| self.sift_down(position));
        }
        self.changes = changes;
        self.changes.clear();
    }

    /// Changes an end time without restoring the order; returns its index in the heap.
    fn set_unordered(&mut self, slot: u32, at: Instant) -> usize {
        if slot as usize >= self.positions.len() {
            self.positions.resize(slot as usize + 1, NONE);
        }
        let position = &mut self.positions[slot as usize];
        if *position == NONE {
            *position = self.heap.len() as u32;
            self.heap.push((at, slot));
        }
        self.heap[*position as usize].0 = at;
        *position as usize
    }

    /// The earliest end time.
    pub(crate) fn first(&self) -> Option<Instant> {
        self.heap.first().map(|end| end.0)
    }

    /// Removes the first flow and returns it, if it ends by `now`.
    pub(crate) fn pop_until(&mut self, now: Instant) -> Option<u32> {
        let &(_, slot) = self.heap.first().filter(|end| end.0 <= now)?;
        self.heap.swap_remove(0);
        self.positions[slot as usize] = NONE;
        if let Some(&(_, moved)) = self.heap.first() {
            self.positions[moved as usize] = 0;
            self.sift_down(0);
        }
        Some(slot)
    }

    fn sift_up(&mut self, mut position: usize) {
        while position > 0 {
            let parent = (position - 1) / 2;
            if self.heap[parent] <= self.heap[position] {
                return;
            }
            self.swap(parent, position);
            position = parent;
        }
    }

    fn sift_down(&mut self, mut position: usize) {
        loop {
            let children = (2 * position + 1..=2 * position + 2).filter(|&child| child < self.heap.len());
            let Some(least) = children.min_by_key(|&child| self.heap[child]) else { return };
            if self.heap[position] <= self.heap[least] {
                return;
            }
            self.swap(position, least);
            position = least;
        }
    }

    fn swap(&mut self, first: usize, second: usize) {
        self.heap.swap(first, second);
        for position in [first, second] {
            self.positions[self.heap[position].1 as usize] = position as u32;
        }
    }
}
