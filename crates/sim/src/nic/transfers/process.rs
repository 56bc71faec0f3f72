//! A rank on a host: the phase it is in, and what keeps it busy.

use std::collections::BTreeMap;
use units::{Instant, Span};

/// What measured rounds took at a rank.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) rounds: u32,
    pub(crate) sum: Span,
    /// The round that it is at, and what that takes it, if the job ends before it has taken in all.
    pub(crate) open: Option<(u32, Span)>,
}

/// A rank on a host.
#[derive(Debug, Default)]
pub(super) struct Process {
    /// Phases before the present one, in all cycles.
    pub(super) phase: u32,
    /// When that began.
    pub(super) begun: Instant,
    pub(super) measured: Measured,
    /// Parts to be acknowledged and to arrive before the phase ends.
    pub(super) left: u64,
    /// Inbound parts of phases that have not begun, by phase.
    pub(super) early: BTreeMap<u32, Vec<u32>>,
    /// When it has sent and taken in what it had to.
    pub(super) busy_until: Instant,
    /// When it has copied what it had to in shared memory.
    copying_until: Instant,
}

impl Process {
    /// It is busy for `span` from `at` on, after what keeps it busy already; returns the end.
    #[inline]
    pub(super) fn work(&mut self, at: Instant, span: Span) -> Instant {
        self.busy_until = at.max(self.busy_until) + span;
        self.busy_until
    }

    /// It copies for `span` in shared memory, after what it has to copy already; returns the end.
    pub(super) fn copy(&mut self, now: Instant, span: Span) -> Instant {
        self.copying_until = now.max(self.copying_until) + span;
        self.copying_until
    }
}
