//! The ledger of a host: what each of its queue pairs has to send and to receive, piece by piece, and what is
//! known of a piece that is sent until it has ended.
//!
//! A piece of work is a chunk of a queue pair. A sender posts the next of its [`queues::SendQueue`] and ends
//! the oldest; a receiver takes what comes next out of its [`queues::ReceiveQueue`], or asks what comes after
//! so many. All pieces have places in one row, those of a queue pair together in the order of its schedule:
//! where, and how little of each is stored, is nobody else's concern.

mod columns;
mod posted;
mod queues;
mod receives;
mod sends;
mod work;

pub(crate) use queues::WorkId;
pub(in crate::nic) use queues::{ReceiveQueue, SendQueue, WorkIds};
pub(crate) use receives::Receives;
pub(crate) use sends::Sends;
pub(crate) use work::{Work, WorkMaker};
