//! Graphs of hosts, switches and links, and the route tables over them. No queues, no traffic.
//!
//! In the order in which data passes them:
//!
//! 1. `builder`: a plain struct of parameters for each shape of network ([`LeafSpine`], [`FatTree`], ...),
//!    which [`Builder::build`] turns into a graph;
//! 2. `limits`: what a fabric may have at most, checked with the parameters before anything is allocated;
//! 3. `assembly`: puts nodes and links together, numbers ports in the order in which they are plugged in;
//! 4. `address`: the IP and MAC address of each host port, unless a plan gives others;
//! 5. `graph`: the finished [`Graph`]; `oversubscription` is read off it;
//! 6. `routes`: the equal-cost next hops of every switch towards every host port.
//!
//! A new shape of network is a file in `builder`, exported there and here; CONTRIBUTING.md has the rest.

mod address;
mod assembly;
mod builder;
mod error;
mod graph;
mod limits;
mod oversubscription;
mod routes;

pub use builder::{
    Builder, Custom, CustomLink, CustomSwitch, FatTree, FullMesh, LeafSpine, LinkParams, MultiPlane,
    RailOptimised, RailPods, SingleSwitch,
};
pub use error::TopologyError;
pub use graph::{Attachment, End, Graph, Link, Node, NodeKind, Port};
pub use limits::{MAX_ATTACHMENTS, MAX_HOST_PORTS, MAX_HOSTS, MAX_LINKS, MAX_PORTS};
pub use oversubscription::Oversubscription;
pub use routes::{Routes, SwitchRoutes};

#[cfg(test)]
mod testing;
