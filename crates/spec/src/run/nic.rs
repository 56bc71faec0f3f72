//! Parameters of NICs and of the clocks of hosts: latency, receive buffer, pauses, cost per message,
//! impairments, drift.

use super::{CLOCK_OFFSET_PS_MAX, DRIFT_PPB_MAX, PAUSE_DELAY_PS_MAX, is_zero};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transport::AdapterConfig;

/// All NICs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NicSpec {
    /// Fixed latency of sending and of receiving [ps].
    pub latency_ps: u64,
    /// Rate at which the host drains the NIC's receive buffer [bit/s]; line rate when absent.
    pub drain_rate_bps: Option<u64>,
    /// Size of the receive buffer [bytes]; relevant only with a drain rate.
    pub receive_buffer_bytes: u64,
    /// Level of the receive buffer above which the NIC requests a pause, with PFC [bytes].
    pub receive_xoff_bytes: u64,
    /// NICs below their nominal rate.
    pub impairments: Vec<ImpairmentSpec>,
    /// Cost per message in addition to its bytes; none when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<AdapterConfig>,
    /// With DCQCN: level of the receive buffer above which a receiver also sends CNPs for unmarked data
    /// [bytes]; never when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cnp_above_bytes: Option<u64>,
    /// Time from crossing the level of the receive buffer to the earliest start of the pause frame, in
    /// addition to the latency [ps].
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(max = PAUSE_DELAY_PS_MAX))]
    pub pause_response_ps: u64,
    /// Time from the last received bit of a pause frame to its effect [ps], at least the latency; the latency
    /// when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = PAUSE_DELAY_PS_MAX))]
    pub pause_reaction_ps: Option<u64>,
    /// Packets that a queue pair at line rate sends before the next one of its port is served; 1 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_536))]
    pub packets_per_turn: Option<u32>,
}

impl NicSpec {
    /// Additional delay of a pause frame relative to a data frame [ps].
    pub fn late_reaction(&self) -> u64 {
        self.pause_reaction_ps.unwrap_or(self.latency_ps).saturating_sub(self.latency_ps)
    }
}

/// Clocks of hosts: offset, drift and jitter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClockSpec {
    /// Maximum random delay of the start of a host's jobs [ps].
    #[schemars(range(max = CLOCK_OFFSET_PS_MAX))]
    pub offset_ps_max: u64,
    /// Maximum random deviation of a host's sending rates [parts per 10^9].
    #[schemars(range(max = DRIFT_PPB_MAX))]
    pub drift_ppb_max: u32,
    /// Maximum random delay of each data frame [ps]; does not shift the schedule of later frames.
    #[schemars(range(max = CLOCK_OFFSET_PS_MAX))]
    pub jitter_ps_max: u64,
    /// Hosts with a fixed offset and drift.
    pub hosts: Vec<HostClockSpec>,
}

/// The clock of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostClockSpec {
    /// The host.
    pub host: u32,
    /// Delay of the start of its jobs [ps].
    #[schemars(range(max = CLOCK_OFFSET_PS_MAX))]
    pub offset_ps: u64,
    /// Rate of the clock; 10^9 is nominal [parts per 10^9].
    #[schemars(range(min = 999_000_000, max = 1_001_000_000))]
    pub rate_ppb: u32,
}

/// A NIC that works at a fraction of its rate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImpairmentSpec {
    /// The host.
    pub host: u32,
    /// Throughput relative to line rate [parts per million].
    pub throughput_ppm: u32,
    /// Slow direction.
    pub direction: NicDirection,
}

/// Slow direction of a NIC; the other works at line rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NicDirection {
    /// Sending and receiving.
    Both,
    /// Sending: payload is sent more slowly.
    Send,
    /// Receiving: the host drains the receive buffer more slowly.
    Receive,
}

impl NicDirection {
    /// Whether sending is slow.
    pub const fn sends(self) -> bool {
        matches!(self, Self::Both | Self::Send)
    }

    /// Whether receiving is slow.
    pub const fn receives(self) -> bool {
        matches!(self, Self::Both | Self::Receive)
    }
}
