//! Limits the congestion notifications (CNP) of a receiver of marked packets to one per interval.

use units::{Instant, Span, State};

/// Permits one congestion notification packet per interval on a queue pair (IBTA vol. 1, annex A17.9.3; the
/// interval is the implementer's choice, 50 us in DCQCN, SIGCOMM 2015, section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
pub struct CnpLimiter {
    /// Earliest time of the next notification.
    next: Instant,
}

impl CnpLimiter {
    /// No mark received yet.
    pub const NEW: Self = Self { next: Instant::ZERO };

    /// A packet marked "congestion experienced" arrived at `now`: true if a notification must be sent, at
    /// most one per `interval`.
    #[inline]
    pub fn on_mark(&mut self, interval: Span, now: Instant) -> bool {
        let is_due = now >= self.next;
        if is_due {
            self.next = now + interval;
        }
        is_due
    }

    /// Whether the next mark causes a notification, as in a new limiter.
    #[must_use]
    pub fn is_idle(&self, now: Instant) -> bool {
        now >= self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_mark_is_told_and_then_one_in_each_interval() {
        let mut limiter = CnpLimiter::default();
        let told = [0, 1, 49, 50, 99, 100, 400, 449, 450]
            .map(|us| limiter.on_mark(Span::from_us(50), Instant::ZERO + Span::from_us(us)));
        assert_eq!(told, [true, false, false, true, false, true, true, false, true]);
    }
}
