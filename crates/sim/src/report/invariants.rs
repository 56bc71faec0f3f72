//! Checks the invariants of every run. A violation is a bug of the simulator: it ends the run and names the
//! chunk, link or pool, so that no wrong result is stored.
//!
//! The checks here are cheap and part of every build: the order of the times of a chunk (part of a transfer);
//! no chunk faster than the transmission of its bytes; no frame received that was not sent; no round shorter
//! than its slowest chunk; no link busy for longer than the run; buffer pools contain the sum of their groups
//! and queues. That every frame is delivered, lost or in flight is checked where frames are counted
//! (`summary`).

use super::World;
use super::assemble::ChunkPosition;
use crate::record::{ReceiveReport, SendReport};
use crate::setup::FabricNode;
use record::ChunkStatus;
use units::{Instant, Span};

/// Checks the reports of both ends of a chunk of a schedule; a byte takes at least `byte_ps` to leave the
/// host.
#[inline(always)]
pub(crate) fn check_chunk(
    position: &ChunkPosition,
    sent: &SendReport,
    received: &ReceiveReport,
    byte_ps: u64,
) {
    let is_local = position.pair.src_host == position.pair.dst_host;
    let least = if is_local { 0 } else { position.bytes * byte_ps };
    let delivered = received.delivered().unwrap_or(Instant::NEVER);
    let is_late_enough = delivered.0 >= sent.posted.0.saturating_add(least);
    let is_in_order = match (sent.status, sent.completed()) {
        (ChunkStatus::Complete, Some(completed)) => delivered <= completed,
        (ChunkStatus::Complete, None) => false,
        _ => true,
    };
    let is_sent = received.frames <= sent.frames;
    if !(is_late_enough && is_in_order && is_sent) {
        broken_chunk(position, sent, received);
    }
}

#[cold]
#[inline(never)]
fn broken_chunk(position: &ChunkPosition, sent: &SendReport, received: &ReceiveReport) -> ! {
    let pair = &position.pair;
    let at = |time: Option<Instant>| time.map_or("never".to_owned(), |at| format!("{} ps", at.0));
    panic!(
        "invariant broken: posted <= delivered <= completed, and frames received <= frames sent, of job {}, transfer {}, \
         round {}, step {}, rank {} to {}, queue pair {}: {} bytes, {:?}, posted at {} ps, delivered at {}, completed at {}; \
         {} frames sent, {} received",
        pair.job,
        position.transfer,
        position.round,
        position.step,
        pair.src,
        pair.dst,
        pair.number,
        position.bytes,
        sent.status,
        sent.posted.0,
        at(received.delivered()),
        at(sent.completed()),
        sent.frames,
        received.frames,
    )
}

/// Checks the duration of a round against its slowest chunk.
#[inline]
pub(crate) fn check_round(round: u32, took: Span, slowest: Span) {
    assert!(
        took >= slowest,
        "invariant broken: round {round} took {} ps, a chunk of it {} ps",
        took.0,
        slowest.0
    );
}

/// Checks the busy time of a link in a run that ended at `end`. The time of each frame is rounded to a
/// picosecond.
#[inline]
pub(crate) fn check_link(node: &str, port: u16, busy: Span, frames: u64, end: Instant) {
    assert!(
        busy.0 <= end.0 + frames,
        "invariant broken: the link at port {port} of {node} was busy for {} of {} ps",
        busy.0,
        end.0
    );
}

/// Checks the pools of every switch.
pub(crate) fn check_pools(world: &World) {
    for (index, node) in world.states().enumerate() {
        if let FabricNode::Switch(switch) = node
            && let Some(fault) = switch.fault()
        {
            panic!(
                "invariant broken: the bytes of a pool are the sum of its groups or queues, at node {index}: {fault}"
            );
        }
    }
}
