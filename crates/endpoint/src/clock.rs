//! Real time.

use std::mem;
use units::Instant;

/// The host's monotonic clock, counted from some start. Copies of it have the same start.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// `CLOCK_MONOTONIC` at the start [ns].
    start_ns: u64,
}

impl Clock {
    /// One that starts now.
    #[must_use]
    pub fn start() -> Self {
        Self { start_ns: monotonic_ns() }
    }

    /// The time since its start, in whole nanoseconds.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.at(monotonic_ns())
    }

    /// The time of a value of `CLOCK_MONOTONIC`; its start for what was before.
    #[must_use]
    pub const fn at(&self, monotonic_ns: u64) -> Instant {
        // 2^64 ps are 213 days.
        Instant(monotonic_ns.saturating_sub(self.start_ns) * 1_000)
    }
}

/// `CLOCK_MONOTONIC`, which all processes of a host have in common [ns].
#[must_use]
pub fn monotonic_ns() -> u64 {
    // SAFETY: all zero is a valid value of this plain structure of C.
    let mut time: libc::timespec = unsafe { mem::zeroed() };
    // SAFETY: the structure outlives the call, which every Linux answers.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
