//! Numbers of channels that NCCL logs: for collectives, NVLS, point-to-point traffic, and per peer.
//!
//! Not modelled: CollNet, and GPUDirect-TCPX, which double channels again.
//!
//! Source: NCCL 2.30 `src/graph/connect.cc`, `ncclTopoPostset`.

use super::{ClusterNode, MergedGraphs, NvlsSetup};
use crate::bandwidth::Bandwidth;
use crate::point_to_point;
use crate::rules::{Rules, SecondDoubling};
use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// Channels below which fast rings are doubled a second time.
const ENOUGH_CHANNELS: usize = 16;
/// Speed of rings above which they are doubled a second time.
const FAST_RING: Bandwidth = Bandwidth::from_gb(45);

/// Numbers of channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelCounts {
    /// For collectives by rings and trees.
    pub collective: usize,
    /// For NVLS; 0 without it.
    pub nvls: usize,
    /// For send and receive, over all peers.
    pub point_to_point: usize,
    /// For send and receive to one peer.
    pub per_peer: usize,
}

impl ChannelCounts {
    pub(super) fn of(
        nodes: &[ClusterNode<'_>],
        graphs: &MergedGraphs,
        nvls: NvlsSetup,
        rules: &Rules,
        settings: &Settings,
    ) -> Self {
        let nvls = nvls.channels;
        let doubled = doubled(nodes, graphs, rules);
        let upper = [settings.max_channels, settings.max_ctas, Some(rules.max_channels)];
        let most = upper.into_iter().flatten().min().unwrap_or(doubled);
        let lower = [settings.min_channels, settings.min_ctas];
        let least = lower.into_iter().flatten().max().unwrap_or(0).min(rules.max_channels);
        let raised = if rules.counts.at_least_nvls { nvls } else { 0 };
        let collective = doubled.min(most).max(least).max(raised);
        let peers = point_to_point::channels(nodes, collective, rules, settings);
        Self { collective, nvls, point_to_point: peers.total, per_peer: peers.per_peer }
    }
}

fn doubled(nodes: &[ClusterNode<'_>], graphs: &MergedGraphs, rules: &Rules) -> usize {
    let capability = super::least_capability(nodes);
    let channels = (2 * graphs.ring.channels).min(rules.max_channels);
    let fast = nodes.len() > 1 && graphs.ring.intra > FAST_RING;
    let again = match rules.counts.second_doubling {
        SecondDoubling::HopperIfItFits => capability == 90 && 2 * channels <= rules.max_channels,
        SecondDoubling::Hopper => capability == 90 && channels < ENOUGH_CHANNELS,
        SecondDoubling::HopperOrNewer => capability >= 90 && channels < ENOUGH_CHANNELS,
    };
    if fast && again { 2 * channels } else { channels }
}
