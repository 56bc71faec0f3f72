//! From a spec to a world that can run: the graph, the queue pairs, the nodes.

mod fabric;
mod flows;
mod hosts;
mod world;

pub(crate) use fabric::Fabric;
pub(crate) use flows::{Flows, QueuePair};
pub(crate) use hosts::{Direction, entropy};
pub(crate) use world::{BuildOptions, FabricNode, World, build};
