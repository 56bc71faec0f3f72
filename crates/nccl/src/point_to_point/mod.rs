//! Point-to-point traffic (send and receive, all-to-all): channels, NICs, order of peers, parts of a transfer.
//!
//! Source: NCCL 2.30 `src/graph/paths.cc`, `src/init.cc`, `src/enqueue.cc`.

mod channels;
mod nic;
mod schedule;
mod transfer;

pub(crate) use channels::channels;
pub use nic::nic_of_peer;
pub use schedule::{OPERATIONS_PER_BATCH, PeerSchedule, Round};
pub use transfer::{PeerTraffic, Transfer};
