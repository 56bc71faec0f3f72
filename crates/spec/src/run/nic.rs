//! NICs and what slows them down.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
