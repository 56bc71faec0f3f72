//! RDMA adapters through libibverbs, which is loaded at run time: nothing to build against.
//!
//! In the order in which a program meets them: [`Verbs`] is the loaded library with the devices of the host;
//! [`Device`] an open one with its ports and GIDs; [`Registered`] memory that it may read or write;
//! [`CompletionQueue`] and [`QueuePair`] what moves data; [`DeviceClock`] what stamps completions. `abi` and
//! `extended` have the structures of the library, `library` its functions. All `unsafe` of it is here.
//!
//! # What is left out
//! Everything but reliable connections over RoCE v2 that write: no InfiniBand links, SEND, READ, atomics, shared
//! receive queues.

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
