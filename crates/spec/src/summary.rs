//! What a run tells of itself, beside the record tables.

use serde::Serialize;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Every chunk of every job completed.
    Complete,
    /// A chunk failed, or could never start.
    Incomplete,
    /// Nothing was delivered any more while pauses were renewed, or pauses waited for each other in a circle.
    Stalled,
}

/// Frames lost, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LossCauses {
    /// The switch's buffer, or the share of a lossy queue, was full.
    pub buffer_full: u64,
    /// A lossless frame found the headroom full: it was configured too small.
    pub headroom_overrun: u64,
    /// WRED dropped it before the buffer was full.
    pub wred: u64,
    /// A NIC's receive buffer was full.
    pub host_overrun: u64,
    /// The PFC watchdog dropped what was bound for a queue in a storm.
    pub pfc_watchdog: u64,
    /// A link on the path was down, or no path to the destination was left.
    pub link_down: u64,
    /// A link corrupted the frame, which was dropped where it arrived.
    pub bit_error: u64,
}

impl LossCauses {
    /// Frames lost for any cause.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.buffer_full
            + self.headroom_overrun
            + self.wred
            + self.host_overrun
            + self.pfc_watchdog
            + self.link_down
            + self.bit_error
    }
}

/// One job's part of the summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobSummary {
    /// Its name.
    pub name: String,
    /// How it ended.
    pub status: RunStatus,
    /// When it started [ps].
    pub start_ps: u64,
    /// When the last chunk of its last complete round was acknowledged [ps]; none unless complete, or without
    /// such a round.
    pub end_ps: Option<u64>,
    /// Complete rounds before the first that is not, without those to warm up.
    pub rounds: u32,
    /// Complete rounds to warm up.
    pub warm_up_rounds: u32,
    /// What the complete rounds took, without those to warm up; none without one, as the next fields.
    pub round_times: Option<RoundTimes>,
    /// The same by data size, of a job whose rounds have several; without sizes of which no round is complete.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub size_times: Vec<SizeTimes>,
    /// What a round took of the time of single ranks, from its beginning of the round to its end there; none
    /// unless complete.
    pub rank_times: Option<RankTimes>,
    /// Chunks of all its rounds; of a job that runs until others end, those that were posted.
    pub chunks: u64,
    /// Those complete.
    pub chunks_complete: u64,
    /// Those failed.
    pub chunks_failed: u64,
    /// What came after its chunk had been delivered, and so is in no row of the chunks.
    pub late: LateFrames,
    /// Why it is incomplete, with the first chunks concerned; empty otherwise.
    pub reason: String,
}

/// Frames that came after their chunk had been delivered: they had been sent again without need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LateFrames {
    /// All of them.
    pub frames: u64,
    /// Those that came marked.
    pub ecn_ce_rx: u64,
    /// Congestion notifications sent in answer to them.
    pub cnp_tx: u64,
}

/// What rounds of a job took. Where ranks wait for each other in between, a round begins with the first rank
/// that begins it and ends when its last chunk is acknowledged. Back to back each rank begins its next round
/// when it has ended the one before, and a round takes what it takes its slowest rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RoundTimes {
    /// All of them [ps]: where ranks wait for each other in between, the sum of their times; back to back the
    /// time from the start of the job to the end of the last, after rounds to warm up that from the first to
    /// the last at the slowest rank.
    pub sum_ps: u64,
    /// The shortest [ps].
    pub min_ps: u64,
    /// The longest [ps].
    pub max_ps: u64,
}

/// Complete rounds of one data size. Each takes what it takes its slowest rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SizeTimes {
    /// The data size [bytes].
    pub data_bytes: u64,
    /// How many rounds have it, without those to warm up.
    pub rounds: u32,
    /// Sum of their times [ps].
    pub sum_ps: u64,
    /// The shortest [ps].
    pub min_ps: u64,
    /// The longest [ps].
    pub max_ps: u64,
}

impl SizeTimes {
    /// Adds a round that took so long [ps].
    pub fn add(&mut self, took_ps: u64) {
        self.min_ps = if self.rounds == 0 { took_ps } else { self.min_ps.min(took_ps) };
        self.max_ps = self.max_ps.max(took_ps);
        self.sum_ps += took_ps;
        self.rounds += 1;
    }
}

/// Mean time of a round at each rank, over ranks: t_min, t_avg and t_max of the Intel MPI Benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RankTimes {
    /// The rank with the least [ps].
    pub min_ps: u64,
    /// Mean over the ranks [ps].
    pub mean_ps: u64,
    /// The rank with the most [ps].
    pub max_ps: u64,
}

/// What became of the TCP traffic of one entry of the spec.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TcpSummary {
    /// Its name.
    pub name: String,
    /// When the first application wrote [ps]; none if none did.
    pub start_ps: Option<u64>,
    /// When everything was acknowledged, or when the run cut it off [ps].
    pub end_ps: u64,
    /// Hosts that send.
    pub senders: u64,
    /// Connections.
    pub connections: u64,
    /// Those of which everything was acknowledged.
    pub connections_complete: u64,
    /// Payload that the applications wanted to send [bytes]; none if they always have more.
    pub offered_bytes: Option<u64>,
    /// Payload delivered in order [bytes].
    pub delivered_bytes: u64,
    /// Segments sent, again or for the first time.
    pub segments: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Recoveries that began by selective acknowledgements.
    pub fast_recoveries: u64,
    /// Segments that arrived with congestion experienced.
    pub ecn_ce_rx: u64,
    /// Frames of its priority that found a buffer full or that WRED dropped, those of others in that priority
    /// included.
    pub dropped_frames: u64,
    /// Smoothed round-trip time over all measurements of all connections: mean, median, 99th percentile and
    /// largest [ps]; none without a measurement.
    pub rtt_mean_ps: Option<u64>,
    /// Median.
    pub rtt_p50_ps: Option<u64>,
    /// 99th percentile.
    pub rtt_p99_ps: Option<u64>,
    /// Largest.
    pub rtt_max_ps: Option<u64>,
    /// Writes of a closed loop that were acknowledged; none without one.
    pub writes: Option<u64>,
    /// Time from the issue of a write to the acknowledgement of its last byte: mean, median, 99th percentile
    /// and largest [ps]; none without a closed loop.
    pub write_mean_ps: Option<u64>,
    /// Median.
    pub write_p50_ps: Option<u64>,
    /// 99th percentile.
    pub write_p99_ps: Option<u64>,
    /// Largest.
    pub write_max_ps: Option<u64>,
}

/// Facts of a whole run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunSummary {
    /// Complete when every job is.
    pub status: RunStatus,
    /// Simulated time at the end [ps].
    pub end_ps: u64,
    /// Each job, in the order of the spec.
    pub jobs: Vec<JobSummary>,
    /// TCP traffic, in the order of the spec.
    pub tcp: Vec<TcpSummary>,
    /// Frames put on a link by a host.
    pub frames_sent: u64,
    /// Frames that arrived at their host.
    pub frames_delivered: u64,
    /// Frames lost, by cause.
    pub frames_lost: LossCauses,
    /// Frames still in flight when the run ended.
    pub frames_in_flight: u64,
    /// Frames crossing a link, every kind and every link counted.
    pub packet_hops: u64,
    /// Node activations of the engine.
    pub events: u64,
    /// Switch windows on the fast path and on the exact path.
    pub fast_windows: u64,
    /// See `fast_windows`.
    pub exact_windows: u64,
    /// Length of a time window [ps].
    pub window_ps: u64,
    /// Simulated time that was skipped because it repeated what came before [ps].
    pub fast_forward_ps: u64,
}
