//! ECN marking.

use super::WredSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// ECN marking by queue length: probability 0 below Kmin, rising linearly to Pmax at Kmax, 1 above.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EcnSpec {
    /// Priorities whose frames are marked.
    #[schemars(inner(range(max = 7)))]
    pub priorities: Vec<u8>,
    /// Kmin [bytes], for a port of `reference_rate_bps`.
    pub kmin_bytes: u64,
    /// Kmax [bytes], for a port of `reference_rate_bps`.
    pub kmax_bytes: u64,
    /// Pmax [parts per million].
    #[schemars(range(max = 1_000_000))]
    pub pmax_ppm: u32,
    /// Thresholds are scaled to each port's rate from this one [bit/s]; absent, they hold for every port.
    #[schemars(range(min = 1))]
    pub reference_rate_bps: Option<u64>,
    /// How each port moves its thresholds, if it does.
    pub dynamic: Option<DynamicEcnSpec>,
    /// What becomes of frames by their colour, in place of marking; absent, colours do not matter and nothing
    /// is dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wred: Option<WredSpec>,
}

/// Dynamic ECN: each port judges each of its marked queues at the end of every control interval, and scales
/// Kmin and Kmax.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DynamicEcnSpec {
    /// Control interval [ps].
    #[schemars(range(min = 1_000_000, max = 1_000_000_000_000_u64))]
    pub interval_ps: u64,
    /// Least scale of Kmin and Kmax [parts per million], at most 1,000,000.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub scale_min_ppm: u64,
    /// Largest scale [parts per million], 1,000,000 or more.
    #[schemars(range(min = 1_000_000, max = 1_000_000_000))]
    pub scale_max_ppm: u64,
    /// A step up makes the scale larger by this part of it [parts per million].
    #[schemars(range(min = 1, max = 1_000_000))]
    pub raise_ppm: u32,
    /// A step down makes the scale smaller by this part of it [parts per million].
    #[schemars(range(min = 1, max = 1_000_000))]
    pub lower_ppm: u32,
    /// Thresholds are raised while the link is used for less than this part of the time, if frames were
    /// marked since they last changed [parts per million].
    #[schemars(range(min = 1, max = 1_000_000))]
    pub link_use_ppm: u32,
    /// Thresholds are lowered while the mean queue takes longer than this at the rate of the port [ps].
    #[schemars(range(min = 1))]
    pub queueing_delay_ps: u64,
    /// Thresholds are lowered while frames of a queue that marks come in by so many ports, unless the link is
    /// not used enough.
    #[schemars(range(min = 1))]
    pub incast_degree: u32,
    /// So many intervals in a row have to speak for a change.
    #[schemars(range(min = 1))]
    pub confirm_intervals: u32,
}
