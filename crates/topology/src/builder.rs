//! The shapes of network. Each is a struct of parameters, in a file of its own.
//!
//! Common to all: nodes are the hosts, then the switches tier by tier; ports are numbered as each shape's
//! documentation says; link `a` is the cable of attachment `a`, then come the links between switches from the
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

/// A shape of network with its parameters.
pub trait Builder {
    /// The graph.
    ///
    /// # Errors
    /// When a count is too small or the graph exceeds the limits of this crate.
    fn build(&self) -> Result<Graph, TopologyError>;
}

/// A cable and the ports at its two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkParams {
    /// Line rate of each direction.
    pub rate: Rate,
    /// Propagation delay of the whole length.
    pub delay: Span,
}
