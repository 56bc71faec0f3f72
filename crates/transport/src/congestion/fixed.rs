//! A fixed rate: packet pacing of an adapter, without any reaction to the network.
//!
//! A packet starts at least its time at the rate after the previous one. Time in which a queue pair has
//! nothing to send, or waits for its port, is not made up for.

use super::{Controller, Feedback, RateControl, RateControlConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Instant, RATE_BPS_MAX, Rate, Span, State};
use wire::Psn;

/// Parameters of a fixed rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct FixedConfig {
    /// Rate of each queue pair, with preamble and gap of its frames [bit/s].
    #[schemars(range(min = 1_000_000, max = RATE_BPS_MAX))]
    pub rate_bps: u64,
}

impl RateControlConfig for FixedConfig {
    fn controller(&self, _mtu_bytes: u32, _line_rate: Rate) -> Controller {
        Controller::Fixed(Fixed { rate: Rate::from_bps(self.rate_bps), ready_at: Instant::ZERO })
    }

    fn interval_max(&self, packet_bytes: u64, _timeout: Span) -> Span {
        Rate::from_bps(self.rate_bps).span_of(packet_bytes)
    }
}

/// Pacing of one queue pair.
#[derive(Clone, Debug, State)]
pub struct Fixed {
    #[state(skip)]
    rate: Rate,
    ready_at: Instant,
}

impl RateControl for Fixed {
    #[inline]
    fn ready_at(&self) -> Instant {
        self.ready_at
    }

    fn on_sent(&mut self, now: Instant, _psn: Psn, wire_bytes: u32) {
        self.ready_at = now + self.rate.span_of(wire_bytes.into());
    }

    fn on_feedback(&mut self, _feedback: &Feedback<'_>) {}

    fn rate_bps_at(&self, _now: Instant) -> Option<u64> {
        Some(self.rate.bps())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_as_far_apart_as_the_rate_requires_whatever_the_network_reports() {
        let mut control = FixedConfig { rate_bps: 10_000_000_000 }.controller(4_096, Rate::from_gbps(100));
        assert!(control.is_paced() && !control.uses_acks());
        for (now, ready_ns) in [(Instant(0), 800), (Instant(800_000), 1_600), (Instant(5_000_000), 5_800)] {
            assert!(control.ready_at() <= now);
            control.on_sent(now, Psn::new(0), 1_000);
            control.on_feedback(&Feedback { is_cnp: true, is_nak: true, ..Feedback::at(now) });
            assert_eq!(control.ready_at(), Instant(ready_ns * 1_000));
        }
        assert_eq!(control.rate_bps_at(Instant(0)), Some(10_000_000_000));
    }
}
