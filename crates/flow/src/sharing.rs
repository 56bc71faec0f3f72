//! Sharing of links among flows: the model depends on whether senders react.

use crate::events::Events;
use crate::fair::Fair;
use crate::network::Network;
use crate::path::{Idle, Path, Paths};
use crate::queued::{Queued, Step};
use crate::queues::Overflow;
use crate::train::Frames;
use jobs::Jobs;
use spec::{RunSpec, SpecError};
use std::collections::HashMap;
use units::Instant;

/// Maximum number of transfers whose bytes are summed by queue pair.
pub(crate) const TRANSFERS_MAX: usize = 1 << 20;

/// Flows, by slot.
pub(crate) enum Sharing {
    /// Senders react: each receives its fair rate at once.
    Fair(Box<Fair>),
    /// Senders do not react: queues grow.
    Queued(Box<Queued>),
}

impl Sharing {
    pub(crate) fn new(spec: &RunSpec, jobs: &Jobs, paths: &Paths) -> Self {
        let outlasts = |limit| outlasts(jobs, &paths.frames, limit);
        match reacts(spec, paths, chunk_sizes(jobs), outlasts) {
            true => Self::Fair(Box::new(Fair::new(paths.network.capacities()))),
            false => Self::Queued(Box::new(Queued::new(&paths.network, paths.frames.full_frames(1)))),
        }
    }

    /// If senders do not react, starts `wire_bytes` of a chunk on the link of a host.
    pub(crate) fn begin_queued(&mut self, now: Instant, slot: u32, chunk: u32, link: u32, wire_bytes: u64) {
        if let Some(queued) = self.queued() {
            queued.begin(now, slot, chunk, link, wire_bytes);
        }
    }

    /// If senders react, starts a burst; at the rate of the window if it follows others.
    pub(crate) fn begin_fair(
        &mut self,
        (now, slot): (Instant, u32),
        path: &Path,
        (idle, is_paced): (&Idle, bool),
        wire_bytes: u64,
        network: &Network,
    ) {
        if let Self::Fair(fair) = self {
            let shares = network.shares(&path.legs, path.to);
            fair.begin(now, slot, shares, idle.bound(is_paced), wire_bytes);
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
    pub(crate) fn settle(&mut self, now: Instant, events: &mut Events, paths: &Paths, jobs: &Jobs) {
        match self {
            Self::Fair(fair) => fair.settle(now, events),
            Self::Queued(queued) => queued.settle(now, events, paths, jobs),
        }
    }

    /// Removes the next flow that has ended by `now`.
    pub(crate) fn take_ended(&mut self, now: Instant) -> Option<u32> {
        match self {
            Self::Fair(fair) => fair.take_ended(now),
            Self::Queued(_) => None,
        }
    }

    /// Handles an event of a sender: removes the next flow that has sent its last frame.
    pub(crate) fn take_sent(&mut self, now: Instant, port: u32, told: u32) -> Option<u32> {
        self.queued()?.take_sent(now, port, told)
    }

    /// Moves the last bit of a flow from the link of a hop to its next queue.
    pub(crate) fn move_on(
        &mut self,
        now: Instant,
        (slot, hop): (u32, u8),
        paths: &Paths,
        jobs: &Jobs,
    ) -> Step {
        self.queued().map_or(Step::Through, |queued| queued.move_on(now, (slot, hop), paths, jobs))
    }

    /// Handles a queue that may be empty.
    pub(crate) fn emptied(&mut self, now: Instant, link: u32, events: &mut Events) {
        if let Some(queued) = self.queued() {
            queued.emptied(now, link, events);
        }
    }

    /// Handles the end of the rest time of a link.
    pub(crate) fn rested(&mut self, link: u32) {
        if let Some(queued) = self.queued() {
            queued.rested(link);
        }
    }

    fn queued(&mut self) -> Option<&mut Queued> {
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
        Err(SpecError::Value {
            field: "fabric.switch.pfc".into(),
            found: format!("none, so that the queue of {name} loses frames at {bytes} bytes, {now}"),
            allowed: "a fabric that loses nothing (the flow model covers no losses)".into(),
        })
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
    let is_longer = |bytes: u64| bytes > window && paths.frames.of(bytes)[0] > window;
    chunks.any(is_longer)
        || !spec.transport.rate_control.is_line_rate() && outlasts(paths.network.first_flight())
}

/// The largest chunk of each transfer [bytes].
fn chunk_sizes(jobs: &Jobs) -> impl Iterator<Item = u64> + '_ {
    let transfers = jobs.schedules.iter().flat_map(workload::Schedule::transfers);
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
                let [_, _, own] = frames.of(transfer.bytes.div_ceil(jobs.parts.into()));
                let pair = (job, transfer.src, transfer.dst, transfer.channel);
                let all = if is_shared { bytes.entry(pair).or_insert(0) } else { &mut 0 };
                *all += own;
                *all > limit
            })
    })
}
