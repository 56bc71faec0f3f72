//! TIMELY at the sender (Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM
//! 2015, algorithm 1).
//!
//! At each completion event the gradient of the round-trip time, `d = (1 - a) d + a (rtt - previous)` over
//! `rtt_min`, changes the rate. Below `rtt_low` the rate rises by delta; above `rtt_high` it falls to `rate
//! (1 - beta (1 - rtt_high / rtt))`. In between, while the gradient is not positive, it rises by delta, and
//! by five times delta from the fifth such event in a row; otherwise it falls to `rate (1 - beta d)`. A
//! single decrease is at most `decrease_max`: half of the rate in the authors' published code
//! (timely-code-snippet.cc), unlimited in the paper, where a gradient of 1 / beta stops the sender. A
//! completion event is the acknowledgement that completes a segment of `segment_bytes`, at most one per
//! round-trip time, as in the simulator of Li et al. (HPCC, SIGCOMM 2019): packets sent before a change do
//! not change the rate again. Integer arithmetic: rates in bit/s, weights in parts per million.
//!
//! The round-trip time is that of the last packet of the segment, from its start at the port, so it does not
//! contain the serialisation of the segment, which the paper subtracts. Segments are not sent as bursts:
//! packets are paced one by one.

use super::{Controller, Feedback, Limit, RateControl, RateControlConfig, Timed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{DURATION_PS_MAX, Instant, RATE_BPS_MAX, Rate, Span};
use wire::Psn;

/// Parts per million.
const WHOLE_PPM: i128 = 1_000_000;
/// Completion events in a row without a positive gradient after which the increase is hyperactive, and its
/// factor.
const HYPERACTIVE: u32 = 5;

/// Parameters of TIMELY. All values come from the run spec; nothing here has a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct TimelyConfig {
    /// Weight alpha of the newest difference of round-trip times [ppm].
    #[schemars(range(max = WHOLE_PPM as u32))]
    pub alpha_ppm: u32,
    /// Multiplicative decrease beta [ppm].
    #[schemars(range(max = WHOLE_PPM as u32))]
    pub beta_ppm: u32,
    /// Largest fraction of the rate that one decrease takes off [ppm].
    #[schemars(range(max = WHOLE_PPM as u32))]
    pub decrease_max_ppm: u32,
    /// The rate rises below this round-trip time [ps].
    #[schemars(range(min = 1, max = DURATION_PS_MAX))]
    pub rtt_low_ps: u64,
    /// The rate falls above this round-trip time [ps].
    #[schemars(range(min = 1, max = DURATION_PS_MAX))]
    pub rtt_high_ps: u64,
    /// Reference for differences of round-trip times [ps].
    #[schemars(range(min = 1, max = DURATION_PS_MAX))]
    pub rtt_min_ps: u64,
    /// Additive increase delta [bit/s].
    #[schemars(range(min = 1, max = RATE_BPS_MAX))]
    pub additive_increase_bps: u64,
    /// Acknowledged bytes per completion event.
    #[schemars(range(min = 1, max = 1_u64 << 40))]
    pub segment_bytes: u64,
    /// Smallest rate [bit/s].
    #[schemars(range(min = 1, max = RATE_BPS_MAX))]
    pub rate_min_bps: u64,
}

impl RateControlConfig for TimelyConfig {
    fn controller(&self, _mtu_bytes: u32, line_rate: Rate) -> Controller {
        Controller::Timely(Timed::boxed(Timely::new(*self, line_rate)))
    }

    fn limits(&self) -> Vec<Limit> {
        vec![Limit {
            field: "rtt_low_ps",
            number: self.rtt_low_ps,
            allowed: 1..=self.rtt_high_ps,
            limited_by: "rtt_high_ps",
        }]
    }

    fn target_delay(&self, _links: u64) -> Option<Span> {
        Some(Span(self.rtt_high_ps))
    }

    fn interval_max(&self, packet_bytes: u64, _timeout: Span) -> Span {
        Rate::from_bps(self.rate_min_bps).span_of(packet_bytes)
    }
}

/// Rate of one queue pair.
#[derive(Clone, Debug)]
pub struct Timely {
    config: Arc<TimelyConfig>,
    /// Rate of the port [bit/s].
    line_rate_bps: u64,
    rate_bps: u64,
    previous_rtt: Option<Span>,
    /// Smoothed difference of round-trip times [ps].
    difference_ps: i64,
    /// Completion events in a row without a positive gradient.
    falling: u32,
    /// Bytes acknowledged since the last completion event.
    acknowledged_bytes: u64,
    /// Earliest time of the next completion event.
    next_event: Instant,
    ready_at: Instant,
}

impl Timely {
    /// Starts at line rate.
    #[must_use]
    pub fn new(config: TimelyConfig, line_rate: Rate) -> Self {
        Self {
            line_rate_bps: line_rate.bps(),
            rate_bps: line_rate.bps(),
            previous_rtt: None,
            difference_ps: 0,
            falling: 0,
            acknowledged_bytes: 0,
            next_event: Instant::ZERO,
            ready_at: Instant::ZERO,
            config: Arc::new(config),
        }
    }

    /// Current rate [bit/s].
    #[must_use]
    pub const fn rate_bps(&self) -> u64 {
        self.rate_bps
    }

    /// A segment with this round-trip time is complete.
    fn complete(&mut self, rtt: Span) {
        let TimelyConfig { alpha_ppm, rtt_low_ps, rtt_high_ps, additive_increase_bps, .. } = *self.config;
        let previous = self.previous_rtt.replace(rtt).unwrap_or(rtt);
        let (old, new) = (i128::from(self.difference_ps), i128::from(rtt.0) - i128::from(previous.0));
        let alpha = i128::from(alpha_ppm);
        self.difference_ps = (((WHOLE_PPM - alpha) * old + alpha * new) / WHOLE_PPM) as i64;
        if rtt.0 < rtt_low_ps {
            return self.set_rate(self.rate_bps + additive_increase_bps);
        }
        if rtt.0 > rtt_high_ps {
            return self.decrease(i128::from(rtt.0 - rtt_high_ps), i128::from(rtt.0));
        }
        if self.difference_ps > 0 {
            self.falling = 0;
            return self.decrease(self.difference_ps.into(), i128::from(self.config.rtt_min_ps));
        }
        self.falling += 1;
        let times = if self.falling >= HYPERACTIVE { HYPERACTIVE } else { 1 };
        self.set_rate(self.rate_bps + u64::from(times) * additive_increase_bps);
    }

    /// Lowers the rate by the fraction beta times `part / whole`, at most `decrease_max`.
    fn decrease(&mut self, part: i128, whole: i128) {
        let TimelyConfig { beta_ppm, decrease_max_ppm, .. } = *self.config;
        let cut_ppm = (i128::from(beta_ppm) * part / whole.max(1)).min(decrease_max_ppm.into());
        let cut = i128::from(self.rate_bps) * cut_ppm / WHOLE_PPM;
        self.set_rate((i128::from(self.rate_bps) - cut) as u64);
    }

    fn set_rate(&mut self, rate_bps: u64) {
        self.rate_bps = rate_bps.clamp(self.config.rate_min_bps, self.line_rate_bps);
    }
}

impl RateControl for Timely {
    fn ready_at(&self) -> Instant {
        self.ready_at
    }

    fn on_sent(&mut self, now: Instant, _psn: Psn, wire_bytes: u32) {
        self.ready_at = now + Rate::from_bps(self.rate_bps).span_of(wire_bytes.into());
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.acknowledged_bytes += feedback.acknowledged_bytes;
        if let Some(rtt) = feedback.rtt
            && self.acknowledged_bytes >= self.config.segment_bytes
            && feedback.now >= self.next_event
        {
            self.acknowledged_bytes = 0;
            self.next_event = feedback.now + rtt;
            self.complete(rtt);
        }
    }

    fn rate_bps_at(&self, _now: Instant) -> Option<u64> {
        Some(self.rate_bps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GBPS: u64 = 1_000_000_000;

    fn timely(rate_bps: u64) -> Timely {
        let config = TimelyConfig {
            alpha_ppm: 875_000,
            beta_ppm: 800_000,
            decrease_max_ppm: 500_000,
            rtt_low_ps: 50_000_000,
            rtt_high_ps: 500_000_000,
            rtt_min_ps: 20_000_000,
            additive_increase_bps: 10_000_000,
            segment_bytes: 16_384,
            rate_min_bps: 10_000_000,
        };
        Timely { rate_bps, ..Timely::new(config, Rate::from_gbps(10)) }
    }

    fn ack(now: Instant, packets: u32, rtt_us: u64) -> Feedback<'static> {
        let rtt = Some(Span::from_us(rtt_us));
        let acknowledged_bytes = 4_096 * u64::from(packets);
        Feedback { acknowledged_packets: packets, acknowledged_bytes, rtt, ..Feedback::at(now) }
    }

    /// Acknowledges one packet with this round-trip time, a quarter of it after the previous one.
    fn acknowledge(timely: &mut Timely, rtt_us: u64) {
        let now = timely.ready_at;
        timely.on_feedback(&ack(now, 1, rtt_us));
        timely.ready_at = now + Span(Span::from_us(rtt_us).0 / 4);
    }

    /// Completes a segment whose packets have this round-trip time.
    fn complete(timely: &mut Timely, rtt_us: u64) {
        (0..4).for_each(|_| acknowledge(timely, rtt_us));
    }

    #[test]
    fn below_the_low_threshold_each_segment_adds_delta() {
        let mut timely = timely(GBPS);
        (0..3).for_each(|_| acknowledge(&mut timely, 49));
        assert_eq!(timely.rate_bps(), GBPS, "a segment is four packets");
        acknowledge(&mut timely, 49);
        assert_eq!(timely.rate_bps(), GBPS + 10_000_000);
    }

    #[test]
    fn within_a_round_trip_time_of_a_change_there_is_none() {
        let mut timely = timely(GBPS);
        complete(&mut timely, 1_000);
        let now = timely.ready_at;
        timely.on_feedback(&ack(now, 9, 2_000));
        assert_eq!(timely.rate_bps(), 600_000_000);
    }

    #[test]
    fn above_the_high_threshold_the_rate_falls_towards_it() {
        let mut timely = timely(GBPS);
        complete(&mut timely, 1_000);
        // 1 - 0.8 x (1 - 500 / 1000).
        assert_eq!(timely.rate_bps(), 600_000_000);
    }

    #[test]
    fn a_rising_round_trip_time_takes_its_gradient_off() {
        let mut timely = timely(GBPS);
        complete(&mut timely, 100);
        let before = timely.rate_bps();
        complete(&mut timely, 104);
        // The gradient is 0.875 x 4 us / 20 us.
        assert_eq!(timely.rate_bps(), before - before * 14 / 100);
    }

    #[test]
    fn no_decrease_exceeds_its_maximum() {
        // Gradients of 0.875 x 180 us / 20 us = 7.9, and a round-trip time too long by 1 - 500 / 4000.
        for (capped, rtt_us) in [(500_000, 280), (500_000, 4_000), (1_000_000, 280)] {
            let mut timely = timely(GBPS);
            let config = TimelyConfig { decrease_max_ppm: capped, ..*timely.config };
            timely.config = Arc::new(config);
            complete(&mut timely, 100);
            let before = timely.rate_bps();
            complete(&mut timely, rtt_us);
            let least = before - before * u64::from(capped) / 1_000_000;
            assert_eq!(timely.rate_bps(), least.max(config.rate_min_bps), "{capped} {rtt_us}");
        }
    }

    #[test]
    fn the_fifth_segment_without_a_rise_is_the_first_hyperactive_one() {
        let mut timely = timely(GBPS);
        for event in 1..=6 {
            let before = timely.rate_bps();
            complete(&mut timely, 100);
            let delta = if event < 5 { 10_000_000 } else { 50_000_000 };
            assert_eq!(timely.rate_bps() - before, delta, "event {event}");
        }
    }

    #[test]
    fn the_rate_stays_between_its_least_and_the_line() {
        let mut fast = timely(10 * GBPS);
        complete(&mut fast, 10);
        assert_eq!(fast.rate_bps(), 10 * GBPS);
        let mut slow = timely(10_000_000);
        complete(&mut slow, 100_000);
        assert_eq!(slow.rate_bps(), 10_000_000);
    }

    #[test]
    fn a_packet_is_paced_by_the_rate() {
        let mut timely = timely(GBPS);
        timely.on_sent(Instant(1_000), Psn::new(0), 1_250);
        assert_eq!(timely.ready_at(), Instant(1_000 + 10_000_000));
    }
}
