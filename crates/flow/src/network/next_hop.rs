//! Choice of the next hop of a queue pair among several equal ones: by the ECMP hash of the packet simulator,
//! with weights or explicit uplinks if configured; all next hops if each frame may take a different path.

use spec::{LoadBalancing, RunSpec};
use std::collections::HashMap;
use topology::Graph;
use units::Seed;

/// How a queue pair selects among several next hops.
pub(super) enum NextHopChoice {
    /// All of them, since each frame may take a different path.
    All,
    /// By hash; seeds by switch.
    Hash(Vec<u64>),
    /// By hash with weights; next hops beyond the list have weight 1.
    Weighted { seeds: Vec<u64>, weights: Vec<u32> },
    /// By switch and queue pair, otherwise by hash.
    Pinned { seeds: Vec<u64>, uplinks: HashMap<Pinned, u32> },
}

/// A queue pair at a switch.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Pinned {
    switch: u32,
    queue_pair: u32,
}

impl NextHopChoice {
    pub(super) fn of(spec: &RunSpec, graph: &Graph) -> Self {
        let seed = |switch| paths::ecmp_seed(Seed(spec.seed), switch);
        let seeds = (0..graph.switches() as u32).map(seed).collect();
        match &spec.fabric.load_balancing {
            LoadBalancing::Ecmp { .. } => Self::Hash(seeds),
            LoadBalancing::Weighted { weights } => Self::Weighted { seeds, weights: weights.clone() },
            LoadBalancing::Pinned { pins } => {
                let names = graph.nodes[graph.hosts()..].iter().zip(0..);
                let switches: HashMap<&str, u32> = names.map(|(node, id)| (&*node.name, id)).collect();
                let uplink = |pin: &spec::PinSpec| {
                    let switch = *switches.get(&*pin.switch)?;
                    Some((Pinned { switch, queue_pair: pin.qp }, pin.uplink))
                };
                Self::Pinned { seeds, uplinks: pins.iter().filter_map(uplink).collect() }
            }
            _ => Self::All,
        }
    }

    /// Index of the next hop of a queue pair among `count` at a switch. Acknowledgements have no queue pair
    /// number.
    pub(super) fn choose(&self, switch: usize, entropy: u32, queue_pair: Option<u32>, count: usize) -> usize {
        match self {
            Self::All => 0,
            _ if count < 2 => 0,
            Self::Hash(seeds) => paths::hash_choice(entropy, seeds[switch], count),
            Self::Weighted { seeds, weights } => {
                let weight = |index: usize| weights.get(index).map_or(1, |&weight| weight as usize);
                let total: usize = (0..count).map(weight).sum();
                let mut ticket = paths::hash_choice(entropy, seeds[switch], total.max(1));
                let is_drawn = |&index: &usize| {
                    let is_drawn = ticket < weight(index);
                    ticket = ticket.saturating_sub(weight(index));
                    is_drawn
                };
                (0..count).find(is_drawn).unwrap_or(0)
            }
            Self::Pinned { seeds, uplinks } => {
                let pinned = |queue_pair| uplinks.get(&Pinned { switch: switch as u32, queue_pair });
                match queue_pair.and_then(pinned) {
                    Some(&uplink) => (uplink as usize).min(count - 1),
                    None => paths::hash_choice(entropy, seeds[switch], count),
                }
            }
        }
    }
}
