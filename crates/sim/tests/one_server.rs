//! Collectives of NCCL on one server against closed forms: steps x latency + bytes / rate.

#![expect(clippy::float_arithmetic, reason = "measured times are compared with formulas")]

use crate::common::{collective, collective_of, run, single_switch};
use spec::{
    NcclAlgorithm, NcclConfig, NcclOneServer, NcclPeers, NcclProtocol, QpMode, RunSpec, RunStatus,
    ScaleUpCopies, ServerSpec,
};

const GPUS: u32 = 8;
/// Rate of a GPU [bytes/s].
const RATE: f64 = 370e9;
/// Latency of a message [s].
const LATENCY: f64 = 1e-6;
const COPIES: ScaleUpCopies = ScaleUpCopies { rate_bps: 370 * 8_000_000_000, latency_ps: 1_000_000 };
/// Data of all channels together in a chunk of a GPU [bytes].
const CHUNK: u64 = 16 * (2 << 20);

fn one_server(algorithm: NcclAlgorithm, protocol: NcclProtocol) -> NcclOneServer {
    NcclOneServer {
        heads: None,
        algorithm,
        protocol,
        channels: 16,
        chunk_bytes: 2 << 20,
        slice_bytes: if protocol == NcclProtocol::Simple { 1 << 20 } else { 2 << 20 },
        window_messages: 8,
        scale_up: COPIES,
    }
}

fn spec(name: &str, bytes: u64, nccl: NcclConfig) -> RunSpec {
    let mut spec = collective(single_switch(GPUS), GPUS, name, "nccl", bytes);
    let adapters_of_gpu = (0..GPUS as u16).map(|gpu| vec![gpu]).collect();
    spec.fabric.server =
        Some(ServerSpec { adapters: GPUS, adapters_of_gpu, machines: None, bus_rate_bps: None });
    spec.transport.qp_mode = QpMode::PerPair;
    spec.jobs[0].hosts = vec![0; GPUS as usize];
    spec.jobs[0].gpus = (0..GPUS).collect();
    collective_of(&mut spec.jobs[0]).nccl = Some(nccl);
    spec
}

/// Completion time of a collective [s].
fn time(name: &str, bytes: u64, algorithm: NcclAlgorithm, protocol: NcclProtocol) -> f64 {
    completion(&spec(name, bytes, NcclConfig::OneServer(one_server(algorithm, protocol))))
}

fn completion(spec: &RunSpec) -> f64 {
    let (summary, _) = run(spec);
    assert_eq!(summary.jobs[0].status, RunStatus::Complete, "{}", summary.jobs[0].reason);
    summary.jobs[0].end_ps.expect("it is complete") as f64 / 1e12
}

fn assert_within(found: f64, expected: f64, tolerance: f64) {
    let ratio = found / expected;
    assert!((1.0 - tolerance..1.0 + tolerance).contains(&ratio), "{found} instead of {expected}");
}

const EXACT: f64 = 1e-5;

#[test]
fn a_ring_of_one_slice_takes_a_latency_and_a_block_in_each_step() {
    let block = 1 << 20;
    for (name, steps) in [("all-reduce", 14.0), ("all-gather", 7.0), ("reduce-scatter", 7.0)] {
        let found = time(name, block * 8, NcclAlgorithm::Ring, NcclProtocol::Simple);
        assert_within(found, steps * (LATENCY + block as f64 / RATE), EXACT);
    }
}

#[test]
fn slices_hide_the_latency_of_a_ring_but_once_in_a_loop() {
    for loops in [1, 3] {
        let found = time("all-reduce", CHUNK * 8 * loops, NcclAlgorithm::Ring, NcclProtocol::Simple);
        assert_within(found, loops as f64 * (14.0 * CHUNK as f64 / RATE + LATENCY), EXACT);
    }
}

#[test]
fn with_flags_a_block_is_forwarded_while_it_arrives() {
    for (protocol, factor) in [(NcclProtocol::Ll, 2.0), (NcclProtocol::Ll128, 128.0 / 120.0)] {
        for block in [1_200, 120_000, 1_200_000] {
            let found = time("all-reduce", block * 8, NcclAlgorithm::Ring, protocol);
            let sent = block as f64 * factor / RATE;
            assert_within(found, 13.0 * LATENCY.max(sent) + LATENCY + sent, EXACT);
        }
    }
}

#[test]
fn a_chain_passes_chunks_along() {
    for name in ["broadcast", "reduce"] {
        let found = time(name, 1 << 20, NcclAlgorithm::Ring, NcclProtocol::Simple);
        assert_within(found, 7.0 * (LATENCY + (1 << 20) as f64 / RATE), EXACT);
        let found = time(name, 3 * CHUNK, NcclAlgorithm::Ring, NcclProtocol::Simple);
        assert_within(found, (7.0 + 2.0) * CHUNK as f64 / RATE + 7.0 * LATENCY, EXACT);
        // The first byte takes seven latencies.
        let found = time(name, 3 * CHUNK, NcclAlgorithm::Ring, NcclProtocol::Ll);
        assert_within(found, 7.0 * LATENCY + 2.0 * 3.0 * CHUNK as f64 / RATE, EXACT);
    }
}

#[test]
fn a_tree_sends_all_data_up_and_down() {
    let found = time("all-reduce", 1_024, NcclAlgorithm::Tree, NcclProtocol::Simple);
    assert_within(found, 14.0 * (LATENCY + 1_024.0 / RATE), EXACT);
    let chunks = 64.0;
    let found = time("all-reduce", 64 * CHUNK, NcclAlgorithm::Tree, NcclProtocol::Simple);
    // Two directions, and chains that fill and drain.
    assert_within(found, (2.0 * chunks + 13.0) * CHUNK as f64 / RATE, 0.05);
}

#[test]
fn switches_reduce_and_multicast() {
    let loop_bytes = (CHUNK * 8) as f64;
    let found = time("all-reduce", CHUNK * 8, NcclAlgorithm::Nvls, NcclProtocol::Simple);
    assert_within(found, loop_bytes / RATE * (1.0 + 1.0 / 8.0) + 2.0 * LATENCY, EXACT);
    let found = time("all-reduce", CHUNK * 8 * 20, NcclAlgorithm::Nvls, NcclProtocol::Simple);
    assert_within(found, 20.0 * loop_bytes / RATE * (1.0 + 1.0 / 8.0) + 2.0 * LATENCY, 1e-3);
    for name in ["all-gather", "reduce-scatter"] {
        let found = time(name, CHUNK * 8 * 20, NcclAlgorithm::Nvls, NcclProtocol::Simple);
        assert_within(found, 20.0 * loop_bytes / RATE + LATENCY, EXACT);
    }
}

#[test]
fn few_heads_of_nvls_have_larger_parts_of_the_sums() {
    let nvls = NcclOneServer { heads: Some(2), ..one_server(NcclAlgorithm::Nvls, NcclProtocol::Simple) };
    let found = completion(&spec("all-reduce", CHUNK * 8, NcclConfig::OneServer(nvls)));
    assert_within(found, (CHUNK * 8) as f64 / RATE * (1.0 + 1.0 / 2.0) + 2.0 * LATENCY, EXACT);
}

#[test]
fn peers_copy_at_the_rate_of_a_gpu() {
    let bytes = 64 << 20;
    let peers = NcclPeers {
        protocol: NcclProtocol::Simple,
        concurrent: 8,
        channels: 4,
        chunk_bytes: 512 << 10,
        pxn: true,
        scale_up: COPIES,
    };
    for (name, part) in [("all-to-all", 7.0 / 8.0), ("send-receive", 1.0)] {
        let found = completion(&spec(name, bytes, NcclConfig::Peers(peers.clone())));
        assert_within(found, bytes as f64 * part / RATE + LATENCY, EXACT);
    }
}

#[test]
fn channels_on_one_server_have_equal_parts_of_the_copies() {
    let bytes = 8 * 16 * (64 << 10);
    for (algorithm, copied) in [
        (NcclAlgorithm::Ring, 14 * bytes),
        (NcclAlgorithm::Tree, 14 * bytes),
        (NcclAlgorithm::Nvls, 9 * bytes),
    ] {
        let nccl = NcclConfig::OneServer(one_server(algorithm, NcclProtocol::Simple));
        let rows = run(&spec("all-reduce", bytes, nccl)).1.channels;
        assert_eq!(rows.len(), 16);
        for (row, number) in rows.iter().zip(0..) {
            assert_eq!((row.channel, row.host, row.send_nic), (number, 0, None));
            assert_eq!((row.scale_up_bytes, row.network_bytes), (copied / 16, 0));
        }
    }
}
