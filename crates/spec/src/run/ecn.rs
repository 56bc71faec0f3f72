//! ECN marking.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// ECN marking by queue length: probability 0 below Kmin, rising linearly to Pmax at Kmax, 1 above.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EcnSpec {
    /// Priorities whose frames are marked.
    pub priorities: Vec<u8>,
    /// Kmin [bytes], for a port of `reference_rate_bps`.
    pub kmin_bytes: u64,
    /// Kmax [bytes], for a port of `reference_rate_bps`.
    pub kmax_bytes: u64,
    /// Pmax [parts per million].
    pub pmax_ppm: u32,
    /// Thresholds are scaled to each port's rate from this one [bit/s]; absent, they hold for every port.
    pub reference_rate_bps: Option<u64>,
    /// How each port moves its thresholds, if it does.
    pub dynamic: Option<DynamicEcnSpec>,
}

/// Dynamic ECN: each port judges each of its marked queues at the end of every control interval, and scales
/// Kmin and Kmax.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DynamicEcnSpec {
    /// Control interval [ps].
    pub interval_ps: u64,
    /// Least scale of Kmin and Kmax [parts per million], at most 1,000,000.
    pub scale_min_ppm: u64,
    /// Largest scale [parts per million], 1,000,000 or more.
    pub scale_max_ppm: u64,
    /// A step up makes the scale larger by this part of it [parts per million].
    pub raise_ppm: u32,
    /// A step down makes the scale smaller by this part of it [parts per million].
    pub lower_ppm: u32,
    /// Thresholds are raised while the link is used for less than this part of the time, if frames were
    /// marked since they last changed [parts per million].
    pub link_use_ppm: u32,
    /// Thresholds are lowered while the mean queue takes longer than this at the rate of the port [ps].
    pub queueing_delay_ps: u64,
    /// Thresholds are lowered while frames of a queue that marks come in by so many ports, unless the link is
    /// not used enough.
    pub incast_degree: u32,
    /// So many intervals in a row have to speak for a change.
    pub confirm_intervals: u32,
}
