//! Drop precedence: what colour frames have, and what WRED does with each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::RATE_BPS_MAX;

/// WRED by colour, on the queue as it is when a frame enters it: of each colour what becomes of its frames;
/// of one that is absent all pass.
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
    #[must_use]
    pub const fn colours(&self) -> [(&'static str, Option<WredCurveSpec>); 3] {
        [("green", self.green), ("yellow", self.yellow), ("red", self.red)]
    }
}

/// What WRED does with frames of a colour: with probability 0 below Kmin, rising linearly to Pmax at Kmax, 1
/// above, it marks those that are ECN-capable, if ECN is on, and drops others.
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

/// What colours frames that come in from hosts; a frame keeps its colour to the end of its way. TCP's
/// acknowledgements are always green.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MarkerSpec {
    /// Hosts whose frames it colours; those of all when absent.
    pub hosts: Option<Vec<u32>>,
    /// Priorities whose frames it colours; those of all when absent.
    #[schemars(inner(range(max = 7)))]
    pub priorities: Option<Vec<u8>>,
    /// The colour, or how it is found.
    pub colouring: ColouringSpec,
}

/// Drop precedence: green frames are to be dropped last, red ones first.
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

/// The colour of frames, or how it is found: by a meter of each port that a host feeds, colour-blind, in
/// bytes of frames with FCS, without preamble and gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ColouringSpec {
    /// One colour.
    Fixed {
        /// Which.
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
