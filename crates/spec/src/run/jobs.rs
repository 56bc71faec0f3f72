//! [`JobSpec`]: ranks on hosts, with their work, rounds and priority.

use crate::{CollectiveSpec, Work};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One tenant: ranks that do the same work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobSpec {
    /// Unique name.
    pub name: String,
    /// The host of each rank, in rank order: rank `i` runs on host `hosts[i]`. Ranks of one host are
    /// processes that share its NIC; they send to each other through shared memory.
    pub hosts: Vec<u32>,
    /// The GPU of each rank on its host, where hosts are servers; empty otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<u32>,
    /// Number of its random streams, unique in the run: a job keeps its paths and patterns without the
    /// others.
    #[schemars(range(max = 65_535))]
    pub stream: u32,
    /// When the job starts [ps].
    pub start_ps: u64,
    /// Code point of its data, instead of that of the transport (RFC 2474).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 63))]
    pub dscp: Option<u8>,
    /// Priority of its data (IEEE 802.1Q), instead of that of the transport.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 7))]
    pub priority: Option<u8>,
    /// Number of rounds.
    pub repeat: RepeatSpec,
    /// What the ranks do.
    pub work: Work,
}

impl JobSpec {
    /// Number of rounds, warm-up included; `None` if the job runs until others end.
    pub fn rounds_planned(&self) -> Option<u32> {
        let warm_up_rounds = self.work.collective().map_or(0, |collective| collective.warm_up_rounds);
        self.repeat.rounds().map(|rounds| rounds.saturating_add(warm_up_rounds))
    }

    /// Number of phases of each rank: rounds and the barriers between them; `None` if the job runs until
    /// others end.
    pub fn phases_planned(&self) -> Option<u32> {
        let has_barriers = self.work.collective().is_some_and(|collective| collective.barrier);
        self.rounds_planned().map(|rounds| if has_barriers { 2 * rounds - 1 } else { rounds })
    }

    /// Period of the rounds: more than one if the root or the data size changes.
    pub fn rounds_of_a_cycle(&self) -> u32 {
        let rounds = match self.work.collective() {
            Some(CollectiveSpec { round_bytes: Some(bytes), .. }) => bytes.len(),
            Some(CollectiveSpec { root_shift: true, .. }) => self.hosts.len(),
            _ => 1,
        } as u32;
        self.rounds_planned().map_or(rounds, |planned| rounds.min(planned))
    }

    /// Payload of all rounds, from that of a cycle [bytes]; 0 if the job runs until others end.
    pub fn bytes_of_all_rounds(&self, cycle_bytes: u64) -> u64 {
        let rounds = u64::from(self.rounds_planned().unwrap_or(0));
        (cycle_bytes / u64::from(self.rounds_of_a_cycle())).saturating_mul(rounds)
    }
}

/// Number of rounds of a job within a run. A rank starts its next round when all it sent in this one is
/// acknowledged and all it receives has arrived; there is no barrier between the ranks. Rounds share the
/// queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RepeatSpec {
    /// A fixed number of rounds, back to back.
    Rounds {
        /// Number of rounds; at least 1.
        #[schemars(range(min = 1))]
        rounds: u32,
    },
    /// Rounds until every job with a fixed number of rounds has ended; transfers in flight are then cut off.
    UntilOthersEnd {},
}

impl RepeatSpec {
    /// Number of rounds; `None` if the job runs until others end.
    pub const fn rounds(self) -> Option<u32> {
        match self {
            Self::Rounds { rounds } => Some(rounds),
            Self::UntilOthersEnd {} => None,
        }
    }
}
