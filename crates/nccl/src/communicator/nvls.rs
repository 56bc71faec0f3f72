//! Channels and chunks of NVLS.
//!
//! Source: NCCL 2.30 `src/transport/nvls.cc`, `src/enqueue.cc`; chunks of Blackwell over several nodes:
//! NCCL `src/transport/nvls.cc` after 2.30, and inferred to be as old as the rule of its channels.

use super::{ClusterNode, MergedGraphs, least_capability};
use crate::bandwidth::Bandwidth;
use crate::paths::PathType;
use crate::rules::{NvlsBlackwell, Rules};
use crate::settings::Settings;
use serde::{Deserialize, Serialize};

const KIB: u64 = 1024;
const CHUNK: u64 = 128 * KIB;
/// Chunk of NVLSTree from some nodes on.
const TREE_CHUNK: u64 = 64 * KIB;
const MANY_NODES: usize = 4;
const HOPPER_CHANNELS: usize = 16;
const BLACKWELL_CHANNELS: usize = 24;
const BLACKWELL_CHANNELS_SEVERAL: usize = 32;

/// Channels and chunks of NVLS and NVLSTree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvlsSetup {
    /// Channels; 0 without NVLS.
    pub channels: usize,
    /// Most bytes of a chunk.
    pub chunk_bytes: u64,
    /// Most bytes of a chunk of NVLSTree.
    pub tree_chunk_bytes: u64,
}

impl NvlsSetup {
    pub(super) fn of(
        nodes: &[ClusterNode<'_>],
        graphs: &MergedGraphs,
        rules: &Rules,
        settings: &Settings,
    ) -> Self {
        let tree_chunk_bytes = if nodes.len() >= MANY_NODES { TREE_CHUNK } else { CHUNK };
        let setup = |channels| Self { channels, chunk_bytes: CHUNK, tree_chunk_bytes };
        if graphs.nvls.channels == 0 {
            return setup(0);
        }
        let several = nodes.len() > 1;
        let setup = match rules.counts.nvls_blackwell {
            _ if least_capability(nodes) < 100 => setup(HOPPER_CHANNELS),
            NvlsBlackwell::AsHopper => setup(HOPPER_CHANNELS),
            NvlsBlackwell::Several32 if !several => setup(HOPPER_CHANNELS),
            NvlsBlackwell::Several32One24 | NvlsBlackwell::ByNic if !several => setup(BLACKWELL_CHANNELS),
            NvlsBlackwell::Several32 | NvlsBlackwell::Several32One24 => setup(BLACKWELL_CHANNELS_SEVERAL),
            NvlsBlackwell::ByNic => Self::by_nic(nodes, graphs).unwrap_or(setup(BLACKWELL_CHANNELS_SEVERAL)),
        };
        let channels = settings.nvls_channels.unwrap_or(setup.channels);
        let most = settings.max_ctas.unwrap_or(channels);
        Self { channels: channels.min(most).max(settings.min_ctas.unwrap_or(0)), ..setup }
    }

    /// Blackwell over several nodes, by the speed of the NICs; none for slow NICs.
    fn by_nic(nodes: &[ClusterNode<'_>], graphs: &MergedGraphs) -> Option<Self> {
        const FAST: Bandwidth = Bandwidth::from_gb(96);
        const MEDIUM: Bandwidth = Bandwidth::from_gb(48);
        let nic = nodes.iter().filter_map(ClusterNode::slowest_nic).min()?;
        let gpus = nodes.iter().map(|node| node.ranks.len()).min()?;
        let near = graphs.nvls.type_inter <= PathType::Pxb;
        let (channels, chunk, tree_chunk) = match nic {
            _ if nic < MEDIUM => return None,
            _ if nodes.len() == 2 && gpus <= 4 => (32, 256, 256),
            _ if nodes.len() == 2 && (gpus >= 16 || (gpus <= 8 && near && nic < FAST)) => (32, 128, 64),
            _ if nodes.len() == 2 => (32, 128, 128),
            _ if nic >= FAST && gpus <= 8 => (24, 256, 256),
            _ if nic >= FAST => (32, 128, if gpus < 32 { 128 } else { 64 }),
            _ => (24, 128, if near { 64 } else { 128 }),
        };
        Some(Self { channels, chunk_bytes: chunk * KIB, tree_chunk_bytes: tree_chunk * KIB })
    }
}
