//! Summary of a run: status, times of jobs and rounds, frames and losses, TCP statistics, engine counters.

use serde::Serialize;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// All chunks of all jobs completed.
    Complete,
    /// A chunk failed, or could not start.
    Incomplete,
    /// Pauses were renewed without any delivery, or pauses waited for each other in a cycle.
    Stalled,
}

/// Frames lost, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LossCauses {
    /// The buffer of a switch was full, or a lossy queue was at its limit.
    pub buffer_full: u64,
    /// The headroom was full when a lossless frame arrived: it was configured too small.
    pub headroom_overrun: u64,
    /// Dropped by WRED before the buffer was full.
    pub wred: u64,
    /// A NIC's receive buffer was full.
    pub host_overrun: u64,
    /// Dropped by the PFC watchdog: bound for a queue in a storm.
    pub pfc_watchdog: u64,
    /// A link on the path was down, or the destination had no path.
    pub link_down: u64,
    /// Corrupted by a link, and dropped on arrival.
    pub bit_error: u64,
}

impl LossCauses {
    /// Total of all causes.
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

/// Summary of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobSummary {
    /// Its name.
    pub name: String,
    /// How it ended.
    pub status: RunStatus,
    /// When it started [ps].
    pub start_ps: u64,
    /// Acknowledgement of the last chunk of the last complete round [ps]; `None` unless complete, or without
    /// a complete round.
    pub end_ps: Option<u64>,
    /// Complete rounds before the first incomplete one, without warm-up.
    pub rounds: u32,
    /// Complete warm-up rounds.
    pub warm_up_rounds: u32,
    /// Times of complete rounds, without warm-up; `None` without one, like the next fields.
    pub round_times: Option<RoundTimes>,
    /// The same by data size, if rounds differ in size; only sizes with a complete round.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub size_times: Vec<SizeTimes>,
    /// Mean time of a round at single ranks, each from its own start to its own end of the round; `None`
    /// unless complete.
    pub rank_times: Option<RankTimes>,
    /// Chunks of all rounds; for a job that runs until others end, the posted ones.
    pub chunks: u64,
    /// Complete chunks.
    pub chunks_complete: u64,
    /// Failed chunks.
    pub chunks_failed: u64,
    /// Frames that arrived after their chunk was delivered, and are therefore in no row of table `chunks`.
    pub late: LateFrames,
    /// Messages of unreliable connections; `None` of others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<MessageCounts>,
    /// Why it is incomplete, with the first affected chunks; empty otherwise.
    pub reason: String,
}

/// Frames that arrived after their chunk was delivered: unnecessary retransmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LateFrames {
    /// Number of frames.
    pub frames: u64,
    /// Frames with congestion experienced.
    pub ecn_ce_rx: u64,
    /// Congestion notifications (CNP) sent in response.
    pub cnp_tx: u64,
}

/// Messages of unreliable connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MessageCounts {
    /// Messages sent completely.
    pub sent: u64,
    /// Messages that arrived completely; the others were dropped, or in flight when the run ended.
    pub received: u64,
}

impl MessageCounts {
    /// Messages that did not arrive.
    pub const fn lost(self) -> u64 {
        self.sent - self.received
    }
}

/// Times of the rounds of a job. With a barrier, a round starts with the first rank that starts it and ends
/// when its last chunk is acknowledged. Without one, each rank starts a round at the end of its previous one,
/// and the time of a round is that of its slowest rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RoundTimes {
    /// Total [ps]. With a barrier: sum of the times of rounds. Without one: from the start of the job to the
    /// end of the last round, or, after warm-up rounds, from the first to the last at the slowest rank.
    pub sum_ps: u64,
    /// The shortest [ps].
    pub min_ps: u64,
    /// The longest [ps].
    pub max_ps: u64,
}

/// Complete rounds of one data size; the time of a round is that of its slowest rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SizeTimes {
    /// The data size [bytes].
    pub data_bytes: u64,
    /// Number of rounds, without warm-up.
    pub rounds: u32,
    /// Sum of their times [ps].
    pub sum_ps: u64,
    /// The shortest [ps].
    pub min_ps: u64,
    /// The longest [ps].
    pub max_ps: u64,
}

impl SizeTimes {
    /// Adds a round with this time [ps].
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
    /// Minimum over the ranks [ps].
    pub min_ps: u64,
    /// Mean over the ranks [ps].
    pub mean_ps: u64,
    /// Maximum over the ranks [ps].
    pub max_ps: u64,
}

/// Summary of the TCP traffic of one entry of the spec.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TcpSummary {
    /// Its name.
    pub name: String,
    /// First write of an application [ps]; `None` without a write.
    pub start_ps: Option<u64>,
    /// When all payload was acknowledged, or the run ended [ps].
    pub end_ps: u64,
    /// Number of sending hosts.
    pub senders: u64,
    /// Connections.
    pub connections: u64,
    /// Connections with all payload acknowledged.
    pub connections_complete: u64,
    /// Payload offered by the applications [bytes]; `None` if it is unlimited.
    pub offered_bytes: Option<u64>,
    /// Payload delivered in order [bytes].
    pub delivered_bytes: u64,
    /// Segments sent, retransmissions included.
    pub segments: u64,
    /// Retransmitted segments.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Recoveries started by selective acknowledgements.
    pub fast_recoveries: u64,
    /// Segments that arrived with congestion experienced.
    pub ecn_ce_rx: u64,
    /// Frames of its priority dropped by full buffers or WRED, including those of other traffic.
    pub dropped_frames: u64,
    /// Smoothed round-trip time over all measurements of all connections: mean, median, 99th percentile and
    /// maximum [ps]; `None` without a measurement.
    pub rtt_mean_ps: Option<u64>,
    /// Median.
    pub rtt_p50_ps: Option<u64>,
    /// 99th percentile.
    pub rtt_p99_ps: Option<u64>,
    /// Largest.
    pub rtt_max_ps: Option<u64>,
    /// Acknowledged writes of a closed loop; `None` without one.
    pub writes: Option<u64>,
    /// Time from the issue of a write to the acknowledgement of its last byte: mean, median, 99th percentile
    /// and maximum [ps]; `None` without a closed loop.
    pub write_mean_ps: Option<u64>,
    /// Median.
    pub write_p50_ps: Option<u64>,
    /// 99th percentile.
    pub write_p99_ps: Option<u64>,
    /// Largest.
    pub write_max_ps: Option<u64>,
}

/// Summary of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunSummary {
    /// Complete if all jobs are.
    pub status: RunStatus,
    /// Simulated time at the end [ps].
    pub end_ps: u64,
    /// Jobs, in the order of the spec.
    pub jobs: Vec<JobSummary>,
    /// TCP traffic, in the order of the spec.
    pub tcp: Vec<TcpSummary>,
    /// Frames sent by hosts.
    pub frames_sent: u64,
    /// Frames delivered to their host.
    pub frames_delivered: u64,
    /// Frames lost, by cause.
    pub frames_lost: LossCauses,
    /// Frames still in flight when the run ended.
    pub frames_in_flight: u64,
    /// Transmissions over links: frames of all kinds times links crossed.
    pub packet_hops: u64,
    /// Node activations of the engine.
    pub events: u64,
    /// Switch windows on the fast path and on the exact path.
    pub fast_windows: u64,
    /// See `fast_windows`.
    pub exact_windows: u64,
    /// Length of a time window [ps].
    pub window_ps: u64,
    /// Simulated time skipped by fast-forward [ps].
    pub fast_forward_ps: u64,
}
