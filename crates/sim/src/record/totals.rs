//! What the simulated world counts while it runs.

use std::iter::Sum;
use units::Instant;

/// What a host or switch may do while it is processed.
pub(crate) type Context<M, R> = engine::Context<M, R, Totals>;

/// What the nodes of a partition count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// Frames that crossed a link, and what else was sent over one.
    pub(crate) messages: u64,
    /// Payload delivered of what ends by itself [bytes], a message without payload being one, and when there
    /// last was any.
    pub(crate) progress: u64,
    pub(crate) progress_at: Instant,
    /// Payload that hosts were delivered by RDMA, whether of what ends by itself or not [bytes].
    pub(crate) delivered: u64,
    /// Until then a queue pair may fail, as far as is known; none fails that was not told of some windows
    /// before.
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
    /// A queue pair fails at `deadline` if nothing comes until then.
    #[cold]
    pub(crate) fn add_last_retry(&mut self, deadline: Instant) {
        self.last_retry_until = self.last_retry_until.max(deadline);
    }

    /// So much of what ends by itself was delivered at `now` [bytes].
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
