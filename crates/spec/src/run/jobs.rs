//! What the hosts do.

use super::StorageSpec;
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
    /// processes that share its NIC; what they send each other takes its shared memory.
    pub hosts: Vec<u32>,
    /// What the ranks do together: a collective of the workload registry, such as `all-reduce`.
    pub collective: String,
    /// How they do it: an algorithm of that collective, such as `ring`.
    pub algorithm: String,
    /// Data size S of the collective [bytes]; models.md, section 2 says what it means for each.
    #[schemars(range(min = 1))]
    pub data_bytes: u64,
    /// Data size of each round of a cycle, where rounds differ in size [bytes]: round `i` has entry `i` modulo
    /// their number. `data_bytes` is then the largest of them. Rounds share the queue pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_bytes: Option<Vec<u64>>,
    /// Number of its random draws, unique in the run: a job keeps its paths and patterns when others leave.
    #[schemars(range(max = 65_535))]
    pub stream: u32,
    /// Root of gather and broadcast, receiver of incast [rank].
    pub root: u32,
    /// When the job starts [ps].
    pub start_ps: u64,
    /// Software overhead before each transfer is posted, once its dependencies have arrived [ps].
    #[schemars(range(max = DURATION_PS_MAX))]
    pub step_overhead_ps: u64,
    /// Time for which a rank is busy with each message it sends, one after the other: o_s of LogGP [ps].
    #[schemars(range(max = DURATION_PS_MAX))]
    pub send_overhead_ps: u64,
    /// Time for which a rank is busy with each message that has arrived, before what waits for it: o_r of
    /// LogGP [ps].
    #[schemars(range(max = DURATION_PS_MAX))]
    pub receive_overhead_ps: u64,
    /// Large messages between hosts are announced and wait until they are cleared, as in MPI.
    pub rendezvous: Option<RendezvousSpec>,
    /// Each rank copies its own block in memory at the beginning of a round, before it posts anything: of
    /// collectives in which every rank has one, all-to-all and all-gather.
    pub copies_own_block: bool,
    /// Each rank computes for so long at the beginning of a round, before it posts anything [ps]; not at all
    /// when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = DURATION_PS_MAX))]
    pub compute_ps: Option<u64>,
    /// Code point of its data, in place of that of the transport (RFC 2474).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 63))]
    pub dscp: Option<u8>,
    /// How often the job runs.
    pub repeat: RepeatSpec,
    /// Rounds before those, like them but in none of their figures.
    #[schemars(range(max = 1_000_000))]
    pub warm_up_rounds: u32,
    /// The root moves on to the next rank from round to round.
    pub root_shift: bool,
    /// Ranks wait for each other between rounds, by messages without payload; no round contains that.
    pub barrier: bool,
    /// Open-loop traffic in place of a collective's schedule: each rank offers messages of `data_bytes` to
    /// its peers of the pattern at these times, whatever became of those before.
    pub arrivals: Option<ArrivalsSpec>,
    /// Storage clients and targets in place of a collective; then `collective` is `storage`, and `data_bytes`
    /// the block size.
    pub storage: Option<StorageSpec>,
}

impl JobSpec {
    /// Rounds to run, those to warm up included; none when others decide.
    #[must_use]
    pub const fn rounds_planned(&self) -> Option<u32> {
        match self.repeat.rounds() {
            Some(rounds) => Some(self.warm_up_rounds.saturating_add(rounds)),
            None => None,
        }
    }

    /// Phases of each rank, rounds to run and the barriers between them; none when others decide.
    #[must_use]
    pub const fn phases_planned(&self) -> Option<u32> {
        match self.rounds_planned() {
            Some(rounds) if self.barrier => Some(2 * rounds - 1),
            rounds => rounds,
        }
    }

    /// Rounds until one is like the first: more than one if the root or the data size changes.
    #[must_use]
    pub fn rounds_of_a_cycle(&self) -> u32 {
        let ranks = if self.root_shift { self.hosts.len() } else { 1 };
        let rounds = self.round_bytes.as_ref().map_or(ranks, Vec::len) as u32;
        self.rounds_planned().map_or(rounds, |planned| rounds.min(planned))
    }

    /// Data size of a round of a cycle, counted from 0 [bytes].
    #[must_use]
    pub fn bytes_of_round(&self, round: u32) -> u64 {
        self.round_bytes.as_ref().map_or(self.data_bytes, |bytes| bytes[round as usize % bytes.len()])
    }

    /// Mean data size of the rounds of a cycle, rounded up [bytes].
    #[must_use]
    pub fn mean_round_bytes(&self) -> u64 {
        let rounds = self.rounds_of_a_cycle().max(1);
        let sum: u128 = (0..rounds).map(|round| u128::from(self.bytes_of_round(round))).sum();
        u64::try_from(sum.div_ceil(u128::from(rounds))).unwrap_or(u64::MAX)
    }

    /// All rounds of the job are the same, without anything between them.
    #[must_use]
    pub const fn has_equal_rounds(&self) -> bool {
        !self.root_shift && !self.barrier && self.round_bytes.is_none()
    }

    /// Payload of all rounds to run where those of a cycle have so much [bytes]; none when others decide how
    /// many there are.
    #[must_use]
    pub fn bytes_of_all_rounds(&self, cycle_bytes: u64) -> u64 {
        let rounds = u64::from(self.rounds_planned().unwrap_or(0));
        (cycle_bytes / u64::from(self.rounds_of_a_cycle())).saturating_mul(rounds)
    }
}

/// The handshake before large messages: the sender announces one (RTS), the receiver clears it (CTS), then it
/// is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RendezvousSpec {
    /// Messages of this size and more have it [bytes].
    #[schemars(range(max = 1_u64 << 50))]
    pub threshold_bytes: u64,
    /// Payload of an announcement, and of a clearance [bytes].
    #[schemars(range(min = 1, max = 4_096))]
    pub control_bytes: u64,
}

/// When open-loop messages are offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArrivalsSpec {
    /// How the gaps between the messages of a rank are distributed.
    pub process: ArrivalProcess,
    /// Mean payload rate offered by each sending rank [bit/s].
    #[schemars(range(min = 1, max = RATE_BPS_MAX))]
    pub rate_bps: u64,
    /// Messages are offered for so long, from the start of the job [ps].
    #[schemars(range(min = 1, max = DURATION_PS_MAX))]
    pub duration_ps: u64,
}

/// How gaps between messages are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalProcess {
    /// Exponential gaps.
    Poisson,
    /// Equal gaps, after a random phase for each rank.
    Constant,
}

/// How often a job runs within one run. A rank starts its next round when everything it sent in this one is
/// acknowledged and everything it receives in it has arrived; there is no barrier between the ranks. Rounds
/// share the queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RepeatSpec {
    /// A number of rounds, back to back.
    Rounds {
        /// How many, 1 or more.
        #[schemars(range(min = 1))]
        rounds: u32,
    },
    /// Round after round until every job that is not repeated in this way has ended; what is under way then
    /// is cut off.
    UntilOthersEnd {},
}

impl RepeatSpec {
    /// Rounds to run; none when others decide.
    #[must_use]
    pub const fn rounds(self) -> Option<u32> {
        match self {
            Self::Rounds { rounds } => Some(rounds),
            Self::UntilOthersEnd {} => None,
        }
    }
}
