//! Frames in transmission on InfiniBand switches: their receive buffers can be granted again when their
//! transmission ends.

use super::queue::Held;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Instant;

/// Priority queue of frames in transmission: at most one per egress port.
#[derive(Debug, Default)]
pub(super) struct Returns(BinaryHeap<Reverse<(Instant, Held)>>);

impl Returns {
    /// Adds a frame whose transmission ends at `end`.
    pub(super) fn push(&mut self, end: Instant, held: Held) {
        self.0.push(Reverse((end, held)));
    }

    /// End of the next transmission.
    pub(super) fn next_due(&self) -> Instant {
        self.0.peek().map_or(Instant::NEVER, |&Reverse((end, _))| end)
    }

    /// Removes the next frame.
    pub(super) fn pop(&mut self) -> Option<Held> {
        self.0.pop().map(|Reverse((_, held))| held)
    }
}
