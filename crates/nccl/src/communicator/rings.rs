//! Rings across nodes: the last GPU of a node sends to the first of the next node.
//!
//! Source: NCCL 2.30 `src/graph/connect.cc`.

use super::ClusterNode;
use crate::rules::Crossing;

/// The ranks of each ring in order.
pub(super) fn connect(nodes: &[ClusterNode<'_>], channels: usize, crossing: Crossing) -> Vec<Vec<usize>> {
    let ring = |channel: usize| {
        let of_node = |(index, node): (usize, &ClusterNode<'_>)| {
            let swapped = swaps(node, index, nodes.len(), channels, crossing);
            let graph_channel = if swapped { channel ^ 1 } else { channel };
            let gpus = &node.graphs.ring.channels[graph_channel].gpus;
            gpus.iter().map(|&gpu| node.ranks[gpu]).collect::<Vec<_>>()
        };
        nodes.iter().enumerate().flat_map(of_node).collect()
    };
    (0..channels).map(ring).collect()
}

/// Nodes with odd numbers swap the rings of each pair, so that one leaves by the rail by which the next node is
/// entered. With an odd number of nodes one hop crosses rails.
fn swaps(node: &ClusterNode<'_>, index: usize, nodes: usize, channels: usize, crossing: Crossing) -> bool {
    let paired = crossing.paired() == Some(node.graphs.ring.cross_nic);
    let possible = crossing != Crossing::PairedAsOneEvenNodes || nodes.is_multiple_of(2);
    paired && possible && channels.is_multiple_of(2) && !index.is_multiple_of(2)
}
