//! Parameters of the pools into which switch chips divide a packet buffer: sizes, reserves, limits and pause
//! thresholds.

use super::XoffSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Pools of a packet buffer. A frame is accounted twice: at its ingress for its priority group, which is one
/// (ingress port, priority), and at its egress for its queue, which is one (egress port, priority). A group
/// or queue of a priority without a pool is limited by the whole buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolsSpec {
    /// Pools of priority groups.
    pub ingress: Vec<IngressPoolSpec>,
    /// Pools of egress queues.
    pub egress: Vec<EgressPoolSpec>,
}

/// A pool of priority groups. PFC limits the groups of lossless priorities.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IngressPoolSpec {
    /// Name of the pool.
    pub name: String,
    /// Priorities of its groups.
    #[schemars(inner(range(max = 7)))]
    pub priorities: Vec<u8>,
    /// Total size, reserves included, and headroom if `headroom_in_size` [bytes].
    #[schemars(range(min = 1))]
    pub size_bytes: u64,
    /// Headroom shared by its lossless groups [bytes]; each has its own when absent.
    pub headroom_bytes: Option<u64>,
    /// Headroom is a part of `size_bytes`, not added to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub headroom_in_size: bool,
    /// Threshold of the pool at which its lossless groups request a pause, if any.
    pub xoff: Option<PoolXoffSpec>,
    /// Reserve of each lossy group [bytes].
    pub reserved_bytes: u64,
    /// Limit of each lossy group beyond its reserve; frames that would exceed it are dropped. Without it only
    /// the pool is a limit.
    pub limit: Option<XoffSpec>,
    /// Reserves and limits of the lossy groups of some priorities.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ProfileSpec>,
}

/// Reserve and limit of the groups or queues of some priorities of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileSpec {
    /// Some priorities of the pool.
    #[schemars(inner(range(max = 7)))]
    pub priorities: Vec<u8>,
    /// Reserve of each group or queue [bytes].
    pub reserved_bytes: u64,
    /// Limit of each beyond its reserve.
    pub limit: Option<XoffSpec>,
}

/// Threshold at which lossless groups of a pool request a pause regardless of their own occupancy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolXoffSpec {
    /// Total occupancy beyond the reserves at which the pauses start [bytes]; when the pool is full if
    /// absent.
    pub bytes: Option<u64>,
    /// The pauses end when the occupancy is this far below the threshold [bytes].
    pub offset_bytes: u64,
    /// Groups that request a pause.
    pub pauses: PoolPauseSpec,
}

/// Groups of a pool above its threshold that request a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PoolPauseSpec {
    /// Those whose occupancy exceeds their reserve, as long as it does.
    Holders,
    /// Those, and all groups of host-facing ports.
    HostPorts,
}

/// A pool of egress queues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EgressPoolSpec {
    /// Name of the pool.
    pub name: String,
    /// Priorities of its queues.
    #[schemars(inner(range(max = 7)))]
    pub priorities: Vec<u8>,
    /// Total size, reserves included [bytes].
    #[schemars(range(min = 1))]
    pub size_bytes: u64,
    /// Reserve of each queue [bytes].
    pub reserved_bytes: u64,
    /// Limit of each queue beyond its reserve; frames that would exceed it are dropped. Without it only the
    /// pool is a limit.
    pub limit: Option<XoffSpec>,
    /// Reserves and limits of the queues of some priorities.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ProfileSpec>,
}
