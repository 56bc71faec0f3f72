//! Weighted ECMP: a hash of the 5-tuple selects the path in proportion to weights.

use super::{Choice, Forward, ForwardPlan, hash_choice};
use crate::packet::Packet;
use spec::LoadBalancing;

/// ECMP with weights. Next hops beyond the list have weight 1.
#[derive(Debug)]
pub(crate) struct Weighted {
    seed: u64,
    weights: Vec<u32>,
}

impl Forward for Weighted {
    const CHOICE: Choice = Choice::PerFlow;

    fn new(plan: &ForwardPlan<'_>) -> Self {
        let weights = match plan.spec {
            LoadBalancing::Weighted { weights } => weights.clone(),
            _ => Vec::new(),
        };
        Self { seed: plan.seed.stream("switch.ecmp", u64::from(plan.switch)).next_u64(), weights }
    }

    #[inline]
    fn choose(&mut self, packet: &Packet, hops: &[u16], _loads: &[u64]) -> usize {
        let weight = |index: usize| self.weights.get(index).copied().unwrap_or(1) as usize;
        let total: usize = (0..hops.len()).map(weight).sum();
        let mut ticket = hash_choice(packet.entropy, self.seed, total.max(1));
        for index in 0..hops.len() {
            if ticket < weight(index) {
                return index;
            }
            ticket -= weight(index);
        }
        0
    }
}
