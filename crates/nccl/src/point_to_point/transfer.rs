//! Parts, protocol and chunks of one transfer between two ranks.
//!
//! Source: NCCL 2.30 `src/enqueue.cc`.

use super::schedule::OPERATIONS_PER_BATCH;
use crate::communicator::{ClusterNode, Communicator};
use crate::kinds::Protocol;
use crate::paths::PathType;
use crate::settings::Settings;
use crate::system::Vendor;
use serde::{Deserialize, Serialize};

const KIB: u64 = 1024;
/// Chunk over the network.
const NET_CHUNK: u64 = 128 * KIB;
/// Chunk over NVLink.
const NVLINK_CHUNK: u64 = 512 * KIB;
/// Chunk over PCIe.
const PCIE_CHUNK: u64 = 128 * KIB;
/// Step of an LL buffer; half of it is data.
const LL_STEP: u64 = 64 * KIB;
/// Most bytes of a part that LL carries.
const LL_PART_MAX: u64 = 16 * KIB;
/// Parts are multiples of this.
const PART_ALIGNMENT: u64 = 4 * KIB;

/// What all transfers of a communicator have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerTraffic {
    /// Bytes of a chunk before it is adapted to the transfer.
    pub chunk_bytes: u64,
    /// Point-to-point channels of the communicator.
    pub channels: usize,
    /// Most channels to one peer.
    pub per_peer: usize,
    /// Ranks of the communicator.
    pub ranks: usize,
    /// The communicator has several nodes.
    pub several_nodes: bool,
}

/// How a transfer is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    /// Protocol: LL or Simple.
    pub protocol: Protocol,
    /// Channels, each with a part of the data.
    pub channels: usize,
    /// Bytes of a part; the last may have fewer.
    pub part_bytes: u64,
    /// Bytes of data in a chunk: one network message.
    pub chunk_bytes: u64,
    /// Chunks of a full part.
    pub chunks: u64,
}

impl PeerTraffic {
    /// Inputs of the transfers of a communicator with these nodes.
    #[must_use]
    pub fn new(nodes: &[ClusterNode<'_>], communicator: &Communicator, settings: &Settings) -> Self {
        let several_nodes = nodes.len() > 1;
        let grace_blackwell = || {
            nodes.iter().all(|node| {
                node.system.processor().vendor() == Vendor::Arm && node.system.capabilities().0 >= 100
            })
        };
        let all_nvlink = || {
            nodes.iter().all(|node| {
                let types = node.paths.types_between_gpus(node.system);
                types.is_none_or(|(_, worst)| worst < PathType::Pix)
            })
        };
        let chunk_bytes = if several_nodes {
            let default = if grace_blackwell() { 2 * NET_CHUNK } else { NET_CHUNK };
            settings.p2p_net_chunk_bytes.unwrap_or(default)
        } else if all_nvlink() {
            NVLINK_CHUNK
        } else {
            PCIE_CHUNK
        };
        let counts = communicator.channels;
        Self {
            chunk_bytes,
            channels: counts.point_to_point,
            per_peer: counts.per_peer,
            ranks: communicator.ranks(),
            several_nodes,
        }
    }

    /// A transfer of some bytes to another rank, over the network or within the node.
    #[must_use]
    pub fn transfer(&self, bytes: u64, over_network: bool) -> Transfer {
        let channels = self.parts_of(bytes);
        let protocol = if bytes <= channels as u64 * LL_PART_MAX { Protocol::Ll } else { Protocol::Simple };
        let step = if protocol == Protocol::Ll { LL_STEP } else { self.chunk_bytes };
        let step = match (over_network, protocol) {
            (true, Protocol::Simple) if bytes < step => step / 4,
            (true, _) if bytes < 8 * step => step / 2,
            _ => step,
        };
        let data = if protocol == Protocol::Ll { step / 2 } else { step };
        let chunk_bytes = four_significant_bits(data).max(1);
        let part_bytes = bytes.div_ceil(channels as u64).next_multiple_of(PART_ALIGNMENT).min(bytes);
        Transfer {
            protocol,
            channels,
            part_bytes,
            chunk_bytes,
            chunks: part_bytes.div_ceil(chunk_bytes).max(1),
        }
    }

    /// Transfers of one rank that run concurrently, each with some channels.
    #[must_use]
    pub const fn concurrent_peers(&self, channels: usize) -> usize {
        self.channels / channels * OPERATIONS_PER_BATCH
    }

    /// Channels of a transfer: few at first, doubled while their parts are large.
    fn parts_of(&self, bytes: u64) -> usize {
        if bytes == 0 {
            return 1;
        }
        let (smallest, largest) = if self.several_nodes {
            (self.chunk_bytes / 2, self.chunk_bytes)
        } else {
            (self.chunk_bytes / 8, self.chunk_bytes * 32)
        };
        let mut first = self.per_peer;
        while first * self.ranks > self.channels && first > 1 {
            first /= 2;
        }
        let useful = usize::try_from(bytes.div_ceil(smallest.max(1))).unwrap_or(usize::MAX);
        let mut channels = first.min(useful);
        let mut part = smallest.max(bytes.div_ceil(channels as u64));
        while part > largest && channels <= self.per_peer / 2 {
            channels *= 2;
            part = bytes.div_ceil(channels as u64);
        }
        channels
    }
}

/// Rounded down to the precision of NCCL's 8-bit format of chunk sizes.
const fn four_significant_bits(number: u64) -> u64 {
    let bits = u64::BITS - number.leading_zeros();
    let dropped = bits.saturating_sub(4);
    number >> dropped << dropped
}
