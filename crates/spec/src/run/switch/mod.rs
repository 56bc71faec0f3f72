//! Parameters of switches: forwarding, pipeline, packet buffer, scheduling of priorities, settings of some
//! switches, and scheduled switches with virtual output queues. Modules: `marking` (ECN, WRED, colours),
//! `pfc`, `pools`.

mod marking;
mod pfc;
mod pools;

pub use marking::{ColourSpec, ColouringSpec, DynamicEcnSpec, EcnSpec, MarkerSpec, WredCurveSpec, WredSpec};
pub use pfc::{PfcSpec, StormActionSpec, WatchdogSpec, XoffSpec};
pub use pools::{EgressPoolSpec, IngressPoolSpec, PoolPauseSpec, PoolXoffSpec, PoolsSpec, ProfileSpec};

use super::is_zero;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All switches of the fabric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchSpec {
    /// When a frame may be forwarded.
    pub forwarding: ForwardingSpec,
    /// Time from then to its earliest first transmitted bit [ps].
    pub pipeline_latency_ps: u64,
    /// The packet buffer.
    pub buffer: BufferSpec,
    /// Which priority a port serves next.
    pub scheduling: SchedulingSpec,
    /// Priority flow control, if any priority is lossless.
    pub pfc: Option<PfcSpec>,
    /// ECN marking, if any.
    pub ecn: Option<EcnSpec>,
    /// Scheduled switches instead of Ethernet ones.
    pub scheduled: Option<ScheduledSpec>,
    /// Markers of frames from hosts: the first that matches host and priority of a frame applies. Others are
    /// green.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub markers: Vec<MarkerSpec>,
}

impl SwitchSpec {
    /// The settings that may differ between switches.
    pub(crate) fn settings(&self) -> SwitchSettingsSpec {
        let Self { buffer, scheduling, pfc, ecn, .. } = self.clone();
        SwitchSettingsSpec { switches: Vec::new(), buffer, scheduling, pfc, ecn }
    }

    /// This switch with other settings.
    pub fn with(&self, own: &SwitchSettingsSpec) -> Self {
        let SwitchSettingsSpec { switches: _, buffer, scheduling, pfc, ecn } = own.clone();
        Self { buffer, scheduling, pfc, ecn, ..self.clone() }
    }
}

/// Settings of some switches of the topology.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchSettingsSpec {
    /// Names of the switches, at least 1; `leaf*` matches all names with this prefix that no longer pattern
    /// matches.
    pub switches: Vec<String>,
    /// Packet buffer of each.
    pub buffer: BufferSpec,
    /// Which priority a port serves next.
    pub scheduling: SchedulingSpec,
    /// Priority flow control, with the lossless priorities of all other switches.
    pub pfc: Option<PfcSpec>,
    /// ECN marking, if any.
    pub ecn: Option<EcnSpec>,
}

/// When a switch may forward a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardingSpec {
    /// After its last bit was received.
    StoreAndForward,
    /// After its first 64 bytes were received, if the egress port is not faster than the ingress port.
    CutThrough,
}

/// The packet buffer of a switch, shared by all ports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BufferSpec {
    /// Size of the whole buffer, headroom and reserves included [bytes].
    #[schemars(range(min = 1))]
    pub size_bytes: u64,
    /// Cell size: a frame occupies whole cells [bytes]; 1 counts the bytes of frames.
    #[schemars(range(min = 1))]
    pub cell_bytes: u64,
    /// Dynamic threshold of lossy priorities: maximum egress queue relative to the free shared buffer.
    /// Without it only the whole buffer is a limit.
    pub lossy_alpha: Option<RatioSpec>,
    /// When the buffer space of a frame is released.
    #[serde(default = "ReleaseSpec::start", skip_serializing_if = "ReleaseSpec::is_start")]
    pub release: ReleaseSpec,
    /// Part of the pipeline latency inside the buffer [ps]: delays the release of frames.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pipeline_ps: u64,
    /// Pools of the buffer, if modelled; they replace `lossy_alpha`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pools: Option<PoolsSpec>,
}

/// When the buffer space of a frame is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ReleaseSpec {
    /// All of it when its transmission starts.
    Start {},
    /// All of it at the end of its transmission.
    End {},
    /// Each cell when its last byte was sent.
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
    /// Numerator, at least 1.
    #[schemars(range(min = 1))]
    pub numerator: u32,
    /// Denominator, at least 1.
    #[schemars(range(min = 1))]
    pub denominator: u32,
}

impl RatioSpec {
    /// The ratio of a number of bytes, rounded down.
    #[inline]
    pub const fn of(self, bytes: u64) -> u64 {
        bytes.saturating_mul(self.numerator as u64) / self.denominator as u64
    }

    /// The smallest number whose product with the ratio is at least `bytes`.
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

/// Scheduled switches, instead of Ethernet ones: each leaf has a virtual output queue (VOQ) per host-facing
/// port of the fabric and priority. It sends from a VOQ only as the scheduler of that port grants credits,
/// and sprays the data as cells over all its fabric links. The buffer and PFC of the switch are those of the
/// VOQs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduledSpec {
    /// Bytes that a VOQ may send per credit [bytes on the link of the host, preamble and gap included].
    #[schemars(range(max = 1 << 20))]
    pub credit_bytes: u32,
    /// Rate of credits relative to that of their port [parts per million].
    #[schemars(range(min = 100_000, max = 10_000_000))]
    pub credit_speedup_ppm: u32,
    /// Maximum cell on a fabric link, header included [bytes].
    #[schemars(range(max = 4_096))]
    pub cell_bytes: u32,
    /// Header of a cell [bytes].
    pub cell_header_bytes: u32,
    /// Size of a request or grant on a fabric link [bytes].
    #[schemars(range(min = 1))]
    pub control_cell_bytes: u32,
    /// Rate of fabric links for cells, relative to their rate in the topology [parts per million].
    #[schemars(range(min = 100_000, max = 10_000_000))]
    pub fabric_speedup_ppm: u32,
    /// Maximum of granted bytes of a priority that a port has not sent [bytes]; twice the bandwidth-delay
    /// product of the port and one round trip through the fabric when absent.
    pub egress_buffer_bytes: Option<u64>,
}
