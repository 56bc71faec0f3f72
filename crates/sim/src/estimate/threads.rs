//! How many threads help a run.
//!
//! Basis: benches on two cores (docs/performance.md). On 1,024 hosts and more two threads take 1.7 to 2 times
//! less; worlds of a few switches have too little to do between two meetings. Fast-forward works on one
//! thread and skips nearly all of a long transfer that nothing disturbs, which is more than any number of
//! threads gains.

use super::{Estimate, estimate};
use crate::fast_forward;
use spec::RunSpec;

/// Hosts that keep a thread busy between two meetings.
const HOSTS_PER_THREAD: u64 = 64;
/// Packet-hops that are worth a thread: some tenth of a second.
const HOPS_PER_THREAD: u64 = 2_000_000;
/// From this size on chunks take so many periods that skipping most of them is the rule where fast-forward
/// applies [bytes].
const LONG_CHUNK_BYTES: u64 = 4 << 20;

/// Threads that help to carry `spec` out, `available` at the most: fewer for a small run, and one where
/// `with_fast_forward` may skip most of it.
#[must_use]
pub fn helpful_threads(spec: &RunSpec, with_fast_forward: bool, available: usize) -> usize {
    if available <= 1 {
        return 1;
    }
    // What is wrong with a spec is told when it is run.
    estimate(spec).map_or(1, |told| helpful(spec, &told, with_fast_forward).min(available))
}

fn helpful(spec: &RunSpec, told: &Estimate, with_fast_forward: bool) -> usize {
    let is_long = told.payload_bytes >= told.chunk_rows.saturating_mul(LONG_CHUNK_BYTES);
    if with_fast_forward && is_long && fast_forward::applies(spec, told.queue_pairs) {
        return 1;
    }
    let most = (told.hosts / HOSTS_PER_THREAD).min(told.packet_hops / HOPS_PER_THREAD);
    usize::try_from(most).unwrap_or(usize::MAX).max(1)
}
