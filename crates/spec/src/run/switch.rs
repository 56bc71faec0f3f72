//! Switches and their buffers.

use super::limits::is_zero;
use super::{EcnSpec, MarkerSpec, PfcSpec, PoolsSpec, ScheduledSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Every switch of the fabric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchSpec {
    /// When a frame may leave.
    pub forwarding: ForwardingSpec,
    /// From then on to its earliest first bit out [ps].
    pub pipeline_latency_ps: u64,
    /// The packet buffer.
    pub buffer: BufferSpec,
    /// Which priority a port serves next.
    pub scheduling: SchedulingSpec,
    /// Priority flow control, if any priority is lossless.
    pub pfc: Option<PfcSpec>,
    /// ECN marking, if there is any.
    pub ecn: Option<EcnSpec>,
    /// Scheduled switches in place of Ethernet ones.
    pub scheduled: Option<ScheduledSpec>,
    /// What colours frames where hosts feed the fabric: the first whose host and priority a frame has. Others
    /// are green.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub markers: Vec<MarkerSpec>,
}

impl SwitchSpec {
    /// What switches of one fabric may have each for itself.
    pub(crate) fn settings(&self) -> SwitchSettingsSpec {
        let Self { buffer, scheduling, pfc, ecn, .. } = self.clone();
        SwitchSettingsSpec { switches: Vec::new(), buffer, scheduling, pfc, ecn }
    }

    /// A switch like this one, but for the settings of its own.
    #[must_use]
    pub fn with(&self, own: &SwitchSettingsSpec) -> Self {
        let SwitchSettingsSpec { switches: _, buffer, scheduling, pfc, ecn } = own.clone();
        Self { buffer, scheduling, pfc, ecn, ..self.clone() }
    }
}

/// Switches of the topology that are set up in another way than all others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchSettingsSpec {
    /// Their names, 1 or more; `leaf*` is every switch whose name begins so and that no longer name is of.
    pub switches: Vec<String>,
    /// The packet buffer of each.
    pub buffer: BufferSpec,
    /// Which priority a port serves next.
    pub scheduling: SchedulingSpec,
    /// Priority flow control, of the same lossless priorities as that of all others.
    pub pfc: Option<PfcSpec>,
    /// ECN marking, if there is any.
    pub ecn: Option<EcnSpec>,
}

/// When a frame may leave a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardingSpec {
    /// Once its last bit is in.
    StoreAndForward,
    /// Once its first 64 bytes are in, if it leaves by a port that is no faster than the one it came in by.
    CutThrough,
}

/// The packet buffer of a switch, shared by all ports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BufferSpec {
    /// Size of the whole buffer, headroom and reserves included [bytes].
    #[schemars(range(min = 1))]
    pub size_bytes: u64,
    /// A frame takes whole cells of this size [bytes]; 1 counts frames as they are.
    #[schemars(range(min = 1))]
    pub cell_bytes: u64,
    /// Dynamic threshold of lossy priorities: an egress queue holds at most this times the free shared
    /// buffer. Without it only the whole buffer is a limit.
    pub lossy_alpha: Option<RatioSpec>,
    /// When what a frame takes is free again.
    #[serde(default = "ReleaseSpec::start", skip_serializing_if = "ReleaseSpec::is_start")]
    pub release: ReleaseSpec,
    /// Part of the pipeline latency that lies inside the buffer [ps]: frames are released so much later.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pipeline_ps: u64,
    /// How it is divided, if chips' pools are modelled: they take the place of `lossy_alpha`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pools: Option<PoolsSpec>,
}

/// When what a frame takes of the buffer is free again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ReleaseSpec {
    /// All of it when its transmission starts.
    Start {},
    /// All of it when its last byte has left.
    End {},
    /// Each cell when its last byte has left.
    Cells {
        /// Size of a cell [bytes]: `cell_bytes` of the buffer, unless that is 1.
        #[schemars(range(min = 1))]
        bytes: u32,
    },
}

impl ReleaseSpec {
    const fn start() -> Self {
        Self::Start {}
    }

    const fn is_start(&self) -> bool {
        matches!(self, Self::Start {})
    }
}

/// A positive ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RatioSpec {
    /// Numerator, 1 or more.
    #[schemars(range(min = 1))]
    pub numerator: u32,
    /// Denominator, 1 or more.
    #[schemars(range(min = 1))]
    pub denominator: u32,
}

impl RatioSpec {
    /// The ratio of a number of bytes, rounded down.
    #[inline]
    #[must_use]
    pub const fn of(self, bytes: u64) -> u64 {
        bytes.saturating_mul(self.numerator as u64) / self.denominator as u64
    }

    /// The smallest number whose product with the ratio is at least `bytes`.
    #[must_use]
    pub const fn inverse(self, bytes: u64) -> u64 {
        bytes.saturating_mul(self.denominator as u64).div_ceil(self.numerator as u64)
    }
}

/// Which priority a port serves next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SchedulingSpec {
    /// The highest priority that has something to send.
    Strict {},
    /// Deficit weighted round robin over the priorities.
    Dwrr {
        /// Quantum of each priority, from 0 to 7 [bytes].
        #[schemars(inner(range(min = 1, max = 1 << 30)))]
        quantum_bytes: [u32; 8],
    },
}
