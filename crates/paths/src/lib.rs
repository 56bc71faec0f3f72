//! Network of a run spec, and path selection of queue pairs; common to packet-level and flow-level
//! simulation.
//!
//! 1. `graph`: hosts, switches and links with extra delays ([`graph`]), framing of packets ([`framing`]), and
//!    addresses given by a spec (`addresses`);
//! 2. `link_names`: links by the names of their nodes ([`LinkNames`]);
//! 3. `failures`: state changes of links, and resulting routes ([`Failures`]);
//! 4. `entropy`: 5-tuple hash ([`PathHash`]) and selection among equal-cost next hops ([`hash_choice`],
//!    [`ecmp_seed`]).

mod addresses;
mod entropy;
mod failures;
mod graph;
mod link_names;

pub use entropy::{Direction, PathHash, ecmp_seed, five_tuple_hash, hash_choice};
pub use failures::{Corruption, FailureEvent, Failures, LinkChange, Reroute, ThroughputChange};
pub use graph::{framing, graph, roce_mtu_bytes};
pub use link_names::LinkNames;
