//! NICs and what slows them down.

use super::limits::{CLOCK_OFFSET_PS_MAX, DRIFT_PPB_MAX, PAUSE_DELAY_PS_MAX, is_zero};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transport::AdapterConfig;

/// Every NIC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NicSpec {
    /// Fixed latency on each side, sending and receiving [ps].
    pub latency_ps: u64,
    /// How fast the host takes data out of the NIC's receive buffer [bit/s]; at line rate when absent.
    pub drain_rate_bps: Option<u64>,
    /// Receive buffer [bytes]; it matters only with a drain rate.
    pub receive_buffer_bytes: u64,
    /// The NIC asks for a pause above this level of its receive buffer [bytes], if PFC is on.
    pub receive_xoff_bytes: u64,
    /// Hosts with NICs that work slower than they should.
    pub impairments: Vec<ImpairmentSpec>,
    /// What messages cost beside their bytes; nothing when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<AdapterConfig>,
    /// With DCQCN a receiver also answers data by CNPs that arrives while its receive buffer holds more than
    /// this [bytes]; never when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cnp_above_bytes: Option<u64>,
    /// From a level of the receive buffer to the earliest start of the pause frame on the link, beyond the
    /// latency [ps].
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(max = PAUSE_DELAY_PS_MAX))]
    pub pause_response_ps: u64,
    /// From the last bit of a pause frame in to its effect [ps], the latency or more; the latency when
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = PAUSE_DELAY_PS_MAX))]
    pub pause_reaction_ps: Option<u64>,
    /// A queue pair at line rate sends so many packets before the next one at its port has its turn; 1 when
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_536))]
    pub packets_per_turn: Option<u32>,
}

impl NicSpec {
    /// How much later than a frame of data a pause frame is taken in [ps].
    #[must_use]
    pub fn late_reaction(&self) -> u64 {
        self.pause_reaction_ps.unwrap_or(self.latency_ps).saturating_sub(self.latency_ps)
    }
}

/// Clocks of hosts, which no two have alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClockSpec {
    /// A host starts its jobs later by a time drawn for it, up to this [ps].
    #[schemars(range(max = CLOCK_OFFSET_PS_MAX))]
    pub offset_ps_max: u64,
    /// A host sends faster or slower than its rates say by a part drawn for it, up to this [parts per 10^9].
    #[schemars(range(max = DRIFT_PPB_MAX))]
    pub drift_ppb_max: u32,
    /// A frame of data leaves later than its turn by a time drawn for it, up to this [ps]; its turn does not
    /// move.
    #[schemars(range(max = CLOCK_OFFSET_PS_MAX))]
    pub jitter_ps_max: u64,
    /// Hosts for which no offset and no drift is drawn.
    pub hosts: Vec<HostClockSpec>,
}

/// The clock of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostClockSpec {
    /// The host.
    pub host: u32,
    /// It starts its jobs so much later [ps].
    #[schemars(range(max = CLOCK_OFFSET_PS_MAX))]
    pub offset_ps: u64,
    /// How fast it runs: at 10^9 as it should [parts per 10^9].
    #[schemars(range(min = 999_000_000, max = 1_001_000_000))]
    pub rate_ppb: u32,
}

/// A NIC that works at a fraction of its rate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImpairmentSpec {
    /// The host.
    pub host: u32,
    /// What is left of its throughput, of line rate [parts per million].
    pub throughput_ppm: u32,
    /// What is slow.
    pub direction: NicDirection,
}

/// What of a NIC is slow; the rest works at line rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NicDirection {
    /// Sending and receiving.
    Both,
    /// Sending: payload leaves more slowly.
    Send,
    /// Receiving: the host takes data out of the receive buffer more slowly.
    Receive,
}

impl NicDirection {
    /// Whether payload leaves more slowly.
    #[must_use]
    pub const fn sends(self) -> bool {
        matches!(self, Self::Both | Self::Send)
    }

    /// Whether data is taken out of the receive buffer more slowly.
    #[must_use]
    pub const fn receives(self) -> bool {
        matches!(self, Self::Both | Self::Receive)
    }
}
