//! Rate limit of payload: a token bucket, and the maximum size of a send call at its rate.

use units::{Instant, Rate, Span};

/// Maximum duration of a send call at the limit rate.
const CALL: Span = Span::from_us(500);
/// Minimum size of a send call: a page [bytes].
const CALL_BYTES_MIN: u64 = 4_096;
/// Burst permitted after a pause, as a time at the limit rate.
const BURST: Span = Span::from_us(1_000);

/// A token bucket: payload may be sent while the bucket is not empty, even if the send exceeds its content.
/// The mean rate exceeds the limit by at most one burst and one send.
#[derive(Clone, Debug)]
pub(crate) struct RateLimit {
    rate: Rate,
    /// When the bucket would be full again without further sends.
    full_at: Instant,
}

impl RateLimit {
    /// A full bucket with this rate [bit/s].
    pub(crate) const fn new(rate_bps: u64) -> Self {
        Self { rate: Rate::from_bps(rate_bps), full_at: Instant::ZERO }
    }

    /// Maximum size of a send call at this rate [bytes].
    pub(crate) fn call_bytes(rate_bps: u64) -> u64 {
        let bytes = u128::from(rate_bps) * u128::from(CALL.0) / 8_000_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX).max(CALL_BYTES_MIN)
    }

    /// Earliest time to send payload.
    pub(crate) const fn ready_at(&self) -> Instant {
        Instant(self.full_at.0.saturating_sub(BURST.0))
    }

    /// Accounts for payload sent at `now` [bytes].
    pub(crate) fn on_sent(&mut self, bytes: u64, now: Instant) {
        self.full_at = self.full_at.max(now) + self.rate.span_of(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_rate_and_a_burst_is_sent() {
        // 8 Gbit/s is a byte in a nanosecond.
        let mut limit = RateLimit::new(8_000_000_000);
        let (mut now, mut sent) = (Instant::ZERO, 0);
        while now < Instant::ZERO + Span::from_us(10_000) {
            while limit.ready_at() <= now {
                limit.on_sent(4_096, now);
                sent += 4_096;
            }
            now += Span::from_us(7);
        }
        let most = 10_000_000 + 1_000_000 + 4_096;
        assert!((10_000_000..=most).contains(&sent), "{sent}");
    }
}
