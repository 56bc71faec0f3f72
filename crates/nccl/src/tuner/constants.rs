//! Figures of the tuner: latencies in us, bandwidths in GB/s.
//!
//! Source: NCCL 2.30 `src/graph/tuning.cc`.

use crate::kinds::{Algorithm, Protocol};
use crate::system::Vendor;

/// GPU generations that the tuner distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generation {
    Volta,
    Ampere,
    Hopper,
    Blackwell,
}

impl Generation {
    pub(super) const fn of(capability: u32) -> Self {
        match capability {
            100.. => Self::Blackwell,
            90.. => Self::Hopper,
            80.. => Self::Ampere,
            _ => Self::Volta,
        }
    }
}

/// Figures for one node, two nodes, and three or more.
type ByNodes = [f64; 3];
/// Figures for LL, LL128 and Simple.
type ByProtocol = [f64; 3];

/// Kind of link that decides the latency of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hardware {
    NvLink,
    Pcie,
    Network,
}

/// Latency of an algorithm without its steps.
pub(super) const fn base_latency(algorithm: Algorithm, protocol: Protocol) -> f64 {
    let latencies: ByProtocol = match algorithm {
        Algorithm::Tree => [6.8, 14.0, 8.4],
        Algorithm::Ring => [6.6, 14.0, 8.4],
        Algorithm::Pat => [8.0, 8.0, 8.0],
        _ => [0.0; 3],
    };
    latencies[protocol as usize]
}

/// Latency of a step. NVLSTree's step over the network depends on the version.
pub(super) const fn step_latency(
    hardware: Hardware,
    algorithm: Algorithm,
    protocol: Protocol,
    nvls_tree_net: f64,
) -> f64 {
    let latencies: ByProtocol = match (hardware, algorithm) {
        (Hardware::NvLink, Algorithm::Tree) => [0.6, 1.25, 4.0],
        (Hardware::NvLink, Algorithm::Ring) => [0.6, 1.9, 3.4],
        (Hardware::NvLink, Algorithm::Nvls | Algorithm::NvlsTree) => [0.0, 0.0, 25.0],
        (Hardware::Pcie, Algorithm::Tree) => [1.0, 1.9, 4.0],
        (Hardware::Pcie, Algorithm::Ring) => [1.0, 2.5, 5.7],
        (Hardware::NvLink | Hardware::Pcie, Algorithm::Pat) => [0.0, 0.0, 4.0],
        (Hardware::Network, Algorithm::Tree) => [5.0, 8.5, 14.0],
        (Hardware::Network, Algorithm::Ring) => [2.7, 4.0, 14.0],
        (Hardware::Network, Algorithm::Nvls) => [0.0, 0.0, 18.0],
        (Hardware::Network, Algorithm::NvlsTree) => [0.0, 0.0, nvls_tree_net],
        (Hardware::Network, Algorithm::Pat) => [0.0, 0.0, 14.0],
        _ => [0.0; 3],
    };
    latencies[protocol as usize]
}

/// Most bandwidth of LL: on one node by GPU, on several by CPU.
pub(super) const fn ll_max(generation: Generation, vendor: Vendor, nodes: usize) -> f64 {
    match (nodes, vendor, generation) {
        (1, _, Generation::Volta) => 39.0,
        (1, _, Generation::Ampere) => 87.7,
        (1, _, Generation::Hopper) => 141.0,
        (1, _, Generation::Blackwell) => 282.0,
        (2, Vendor::Amd | Vendor::Mixed, _) => 22.5,
        (_, Vendor::Amd | Vendor::Mixed, _) => 19.0,
        (2, _, _) => 39.0,
        _ => 20.4,
    }
}

/// Most bandwidth of a channel, by algorithm and protocol.
pub(super) struct ChannelMax {
    /// Tree.
    pub(super) tree: f64,
    /// Tree with LL128.
    pub(super) tree_ll128: f64,
    /// Ring with LL128.
    pub(super) ring_ll128: f64,
    /// NVLSTree.
    pub(super) nvls_tree: f64,
}

impl ChannelMax {
    pub(super) const fn of(generation: Generation, nodes: usize) -> Self {
        const TREE: [ByNodes; 4] =
            [[26.5, 18.5, 10.0], [24.0, 23.6, 17.8], [38.7, 41.4, 36.0], [70.0, 42.8, 24.0]];
        const TREE_LL128: [ByNodes; 4] = [[20.0; 3], [20.0; 3], [36.7, 36.7, 29.0], [55.6, 31.67, 20.0]];
        const RING_LL128: [f64; 4] = [20.0, 20.0, 36.7, 40.0];
        const NVLS_TREE: [ByNodes; 4] =
            [[26.5, 18.5, 10.0], [24.0, 23.6, 17.8], [0.0, 57.7, 45.5], [0.0, 96.0, 80.0]];
        let (row, column) = (generation as usize, if nodes > 2 { 2 } else { nodes - 1 });
        Self {
            tree: TREE[row][column],
            tree_ll128: TREE_LL128[row][column],
            ring_ll128: RING_LL128[row],
            nvls_tree: NVLS_TREE[row][column],
        }
    }
}

/// Fraction of the bandwidth that NVLS reaches.
pub(crate) const fn nvls_efficiency(generation: Generation) -> f64 {
    match generation {
        Generation::Hopper => 0.85,
        Generation::Blackwell => 0.74,
        _ => 0.0,
    }
}

/// Measured fraction of the model's bandwidth of trees, by log2(bytes / 64).
pub(super) const TREE_CORRECTION: [[f64; 24]; 3] = [
    [
        1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
        1.0, 1.0, 1.0, 1.0,
    ],
    [
        1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9,
        0.9, 1.0, 1.0, 1.0,
    ],
    [
        0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7,
        0.8, 0.9, 0.9, 0.9,
    ],
];
