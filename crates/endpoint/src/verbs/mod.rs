//! RDMA adapters through libibverbs, which is loaded at run time: no build dependency.
//!
//! In order of use: [`Verbs`] is the loaded library and lists the devices of the host; [`Device`] is an open
//! device with its ports and GIDs; [`Registered`] is memory that it may read or write; [`CompletionQueue`]
//! and [`QueuePair`] transfer data; [`DeviceClock`] is the clock of completion timestamps. `abi` and
//! `extended` declare the library's structures, `library` its functions. All related `unsafe` code is in this
//! module.
//!
//! # Limitations
//! Only RDMA WRITEs on reliable connections (RC) over RoCE v2: no InfiniBand links, SEND, READ, atomics or
//! shared receive queues.

mod abi;
mod completions;
mod device;
mod device_clock;
mod error;
mod extended;
#[cfg(test)]
mod layout;
mod library;
mod memory;
mod queue;

pub(crate) use completions::{AT_ONCE, Completion, CompletionQueue, Ended};
pub(crate) use device::{Device, GidAt, Port, Verbs};
pub(crate) use device_clock::DeviceClock;
pub use error::VerbsError;
pub(crate) use memory::Registered;
pub(crate) use queue::{Path, QueuePair, Timing, WorkList, Write};
