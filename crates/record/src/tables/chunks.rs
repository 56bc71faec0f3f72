//! Tables of data chunks: `chunks`, `chunk_steps` (sums by step), `chunk_times` (distribution of completion
//! times); `reordering` (frames out of order, by distance). A chunk is the data that one rank sends to
//! another in one transfer of a collective.

use crate::declare::table;

/// How a data chunk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

table! {
    /// Table `chunks`: one row for each data chunk and queue pair.
    "chunks" at Endpoint: ChunkRow {
        /// Name of the job.
        job: u32 as &str = |row, names| names.job(row.job);
        /// Transfer within the job's schedule, from 0; with `barrier` or `root_shift` the schedule is that of
        /// all rounds that differ, barriers included.
        transfer: u32;
        /// Part of the transfer, from 0, where a chunk is split over several queue pairs.
        part: u32;
        /// Round of the job, from 0; the warm-up rounds are the first.
        round: u32;
        /// Queue pair of the run.
        qp: u32;
        /// UDP source port of the queue pair.
        udp_source_port: u16;
        /// Sending rank.
        src_rank: u32;
        /// Receiving rank.
        dst_rank: u32;
        /// Sending host.
        src_host: u32;
        /// Receiving host.
        dst_host: u32;
        /// Step of the algorithm, from 0.
        step: u32;
        /// Channel (ring) of the algorithm.
        channel: u32;
        /// Block of the collective's data that is moved.
        block: u32;
        /// How it ended: `complete`, `failed` (the queue pair ran out of retries) or `unfinished` (the run
        /// ended first).
        status: ChunkStatus as &str = |row| row.status.name();
        /// Payload.
        payload_bytes: u64 ["bytes"];
        /// First byte offered to the NIC; null if it never was.
        start_ps: Option<u64> ["ps"];
        /// Last byte delivered in order at the receiver; of a chunk whose queue pair failed that may still
        /// have happened.
        delivered_ps: Option<u64> ["ps"];
        /// Last byte acknowledged at the sender, or delivered if nothing is acknowledged; never before
        /// `delivered_ps` in a simulation. Of real hosts it may be: clocks have an error, and adapters (driver
        /// `verbs`) acknowledge before the host polls.
        completed_ps: Option<u64> ["ps"];
        /// Flow completion time: `completed_ps` - `start_ps`.
        fct_ps: Option<u64> ["ps"] = |row| Some(row.completed_ps? - row.start_ps?);
        /// Bus bandwidth of the chunk, `payload_bytes` / `fct_ps`: a message from one rank to another has the
        /// bus factor 1; a 64-bit float, null until it completed.
        busbw_gb_per_s: Option<f64> ["GB/s"] = |row| row.busbw_gb_per_s();
        /// `fct_ps` of the same chunk on an idle fabric; of open-loop traffic and of storage only.
        unloaded_ps: Option<u64> ["ps"];
        /// Data frames sent, resent ones included.
        tx_frames: u64 ["frames"];
        /// Their bytes.
        tx_bytes: u64 ["bytes"];
        /// Data frames of it that arrived, duplicates and those beyond a gap included, until it was
        /// delivered; later frames are in `late` of its job.
        rx_frames: u64 ["frames"];
        /// Their bytes.
        rx_bytes: u64 ["bytes"];
        /// `tx_frames` - `rx_frames`.
        frames_delta: i64 ["frames"] = |row| row.tx_frames.wrapping_sub(row.rx_frames) as i64;
        /// Data frames sent more than once.
        retransmits: u64 ["frames"];
        /// NAKs received by the sender; of a storage operation, by either end.
        naks: u64 ["frames"];
        /// Timeouts of the sender; of a storage operation, of either end, until it ended at its client.
        timeouts: u64;
        /// Data frames that arrived before an earlier one.
        out_of_order: u64 ["frames"];
        /// Least latency of an accepted data frame, first bit on the first link to last bit off the last
        /// link.
        latency_min_ps: Option<u64> ["ps"];
        /// Mean latency of the accepted data frames; a 64-bit float.
        latency_mean_ps: Option<f64> ["ps"] = |row| row.latency_mean_ps();
        /// Sum over the accepted data frames [ps].
        latency_sum_ps: u64 as ();
        /// Accepted data frames.
        latency_frames: u64 as ();
        /// Largest latency of an accepted data frame.
        latency_max_ps: Option<u64> ["ps"];
        /// Data frames that arrived with congestion experienced.
        ecn_ce_rx: u64 ["frames"];
        /// Congestion notification packets sent by the receiver; of a storage operation, those sent for its
        /// data.
        cnp_tx: u64 ["frames"];
        /// Congestion notification packets received by the sender; of a storage operation, all that the
        /// sender of its data received during the operation.
        cnp_rx: u64 ["frames"];
    }
}

impl ChunkRow {
    /// Mean latency of the accepted data frames [ps].
    #[must_use]
    #[expect(clippy::float_arithmetic, reason = "a mean for readers; the simulated world never sees it")]
    pub fn latency_mean_ps(&self) -> Option<f64> {
        (self.latency_frames > 0).then(|| self.latency_sum_ps as f64 / self.latency_frames as f64)
    }

    /// Payload over flow completion time [GB/s]; 1 byte a picosecond is 1,000 GB/s.
    #[must_use]
    #[expect(clippy::float_arithmetic, reason = "a rate for readers; the simulated world never sees it")]
    pub fn busbw_gb_per_s(&self) -> Option<f64> {
        let fct_ps = self.completed_ps?.checked_sub(self.start_ps?).filter(|&fct_ps| fct_ps > 0)?;
        Some(self.payload_bytes as f64 * 1e3 / fct_ps as f64)
    }
}

table! {
    /// Table `chunk_steps`: of a run with `observe.chunks` other than `all`, one row for each step of each
    /// round of a job, over all its chunks, with the counts of `chunks`.
    #[derive(Default)]
    "chunk_steps" at Endpoint: ChunkStepRow {
        /// Name of the job.
        job: u32 as &str = |row, names| names.job(row.job);
        /// Round of the job, from 0; the warm-up rounds are the first.
        round: u32;
        /// Step of the algorithm, from 0; of storage 1 for operations that read.
        step: u32;
        /// Number of chunks, times the queue pairs that each is split over.
        chunks: u64;
        /// Chunks that completed.
        complete: u64;
        /// Chunks whose queue pair ran out of retries.
        failed: u64;
        /// Payload.
        payload_bytes: u64 ["bytes"];
        /// The first time that a byte was offered to a NIC; null if none was.
        start_ps: Option<u64> ["ps"];
        /// Delivery of the last chunk; null if none was delivered.
        delivered_ps: Option<u64> ["ps"];
        /// Completion of the last chunk; null if none completed.
        completed_ps: Option<u64> ["ps"];
        /// Data frames sent, resent ones included.
        tx_frames: u64 ["frames"];
        /// Their bytes.
        tx_bytes: u64 ["bytes"];
        /// Data frames that arrived.
        rx_frames: u64 ["frames"];
        /// Their bytes.
        rx_bytes: u64 ["bytes"];
        /// Data frames sent more than once.
        retransmits: u64 ["frames"];
        /// NAKs received by senders.
        naks: u64 ["frames"];
        /// Timeouts of senders.
        timeouts: u64;
        /// Data frames that arrived before an earlier one.
        out_of_order: u64 ["frames"];
        /// Least latency of an accepted data frame.
        latency_min_ps: Option<u64> ["ps"];
        /// Mean over the chunks of their mean latency, each as often as it has `rx_frames`; a 64-bit float.
        latency_mean_ps: Option<f64> ["ps"] = |row| row.latency_mean_ps();
        /// Sum from which that mean is computed [2^-20 ps].
        latency_sum_2e20: u128 as ();
        /// `rx_frames` of the chunks that have a latency, the weight of the mean.
        latency_frames: u64 ["frames"];
        /// Largest latency of an accepted data frame.
        latency_max_ps: Option<u64> ["ps"];
        /// Data frames that arrived with congestion experienced.
        ecn_ce_rx: u64 ["frames"];
        /// Congestion notification packets sent by receivers.
        cnp_tx: u64 ["frames"];
        /// Congestion notification packets received by senders.
        cnp_rx: u64 ["frames"];
    }
}

impl ChunkStepRow {
    /// A step without chunks.
    #[must_use]
    pub fn of_step(job: u32, round: u32, step: u32) -> Self {
        Self { job, round, step, ..Self::default() }
    }

    /// Mean latency [ps].
    #[must_use]
    #[expect(clippy::float_arithmetic, reason = "a mean for readers; the simulated world never sees it")]
    pub fn latency_mean_ps(&self) -> Option<f64> {
        let sum_ps = self.latency_sum_2e20 as f64 / f64::from(1 << 20);
        (self.latency_frames > 0).then(|| sum_ps / self.latency_frames as f64)
    }
}

table! {
    /// Table `chunk_times`: of a run with `observe.chunks` other than `all`, the number of chunks by
    /// completion time. Chunks that are equal in all other columns share a row, so that percentiles are
    /// exact. With backend `flow`, where a run has more than 1,048,576 rows, times are rounded to as few
    /// picoseconds as possible.
    "chunk_times" at Endpoint: ChunkTimeRow {
        /// Name of the job.
        job: u32 as &str = |row, names| names.job(row.job);
        /// Round of the job, from 0; the warm-up rounds are the first.
        round: u32;
        /// Status of each, as in `chunks`.
        status: ChunkStatus as &str = |row| row.status.name();
        /// Payload of each.
        payload_bytes: u64 ["bytes"];
        /// Flow completion time, as in `chunks`.
        fct_ps: Option<u64> ["ps"];
        /// The same of each on an idle fabric, as in `chunks`.
        unloaded_ps: Option<u64> ["ps"];
        /// Of storage, the part of each one's time that lies in the measured time; of an operation that the
        /// end of the run cut off, of its time until the last completion of its job. Null of other jobs.
        in_time_ps: Option<u64> ["ps"];
        /// Of storage, whether each completed in the measured time; of open-loop traffic, whether it was
        /// delivered while traffic was offered; 1 of other jobs.
        is_ended_in_time: bool;
        /// Number of chunks.
        chunks: u64;
    }
}

table! {
    /// Table `reordering`: how far out of order data frames arrived, where they can overtake each other.
    "reordering" at Endpoint: ReorderingRow {
        /// Name of the job.
        job: u32 as &str = |row, names| names.job(row.job);
        /// Queue pair of the run; null for all of the job together.
        qp: Option<u32>;
        /// Smallest distance behind the newest frame that is counted here: 2^k.
        distance_min: u32 ["frames"];
        /// Largest: 2^(k+1) - 1; in the last row not beyond the largest that occurred.
        distance_max: u32 ["frames"];
        /// Number of frames at this distance.
        frames: u64 ["frames"];
    }
}
