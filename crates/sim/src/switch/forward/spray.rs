//! Packet spraying: every packet by itself, at random or in turn.

use super::{Choice, Forward, ForwardPlan};
use crate::packet::Packet;
use units::Stream;

/// Each packet to a next hop drawn at random.
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

/// Packets to the next hops in turn; one turn for all flows of the switch, from a random start.
#[derive(Debug)]
pub(crate) struct SprayRoundRobin {
    turn: usize,
}

impl Forward for SprayRoundRobin {
    const CHOICE: Choice = Choice::PerPacket;

    fn new(plan: &ForwardPlan<'_>) -> Self {
        Self { turn: plan.seed.stream("switch.spray", u64::from(plan.switch)).next_u32() as usize }
    }

    #[inline]
    fn choose(&mut self, _packet: &Packet, hops: &[u16], _loads: &[u64]) -> usize {
        self.turn = self.turn.wrapping_add(1);
        self.turn % hops.len()
    }
}
