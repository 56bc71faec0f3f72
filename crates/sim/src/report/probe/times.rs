//! When samples are taken: at multiples of an interval that doubles, with every second sample dropped, when
//! there are as many as there may be.

use units::Instant;

/// Samples so far and to come.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampleTimes {
    /// None are taken without room for any.
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

    /// A sample is taken at the first chance from this time on.
    #[inline]
    pub(super) const fn due(&self) -> Instant {
        self.next
    }

    /// One is taken at `at`; true if every second of those before has to go.
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
