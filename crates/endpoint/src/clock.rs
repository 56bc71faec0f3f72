//! Monotonic clock of the host, in picoseconds since a start time.

use std::mem;
use units::Instant;

/// The host's monotonic clock, relative to a start time. Copies share the same start time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Value of `CLOCK_MONOTONIC` at the start [ns].
    start_ns: u64,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { start_ns: monotonic_ns() }
    }

    /// Time since the start, in whole nanoseconds.
    pub fn now(&self) -> Instant {
        self.at(monotonic_ns())
    }

    /// Converts a value of `CLOCK_MONOTONIC`; values before the start give the start.
    pub const fn at(&self, monotonic_ns: u64) -> Instant {
        // 2^64 ps are 213 days.
        Instant(monotonic_ns.saturating_sub(self.start_ns) * 1_000)
    }
}

/// Current value of `CLOCK_MONOTONIC`, which is common to all processes of a host [ns].
pub fn monotonic_ns() -> u64 {
    // SAFETY: all zeros is a valid value of this plain C structure.
    let mut time: libc::timespec = unsafe { mem::zeroed() };
    // SAFETY: the structure outlives the call; every Linux supports this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
