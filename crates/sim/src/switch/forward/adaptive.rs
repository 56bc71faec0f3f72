//! Adaptive routing: sends each packet to the least loaded next hop.
//!
//! The load of a port is its queue at the start of the time window plus the bytes directed to it since: a
//! snapshot about 400 ns old, with corrections; not the exact instantaneous queue. Ties are broken round
//! robin.

use super::{Choice, Forward, ForwardPlan};
use crate::packet::Packet;

/// Least loaded next hop.
#[derive(Debug)]
pub(crate) struct Adaptive {
    next: usize,
}

impl Forward for Adaptive {
    const CHOICE: Choice = Choice::PerPacket;
    const NEEDS_LOADS: bool = true;

    fn new(plan: &ForwardPlan<'_>) -> Self {
        Self { next: plan.seed.stream("switch.adaptive", u64::from(plan.switch)).next_u32() as usize }
    }

    #[inline]
    fn choose(&mut self, _packet: &Packet, hops: &[u16], loads: &[u64]) -> usize {
        self.next = self.next.wrapping_add(1);
        let start = self.next % hops.len();
        let order = (start..hops.len()).chain(0..start);
        order.min_by_key(|&index| loads[usize::from(hops[index])]).unwrap_or(start)
    }
}
