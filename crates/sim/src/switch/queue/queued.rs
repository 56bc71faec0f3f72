//! A frame queued in a switch: packet, ingress port and arrival time in the 32 bytes of a packet.
//!
//! A queued frame needs only the lower 48 bits of its arrival time, since no frame waits for 281 s of
//! simulated time. The bits above them store the ingress port.

use crate::packet::Packet;
use crate::switch::queue::{BufferedFrame, Stored};
use engine::Message;
use units::{Cycle, Instant, State};

/// Stored bits of the arrival time.
const TIME_BITS: u32 = 48;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;

/// A frame in a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    /// Its time field holds the ingress port and the arrival time.
    packet: Packet,
}

const _: () =
    assert!(size_of::<Queued>() == 32, "queues are the largest part of the memory of large fabrics");

impl Queued {
    #[inline(always)]
    pub(crate) fn new(stored: &Stored) -> Self {
        let Stored { packet, ingress } = stored;
        let time = packet.at().0 & TIME_MASK | u64::from(*ingress) << TIME_BITS;
        Self { packet: packet.arriving(Instant(time)) }
    }

    /// Ingress port of the frame.
    #[inline]
    pub(crate) fn ingress(&self) -> u16 {
        (self.packet.at().0 >> TIME_BITS) as u16
    }

    /// The packet; its time field is meaningless.
    #[inline]
    pub(crate) const fn packet(&self) -> &Packet {
        &self.packet
    }

    /// Arrival time, reconstructed from the present time `now`.
    pub(crate) fn at(&self, now: Instant) -> Instant {
        let waited = now.0.wrapping_sub(self.packet.at().0) & TIME_MASK;
        Instant(now.0.wrapping_sub(waited))
    }

    pub(crate) fn has_arrived_by(&self, now: Instant) -> bool {
        now.0.wrapping_sub(self.packet.at().0) & TIME_MASK <= TIME_MASK / 2
    }

    /// Buffer space that it occupies.
    #[inline]
    pub(crate) fn buffered(&self) -> BufferedFrame {
        Stored { packet: self.packet, ingress: self.ingress() }.buffered()
    }
}

impl State for Queued {
    fn visit(&mut self, cycle: &mut Cycle) {
        let packet = self.packet.arriving(self.at(cycle.now()));
        let mut stored = Stored { packet, ingress: self.ingress() };
        stored.visit(cycle);
        *self = Self::new(&stored);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Priority;
    use crate::switch::queue::testing::frame;
    use units::Span;

    #[test]
    fn a_frame_keeps_its_port_and_its_time() {
        for at in [0, 1, 1 << 31, (1 << 48) - 1, 1 << 48, (1 << 63) + 5].map(Instant) {
            let queued = Queued::new(&frame(Priority(3), u16::MAX, at));
            let held = BufferedFrame { ingress: u16::MAX, priority: Priority(3), frame_bytes: 1_000 };
            assert_eq!(queued.buffered(), held);
            for waited in [0, 1, 1 << 40, TIME_MASK] {
                assert_eq!(queued.at(at + Span(waited)), at);
            }
            assert!(queued.has_arrived_by(at) && queued.has_arrived_by(at + Span(1 << 40)));
            assert!(!queued.has_arrived_by(Instant(at.0.wrapping_sub(1))));
        }
    }
}
