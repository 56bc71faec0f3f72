//! The NIC of a channel, and the GPU whose proxy drives it.
//!
//! Source: NCCL 2.30 `src/graph/search.cc`, `ncclTopoGetNetDev`.

use crate::paths::Paths;
use crate::search::{Graph, Pattern};
use crate::system::System;
use serde::{Deserialize, Serialize};

/// A NIC and the GPU by which data reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelNic {
    /// The NIC.
    pub nic: usize,
    /// The GPU itself, or with PXN the GPU next to the NIC.
    pub proxy: usize,
}

/// The NIC that a GPU uses for a channel of a collective.
///
/// The first GPU of the channel uses the NIC of its entry, others that of its exit. `search_channels` is the
/// number of channels of the merged graph; a further channel repeats one of these. For NVLS a head divides the
/// channels among its NICs. None if the graph has no NIC for the GPU.
#[must_use]
pub fn nic_of_channel(
    graph: &Graph,
    search_channels: usize,
    channel: usize,
    gpu: usize,
    system: &System,
    paths: &Paths,
) -> Option<ChannelNic> {
    let nic = if graph.pattern == Pattern::Nvls {
        let of_head: Vec<usize> = graph
            .channels
            .iter()
            .filter(|head| head.gpus[0] == gpu)
            .filter_map(|head| head.entry_nic)
            .collect();
        *of_head.get(channel % of_head.len().max(1))?
    } else {
        let graph_channel = &graph.channels[channel % search_channels];
        if graph_channel.gpus[0] == gpu { graph_channel.entry_nic? } else { graph_channel.exit_nic? }
    };
    Some(ChannelNic { nic, proxy: paths.to_nic(system, gpu, nic).proxy.unwrap_or(gpu) })
}
