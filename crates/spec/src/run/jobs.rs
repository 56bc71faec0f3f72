//! Parameters of jobs: collectives, open-loop messages and storage over RDMA, with rounds, overheads and
//! handshakes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{DURATION_PS_MAX, RATE_BPS_MAX};

/// One tenant: ranks that run a collective.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobSpec {
    /// Unique name.
    pub name: String,
    /// The host of each rank, in rank order: rank `i` runs on host `hosts[i]`. Ranks of one host are
    /// processes that share its NIC; they send to each other through shared memory.
    pub hosts: Vec<u32>,
    /// Collective of the workload registry, such as `all-reduce`.
    pub collective: String,
    /// Algorithm of that collective, such as `ring`.
    pub algorithm: String,
    /// Data size S of the collective [bytes]; its meaning per collective: models.md, section 2.
    #[schemars(range(min = 1))]
    pub data_bytes: u64,
    /// Data size of each round of a cycle, where rounds differ in size [bytes]: round `i` has entry `i`
    /// modulo their number. `data_bytes` is then the largest of them. Rounds share the queue pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_bytes: Option<Vec<u64>>,
    /// Number of its random streams, unique in the run: a job keeps its paths and patterns without the
    /// others.
    #[schemars(range(max = 65_535))]
    pub stream: u32,
    /// Root of gather and broadcast, receiver of incast [rank].
    pub root: u32,
    /// When the job starts [ps].
    pub start_ps: u64,
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
    /// Computation of each rank at the start of a round, before any post [ps]; none when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = DURATION_PS_MAX))]
    pub compute_ps: Option<u64>,
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
    /// Warm-up rounds before those, excluded from all results.
    #[schemars(range(max = 1_000_000))]
    pub warm_up_rounds: u32,
    /// The root is the next rank in each round.
    pub root_shift: bool,
    /// Barrier between rounds, by messages without payload; not part of any round.
    pub barrier: bool,
    /// Open-loop traffic instead of a collective's schedule: each rank offers messages of `data_bytes` to its
    /// peers of the pattern at these times, regardless of the progress of earlier ones.
    pub arrivals: Option<ArrivalsSpec>,
    /// Storage clients and targets instead of a collective; `collective` is then `storage`, and `data_bytes`
    /// the block size.
    pub storage: Option<StorageSpec>,
}

impl JobSpec {
    /// Number of rounds, warm-up included; `None` if the job runs until others end.
    pub const fn rounds_planned(&self) -> Option<u32> {
        match self.repeat.rounds() {
            Some(rounds) => Some(self.warm_up_rounds.saturating_add(rounds)),
            None => None,
        }
    }

    /// Number of phases of each rank: rounds and the barriers between them; `None` if the job runs until
    /// others end.
    pub const fn phases_planned(&self) -> Option<u32> {
        match self.rounds_planned() {
            Some(rounds) if self.barrier => Some(2 * rounds - 1),
            rounds => rounds,
        }
    }

    /// Period of the rounds: more than one if the root or the data size changes.
    pub fn rounds_of_a_cycle(&self) -> u32 {
        let ranks = if self.root_shift { self.hosts.len() } else { 1 };
        let rounds = self.round_bytes.as_ref().map_or(ranks, Vec::len) as u32;
        self.rounds_planned().map_or(rounds, |planned| rounds.min(planned))
    }

    /// Data size of a round of a cycle, counted from 0 [bytes].
    pub fn bytes_of_round(&self, round: u32) -> u64 {
        self.round_bytes.as_ref().map_or(self.data_bytes, |bytes| bytes[round as usize % bytes.len()])
    }

    /// Mean data size of the rounds of a cycle, rounded up [bytes].
    pub fn mean_round_bytes(&self) -> u64 {
        let rounds = self.rounds_of_a_cycle().max(1);
        let sum: u128 = (0..rounds).map(|round| u128::from(self.bytes_of_round(round))).sum();
        u64::try_from(sum.div_ceil(u128::from(rounds))).unwrap_or(u64::MAX)
    }

    /// Whether all rounds of the job are equal, without a barrier between them.
    pub const fn has_equal_rounds(&self) -> bool {
        !self.root_shift && !self.barrier && self.round_bytes.is_none()
    }

    /// Payload of all rounds, from that of a cycle [bytes]; 0 if the job runs until others end.
    pub fn bytes_of_all_rounds(&self, cycle_bytes: u64) -> u64 {
        let rounds = u64::from(self.rounds_planned().unwrap_or(0));
        (cycle_bytes / u64::from(self.rounds_of_a_cycle())).saturating_mul(rounds)
    }
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

/// Times at which open-loop messages are offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArrivalsSpec {
    /// Distribution of the gaps between messages of a rank.
    pub process: ArrivalProcess,
    /// Mean payload rate offered by each sending rank [bit/s].
    #[schemars(range(min = 1, max = RATE_BPS_MAX))]
    pub rate_bps: u64,
    /// Duration, from the start of the job [ps].
    #[schemars(range(min = 1, max = DURATION_PS_MAX))]
    pub duration_ps: u64,
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

/// Storage over RDMA (NVMe over Fabrics): clients keep operations outstanding, each to a random target. The
/// block size is the data size of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StorageSpec {
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
