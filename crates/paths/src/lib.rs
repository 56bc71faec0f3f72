//! The network of a run spec and what decides the path of a queue pair on it: the same for packets and flows.
//!
//! 1. `graph`: hosts, switches and links, with delay lines ([`graph`]), what packets are wrapped in
//!    ([`framing`]), and the addresses that a spec gives (`addresses`);
//! 2. `link_names`: links by the names of their nodes ([`LinkNames`]);
//! 3. `failures`: what becomes of links, and the routes that follow ([`Failures`]);
//! 4. `entropy`: the hash of a 5-tuple ([`PathHash`]) and the choice among equal next hops
//!    ([`hash_choice`], [`ecmp_seed`]).

mod addresses;
mod entropy;
mod failures;
mod graph;
mod link_names;

pub use entropy::{Direction, PathHash, ecmp_seed, five_tuple_hash, hash_choice};
pub use failures::{Corruption, FailureEvent, Failures, LinkChange, Reroute, ThroughputChange};
pub use graph::{builder, framing, graph, roce_mtu_bytes};
pub use link_names::LinkNames;
