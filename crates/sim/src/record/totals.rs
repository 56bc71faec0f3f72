//! Counters of all nodes of a partition (the nodes that one thread simulates), updated during a run:
//! packet-hops (frames crossing a link), payload delivered, latest deadline of a last retry.

use super::Record;
use std::iter::Sum;
use units::Instant;

/// Outputs of a host or switch while it is processed.
pub(crate) type Context<M> = engine::Context<M, Record, Totals>;

/// Counters of the nodes of a partition.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// Frames and link control packets that crossed a link.
    pub(crate) messages: u64,
    /// Payload delivered for jobs and connections that end by themselves [bytes], where a message without
    /// payload counts as one byte; and time of the last such delivery.
    pub(crate) progress: u64,
    pub(crate) progress_at: Instant,
    /// Payload delivered by RDMA for all jobs [bytes].
    pub(crate) delivered: u64,
    /// Latest time at which a queue pair at its last retry may fail; it is noted several windows before.
    pub(crate) last_retry_until: Instant,
}

impl Sum for Totals {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |sum, part| Self {
            messages: sum.messages + part.messages,
            progress: sum.progress + part.progress,
            progress_at: sum.progress_at.max(part.progress_at),
            delivered: sum.delivered + part.delivered,
            last_retry_until: sum.last_retry_until.max(part.last_retry_until),
        })
    }
}

impl Totals {
    /// A queue pair fails at `deadline` unless it receives an acknowledgement before.
    #[cold]
    pub(crate) fn add_last_retry(&mut self, deadline: Instant) {
        self.last_retry_until = self.last_retry_until.max(deadline);
    }

    /// Counts `progress` bytes delivered at `now` for a job or connection that ends by itself.
    #[inline]
    pub(crate) fn add_progress(&mut self, progress: u64, now: Instant) {
        self.progress += progress;
        self.progress_at = self.progress_at.max(now);
    }
}

impl engine::Totals for Totals {
    #[inline]
    fn messages_mut(&mut self) -> &mut u64 {
        &mut self.messages
    }
}
