//! Converts completion timestamps of the adapter to the monotonic clock.
//!
//! The adapter's clock is read before and after the run, and periodically during it (see [`ClockFit`]). A
//! timestamp that is impossible is refused: the completion then has the time at which it was polled, and is
//! counted. If the clock deviates from its specification, all later timestamps are refused.

use super::clock_fit::{ClockFit, Reading};
use crate::Clock;
use crate::verbs::DeviceClock;
use std::collections::VecDeque;
use std::io;
use units::{Instant, Span};

/// Interval of reading the clock; shorter at first, while the fit is inaccurate.
const READ_EVERY: Span = Span::from_us(100_000);
const READ_EVERY_AT_FIRST: Span = Span::from_us(1_000);
/// Number of tries per reading; the fastest is used.
const TRIES: usize = 5;
/// Maximum delay between a timestamp and the visibility of its completion at the host.
const VISIBLE_AFTER: Span = Span::from_us(100);

/// Timestamps of an adapter.
pub(super) struct Stamps {
    device: DeviceClock,
    clock: Clock,
    fit: ClockFit,
    first: Instant,
    readings: u64,
    /// The clock deviates from its specification, or can no longer be read.
    is_given_up: bool,
    /// Time of the last poll that emptied the completion queue.
    drained: Instant,
    used: u64,
    refused: u64,
}

impl Stamps {
    /// Starts reading the clock of an adapter.
    pub(super) fn new(device: DeviceClock, clock: Clock) -> io::Result<Self> {
        let first = read(&device, clock)?;
        let fit = ClockFit::new(first, device.bits, device.khz);
        let drained = clock.now();
        Ok(Self {
            device,
            clock,
            fit,
            first: first.at,
            readings: 1,
            is_given_up: false,
            drained,
            used: 0,
            refused: 0,
        })
    }

    /// Reads the clock if the interval has passed.
    pub(super) fn poll_clock(&mut self, now: Instant) {
        let last = self.fit.last().at;
        if now.since(last) >= READ_EVERY.min(READ_EVERY_AT_FIRST + last.since(self.first)) {
            self.read();
        }
    }

    /// Reads the clock.
    pub(super) fn read(&mut self) {
        if !self.is_given_up {
            self.readings += 1;
            self.is_given_up = !read(&self.device, self.clock).is_ok_and(|reading| self.fit.add(reading));
        }
    }

    /// Time of a completion that was polled at `seen` and did not occur before `earliest`; without
    /// `earliest`, the bound is the last time that the completion queue was empty.
    pub(super) fn time(&mut self, ticks: u64, earliest: Option<Instant>, seen: Instant) -> Instant {
        let earliest = earliest.unwrap_or(Instant(self.drained.0.saturating_sub(VISIBLE_AFTER.0)));
        let converted = if self.is_given_up { None } else { self.fit.convert(ticks, earliest, seen) };
        let count = if converted.is_some() { &mut self.used } else { &mut self.refused };
        *count += 1;
        converted.unwrap_or(seen)
    }

    /// Notes that all completions up to `at` were polled.
    pub(super) const fn drained(&mut self, at: Instant) {
        self.drained = at;
    }

    /// Counters.
    pub(super) fn counters(&self) -> [(&'static str, u64); 5] {
        [
            ("completion_stamps", self.used),
            ("completion_stamps_refused", self.refused),
            ("completion_clock_khz", self.device.khz),
            ("completion_clock_readings", self.readings),
            ("completion_clock_error_ns", self.fit.error().0.div_ceil(1_000)),
        ]
    }
}

/// Reads the device's clock and the monotonic clock.
fn read(device: &DeviceClock, clock: Clock) -> io::Result<Reading> {
    let mut best: Option<Reading> = None;
    for _ in 0..TRIES {
        let before = clock.now();
        let ticks = device.ticks()?;
        let duration = clock.now().since(before);
        // Resolution of both clocks: one nanosecond, and one tick of the device.
        let half = Span(duration.0 / 2) + Span::from_ns(1) + Span(1_000_000_000 / device.khz);
        if best.is_none_or(|best| half < best.half) {
            best = Some(Reading { ticks, at: before + Span(duration.0 / 2), half });
        }
    }
    best.ok_or_else(|| unreachable!("it is read more than once"))
}

/// Posting times of a queue pair's requests, one entry per call.
#[derive(Debug, Default)]
pub(super) struct Posts(VecDeque<(u32, Instant)>);

impl Posts {
    /// Notes a call at `at` that posted all unposted requests before `next`.
    pub(super) fn add(&mut self, next: u32, at: Instant) {
        self.0.push_back((next, at));
    }

    /// Posting time of a request; forgets earlier requests.
    pub(super) fn of(&mut self, request: u32) -> Option<Instant> {
        while let Some(&(next, at)) = self.0.front() {
            if request.wrapping_sub(next).cast_signed() < 0 {
                return Some(at);
            }
            self.0.pop_front();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_was_posted_by_the_call_that_it_was_part_of() {
        let mut posts = Posts::default();
        let at = |us| Instant::ZERO + Span::from_us(us);
        posts.add(u32::MAX, at(1));
        posts.add(2, at(2));
        posts.add(5, at(3));
        assert_eq!(posts.of(u32::MAX - 1), Some(at(1)));
        assert_eq!([posts.of(0), posts.of(1)], [Some(at(2)); 2]);
        assert_eq!(posts.of(4), Some(at(3)));
        assert_eq!(posts.of(5), None);
    }
}
