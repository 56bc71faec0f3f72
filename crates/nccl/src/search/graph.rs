//! Graphs: results of a search, for one algorithm on one node.

use crate::bandwidth::Bandwidth;
use crate::paths::PathType;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Shape of the channels of a graph. The number is that of NCCL's logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Chain from the NIC; the first two GPUs share the traffic of the NIC.
    BalancedTree,
    /// Chain from the NIC; the first GPU has all traffic of the NIC.
    Tree,
    /// Ring.
    Ring,
    /// Heads at NICs; all GPUs connect to NVSwitch.
    Nvls,
}

impl Pattern {
    /// Number of the pattern in logs.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::BalancedTree => 1,
            Self::Tree => 3,
            Self::Ring => 4,
            Self::Nvls => 5,
        }
    }

    #[inline]
    pub(super) const fn is_tree(self) -> bool {
        matches!(self, Self::BalancedTree | Self::Tree)
    }
}

/// One channel of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphChannel {
    /// GPUs in the order of the channel; for NVLS only the head.
    pub gpus: Vec<usize>,
    /// NIC by which data enter, with several nodes.
    pub entry_nic: Option<usize>,
    /// NIC by which data leave, with several nodes.
    pub exit_nic: Option<usize>,
}

/// The channels of one algorithm on one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// Shape.
    pub pattern: Pattern,
    /// 0: channels leave by the NIC by which they enter; 1: by any; 2: by the NIC of their pair.
    pub cross_nic: u8,
    /// All channels have the same order of GPUs.
    pub same_channels: bool,
    /// Speed of a channel between GPUs.
    pub intra: Bandwidth,
    /// Speed of a channel between GPU and NIC.
    pub inter: Bandwidth,
    /// Latency that the network plugin reports [us].
    pub latency_inter_us: f64,
    /// Worst type of path between GPUs that a channel may take.
    pub type_intra: PathType,
    /// Worst type of path between GPU and NIC that a channel may take.
    pub type_inter: PathType,
    /// Links of all channels.
    pub hops: i32,
    /// The channels.
    pub channels: Vec<GraphChannel>,
}

impl Graph {
    pub(super) const fn empty(pattern: Pattern) -> Self {
        Self {
            pattern,
            cross_nic: 0,
            same_channels: false,
            intra: Bandwidth::ZERO,
            inter: Bandwidth::ZERO,
            latency_inter_us: 0.0,
            type_intra: PathType::Loc,
            type_inter: PathType::Loc,
            hops: 0,
            channels: Vec::new(),
        }
    }

    /// Speed of all channels between GPUs.
    pub(super) fn total_intra(&self) -> i64 {
        total(self.channels.len(), self.intra)
    }

    /// Speed of all channels between GPU and NIC.
    pub(super) fn total_inter(&self) -> i64 {
        total(self.channels.len(), self.inter)
    }

    /// Doubles fast channels, each with half of the speed, so that more thread blocks share the work
    /// (NCCL 2.30 `src/graph/search.cc`, `ncclTopoDupChannels`).
    pub(super) fn double(&mut self, capability: u32, max_channels: usize) {
        const FAST: Bandwidth = Bandwidth::from_gb(25);
        const FAST_FROM_HOPPER: Bandwidth = Bandwidth::from_gb(50);
        let count = self.channels.len();
        let enough = capability > 80 && self.intra < FAST_FROM_HOPPER && count > 4;
        if count == 0 || self.pattern == Pattern::Nvls || self.intra < FAST || enough {
            return;
        }
        let doubled = (2 * count).min(max_channels);
        if doubled > count {
            self.channels.extend_from_within(..doubled - count);
            self.intra = self.intra / 2;
            self.inter = self.inter / 2;
        }
    }
}

pub(super) fn total(channels: usize, speed: Bandwidth) -> i64 {
    channels as i64 * i64::from(speed.mb())
}

impl fmt::Display for Graph {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "P{} x{} {}x{}/{} {}/{} s{}",
            self.pattern.number(),
            self.cross_nic,
            self.channels.len(),
            self.intra,
            self.inter,
            self.type_intra,
            self.type_inter,
            u8::from(self.same_channels)
        )
    }
}
