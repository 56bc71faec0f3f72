//! Cut-through in a switch whose ports have different rates: defers frames for faster ports until their last
//! bit has arrived.
//!
//! A frame arrives when its first bytes have arrived ([`head_bytes`]) and may leave from then on: on an
//! egress port that is no faster than the ingress port the rest follows in time. A faster port would
//! underrun, so there the frame is stored and forwarded: it arrives when its last bit has arrived. Such
//! frames wait here, neither in a queue nor in the buffer. Leaves out that real switches have passed on the
//! head of a frame before they can detect a bad checksum.

use super::Arrivals;
use crate::packet::Packet;
use crate::switch::port_set::PortSet;
use crate::switch::queue::Stored;
use engine::Message;
use units::{Instant, Rate, Span, State};
use wire::Framing;

/// Bytes that must have arrived before a frame may leave. Ethernet: preamble and start delimiter, and 64
/// bytes, which contain every header that decides the route (Ethernet, IPv4, UDP and BTH take 54).
/// InfiniBand: the start symbol and the local route header up to its length, the first block of 64b/66b. No
/// frame is shorter. The 64 bytes include a VLAN tag.
pub(crate) const fn head_bytes(framing: Framing) -> u16 {
    match framing {
        Framing::Ethernet | Framing::TaggedEthernet => 8 + 64,
        Framing::Infiniband => 8,
    }
}

/// Frames whose last bit has not arrived yet and whose egress port is faster than their ingress port.
#[derive(Debug, State)]
pub(crate) struct Incoming {
    #[state(skip)]
    framing: Framing,
    #[state(skip)]
    rates: Vec<Rate>,
    waiting: Vec<(Stored, u16)>,
}

impl Incoming {
    /// State for a switch with ports of these rates; `None` if all are equal.
    pub(crate) fn new(framing: Framing, rates: &[Rate]) -> Option<Self> {
        let differ = rates.iter().any(|rate| rate.bps() != rates[0].bps());
        differ.then(|| Self { framing, rates: rates.to_vec(), waiting: Vec::new() })
    }

    /// Number of waiting frames.
    pub(crate) fn frames(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// When the last bit of the first of them arrives.
    pub(crate) fn next_due(&self) -> Instant {
        self.waiting.iter().map(|(stored, _)| stored.packet.at()).min().unwrap_or(Instant::NEVER)
    }

    /// Defers frames that have not arrived completely by `end`, and adds those to `arrivals` that now have.
    /// The arrivals for each port are then in order of (time, ingress port). Returns the added frames.
    #[inline(never)]
    pub(crate) fn complete_arrivals(
        &mut self,
        end: Instant,
        arrivals: &mut Arrivals,
        busy: &mut PortSet,
    ) -> Vec<Stored> {
        let due: Vec<_> = self.waiting.extract_if(.., |(stored, _)| stored.packet.at() < end).collect();
        for egress in 0..self.rates.len() as u16 {
            self.defer(end, egress, arrivals);
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

    fn defer(&mut self, end: Instant, egress: u16, arrivals: &mut Arrivals) {
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

/// Arrival time of the last bit of a frame whose head arrived at `packet.at()`.
fn whole_at(packet: &Packet, framing: Framing, rate: Rate) -> Instant {
    let whole = rate.frame_span(packet.frame_bytes(), framing.link_overhead_bytes());
    packet.at() + Span(whole.0 - rate.span_of(head_bytes(framing).into()).0)
}
