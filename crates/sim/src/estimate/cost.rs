//! Estimates memory and time of a run from its numbers of chunks (parts of transfers, each sent on one queue
//! pair), queue pairs, ports and packet-hops (frames crossing a link).
//!
//! Basis: `tools/estimate_accuracy.py`, one core of the machine of docs/performance.md. The constants were
//! fitted to its twelve runs of 8 to 8,192 hosts and up to a million chunks, and to 32,768 hosts on three
//! tiers. The estimated memory of the whole program is 0.9 to 1.2 times the measured one; the estimated time
//! is 0.8 to 1.8 times that on an idle machine. In parallel with other work the same runs took up to three
//! times as long, as do runs in which PFC pauses the fabric throughout.

use super::Estimate;
use super::volume::Total;
use crate::setup::Fabric;
use spec::{ChunksObserved, LossRecovery, RunSpec};

/// The program around the simulator with its libraries [bytes].
const PROGRAM_BYTES: u64 = 120 << 20;
/// A chunk with its transfer at both hosts [bytes].
const CHUNK_BYTES: u64 = 108;
/// A queue pair, both ends [bytes].
const QUEUE_PAIR_BYTES: u64 = 164;
/// A chunk whose queue pair is created on demand, with this queue pair [bytes].
const LAZY_BYTES: u64 = 36;
/// Rate controller of a queue pair, without congestion [bytes].
const PACER_BYTES: u64 = 32;
/// Selective recovery of a queue pair [bytes].
const SELECTIVE_BYTES: u64 = 600;
/// A port with its queues, inbox and packets in flight [bytes].
const PORT_BYTES: u64 = 3_600;
/// A row of a table that is not on disk yet [bytes], and maximum number of such rows.
const ROW_BYTES: u64 = 700;
const ROWS_WAITING: u64 = 100_000;
/// A sample of a series [bytes], of two metrics.
const SAMPLE_BYTES: u64 = 150;
const METRICS: u64 = 2;

/// To start the program and write the tables [us].
const PROGRAM_US: u64 = 500_000;
/// To set up a port [us].
const PORT_US: u64 = 3;
/// To set up a chunk [ns].
const CHUNK_NS: u64 = 1_200;
/// To emit and to read a row [ns].
const ROW_NS: u64 = 700;
/// Time of a packet-hop [ns] by maximum size of the world [bytes]: larger worlds exceed a cache.
const HOP_NS: [(u64, u64); 4] = [(16 << 20, 40), (64 << 20, 60), (256 << 20, 120), (u64::MAX, 160)];

pub(super) fn estimate(spec: &RunSpec, fabric: &Fabric, total: Total) -> Estimate {
    let ports: u64 = fabric.graph.nodes.iter().map(|node| node.ports.len() as u64).sum();
    let Total { chunks, chunk_rows, queue_pairs, lazy: _, payload_bytes, packet_hops } = total;
    let world_bytes = world_bytes(spec, ports, &total);
    let chunk_rows = match spec.observe.chunks {
        ChunksObserved::All => chunk_rows,
        ChunksObserved::Sample => chunk_rows.min(spec.observe.chunk_rows.into()),
        ChunksObserved::Summary => 0,
    };
    let total = Total { chunk_rows, ..total };
    let rows = chunk_rows.min(ROWS_WAITING) * ROW_BYTES + series_bytes(spec, ports);
    Estimate {
        hosts: fabric.graph.hosts() as u64,
        ports,
        chunks,
        chunk_rows,
        queue_pairs,
        payload_bytes,
        packet_hops,
        memory_bytes: world_bytes.saturating_add(rows).saturating_add(PROGRAM_BYTES),
        time_ms: time_ms(world_bytes, ports, &total),
    }
}

fn world_bytes(spec: &RunSpec, ports: u64, total: &Total) -> u64 {
    let selective = if spec.transport.recovery == LossRecovery::Selective { SELECTIVE_BYTES } else { 0 };
    let lazy = total.lazy.saturating_mul(LAZY_BYTES);
    let chunks = (total.chunks - total.lazy).saturating_mul(CHUNK_BYTES);
    let is_paced = spec.transport.rate_control.config().is_paced();
    let paced = if is_paced { PACER_BYTES } else { 0 };
    let resident = total.queue_pairs - total.lazy;
    let queue_pairs = resident.saturating_mul(QUEUE_PAIR_BYTES + selective + paced);
    chunks.saturating_add(queue_pairs).saturating_add(lazy).saturating_add(ports * PORT_BYTES)
}

fn series_bytes(spec: &RunSpec, ports: u64) -> u64 {
    let sampled = ports.min(spec.observe.series_ports.into());
    sampled * u64::from(spec.observe.series_points) * METRICS * SAMPLE_BYTES
}

fn time_ms(world_bytes: u64, ports: u64, total: &Total) -> u64 {
    let of_size = HOP_NS.iter().find(|(most_bytes, _)| world_bytes <= *most_bytes);
    let hop_ns = of_size.map_or(0, |&(_, hop_ns)| hop_ns);
    let hops = u128::from(total.packet_hops) * u128::from(hop_ns);
    let chunks = u128::from(total.chunks) * u128::from(CHUNK_NS);
    let rows = u128::from(total.chunk_rows) * u128::from(ROW_NS);
    let fixed_us = PROGRAM_US + ports * PORT_US;
    u64::try_from((hops + chunks + rows) / 1_000_000).unwrap_or(u64::MAX).saturating_add(fixed_us / 1_000)
}
