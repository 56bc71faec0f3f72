//! The transmitter of a port with a given rate.
//!
//! Models the serialisation of an adapter: one packet after the other, each handed to the host when its last
//! bit would be on the link. A host that shapes by a token bucket lets the first packets of a burst through
//! at once, and takes in packets without end, so that neither the time of a short message nor the turns of
//! queue pairs would be those of a port.
//!
//! Leaves out that a reply waits for the packet in transmission: it is sent at once, and that packet leaves
//! later by the time of the reply.

use transport::Outgoing;
use units::{Instant, Rate};
use wire::Framing;

/// A packet of a queue pair, by its place in the endpoint.
pub(crate) type Waiting = (usize, Outgoing);

/// A port that transmits the packets of one turn of a queue pair at a time.
#[derive(Debug)]
pub(crate) struct Transmitter {
    rate: Rate,
    /// End of the transmission; of the last one if there is none.
    free_at: Instant,
    /// Earliest start of a transmission: packets in flight were at their limit until then.
    open_from: Instant,
    turn: Vec<Waiting>,
}

impl Transmitter {
    /// One with the rate of the link [bit/s].
    pub(crate) const fn new(rate_bps: u64) -> Self {
        Self {
            rate: Rate::from_bps(rate_bps),
            free_at: Instant::ZERO,
            open_from: Instant::ZERO,
            turn: Vec::new(),
        }
    }

    /// When the transmission ends, or the last one ended.
    pub(crate) const fn free_at(&self) -> Instant {
        self.free_at
    }

    /// When it must be polled for packets that have left; never if none is in transmission.
    pub(crate) const fn deadline(&self) -> Instant {
        if self.turn.is_empty() { Instant::NEVER } else { self.free_at }
    }

    /// The start of a transmission whose packets have waited since then, however late it is polled.
    pub(crate) fn start_at(&self, ready_since: Instant) -> Instant {
        self.free_at.max(ready_since).max(self.open_from)
    }

    /// Transmits a packet from `start` on, or after the others of its turn.
    pub(crate) fn push(&mut self, place: usize, packet: Outgoing, start: Instant) {
        let start = if self.turn.is_empty() { start } else { self.free_at };
        self.free_at = start;
        self.occupy(&packet);
        self.turn.push((place, packet));
    }

    /// A reply is sent: what is in transmission, or was to be, ends later. Of an idle port it takes no time.
    pub(crate) fn occupy(&mut self, packet: &Outgoing) {
        let payload_bytes = packet.source.map_or(0, |source| source.bytes);
        let framing = Framing::Ethernet;
        let wire_bytes =
            framing.frame_bytes(packet.bth.opcode, payload_bytes) + framing.link_overhead_bytes();
        self.free_at += self.rate.span_of(wire_bytes.into());
    }

    /// Takes the packets that have left by `now`.
    pub(crate) fn take_sent(&mut self, now: Instant) -> Vec<Waiting> {
        if self.free_at <= now { std::mem::take(&mut self.turn) } else { Vec::new() }
    }

    /// Packets in flight are no longer at their limit: transmissions may start from `now` on.
    pub(crate) const fn open(&mut self, now: Instant) {
        self.open_from = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transport::{Origin, Source, WorkId};
    use units::Span;
    use wire::bth::{self, Qpn};
    use wire::{Extension, Opcode, Psn};

    const PAYLOAD_BYTES: u32 = 4_096;

    fn packet() -> Outgoing {
        let origin = Origin::Work { work: WorkId(0), offset_bytes: 0 };
        Outgoing {
            bth: bth::Repr::new(Opcode::WriteMiddle, Qpn::default(), Psn::new(0)),
            extension: Extension::None,
            source: Some(Source { origin, bytes: PAYLOAD_BYTES }),
            is_retransmission: false,
        }
    }

    /// At 8 Gbit/s a byte takes a nanosecond.
    fn transmitter() -> (Transmitter, Span) {
        let wire_bytes = Framing::Ethernet.frame_bytes(Opcode::WriteMiddle, PAYLOAD_BYTES) + 20;
        (Transmitter::new(8_000_000_000), Span::from_ns(wire_bytes.into()))
    }

    #[test]
    fn a_packet_leaves_when_its_last_bit_is_on_the_link() {
        let (mut port, span) = transmitter();
        let start = Instant(1_000_000);
        assert_eq!((port.start_at(start), port.deadline()), (start, Instant::NEVER));
        port.push(3, packet(), start);
        assert_eq!((port.deadline(), port.free_at()), (start + span, start + span));
        assert!(port.take_sent(Instant(port.free_at().0 - 1)).is_empty());
        let places: Vec<_> = port.take_sent(port.free_at()).into_iter().map(|(place, _)| place).collect();
        assert_eq!((places, port.deadline()), (vec![3], Instant::NEVER));
    }

    #[test]
    fn late_polls_cost_no_rate_while_packets_wait() {
        let (mut port, span) = transmitter();
        let begin = Instant(5_000_000);
        let mut ready_since = begin;
        for _ in 0..10 {
            let start = port.start_at(ready_since);
            port.push(0, packet(), start);
            // It is polled three packets late, and is ready again since its turn.
            assert_eq!(port.take_sent(port.free_at() + span + span + span).len(), 1);
            ready_since = start;
        }
        assert_eq!(port.free_at(), (0..10).fold(begin, |at, _| at + span));
        let idle_until = port.free_at() + span;
        assert_eq!(port.start_at(idle_until), idle_until, "what is ready later starts later");
    }

    #[test]
    fn packets_of_a_turn_leave_together() {
        let (mut port, span) = transmitter();
        (0..3).for_each(|_| port.push(0, packet(), Instant::ZERO));
        let end = Instant::ZERO + span + span + span;
        assert!(port.take_sent(Instant(end.0 - 1)).is_empty());
        assert_eq!(port.take_sent(end).len(), 3);
    }

    #[test]
    fn replies_take_their_time_of_the_port() {
        let (mut port, span) = transmitter();
        port.push(0, packet(), Instant::ZERO);
        let reply = Outgoing {
            bth: bth::Repr::new(Opcode::Acknowledge, Qpn::default(), Psn::new(0)),
            source: None,
            ..packet()
        };
        port.occupy(&reply);
        let reply_bytes = Framing::Ethernet.frame_bytes(Opcode::Acknowledge, 0) + 20;
        assert_eq!(port.free_at(), Instant::ZERO + span + Span::from_ns(reply_bytes.into()));
    }

    #[test]
    fn what_the_limit_held_back_starts_when_it_opens() {
        let (mut port, _) = transmitter();
        port.open(Instant(7_000));
        assert_eq!(port.start_at(Instant(3_000)), Instant(7_000));
    }
}
