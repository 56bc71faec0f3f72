//! Point-to-point traffic (send and receive, all-to-all): channels, NICs, order of peers, parts of a transfer.
//!
//! Source: `nccl_graphs.md`, section 3.

mod channels;
mod nic;
mod schedule;
mod transfer;

pub(crate) use channels::channels;
pub use nic::nic_of_peer;
pub use schedule::{OPERATIONS_PER_BATCH, PeerSchedule, Round};
pub use transfer::{PeerTraffic, Transfer};
