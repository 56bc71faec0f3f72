//! Numbers of point-to-point channels: over all peers and to one peer.

use crate::bandwidth::Bandwidth;
use crate::communicator::ClusterNode;
use crate::paths::PathType;
use crate::rules::{NetworkPeer, Rules};
use crate::settings::Settings;
use crate::system::{Node, nvlink};

use super::OPERATIONS_PER_BATCH;

/// Channels to a peer by PCIe, and to a peer over the network by default.
const DEFAULT: usize = 2;
/// Network bandwidth that a channel can carry, from 2.29 on [GB/s].
const GB_PER_CHANNEL: usize = 14;

/// Numbers of channels, powers of two.
pub(crate) struct PeerChannels {
    /// Over all peers.
    pub(crate) total: usize,
    /// To one peer.
    pub(crate) per_peer: usize,
}

pub(crate) fn channels(
    nodes: &[ClusterNode<'_>],
    collective: usize,
    rules: &Rules,
    settings: &Settings,
) -> PeerChannels {
    let most = settings.max_p2p_channels.unwrap_or(rules.max_channels);
    let least = settings.min_p2p_channels.unwrap_or(1);
    let total = collective.min(most).max(least).next_power_of_two().min(rules.max_channels);
    let ranks: usize = nodes.iter().map(|node| node.ranks.len()).sum();
    let by_network = || {
        let gpus = nodes.iter().flat_map(|node| (0..node.system.gpus.len()).map(move |gpu| (node, gpu)));
        gpus.map(|(node, gpu)| to_network_peer(node, gpu, total, ranks, rules, settings)).min()
    };
    let to_network = if nodes.len() > 1 { by_network() } else { None };
    let to_local = nodes.iter().filter_map(|node| to_local_peer(node, rules)).min();
    let least_of_all = to_network.into_iter().chain(to_local).min().unwrap_or(rules.max_channels);
    let mut per_peer = least_of_all.next_power_of_two();
    let batches = ranks.div_ceil(OPERATIONS_PER_BATCH);
    let by_bandwidth = rules.point_to_point.network_peer == NetworkPeer::ByBandwidth;
    if by_bandwidth && nodes.len() > 1 && settings.channels_per_net_peer.is_none() {
        while per_peer * batches > total && per_peer > 1 {
            per_peer /= 2;
        }
    }
    PeerChannels { total, per_peer: per_peer.min(total) }
}

/// Fewest channels between two GPUs of a node; none with one GPU.
fn to_local_peer(node: &ClusterNode<'_>, rules: &Rules) -> Option<usize> {
    let gpus = node.system.gpus.len();
    let pairs = (0..gpus).flat_map(|from| (0..gpus).map(move |to| (from, to)));
    pairs.filter(|(from, to)| from != to).map(|(from, to)| between(node, from, to, rules)).min()
}

fn between(node: &ClusterNode<'_>, from: usize, to: usize, rules: &Rules) -> usize {
    let path = node.paths.between_gpus(node.system, from, to);
    let by_nvlink =
        path.kind == PathType::Nvl || (rules.point_to_point.nvb_is_nvlink && path.kind == PathType::Nvb);
    if by_nvlink {
        let link = nvlink(node.system.gpus[to].capability, &rules.links);
        2 * usize::try_from(path.bandwidth.mb() / link.mb()).unwrap_or(0).max(1)
    } else {
        DEFAULT
    }
}

fn to_network_peer(
    node: &ClusterNode<'_>,
    gpu: usize,
    total: usize,
    ranks: usize,
    rules: &Rules,
    settings: &Settings,
) -> usize {
    if let Some(channels) = settings.channels_per_net_peer {
        return channels;
    }
    let (nics, bandwidth) = nics_to_fill(node, gpu);
    match rules.point_to_point.network_peer {
        NetworkPeer::Two => DEFAULT,
        NetworkPeer::TwoHalvedByRanks => {
            let mut channels = DEFAULT;
            while channels * ranks > 4 * total && channels > 1 {
                channels /= 2;
            }
            channels.max(nics)
        }
        NetworkPeer::ByBandwidth if nics == 0 => DEFAULT,
        NetworkPeer::ByBandwidth => {
            let gb = usize::try_from(bandwidth.whole_gb()).unwrap_or(0);
            nics.max(gb.div_ceil(GB_PER_CHANNEL))
        }
    }
}

/// NICs of a GPU, counted until they have the bandwidth of the GPU to its CPU, and their bandwidth.
fn nics_to_fill(node: &ClusterNode<'_>, gpu: usize) -> (usize, Bandwidth) {
    let ClusterNode { system, paths, .. } = *node;
    let cpu = Node::Cpu(paths.nearest_cpu(system, gpu));
    let of_gpu = paths.path(system, Node::Gpu(gpu), cpu).bandwidth;
    let (mut count, mut sum) = (0, Bandwidth::ZERO);
    for &nic in paths.nics_of_gpu(gpu) {
        if sum >= of_gpu {
            break;
        }
        sum += paths.to_nic(system, gpu, nic).bandwidth;
        count += 1;
    }
    (count, sum)
}
