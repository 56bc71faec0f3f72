//! CPUs by vendor and generation, and the speed between sockets.
//!
//! Source: NCCL 2.18 to 2.31 `src/graph/topo.{h,cc}`.

use crate::bandwidth::Bandwidth;
use crate::rules::LinkRules;
use serde::{Deserialize, Serialize};

/// A CPU by vendor and generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Processor {
    /// Intel before Skylake.
    IntelBroadwell,
    /// Intel Skylake to Ice Lake.
    IntelSkylake,
    /// Intel Sapphire Rapids.
    IntelSapphireRapids,
    /// Intel Emerald Rapids and later.
    IntelEmeraldRapids,
    /// AMD Zen 1 or 2.
    AmdZen2,
    /// AMD Zen 3 or 4.
    AmdZen4,
    /// AMD Zen 5.
    AmdZen5,
    /// Arm, NVIDIA Grace included.
    Arm,
    /// IBM POWER9.
    Power9,
    /// Zhaoxin before Yongfeng.
    Zhaoxin,
    /// Zhaoxin Yongfeng.
    Yongfeng,
    /// Another, or unknown.
    Other,
}

/// Vendor of a CPU as far as the rules distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vendor {
    /// Intel, x86.
    Intel,
    /// AMD, x86.
    Amd,
    /// Zhaoxin, x86.
    Zhaoxin,
    /// Arm.
    Arm,
    /// IBM POWER.
    Power,
    /// Nodes with CPUs of different vendors.
    Mixed,
    /// Another.
    Other,
}

impl Vendor {
    /// Whether its CPUs are x86.
    #[must_use]
    pub const fn is_x86(self) -> bool {
        matches!(self, Self::Intel | Self::Amd | Self::Zhaoxin)
    }
}

impl Processor {
    /// An Intel CPU by the model of CPUID, with its extended bits.
    #[must_use]
    pub const fn intel(model: u32) -> Self {
        match model {
            0xCF.. => Self::IntelEmeraldRapids,
            0x8F.. => Self::IntelSapphireRapids,
            0x55.. => Self::IntelSkylake,
            _ => Self::IntelBroadwell,
        }
    }

    /// An AMD CPU by the family of CPUID, with its extended bits.
    #[must_use]
    pub const fn amd(family: u32) -> Self {
        match family {
            0x1A.. => Self::AmdZen5,
            0x19 => Self::AmdZen4,
            _ => Self::AmdZen2,
        }
    }

    /// The vendor.
    #[must_use]
    pub const fn vendor(self) -> Vendor {
        match self {
            Self::IntelBroadwell
            | Self::IntelSkylake
            | Self::IntelSapphireRapids
            | Self::IntelEmeraldRapids => Vendor::Intel,
            Self::AmdZen2 | Self::AmdZen4 | Self::AmdZen5 => Vendor::Amd,
            Self::Arm => Vendor::Arm,
            Self::Power9 => Vendor::Power,
            Self::Zhaoxin | Self::Yongfeng => Vendor::Zhaoxin,
            Self::Other => Vendor::Other,
        }
    }

    /// Speed to another socket, per direction.
    #[must_use]
    pub const fn between_sockets(self, rules: &LinkRules) -> Bandwidth {
        match self {
            Self::IntelBroadwell | Self::Arm | Self::Zhaoxin => Bandwidth::from_gb(6),
            Self::IntelSapphireRapids if rules.new_intel_sockets => Bandwidth::from_gb(22),
            Self::IntelEmeraldRapids if rules.new_intel_sockets => Bandwidth::from_gb(40),
            Self::IntelSkylake | Self::IntelSapphireRapids | Self::IntelEmeraldRapids => {
                Bandwidth::from_gb(10)
            }
            Self::AmdZen2 => rules.amd_sockets[0],
            Self::AmdZen4 => rules.amd_sockets[1],
            Self::AmdZen5 => rules.amd_sockets[2],
            Self::Power9 => Bandwidth::from_gb(32),
            Self::Yongfeng => Bandwidth::from_gb(9),
            Self::Other => Bandwidth::LOCAL,
        }
    }
}
