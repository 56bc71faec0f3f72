//! ECN marking on the instantaneous egress queue: probability 0 up to Kmin, rising linearly to Pmax at Kmax,
//! 1 above (RED as DCQCN uses it, SIGCOMM 2015, section 3.1). The decision is made when a frame enters its
//! queue.

use super::ecn_law::MarkingRange;
use crate::packet::Packet;
use units::{State, Stream};

/// Thresholds of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EcnThresholds {
    /// Bit `p` is set when frames of priority `p` are marked.
    pub(crate) priorities: u8,
    pub(crate) range: MarkingRange,
    /// Probability at Kmax, of 2^32.
    pub(crate) pmax_2e32: u64,
}

/// Marks the frames of one port.
#[derive(Clone, Debug, State)]
pub(crate) struct EcnMarker {
    #[state(skip)]
    thresholds: EcnThresholds,
    stream: Stream,
}

impl EcnMarker {
    pub(crate) const fn new(thresholds: EcnThresholds, stream: Stream) -> Self {
        Self { thresholds, stream }
    }

    /// Queue length up to which no frame is marked [bytes].
    pub(crate) const fn kmin_bytes(&self) -> u64 {
        self.thresholds.range.kmin_bytes
    }

    /// Marks `packet` or not by the thresholds of the port, if they apply to its priority; returns whether it
    /// did.
    #[cold]
    pub(crate) fn decide(&mut self, packet: &mut Packet, queue_bytes: u64) -> bool {
        let is_concerned = self.thresholds.priorities & packet.priority().bit() != 0;
        is_concerned && self.decide_within(self.thresholds.range, packet, queue_bytes)
    }

    /// Marks `packet` or not by thresholds from dynamic ECN; returns whether it did.
    pub(crate) fn decide_within(
        &mut self,
        range: MarkingRange,
        packet: &mut Packet,
        queue_bytes: u64,
    ) -> bool {
        let marks = u64::from(self.stream.next_u32())
            < probability_2e32(range, self.thresholds.pmax_2e32, queue_bytes);
        if marks {
            packet.mark();
        }
        marks
    }
}

/// Probability of marking at a queue of `queue_bytes`, of 2^32; `pmax_2e32` at Kmax.
pub(crate) fn probability_2e32(range: MarkingRange, pmax_2e32: u64, queue_bytes: u64) -> u64 {
    let MarkingRange { kmin_bytes, kmax_bytes } = range;
    match queue_bytes {
        _ if queue_bytes > kmax_bytes => 1 << 32,
        _ if queue_bytes <= kmin_bytes => 0,
        _ => {
            let rise = u128::from(queue_bytes - kmin_bytes) * u128::from(pmax_2e32);
            (rise / u128::from(kmax_bytes - kmin_bytes)) as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Priority;
    use crate::switch::queue::testing::frame;
    use units::{Cycle, Instant, Seed};

    #[test]
    fn the_probability_rises_from_kmin_to_kmax_and_jumps_to_one() {
        let range = MarkingRange { kmin_bytes: 100, kmax_bytes: 300 };
        let thresholds = EcnThresholds { priorities: 8, range, pmax_2e32: (1 << 32) / 5 };
        let marker = EcnMarker::new(thresholds, Seed(1).stream("test", 0));
        let probability = |queue_bytes| probability_2e32(range, (1 << 32) / 5, queue_bytes);
        assert_eq!((probability(0), probability(100)), (0, 0));
        assert_eq!(probability(200), (1 << 32) / 10);
        assert_eq!(probability(300), (1 << 32) / 5);
        assert_eq!(probability(301), 1 << 32);
        assert_eq!(marker.kmin_bytes(), 100);
    }

    #[test]
    fn only_frames_of_the_marked_priorities_are_marked() {
        let range = MarkingRange { kmin_bytes: 100, kmax_bytes: 300 };
        let thresholds = EcnThresholds { priorities: 8, range, pmax_2e32: 1 << 32 };
        let mut marker = EcnMarker::new(thresholds, Seed(1).stream("test", 0));
        for (priority, is_marked) in [(3, true), (2, false)] {
            let mut packet = frame(Priority(priority), 0, Instant::ZERO).packet;
            assert_eq!(marker.decide(&mut packet, 301), is_marked);
            assert_eq!(packet.is_marked(), is_marked);
        }
    }

    #[test]
    fn frames_are_marked_as_often_as_the_queue_says() {
        let range = MarkingRange { kmin_bytes: 100, kmax_bytes: 300 };
        let thresholds = EcnThresholds { priorities: 8, range, pmax_2e32: 1 << 31 };
        let mut marker = EcnMarker::new(thresholds, Seed(1).stream("test", 0));
        let mut marks = |queue_bytes| {
            let mut decide = || marker.decide(&mut frame(Priority(3), 0, Instant::ZERO).packet, queue_bytes);
            (0..10_000).filter(|_| decide()).count()
        };
        assert_eq!((marks(100), marks(301)), (0, 10_000));
        // Half of Pmax, which is one half; six standard deviations are 260.
        assert!(marks(200).abs_diff(2_500) < 260);
        let at_kmax = marks(300);
        assert!(at_kmax.abs_diff(5_000) < 300, "{at_kmax}");
    }

    #[test]
    fn a_marker_that_drew_does_not_repeat() {
        let range = MarkingRange { kmin_bytes: 100, kmax_bytes: 300 };
        let thresholds = EcnThresholds { priorities: 8, range, pmax_2e32: 1 << 32 };
        let mut marker = EcnMarker::new(thresholds, Seed(1).stream("test", 0));
        for draws in [false, true] {
            let mut cycle = Cycle::record(Instant::ZERO);
            marker.visit(&mut cycle);
            if draws {
                marker.decide(&mut frame(Priority(3), 0, Instant::ZERO).packet, 200);
            }
            cycle.compare(Instant(10));
            marker.visit(&mut cycle);
            assert_eq!(cycle.room() > 0, !draws);
        }
    }
}
