//! Topologies: graphs of hosts, switches and links, and route tables. No queues, no traffic.
//!
//! In order of use:
//!
//! 1. `builder`: one struct of parameters per shape of network ([`LeafSpine`], [`FatTree`], ...), as a run
//!    spec (the parameters of one trial) contains it ([`TopologySpec`]), from which [`Builder::build`] builds
//!    a graph;
//! 2. `limits`: maximum sizes of a fabric, checked before anything is allocated;
//! 3. `assembly`: connects nodes by links, and numbers ports in the order of connection;
//! 4. `address`: the default IP and MAC address of each host port;
//! 5. `graph`: the finished [`Graph`]; `oversubscription` is computed from it;
//! 6. `routes`: the equal-cost next hops of every switch towards every host port.
//!
//! A new shape of network is a file in `builder` and an arm of [`TopologySpec`]; see CONTRIBUTING.md for the
//! rest.

mod address;
mod assembly;
mod builder;
mod error;
mod graph;
mod limits;
mod oversubscription;
mod routes;

pub use builder::*;
pub use error::TopologyError;
pub use graph::{Attachment, End, Graph, Link, Node, NodeKind, Port};
pub use limits::{MAX_ATTACHMENTS, MAX_HOST_PORTS, MAX_HOSTS, MAX_LINKS, MAX_PORTS};
pub use oversubscription::Oversubscription;
pub use routes::{Routes, SwitchRoutes};

#[cfg(test)]
mod testing;
