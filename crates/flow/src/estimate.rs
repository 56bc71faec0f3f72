//! Estimates time and memory of a run before it starts, and counts its chunks, rows, queue pairs and bytes,
//! without generating the chunks.
//!
//! Counts are closed forms of each pattern. Memory is that of transfers and flows, for the largest possible
//! number of concurrent flows: a connection has at most one. Time is that of a chunk that shares its links
//! with few others; if many share each link, it takes longer. `tools/estimate_accuracy.py --flow` compares
//! both with measured runs.

use crate::network::idle_time::Frames;
use crate::network::paths::Paths;
use crate::rings::{Rings, relay_of};
use crate::run::EqualServers;
use crate::sharing;
use jobs::Jobs;
use serde::Serialize;
use spec::{ChunksObserved, QpMode, RunSpec, SpecError};
use topology::NodeKind;
use workload::Volume;

/// The program with its libraries [bytes].
const PROGRAM_BYTES: u64 = 106 << 20;
/// A port with its link and routes [bytes]. If senders do not react, also its queue, and the flow from it to
/// each port of the switch at its other end.
const PORT_BYTES: u64 = 260;
const QUEUE_BYTES: u64 = 260;
const TRANSIT_BYTES: u64 = 16;
/// A transfer of a list [bytes], and one computed from its number.
const LISTED_BYTES: u64 = 64;
const TRANSFER_BYTES: u64 = 16;
/// An active part of a transfer, with its flow on each link and its events [bytes]; and if senders do not
/// react.
const FLOW_BYTES: u64 = 300;
const QUEUED_BYTES: u64 = 56;
/// A rank of a ring without events [bytes].
const RANK_BYTES: u64 = 200;
/// A counted completion time [bytes], and the maximum number of them.
const COUNT_BYTES: u64 = 110;
const COUNTS: u64 = 1 << 20;
/// A row waiting to be written to disk [bytes], and the maximum number of them.
const ROW_BYTES: u64 = 550;
const ROWS_WAITING: u64 = 100_000;

/// Time to start the program and write the tables [us].
const PROGRAM_US: u64 = 550_000;
/// Time to set up a port [ns].
const PORT_NS: u64 = 3_000;
/// Time for a chunk from its post to its row [ns].
const CHUNK_NS: u64 = 6_000;
/// Time for a chunk if senders do not react [ns], and the additional time if queues exceed the caches of a
/// processor.
const QUEUED_NS: u64 = 4_000;
const UNCACHED_NS: u64 = 8_000;
const CACHED_BYTES: u64 = 32 << 20;
/// Time for a chunk in a ring without events [ns], and per time of a block if chunks are only counted [ps].
const ROW_NS: u64 = 1_500;
const BLOCK_TIME_PS: u64 = 3_000;

/// Estimated time and memory of a run, with the same fields as the estimate of the packet simulator.
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

/// Estimates time and memory of a run of `spec`.
///
/// # Errors
/// If the spec cannot be run; not all possible reasons are checked.
pub fn estimate(spec: &RunSpec) -> Result<Estimate, SpecError> {
    spec::check(spec)?;
    let mut paths = Paths::new(spec)?;
    let graph = &paths.network.graph;
    let (hosts, ports) = (graph.hosts() as u64, 2 * graph.links.len() as u64);
    let parts = u64::from(spec.transport.qps_per_rank_pair);
    let mut sum = Estimate { hosts, ports, ..Estimate::default() };
    let (mut transfers, mut flows, mut list_bytes) = (0_u64, 0_u64, 0_u64);
    let volumes: Vec<Volume> =
        (0..).zip(&spec.jobs).map(|(index, job)| jobs::volume(spec, index, job)).collect::<Result<_, _>>()?;
    for volume in &volumes {
        transfers = transfers.saturating_add(volume.transfers);
        let each = if volume.is_listed { LISTED_BYTES } else { TRANSFER_BYTES };
        list_bytes = list_bytes.saturating_add(volume.transfers.saturating_mul(each));
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
    let engine = engine(spec, &volumes, &mut paths);
    let servers = EqualServers::find(spec, &paths)
        .filter(|servers| servers.are_exact(|| matches!(engine, Engine::Fair)))
        .unwrap_or_default();
    let of_flows = |bytes| servers.simulated(flows.saturating_mul(bytes).saturating_add(list_bytes));
    let flow_bytes = match engine {
        Engine::Rings { ranks, .. } => ranks * RANK_BYTES,
        Engine::Fair => of_flows(FLOW_BYTES),
        Engine::Queued(_) => of_flows(QUEUED_BYTES),
    };
    sum.memory_bytes = memory_bytes(spec, &sum, flow_bytes, engine);
    sum.time_ms = time_ms(spec, &sum, servers.simulated(sum.chunks), engine);
    Ok(sum)
}

/// The model that executes a run.
#[derive(Clone, Copy)]
enum Engine {
    /// Rings without events, with the number of times computed to count all blocks.
    Rings { ranks: u64, times: u64 },
    /// Senders that react.
    Fair,
    /// Senders that do not, with the size of their queues [bytes].
    Queued(u64),
}

/// The model that the run uses: see [`sharing::reacts`].
fn engine(spec: &RunSpec, volumes: &[Volume], paths: &mut Paths) -> Engine {
    if spec.jobs.iter().all(|job| relay_of(spec, job).is_some())
        && let Some(rings) = Rings::find(spec, paths)
    {
        return Engine::Rings { ranks: rings.ranks(), times: rings.computed_times() };
    }
    let parts = u64::from(spec.transport.qps_per_rank_pair);
    let chunks = volumes.iter().map(|volume| volume.largest_bytes.div_ceil(parts));
    let outlasts =
        |limit| (0..).zip(volumes).any(|(index, volume)| outlasts(spec, index, volume, &paths.frames, limit));
    if sharing::reacts(spec, paths, chunks, outlasts) {
        return Engine::Fair;
    }
    let graph = &paths.network.graph;
    let switches = graph.nodes.iter().filter(|node| node.kind == NodeKind::Switch);
    let transits: u64 = switches.map(|switch| (switch.ports.len() as u64).pow(2)).sum();
    Engine::Queued(2 * graph.links.len() as u64 * QUEUE_BYTES + transits * TRANSIT_BYTES)
}

/// Whether a queue pair of a job has more than `limit` bytes on the wire to send, as in
/// [`sharing::outlasts`]. Generates the schedule only if the volume does not decide it.
fn outlasts(spec: &RunSpec, index: u32, volume: &Volume, frames: &Frames, limit: u64) -> bool {
    let parts = u64::from(spec.transport.qps_per_rank_pair);
    let largest = frames.count(volume.largest_bytes.div_ceil(parts)).wire_bytes;
    let has_one_each = !volume.is_listed && volume.connections == volume.transfers;
    if largest > limit || spec.transport.qp_mode == QpMode::PerChunk || has_one_each {
        return largest > limit;
    }
    let mean = volume.payload_bytes / volume.connections.max(1) / parts;
    if mean > limit || volume.transfers > sharing::TRANSFERS_MAX as u64 {
        return true;
    }
    let mut jobs = Jobs::new(spec);
    // Errors are reported elsewhere.
    let is_made = jobs.add_scheduled(spec, index, &spec.jobs[index as usize]).is_ok();
    is_made && sharing::outlasts(&jobs, frames, limit)
}

fn memory_bytes(spec: &RunSpec, sum: &Estimate, flow_bytes: u64, engine: Engine) -> u64 {
    let rows = sum.chunk_rows.min(ROWS_WAITING) * ROW_BYTES;
    let (counts, queue_bytes) = match engine {
        Engine::Rings { .. } => (0, 0),
        Engine::Fair => (sum.chunks.min(COUNTS), 0),
        Engine::Queued(bytes) => (sum.chunks.min(COUNTS), bytes),
    };
    let counts = if spec.observe.chunks == ChunksObserved::All { 0 } else { counts };
    [flow_bytes, sum.ports * PORT_BYTES, queue_bytes, rows, counts * COUNT_BYTES]
        .into_iter()
        .fold(PROGRAM_BYTES, u64::saturating_add)
}

/// Time to simulate `chunks` chunks.
fn time_ms(spec: &RunSpec, sum: &Estimate, chunks: u64, engine: Engine) -> u64 {
    let [times, each_ps] = match engine {
        Engine::Rings { times, .. } if spec.observe.chunks == ChunksObserved::Summary => {
            [times, BLOCK_TIME_PS]
        }
        Engine::Rings { .. } => [chunks, ROW_NS * 1_000],
        Engine::Queued(bytes) if bytes > CACHED_BYTES => [chunks, (QUEUED_NS + UNCACHED_NS) * 1_000],
        Engine::Queued(_) => [chunks, QUEUED_NS * 1_000],
        Engine::Fair => [chunks, CHUNK_NS * 1_000],
    };
    let chunks_ns = u128::from(times) * u128::from(each_ps) / 1_000;
    let work_us = (chunks_ns + u128::from(sum.ports * PORT_NS)) / 1_000;
    u64::try_from((work_us + u128::from(PROGRAM_US)) / 1_000).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set_up::{jobs_of, paths_of};
    use crate::sharing::Sharing;
    use proptest::prelude::*;
    use spec::{CollectiveSpec, RateControlSpec, Work};

    /// Collectives of eight ranks, of a closed form and of a list.
    const COLLECTIVES: [(&str, &str); 5] = [
        ("all-to-all", "parallel"),
        ("all-reduce", "ring"),
        ("all-reduce", "halving-doubling"),
        ("broadcast", "tree"),
        ("gather", "tree"),
    ];

    proptest! {
        #[test]
        fn a_run_uses_the_estimated_engine(
            (collective, algorithm) in prop::sample::select(&COLLECTIVES[..]),
            share_log2 in 8..24_u32,
            is_paced: bool,
            is_per_pair: bool,
            parts in 1..4_u32,
        ) {
            let mut spec: RunSpec =
                serde_json::from_str(include_str!("rings/ring.json")).expect("it is a spec");
            if let Work::Collective(CollectiveSpec { pattern, .. }) = &mut spec.jobs[0].work {
                (pattern.collective, pattern.algorithm) = (collective.into(), algorithm.into());
                pattern.data_bytes = 8 << share_log2;
            }
            spec.transport.qps_per_rank_pair = parts;
            spec.transport.qp_mode = if is_per_pair { QpMode::PerPair } else { QpMode::PerChunk };
            if !is_paced {
                spec.transport.rate_control = RateControlSpec::LINE_RATE;
            }
            let mut paths = paths_of(&spec).unwrap();
            let volumes = [jobs::volume(&spec, 0, &spec.jobs[0]).unwrap()];
            let estimated = engine(&spec, &volumes, &mut paths);
            let jobs = jobs_of(&spec, &paths).unwrap();
            let is_expected = match Sharing::new(&spec, &jobs, &paths) {
                Sharing::Fair(_) => matches!(estimated, Engine::Fair | Engine::Rings { .. }),
                Sharing::Queued(_) => matches!(estimated, Engine::Queued(_)),
            };
            prop_assert!(is_expected);
        }
    }
}
