//! Equal-cost multipath: a hash of the 5-tuple picks the path, so a queue pair keeps to one.
//!
//! The packet carries the CRC-32 or Toeplitz hash of its 5-tuple. Both are linear: with another start value
//! per switch all hashes would differ by one constant and switches would agree on who goes together
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
