//! What a run will cost, told before it starts and without making its chunks.
//!
//! Counts come from the closed forms of each pattern. Memory is what a transfer and a flow hold, for as many
//! flows as can be under way at once: no connection has two. Time is that of a chunk that shares its links
//! with few others; where many share each link it takes longer. `tools/estimate_accuracy.py --flow` compares
//! both with what runs took.

use crate::path::Paths;
use crate::relay::{Relays, relay_of};
use jobs::{arrivals, refusal, shape};
use serde::Serialize;
use spec::{ChunksObserved, JobSpec, RateControl, RunSpec, SpecError};
use topology::Graph;
use workload::{Volume, volume_for};

/// The program with its libraries [bytes].
const PROGRAM_BYTES: u64 = 120 << 20;
/// A port with its link and routes [bytes], and its queue where senders do not react.
const PORT_BYTES: u64 = 260;
const QUEUE_BYTES: u64 = 3_400;
/// A transfer, whether or not it is under way [bytes].
const TRANSFER_BYTES: u64 = 24;
/// A part of a transfer under way: its flow on each link, its events [bytes]; and where senders do not react.
const FLOW_BYTES: u64 = 640;
const QUEUED_BYTES: u64 = 110;
/// A rank of a ring without events [bytes].
const RANK_BYTES: u64 = 200;
/// A completion time that is counted [bytes], and how many of them there are at most.
const COUNT_BYTES: u64 = 110;
const COUNTS: u64 = 1 << 20;
/// A row on its way to the disk [bytes], and how many wait there at most.
const ROW_BYTES: u64 = 700;
const ROWS_WAITING: u64 = 100_000;

/// To start the program and write the tables [us].
const PROGRAM_US: u64 = 500_000;
/// To set up a port [ns].
const PORT_NS: u64 = 1_500;
/// A chunk from its post to its row [ns].
const CHUNK_NS: u64 = 12_000;
/// The same where senders do not react [ns].
const QUEUED_NS: u64 = 5_000;
/// The same in a ring without events [ns], and a time of a block where chunks are only counted [ps].
const ROW_NS: u64 = 1_500;
const TIME_PS: u64 = 3_000;

/// What a run will cost; the same figures as those of the packet simulator, for the same plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// Hosts of the fabric.
    pub hosts: u64,
    /// Ports of its hosts and switches.
    pub ports: u64,
    /// Data chunks of all jobs.
    pub chunks: u64,
    /// Rows of the table of chunks.
    pub chunk_rows: u64,
    /// Queue pairs.
    pub queue_pairs: u64,
    /// Payload [bytes].
    pub payload_bytes: u64,
    /// Frames crossing links: none.
    pub packet_hops: u64,
    /// Memory of the whole program at its peak [bytes].
    pub memory_bytes: u64,
    /// Time on one core [ms].
    pub time_ms: u64,
}

/// Estimates what `spec` will cost.
///
/// # Errors
/// When it is seen not to be possible to carry out; not everything that makes it so is looked at.
pub fn estimate(spec: &RunSpec) -> Result<Estimate, SpecError> {
    spec::check(spec)?;
    let graph = paths::graph(&spec.fabric)?;
    let parts = u64::from(spec.transport.qps_per_rank_pair);
    let mut sum = Estimate { hosts: graph.hosts() as u64, ports: ports(&graph), ..Estimate::default() };
    let (mut transfers, mut flows) = (0_u64, 0_u64);
    for (index, job) in spec.jobs.iter().enumerate() {
        let volume = volume(spec, index, job)?;
        transfers = transfers.saturating_add(volume.transfers);
        flows = flows.saturating_add(volume.connections.min(volume.transfers).saturating_mul(parts));
        sum.payload_bytes = sum.payload_bytes.saturating_add(volume.payload_bytes);
    }
    sum.chunks = transfers.saturating_mul(parts);
    sum.chunk_rows = match spec.observe.chunks {
        ChunksObserved::All => sum.chunks,
        ChunksObserved::Sample => sum.chunks.min(spec.observe.chunk_rows.into()),
        ChunksObserved::Summary => 0,
    };
    sum.queue_pairs = flows;
    let rings = rings(spec)?;
    sum.memory_bytes = memory_bytes(spec, &sum, transfers, flows, rings);
    sum.time_ms = time_ms(spec, &sum, rings);
    Ok(sum)
}

/// What rings without events take, if the spec is nothing else: see [`Relays::size`].
fn rings(spec: &RunSpec) -> Result<Option<[u64; 2]>, SpecError> {
    match spec.jobs.iter().all(|job| relay_of(spec, job).is_some()) {
        true => Ok(Relays::find(spec, &mut Paths::new(spec)?).map(|relays| relays.size())),
        false => Ok(None),
    }
}

fn volume(spec: &RunSpec, index: usize, job: &JobSpec) -> Result<Volume, SpecError> {
    volume_for(&job.collective, &job.algorithm, &shape(spec, job), job.arrivals.map(arrivals))
        .map_err(|error| refusal(&format!("jobs[{index}].algorithm"), &error))
}

fn ports(graph: &Graph) -> u64 {
    2 * graph.links.len() as u64
}

const fn is_queued(spec: &RunSpec) -> bool {
    matches!(spec.transport.rate_control, RateControl::LineRate {})
}

fn memory_bytes(spec: &RunSpec, sum: &Estimate, transfers: u64, flows: u64, rings: Option<[u64; 2]>) -> u64 {
    let is_queued = is_queued(spec);
    let rows = sum.chunk_rows.min(ROWS_WAITING) * ROW_BYTES;
    if let Some([ranks, _]) = rings {
        return PROGRAM_BYTES + sum.ports * PORT_BYTES + ranks * RANK_BYTES + rows;
    }
    let ports = sum.ports * (PORT_BYTES + if is_queued { QUEUE_BYTES } else { 0 });
    let flow_bytes = if is_queued { QUEUED_BYTES } else { FLOW_BYTES };
    let counts = if spec.observe.chunks == ChunksObserved::All { 0 } else { sum.chunks.min(COUNTS) };
    let rows = rows + counts * COUNT_BYTES;
    [transfers.saturating_mul(TRANSFER_BYTES), flows.saturating_mul(flow_bytes), ports, rows]
        .into_iter()
        .fold(PROGRAM_BYTES, u64::saturating_add)
}

fn time_ms(spec: &RunSpec, sum: &Estimate, rings: Option<[u64; 2]>) -> u64 {
    let [times, each_ps] = match rings {
        Some([_, times]) if spec.observe.chunks == ChunksObserved::Summary => [times, TIME_PS],
        Some(_) => [sum.chunks, ROW_NS * 1_000],
        None if is_queued(spec) => [sum.chunks, QUEUED_NS * 1_000],
        None => [sum.chunks, CHUNK_NS * 1_000],
    };
    let chunks = u128::from(times) * u128::from(each_ps) / 1_000;
    let work_us = (chunks + u128::from(sum.ports * PORT_NS)) / 1_000;
    u64::try_from((work_us + u128::from(PROGRAM_US)) / 1_000).unwrap_or(u64::MAX)
}
