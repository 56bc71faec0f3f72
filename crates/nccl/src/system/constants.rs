//! Speeds of links by their generation.
//!
//! Source: NCCL 2.30 `src/graph/topo.h`.

use crate::bandwidth::Bandwidth;
use crate::rules::LinkRules;
use serde::{Deserialize, Serialize};

/// Speed of one NVLink per direction, by compute capability times 10.
#[must_use]
pub const fn nvlink(capability: u32, rules: &LinkRules) -> Bandwidth {
    match capability {
        100.. => rules.nvlink_blackwell,
        90..=99 => rules.nvlink_hopper,
        86 => Bandwidth::from_gb(12),
        70..=89 => Bandwidth::from_gb(20),
        _ => Bandwidth::from_gb(18),
    }
}

/// Generation of PCIe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PcieGeneration {
    /// 2.5 GT/s.
    Gen1,
    /// 5 GT/s.
    Gen2,
    /// 8 GT/s, also for unknown speeds.
    Gen3,
    /// 16 GT/s.
    Gen4,
    /// 32 GT/s.
    Gen5,
    /// 64 GT/s.
    Gen6,
}

impl PcieGeneration {
    /// Speed per direction of a link with some lanes; 0 lanes are 16.
    #[must_use]
    pub const fn bandwidth(self, lanes: i32) -> Bandwidth {
        let mbit_per_lane = match self {
            Self::Gen1 => 1_500,
            Self::Gen2 => 3_000,
            Self::Gen3 => 6_000,
            Self::Gen4 => 12_000,
            Self::Gen5 => 24_000,
            Self::Gen6 => 48_000,
        };
        Bandwidth::from_mb(mbit_per_lane * if lanes == 0 { 16 } else { lanes } / 8)
    }
}
