//! Pools of a packet buffer, as switch chips divide it.

use super::XoffSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Pools of a packet buffer. A frame is accounted twice: at its ingress for its priority group, which is one
/// (ingress port, priority), and at its egress for its queue, which is one (egress port, priority). A group
/// or queue of a priority in no pool has the whole buffer for a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolsSpec {
    /// Pools of priority groups.
    pub ingress: Vec<IngressPoolSpec>,
    /// Pools of egress queues.
    pub egress: Vec<EgressPoolSpec>,
}

/// A pool of priority groups. Of those of lossless priorities PFC says what each may hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IngressPoolSpec {
    /// Name of the pool.
    pub name: String,
    /// Priorities whose groups are in it.
    #[schemars(inner(range(max = 7)))]
    pub priorities: Vec<u8>,
    /// What its groups may hold in all, reserves included and headroom not, unless it says so [bytes].
    #[schemars(range(min = 1))]
    pub size_bytes: u64,
    /// Headroom that its lossless groups share [bytes]; absent, each has its own.
    pub headroom_bytes: Option<u64>,
    /// Headroom is a part of `size_bytes`, not beside it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub headroom_in_size: bool,
    /// When all its lossless groups ask for a pause, if they ever do.
    pub xoff: Option<PoolXoffSpec>,
    /// Reserved for each of its lossy groups [bytes].
    pub reserved_bytes: u64,
    /// What each of its lossy groups may hold beyond that: a frame that would exceed it is dropped. Without
    /// it the pool alone is a limit.
    pub limit: Option<XoffSpec>,
    /// Lossy groups of some priorities that have a reserve and a limit of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ProfileSpec>,
}

/// What the groups or queues of some priorities of a pool may hold, where others of it hold something else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileSpec {
    /// The priorities, of those of the pool.
    #[schemars(inner(range(max = 7)))]
    pub priorities: Vec<u8>,
    /// Reserved for each group or queue [bytes].
    pub reserved_bytes: u64,
    /// What each may hold beyond that.
    pub limit: Option<XoffSpec>,
}

/// When lossless groups of a pool ask for a pause whatever each of them holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolXoffSpec {
    /// Once the groups hold more than this beyond their reserves [bytes]; absent, once the pool has no room.
    pub bytes: Option<u64>,
    /// Until they hold that much less [bytes].
    pub offset_bytes: u64,
    /// Which of them ask.
    pub pauses: PoolPauseSpec,
}

/// Which groups of a pool over its threshold ask for a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PoolPauseSpec {
    /// Those that hold something beyond their reserve, while they do.
    Holders,
    /// These, and all of ports to hosts, whatever they hold.
    HostPorts,
}

/// A pool of egress queues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EgressPoolSpec {
    /// Name of the pool.
    pub name: String,
    /// Priorities whose queues are in it.
    #[schemars(inner(range(max = 7)))]
    pub priorities: Vec<u8>,
    /// What its queues may hold in all, reserves included [bytes].
    #[schemars(range(min = 1))]
    pub size_bytes: u64,
    /// Reserved for each of its queues [bytes].
    pub reserved_bytes: u64,
    /// What each queue may hold beyond that: a frame that would exceed it is dropped. Without it the pool
    /// alone is a limit.
    pub limit: Option<XoffSpec>,
    /// Queues of some priorities that have a reserve and a limit of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<ProfileSpec>,
}
