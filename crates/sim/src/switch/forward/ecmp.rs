//! Equal-cost multipath: a hash of the 5-tuple selects the path, so each queue pair uses one path.
//!
//! The packet contains the CRC-32 or Toeplitz hash of its 5-tuple. Both are linear: a different start value
//! per switch would change all hashes by one constant, and switches would still group the same flows together
//! (polarisation). So the hash is mixed with the switch's seed by a bijection before it is scaled to the
//! group's size.

use super::{Choice, Forward, ForwardPlan, hash_choice};
use crate::packet::Packet;
use paths::ecmp_seed;

/// ECMP with a seed per switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ecmp {
    seed: u64,
}

impl Forward for Ecmp {
    const CHOICE: Choice = Choice::PerFlow;

    fn new(plan: &ForwardPlan<'_>) -> Self {
        Self { seed: ecmp_seed(plan.seed, plan.switch) }
    }

    #[inline]
    fn choose(&mut self, packet: &Packet, hops: &[u16], _loads: &[u64]) -> usize {
        hash_choice(packet.entropy, self.seed, hops.len())
    }
}
