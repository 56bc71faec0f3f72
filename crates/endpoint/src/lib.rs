//! RoCEv2 transport in real time on Linux: queue pairs over UDP sockets of the host; and [`run`], which runs
//! the hosts of a run over these, kernel TCP connections or RDMA adapters (`verbs`).
//!
//! Drives the same [`transport::QueuePair`] as the simulator, with sockets and a real clock. In the order of
//! the data path:
//!
//! 1. [`Clock`]: picoseconds since a start time, which several endpoints may share.
//! 2. [`Endpoint`]: sockets and the queue pairs that share them. Post work, then call [`Endpoint::poll`] in a
//!    loop. [`Options`] sets traffic classes, source ports and limits.
//! 3. [`Loss`]: drops packets on purpose before they reach the socket.
//! 4. [`loopback`]: two endpoints on one host that transfer random data and compare every byte.
//!
//! # Measurements
//! All values are measured by software at the ends of a path. A timestamp is the time at which a thread
//! handled the packet: about 10 us late at best, a scheduler time slice at worst. Loss in the fabric and
//! drops of a full socket buffer cannot be distinguished. Packets have a valid ICRC, ECT(0) and their
//! payload, so switches and captures see RoCEv2, except for the UDP port, which is the one the socket is
//! bound to: 4791 is free where the kernel's own RoCE (rxe) is not loaded. The source port can be set per
//! queue pair.
//!
//! # Limitations
//! No IPv6; one thread per endpoint.

mod clock;
mod endpoint;
mod limit;
pub mod loopback;
mod loss;
mod memory;
mod options;
mod path;
pub mod run;
mod socket;
mod verbs;

pub use clock::{Clock, monotonic_ns};
pub use endpoint::{ConnectError, Ended, Endpoint, Operation, Pair, PairId, Request, Sent};
pub use loss::Loss;
pub use memory::{Memory, Pattern};
pub use options::{Classes, Options, TrafficClass};
pub use verbs::VerbsError;
