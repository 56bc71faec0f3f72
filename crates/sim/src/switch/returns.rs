//! Frames that a switch is sending and whose receive buffers on an InfiniBand link are free when they are
//! out.

use super::queue::Held;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Instant;

/// What is on its way out: one frame for each egress port at the most.
#[derive(Debug, Default)]
pub(super) struct Returns(BinaryHeap<Reverse<(Instant, Held)>>);

impl Returns {
    /// What a frame took is free when that is out, at `end`.
    pub(super) fn push(&mut self, end: Instant, held: Held) {
        self.0.push(Reverse((end, held)));
    }

    /// When the next frame is out.
    pub(super) fn next_due(&self) -> Instant {
        self.0.peek().map_or(Instant::NEVER, |&Reverse((end, _))| end)
    }

    /// Takes out the next.
    pub(super) fn pop(&mut self) -> Option<Held> {
        self.0.pop().map(|Reverse((_, held))| held)
    }
}
