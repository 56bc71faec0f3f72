//! Transmitter of a port with a configured rate: start and end of each transmission.
//!
//! Models the serialisation of an adapter: packets are transmitted one after another, and each is passed to
//! the socket when its last bit would be on the link. A host's token-bucket shaper instead passes the first
//! packets of a burst at once, and accepts packets without limit, so neither the latency of short messages
//! nor the scheduling of queue pairs would match those of a port.
//!
//! Simplification: a reply does not wait for the packet in transmission. It is sent at once, and that packet
//! is delayed by the duration of the reply.

use transport::Outgoing;
use units::{Instant, Rate};
use wire::Framing;

/// A packet with the index of its queue pair in the endpoint.
pub(crate) type Waiting = (usize, Outgoing);

/// A port that transmits one batch of a queue pair's packets at a time.
#[derive(Debug)]
pub(crate) struct Transmitter {
    rate: Rate,
    /// End of the current transmission, or of the previous one if idle.
    free_at: Instant,
    /// Earliest start of a transmission: when in-flight packets were last at their limit.
    open_from: Instant,
    batch: Vec<Waiting>,
}

impl Transmitter {
    /// A transmitter with the rate of the link [bit/s].
    pub(crate) const fn new(rate_bps: u64) -> Self {
        Self {
            rate: Rate::from_bps(rate_bps),
            free_at: Instant::ZERO,
            open_from: Instant::ZERO,
            batch: Vec::new(),
        }
    }

    /// End of the current transmission, or of the previous one if idle.
    pub(crate) const fn free_at(&self) -> Instant {
        self.free_at
    }

    /// When to poll for transmitted packets; never if idle.
    pub(crate) const fn deadline(&self) -> Instant {
        if self.batch.is_empty() { Instant::NEVER } else { self.free_at }
    }

    /// Start of a transmission of packets ready since `ready_since`, regardless of when it is polled.
    pub(crate) fn start_at(&self, ready_since: Instant) -> Instant {
        self.free_at.max(ready_since).max(self.open_from)
    }

    /// Transmits a packet from `start` on, or after the previous ones of its batch.
    pub(crate) fn push(&mut self, index: usize, packet: Outgoing, start: Instant) {
        let start = if self.batch.is_empty() { start } else { self.free_at };
        self.free_at = start;
        self.occupy(&packet);
        self.batch.push((index, packet));
    }

    /// Accounts for a reply that is sent at once: the current or next transmission ends later. No effect on
    /// an idle port.
    pub(crate) fn occupy(&mut self, packet: &Outgoing) {
        let payload_bytes = packet.source.map_or(0, |source| source.bytes);
        let framing = Framing::Ethernet;
        let wire_bytes =
            framing.frame_bytes(packet.bth.opcode, payload_bytes) + framing.link_overhead_bytes();
        self.free_at += self.rate.span_of(wire_bytes.into());
    }

    /// Removes the packets transmitted by `now`.
    pub(crate) fn take_sent(&mut self, now: Instant) -> Vec<Waiting> {
        if self.free_at <= now { std::mem::take(&mut self.batch) } else { Vec::new() }
    }

    /// In-flight packets are below their limit again: transmissions may start from `now` on.
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

    /// A transmitter of 8 Gbit/s, where a byte takes a nanosecond.
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
        let indices: Vec<_> = port.take_sent(port.free_at()).into_iter().map(|(index, _)| index).collect();
        assert_eq!((indices, port.deadline()), (vec![3], Instant::NEVER));
    }

    #[test]
    fn late_polls_cost_no_rate_while_packets_wait() {
        let (mut port, span) = transmitter();
        let begin = Instant(5_000_000);
        let mut ready_since = begin;
        for _ in 0..10 {
            let start = port.start_at(ready_since);
            port.push(0, packet(), start);
            // It is polled three packets late, and has been ready again since its last batch.
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
