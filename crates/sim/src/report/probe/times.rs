//! Sample times: multiples of an interval. When the number of samples reaches its limit, the interval doubles
//! and every second sample is dropped.

use units::Instant;

/// Number of samples, and time of the next one.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampleTimes {
    /// 0 disables sampling.
    points_max: usize,
    points: usize,
    interval_ps: u64,
    next: Instant,
}

impl Default for SampleTimes {
    fn default() -> Self {
        Self::new(0, 1)
    }
}

impl SampleTimes {
    pub(super) const fn new(points_max: usize, interval_ps: u64) -> Self {
        let next = if points_max == 0 { Instant::NEVER } else { Instant::ZERO };
        Self { points_max, points: 0, interval_ps, next }
    }

    /// The next sample is taken at the first opportunity from this time on.
    #[inline]
    pub(super) const fn due(&self) -> Instant {
        self.next
    }

    /// A sample is taken at `at`; returns whether every second of the previous ones must be dropped.
    pub(super) const fn take(&mut self, at: Instant) -> bool {
        let is_full = self.points == self.points_max;
        if is_full {
            self.points = self.points.div_ceil(2);
            self.interval_ps *= 2;
        }
        self.points += 1;
        self.next = Instant((at.0 / self.interval_ps + 1) * self.interval_ps);
        is_full
    }
}
