//! Work of a job: a collective, open-loop messages, or storage over RDMA, each with its own parameters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{DURATION_PS_MAX, RATE_BPS_MAX};
use workload::NcclConfig;

/// Work of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Work {
    /// A collective: transfers that depend on each other, in rounds.
    Collective(CollectiveSpec),
    /// Open-loop traffic: messages at given times, regardless of the progress of earlier ones.
    OpenLoop(OpenLoopSpec),
    /// Storage clients and targets.
    Storage(StorageSpec),
}

impl Work {
    /// The collective, if it is one.
    pub const fn collective(&self) -> Option<&CollectiveSpec> {
        match self {
            Self::Collective(collective) => Some(collective),
            Self::OpenLoop(_) | Self::Storage(_) => None,
        }
    }

    /// The collective as NCCL runs it, if it does.
    pub fn nccl(&self) -> Option<&NcclConfig> {
        self.collective()?.nccl.as_ref()
    }

    /// The open-loop traffic, if it is such.
    pub const fn open_loop(&self) -> Option<&OpenLoopSpec> {
        match self {
            Self::OpenLoop(open_loop) => Some(open_loop),
            Self::Collective(_) | Self::Storage(_) => None,
        }
    }

    /// The storage, if it is storage.
    pub const fn storage(&self) -> Option<&StorageSpec> {
        match self {
            Self::Storage(storage) => Some(storage),
            Self::Collective(_) | Self::OpenLoop(_) => None,
        }
    }

    /// The pattern of the transfers; `None` for storage, whose clients draw the target of each operation.
    pub const fn pattern(&self) -> Option<&PatternSpec> {
        match self {
            Self::Collective(collective) => Some(&collective.pattern),
            Self::OpenLoop(open_loop) => Some(&open_loop.pattern),
            Self::Storage(_) => None,
        }
    }

    /// Maximum size of a transfer: data of a collective, a message, or a block [bytes].
    pub const fn transfer_bytes_max(&self) -> u64 {
        match self {
            Self::Storage(storage) => storage.block_bytes,
            Self::Collective(CollectiveSpec { pattern, .. })
            | Self::OpenLoop(OpenLoopSpec { pattern, .. }) => pattern.data_bytes,
        }
    }
}

/// Which ranks send how much to which others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatternSpec {
    /// Collective of the workload registry, such as `all-reduce`.
    pub collective: String,
    /// Algorithm of that collective, such as `ring`.
    pub algorithm: String,
    /// Data size S of the collective, or size of an open-loop message [bytes]; its meaning per collective:
    /// models.md, section 2.
    #[schemars(range(min = 1))]
    pub data_bytes: u64,
    /// Root of gather and broadcast, receiver of incast [rank].
    pub root: u32,
}

/// A collective in one or more rounds, with the software times of its ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct CollectiveSpec {
    /// Its transfers.
    pub pattern: PatternSpec,
    /// Data size of each round of a cycle, where rounds differ in size [bytes]: round `i` has entry `i`
    /// modulo their number. The data size of the pattern is then the largest of them. Rounds share the queue
    /// pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_bytes: Option<Vec<u64>>,
    /// Software overhead before each transfer is posted, once its dependencies have arrived [ps].
    #[schemars(range(max = DURATION_PS_MAX))]
    pub step_overhead_ps: u64,
    /// Time for which a rank is busy with each message it sends, one at a time: o_s of LogGP [ps].
    #[schemars(range(max = DURATION_PS_MAX))]
    pub send_overhead_ps: u64,
    /// Time for which a rank is busy with each message that has arrived, before dependent messages are
    /// posted: o_r of LogGP [ps].
    #[schemars(range(max = DURATION_PS_MAX))]
    pub receive_overhead_ps: u64,
    /// Handshake before large messages between hosts, as in MPI.
    pub rendezvous: Option<RendezvousSpec>,
    /// Each rank copies its own block in memory at the start of a round, before any post: for collectives in
    /// which each rank has one, all-to-all and all-gather.
    pub copies_own_block: bool,
    /// Computation of each rank at the start of a round, before any post [ps].
    #[schemars(range(max = DURATION_PS_MAX))]
    pub compute_ps: u64,
    /// Warm-up rounds before the rounds of the job, excluded from all results.
    #[schemars(range(max = 1_000_000))]
    pub warm_up_rounds: u32,
    /// The root is the next rank in each round.
    pub root_shift: bool,
    /// Barrier between rounds, by messages without payload; not part of any round.
    pub barrier: bool,
    /// The collective as NCCL runs it over servers; when absent, the algorithm of the pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nccl: Option<NcclConfig>,
}

impl CollectiveSpec {
    /// Data size of a round of a cycle, counted from 0 [bytes].
    pub fn bytes_of_round(&self, round: u32) -> u64 {
        self.round_bytes.as_ref().map_or(self.pattern.data_bytes, |bytes| bytes[round as usize % bytes.len()])
    }

    /// Mean data size of the rounds of a cycle, rounded up [bytes].
    pub fn mean_round_bytes(&self) -> u64 {
        self.round_bytes.as_ref().map_or(self.pattern.data_bytes, |bytes| {
            let sum: u128 = bytes.iter().copied().map(u128::from).sum();
            sum.div_ceil(bytes.len() as u128) as u64
        })
    }

    /// Whether all rounds are equal, without a barrier between them.
    pub const fn has_equal_rounds(&self) -> bool {
        !self.root_shift && !self.barrier && self.round_bytes.is_none()
    }
}

/// Open-loop traffic: each rank offers messages to its peers of the pattern at drawn times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct OpenLoopSpec {
    /// Peers of each rank, and size of a message.
    pub pattern: PatternSpec,
    /// Distribution of the gaps between messages of a rank.
    pub process: ArrivalProcess,
    /// Mean payload rate offered by each sending rank [bit/s].
    #[schemars(range(min = 1, max = RATE_BPS_MAX))]
    pub rate_bps: u64,
    /// Duration, from the start of the job [ps].
    #[schemars(range(min = 1, max = DURATION_PS_MAX))]
    pub duration_ps: u64,
}

/// Handshake before large messages: the sender announces one (RTS), the receiver clears it (CTS), then it is
/// sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RendezvousSpec {
    /// Minimum size of messages with a handshake [bytes].
    #[schemars(range(max = 1_u64 << 50))]
    pub threshold_bytes: u64,
    /// Payload of an announcement and of a clearance [bytes].
    #[schemars(range(min = 1, max = 4_096))]
    pub control_bytes: u64,
}

/// Distribution of gaps between messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalProcess {
    /// Exponential gaps.
    Poisson,
    /// Equal gaps, with a random phase per rank.
    Constant,
}

/// Storage over RDMA (NVMe over Fabrics): clients keep operations outstanding, each to a random target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct StorageSpec {
    /// Data of each operation [bytes].
    #[schemars(range(min = 1))]
    pub block_bytes: u64,
    /// Number of clients: the first ranks of the job; the others are targets.
    pub clients: u32,
    /// Outstanding operations of each client, 1 to 65,535.
    #[schemars(range(min = 1, max = 65_535))]
    pub depth: u32,
    /// Fraction of operations that read [parts per million]; the others write.
    #[schemars(range(max = 1_000_000))]
    pub read_ppm: u32,
    /// When a client stops issuing operations; unused for a job that runs until others end.
    pub length: StorageLength,
    /// Warm-up: operations issued earlier after the start of the job are not measured [ps].
    #[schemars(range(max = DURATION_PS_MAX))]
    pub warm_up_ps: u64,
    /// Maximum block size of writes whose data are sent with the command [bytes]; above it the target fetches
    /// them with RDMA READ.
    pub in_capsule_bytes: u64,
    /// Maximum outstanding READ requests of a target per queue pair.
    #[schemars(range(min = 1, max = 65_535))]
    pub outstanding_reads: u32,
    /// Rate at which a target stores and fetches data [bit/s]; unlimited when absent.
    #[schemars(range(min = 1_000_000, max = RATE_BPS_MAX))]
    pub service_rate_bps: Option<u64>,
    /// Additional service time of a target per operation [ps]; operations are served one at a time.
    #[schemars(range(max = DURATION_PS_MAX))]
    pub service_time_ps: u64,
}

/// When a storage client stops issuing operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum StorageLength {
    /// After a time.
    Duration {
        /// From the start of the job [ps].
        #[schemars(range(min = 1, max = DURATION_PS_MAX))]
        duration_ps: u64,
    },
    /// After a number of operations.
    Operations {
        /// Number per client.
        #[schemars(range(min = 1, max = 1_000_000_000))]
        operations: u64,
    },
}
