//! Finds the link between switches that most queue pairs of one step of a collective share, by the ECMP hash
//! of their packets, without a run.

use crate::network::Network;
use crate::set_up::{jobs_of, paths_of};
use serde::Serialize;
use spec::{LoadBalancing, RunSpec, SpecError};
use std::cmp::Reverse;
use std::collections::HashMap;
use units::NodeId;

/// The link between switches that most queue pairs of one step share, over all jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BusiestLink {
    /// The switch that sends.
    pub switch: String,
    /// The switch that receives.
    pub peer: String,
    /// Its rate [bit/s].
    pub rate_bps: u64,
    /// The step of the collective.
    pub step: u32,
    /// Queue pairs that send on it in that step.
    pub queue_pairs: u32,
    /// Queue pairs on all links of that switch to switches of the same tier as `peer`.
    pub queue_pairs_of_switch: u32,
    /// Number of such links.
    pub links: u32,
}

/// Queue pairs by step, node and port.
type Counts = HashMap<(u32, u32, u16), u32>;

/// Returns the busiest link; `None` if no data cross between switches, or if packets of a queue pair use
/// several paths.
///
/// # Errors
/// When the spec cannot be run, or the flow model does not cover it.
pub fn busiest_link(spec: &RunSpec) -> Result<Option<BusiestLink>, SpecError> {
    let balancing = &spec.fabric.load_balancing;
    let has_one_path = matches!(
        balancing,
        LoadBalancing::Ecmp { .. } | LoadBalancing::Weighted { .. } | LoadBalancing::Pinned { .. }
    );
    let paths = paths_of(spec)?;
    let jobs = jobs_of(spec, &paths)?;
    if !has_one_path {
        return Ok(None);
    }
    let network = &paths.network;
    let mut counts = Counts::new();
    for pair in jobs.queue_pairs().filter(|pair| !pair.is_local()) {
        let mut chunks = jobs.chunks_of(pair.number).peekable();
        let Some(&first) = chunks.peek() else { continue };
        let legs = paths.of(&jobs, first).legs;
        let fabric_legs = || legs.iter().filter(|leg| joins_switches(network, leg.node, leg.port));
        if fabric_legs().next().is_none() {
            continue;
        }
        let mut steps: Vec<u32> = chunks.map(|chunk| jobs.chunk_with_pair(chunk).1.step).collect();
        steps.dedup();
        for step in steps {
            fabric_legs().for_each(|leg| *counts.entry((step, leg.node.0, leg.port)).or_insert(0) += 1);
        }
    }
    Ok(link_with_most(network, &counts))
}

fn joins_switches(network: &Network, node: NodeId, port: u16) -> bool {
    let from = network.graph.node(node);
    let to = network.graph.node(from.ports[usize::from(port)].peer);
    from.tier > 0 && to.tier > 0
}

/// The first link of those with the largest count.
fn link_with_most(network: &Network, counts: &Counts) -> Option<BusiestLink> {
    let (&(step, node, port), &queue_pairs) =
        counts.iter().max_by_key(|&(&key, &count)| (count, Reverse(key)))?;
    let from = network.graph.node(NodeId(node));
    let to = network.graph.node(from.ports[usize::from(port)].peer);
    let parallel_ports: Vec<u16> = (0..from.ports.len() as u16)
        .filter(|&other| network.graph.node(from.ports[usize::from(other)].peer).tier == to.tier)
        .collect();
    let of_switch = parallel_ports.iter().filter_map(|&other| counts.get(&(step, node, other))).sum();
    Some(BusiestLink {
        switch: from.name.clone(),
        peer: to.name.clone(),
        rate_bps: network.graph.link(from.ports[usize::from(port)].link).rate.bps(),
        step,
        queue_pairs,
        queue_pairs_of_switch: of_switch,
        links: parallel_ports.len() as u32,
    })
}
