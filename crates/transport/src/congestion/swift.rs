//! Swift congestion control at the sender (Kumar et al., "Swift: Delay is Simple and Effective for Congestion
//! Control in the Datacenter", SIGCOMM 2020, section 3, algorithm 1).
//!
//! Below the target delay the window rises by `ai` packets per round trip; above it, it falls once per round
//! trip by `max(1 - beta (delay - target) / delay, 1 - max_mdf)`. A timeout reduces it by `max_mdf`, several
//! in a row reduce it to the smallest window. The target grows with the hops of the path and, for small
//! windows, by `alpha / sqrt(cwnd) - alpha / sqrt(fs_max)`, between 0 and `fs_range`, with `alpha = fs_range
//! / (1 / sqrt(fs_min) - 1 / sqrt(fs_max))`. A window below one packet is one packet every `rtt / cwnd`.
//! Integer arithmetic: windows in 2^-20 packets.
//!
//! The delay is the whole round-trip time as the NIC measures it. Not modelled: the second window, for delay
//! in the host, since hosts of the simulator add none. The delay excludes the time that queue pairs of the
//! sender wait for each other before a packet is passed to the port.

use super::{Controller, Feedback, Limit, RateControl, RateControlConfig, Timed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{DURATION_PS_MAX, Instant, Rate, Span};
use wire::Psn;

/// One packet [2^-20 packets].
const ONE: u64 = 1 << 20;
/// Parts per million.
const WHOLE_PPM: u64 = 1_000_000;
/// Range of windows [2^-20 packets]: a thousandth of a packet to the most that a queue pair has in flight.
const WINDOW_2E20_MIN: u64 = 1_049;
const WINDOW_2E20_MAX: u64 = (Psn::WINDOW_MAX as u64) << 20;

/// Parameters of Swift. All values come from the run spec; nothing here has a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct SwiftConfig {
    /// Target delay, without the additions for hops and for small windows [ps].
    #[schemars(range(min = 1, max = DURATION_PS_MAX))]
    pub base_target_ps: u64,
    /// Addition to the target per link of the path [ps].
    #[schemars(range(max = DURATION_PS_MAX))]
    pub hop_target_ps: u64,
    /// Maximum addition to the target by flow scaling [ps].
    #[schemars(range(max = DURATION_PS_MAX))]
    pub scaling_range_ps: u64,
    /// Window at which flow scaling is full [1/2^20 packets].
    #[schemars(range(min = WINDOW_2E20_MIN, max = WINDOW_2E20_MAX))]
    pub scaling_window_min_2e20: u64,
    /// Window from which there is no flow scaling [1/2^20 packets].
    #[schemars(range(min = WINDOW_2E20_MIN, max = WINDOW_2E20_MAX))]
    pub scaling_window_max_2e20: u64,
    /// Additive increase of the window per round trip [1/2^20 packets].
    #[schemars(range(min = 1, max = 1_000 << 20))]
    pub additive_increase_2e20: u64,
    /// Multiplicative decrease beta [ppm].
    #[schemars(range(max = WHOLE_PPM))]
    pub beta_ppm: u32,
    /// Largest fraction of the window that one decrease takes off [ppm].
    #[schemars(range(max = WHOLE_PPM))]
    pub decrease_max_ppm: u32,
    /// Smallest window [1/2^20 packets].
    #[schemars(range(min = WINDOW_2E20_MIN, max = WINDOW_2E20_MAX))]
    pub window_min_2e20: u64,
    /// Largest window, with which a queue pair begins [1/2^20 packets].
    #[schemars(range(min = WINDOW_2E20_MIN, max = WINDOW_2E20_MAX))]
    pub window_max_2e20: u64,
    /// Timeouts in a row that reduce the window to the smallest.
    pub reset_timeouts: u32,
}

impl SwiftConfig {
    /// Target delay for a window and a number of links on the path.
    #[must_use]
    pub fn target(&self, window: u64, links: u32) -> Span {
        let [full, none] = [self.scaling_window_min_2e20, self.scaling_window_max_2e20].map(inverse_root);
        let here = inverse_root(window).clamp(none, full);
        let range = u128::from(self.scaling_range_ps);
        let scaled = range * u128::from(here - none) / u128::from((full - none).max(1));
        Span(self.base_target_ps + self.hop_target_ps * u64::from(links) + scaled as u64)
    }
}

impl RateControlConfig for SwiftConfig {
    fn controller(&self, mtu_bytes: u32, line_rate: Rate) -> Controller {
        Controller::Swift(Timed::boxed(Swift::new(*self, mtu_bytes, line_rate)))
    }

    fn uses_links(&self) -> bool {
        true
    }

    fn limits(&self) -> Vec<Limit> {
        vec![
            Limit {
                field: "window_min_2e20",
                number: self.window_min_2e20,
                allowed: 0..=self.window_max_2e20,
                limited_by: "window_max_2e20",
            },
            Limit {
                field: "scaling_window_min_2e20",
                number: self.scaling_window_min_2e20,
                allowed: 0..=self.scaling_window_max_2e20,
                limited_by: "scaling_window_max_2e20",
            },
        ]
    }

    fn target_delay(&self, links: u64) -> Option<Span> {
        Some(Span(self.base_target_ps + self.hop_target_ps * links))
    }

    fn window_packets_max(&self) -> u32 {
        whole_packets(self.window_max_2e20)
    }

    fn interval_max(&self, _packet_bytes: u64, timeout: Span) -> Span {
        let round_trip = u128::from(self.base_target_ps.max(timeout.0));
        let gap = (round_trip << 20).div_ceil(self.window_min_2e20.into());
        Span(gap.try_into().unwrap_or(u64::MAX))
    }
}

/// Packets of a window [2^-20 packets] that may be in flight: at least one.
fn whole_packets(window: u64) -> u32 {
    (window / ONE).clamp(1, u32::MAX.into()) as u32
}

/// `1 / sqrt(window)` [2^-20].
fn inverse_root(window: u64) -> u64 {
    // sqrt(2^60 / window) = 2^20 / sqrt(window / 2^20).
    ((1 << 60) / window.max(1)).isqrt()
}

/// Congestion window of one queue pair.
#[derive(Clone, Debug)]
pub struct Swift {
    config: Arc<SwiftConfig>,
    /// Payload of a full packet [bytes].
    mtu_bytes: u32,
    /// Rate of the port [bit/s].
    line_rate_bps: u64,
    /// Links of the path.
    links: u32,
    /// Current window [2^-20 packets].
    window: u64,
    /// The last round-trip time measured.
    rtt: Span,
    last_decrease: Instant,
    /// Timeouts in a row.
    timeouts: u32,
    ready_at: Instant,
}

impl Swift {
    /// Starts with the largest window, on a path of 0 links; see [`RateControl::set_links`].
    #[must_use]
    pub fn new(config: SwiftConfig, mtu_bytes: u32, line_rate: Rate) -> Self {
        Self {
            mtu_bytes,
            line_rate_bps: line_rate.bps(),
            links: 0,
            window: config.window_max_2e20,
            rtt: Span(config.base_target_ps),
            last_decrease: Instant::ZERO,
            timeouts: 0,
            ready_at: Instant::ZERO,
            config: Arc::new(config),
        }
    }

    /// The window [2^-20 packets].
    #[must_use]
    pub const fn window(&self) -> u64 {
        self.window
    }

    fn can_decrease(&self, now: Instant) -> bool {
        now.0 - self.last_decrease.0 >= self.rtt.0
    }

    /// Reduces the window by `ppm` parts per million, once per round trip.
    fn decrease(&mut self, now: Instant, ppm: u64) {
        if self.can_decrease(now) {
            let ppm = ppm.min(self.config.decrease_max_ppm.into());
            self.set_window(now, self.window - self.window * ppm / WHOLE_PPM);
        }
    }

    fn set_window(&mut self, now: Instant, window: u64) {
        let window = window.clamp(self.config.window_min_2e20, self.config.window_max_2e20);
        if window < self.window {
            self.last_decrease = now;
        }
        self.window = window;
    }

    fn increase(&self, packets: u32) -> u64 {
        let full = self.config.additive_increase_2e20 * u64::from(packets);
        // `ai / cwnd` per packet; `ai` while the window is below one packet.
        if self.window < ONE {
            full
        } else {
            (u128::from(full) * u128::from(ONE) / u128::from(self.window)) as u64
        }
    }

    /// Packets were acknowledged.
    fn on_ack(&mut self, now: Instant, packets: u32, rtt: Option<Span>) {
        self.timeouts = 0;
        let Some(rtt) = rtt else { return };
        self.rtt = rtt;
        let target = self.config.target(self.window, self.links);
        if rtt < target {
            let window = self.window + self.increase(packets);
            self.set_window(now, window);
        } else {
            let over =
                u128::from(rtt.0 - target.0) * u128::from(self.config.beta_ppm) / u128::from(rtt.0.max(1));
            self.decrease(now, over as u64);
        }
        if self.window >= ONE {
            self.ready_at = Instant::ZERO;
        }
    }

    /// A loss was detected by a NAK, or by a timeout.
    fn on_loss(&mut self, now: Instant, is_timeout: bool) {
        self.timeouts = if is_timeout { self.timeouts + 1 } else { 0 };
        if self.timeouts >= self.config.reset_timeouts {
            self.set_window(now, self.config.window_min_2e20);
        } else {
            self.decrease(now, self.config.decrease_max_ppm.into());
        }
    }
}

impl RateControl for Swift {
    fn ready_at(&self) -> Instant {
        self.ready_at
    }

    fn window_packets(&self) -> u32 {
        whole_packets(self.window)
    }

    fn set_links(&mut self, links: u32) {
        self.links = links;
    }

    fn on_sent(&mut self, now: Instant, _psn: Psn, _wire_bytes: u32) {
        if self.window < ONE {
            let gap = u128::from(self.rtt.0) * u128::from(ONE) / u128::from(self.window);
            self.ready_at = now + Span(gap as u64);
        }
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        let Feedback { now, acknowledged_packets, rtt, is_nak, is_timeout, .. } = *feedback;
        if acknowledged_packets > 0 {
            self.on_ack(now, acknowledged_packets, rtt);
        }
        if is_nak || is_timeout {
            self.on_loss(now, is_timeout);
        }
    }

    fn rate_bps_at(&self, _now: Instant) -> Option<u64> {
        let bits = u128::from(self.window) * u128::from(self.mtu_bytes) * 8 / u128::from(ONE);
        let bps = bits * 1_000_000_000_000 / u128::from(self.rtt.0.max(1));
        Some(bps.min(self.line_rate_bps.into()) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> SwiftConfig {
        SwiftConfig {
            base_target_ps: 20_000_000,
            hop_target_ps: 3_000_000,
            scaling_range_ps: 100_000_000,
            scaling_window_min_2e20: ONE / 10,
            scaling_window_max_2e20: 100 * ONE,
            additive_increase_2e20: ONE,
            beta_ppm: 800_000,
            decrease_max_ppm: 500_000,
            window_min_2e20: ONE / 1_000,
            window_max_2e20: 256 * ONE,
            reset_timeouts: 5,
        }
    }

    fn swift(window: u64) -> Swift {
        Swift { window, ..Swift::new(config(), 4_096, Rate::from_gbps(400)) }
    }

    const fn ack(now_us: u64, packets: u32, rtt_us: u64) -> Feedback<'static> {
        let (now, rtt) = (Instant(now_us * 1_000_000), Some(Span::from_us(rtt_us)));
        Feedback { acknowledged_packets: packets, rtt, ..Feedback::at(now) }
    }

    fn time_out(swift: &mut Swift, now_ms: u64) {
        let now = Instant(now_ms * 1_000_000_000);
        swift.on_feedback(&Feedback { is_timeout: true, ..Feedback::at(now) });
    }

    #[test]
    fn a_window_of_acknowledgements_below_the_target_adds_one_packet() {
        let mut swift = swift(64 * ONE);
        for _ in 0..64 {
            swift.on_feedback(&ack(1_000, 1, 10));
        }
        let grown = swift.window() - 64 * ONE;
        assert!(grown.abs_diff(ONE) < ONE / 50, "{grown}");
    }

    #[test]
    fn below_one_packet_each_acknowledged_packet_adds_one_increase() {
        let mut swift = swift(ONE / 4);
        swift.on_feedback(&ack(1_000, 1, 10));
        assert_eq!(swift.window(), ONE + ONE / 4);
    }

    #[test]
    fn delay_above_the_target_takes_its_share_off_once_per_round_trip() {
        let mut swift = swift(200 * ONE);
        swift.on_feedback(&ack(1_000, 1, 40));
        // Reduced by 0.8 x (40 - 20) / 40.
        assert_eq!(swift.window(), 120 * ONE);
        swift.on_feedback(&ack(1_039, 1, 40));
        assert_eq!(swift.window(), 120 * ONE, "within a round trip of the last decrease");
        swift.on_feedback(&ack(2_000, 1, 1_000));
        assert_eq!(swift.window(), 60 * ONE, "at most by half");
    }

    #[test]
    fn flow_scaling_raises_the_target_of_small_windows() {
        let config = config();
        assert_eq!(config.target(100 * ONE, 0), Span::from_us(20));
        assert_eq!(config.target(200 * ONE, 0), Span::from_us(20));
        assert_eq!(config.target(ONE / 10, 0), Span::from_us(120));
        // fs_range (1 / sqrt(1) - 1 / sqrt(100)) / (1 / sqrt(0.1) - 1 / sqrt(100)) = 29.39 us above the base.
        let at_one = config.target(ONE, 0).0;
        assert!(at_one.abs_diff(49_390_000) < 10_000, "{at_one}");
        assert_eq!(config.target(100 * ONE, 4), Span::from_us(20 + 4 * 3));
    }

    #[test]
    fn a_window_below_one_packet_is_a_packet_every_so_many_round_trips() {
        let mut swift = swift(ONE / 4);
        swift.rtt = Span::from_us(50);
        swift.on_sent(Instant(1_000_000), Psn::new(0), 4_200);
        assert_eq!((swift.window_packets(), swift.ready_at()), (1, Instant(201_000_000)));
    }

    #[test]
    fn the_fifth_timeout_in_a_row_leaves_the_smallest_window() {
        let mut swift = swift(256 * ONE);
        for timeout in 1..=4 {
            time_out(&mut swift, timeout);
            assert_eq!(swift.window(), (256 * ONE) >> timeout);
        }
        time_out(&mut swift, 5);
        assert_eq!(swift.window(), ONE / 1_000);
    }
}
