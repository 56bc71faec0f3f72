//! Joins the records of each chunk by its sender and its receiver to a row of table `chunks`, with the clocks
//! of hosts corrected, and lists the columns that a driver does not measure.

use super::ipc::{read_received, read_sent};
use super::{ReceivedHalf, SentHalf, SentStatus};
use crate::run::RunError;
use crate::run::driver::{ReceivedCounts, SentCounts};
use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{ArrowError, Field, Schema};
use jobs::{Chunk, Jobs};
use record::{Batch, ChunkRow, ChunkStatus, Names};
use spec::{JobSpec, QpType, RunSpec};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use units::HostId;
use workload::Message;

/// Rows per batch.
const BATCH_ROWS: usize = 1 << 14;

/// Columns of `chunks` that no endpoint measures: frame latency, and the duration in an idle fabric.
const OF_THE_FABRIC: [&str; 4] = ["unloaded_ps", "latency_min_ps", "latency_mean_ps", "latency_max_ps"];

/// Columns that a driver cannot measure if the kernel or an adapter sends the frames.
const OF_FRAMES: [&str; 11] = [
    "tx_frames",
    "tx_bytes",
    "rx_frames",
    "rx_bytes",
    "frames_delta",
    "retransmits",
    "naks",
    "timeouts",
    "out_of_order",
    "ecn_ce_rx",
    "cnp_tx",
];

/// Columns of `chunks` that a driver does not measure (null).
pub fn unmeasured(driver: &str) -> Vec<&'static str> {
    let mut columns = OF_THE_FABRIC.to_vec();
    if matches!(driver, "tcp" | "verbs") {
        columns.extend(OF_FRAMES);
        columns.push("cnp_rx");
        columns.push("udp_source_port");
    }
    columns
}

/// Records of all agents of a run.
#[derive(Clone, Copy, Debug)]
pub struct Halves<'a> {
    /// Streams of [`HostRun::sent`](crate::run::HostRun::sent).
    pub sent: &'a [Vec<u8>],
    /// Streams of [`HostRun::received`](crate::run::HostRun::received).
    pub received: &'a [Vec<u8>],
    /// Clock corrections by host; hosts without one use the controller's clock.
    pub clocks: &'a BTreeMap<u32, ClockLine>,
}

/// Linear clock correction of a host relative to the controller, through two readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockLine {
    /// Time of the host at each reading, since the start of the run [ps].
    pub times_ps: [i64; 2],
    /// Correction to add at each reading [ps].
    pub shifts_ps: [i64; 2],
}

impl ClockLine {
    /// Converts a time of the host to the controller's clock [ps]; extrapolates beyond the readings.
    fn corrected(&self, time_ps: i64) -> i64 {
        let [first, last] = self.times_ps.map(i128::from);
        let [at_first, at_last] = self.shifts_ps.map(i128::from);
        let drift = match last - first {
            0 => 0,
            span => (at_last - at_first) * (i128::from(time_ps) - first) / span,
        };
        let corrected = i128::from(time_ps) + at_first + drift;
        i64::try_from(corrected).unwrap_or(if corrected < 0 { i64::MIN } else { i64::MAX })
    }
}

/// Rows of table `chunks`: one per payload chunk and round, for all planned rounds, or for those started if
/// the job is background traffic. Columns that `driver` does not measure are null.
///
/// # Errors
/// [`RunError`], if a stream is invalid.
pub fn chunk_rows(spec: &RunSpec, halves: Halves<'_>, driver: &str) -> Result<Vec<RecordBatch>, RunError> {
    let jobs = super::super::host_run::jobs_of(spec)?;
    let mut ends = Ends::read(&jobs, halves)?;
    ends.announce(&jobs);
    let names = Names { jobs: spec.jobs.iter().map(|job| job.name.clone()).collect(), tcp: Vec::new() };
    let rows = ends.rows(spec, &jobs);
    let unmeasured = unmeasured(driver);
    let each = rows.chunks(BATCH_ROWS).map(|rows| {
        let batch = Batch::Chunks(rows.to_vec()).to_arrow(&names)?;
        Ok(without(&batch, &unmeasured)?)
    });
    each.collect()
}

/// Replaces columns of a batch with nulls.
fn without(batch: &RecordBatch, columns: &[&str]) -> Result<RecordBatch, ArrowError> {
    let each = batch.schema_ref().fields().iter().zip(batch.columns()).map(|(field, array)| {
        match columns.contains(&field.name().as_str()) {
            false => (field.as_ref().clone(), Arc::clone(array)),
            true => {
                let field = Field::new(field.name(), field.data_type().clone(), true);
                let nothing = new_null_array(field.data_type(), batch.num_rows());
                (field, nothing)
            }
        }
    });
    let (fields, arrays) = each.unzip::<Field, ArrayRef, Vec<_>, Vec<_>>();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}

/// Chunk number and pass (how many times it was sent before).
type Key = (u32, u32);

/// Records of both ends.
struct Ends {
    sent: HashMap<Key, SentHalf>,
    received: HashMap<Key, ReceivedHalf>,
}

impl Ends {
    fn read(jobs: &Jobs, halves: Halves<'_>) -> Result<Self, RunError> {
        let clock = |host: HostId| halves.clocks.get(&host.0);
        let corrected = |host, time_ps| clock(host).map_or(time_ps, |clock| clock.corrected(time_ps));
        let mut ends = Self { sent: HashMap::new(), received: HashMap::new() };
        for stream in halves.sent {
            for mut half in read_sent(stream)? {
                let host = pair_of(jobs, half.chunk)?.src_host;
                half.start_ps = corrected(host, half.start_ps);
                half.completed_ps = half.completed_ps.map(|at| corrected(host, at));
                refuse_duplicate(half.chunk, ends.sent.insert((half.chunk, half.pass), half).as_ref())?;
            }
        }
        for stream in halves.received {
            for mut half in read_received(stream)? {
                let host = pair_of(jobs, half.chunk)?.dst_host;
                half.delivered_ps = half.delivered_ps.map(|at| corrected(host, at));
                refuse_duplicate(half.chunk, ends.received.insert((half.chunk, half.pass), half).as_ref())?;
            }
        }
        Ok(ends)
    }

    /// With a handshake, a payload chunk starts when its announcement (RTS) was sent.
    fn announce(&mut self, jobs: &Jobs) {
        let is_announcement = |half: &&SentHalf| jobs.message(half.chunk) == Message::Rts;
        let announced: Vec<(Key, i64)> = self
            .sent
            .values()
            .filter(is_announcement)
            .map(|half| ((jobs.announced_by(half.chunk), half.pass), half.start_ps))
            .collect();
        for (key, start_ps) in announced {
            if let Some(half) = self.sent.get_mut(&key) {
                half.start_ps = start_ps;
            }
        }
    }

    /// Rows in order of completion, then of chunk number.
    fn rows(&self, spec: &RunSpec, jobs: &Jobs) -> Vec<ChunkRow> {
        let mut passes_by_chunk: HashMap<u32, u32> = HashMap::new();
        for &(chunk, pass) in self.sent.keys().chain(self.received.keys()) {
            let passes = passes_by_chunk.entry(chunk).or_default();
            *passes = (*passes).max(pass + 1);
        }
        let payload = (0..jobs.chunk_count()).filter(|&chunk| jobs.message(chunk) == Message::Payload);
        let rows = payload.flat_map(|chunk| {
            let planned = JobSpec::rounds_planned(&spec.jobs[jobs.job_of(chunk) as usize]);
            let passes = match planned {
                Some(rounds) => jobs.passes(chunk, rounds),
                None => passes_by_chunk.get(&chunk).copied().unwrap_or(0),
            };
            (0..passes).map(move |pass| (chunk, pass))
        });
        let connection = spec.transport.connection;
        let mut rows: Vec<ChunkRow> = rows.map(|key| self.row(jobs, connection, key)).collect();
        rows.sort_by_key(|row| row.completed_ps.unwrap_or(u64::MAX));
        rows
    }

    fn row(&self, jobs: &Jobs, connection: QpType, key @ (number, pass): Key) -> ChunkRow {
        let (Chunk { transfer: id, bytes, .. }, transfer, pair) = jobs.chunk_with_pair(number);
        let (sent, received) = (self.sent.get(&key), self.received.get(&key));
        let seen = sent.map_or_else(SentCounts::default, |half| half.seen);
        let arrived = received.map_or_else(ReceivedCounts::default, |half| half.seen);
        let delivered_ps = received.and_then(|half| half.delivered_ps);
        let completed_ps = sent.and_then(|half| half.completed_ps);
        let completed_ps = match connection {
            QpType::Rc => completed_ps,
            QpType::Uc => completed_ps.zip(delivered_ps).map(|(sent, delivered)| sent.max(delivered)),
        };
        // A time before the start is within the error of the clocks.
        let time = |ps: i64| u64::try_from(ps).unwrap_or(0);
        ChunkRow {
            job: pair.job,
            transfer: id.0,
            part: pair.part,
            round: jobs.round(number, pass),
            qp: pair.number,
            udp_source_port: pair.udp_source_port(),
            src_rank: pair.src.0,
            dst_rank: pair.dst.0,
            src_host: pair.src_host.0,
            dst_host: pair.dst_host.0,
            step: transfer.step,
            channel: pair.channel,
            block: transfer.block,
            status: match status(sent, arrived.is_verified) {
                ChunkStatus::Complete if completed_ps.is_none() => ChunkStatus::Unfinished,
                status => status,
            },
            payload_bytes: bytes,
            start_ps: sent.map(|half| time(half.start_ps)),
            delivered_ps: delivered_ps.map(time),
            completed_ps: completed_ps.map(time),
            unloaded_ps: None,
            tx_frames: seen.frames,
            tx_bytes: seen.bytes,
            rx_frames: arrived.frames,
            rx_bytes: arrived.bytes,
            retransmits: seen.retransmits,
            naks: seen.naks,
            timeouts: seen.timeouts,
            out_of_order: arrived.out_of_order,
            latency_min_ps: None,
            latency_sum_ps: 0,
            latency_frames: 0,
            latency_max_ps: None,
            ecn_ce_rx: arrived.marks,
            cnp_tx: arrived.cnps,
            cnp_rx: seen.cnps,
        }
    }
}

/// Status of a chunk. A chunk with wrong payload has failed, even if its sender reports success.
const fn status(sent: Option<&SentHalf>, is_verified: Option<bool>) -> ChunkStatus {
    match (sent, is_verified) {
        (Some(SentHalf { status: SentStatus::Failed, .. }), _) | (_, Some(false)) => ChunkStatus::Failed,
        (Some(SentHalf { status: SentStatus::Complete, .. }), _) => ChunkStatus::Complete,
        (Some(SentHalf { status: SentStatus::Unfinished, .. }) | None, _) => ChunkStatus::Unfinished,
    }
}

fn pair_of(jobs: &Jobs, chunk: u32) -> Result<jobs::QueuePair, RunError> {
    if chunk >= jobs.chunk_count() {
        return Err(RunError::Record(format!("chunk {chunk}; the run has {}", jobs.chunk_count())));
    }
    Ok(jobs.chunk_with_pair(chunk).2)
}

fn refuse_duplicate<T>(chunk: u32, before: Option<&T>) -> Result<(), RunError> {
    match before {
        None => Ok(()),
        Some(_) => Err(RunError::Record(format!("chunk {chunk} has two records"))),
    }
}

#[cfg(test)]
mod tests;
