//! Frames that a switch is sending and whose receive buffers on an InfiniBand link are free when they are out.

use super::queue::Stored;
use crate::packet::Priority;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Instant;

/// The buffer that a frame takes, by the port it came in by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Held {
    pub(super) ingress: u16,
    pub(super) priority: Priority,
    pub(super) frame_bytes: u32,
}

/// What is on its way out: one frame for each egress port at the most.
#[derive(Debug, Default)]
pub(super) struct Returns(BinaryHeap<Reverse<(Instant, Held)>>);

impl Returns {
    /// `sent` is out at `end`.
    pub(super) fn push(&mut self, end: Instant, sent: &Stored) {
        let held = Held {
            ingress: sent.ingress,
            priority: sent.packet.priority(),
            frame_bytes: sent.packet.frame_bytes(),
        };
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
