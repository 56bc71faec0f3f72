//! Cut-through in a switch whose ports have different rates.
//!
//! A frame arrives when its first bytes are in ([`head_bytes`]) and may leave from then on: out of a port
//! that is no faster than its own, the rest follows in time. Out of a faster port it would run dry, so there
//! the frame is stored and forwarded: it arrives when its last bit is in. Such frames wait here, neither in a
//! queue nor in the buffer. Leaves out that a frame with a bad checksum is passed on.

use super::lineup::Arrivals;
use super::port_set::PortSet;
use super::queue::Stored;
use crate::packet::Packet;
use engine::Message;
use units::{Cycle, Instant, Rate, Span};
use wire::Framing;

/// What must be in before a frame may leave. Ethernet: preamble and start delimiter, and 64 bytes, which hold
/// every header that decides where it goes (Ethernet, IPv4, UDP and BTH take 54). InfiniBand: the start
/// symbol and the local route header up to its length, the first block of 64b/66b. No frame is shorter. A VLAN
/// tag is among the 64 bytes.
pub(crate) const fn head_bytes(framing: Framing) -> u16 {
    match framing {
        Framing::Ethernet | Framing::TaggedEthernet => 8 + 64,
        Framing::Infiniband => 8,
    }
}

/// Frames whose last bit is not in yet, bound for ports faster than theirs.
#[derive(Debug)]
pub(super) struct Incoming {
    framing: Framing,
    rates: Vec<Rate>,
    waiting: Vec<(Stored, u16)>,
}

impl Incoming {
    /// What a switch with ports of these rates needs; none if they are all the same.
    pub(super) fn new(framing: Framing, rates: &[Rate]) -> Option<Self> {
        let differ = rates.iter().any(|rate| rate.bps() != rates[0].bps());
        differ.then(|| Self { framing, rates: rates.to_vec(), waiting: Vec::new() })
    }

    /// Frames that wait.
    pub(super) fn frames(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// See [`Cycle`].
    pub(super) fn visit(&mut self, cycle: &mut Cycle) {
        let Self { framing: _, rates: _, waiting } = self;
        cycle.same(waiting.len() as u64);
        for (stored, egress) in waiting {
            stored.visit(cycle);
            cycle.same(u64::from(*egress));
        }
    }

    /// When the first of them is in.
    pub(super) fn next_due(&self) -> Instant {
        self.waiting.iter().map(|(stored, _)| stored.packet.at()).min().unwrap_or(Instant::NEVER)
    }

    /// Puts frames aside that are not in by `end`, and adds those to `arrivals` that now are; what arrives
    /// for each port is then in the order of (time, ingress port). Returns the frames added.
    #[inline(never)]
    pub(super) fn settle(
        &mut self,
        end: Instant,
        arrivals: &mut Arrivals,
        busy: &mut PortSet,
    ) -> Vec<Stored> {
        let due: Vec<_> = self.waiting.extract_if(.., |(stored, _)| stored.packet.at() < end).collect();
        for egress in 0..self.rates.len() as u16 {
            self.put_aside(end, egress, arrivals);
        }
        for &(stored, egress) in &due {
            arrivals.push(stored, egress);
            busy.insert(egress);
        }
        for egress in 0..self.rates.len() {
            arrivals.sort_mixed(egress);
        }
        due.into_iter().map(|(stored, _)| stored).collect()
    }

    fn put_aside(&mut self, end: Instant, egress: u16, arrivals: &mut Arrivals) {
        let Self { framing, rates, waiting } = self;
        let faster = rates[usize::from(egress)].bps();
        arrivals.retain(egress.into(), |stored| {
            let rate = rates[usize::from(stored.ingress)];
            if rate.bps() < faster {
                stored.packet = stored.packet.arriving(whole_at(&stored.packet, *framing, rate));
            }
            let is_in = stored.packet.at() < end;
            if !is_in {
                waiting.push((*stored, egress));
            }
            is_in
        });
    }
}

/// When the last bit is in of a frame whose head came in at `packet.at()`.
fn whole_at(packet: &Packet, framing: Framing, rate: Rate) -> Instant {
    let whole = rate.frame_span(packet.frame_bytes(), framing.link_overhead_bytes());
    packet.at() + Span(whole.0 - rate.span_of(head_bytes(framing).into()).0)
}
