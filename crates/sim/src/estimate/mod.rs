//! What a run will cost, told before it starts and without making its chunks.
//!
//! 1. `volume`: transfers, queue pairs, payload and packet-hops, from the closed forms of each pattern and
//!    the mean length of some paths;
//! 2. `cost`: memory and time, with what was measured for each of them;
//! 3. `threads`: how many threads help.
//!
//! Counts every data and ACK frame on every link that it crosses, and a job that repeats until the others end
//! for as long as those would take on an idle fabric. Leaves out what congestion adds (frames sent again,
//! NAK, CNP, PFC), and what fast-forward saves, which may be nearly all: where a run repeats itself, time is
//! an upper bound.

mod cost;
mod threads;
mod volume;

pub use threads::helpful_threads;
pub(crate) use volume::{storage_operations, transfers_per_message};

use crate::setup::Fabric;
use serde::Serialize;
use spec::{RunSpec, SpecError};

/// What a run will cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// Hosts of the fabric.
    pub hosts: u64,
    /// Ports of its hosts and switches.
    pub ports: u64,
    /// Data chunks of all jobs, of one round each.
    pub chunks: u64,
    /// Rows of the table of chunks: those of all rounds.
    pub chunk_rows: u64,
    /// Queue pairs.
    pub queue_pairs: u64,
    /// Payload of all rounds [bytes].
    pub payload_bytes: u64,
    /// Frames crossing links.
    pub packet_hops: u64,
    /// Memory of the whole program at its peak [bytes].
    pub memory_bytes: u64,
    /// Time on one core of the machine of docs/performance.md if every packet is simulated [ms].
    pub time_ms: u64,
}

/// Rows that the table of chunks would have with one for each.
///
/// # Errors
/// When a schedule cannot be made.
pub(crate) fn chunk_rows(spec: &RunSpec, fabric: &Fabric) -> Result<u64, SpecError> {
    Ok(volume::volume(spec, fabric)?.chunk_rows)
}

/// Estimates what `spec` will cost.
///
/// # Errors
/// When it is seen not to be possible to carry out; not everything that makes it so is looked at.
pub fn estimate(spec: &RunSpec) -> Result<Estimate, SpecError> {
    spec::check(spec)?;
    let fabric = Fabric::new(&spec.fabric)?;
    let volume = volume::volume(spec, &fabric)?;
    Ok(cost::estimate(spec, &fabric, volume))
}
