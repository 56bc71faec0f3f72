//! A communicator: graphs of all nodes merged, numbers of channels, and the rings and trees across nodes.
//!
//! Source: NCCL 2.30 `src/init.cc`, `src/graph/connect.cc`.

mod binary_tree;
mod counts;
mod merged;
mod nics;
mod nvls;
mod rings;
mod trees;

pub use binary_tree::{Neighbours, double_binary_tree};
pub use counts::ChannelCounts;
pub use merged::{MergedGraph, MergedGraphs};
pub use nics::{ChannelNic, nic_of_channel};
pub use nvls::NvlsSetup;
pub use trees::{Tree, TreeLinks};

use crate::bandwidth::Bandwidth;
use crate::paths::Paths;
use crate::rules::Rules;
use crate::search::Graphs;
use crate::settings::Settings;
use crate::system::System;
use serde::{Deserialize, Serialize};

/// A node of a communicator: a server, or an NVLink domain of several.
#[derive(Clone, Copy, Debug)]
pub struct ClusterNode<'a> {
    /// Its hardware.
    pub system: &'a System,
    /// Its paths.
    pub paths: &'a Paths,
    /// Its graphs.
    pub graphs: &'a Graphs,
    /// The rank of each of its GPUs.
    pub ranks: &'a [usize],
}

impl ClusterNode<'_> {
    /// Bandwidth of the path to a NIC of the GPU with the slowest; none without NICs.
    pub(crate) fn slowest_nic(&self) -> Option<Bandwidth> {
        let to_first = |gpu: usize| {
            let nic = *self.paths.nics_of_gpu(gpu).first()?;
            Some(self.paths.to_nic(self.system, gpu, nic).bandwidth)
        };
        (0..self.system.gpus.len()).filter_map(to_first).min()
    }
}

/// A communicator of all ranks of some nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Communicator {
    /// Merged graphs.
    pub graphs: MergedGraphs,
    /// Numbers of channels.
    pub channels: ChannelCounts,
    /// Channels and chunks of NVLS.
    pub nvls: NvlsSetup,
    /// Ranks of each node, ascending; nodes in the order of their first rank.
    pub nodes: Vec<Vec<usize>>,
    /// Rings: the ranks in order. Channel c uses ring c mod length.
    pub rings: Vec<Vec<usize>>,
    /// Trees. Channel c uses tree c mod length.
    pub trees: Vec<Tree>,
    /// NVLS heads: the rank of each node, by head.
    pub nvls_heads: Vec<Vec<usize>>,
}

impl Communicator {
    /// Connects the nodes. Their order is irrelevant; NCCL numbers them by their first rank.
    ///
    /// # Panics
    /// Without nodes.
    #[must_use]
    pub fn connect(nodes: &[ClusterNode<'_>], rules: &Rules, settings: &Settings) -> Self {
        let mut nodes = nodes.to_vec();
        nodes.sort_by_key(|node| node.ranks.iter().min().copied());
        let graphs = MergedGraphs::of(&nodes);
        let sorted = |node: &ClusterNode<'_>| {
            let mut ranks = node.ranks.to_vec();
            ranks.sort_unstable();
            ranks
        };
        let nvls = NvlsSetup::of(&nodes, &graphs, rules, settings);
        Self {
            graphs,
            channels: ChannelCounts::of(&nodes, &graphs, nvls, rules, settings),
            nvls,
            nodes: nodes.iter().map(sorted).collect(),
            rings: rings::connect(&nodes, graphs.ring.channels, rules.crossing),
            trees: trees::connect(&nodes, graphs.tree.channels),
            nvls_heads: trees::nvls_heads(&nodes),
        }
    }

    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.nodes.iter().map(Vec::len).sum()
    }
}

/// Smallest compute capability times 10.
fn least_capability(nodes: &[ClusterNode<'_>]) -> u32 {
    nodes.iter().map(|node| node.system.capabilities().0).min().unwrap_or(0)
}
