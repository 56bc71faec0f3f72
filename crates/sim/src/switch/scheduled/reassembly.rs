//! Reassembly occupancy of a leaf: tracks the bytes of packets of which only some cells have arrived, and
//! their maximum.
//!
//! Counts a packet whole from the earliest arrival of its first cell, computed from the sum of the link
//! rates, to the arrival of its last.

use std::collections::VecDeque;
use units::{Instant, Span};

/// Packets in reassembly at a leaf, now or at the last update.
#[derive(Debug, Default)]
pub(super) struct Reassembly {
    /// End and size of packets, in order.
    packets: VecDeque<(Instant, u32)>,
    bytes: u64,
    max_bytes: u64,
}

impl Reassembly {
    /// Records a packet completed at `now` whose cells took `span` to arrive.
    #[inline]
    pub(super) fn note(&mut self, now: Instant, span: Span, bytes: u32) {
        let first = Instant(now.0.saturating_sub(span.0));
        while let Some(&(end, bytes)) = self.packets.front()
            && end <= first
        {
            self.packets.pop_front();
            self.bytes -= u64::from(bytes);
        }
        self.packets.push_back((now, bytes));
        self.bytes += u64::from(bytes);
        self.max_bytes = self.max_bytes.max(self.bytes);
    }

    pub(super) const fn max_bytes(&self) -> u64 {
        self.max_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_overlap_are_counted_together() {
        let mut reassembly = Reassembly::default();
        reassembly.note(Instant(1_000), Span(100), 500);
        reassembly.note(Instant(1_050), Span(50), 300);
        assert_eq!(reassembly.max_bytes(), 500, "the second began when the first ended");
        reassembly.note(Instant(1_060), Span(40), 200);
        assert_eq!(reassembly.max_bytes(), 500);
        reassembly.note(Instant(1_070), Span(60), 100);
        assert_eq!(reassembly.max_bytes(), 600);
    }
}
