//! Round-robin queue of queue pair indices, for drivers `tcp` and `verbs`.

use std::collections::VecDeque;

/// Round-robin queue of queue pair indices without duplicates.
#[derive(Debug, Default)]
pub(super) struct RoundRobin {
    pub(super) waiting: VecDeque<u32>,
    is_waiting: Vec<bool>,
}

impl RoundRobin {
    pub(super) fn of(count: usize) -> Self {
        Self { waiting: VecDeque::with_capacity(count), is_waiting: vec![false; count] }
    }

    /// Appends a queue pair unless it is queued already.
    pub(super) fn add(&mut self, index: u32) {
        if !std::mem::replace(&mut self.is_waiting[index as usize], true) {
            self.waiting.push_back(index);
        }
    }

    pub(super) fn next(&mut self) -> Option<u32> {
        let index = self.waiting.pop_front()?;
        self.is_waiting[index as usize] = false;
        Some(index)
    }
}
