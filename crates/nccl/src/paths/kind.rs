//! Types of paths, from the best to none.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Type of a path: its worst step. The order is NCCL's (2.30 `src/graph/topo.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum PathType {
    /// The part itself.
    Loc,
    /// NVLink, directly or over NVSwitch.
    Nvl,
    /// NVLink over a third GPU.
    Nvb,
    /// C2C link between GPU and CPU.
    C2c,
    /// One PCIe switch.
    Pix,
    /// Several PCIe switches, no CPU.
    Pxb,
    /// C2C to the CPU and PCIe to the NIC.
    P2c,
    /// NVLink to another GPU, which reaches the NIC without its CPU.
    Pxn,
    /// Over the CPU.
    Phb,
    /// Over the link between CPUs.
    Sys,
    /// Over the network.
    Net,
    /// No path.
    Dis,
}

/// All types, in order.
const ALL: [PathType; 12] = [
    PathType::Loc,
    PathType::Nvl,
    PathType::Nvb,
    PathType::C2c,
    PathType::Pix,
    PathType::Pxb,
    PathType::P2c,
    PathType::Pxn,
    PathType::Phb,
    PathType::Sys,
    PathType::Net,
    PathType::Dis,
];

impl PathType {
    /// The next worse type.
    #[must_use]
    pub fn next(self) -> Self {
        ALL.get(self as usize + 1).copied().unwrap_or(Self::Dis)
    }

    /// All types up to this one, the best first.
    pub(crate) fn up_to(self) -> impl Iterator<Item = Self> {
        ALL.into_iter().take(self as usize + 1)
    }

    /// Type of a path over a CPU, by the types of its two halves.
    pub(super) fn over_cpu(self, other: Self) -> Self {
        match (self.max(other), self.min(other)) {
            (Self::Phb, Self::C2c) => Self::P2c,
            (worse, _) => worse,
        }
    }
}

impl fmt::Display for PathType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&format!("{self:?}").to_uppercase())
    }
}

impl FromStr for PathType {
    type Err = ();

    /// Reads a name up to SYS, as `NCCL_P2P_LEVEL` has it, or its old numbers.
    fn from_str(text: &str) -> Result<Self, ()> {
        const OLD_NUMBERS: [PathType; 6] =
            [PathType::Loc, PathType::Pix, PathType::Pxb, PathType::Phb, PathType::Sys, PathType::Sys];
        if let Ok(number) = text.parse::<usize>() {
            return Ok(OLD_NUMBERS[number.min(OLD_NUMBERS.len() - 1)]);
        }
        Self::Sys.up_to().find(|kind| kind.to_string() == text).ok_or(())
    }
}
