//! Reliable connections (RoCE queue pairs) of a host: requesters and responders, the chunks (parts of
//! transfers) they send and receive, and the part of [`super::Host`] that transmits and receives their
//! packets.
//!
//! Requester: `sending` serves the ports, `sender` is one queue pair. Responder: `receiving` dispatches
//! packets, `receivers` holds all queue pairs, `receiver` one; `latencies` and `reordering` are statistics.
//! Both: `queue_pairs` (parameters), `resident_queue_pairs` and `lazy_queue_pairs` (creation and storage).

mod latencies;
mod lazy_queue_pairs;
mod queue_pairs;
mod receiver;
mod receivers;
mod receiving;
mod reordering;
mod resident_queue_pairs;
mod sender;
mod sending;

pub(crate) use lazy_queue_pairs::LazySenders;
pub(crate) use lazy_queue_pairs::QueuePairEnds;
pub(crate) use queue_pairs::{QueuePairEnd, QueuePairSettings, ReplyPriorities};
pub(crate) use receivers::Receivers;
pub(crate) use reordering::{BUCKETS as REORDERING_BUCKETS, Reordering};
pub(crate) use resident_queue_pairs::ResidentQueuePairs;
pub(crate) use sender::DataFrames;
pub(crate) use sender::{Sender, write_opcode};
