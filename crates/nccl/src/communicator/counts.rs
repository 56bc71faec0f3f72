//! Numbers of channels that NCCL logs: for collectives, NVLS, point-to-point traffic, and per peer.
//!
//! Not modelled: CollNet, and GPUDirect-TCPX, which double channels again.
//!
//! Source: `nccl_graphs.md`, section 1g.

use super::{ClusterNode, MergedGraphs};
use crate::bandwidth::Bandwidth;
use crate::point_to_point;
use crate::rules::{NvlsBlackwell, Rules, SecondDoubling};
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
        rules: &Rules,
        settings: &Settings,
    ) -> Self {
        let capability = nodes.iter().map(|node| node.system.capabilities().0).min().unwrap_or(0);
        let nvls = nvls(nodes, graphs, capability, rules, settings);
        let doubled = doubled(nodes, graphs, capability, rules);
        let most = settings.max_channels.unwrap_or(rules.max_channels).min(rules.max_channels);
        let least = settings.min_channels.unwrap_or(0).min(rules.max_channels);
        let collective = doubled.min(most).max(least).max(if rules.counts.at_least_nvls { nvls } else { 0 });
        let peers = point_to_point::channels(nodes, collective, rules, settings);
        Self { collective, nvls, point_to_point: peers.total, per_peer: peers.per_peer }
    }
}

fn doubled(nodes: &[ClusterNode<'_>], graphs: &MergedGraphs, capability: u32, rules: &Rules) -> usize {
    let channels = (2 * graphs.ring.channels).min(rules.max_channels);
    let fast = nodes.len() > 1 && graphs.ring.intra > FAST_RING;
    let again = match rules.counts.second_doubling {
        SecondDoubling::HopperIfItFits => capability == 90 && 2 * channels <= rules.max_channels,
        SecondDoubling::Hopper => capability == 90 && channels < ENOUGH_CHANNELS,
        SecondDoubling::HopperOrNewer => capability >= 90 && channels < ENOUGH_CHANNELS,
    };
    if fast && again { 2 * channels } else { channels }
}

fn nvls(
    nodes: &[ClusterNode<'_>],
    graphs: &MergedGraphs,
    capability: u32,
    rules: &Rules,
    settings: &Settings,
) -> usize {
    const HOPPER: usize = 16;
    const BLACKWELL_ONE_NODE: usize = 24;
    const BLACKWELL_SEVERAL: usize = 32;
    if graphs.nvls.channels == 0 {
        return 0;
    }
    let several = nodes.len() > 1;
    let channels = match rules.counts.nvls_blackwell {
        _ if capability < 100 => HOPPER,
        NvlsBlackwell::AsHopper => HOPPER,
        NvlsBlackwell::Several32 if !several => HOPPER,
        NvlsBlackwell::Several32One24 | NvlsBlackwell::ByNic if !several => BLACKWELL_ONE_NODE,
        NvlsBlackwell::Several32 | NvlsBlackwell::Several32One24 => BLACKWELL_SEVERAL,
        NvlsBlackwell::ByNic => nvls_by_nic(nodes),
    };
    let channels = settings.nvls_channels.unwrap_or(channels);
    channels.min(settings.max_channels.unwrap_or(channels)).max(settings.min_channels.unwrap_or(0))
}

/// NVLS channels of Blackwell over several nodes, from 2.30 on.
fn nvls_by_nic(nodes: &[ClusterNode<'_>]) -> usize {
    const FAST: Bandwidth = Bandwidth::from_gb(96);
    const MEDIUM: Bandwidth = Bandwidth::from_gb(48);
    let nic = nodes.iter().filter_map(ClusterNode::slowest_nic).min().unwrap_or_default();
    let gpus = nodes.iter().map(|node| node.ranks.len()).min().unwrap_or(0);
    match nic {
        _ if nodes.len() == 2 && nic >= MEDIUM => 32,
        _ if nic >= FAST && gpus > 8 => 32,
        _ if nic >= MEDIUM => 24,
        _ => 32,
    }
}
