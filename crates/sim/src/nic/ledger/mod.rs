//! The ledger of a host: what each of its queue pairs has to send and to receive, piece by piece, and what is
//! known of a piece that is sent until it has ended.
//!
//! A piece of work is a chunk of a queue pair. All of them have places in one row, those of a queue pair
//! together in the order of its schedule: a queue pair knows its work as a range of places, and asks by
//! place. How little of it is stored is nobody else's concern.

mod columns;
mod posted;
mod receives;
mod sends;
mod work;

pub(crate) use receives::Receives;
pub(crate) use sends::Sends;
pub(crate) use work::{Work, WorkMaker};
