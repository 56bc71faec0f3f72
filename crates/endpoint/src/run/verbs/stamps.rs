//! Completion times by the stamps of the adapter, brought onto the monotonic clock.
//!
//! The adapter's clock is read before the run, after it, and seldom during it (see [`Line`]). A stamp that cannot
//! be right is not used: the completion then has the time at which it was seen, and is counted. So has every
//! later one if the clock itself turns out not to be what the adapter says.

use super::line::{Line, Reading};
use crate::Clock;
use crate::verbs::DeviceClock;
use std::collections::VecDeque;
use std::io;
use units::{Instant, Span};

/// So often the clock is read; more often at first, when little is known of it.
const READ_EVERY: Span = Span::from_us(100_000);
const READ_EVERY_AT_FIRST: Span = Span::from_us(1_000);
/// The quickest of so many readings counts.
const TRIES: usize = 5;
/// A completion may come to the host so long after its stamp.
const VISIBLE_AFTER: Span = Span::from_us(100);

/// The stamps of an adapter.
pub(super) struct Stamps {
    device: DeviceClock,
    clock: Clock,
    line: Line,
    first: Instant,
    readings: u64,
    /// The clock is not what the adapter says, or cannot be read any more.
    is_given_up: bool,
    /// All that had come by then was taken.
    drained: Instant,
    used: u64,
    refused: u64,
}

impl Stamps {
    /// Those of an adapter whose clock can be read.
    pub(super) fn new(device: DeviceClock, clock: Clock) -> io::Result<Self> {
        let first = read(&device, clock)?;
        let line = Line::new(first, device.bits, device.khz);
        let drained = clock.now();
        Ok(Self {
            device,
            clock,
            line,
            first: first.at,
            readings: 1,
            is_given_up: false,
            drained,
            used: 0,
            refused: 0,
        })
    }

    /// Reads the clock if it is time to.
    pub(super) fn keep(&mut self, now: Instant) {
        let last = self.line.last().at;
        if now.since(last) >= READ_EVERY.min(READ_EVERY_AT_FIRST + last.since(self.first)) {
            self.read();
        }
    }

    /// Reads the clock.
    pub(super) fn read(&mut self) {
        if !self.is_given_up {
            self.readings += 1;
            self.is_given_up = !read(&self.device, self.clock).is_ok_and(|reading| self.line.add(reading));
        }
    }

    /// The time of something that was stamped, was seen at `seen`, and did not happen before `earliest`; without
    /// that, it had not come when all was taken last.
    pub(super) fn time(&mut self, ticks: u64, earliest: Option<Instant>, seen: Instant) -> Instant {
        let earliest = earliest.unwrap_or(Instant(self.drained.0.saturating_sub(VISIBLE_AFTER.0)));
        let placed = if self.is_given_up { None } else { self.line.place(ticks, earliest, seen) };
        let count = if placed.is_some() { &mut self.used } else { &mut self.refused };
        *count += 1;
        placed.unwrap_or(seen)
    }

    /// All that had come by then was taken.
    pub(super) const fn drained(&mut self, at: Instant) {
        self.drained = at;
    }

    /// What it counts.
    pub(super) fn counters(&self) -> [(&'static str, u64); 5] {
        [
            ("completion_stamps", self.used),
            ("completion_stamps_refused", self.refused),
            ("completion_clock_khz", self.device.khz),
            ("completion_clock_readings", self.readings),
            ("completion_clock_error_ns", self.line.error().0.div_ceil(1_000)),
        ]
    }
}

/// Reads the device's clock and the monotonic one.
fn read(device: &DeviceClock, clock: Clock) -> io::Result<Reading> {
    let mut best: Option<Reading> = None;
    for _ in 0..TRIES {
        let before = clock.now();
        let ticks = device.ticks()?;
        let took = clock.now().since(before);
        // Both clocks tell whole ticks: a nanosecond, and a tick of the device.
        let half = Span(took.0 / 2) + Span::from_ns(1) + Span(1_000_000_000 / device.khz);
        if best.is_none_or(|best| half < best.half) {
            best = Some(Reading { ticks, at: before + Span(took.0 / 2), half });
        }
    }
    best.ok_or_else(|| unreachable!("it is read more than once"))
}

/// When the requests of a queue pair were posted, call by call.
#[derive(Debug, Default)]
pub(super) struct Posts(VecDeque<(u32, Instant)>);

impl Posts {
    /// A call at that time posted all requests before that one which were not posted yet.
    pub(super) fn add(&mut self, next: u32, at: Instant) {
        self.0.push_back((next, at));
    }

    /// When a request was posted; those before it are not asked for again.
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
