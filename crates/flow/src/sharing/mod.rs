//! Sharing of links among flows, by one of two models: max-min fair rates for senders that react to
//! congestion, queues before overloaded links for senders that do not.

mod bitmap_set;
mod completion_heap;
mod fair_flows;
pub(crate) mod link_queues;
pub(crate) mod max_min;
pub(crate) mod queued_flows;
pub(crate) mod sender_port;
#[cfg(test)]
mod tests;

use crate::network::idle_time::Frames;
use crate::network::paths::{Path, Paths};
use crate::run::events::Events;
use fair_flows::FairFlows;
use jobs::Jobs;
use link_queues::Overflow;
use queued_flows::{FlowProgress, QueuedFlows};
use sender_port::NewFlow;
use spec::{RunSpec, SpecError, unsupported};
use std::collections::HashMap;
use units::Instant;

/// Maximum number of transfers whose bytes are summed by queue pair.
pub(crate) const TRANSFERS_MAX: usize = 1 << 20;

/// Flows, by slot.
pub(crate) enum Sharing {
    /// Senders react: each receives its fair rate at once.
    Fair(Box<FairFlows>),
    /// Senders do not react: queues grow.
    Queued(Box<QueuedFlows>),
}

impl Sharing {
    pub(crate) fn new(spec: &RunSpec, jobs: &Jobs, paths: &Paths) -> Self {
        match Self::is_fair(spec, jobs, paths) {
            true => Self::Fair(Box::new(FairFlows::new(paths.network.capacities()))),
            false => {
                let frame_bytes = paths.frames.full_frame_bytes();
                Self::Queued(Box::new(QueuedFlows::new(&paths.network, frame_bytes)))
            }
        }
    }

    /// Whether senders react.
    pub(crate) fn is_fair(spec: &RunSpec, jobs: &Jobs, paths: &Paths) -> bool {
        reacts(spec, paths, chunk_sizes(jobs), |limit| outlasts(jobs, &paths.frames, limit))
    }

    /// If senders do not react, starts a flow on the link of its host.
    pub(crate) fn begin_queued(&mut self, now: Instant, flow: NewFlow, host_link: u32) {
        if let Some(queued) = self.queued() {
            queued.begin(now, flow, host_link);
        }
    }

    /// If senders react, starts a flow of `wire_bytes` on its path, with a rate of at most `bound`.
    pub(crate) fn begin_fair(
        &mut self,
        now: Instant,
        slot: u32,
        path: &Path,
        bound: u64,
        wire_bytes: u64,
        paths: &Paths,
    ) {
        if let Self::Fair(fair) = self {
            let links = paths.network.link_weights(&path.legs, path.destination);
            fair.begin(now, slot, links, bound, wire_bytes);
        }
    }

    /// If senders do not react, the path of the flow that passed all queues last.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Fair(_) => None,
            Self::Queued(queued) => Some(queued.path()),
        }
    }

    /// Recomputes rates after the events at `now`.
    pub(crate) fn recompute(&mut self, now: Instant, events: &mut Events, paths: &Paths, jobs: &Jobs) {
        match self {
            Self::Fair(fair) => fair.recompute(now, events),
            Self::Queued(queued) => queued.recompute(now, events, paths, jobs),
        }
    }

    /// Removes the next flow that has ended by `now`.
    pub(crate) fn pop_ended(&mut self, now: Instant) -> Option<u32> {
        match self {
            Self::Fair(fair) => fair.pop_ended(now),
            Self::Queued(_) => None,
        }
    }

    /// Handles an event of a sending port: removes the next flow that has sent its last frame.
    pub(crate) fn pop_sent(&mut self, now: Instant, port: u32, version: u32) -> Option<u32> {
        self.queued()?.pop_sent(now, port, version)
    }

    /// Moves the last bit of the flow in a slot from the link of a hop to its next queue.
    pub(crate) fn advance(
        &mut self,
        now: Instant,
        slot: u32,
        hop: u8,
        paths: &Paths,
        jobs: &Jobs,
    ) -> FlowProgress {
        self.queued().map_or(FlowProgress::PassedAll, |queued| queued.advance(now, slot, hop, paths, jobs))
    }

    /// Handles a queue that may be empty.
    pub(crate) fn queue_may_be_empty(&mut self, now: Instant, link: u32, events: &mut Events) {
        if let Some(queued) = self.queued() {
            queued.queue_may_be_empty(now, link, events);
        }
    }

    /// Handles the end of the rest time of a link.
    pub(crate) fn rest_over(&mut self, link: u32) {
        if let Some(queued) = self.queued() {
            queued.rest_over(link);
        }
    }

    fn queued(&mut self) -> Option<&mut QueuedFlows> {
        match self {
            Self::Fair(_) => None,
            Self::Queued(queued) => Some(queued),
        }
    }

    /// Checks that nothing would have been lost by now.
    pub(crate) fn check_queues(&self, now: Instant, paths: &Paths) -> Result<(), SpecError> {
        let Self::Queued(queued) = self else { return Ok(()) };
        let Some(Overflow { link, bytes }) = queued.overflow() else { return Ok(()) };
        let name = paths.network.name_of(link);
        let loss = format!("none, so that the queue of {name} loses frames at {bytes} bytes, {now}");
        let allowed = "a fabric that loses nothing (the flow model covers no losses)";
        Err(unsupported("fabric.switch.pfc", loss, allowed))
    }

    /// Number of recomputations of rates.
    pub(crate) const fn rate_changes(&self) -> u64 {
        match self {
            Self::Fair(fair) => fair.rate_changes,
            Self::Queued(queued) => queued.rate_changes(),
        }
    }
}

/// Whether senders react to the network: by a rate control, or because their windows fill. They cannot if no
/// queue pair has more to send than fits into a round trip.
///
/// # Arguments
/// - `chunks`: sizes of chunks [bytes]; of equal chunks, the largest is enough.
/// - `outlasts`: whether a queue pair has more than a given number of bytes on the wire to send.
pub(crate) fn reacts(
    spec: &RunSpec,
    paths: &Paths,
    mut chunks: impl Iterator<Item = u64>,
    outlasts: impl FnOnce(u64) -> bool,
) -> bool {
    let window = paths.window_packets;
    // A frame has at least one byte, so most chunks need no count of frames.
    let is_longer = |bytes: u64| bytes > window && paths.frames.count(bytes).frames > window;
    chunks.any(is_longer)
        || spec.transport.rate_control.config().is_paced() && outlasts(paths.network.round_trip_bytes())
}

/// The largest chunk of each transfer [bytes].
fn chunk_sizes(jobs: &Jobs) -> impl Iterator<Item = u64> + '_ {
    let transfers = jobs.schedules.iter().flat_map(|schedule| schedule.transfers());
    transfers.map(|transfer| transfer.bytes.div_ceil(jobs.parts.into()))
}

/// Whether a queue pair has more than `limit` bytes on the wire to send. With very many transfers, assumed if
/// they share queue pairs.
pub(crate) fn outlasts(jobs: &Jobs, frames: &Frames, limit: u64) -> bool {
    let mut bytes = HashMap::new();
    (0..).zip(&jobs.schedules).any(|(job, schedule)| {
        let is_shared = !jobs.has_queue_pairs_of_each_transfer(job);
        schedule.transfers().len() > TRANSFERS_MAX && is_shared
            || schedule.transfers().any(|transfer| {
                let own = frames.count(transfer.bytes.div_ceil(jobs.parts.into())).wire_bytes;
                let pair = (job, transfer.src, transfer.dst, transfer.channel);
                let sum = if is_shared { bytes.entry(pair).or_insert(0) } else { &mut 0 };
                *sum += own;
                *sum > limit
            })
    })
}
