//! Priority flow control.

use super::RatioSpec;
use super::limits::{PAUSE_DELAY_PS_MAX, is_zero};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Priority flow control (IEEE 802.1Qbb).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PfcSpec {
    /// Lossless priorities.
    #[schemars(inner(range(max = 7)))]
    pub priorities: Vec<u8>,
    /// How much of the shared buffer one (ingress port, priority) may hold before it asks for a pause.
    pub xoff: XoffSpec,
    /// The pause ends once that much less than at the threshold is held [bytes].
    pub xon_offset_bytes: u64,
    /// Buffer reserved for each (ingress port, lossless priority) [bytes].
    pub reserved_bytes: u64,
    /// Buffer kept for what is still in flight after a pause was requested, for each (ingress port, lossless
    /// priority) [bytes]; computed from rate, delay and response time of the port when absent.
    pub headroom_bytes: Option<u64>,
    /// Pause time requested [quanta of 512 bit times].
    #[schemars(range(min = 1))]
    pub quanta: u16,
    /// A pause ends when its time is over, not by a pause frame with zero quanta (XON).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends_by_time: bool,
    /// From the crossing of a threshold, behind the pipeline, to the earliest start of the pause frame [ps].
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(max = PAUSE_DELAY_PS_MAX))]
    pub response_ps: u64,
    /// From the last bit of a pause frame in to its effect [ps], the pipeline latency or more; that latency
    /// when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = PAUSE_DELAY_PS_MAX))]
    pub reaction_ps: Option<u64>,
    /// The watchdog of paused queues, if there is one.
    pub watchdog: Option<WatchdogSpec>,
}

/// PFC watchdog of the egress queues of switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WatchdogSpec {
    /// A queue that is paused, holds frames and has sent none for this long is in a storm [ps].
    #[schemars(range(min = 1))]
    pub detection_ps: u64,
    /// The storm is over when no pause has come in for this long [ps].
    #[schemars(range(min = 1))]
    pub restoration_ps: u64,
    /// What becomes of the frames of a queue in a storm.
    pub action: StormActionSpec,
}

/// What becomes of the frames of a queue in a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StormActionSpec {
    /// They are dropped.
    Drop,
    /// They are sent as if there were no pause.
    Forward,
}

/// Threshold of a pause, or of what a group or queue may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum XoffSpec {
    /// A fixed number of bytes.
    Static {
        /// The threshold [bytes].
        bytes: u64,
    },
    /// A share of the shared buffer that is free.
    Dynamic {
        /// The share.
        alpha: RatioSpec,
    },
}
