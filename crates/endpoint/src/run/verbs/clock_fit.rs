//! Linear fit of a device's counter to the host's monotonic clock.
//!
//! Between readings of both clocks the fit is extrapolated; the next reading shows the error, so the error
//! of every time already returned becomes known. Until then it is bounded by the tolerances of clocks:
//! crystals deviate by 100 ppm at most, and Linux slews its clock by 500 ppm at most (adjtimex(2)).

use std::collections::VecDeque;
use units::{Instant, Span};

/// Maximum relative drift of the two clocks, as a divisor: 1,000 ppm.
const ONE_PART_IN: u64 = 1_000;
/// Accuracy required to measure the slope, as a divisor: 100 ppm, that of the device's nominal frequency.
const SLOPE_ONE_PART_IN: u64 = 10_000;
/// Period over which the slope is measured.
const WINDOW: Span = Span::from_us(1_000_000);

/// Simultaneous reading of both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// The device's counter.
    pub(super) ticks: u64,
    /// Midpoint of the reading's duration.
    pub(super) at: Instant,
    /// Half of that duration: maximum error of `at`.
    pub(super) half: Span,
}

/// Linear fit of a device counter to the monotonic clock.
#[derive(Debug)]
pub(super) struct ClockFit {
    bits: u32,
    /// Duration of a tick [ps / 2^32].
    slope: u64,
    /// Readings used for the slope, each with its ticks since the first reading.
    readings: VecDeque<(i64, Reading)>,
    last: (i64, Reading),
    /// Whether it has converted a time since the last reading.
    is_used: bool,
    error: Span,
}

impl ClockFit {
    /// A fit for a counter with this width and nominal frequency [kHz].
    pub(super) fn new(first: Reading, bits: u32, khz: u64) -> Self {
        let slope = ((1_000_000_000 << 32) / u128::from(khz)) as u64;
        let last = (0, first);
        Self { bits, slope, readings: [last].into(), last, is_used: false, error: Span::ZERO }
    }

    /// Maximum error of the times returned so far.
    pub(super) const fn error(&self) -> Span {
        self.error
    }

    /// Latest reading.
    pub(super) const fn last(&self) -> &Reading {
        &self.last.1
    }

    /// Adds a reading; false if the clock was set, or its frequency is not the nominal one.
    pub(super) fn add(&mut self, next: Reading) -> bool {
        let (count, last) = self.last;
        let gap = next.at.since(last.at);
        let expected = ((u128::from(gap.0) << 32) / u128::from(self.slope)) as u64;
        // During a long gap the counter may have wrapped around.
        let beyond = self.signed(next.ticks.wrapping_sub(last.ticks).wrapping_sub(expected));
        let off = Span(self.picoseconds(beyond).unsigned_abs() as u64);
        if self.is_used {
            self.error = self.error.max(off + next.half);
        }
        self.is_used = false;
        if off > last.half + next.half + Span(gap.0 / ONE_PART_IN) {
            return false;
        }
        self.last = (count + expected.cast_signed() + beyond, next);
        self.readings.push_back(self.last);
        while self.readings.len() > 2 && next.at.since(self.readings[1].1.at) >= WINDOW {
            self.readings.pop_front();
        }
        self.measure();
        true
    }

    /// Measures the slope if the readings are accurate enough.
    fn measure(&mut self) {
        let (Some((from, first)), (to, last)) = (self.readings.front(), &self.last) else { return };
        let (span, ticks) = (last.at.since(first.at), to - from);
        if ticks > 0 && span.0 / SLOPE_ONE_PART_IN >= (first.half + last.half).0 {
            self.slope = ((u128::from(span.0) << 32) / u128::from(ticks.unsigned_abs())) as u64;
        }
    }

    /// Converts a timestamp of an event that did not occur before `earliest` and was observed at `seen`.
    /// Returns `None` if the result is impossible; a deviation within the tolerance of the clocks is clamped
    /// and recorded as error.
    pub(super) fn convert(&mut self, ticks: u64, earliest: Instant, seen: Instant) -> Option<Instant> {
        let last = self.last.1;
        let since = self.picoseconds(self.signed(ticks.wrapping_sub(last.ticks)));
        let at = Instant(u64::try_from(i128::from(last.at.0) + since).unwrap_or(0));
        let slack = last.half + Span(seen.since(last.at).0 / ONE_PART_IN);
        if at > seen + slack || at + slack < earliest {
            return None;
        }
        let converted = at.max(earliest).min(seen);
        let wrong = converted.since(at).max(at.since(converted));
        self.error = self.error.max(wrong).max(last.half);
        self.is_used = true;
        Some(converted)
    }

    /// Duration of a number of ticks.
    const fn picoseconds(&self, ticks: i64) -> i128 {
        (ticks as i128 * self.slope as i128) >> 32
    }

    /// Signed difference of counter values, at most half a period in either direction.
    const fn signed(&self, difference: u64) -> i64 {
        let unused = u64::BITS - self.bits;
        (difference << unused).cast_signed() >> unused
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000_000;

    /// Simulated device counter, with the time that reading it takes.
    struct Device {
        bits: u32,
        khz: u64,
        /// Relative deviation from its nominal frequency.
        ppm: i64,
        start: u64,
        half: Span,
    }

    impl Device {
        fn ticks(&self, at: Instant) -> u64 {
            let rate = u128::from(self.khz) * (1_000_000 + i128::from(self.ppm)) as u128;
            let passed = u128::from(at.0) * rate / 1_000_000_000_000_000;
            self.start.wrapping_add(passed as u64) & (u64::MAX >> (64 - self.bits))
        }

        /// The counter is sampled at some time during the reading.
        fn reading(&self, at: Instant, late: u64) -> Reading {
            let read_at = Instant(at.0 - self.half.0 + late % (2 * self.half.0 + 1));
            Reading { ticks: self.ticks(read_at), at, half: self.half + Span(1_000_000_000 / self.khz + 1) }
        }
    }

    proptest! {
        #[test]
        fn every_time_is_right_within_the_reported_error(
            bits in 36_u32..=64,
            khz in 100_000_u64..1_500_000,
            ppm in -300_i64..=300,
            start in any::<u64>(),
            half_ns in 20_u64..2_000,
            gaps_ms in prop::collection::vec((1_u64..200, any::<u64>()), 2..40),
        ) {
            let device = Device { bits, khz, ppm, start, half: Span::from_ns(half_ns) };
            let mut now = Instant(SECOND);
            let mut fit = ClockFit::new(device.reading(now, start), bits, khz);
            let mut furthest = Span::ZERO;
            for (gap_ms, random) in gaps_ms {
                let then = now + Span(gap_ms * SECOND / 1_000);
                let at = now + Span(random % then.since(now).0);
                let seen = at + Span::from_us(5);
                let converted = fit.convert(device.ticks(at), now, seen).expect("an honest device");
                furthest = furthest.max(converted.since(at).max(at.since(converted)));
                prop_assert!(fit.add(device.reading(then, random)), "an honest device");
                now = then;
            }
            prop_assert!(furthest <= fit.error(), "{furthest} off, {} reported", fit.error());
        }
    }

    /// A fit after readings every 100 ms for two seconds, and the time of the last one.
    fn measured(device: &Device) -> (ClockFit, Instant) {
        let at = |index: u64| Instant(SECOND + index * SECOND / 10);
        let mut fit = ClockFit::new(device.reading(at(0), 0), device.bits, device.khz);
        for index in 1..20 {
            assert!(fit.add(device.reading(at(index), index)));
        }
        (fit, at(19))
    }

    const DEVICE: Device =
        Device { bits: 48, khz: 156_250, ppm: 40, start: 1 << 47, half: Span::from_ns(300) };

    #[test]
    fn a_measured_slope_is_better_than_the_nominal_frequency() {
        let (mut fit, now) = measured(&DEVICE);
        let at = now + Span(SECOND / 10);
        fit.convert(DEVICE.ticks(at), now, at + Span::from_us(9));
        assert!(fit.add(DEVICE.reading(at, 0)));
        // 40 ppm of 100 ms are 4 us.
        assert!(fit.error() < Span::from_us(1) && fit.error() > Span::from_ns(300), "{}", fit.error());
    }

    #[test]
    fn a_stamp_before_its_event_or_after_its_poll_has_no_time() {
        let (mut fit, now) = measured(&DEVICE);
        let (earliest, seen) = (now + Span::from_us(50), now + Span::from_us(60));
        for wrong in [now, seen + Span::from_us(2), seen + Span(SECOND), Instant(0)] {
            assert_eq!(fit.convert(DEVICE.ticks(wrong), earliest, seen), None, "{wrong}");
        }
        assert_eq!(fit.error(), Span::ZERO);
        assert!(fit.convert(DEVICE.ticks(earliest), earliest, seen).is_some());
    }

    #[test]
    fn a_stamp_within_the_tolerance_of_clocks_is_clamped_and_counts_as_error() {
        let (mut fit, now) = measured(&DEVICE);
        let seen = now + Span(SECOND / 10);
        let converted = fit.convert(DEVICE.ticks(seen + Span::from_us(30)), now, seen);
        assert_eq!(converted, Some(seen));
        assert!(fit.error() > Span::from_us(28), "{}", fit.error());
    }

    #[test]
    fn a_clock_that_was_set_or_runs_at_another_frequency_is_noticed() {
        let (mut fit, now) = measured(&DEVICE);
        let set = Device { start: 0, ..DEVICE };
        assert!(!fit.add(set.reading(now + Span(SECOND / 10), 0)));
        let mut fit = ClockFit::new(DEVICE.reading(now, 0), DEVICE.bits, DEVICE.khz * 2);
        assert!(!fit.add(DEVICE.reading(now + Span(SECOND / 10), 0)));
    }

    #[test]
    fn a_counter_may_wrap_around_often_between_two_readings() {
        let device = Device { bits: 32, ..DEVICE };
        let (mut fit, now) = measured(&device);
        let then = now + Span(300 * SECOND);
        assert!(fit.add(device.reading(then, 0)));
        let at = fit.convert(device.ticks(then), Instant(0), then + Span::from_us(1));
        assert!(at.is_some_and(|at| at.since(then).max(then.since(at)) < Span::from_us(1)), "{at:?}");
    }
}
