//! Chunks counted as they end, for runs in which not every chunk has a row.
//!
//! Counts are exact: sums of each step, and how many chunks of a job and round took how long, so that each
//! percentile is one of the values. Takes 250 bytes for each step of a round and some 100 for each time that
//! differs from all others.

use record::{ChunkRow, ChunkStatus, ChunkStepRow, ChunkTimeRow};
use spec::{ChunksObserved, JobSpec, RunSpec, SpecError, StorageLength};
use std::collections::BTreeMap;
use units::{Seed, StreamFamily};

/// Which chunks have a row.
pub(crate) enum Chosen {
    All,
    /// One in so many, drawn by chunk and round: whatever the order in which they end.
    OneIn(u64, StreamFamily),
    None,
}

impl Chosen {
    /// What `spec` asks for; `rows` tells how many there would be of all chunks.
    pub(crate) fn new(
        spec: &RunSpec,
        rows: impl FnOnce() -> Result<u64, SpecError>,
    ) -> Result<Self, SpecError> {
        Ok(match spec.observe.chunks {
            ChunksObserved::All => Self::All,
            ChunksObserved::Sample => {
                let every = rows()?.div_ceil(spec.observe.chunk_rows.into()).max(1);
                Self::OneIn(every, Seed(spec.seed).family("observe.chunks"))
            }
            ChunksObserved::Summary => Self::None,
        })
    }

    #[inline]
    pub(crate) fn has(&self, chunk: u32, round: u32) -> bool {
        match self {
            Self::All => true,
            Self::OneIn(every, family) => {
                let draw = u64::from(chunk) << 32 | u64::from(round);
                family.stream(draw).next_u64().is_multiple_of(*every)
            }
            Self::None => false,
        }
    }
}

/// Chunks that are alike share a row: job, round, status, payload, completion time, the same on an idle
/// fabric, and whether they began and ended in time.
type Alike = (u32, u32, u8, u64, Option<u64>, Option<u64>, bool, bool);

/// The time of a job that is measured [ps].
#[derive(Clone, Copy)]
struct Measured {
    /// What begins from then on counts.
    from_ps: u64,
    /// What ends before counts; of open-loop traffic what is delivered until then, so that is one more.
    before_ps: u64,
    is_by_delivery: bool,
}

/// What was counted.
pub(crate) struct Tally {
    measured: Vec<Measured>,
    steps: BTreeMap<(u32, u32, u32), ChunkStepRow>,
    times: BTreeMap<Alike, u64>,
}

impl Tally {
    pub(crate) fn new(jobs: &[JobSpec]) -> Self {
        Self {
            measured: jobs.iter().map(Measured::of).collect(),
            steps: BTreeMap::new(),
            times: BTreeMap::new(),
        }
    }

    /// Counts a chunk.
    pub(crate) fn add(&mut self, row: &ChunkRow) {
        let key = (row.job, row.round, row.step);
        self.steps.entry(key).or_insert_with(|| step_of(key)).add(row);
        let measured = self.measured[row.job as usize];
        let alike = (
            row.job,
            row.round,
            row.status as u8,
            row.payload_bytes,
            row.completed_ps.zip(row.start_ps).map(|(end, start)| end - start),
            row.unloaded_ps,
            measured.begins_in(row),
            measured.ends_in(row),
        );
        *self.times.entry(alike).or_insert(0) += 1;
    }

    /// The rows of tables `chunk_steps` and `chunk_times`.
    pub(crate) fn into_rows(self) -> (Vec<ChunkStepRow>, Vec<ChunkTimeRow>) {
        (self.steps.into_values().collect(), self.times.into_iter().map(time_row).collect())
    }
}

impl Measured {
    fn of(job: &JobSpec) -> Self {
        let all = Self { from_ps: 0, before_ps: u64::MAX, is_by_delivery: false };
        if let Some(arrivals) = &job.arrivals {
            let before_ps = job.start_ps + arrivals.duration_ps + 1;
            return Self { before_ps, is_by_delivery: true, ..all };
        }
        let Some(storage) = &job.storage else { return all };
        let before_ps = match storage.length {
            StorageLength::Duration { duration_ps } if job.repeat.rounds().is_some() => {
                job.start_ps + duration_ps
            }
            _ => u64::MAX,
        };
        Self { from_ps: job.start_ps + storage.warm_up_ps, before_ps, is_by_delivery: false }
    }

    fn begins_in(self, row: &ChunkRow) -> bool {
        row.start_ps.is_some_and(|at| at >= self.from_ps) || self.from_ps == 0
    }

    fn ends_in(self, row: &ChunkRow) -> bool {
        let end = if self.is_by_delivery { row.delivered_ps } else { row.completed_ps };
        end.is_some_and(|at| (self.from_ps..self.before_ps).contains(&at))
    }
}

const fn step_of((job, round, step): (u32, u32, u32)) -> ChunkStepRow {
    ChunkStepRow {
        job,
        round,
        step,
        chunks: 0,
        complete: 0,
        failed: 0,
        payload_bytes: 0,
        start_ps: None,
        delivered_ps: None,
        completed_ps: None,
        tx_frames: 0,
        tx_bytes: 0,
        rx_frames: 0,
        rx_bytes: 0,
        retransmits: 0,
        naks: 0,
        timeouts: 0,
        out_of_order: 0,
        latency_min_ps: None,
        latency_sum_2e20: 0,
        latency_frames: 0,
        latency_max_ps: None,
        ecn_ce_rx: 0,
        cnp_tx: 0,
        cnp_rx: 0,
    }
}

/// Adds a chunk to the sums of its step.
trait Sums {
    fn add(&mut self, row: &ChunkRow);
    fn add_latency(&mut self, row: &ChunkRow);
}

impl Sums for ChunkStepRow {
    fn add(&mut self, row: &ChunkRow) {
        self.chunks += 1;
        self.complete += u64::from(row.status == ChunkStatus::Complete);
        self.failed += u64::from(row.status == ChunkStatus::Failed);
        self.start_ps = least(self.start_ps, row.start_ps);
        self.delivered_ps = self.delivered_ps.max(row.delivered_ps);
        self.completed_ps = self.completed_ps.max(row.completed_ps);
        self.payload_bytes += row.payload_bytes;
        self.tx_frames += row.tx_frames;
        self.tx_bytes += row.tx_bytes;
        self.rx_frames += row.rx_frames;
        self.rx_bytes += row.rx_bytes;
        self.retransmits += row.retransmits;
        self.naks += row.naks;
        self.timeouts += row.timeouts;
        self.out_of_order += row.out_of_order;
        self.ecn_ce_rx += row.ecn_ce_rx;
        self.cnp_tx += row.cnp_tx;
        self.cnp_rx += row.cnp_rx;
        if row.latency_frames > 0 {
            self.add_latency(row);
        }
    }

    fn add_latency(&mut self, row: &ChunkRow) {
        self.latency_min_ps = least(self.latency_min_ps, row.latency_min_ps);
        self.latency_max_ps = self.latency_max_ps.max(row.latency_max_ps);
        self.latency_frames += row.rx_frames;
        let sum = u128::from(row.latency_sum_ps) << 20;
        self.latency_sum_2e20 += match row.rx_frames == row.latency_frames {
            true => sum,
            false => sum * u128::from(row.rx_frames) / u128::from(row.latency_frames),
        };
    }
}

/// The lesser of two values that are there.
fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

fn time_row((alike, chunks): (Alike, u64)) -> ChunkTimeRow {
    let (job, round, status, payload_bytes, fct_ps, unloaded_ps, is_issued_in_time, is_ended_in_time) = alike;
    let statuses = [ChunkStatus::Complete, ChunkStatus::Failed, ChunkStatus::Unfinished];
    ChunkTimeRow {
        job,
        round,
        status: statuses[usize::from(status)],
        payload_bytes,
        fct_ps,
        unloaded_ps,
        is_issued_in_time,
        is_ended_in_time,
        chunks,
    }
}
