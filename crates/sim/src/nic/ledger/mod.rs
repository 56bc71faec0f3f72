//! The ledger of a host: lists the chunks (parts of transfers between ranks) that each of its queue pairs has
//! to send and to receive, and stores the state of each sent chunk until it is acknowledged or has failed.
//!
//! A work item is a chunk of a queue pair. A sender posts the next item of its [`queues::SendQueue`] and ends
//! the oldest; a receiver removes the next item of its [`queues::ReceiveQueue`], or looks one up by the
//! number of items before it. All items are in one list, grouped by queue pair in the order of its schedule.
//! `open_chunks` has the chunks whose packets have partly arrived, if they may be placed in any order or with
//! gaps, `unrecovered_chunks` those acknowledged with gaps, `chunk_frames` sizes. The indices and the
//! compressed storage of the ledger are private to this module.

mod chunk_frames;
mod columns;
mod open_chunks;
mod posted;
mod queues;
mod receives;
mod sends;
mod unrecovered_chunks;
mod work;

pub(crate) use chunk_frames::{ChunkFrames, Frames, frames_of};
pub(crate) use open_chunks::{Delivery, HOT_BYTES as OPEN_CHUNKS_HOT_BYTES, OpenChunks};
pub(crate) use queues::WorkId;
pub(crate) use queues::{ReceiveQueue, SendQueue, WorkIds};
pub(crate) use receives::Receives;
pub(crate) use sends::Sends;
pub(crate) use unrecovered_chunks::{Acknowledged, UnrecoveredChunks, Vouched};
pub(crate) use work::{Work, WorkMaker};
