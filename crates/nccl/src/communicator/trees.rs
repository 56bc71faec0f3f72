//! Trees across nodes: chains within nodes, joined by a double binary tree; and NVLS heads.
//!
//! Source: NCCL 2.30 `src/graph/connect.cc`.

use super::{ClusterNode, double_binary_tree};
use crate::search::Pattern;
use serde::{Deserialize, Serialize};

/// Links of a rank in a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeLinks {
    /// Parent; none for the root.
    pub up: Option<usize>,
    /// Children, the one in the same node first.
    pub down: Vec<usize>,
}

/// A tree: the links of each rank.
pub type Tree = Vec<TreeLinks>;

/// GPUs of a node at the ends of links to other nodes.
struct Ports {
    to_parent: usize,
    to_children: [usize; 2],
}

/// The trees of all channels: tree c of the first half by the first binary tree, of the second half by the
/// second, over the chain of channel c mod `channels`.
pub(super) fn connect(nodes: &[ClusterNode<'_>], channels: usize) -> Vec<Tree> {
    let pairs = (0..2).flat_map(|half| (0..channels).map(move |channel| (half, channel)));
    pairs.map(|(half, channel)| tree(nodes, half, channel)).collect()
}

fn tree(nodes: &[ClusterNode<'_>], half: usize, channel: usize) -> Tree {
    let ranks = nodes.iter().map(|node| node.ranks.len()).sum();
    let mut links = vec![TreeLinks::default(); ranks];
    for node in nodes {
        for pair in chain(node, channel).windows(2) {
            links[pair[0]].down.push(pair[1]);
            links[pair[1]].up = Some(pair[0]);
        }
    }
    let ports: Vec<Ports> = nodes.iter().map(|node| ports(node, channel)).collect();
    for (node, port) in ports.iter().enumerate() {
        let neighbours = double_binary_tree(nodes.len(), node)[half];
        if let Some(parent) = neighbours.parent {
            let side = usize::from(!neighbours.is_first_child);
            links[port.to_parent].up = Some(ports[parent].to_children[side]);
        }
        for (side, child) in neighbours.children.into_iter().enumerate() {
            if let Some(child) = child {
                links[port.to_children[side]].down.push(ports[child].to_parent);
            }
        }
    }
    links
}

/// Ranks of a node's chain.
fn chain(node: &ClusterNode<'_>, channel: usize) -> Vec<usize> {
    node.graphs.tree.channels[channel].gpus.iter().map(|&gpu| node.ranks[gpu]).collect()
}

/// In a balanced tree the first child is connected to the second GPU.
fn ports(node: &ClusterNode<'_>, channel: usize) -> Ports {
    let chain = chain(node, channel);
    let first_child = if node.graphs.tree.pattern == Pattern::BalancedTree { 1 } else { 0 };
    Ports { to_parent: chain[0], to_children: [chain[first_child], chain[0]] }
}

/// Heads of all nodes, as many as the node with the fewest has. A GPU is head once.
pub(super) fn nvls_heads(nodes: &[ClusterNode<'_>]) -> Vec<Vec<usize>> {
    let heads_of = |node: &ClusterNode<'_>| {
        let mut heads: Vec<usize> = Vec::new();
        for channel in &node.graphs.nvls.channels {
            let head = node.ranks[channel.gpus[0]];
            if !heads.contains(&head) {
                heads.push(head);
            }
        }
        heads
    };
    let heads: Vec<Vec<usize>> = nodes.iter().map(heads_of).collect();
    let count = heads.iter().map(Vec::len).min().unwrap_or(0);
    (0..count).map(|head| heads.iter().map(|of_node| of_node[head]).collect()).collect()
}
