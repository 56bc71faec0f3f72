//! WRED by colour on the instantaneous egress queue, which frames of all colours share. Before a frame enters
//! its queue it is checked against the thresholds of its colour, and marked or dropped with the probability
//! that ECN uses ([`super::ecn`]). ECN-capable frames of colours with ECN are marked; all others are dropped,
//! including those of lossless priorities if WRED is configured for them, as in switches.
//!
//! Leaves out the weighted average of the queue that chips can use: the instantaneous queue here corresponds
//! to a weight of 0.

use super::ecn::probability_2e32;
use super::ecn_law::MarkingRange;
use crate::packet::{Colour, Packet};
use units::{State, Stream};

/// Decision on a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    Mark,
    Drop,
}

/// Thresholds and action for frames of one colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Curve {
    pub(crate) range: MarkingRange,
    /// Probability at Kmax, of 2^32.
    pub(crate) pmax_2e32: u64,
    /// ECN-capable frames are marked, not dropped.
    pub(crate) marks: bool,
}

/// WRED of one port.
#[derive(Clone, Debug, State)]
pub(crate) struct Wred {
    /// Bit `p` is set when it applies to frames of priority `p`.
    #[state(skip)]
    pub(crate) priorities: u8,
    /// Of each colour; frames of a colour without a curve pass.
    #[state(skip)]
    pub(crate) curves: [Option<Curve>; Colour::COUNT],
    pub(crate) stream: Stream,
}

impl Wred {
    /// Decides on `packet`, which arrives at a queue of `queue_bytes`.
    pub(crate) fn judge(&mut self, packet: &Packet, queue_bytes: u64) -> Verdict {
        let is_concerned = self.priorities & packet.priority().bit() != 0;
        let curve = self.curves[packet.colour() as usize].filter(|_| is_concerned);
        let Some(Curve { range, pmax_2e32, marks }) =
            curve.filter(|curve| queue_bytes > curve.range.kmin_bytes)
        else {
            return Verdict::Pass;
        };
        let is_hit = u64::from(self.stream.next_u32()) < probability_2e32(range, pmax_2e32, queue_bytes);
        match (is_hit, marks && packet.is_ecn_capable()) {
            (false, _) => Verdict::Pass,
            (true, true) => Verdict::Mark,
            (true, false) => Verdict::Drop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{ConnectionId, ConnectionKind, Kind, Path, Priority};
    use crate::switch::queue::testing::frame;
    use units::{AttachmentId, Instant, Seed};
    use wire::Psn;

    /// Green is marked from 200 to 400 bytes, yellow dropped from 100 to 300, red passes.
    fn wred() -> Wred {
        let curve = |kmin_bytes, kmax_bytes, marks| {
            let range = MarkingRange { kmin_bytes, kmax_bytes };
            Some(Curve { range, pmax_2e32: 1 << 31, marks })
        };
        Wred {
            priorities: 8,
            curves: [curve(200, 400, true), curve(100, 300, false), None],
            stream: Seed(1).stream("test", 0),
        }
    }

    fn coloured(colour: Colour, priority: u8) -> Packet {
        let mut packet = frame(Priority(priority), 0, Instant::ZERO).packet;
        packet.set_colour(colour);
        packet
    }

    #[test]
    fn frames_of_each_colour_are_dropped_or_marked_as_often_as_the_queue_says() {
        let mut wred = wred();
        let mut share = |colour, queue_bytes, verdict| {
            let packet = coloured(colour, 3);
            (0..40_000).filter(|_| wred.judge(&packet, queue_bytes) == verdict).count()
        };
        assert_eq!(
            (share(Colour::Green, 200, Verdict::Pass), share(Colour::Yellow, 100, Verdict::Pass)),
            (40_000, 40_000)
        );
        assert_eq!(
            (share(Colour::Green, 401, Verdict::Mark), share(Colour::Yellow, 301, Verdict::Drop)),
            (40_000, 40_000)
        );
        assert_eq!(share(Colour::Red, 1 << 40, Verdict::Pass), 40_000);
        // (200 - 100) / (300 - 100) * 1/2 and a quarter of that; six standard deviations are 520.
        assert!(share(Colour::Yellow, 200, Verdict::Drop).abs_diff(10_000) < 520);
        assert!(share(Colour::Yellow, 125, Verdict::Drop).abs_diff(2_500) < 300);
        assert!(share(Colour::Green, 300, Verdict::Mark).abs_diff(10_000) < 520);
    }

    #[test]
    fn only_ecn_capable_frames_of_its_priorities_are_marked() {
        let mut wred = wred();
        assert_eq!(wred.judge(&coloured(Colour::Yellow, 2), 1_000), Verdict::Pass);
        let path = Path {
            destination: AttachmentId(0),
            connection: ConnectionId::new(ConnectionKind::Tcp, 0),
            entropy: 0,
        };
        let tcp = |kind| Packet::new(kind, Priority(3), Psn::new(0), 1_000, path);
        let ack = Kind::TcpAck { congestion_echo: false };
        assert_eq!(wred.judge(&tcp(Kind::TcpData), 1_000), Verdict::Drop);
        assert_eq!(wred.judge(&tcp(Kind::TcpData).ecn_capable(true), 1_000), Verdict::Mark);
        assert_eq!(wred.judge(&tcp(ack).with_sack(u64::MAX), 1_000), Verdict::Drop);
    }
}
