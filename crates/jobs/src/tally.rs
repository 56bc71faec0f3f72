//! Selection of chunks that get a row in table `chunks`, and statistics of all chunks: sums per step,
//! histograms of times.
//!
//! Statistics are exact: sums per step, and a histogram of chunk times per job and round, so that each
//! percentile is an actual value. Memory: 250 bytes per step of a round, and about 100 bytes per distinct
//! time, whose number can be limited.

use crate::Stopped;
use record::{Batch, ChunkRow, ChunkStatus, ChunkStepRow, ChunkTimeRow};
use spec::{ChunksObserved, JobSpec, RunSpec, SpecError, StorageLength, Work};
use std::collections::BTreeMap;
use units::{NumberMap, Seed, StreamFamily};

/// Maximum rounding of times, about one second [2^x ps].
const ROUNDING_MAX: u32 = 40;
/// Rows per batch.
const BATCH_ROWS: usize = 65_536;

/// Selection of chunks that get a row.
#[derive(Debug)]
pub enum RowSelection {
    /// All chunks.
    All,
    /// A random sample of one in n, by chunk and round, independent of the order of completion.
    OneIn(u64, StreamFamily),
    /// No chunk.
    None,
}

impl RowSelection {
    /// The selection of `spec`; `rows` returns the number of rows of all chunks.
    ///
    /// # Errors
    /// Errors of `rows`.
    pub fn new(spec: &RunSpec, rows: impl FnOnce() -> Result<u64, SpecError>) -> Result<Self, SpecError> {
        Ok(match spec.observe.chunks {
            ChunksObserved::All => Self::All,
            ChunksObserved::Sample => {
                let every = rows()?.div_ceil(spec.observe.chunk_rows.into()).max(1);
                Self::OneIn(every, Seed(spec.seed).family("observe.chunks"))
            }
            ChunksObserved::Summary => Self::None,
        })
    }

    /// Whether a chunk gets a row for a round.
    #[inline]
    pub fn has(&self, chunk: u32, round: u32) -> bool {
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

/// Key of chunks counted together; the order of the fields is that of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct TimeKey {
    job: u32,
    round: u32,
    /// Index in [`STATUSES`].
    status: u8,
    payload_bytes: u64,
    /// Completion time.
    fct_ps: Option<u64>,
    /// Completion time in an idle fabric.
    unloaded_ps: Option<u64>,
    /// Time within the measured interval.
    in_time_ps: Option<u64>,
    /// Whether the chunk ended within the measured interval.
    is_ended_in_time: bool,
}

const STATUSES: [ChunkStatus; 3] = [ChunkStatus::Complete, ChunkStatus::Failed, ChunkStatus::Unfinished];

/// Measured interval of a job [ps].
#[derive(Clone, Copy, Debug)]
struct Measured {
    /// Start, after the warm-up.
    from_ps: u64,
    /// End (exclusive). Open-loop messages count by delivery time, up to and including the end of arrivals,
    /// so the value is one more.
    before_ps: u64,
    is_by_delivery: bool,
    is_storage: bool,
}

/// Statistics of chunks.
#[derive(Debug)]
pub struct Tally {
    measured: Vec<Measured>,
    steps: BTreeMap<(u32, u32, u32), ChunkStepRow>,
    times: NumberMap<TimeKey, u64>,
    /// Maximum number of entries in `times`.
    times_max: usize,
    /// Completion times are rounded to a multiple of 2^`rounding` ps.
    rounding: u32,
}

impl Tally {
    /// Empty statistics for these jobs.
    pub fn new(jobs: &[JobSpec]) -> Self {
        Self {
            measured: jobs.iter().map(Measured::of).collect(),
            steps: BTreeMap::new(),
            times: NumberMap::default(),
            times_max: usize::MAX,
            rounding: 0,
        }
    }

    /// Same as [`Self::new`], for mostly distinct times: if there are more than `times_max` of them, times
    /// are rounded as little as necessary.
    pub fn rounding(jobs: &[JobSpec], times_max: usize) -> Self {
        Self { times_max, ..Self::new(jobs) }
    }

    /// Counts a chunk.
    pub fn add(&mut self, row: &ChunkRow) {
        self.add_equal(row, 1);
    }

    /// Counts `count` chunks with equal values.
    pub fn add_equal(&mut self, row: &ChunkRow, count: u64) {
        let key = (row.job, row.round, row.step);
        let step = self.steps.entry(key).or_insert_with(|| ChunkStepRow::of_step(key.0, key.1, key.2));
        (0..count).for_each(|_| step.add(row));
        let measured = self.measured[row.job as usize];
        let in_time_ps = measured.part_of(row, || self.last_ps(row.job));
        let key = TimeKey {
            job: row.job,
            round: row.round,
            status: row.status as u8,
            payload_bytes: row.payload_bytes,
            fct_ps: row.completed_ps.zip(row.start_ps).map(|(end, start)| self.rounded(end - start)),
            unloaded_ps: row.unloaded_ps,
            in_time_ps,
            is_ended_in_time: measured.ends_in(row),
        };
        *self.times.entry(key).or_insert(0) += count;
        if self.times.len() > self.times_max {
            self.round();
        }
    }

    /// Latest completion of a job's chunks so far.
    fn last_ps(&self, job: u32) -> u64 {
        let steps = self.steps.range((job, 0, 0)..=(job, u32::MAX, u32::MAX));
        steps.filter_map(|(_, step)| step.completed_ps).max().unwrap_or_default()
    }

    const fn rounded(&self, ps: u64) -> u64 {
        let half = (1 << self.rounding) >> 1;
        (ps + half) >> self.rounding << self.rounding
    }

    /// Rounds times until their number is at most half the limit, or the maximum rounding is reached.
    #[cold]
    fn round(&mut self) {
        while self.times.len() > self.times_max / 2 && self.rounding < ROUNDING_MAX {
            self.rounding += 1;
            for (mut key, chunks) in std::mem::take(&mut self.times) {
                key.fct_ps = key.fct_ps.map(|ps| self.rounded(ps));
                *self.times.entry(key).or_insert(0) += chunks;
            }
        }
    }

    /// Adds the sums of a step, without times.
    pub fn add_step(&mut self, row: ChunkStepRow) {
        let before = self.steps.insert((row.job, row.round, row.step), row);
        assert!(before.is_none(), "a step is counted once");
    }

    /// Adds a histogram entry.
    pub fn add_times(&mut self, row: &ChunkTimeRow) {
        let key = TimeKey {
            job: row.job,
            round: row.round,
            status: row.status as u8,
            payload_bytes: row.payload_bytes,
            fct_ps: row.fct_ps,
            unloaded_ps: row.unloaded_ps,
            in_time_ps: row.in_time_ps,
            is_ended_in_time: row.is_ended_in_time,
        };
        *self.times.entry(key).or_insert(0) += row.chunks;
    }

    /// Emits the rows of tables `chunk_steps` and `chunk_times`.
    ///
    /// # Errors
    /// When `take` requests to stop.
    pub fn emit(self, mut take: impl FnMut(Batch) -> Result<(), Stopped>) -> Result<(), Stopped> {
        in_batches(self.steps.into_values(), |rows| take(Batch::ChunkSteps(rows)))?;
        let mut times: Vec<(TimeKey, u64)> = self.times.into_iter().collect();
        times.sort_unstable_by_key(|key| key.0);
        in_batches(times.into_iter().map(|(key, chunks)| key.row(chunks)), |rows| {
            take(Batch::ChunkTimes(rows))
        })
    }
}

/// Emits rows in batches.
fn in_batches<T>(
    mut rows: impl Iterator<Item = T>,
    mut take: impl FnMut(Vec<T>) -> Result<(), Stopped>,
) -> Result<(), Stopped> {
    loop {
        let part: Vec<T> = rows.by_ref().take(BATCH_ROWS).collect();
        if part.is_empty() {
            return Ok(());
        }
        take(part)?;
    }
}

impl Measured {
    fn of(job: &JobSpec) -> Self {
        let all = Self { from_ps: 0, before_ps: u64::MAX, is_by_delivery: false, is_storage: false };
        match &job.work {
            Work::Collective(_) => all,
            Work::OpenLoop(open_loop) => {
                let before_ps = job.start_ps + open_loop.duration_ps + 1;
                Self { before_ps, is_by_delivery: true, ..all }
            }
            Work::Storage(storage) => {
                let before_ps = match storage.length {
                    StorageLength::Duration { duration_ps } if job.repeat.rounds().is_some() => {
                        job.start_ps + duration_ps
                    }
                    _ => u64::MAX,
                };
                Self { from_ps: job.start_ps + storage.warm_up_ps, before_ps, is_storage: true, ..all }
            }
        }
    }

    /// Time of a storage operation within the measured interval [ps]. An operation cut off at the end of the
    /// run, which is added after all completed ones, lasts until `last_ps`.
    fn part_of(self, row: &ChunkRow, last_ps: impl FnOnce() -> u64) -> Option<u64> {
        if !self.is_storage {
            return None;
        }
        let end_ps = match row.status {
            ChunkStatus::Complete => row.completed_ps?,
            ChunkStatus::Unfinished => last_ps(),
            ChunkStatus::Failed => return None,
        };
        Some(end_ps.min(self.before_ps).saturating_sub(row.start_ps?.max(self.from_ps)))
    }

    fn ends_in(self, row: &ChunkRow) -> bool {
        let end = if self.is_by_delivery { row.delivered_ps } else { row.completed_ps };
        end.is_some_and(|at| (self.from_ps..self.before_ps).contains(&at))
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

/// Minimum of two optional values, ignoring `None`.
fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

impl TimeKey {
    fn row(self, chunks: u64) -> ChunkTimeRow {
        let Self { job, round, status, payload_bytes, fct_ps, unloaded_ps, in_time_ps, is_ended_in_time } =
            self;
        ChunkTimeRow {
            job,
            round,
            status: STATUSES[usize::from(status)],
            payload_bytes,
            fct_ps,
            unloaded_ps,
            in_time_ps,
            is_ended_in_time,
            chunks,
        }
    }
}
