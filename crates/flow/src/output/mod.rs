//! Output of a run: builds the row of a chunk, the results of jobs and the summary. Modules: `recorder`
//! passes rows or counts of chunks to the observer of the run, `progress` reports progress.

pub(crate) mod progress;
pub(crate) mod recorder;

use jobs::Jobs;
use record::{ChunkRow, ChunkStatus};
use serde::Serialize;
use spec::{JobSpec, RunStatus};
use units::{Instant, Span};

/// When a chunk was posted, delivered and acknowledged.
#[derive(Clone, Copy)]
pub(crate) struct ChunkTimes {
    pub(crate) posted: Instant,
    pub(crate) delivered: Instant,
    pub(crate) completed: Instant,
    /// Completion time on an idle fabric, for open-loop traffic.
    pub(crate) unloaded: Option<Span>,
}

/// The row of a complete chunk. Values that a model without packets does not have are zero here; the backend
/// declares these columns, and stores them as not measured.
pub(crate) fn row(jobs: &Jobs, number: u32, [frames, frame_bytes]: [u64; 2], times: &ChunkTimes) -> ChunkRow {
    let (chunk, transfer, pair) = jobs.chunk_with_pair(number);
    ChunkRow {
        job: chunk.job,
        transfer: chunk.transfer.0,
        part: pair.part,
        round: 0,
        qp: pair.number,
        udp_source_port: pair.udp_source_port(),
        src_rank: pair.src.0,
        dst_rank: pair.dst.0,
        src_host: pair.src_host.0,
        dst_host: pair.dst_host.0,
        step: transfer.step,
        channel: pair.channel,
        block: transfer.block,
        status: ChunkStatus::Complete,
        payload_bytes: chunk.bytes,
        start_ps: Some(times.posted.0),
        delivered_ps: Some(times.delivered.0),
        completed_ps: Some(times.completed.0),
        unloaded_ps: times.unloaded.map(|span| span.0),
        tx_frames: frames,
        tx_bytes: frame_bytes,
        rx_frames: frames,
        rx_bytes: frame_bytes,
        retransmits: 0,
        naks: 0,
        timeouts: 0,
        out_of_order: 0,
        latency_min_ps: None,
        latency_sum_ps: 0,
        latency_frames: 0,
        latency_max_ps: None,
        ecn_ce_rx: 0,
        cnp_tx: 0,
        cnp_rx: 0,
    }
}

/// Durations of the rounds of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RoundTimes {
    /// Sum [ps].
    pub sum_ps: u64,
    /// The shortest [ps].
    pub min_ps: u64,
    /// The longest [ps].
    pub max_ps: u64,
}

/// Result of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobResult {
    /// Its name.
    pub name: String,
    /// Complete, unless a transfer could never start.
    pub status: RunStatus,
    /// When it started [ps].
    pub start_ps: u64,
    /// When its last chunk was acknowledged [ps]; `None` unless complete.
    pub end_ps: Option<u64>,
    /// Complete rounds.
    pub rounds: u32,
    /// Their durations; `None` unless complete.
    pub round_times: Option<RoundTimes>,
    /// Chunks.
    pub chunks: u64,
    /// Complete chunks.
    pub chunks_complete: u64,
    /// Failed chunks: none, since flows lose no packets.
    pub chunks_failed: u64,
    /// Why it is incomplete; empty otherwise.
    pub reason: String,
}

impl JobResult {
    /// Result of a job of which `complete` of `chunks` chunks are complete, the last at `end`.
    pub(crate) fn new(job: &JobSpec, chunks: u64, complete: u64, end: Instant) -> Self {
        let is_complete = chunks == complete;
        let span_ps = end.0 - job.start_ps.min(end.0);
        let times = RoundTimes { sum_ps: span_ps, min_ps: span_ps, max_ps: span_ps };
        Self {
            name: job.name.clone(),
            status: if is_complete { RunStatus::Complete } else { RunStatus::Incomplete },
            start_ps: job.start_ps,
            end_ps: is_complete.then_some(end.0),
            rounds: u32::from(is_complete),
            round_times: is_complete.then_some(times),
            chunks,
            chunks_complete: complete,
            chunks_failed: 0,
            reason: if is_complete { String::new() } else { "transfers that could never start".into() },
        }
    }
}

/// Summary of a whole run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlowSummary {
    /// Complete when every job is.
    pub status: RunStatus,
    /// Time at the end [ps].
    pub end_ps: u64,
    /// Each job, in the order of the spec.
    pub jobs: Vec<JobResult>,
    /// Number of rates recomputed.
    pub rate_changes: u64,
    /// Number of events.
    pub events: u64,
}
