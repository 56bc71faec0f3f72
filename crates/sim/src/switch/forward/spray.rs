//! Packet spraying: selects a next hop for each packet, at random or round robin.

use super::{Choice, Forward, ForwardPlan};
use crate::packet::Packet;
use units::Stream;

/// A random next hop for each packet.
#[derive(Debug)]
pub(crate) struct SprayRandom {
    stream: Stream,
}

impl Forward for SprayRandom {
    const CHOICE: Choice = Choice::PerPacket;

    fn new(plan: &ForwardPlan<'_>) -> Self {
        Self { stream: plan.seed.stream("switch.spray", u64::from(plan.switch)) }
    }

    #[inline]
    fn choose(&mut self, _packet: &Packet, hops: &[u16], _loads: &[u64]) -> usize {
        self.stream.below(hops.len() as u64) as usize
    }
}

/// Round robin over the next hops: one counter for all flows of the switch, with a random start.
#[derive(Debug)]
pub(crate) struct SprayRoundRobin {
    next: usize,
}

impl Forward for SprayRoundRobin {
    const CHOICE: Choice = Choice::PerPacket;

    fn new(plan: &ForwardPlan<'_>) -> Self {
        Self { next: plan.seed.stream("switch.spray", u64::from(plan.switch)).next_u32() as usize }
    }

    #[inline]
    fn choose(&mut self, _packet: &Packet, hops: &[u16], _loads: &[u64]) -> usize {
        self.next = self.next.wrapping_add(1);
        self.next % hops.len()
    }
}
