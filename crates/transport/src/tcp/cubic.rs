//! CUBIC (RFC 9438) in integer arithmetic: times in microseconds, windows in bytes.

use super::congestion::{AckEvent, CongestionControl, CongestionWindow};
use units::Instant;

/// Multiplicative decrease, 0.7 (RFC 9438, 4.6), in tenths.
const BETA_TENTHS: u64 = 7;
/// C, 0.4 segments/s^3 (RFC 9438, 5.1), in tenths.
const C_TENTHS: u128 = 4;
/// Cubic microseconds in a cubic second.
const CUBIC_US: u128 = 1_000_000_000_000_000_000;
/// Growth equal to NewReno's at this decrease: 3 (1 - beta) / (1 + beta) = 9/17 (RFC 9438, 4.3).
const FRIENDLY: (u64, u64) = (9, 17);
const PS_PER_US: u64 = 1_000_000;

/// CUBIC congestion control.
#[derive(Clone, Debug, Default)]
pub struct Cubic {
    /// Window before the last reduction, lowered by fast convergence [bytes].
    window_max: u64,
    /// Window before the last reduction [bytes].
    window_prior: u64,
    epoch: Option<Epoch>,
    /// Time since when the application or the receiver has limited the sender.
    idle_since: Option<Instant>,
}

/// A period of congestion avoidance.
#[derive(Clone, Debug)]
struct Epoch {
    start: Instant,
    /// Time from the start to the plateau [us].
    k_us: u64,
    /// Height of the plateau [bytes].
    plateau: u64,
    /// Window that NewReno would have [bytes], and the remainder of its growth.
    friendly: u64,
    friendly_rest: u64,
    /// Remainder of the growth.
    rest: u64,
}

impl Epoch {
    /// RFC 9438, 4.2: K is the time to grow from the current window to the one before the reduction.
    fn new(start: Instant, window: &CongestionWindow, window_max: u64) -> Self {
        let plateau = window_max.max(window.bytes);
        let rise = u128::from(plateau - window.bytes);
        let k_us = cube_root(rise * 10 * CUBIC_US / (C_TENTHS * u128::from(window.mss)));
        Self { start, k_us, plateau, friendly: window.bytes, friendly_rest: 0, rest: 0 }
    }

    /// W_cubic `time_us` after the start (RFC 9438, figure 1) [bytes].
    fn window_at(&self, time_us: u64, mss: u64) -> u64 {
        let distance = u128::from(time_us.abs_diff(self.k_us));
        let change = C_TENTHS * u128::from(mss) * distance.pow(3) / (10 * CUBIC_US);
        let change = u64::try_from(change).unwrap_or(u64::MAX);
        if time_us >= self.k_us {
            self.plateau.saturating_add(change)
        } else {
            self.plateau.saturating_sub(change)
        }
    }

    /// Window that NewReno would have after another `acked` bytes (RFC 9438, figure 4).
    fn grow_friendly(&mut self, acked: u64, window: &CongestionWindow, window_prior: u64) -> u64 {
        let (numerator, denominator) = if self.friendly < window_prior { FRIENDLY } else { (1, 1) };
        self.friendly_rest += acked * window.mss * numerator;
        let step = window.bytes * denominator;
        self.friendly += self.friendly_rest / step;
        self.friendly_rest %= step;
        self.friendly
    }
}

impl Cubic {
    /// Stores the window before a reduction, and returns the reduced `in_flight`.
    fn decrease(&mut self, window: &CongestionWindow, in_flight: u64) -> u64 {
        // RFC 9438, 4.7: fast convergence releases bandwidth to new flows.
        let is_shrinking = window.bytes < self.window_max;
        self.window_max = if is_shrinking { window.bytes * (10 + BETA_TENTHS) / 20 } else { window.bytes };
        self.window_prior = window.bytes;
        self.epoch = None;
        in_flight * BETA_TENTHS / 10
    }

    /// Congestion avoidance (RFC 9438, 4.2 to 4.5).
    fn avoid(&mut self, window: &mut CongestionWindow, event: &AckEvent) {
        let window_max = self.window_max;
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(event.now, window, window_max));
        let time_us = event.now.since(epoch.start).0 / PS_PER_US;
        let friendly = epoch.grow_friendly(event.acked, window, self.window_prior);
        if epoch.window_at(time_us, window.mss) < friendly {
            window.bytes = window.bytes.max(friendly);
            return;
        }
        let ahead_us = time_us + event.smoothed_rtt.0 / PS_PER_US;
        let target = epoch.window_at(ahead_us, window.mss).clamp(window.bytes, window.bytes * 3 / 2);
        epoch.rest += (target - window.bytes) * event.acked;
        let growth = epoch.rest / window.bytes;
        epoch.rest %= window.bytes;
        window.bytes += growth;
    }

    /// Excludes time in which the application limits the sender (RFC 9438, 5.8).
    fn leave_idle_time_out(&mut self, now: Instant) {
        if let (Some(since), Some(epoch)) = (self.idle_since.take(), &mut self.epoch) {
            epoch.start = epoch.start + now.since(since.max(epoch.start));
        }
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, window: &mut CongestionWindow, event: &AckEvent) {
        if event.is_recovering {
            return;
        }
        if !event.is_window_limited {
            self.idle_since.get_or_insert(event.now);
            return;
        }
        self.leave_idle_time_out(event.now);
        if window.is_in_slow_start() {
            window.grow_in_slow_start(event.acked);
        } else {
            self.avoid(window, event);
        }
    }

    fn on_loss(&mut self, window: &mut CongestionWindow, in_flight: u64) {
        let bytes = self.decrease(window, in_flight);
        window.reduce_to(bytes);
    }

    fn on_timeout(&mut self, window: &mut CongestionWindow, in_flight: u64) {
        let threshold = self.decrease(window, in_flight);
        window.collapse(threshold);
    }
}

/// The largest integer whose cube is at most `value`.
fn cube_root(value: u128) -> u64 {
    let mut root = 0_u128;
    for bit in (0..42).rev() {
        let larger = root | (1 << bit);
        if larger.pow(3) <= value {
            root = larger;
        }
    }
    root as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use units::Span;

    proptest! {
        #[test]
        fn a_cube_root_is_the_largest_that_fits(root in 0_u64..1 << 41, more in 0_u128..1 << 20) {
            let cube = u128::from(root).pow(3);
            let more = more.min(3 * u128::from(root).pow(2));
            prop_assert_eq!(cube_root(cube + more), root);
        }
    }

    fn event(now: Instant, acked: u64) -> AckEvent {
        AckEvent {
            now,
            acked,
            acked_until: 0,
            sent_until: 0,
            smoothed_rtt: Span::from_us(100_000),
            is_window_limited: true,
            congestion_echo: false,
            is_recovering: false,
        }
    }

    #[test]
    fn the_window_is_back_at_its_height_after_k() {
        let mss = 1000;
        let mut window = CongestionWindow { bytes: 1000 * mss, slow_start_threshold: 1, mss };
        let mut cubic = Cubic::default();
        cubic.on_loss(&mut window, 1000 * mss);
        assert_eq!(window.bytes, 700 * mss);
        // K = cbrt(300 / 0.4) = 9.09 s: one window acknowledged per 100 ms.
        let mut now = Instant::ZERO;
        for _ in 0..92 {
            now += Span::from_us(100_000);
            for _ in 0..window.bytes / mss {
                cubic.on_ack(&mut window, &event(now, mss));
            }
        }
        assert!((990 * mss..1010 * mss).contains(&window.bytes), "the window is {}", window.bytes);
    }

    #[test]
    fn a_window_grows_by_half_at_most_while_it_is_acknowledged_once() {
        let mss = 1000;
        let mut window = CongestionWindow { bytes: 1000 * mss, slow_start_threshold: 1, mss };
        let mut cubic = Cubic::default();
        cubic.on_loss(&mut window, 1000 * mss);
        cubic.on_ack(&mut window, &event(Instant::ZERO, mss));
        // 91 s after K the curve is at 300 times the plateau.
        let before = window.bytes;
        cubic.on_ack(&mut window, &event(Instant::ZERO + Span::from_us(100_000_000), before));
        assert_eq!(window.bytes, before + before / 2);
    }

    #[test]
    fn a_smaller_window_than_before_gives_way() {
        let mut window = CongestionWindow { bytes: 100_000, slow_start_threshold: 1, mss: 1000 };
        let mut cubic = Cubic::default();
        cubic.on_loss(&mut window, 100_000);
        cubic.on_loss(&mut window, 70_000);
        assert_eq!((cubic.window_max, cubic.window_prior), (59_500, 70_000));
    }
}
