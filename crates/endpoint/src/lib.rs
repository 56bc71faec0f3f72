//! The transport in real time: RoCEv2 queue pairs over UDP sockets of the host (Linux).
//!
//! The same [`transport::QueuePair`] that stands still in a test moves here, driven by sockets and by the
//! clock. In the order in which data passes them:
//!
//! 1. [`Clock`]: picoseconds since a start that several endpoints may have in common.
//! 2. [`Endpoint`]: a socket and the queue pairs that share it; work is posted, and [`Endpoint::turn`]
//!    carries it on.
//!    [`Options`] are what it may be told: traffic classes, source ports, limits.
//! 3. [`Loss`]: packets that it drops on purpose before they reach the socket.
//! 4. [`loopback`]: two endpoints on one host that send each other what a description says, and compare every
//!    byte.
//!
//! # What it measures
//! What software at the ends of a path sees. A time is that at which a thread got to handle a packet, some 10
//! us late at best and a scheduler's slice at worst; frames that the fabric lost and those that a full socket
//! buffer dropped look the same. Packets carry a valid ICRC, ECT(0) and their payload, so switches and
//! captures see RoCEv2, except for the UDP port, which is whatever the socket is bound to: 4791 is free where
//! the kernel's own RoCE (rxe) is not loaded. Source ports can be chosen for each queue pair.
//!
//! # What is left out
//! IPv6, and more than one thread for an endpoint.

mod clock;
mod endpoint;
mod identifications;
mod limit;
pub mod loopback;
mod loss;
mod memory;
mod numbers;
mod options;
mod outbox;
mod pair;
mod path;
pub mod run;
mod schedule;
mod socket;
mod transmitter;
mod verbs;

pub use clock::{Clock, monotonic_ns};
pub use endpoint::{ConnectError, Endpoint};
pub use loss::Loss;
pub use memory::{Memory, Pattern};
pub use options::{Classes, Options, TrafficClass};
pub use pair::{Ended, Pair, PairId, Sent};
pub use verbs::VerbsError;
