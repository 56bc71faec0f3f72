//! Jobs in real time: the part of an agent that runs the hosts assigned to it.
//!
//! In the order of the data path:
//!
//! 1. [`share`]: the agent's transfers and their dependencies; no clock, no network;
//! 2. [`driver`]: interface of transports for chunks, the parts of transfers ([`driver::Driver`]): `roce`
//!    (RoCEv2 over UDP sockets), [`tcp`] (kernel TCP connections), `verbs` (RDMA adapters); `local` copies
//!    between ranks of one host;
//! 3. `executor`: event loop that moves chunks between share and driver, and keeps time;
//! 4. [`record`]: records of each chunk from sender and receiver, and the table rows joined from them;
//! 5. [`HostRun`]: a thread that runs all that from start to stop, with a watchdog that stops it without
//!    signs of life of the controller.
//!
//! # Timestamps
//! Times are `CLOCK_MONOTONIC` of each host since the common start: `start_ps` when a chunk was posted to its
//! queue pair, `delivered_ps` when a receiver thread had placed its last byte, `completed_ps` when a sender
//! thread had received its acknowledgement or, on an unreliable connection, had sent its last packet.
//!
//! # Differences from the plan
//! Transport timeouts are at least [`Settings::timeout_min_ps`]; windows are limited by the receiver's socket
//! buffer; chunks are written repeatedly to a region of at most 1 MiB, which also limits the message size.
//! [`HostRun::counters`] reports the values in use.

pub mod driver;
mod executor;
mod host_run;
mod local;
mod memory_check;
mod messages;
mod peers;
mod real_time;
pub mod record;
mod roce;
mod round_robin;
mod settings;
pub mod share;
pub mod tcp;
mod verbs;

pub use executor::State;
pub use host_run::{HostRun, Progress, drivers};
pub use settings::Settings;

use std::io;
use std::net::Ipv4Addr;

/// Error of a run on this host.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The spec has features that endpoints do not support.
    #[error(transparent)]
    Spec(#[from] spec::SpecError),
    /// Invalid settings, or settings that the driver does not support.
    #[error("settings: {0}")]
    Settings(String),
    /// Unknown driver.
    #[error("driver {found:?}; allowed: {allowed}")]
    Driver {
        /// The requested driver.
        found: String,
        /// The existing drivers.
        allowed: String,
    },
    /// The spec has no such host, or the host is not usable.
    #[error("host {host}: {why}")]
    Host {
        /// Number of the host.
        host: u32,
        /// Cause.
        why: String,
    },
    /// A peer outside the allowed networks.
    #[error("host {host} is at {peer}; allowed peers: {allowed}")]
    NotAllowed {
        /// Number of the host.
        host: u32,
        /// Address of the host.
        peer: Ipv4Addr,
        /// Allowed networks of the settings.
        allowed: String,
    },
    /// Packets exceed the MTU of a path.
    #[error(
        "packets of {need} bytes, headers included, to host {host}: the path from {from} to {to} has an MTU of \
         {mtu}; raise it on every link between them, or set transport.mtu lower"
    )]
    PathMtu {
        /// Number of the peer host.
        host: u32,
        /// Local address.
        from: Ipv4Addr,
        /// Address of the peer.
        to: Ipv4Addr,
        /// MTU of the path [bytes].
        mtu: u32,
        /// Required MTU [bytes].
        need: u32,
    },
    /// The run needs more memory than the host has.
    #[error(
        "{} MB of memory for {queue_pairs} ends of queue pairs and {rows} rows of chunks, where {} MB can \
         be had; give the plan fewer rounds or ranks, or the host fewer of them",
        need.div_ceil(1_000_000),
        available / 1_000_000
    )]
    Memory {
        /// Required memory [bytes].
        need: u64,
        /// Available memory [bytes].
        available: u64,
        /// Local ends of queue pairs.
        queue_pairs: u64,
        /// Rows of sender's and receiver's records.
        rows: u64,
    },
    /// A call that is not allowed in the current stage of the run.
    #[error("{0}")]
    Order(&'static str),
    /// Invalid records.
    #[error("record: {0}")]
    Record(String),
    /// An RDMA adapter cannot be used.
    #[error(transparent)]
    Verbs(#[from] crate::VerbsError),
    /// A queue pair cannot be added.
    #[error(transparent)]
    Connect(#[from] crate::ConnectError),
    /// Error of the operating system.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<arrow_schema::ArrowError> for RunError {
    fn from(error: arrow_schema::ArrowError) -> Self {
        Self::Record(error.to_string())
    }
}
