//! The ledger of a host: lists the chunks (parts of transfers between ranks) that each of its queue pairs has
//! to send and to receive, and stores the state of each sent chunk until it is acknowledged or has failed.
//!
//! A work item is a chunk of a queue pair. A sender posts the next item of its [`queues::SendQueue`] and ends
//! the oldest; a receiver removes the next item of its [`queues::ReceiveQueue`], or looks one up by the
//! number of items before it. All items are in one list, grouped by queue pair in the order of its schedule.
//! The indices and the compressed storage of the ledger are private to this module.

mod columns;
mod posted;
mod queues;
mod receives;
mod sends;
mod work;

pub(crate) use queues::WorkId;
pub(crate) use queues::{ReceiveQueue, SendQueue, WorkIds};
pub(crate) use receives::Receives;
pub(crate) use sends::Sends;
pub(crate) use work::{Work, WorkMaker};
