//! State of one rank: current phase (round of its job, or barrier), parts of transfers still missing, time
//! until which it is busy, durations of its rounds.

use std::collections::BTreeMap;
use units::{Instant, Span};

/// Durations of measured rounds at a rank.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// Number of rounds.
    pub rounds: u32,
    /// Sum of their durations.
    pub sum: Span,
    /// The current round and its duration so far, if the job ends before the rank has processed all messages.
    pub open: Option<(u32, Span)>,
    /// When the rank has finished with all transfers that take time after their arrival.
    pub finished_at: Instant,
}

/// A rank.
#[derive(Debug, Default)]
pub(super) struct Process {
    /// Phases before the current one, in all cycles.
    pub(super) phase: u32,
    /// It sends and receives nothing, in any phase.
    pub(super) is_idle: bool,
    /// Start of the current phase.
    pub(super) phase_start: Instant,
    pub(super) measured: Measured,
    /// Parts to be acknowledged and to arrive before the phase ends.
    pub(super) left: u64,
    /// Inbound parts of phases that have not started, by phase.
    pub(super) early: BTreeMap<u32, Vec<u32>>,
    /// End of its pending sends and receives.
    busy_until: Instant,
    /// When it has finished with all received transfers that take time after their arrival.
    pub(super) finished_at: Instant,
    /// End of its pending copies in shared memory.
    copying_until: Instant,
}

impl Process {
    /// Occupies the rank for `span`, from `at` or the end of its earlier work on; returns the end.
    #[inline]
    pub(super) fn work(&mut self, at: Instant, span: Span) -> Instant {
        self.busy_until = at.max(self.busy_until) + span;
        self.busy_until
    }

    /// It finishes with a received transfer at `at`.
    pub(super) fn finish_at(&mut self, at: Instant) {
        self.finished_at = self.finished_at.max(at);
    }

    /// End of all its pending work.
    pub(super) fn ends_at(&self) -> Instant {
        self.busy_until.max(self.finished_at)
    }

    /// Copies for `span` in shared memory, after its earlier copies; returns the end.
    pub(super) fn copy(&mut self, now: Instant, span: Span) -> Instant {
        self.copying_until = now.max(self.copying_until) + span;
        self.copying_until
    }
}
