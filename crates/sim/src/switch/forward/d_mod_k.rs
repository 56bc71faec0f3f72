//! D-mod-k, static routing by destination as in the forwarding tables of InfiniBand switches (Zahavi,
//! "Fat-trees routing and node ordering providing contention free traffic for MPI global collectives", 2011;
//! OpenSM's `ftree`).
//!
//! A switch with k equal-cost next hops that is reached by w upward paths selects number floor(d / w) mod k
//! for destination number d. So the destinations of a leaf are distributed over all paths, and each has a
//! single downward path.

use super::{Choice, Forward, ForwardPlan};
use crate::packet::Packet;

/// Static routing by destination.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DModK {
    paths_below: u64,
}

impl Forward for DModK {
    const CHOICE: Choice = Choice::PerFlow;

    fn new(plan: &ForwardPlan<'_>) -> Self {
        Self { paths_below: plan.paths_below.max(1) }
    }

    #[inline]
    fn choose(&mut self, packet: &Packet, hops: &[u16], _loads: &[u64]) -> usize {
        (packet.destination().index() as u64 / self.paths_below % hops.len() as u64) as usize
    }
}
