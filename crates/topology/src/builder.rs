//! Builders of topologies: one struct of parameters per shape, each in its own file.
//!
//! Common numbering: nodes are the hosts, then the switches by tier; ports are numbered as documented for
//! each shape; link `a` is the cable of attachment `a`, followed by the links between switches from the
//! lowest tier up, ordered by (lower switch, its port).

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
use units::{Rate, Span};

/// Builder of a topology: its shape and parameters.
pub trait Builder {
    /// Builds the graph.
    ///
    /// # Errors
    /// If a count is too small, or the graph exceeds the limits of this crate.
    fn build(&self) -> Result<Graph, TopologyError>;
}

/// Parameters of a cable and the ports at its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkParams {
    /// Line rate per direction.
    pub rate: Rate,
    /// Propagation delay of the whole cable.
    pub delay: Span,
}
