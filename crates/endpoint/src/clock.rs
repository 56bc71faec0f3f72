//! Real time.

use units::Instant;

/// A monotonic clock. Copies of it have the same start.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: std::time::Instant,
}

impl Clock {
    /// One that starts now.
    #[must_use]
    pub fn start() -> Self {
        Self { start: std::time::Instant::now() }
    }

    /// The time since its start, in whole nanoseconds.
    #[must_use]
    pub fn now(&self) -> Instant {
        // 2^64 ps are 213 days.
        Instant(self.start.elapsed().as_nanos() as u64 * 1_000)
    }
}
