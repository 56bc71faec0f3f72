//! DCTCP (RFC 8257): reduces the window by the fraction of bytes that were marked.

use super::NewReno;
use super::congestion::{AckEvent, CongestionControl, CongestionWindow};

/// An alpha of 1 [2^-20].
const WHOLE: u64 = 1 << 20;
/// Gain of alpha, 1/16 (RFC 8257, 4.2), as a shift.
const GAIN_SHIFT: u32 = 4;

/// DCTCP. Growth and reaction to a loss are NewReno's (RFC 8257, 3.4 and 3.5).
#[derive(Clone, Debug)]
pub struct Dctcp {
    reno: NewReno,
    /// Estimated fraction of marked bytes [2^-20].
    alpha: u64,
    /// Bytes acknowledged in this observation window, and bytes with an echo among them.
    acked: u64,
    marked: u64,
    /// The observation window ends when this offset is acknowledged.
    observed_until: u64,
    /// The window was reduced; no further reduction until this offset is acknowledged.
    reduced_until: u64,
}

impl Default for Dctcp {
    fn default() -> Self {
        // RFC 8257, 3.3: alpha starts at 1.
        let reno = NewReno::default();
        Self { reno, alpha: WHOLE, acked: 0, marked: 0, observed_until: 0, reduced_until: 0 }
    }
}

impl Dctcp {
    /// Estimated fraction of marked bytes [2^-20].
    #[must_use]
    pub const fn alpha_2e20(&self) -> u64 {
        self.alpha
    }

    /// RFC 8257, 3.3, steps 1 to 8.
    fn observe(&mut self, event: &AckEvent) {
        self.acked += event.acked;
        self.marked += if event.congestion_echo { event.acked } else { 0 };
        if event.acked_until <= self.observed_until || self.acked == 0 {
            return;
        }
        let share = self.marked * WHOLE / self.acked;
        self.alpha = self.alpha - (self.alpha >> GAIN_SHIFT) + (share >> GAIN_SHIFT);
        self.observed_until = event.sent_until;
        (self.acked, self.marked) = (0, 0);
    }
}

impl CongestionControl for Dctcp {
    fn on_ack(&mut self, window: &mut CongestionWindow, event: &AckEvent) {
        self.observe(event);
        if event.is_recovering {
            return;
        }
        if event.congestion_echo {
            if event.acked_until > self.reduced_until {
                // RFC 8257, 3.3, step 9: cwnd x (1 - alpha / 2), once per window of data.
                window.reduce_to(window.bytes - window.bytes * self.alpha / (2 * WHOLE));
                self.reno.restart();
                self.reduced_until = event.sent_until;
            }
        } else if event.is_window_limited {
            self.reno.grow(window, event.acked);
        }
    }

    fn on_loss(&mut self, window: &mut CongestionWindow, in_flight: u64) {
        self.reno.on_loss(window, in_flight);
    }

    fn on_timeout(&mut self, window: &mut CongestionWindow, in_flight: u64) {
        self.reno.on_timeout(window, in_flight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Instant, Span};

    fn event(acked_until: u64, congestion_echo: bool) -> AckEvent {
        AckEvent {
            now: Instant::ZERO,
            acked: 1000,
            acked_until,
            sent_until: acked_until + 10_000,
            smoothed_rtt: Span::from_us(10),
            is_window_limited: true,
            congestion_echo,
            is_recovering: false,
        }
    }

    #[test]
    fn alpha_follows_the_share_of_marked_bytes() {
        let mut window = CongestionWindow { bytes: 10_000, slow_start_threshold: 10_000, mss: 1000 };
        let mut dctcp = Dctcp::default();
        // Every fourth segment is marked.
        for segment in 1..=4000 {
            dctcp.on_ack(&mut window, &event(segment * 1000, segment % 4 == 0));
        }
        assert!(dctcp.alpha_2e20().abs_diff(WHOLE / 4) < WHOLE / 20, "alpha is {}", dctcp.alpha_2e20());
    }

    #[test]
    fn the_window_shrinks_once_for_each_window_of_data() {
        let mut window = CongestionWindow { bytes: 100_000, slow_start_threshold: 1, mss: 1000 };
        let mut dctcp = Dctcp::default();
        dctcp.on_ack(&mut window, &event(1000, true));
        assert_eq!(window.bytes, 50_000, "alpha is 1 at the start");
        dctcp.on_ack(&mut window, &event(2000, true));
        assert_eq!(window.bytes, 50_000);
        dctcp.on_ack(&mut window, &event(12_000, true));
        assert!(window.bytes < 50_000);
    }
}
