//! Jobs carried out in real time: what an agent does for the hosts that it plays.
//!
//! In the order in which data passes them:
//!
//! 1. [`share`]: which transfers are the agent's, and what waits for what; no clock, no network;
//! 2. [`driver`]: what carries chunks ([`driver::Driver`]): `roce` by RoCEv2 over UDP sockets, [`tcp`] by plain
//!    TCP connections, `verbs` by RDMA adapters; `local` stands beside it for ranks of one host;
//! 3. `executor`: moves chunks between the two, and keeps time;
//! 4. [`record`]: what was seen of each chunk, and the rows that the halves of sender and receiver make;
//! 5. [`HostRun`]: a thread that does all that, from the start to the stop, and the switch that ends it when
//!    nobody keeps it alive.
//!
//! # What is measured
//! Times are `CLOCK_MONOTONIC` of each host, from the common start on: `start_ps` when a chunk was handed to
//! its queue pair, `delivered_ps` when a thread of the receiver had placed its last byte, `completed_ps` when
//! one of the sender had seen the acknowledgement of it.
//!
//! # What differs from the plan
//! Transport timeouts are at least [`Settings::timeout_min_ps`]; windows are no larger than what the socket
//! of the receiver can buffer; chunks are written to a region of at most 1 MiB again and again, so messages
//! are no longer than that. [`HostRun::counters`] has what was used.

pub mod driver;
mod executor;
mod host_run;
mod local;
mod needs;
mod prompt;
pub mod record;
mod roce;
mod settings;
pub mod share;
pub mod tcp;
mod turns;
mod verbs;

pub use executor::State;
pub use host_run::{HostRun, Progress, drivers};
pub use settings::Settings;

use std::io;
use std::net::Ipv4Addr;

/// Why a run cannot be carried out here.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The spec asks for what endpoints do not have.
    #[error(transparent)]
    Spec(#[from] spec::SpecError),
    /// Settings that a driver does not have.
    #[error("settings: {0}")]
    Settings(String),
    /// There is no such driver.
    #[error("driver {found:?}; allowed: {allowed}")]
    Driver {
        /// What was asked for.
        found: String,
        /// Those that there are.
        allowed: String,
    },
    /// The spec has no such host, or none of its ranks.
    #[error("host {host}: {why}")]
    Host {
        /// Which one.
        host: u32,
        /// What is wrong with it.
        why: String,
    },
    /// A peer outside the allowed networks.
    #[error("host {host} is at {peer}; allowed peers: {allowed}")]
    NotAllowed {
        /// Which one.
        host: u32,
        /// Its address.
        peer: Ipv4Addr,
        /// The networks of the settings.
        allowed: String,
    },
    /// Packets that a path does not take.
    #[error(
        "packets of {need} bytes, headers included, to host {host}: the path from {from} to {to} has an MTU of \
         {mtu}; raise it on every link between them, or set transport.mtu lower"
    )]
    PathMtu {
        /// Which host.
        host: u32,
        /// Address here.
        from: Ipv4Addr,
        /// Address there.
        to: Ipv4Addr,
        /// What fits [bytes].
        mtu: u32,
        /// What is to fit [bytes].
        need: u32,
    },
    /// More memory than the host has.
    #[error(
        "{} MB of memory for {queue_pairs} ends of queue pairs and {rows} rows of chunks, where {} MB can \
         be had; give the plan fewer rounds or ranks, or the host fewer of them",
        need.div_ceil(1_000_000),
        available / 1_000_000
    )]
    Memory {
        /// What the run takes [bytes].
        need: u64,
        /// What can be had [bytes].
        available: u64,
        /// Ends of queue pairs.
        queue_pairs: u64,
        /// Rows of both halves of chunks.
        rows: u64,
    },
    /// Not what this moment of a run allows.
    #[error("{0}")]
    Order(&'static str),
    /// Rows that are none.
    #[error("record: {0}")]
    Record(String),
    /// An RDMA adapter that cannot be used.
    #[error(transparent)]
    Verbs(#[from] crate::VerbsError),
    /// A queue pair that cannot be had.
    #[error(transparent)]
    Connect(#[from] crate::ConnectError),
    /// What the host says.
    #[error(transparent)]
    Io(#[from] io::Error),
}
