//! What a run returns: the rows of the record tables and the summary. The field names are the column names.

use serde::Serialize;
use std::sync::Arc;

/// How a data chunk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChunkStatus {
    /// Every byte was delivered and acknowledged.
    Complete,
    /// Its queue pair ran out of retries.
    Failed,
    /// The run ended first.
    Unfinished,
}

impl ChunkStatus {
    /// The name stored in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::Unfinished => "unfinished",
        }
    }
}

/// Table `chunks`: one row for each data chunk and queue pair.
#[derive(Clone, Debug)]
pub struct ChunkRow {
    /// Index of the job in the spec.
    pub job: u32,
    /// Transfer within the job's schedule.
    pub transfer: u32,
    /// Part of the transfer, `0..qps_per_rank_pair`.
    pub part: u32,
    /// Round of the job, from 0.
    pub round: u32,
    /// Queue pair of the run.
    pub qp: u32,
    /// UDP source port of the queue pair.
    pub udp_source_port: u16,
    /// Sending rank.
    pub src_rank: u32,
    /// Receiving rank.
    pub dst_rank: u32,
    /// Sending host.
    pub src_host: u32,
    /// Receiving host.
    pub dst_host: u32,
    /// Step of the algorithm.
    pub step: u32,
    /// Channel (ring) of the algorithm.
    pub channel: u32,
    /// Block of the collective's data that is moved.
    pub block: u32,
    /// How it ended.
    pub status: ChunkStatus,
    /// Payload [bytes].
    pub payload_bytes: u64,
    /// First byte offered to the NIC [ps]; none if it never was.
    pub start_ps: Option<u64>,
    /// Last byte delivered in order at the responder [ps].
    pub delivered_ps: Option<u64>,
    /// Last byte acknowledged at the requester [ps].
    pub completed_ps: Option<u64>,
    /// From start to completion on a fabric that carries nothing else [ps]; of open-loop traffic only.
    pub unloaded_ps: Option<u64>,
    /// Data frames sent, resent ones included.
    pub tx_frames: u64,
    /// Bytes of those frames, without preamble and gap.
    pub tx_bytes: u64,
    /// Data frames that arrived at the responder, duplicates included, until the chunk was delivered.
    pub rx_frames: u64,
    /// Bytes of those frames.
    pub rx_bytes: u64,
    /// Data frames sent more than once.
    pub retransmits: u64,
    /// NAKs received by the requester.
    pub naks: u64,
    /// Timeouts of the requester.
    pub timeouts: u64,
    /// Data frames that arrived ahead of their turn.
    pub out_of_order: u64,
    /// Latency of accepted data frames, first bit on the first link to last bit off the last link [ps].
    pub latency_min_ps: Option<u64>,
    /// Sum over accepted frames [ps]; the mean is this over `latency_frames`.
    pub latency_sum_ps: u64,
    /// Accepted frames.
    pub latency_frames: u64,
    /// Largest [ps].
    pub latency_max_ps: Option<u64>,
    /// Data frames that arrived with congestion experienced.
    pub ecn_ce_rx: u64,
    /// CNPs sent by the responder.
    pub cnp_tx: u64,
    /// CNPs received by the requester.
    pub cnp_rx: u64,
}

/// Table `ports`: counters of each port.
#[derive(Clone, Debug)]
pub struct PortRow {
    /// Name of the node (`host3`, `leaf0`).
    pub node: String,
    /// Its tier: 0 hosts, 1 leaves or rails, 2 spines or aggregation, 3 core.
    pub tier: u32,
    /// Port of the node.
    pub port: u32,
    /// Name of the node at the other end.
    pub peer: String,
    /// Frames sent; between scheduled switches cells, requests and grants.
    pub tx_frames: u64,
    /// Frame bytes sent.
    pub tx_bytes: u64,
    /// Frames received.
    pub rx_frames: u64,
    /// Frame bytes received.
    pub rx_bytes: u64,
    /// Frames that found the buffer full on their way to this egress port.
    pub dropped_frames: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
    /// Lossless frames beyond the headroom of their ingress port, on their way to this egress port.
    pub dropped_headroom_frames: u64,
    /// Their bytes.
    pub dropped_headroom_bytes: u64,
    /// Frames dropped by the PFC watchdog on their way to this egress port or in its queue.
    pub dropped_watchdog_frames: u64,
    /// Their bytes.
    pub dropped_watchdog_bytes: u64,
    /// Frames lost on the link of this port while it was down, sent by this port; and those that came in by
    /// this port when no way to their destination was left.
    pub lost_link_down_frames: u64,
    /// Their bytes.
    pub lost_link_down_bytes: u64,
    /// Frames that the link of this port corrupted on their way to it; not among those received.
    pub fcs_error_frames: u64,
    /// Their bytes.
    pub fcs_error_bytes: u64,
    /// Largest egress queue, the frame in transmission excluded [bytes].
    pub queue_max_bytes: u64,
    /// Pause frames with non-zero quanta sent; none on InfiniBand, which has no PFC.
    pub pfc_tx: Option<u64>,
    /// Pause frames with non-zero quanta received.
    pub pfc_rx: Option<u64>,
    /// Storms that the PFC watchdog detected.
    pub pfc_storms: Option<u64>,
    /// Time for which the egress was paused [ps].
    pub paused_ps: Option<u64>,
    /// Flow control packets sent; of InfiniBand only, as the two that follow.
    pub flow_control_tx: Option<u64>,
    /// Flow control packets received.
    pub flow_control_rx: Option<u64>,
    /// Time for which the egress had something to send on a lane and no credit for it, summed over lanes
    /// [ps].
    pub credit_wait_ps: Option<u64>,
    /// Frames marked with congestion experienced.
    pub ecn_marked: u64,
    /// Changes of the thresholds of ECN marking.
    pub ecn_changes: u64,
    /// Distinct queue pairs whose data left by this port.
    pub egress_qps: u32,
    /// Credits that the scheduler of this port of a scheduled leaf granted.
    pub credits_granted: u64,
    /// What they were for [bytes on the link of the host, preamble and gap included].
    pub credit_granted_bytes: u64,
    /// The deepest that a virtual output queue for this port of a scheduled leaf has been, at any leaf
    /// [bytes].
    pub voq_max_bytes: u64,
    /// Packets that were in reassembly at this scheduled leaf at once, at most [bytes]; the same for each of
    /// its fabric ports.
    pub reassembly_max_bytes: u64,
}

/// Table `priorities`: what a port counted of a priority that was paused, had no credit, asked for a pause or
/// lost frames.
#[derive(Clone, Debug)]
pub struct PriorityRow {
    /// Name of the node.
    pub node: String,
    /// Port of the node.
    pub port: u32,
    /// Priority (IEEE 802.1Q), or virtual lane, 0 to 7.
    pub priority: u32,
    /// Pause frames with non-zero quanta sent; none on InfiniBand, which has no PFC.
    pub pfc_tx: Option<u64>,
    /// Pause frames with non-zero quanta received.
    pub pfc_rx: Option<u64>,
    /// Time for which the egress was paused [ps].
    pub paused_ps: Option<u64>,
    /// Time for which the egress had something to send on this lane and no credit for it [ps]; of InfiniBand
    /// only.
    pub credit_wait_ps: Option<u64>,
    /// Frames that found the buffer full on their way to this egress port.
    pub dropped_frames: u64,
    /// Lossless frames beyond the headroom of their ingress port, on their way to this egress port.
    pub dropped_headroom_frames: u64,
    /// Frames dropped by the PFC watchdog.
    pub dropped_watchdog_frames: u64,
}

/// Table `links`: one row for each direction of each cable.
#[derive(Clone, Debug)]
pub struct LinkRow {
    /// Sending node.
    pub from: String,
    /// Its port.
    pub from_port: u32,
    /// Receiving node.
    pub to: String,
    /// Its port.
    pub to_port: u32,
    /// Higher tier of the two ends.
    pub tier: u32,
    /// Line rate [bit/s].
    pub rate_bps: u64,
    /// Frames carried.
    pub frames: u64,
    /// Frame bytes carried, without preamble and gap.
    pub bytes: u64,
    /// Time occupied, preamble and gap included [ps].
    pub busy_ps: u64,
}

/// Table `paths`: one row for each link between switches on the way of a queue pair's data, where each queue
/// pair keeps to one path.
#[derive(Clone, Debug)]
pub struct PathRow {
    /// Queue pair of the run.
    pub qp: u32,
    /// Index of the job in the spec.
    pub job: u32,
    /// Sending rank.
    pub src_rank: u32,
    /// Receiving rank.
    pub dst_rank: u32,
    /// Number of the link on the way, from 0.
    pub hop: u32,
    /// Switch that the data leaves.
    pub node: String,
    /// Its egress port.
    pub port: u32,
    /// Switch that it reaches.
    pub peer: String,
}

/// Table `reordering`: how far out of order data frames arrived, where they can overtake each other.
#[derive(Clone, Debug)]
pub struct ReorderingRow {
    /// Index of the job in the spec.
    pub job: u32,
    /// Queue pair of the run; none for all of the job together.
    pub qp: Option<u32>,
    /// Smallest distance behind the newest frame that is counted here [frames].
    pub distance_min: u32,
    /// Largest.
    pub distance_max: u32,
    /// Frames that were so late.
    pub frames: u64,
}

/// Table `connections`: one row for each TCP connection.
#[derive(Clone, Debug)]
pub struct ConnectionRow {
    /// Index of its traffic in the spec.
    pub tcp: u32,
    /// Connection of the run.
    pub connection: u32,
    /// TCP source port.
    pub source_port: u16,
    /// Sending rank.
    pub src_rank: u32,
    /// Receiving rank.
    pub dst_rank: u32,
    /// Sending host.
    pub src_host: u32,
    /// Receiving host.
    pub dst_host: u32,
    /// When the application first wrote [ps]; none if it never did.
    pub start_ps: Option<u64>,
    /// When everything was acknowledged, or when the run cut it off [ps].
    pub end_ps: u64,
    /// Everything was acknowledged.
    pub is_complete: bool,
    /// Payload that the application wanted to send until the end [bytes]; none if it always has more.
    pub offered_bytes: Option<u64>,
    /// Payload delivered in order [bytes].
    pub delivered_bytes: u64,
    /// Payload acknowledged [bytes].
    pub acked_bytes: u64,
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
    /// Measurements of the round-trip time.
    pub rtt_samples: u64,
    /// Smoothed round-trip time after each measurement: mean, percentiles and largest [ps]; none without a
    /// measurement.
    pub rtt_mean_ps: Option<u64>,
    /// Median.
    pub rtt_p50_ps: Option<u64>,
    /// 99th percentile.
    pub rtt_p99_ps: Option<u64>,
    /// Largest.
    pub rtt_max_ps: Option<u64>,
    /// Congestion window at the end [bytes].
    pub window_bytes: u64,
}

/// Table `series`: sampled values.
#[derive(Clone, Debug)]
pub struct SeriesRow {
    /// `queue_bytes` (egress queue at the sample), `tx_bytes` (frame bytes sent since the start), `paused_ps`
    /// (time for which the egress was paused since the start), `rate_bps` (rate that congestion control
    /// allows), `delivered_bytes` (payload placed at the hosts of a job since the start) or `lost_frames` X
    pub metric: &'static str,
    /// Node, `fabric` for what is summed over all of it; all rows of a series share its name.
    pub node: Arc<str>,
    /// Port.
    pub port: u32,
    /// Priority, of `paused_ps`.
    pub priority: Option<u32>,
    /// Index of the job in the spec, of `delivered_bytes`.
    pub job: Option<u32>,
    /// Queue pair, of `rate_bps`.
    pub qp: Option<u32>,
    /// When [ps].
    pub time_ps: u64,
    /// Value.
    pub value: u64,
}

/// Table `events`: rare things worth a line.
#[derive(Clone, Debug)]
pub struct EventRow {
    /// When [ps].
    pub time_ps: u64,
    /// What (`qp_failed`, `stalled`, `pfc_deadlock`, `credit_deadlock`, `pfc_storm`, `pfc_restored`,
    /// `ecn_raised`, `ecn_lowered`, `link_down`, `link_up`, `link_rate`, `bit_errors`, `frame_loss`,
    /// `nic_throughput`, `switch_down`, `switch_up`, `routes_converged`).
    pub kind: &'static str,
    /// Where.
    pub node: String,
    /// In words, with the figures.
    pub detail: String,
}

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
    /// A NIC's receive buffer was full.
    pub host_overrun: u64,
    /// The PFC watchdog dropped what was bound for a queue in a storm.
    pub pfc_watchdog: u64,
    /// A link on the way was down, or no way to the destination was left.
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
    /// Frames of its priority that found a buffer full, those of others in that priority included.
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
    /// Frames still on the way when the run ended.
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
