//! Estimates the size of a run, its memory and its time before it starts, without creating its chunks (parts
//! of transfers between ranks, each sent on one queue pair).
//!
//! 1. `volume`: chunks, queue pairs, payload and packet-hops (frames crossing a link), from closed forms of
//!    the communication patterns and the mean length of sampled paths;
//! 2. `cost`: memory and time, from measured values per unit of each;
//! 3. [`helpful_threads`]: number of threads that shorten the run.
//!
//! Counts every data and ACK frame on every link that it crosses, and a job that repeats until the others end
//! for as long as those would take on an idle fabric. Leaves out the frames that congestion adds (resent
//! frames, NAK, CNP, PFC) and the savings of fast-forward, which may be nearly everything: if a run repeats
//! itself, time is an upper bound.
//!
//! Basis of the number of threads: benches on two cores (docs/performance.md). On 1,024 hosts and more two
//! threads are 1.7 to 2 times faster; fabrics of a few switches have too little work between two barriers.
//! Fast-forward needs a single thread and skips nearly all of a long undisturbed transfer, which is more than
//! any number of threads gains.

mod cost;
mod volume;

pub(crate) use volume::{storage_operations, transfers_per_message};

use crate::fast_forward;
use crate::setup::Fabric;
use serde::Serialize;
use spec::{RunSpec, SpecError};

/// Hosts that keep a thread busy between two barriers.
const HOSTS_PER_THREAD: u64 = 64;
/// Packet-hops that justify a thread: about a tenth of a second.
const HOPS_PER_THREAD: u64 = 2_000_000;
/// From this size on chunks take so many periods that skipping most of them is the rule where fast-forward
/// applies [bytes].
const LONG_CHUNK_BYTES: u64 = 4 << 20;

/// Size and cost of a run.
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

/// Number of rows of the table of chunks if every chunk has one.
///
/// # Errors
/// When a schedule cannot be made.
pub(crate) fn chunk_rows(spec: &RunSpec, fabric: &Fabric) -> Result<u64, SpecError> {
    Ok(volume::volume(spec, fabric)?.chunk_rows)
}

/// Estimates the size and cost of `spec`.
///
/// # Errors
/// When the spec cannot be run; not every reason is checked.
pub fn estimate(spec: &RunSpec) -> Result<Estimate, SpecError> {
    spec::check(spec)?;
    let fabric = Fabric::new(&spec.fabric)?;
    let volume = volume::volume(spec, &fabric)?;
    Ok(cost::estimate(spec, &fabric, volume))
}

/// Number of threads that shorten a run of `spec`, at most `available`: fewer for a small run, and one if
/// `with_fast_forward` may skip most of it, or if the spec cannot be run.
#[must_use]
pub fn helpful_threads(spec: &RunSpec, with_fast_forward: bool, available: usize) -> usize {
    if available <= 1 {
        return 1;
    }
    let Ok(size) = estimate(spec) else { return 1 };
    let is_long = size.payload_bytes >= size.chunk_rows.saturating_mul(LONG_CHUNK_BYTES);
    if with_fast_forward && is_long && fast_forward::applies(spec, size.queue_pairs) {
        return 1;
    }
    let most = (size.hosts / HOSTS_PER_THREAD).min(size.packet_hops / HOPS_PER_THREAD);
    usize::try_from(most).unwrap_or(usize::MAX).min(available).max(1)
}
