//! Parameters of marking and early drops by queue length: ECN, its dynamic thresholds, WRED by colour, and
//! the meters that colour frames.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::RATE_BPS_MAX;

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
    /// Thresholds are scaled from this rate to that of each port [bit/s]; not scaled when absent.
    #[schemars(range(min = 1))]
    pub reference_rate_bps: Option<u64>,
    /// Dynamic thresholds, if any.
    pub dynamic: Option<DynamicEcnSpec>,
    /// Marking and drops by colour, instead of marking; when absent, colours have no effect and nothing is
    /// dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wred: Option<WredSpec>,
}

/// Dynamic ECN: at the end of every control interval, each port scales Kmin and Kmax of each of its marked
/// queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DynamicEcnSpec {
    /// Control interval [ps].
    #[schemars(range(min = 1_000_000, max = 1_000_000_000_000_u64))]
    pub interval_ps: u64,
    /// Minimum scale of Kmin and Kmax [parts per million], at most 1,000,000.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub scale_min_ppm: u64,
    /// Maximum scale [parts per million], at least 1,000,000.
    #[schemars(range(min = 1_000_000, max = 1_000_000_000))]
    pub scale_max_ppm: u64,
    /// Relative increase of the scale per step up [parts per million].
    #[schemars(range(min = 1, max = 1_000_000))]
    pub raise_ppm: u32,
    /// Relative decrease of the scale per step down [parts per million].
    #[schemars(range(min = 1, max = 1_000_000))]
    pub lower_ppm: u32,
    /// Link utilisation below which thresholds are raised, if frames were marked since their last change
    /// [parts per million].
    #[schemars(range(min = 1, max = 1_000_000))]
    pub link_use_ppm: u32,
    /// Mean queueing delay at the rate of the port above which thresholds are lowered [ps].
    #[schemars(range(min = 1))]
    pub queueing_delay_ps: u64,
    /// Number of ingress ports of a marking queue from which thresholds are lowered, unless utilisation is
    /// too low.
    #[schemars(range(min = 1))]
    pub incast_degree: u32,
    /// Number of consecutive intervals with the same result before a change.
    #[schemars(range(min = 1))]
    pub confirm_intervals: u32,
}

/// WRED by colour, on the queue length when a frame is enqueued. All frames of an absent colour pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WredSpec {
    /// Of green frames.
    pub green: Option<WredCurveSpec>,
    /// Of yellow frames.
    pub yellow: Option<WredCurveSpec>,
    /// Of red frames.
    pub red: Option<WredCurveSpec>,
}

impl WredSpec {
    /// Each colour with its name.
    pub const fn colours(&self) -> [(&'static str, Option<WredCurveSpec>); 3] {
        [("green", self.green), ("yellow", self.yellow), ("red", self.red)]
    }
}

/// WRED of one colour: with probability 0 below Kmin, rising linearly to Pmax at Kmax, 1 above, ECN-capable
/// frames are marked (with `ecn`) and others dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WredCurveSpec {
    /// Kmin [bytes], for a port of `reference_rate_bps`.
    pub kmin_bytes: u64,
    /// Kmax [bytes], for a port of `reference_rate_bps`.
    pub kmax_bytes: u64,
    /// Pmax [parts per million].
    #[schemars(range(max = 1_000_000))]
    pub pmax_ppm: u32,
    /// ECN-capable frames are marked, not dropped.
    pub ecn: bool,
}

/// Marker: colours frames that arrive from hosts; a frame keeps its colour on its whole path. TCP
/// acknowledgements are always green.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MarkerSpec {
    /// Hosts whose frames it colours; all when absent.
    pub hosts: Option<Vec<u32>>,
    /// Priorities whose frames it colours; all when absent.
    #[schemars(inner(range(max = 7)))]
    pub priorities: Option<Vec<u8>>,
    /// A fixed colour, or a meter.
    pub colouring: ColouringSpec,
}

/// Drop precedence: red frames are dropped first, green ones last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ColourSpec {
    /// Low drop precedence.
    Green,
    /// Medium.
    Yellow,
    /// High.
    Red,
}

/// A fixed colour, or a colour-blind meter per host-facing ingress port, in bytes of frames with FCS, without
/// preamble and gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ColouringSpec {
    /// One colour.
    Fixed {
        /// The colour.
        colour: ColourSpec,
    },
    /// The two rate three color marker of RFC 2698.
    TwoRate {
        /// Committed information rate [bit/s].
        #[schemars(range(min = 1, max = RATE_BPS_MAX))]
        cir_bps: u64,
        /// Committed burst size [bytes].
        #[schemars(range(min = 1, max = 1_u64 << 40))]
        cbs_bytes: u64,
        /// Peak information rate [bit/s], at least the committed one.
        #[schemars(range(min = 1, max = RATE_BPS_MAX))]
        pir_bps: u64,
        /// Peak burst size [bytes].
        #[schemars(range(min = 1, max = 1_u64 << 40))]
        pbs_bytes: u64,
    },
    /// The single rate three color marker of RFC 2697.
    SingleRate {
        /// Committed information rate [bit/s].
        #[schemars(range(min = 1, max = RATE_BPS_MAX))]
        cir_bps: u64,
        /// Committed burst size [bytes].
        #[schemars(range(min = 1, max = 1_u64 << 40))]
        cbs_bytes: u64,
        /// Excess burst size [bytes].
        #[schemars(range(max = 1_u64 << 40))]
        ebs_bytes: u64,
    },
}
