//! How flows share links: whether their senders react decides.

use crate::events::Events;
use crate::fair::Fair;
use crate::path::{Idle, Path, Paths, window_packets};
use crate::queued::{Queued, Step};
use crate::queues::Overflow;
use crate::train::Frames;
use jobs::Jobs;
use spec::{RateControl, RunSpec, SpecError};
use units::Instant;

/// Flows, by slot.
pub(crate) enum Sharing {
    /// Senders react: each has its fair rate at once.
    Fair(Fair),
    /// They do not: queues grow.
    Queued(Box<Queued>),
}

impl Sharing {
    pub(crate) fn new(spec: &RunSpec, jobs: &Jobs, paths: &Paths) -> Self {
        match reacts(spec, chunk_sizes(jobs), &paths.frames) {
            true => Self::Fair(Fair::new(paths.network.capacities())),
            false => Self::Queued(Box::new(Queued::new(&paths.network, paths.frames.full_frames(1)))),
        }
    }

    /// A chunk begins.
    pub(crate) fn begin(
        &mut self,
        now: Instant,
        (slot, chunk): (u32, u32),
        path: &Path,
        idle: &Idle,
        paths: &Paths,
    ) {
        let network = &paths.network;
        match self {
            Self::Fair(fair) => {
                let bound = idle.slowest.min(idle.window_rate.unwrap_or(u64::MAX));
                fair.begin(now, slot, network.shares(&path.ports, path.to), bound, path.wire_bytes);
            }
            Self::Queued(queued) => {
                let (node, port) = path.ports[0];
                queued.begin(now, slot, chunk, network.link_of(node, port), path.wire_bytes);
            }
        }
    }

    /// Works out what flows after what happened at `now`.
    pub(crate) fn settle(&mut self, now: Instant, events: &mut Events, paths: &Paths, jobs: &Jobs) {
        match self {
            Self::Fair(fair) => fair.settle(now, events),
            Self::Queued(queued) => queued.settle(now, events, paths, jobs),
        }
    }

    /// A flow is said to have ended: whether that still holds.
    pub(crate) fn has_ended(&mut self, slot: u32, told: u32) -> bool {
        match self {
            Self::Fair(fair) => fair.has_ended(slot, told),
            Self::Queued(_) => false,
        }
    }

    /// A sender was to be looked at: the next flow that has sent its last frame.
    pub(crate) fn take_sent(&mut self, now: Instant, port: u32, told: u32) -> Option<u32> {
        self.queued()?.take_sent(now, port, told)
    }

    /// The last bit of a flow leaves the link of a hop: where it goes from there.
    pub(crate) fn move_on(
        &mut self,
        now: Instant,
        (slot, hop): (u32, u8),
        paths: &Paths,
        jobs: &Jobs,
    ) -> Step {
        self.queued().map_or(Step::Through, |queued| queued.move_on(now, slot, hop, paths, jobs))
    }

    /// The queue of a link may be empty.
    pub(crate) fn emptied(&mut self, now: Instant, link: u32, events: &mut Events) {
        if let Some(queued) = self.queued() {
            queued.emptied(now, link, events);
        }
    }

    /// A link has rested, and is to be looked at.
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

    /// That nothing would have been lost by now.
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

    /// How often rates were worked out.
    pub(crate) const fn rate_changes(&self) -> u64 {
        match self {
            Self::Fair(fair) => fair.rate_changes,
            Self::Queued(queued) => queued.rate_changes(),
        }
    }
}

/// Whether senders of chunks of these sizes react to what becomes of their frames: by a rate control, or as
/// their windows are full.
pub(crate) fn reacts(spec: &RunSpec, mut bytes: impl Iterator<Item = u64>, frames: &Frames) -> bool {
    let window = u64::from(window_packets(&spec.transport));
    // A frame has a byte at least, so most need no count.
    let is_longer = |bytes: u64| bytes > window && frames.of(bytes)[0] > window;
    spec.transport.rate_control != RateControl::LineRate {} || bytes.any(is_longer)
}

/// The largest chunk of each transfer [bytes].
fn chunk_sizes(jobs: &Jobs) -> impl Iterator<Item = u64> + '_ {
    let transfers = jobs.schedules.iter().flat_map(workload::Schedule::transfers);
    transfers.map(|transfer| transfer.bytes.div_ceil(jobs.parts.into()))
}
