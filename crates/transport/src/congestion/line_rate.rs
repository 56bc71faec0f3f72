//! No rate control: a queue pair sends as fast as the port accepts packets. Marks may be reported, for
//! statistics.

use super::{Controller, Feedback, RateControl, RateControlConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Instant, Rate, Span, State};
use wire::Psn;

/// Parameters of a run without rate control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct LineRateConfig {
    /// A receiver of marked packets sends at most one CNP per queue pair in this time, which the sender
    /// counts without a reaction [ps]; absent, marks are counted alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cnp_interval_ps: Option<u64>,
}

impl RateControlConfig for LineRateConfig {
    fn controller(&self, _mtu_bytes: u32, _line_rate: Rate) -> Controller {
        Controller::LINE_RATE
    }

    fn is_paced(&self) -> bool {
        false
    }

    fn cnp_interval(&self) -> Option<Span> {
        self.cnp_interval_ps.map(Span)
    }

    fn interval_max(&self, _packet_bytes: u64, _timeout: Span) -> Span {
        Span::ZERO
    }
}

/// A queue pair without rate control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct LineRate;

impl RateControl for LineRate {
    #[inline]
    fn is_paced(&self) -> bool {
        false
    }

    #[inline]
    fn ready_at(&self) -> Instant {
        Instant::ZERO
    }

    #[inline]
    fn on_sent(&mut self, _now: Instant, _psn: Psn, _wire_bytes: u32) {}

    #[inline]
    fn on_feedback(&mut self, _feedback: &Feedback<'_>) {}

    fn rate_bps_at(&self, _now: Instant) -> Option<u64> {
        None
    }
}
