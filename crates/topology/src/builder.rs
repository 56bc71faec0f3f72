//! Builders of topologies: trait `Builder`; one struct of parameters per shape, each in its own file;
//! `TopologySpec`, an enum of all shapes; rate and delay of cables (`LinkSpec`).
//!
//! Common numbering: nodes are the hosts, then the switches by tier; ports are numbered as documented for
//! each shape; link `a` is the cable of attachment `a` (a host port connected to the fabric), followed by the
//! links between switches from the lowest tier up, ordered by (lower switch, its port).

mod custom;
mod fat_tree;
mod full_mesh;
mod leaf_spine;
mod multi_plane;
mod rail_optimised;
mod rail_pods;
mod single_switch;

pub use custom::{Custom, CustomLink, CustomSwitch};
pub use fat_tree::FatTree;
pub use full_mesh::FullMesh;
pub use leaf_spine::LeafSpine;
pub use multi_plane::MultiPlane;
pub use rail_optimised::RailOptimised;
pub use rail_pods::RailPods;
pub use single_switch::SingleSwitch;

use crate::{Graph, TopologyError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{RATE_BPS_MAX, Rate, Span};

/// Builder of a topology: its shape and parameters, each in the range of its field.
pub trait Builder {
    /// Number of hosts.
    fn hosts(&self) -> u64;

    /// Link of each host to its switch.
    fn host_link(&self) -> LinkSpec;

    /// Builds the graph.
    ///
    /// # Errors
    /// If the graph exceeds the limits of this crate.
    fn build(&self) -> Result<Graph, TopologyError>;
}

/// Topology of a run: one of the builders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TopologySpec {
    /// Every host on one switch.
    SingleSwitch(SingleSwitch),
    /// Two tiers: every leaf is connected to every spine.
    LeafSpine(LeafSpine),
    /// Three tiers: pods of leaf and aggregation switches, connected by planes of core switches.
    FatTree(FatTree),
    /// Servers of several GPUs; NIC `i` of every server is connected to rail switch `i`, rails by spines.
    RailOptimised(RailOptimised),
    /// Servers of several GPUs in pods with one leaf per rail; leaves of a rail are connected by spines,
    /// rails by cores.
    RailPods(RailPods),
    /// One leaf-spine fabric per port of the hosts, connected only through the hosts.
    MultiPlane(MultiPlane),
    /// Switches, hosts and links as listed.
    Custom(Custom),
    /// The ideal reference: hosts connected by one crossbar that never blocks.
    FullMesh(FullMesh),
}

impl TopologySpec {
    /// The builder.
    #[must_use]
    pub const fn builder(&self) -> &dyn Builder {
        match self {
            Self::SingleSwitch(builder) => builder,
            Self::LeafSpine(builder) => builder,
            Self::FatTree(builder) => builder,
            Self::RailOptimised(builder) => builder,
            Self::RailPods(builder) => builder,
            Self::MultiPlane(builder) => builder,
            Self::Custom(builder) => builder,
            Self::FullMesh(builder) => builder,
        }
    }

    /// Number of hosts.
    #[must_use]
    pub fn hosts(&self) -> u64 {
        self.builder().hosts()
    }
}

/// A cable and the ports at its two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// Line rate per direction [bit/s].
    #[schemars(range(min = 1_000_000, max = RATE_BPS_MAX))]
    pub rate_bps: u64,
    /// The cable.
    pub cable: CableSpec,
}

impl LinkSpec {
    /// Line rate per direction.
    #[must_use]
    pub const fn rate(self) -> Rate {
        Rate::from_bps(self.rate_bps)
    }

    /// Propagation delay of the whole cable.
    #[must_use]
    pub const fn delay(self) -> Span {
        Span(self.cable.delay_ps)
    }
}

/// A cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CableSpec {
    /// Propagation delay of the whole length [ps].
    #[schemars(range(max = 1_000_000_000_000_u64))]
    pub delay_ps: u64,
}
