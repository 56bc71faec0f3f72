//! Graphs of all nodes merged: each rank uses the least of all.
//!
//! Source: NCCL 2.30 `src/init.cc`.

use super::ClusterNode;
use crate::bandwidth::Bandwidth;
use crate::paths::PathType;
use crate::search::{Graph, Graphs, Pattern};
use serde::{Deserialize, Serialize};

/// The graphs of one algorithm on all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MergedGraph {
    /// Channels of the search.
    pub channels: usize,
    /// All channels of all nodes have the same order of GPUs.
    pub same_channels: bool,
    /// Speed of a channel between GPUs.
    pub intra: Bandwidth,
    /// Speed of a channel between GPU and NIC.
    pub inter: Bandwidth,
    /// Latency that the network plugin reports [us], of the first node: nodes do not exchange it.
    pub latency_inter_us: f64,
    /// Worst type of path between GPUs.
    pub type_intra: PathType,
    /// Worst type of path between GPU and NIC.
    pub type_inter: PathType,
    /// Largest `crossNic`.
    pub cross_nic: u8,
    /// The pattern with the largest number.
    pub pattern: Pattern,
}

/// Merged graphs of each algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MergedGraphs {
    /// Ring.
    pub ring: MergedGraph,
    /// Tree, with as many channels as ring.
    pub tree: MergedGraph,
    /// NVLS.
    pub nvls: MergedGraph,
}

impl MergedGraphs {
    pub(super) fn of(nodes: &[ClusterNode<'_>]) -> Self {
        let all = |graph: fn(&Graphs) -> &Graph| MergedGraph::of(nodes.iter().map(|node| graph(node.graphs)));
        let mut ring = all(|graphs| &graphs.ring);
        let mut tree = all(|graphs| &graphs.tree);
        let nvls = all(|graphs| &graphs.nvls);
        ring.channels = ring.channels.min(tree.channels);
        tree.channels = ring.channels;
        Self { ring, tree, nvls }
    }
}

impl MergedGraph {
    fn of<'a>(graphs: impl Iterator<Item = &'a Graph>) -> Self {
        let merge = |merged: Self, graph: Self| Self {
            channels: merged.channels.min(graph.channels),
            same_channels: merged.same_channels && graph.same_channels,
            intra: merged.intra.min(graph.intra),
            inter: merged.inter.min(graph.inter),
            latency_inter_us: merged.latency_inter_us,
            type_intra: merged.type_intra.max(graph.type_intra),
            type_inter: merged.type_inter.max(graph.type_inter),
            cross_nic: merged.cross_nic.max(graph.cross_nic),
            pattern: std::cmp::max_by_key(merged.pattern, graph.pattern, |pattern| pattern.number()),
        };
        graphs.map(Self::from).reduce(merge).expect("a communicator has a node")
    }
}

impl From<&Graph> for MergedGraph {
    /// The graph of a single node.
    fn from(graph: &Graph) -> Self {
        Self {
            channels: graph.channels.len(),
            same_channels: graph.same_channels,
            intra: graph.intra,
            inter: graph.inter,
            latency_inter_us: graph.latency_inter_us,
            type_intra: graph.type_intra,
            type_inter: graph.type_inter,
            cross_nic: graph.cross_nic,
            pattern: graph.pattern,
        }
    }
}
