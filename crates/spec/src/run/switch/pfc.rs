//! Parameters of priority flow control (PFC): pause thresholds, headroom, response times, and the watchdog of
//! paused queues.

use super::RatioSpec;
use crate::run::{PAUSE_DELAY_PS_MAX, is_zero};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Priority flow control (IEEE 802.1Qbb).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PfcSpec {
    /// Lossless priorities.
    #[schemars(inner(range(max = 7)))]
    pub priorities: Vec<u8>,
    /// Occupancy of the shared buffer by one (ingress port, priority) above which it requests a pause.
    pub xoff: XoffSpec,
    /// The pause ends when the occupancy is this far below the threshold [bytes].
    pub xon_offset_bytes: u64,
    /// Buffer reserved for each (ingress port, lossless priority) [bytes].
    pub reserved_bytes: u64,
    /// Headroom for data in flight after a pause request, per (ingress port, lossless priority) [bytes];
    /// computed from rate, delay and response time of the port when absent.
    pub headroom_bytes: Option<u64>,
    /// Pause time requested [quanta of 512 bit times].
    #[schemars(range(min = 1))]
    pub quanta: u16,
    /// A pause ends when its time expires, not by a pause frame with zero quanta (XON).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends_by_time: bool,
    /// Time from the crossing of a threshold, after the pipeline, to the earliest start of the pause frame
    /// [ps].
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(max = PAUSE_DELAY_PS_MAX))]
    pub response_ps: u64,
    /// Time from the last received bit of a pause frame to its effect [ps], at least the pipeline latency;
    /// that latency when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = PAUSE_DELAY_PS_MAX))]
    pub reaction_ps: Option<u64>,
    /// Watchdog of paused queues, if any.
    pub watchdog: Option<WatchdogSpec>,
}

/// PFC watchdog of the egress queues of switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WatchdogSpec {
    /// A non-empty paused queue that has sent nothing for this time is in a storm [ps].
    #[schemars(range(min = 1))]
    pub detection_ps: u64,
    /// The storm ends when no pause has arrived for this time [ps].
    #[schemars(range(min = 1))]
    pub restoration_ps: u64,
    /// Treatment of the frames of a queue in a storm.
    pub action: StormActionSpec,
}

/// Treatment of the frames of a queue in a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StormActionSpec {
    /// They are dropped.
    Drop,
    /// They are sent despite the pause.
    Forward,
}

/// Threshold of a pause, or limit of a priority group or queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum XoffSpec {
    /// A fixed number of bytes.
    Static {
        /// The threshold [bytes].
        bytes: u64,
    },
    /// A multiple of the free shared buffer.
    Dynamic {
        /// The factor.
        alpha: RatioSpec,
    },
}
