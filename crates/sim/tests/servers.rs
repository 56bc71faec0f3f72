//! Collectives of NCCL over servers with several GPUs, against closed forms: each bound in turn, rails, PXN,
//! and the cost of a step.

#![expect(clippy::float_arithmetic, reason = "measured times are compared with formulas of the literature")]

use crate::common::{Recorder, collective, collective_of, link, run};
use spec::{
    LinkSpec, NcclChannel, NcclChannels, NcclConfig, NcclPeers, NcclProtocol, RailOptimised, RunSpec,
    RunStatus, ScaleUpCopies, ScaleUpHops, ServerSpec, SharedMemorySpec, TopologySpec,
};

/// Bytes of a frame of 4,096 bytes of payload on a link.
const FRAME_BYTES: f64 = 4096.0 + 82.0;
/// Scale-up domain of each GPU [bit/s].
const SCALE_UP_BPS: u64 = 3_600_000_000_000;
const COPIES: ScaleUpCopies = ScaleUpCopies { rate_bps: SCALE_UP_BPS, latency_ps: 1_000_000 };

/// Servers of `gpus` GPUs, each with an adapter of `gbps` on a rail of its own.
fn servers(count: u32, gpus: u32, gbps: u64, spines: u32, name: &str, bytes: u64) -> RunSpec {
    let cable = LinkSpec { rate_bps: gbps * 1_000_000_000, ..link(10) };
    let topology = TopologySpec::RailOptimised(RailOptimised {
        servers: count,
        rails: gpus,
        spines,
        links_per_spine: 1,
        host_link: cable,
        fabric_link: cable,
        scale_up_link: None,
    });
    let mut spec = collective(topology, count * gpus, name, "nccl", bytes);
    let adapters_of_gpu = (0..gpus as u16).map(|gpu| vec![gpu]).collect();
    spec.fabric.server =
        Some(ServerSpec { adapters: gpus, adapters_of_gpu, machines: None, bus_rate_bps: None });
    spec.fabric.shared_memory = SharedMemorySpec { rate_bps: SCALE_UP_BPS, latency_ps: 1_000_000 };
    spec.transport.qp_mode = spec::QpMode::PerPair;
    let job = &mut spec.jobs[0];
    job.hosts = (0..count * gpus).map(|rank| rank / gpus).collect();
    job.gpus = (0..count * gpus).map(|rank| rank % gpus).collect();
    spec
}

/// A channel on each rail, with `rate_bps` inside a server.
fn channels(gpus: u32, rate_bps: u64) -> NcclChannels {
    let channel = |gpu: u32| NcclChannel { gpu, receive_nic: gpu as u16, send_nic: gpu as u16 };
    NcclChannels {
        protocol: NcclProtocol::Simple,
        channels: (0..gpus).map(channel).collect(),
        chunk_bytes: 2 << 20,
        slice_bytes: 1 << 20,
        window_messages: 4,
        scale_up: ScaleUpHops { hops: gpus - 1, rate_bps, latency_ps: 1_000_000 },
    }
}

fn with(mut spec: RunSpec, nccl: NcclConfig) -> RunSpec {
    collective_of(&mut spec.jobs[0]).nccl = Some(nccl);
    spec
}

/// Completion time [s].
fn time(spec: &RunSpec) -> f64 {
    let (summary, _) = run(spec);
    assert_eq!(summary.jobs[0].status, RunStatus::Complete, "{}", summary.jobs[0].reason);
    summary.jobs[0].end_ps.expect("it is complete") as f64 / 1e12
}

fn assert_within(found: f64, expected: f64, tolerance: f64) {
    let ratio = found / expected;
    assert!((1.0 - tolerance..1.0 + tolerance).contains(&ratio), "{found} instead of {expected}");
}

/// Payload rate of an adapter [bytes/s].
fn goodput(gbps: f64) -> f64 {
    gbps * 1e9 / 8.0 * 4096.0 / FRAME_BYTES
}

#[test]
fn a_ring_is_as_fast_as_its_adapters() {
    let bytes = 512 << 20;
    for count in [2, 3] {
        let spec = servers(count, 4, 400, 1, "all-reduce", bytes);
        let spec = with(spec, NcclConfig::Ring(channels(4, SCALE_UP_BPS / 4)));
        let ranks = f64::from(count * 4);
        let expected = bytes as f64 * 2.0 * (ranks - 1.0) / ranks / (4.0 * goodput(400.0));
        assert_within(time(&spec), expected, 0.05);
    }
}

/// Adapters of 400 Gb/s behind a bus of 24 GB/s, on links that stay faster between switches.
#[test]
fn a_slow_bus_is_the_bound_of_a_ring() {
    let bytes = 256 << 20;
    let mut spec = servers(2, 4, 400, 1, "all-reduce", bytes);
    let server = spec.fabric.server.as_mut().expect("it has servers");
    server.bus_rate_bps = Some(24 * 8_000_000_000);
    let spec = with(spec, NcclConfig::Ring(channels(4, SCALE_UP_BPS / 4)));
    assert_within(time(&spec), bytes as f64 * 2.0 * 7.0 / 8.0 / (4.0 * goodput(192.0)), 0.05);
}

#[test]
fn a_slow_scale_up_domain_is_the_bound_of_a_ring() {
    let bytes = 512 << 20;
    let spec = servers(2, 4, 400, 1, "all-reduce", bytes);
    let spec = with(spec, NcclConfig::Ring(channels(4, 100_000_000_000)));
    // Each channel has 12.5 GB/s inside a server, less than the 50 GB/s of its adapter.
    assert_within(time(&spec), bytes as f64 / 4.0 * 2.0 * 7.0 / 8.0 / 12.5e9, 0.05);
}

#[test]
fn latency_is_that_of_the_hops_of_small_data() {
    let spec = servers(4, 4, 400, 1, "all-reduce", 16 * 4 * 64);
    let spec = with(spec, NcclConfig::Ring(channels(4, SCALE_UP_BPS)));
    // 30 steps: from 7 to 8 of them between servers, the others over 1 us inside one.
    let hop = {
        let spec = servers(2, 1, 400, 1, "send-receive", 64);
        let peers = NcclPeers {
            protocol: NcclProtocol::Simple,
            concurrent: 1,
            channels: 1,
            chunk_bytes: 1 << 20,
            pxn: false,
            scale_up: COPIES,
        };
        time(&with(spec, NcclConfig::Peers(peers)))
    };
    let found = time(&spec);
    assert!(found > 23.0 * 1e-6 + 7.0 * (hop / 2.0) && found < 24.0 * 1e-6 + 8.0 * hop, "{found}, hop {hop}");
}

#[test]
fn a_tree_ends_when_its_data_have_passed_the_gpus() {
    let tree = |hops: u32| {
        let spec = servers(2, 8, 400, 1, "all-reduce", 64);
        let scale_up = ScaleUpHops { hops, rate_bps: SCALE_UP_BPS, latency_ps: 1_000_000 };
        time(&with(spec, NcclConfig::Tree(NcclChannels { scale_up, ..channels(8, SCALE_UP_BPS) })))
    };
    // Seven hops of 1 us up and as many down, in place of one: the last of them end after the acknowledgement.
    let [short, long] = [tree(6), tree(7)];
    assert_within(long - short, 2e-6, 0.01);
}

#[test]
fn a_tree_moves_all_data_up_and_down() {
    let bytes = 512 << 20;
    let spec = servers(4, 4, 400, 1, "all-reduce", bytes);
    let mut tree =
        NcclChannels { chunk_bytes: 512 << 10, window_messages: 8, ..channels(4, SCALE_UP_BPS / 8) };
    tree.channels.extend_from_within(..);
    // Each adapter has a channel of each tree: a server with two children in one is a leaf of the other.
    let expected = bytes as f64 / 4.0 * 2.0 / goodput(400.0);
    assert_within(time(&with(spec, NcclConfig::Tree(tree))), expected, 0.1);
}

/// Keysight, KAI Data Center Builder, "AlltoAll with PXN": 2 hosts of 4 ranks, 100 MiB: 6.58 ms without PXN,
/// 4.67 ms with it.
#[test]
fn pxn_keeps_all_to_all_on_its_rails() {
    let with_pxn = |pxn: bool| {
        // One uplink of each rail switch, as fast as an adapter.
        let spec = servers(2, 4, 100, 1, "all-to-all", 100 << 20);
        let peers = NcclPeers {
            protocol: NcclProtocol::Simple,
            concurrent: 8,
            channels: 1,
            chunk_bytes: 128 << 10,
            pxn,
            scale_up: COPIES,
        };
        time(&with(spec, NcclConfig::Peers(peers)))
    };
    let found = [with_pxn(false), with_pxn(true)];
    let share = (100 << 20) as f64 / 8.0;
    // Two adapters of a rail send three of four shares through the only uplink; with PXN none.
    assert_within(found[0], 2.0 * 3.0 * share / goodput(100.0), 0.05);
    assert_within(found[1], 4.0 * share / goodput(100.0), 0.05);
    assert_within(found[0], 6.58e-3, 0.05);
    // The document does not state the rate inside its hosts, where data arrive before the network starts.
    assert_within(found[1], 4.67e-3, 0.07);
}

/// Two NVLink domains, each of two machines of four GPUs: half of the data cross, and an adapter of each machine
/// shares a rail.
#[test]
fn nvlink_domains_send_over_the_adapters_of_all_their_machines() {
    let bytes = 256 << 20;
    let domains = |name: &str, nccl: NcclConfig| {
        let mut spec = servers(4, 4, 100, 1, name, bytes);
        let adapters_of_gpu = (0..8).map(|gpu| vec![gpu]).collect();
        spec.fabric.server =
            Some(ServerSpec { adapters: 8, adapters_of_gpu, machines: Some(2), bus_rate_bps: None });
        spec.jobs[0].hosts = (0..16).map(|rank| rank / 8).collect();
        spec.jobs[0].gpus = (0..16).map(|rank| rank % 8).collect();
        time(&with(spec, nccl))
    };
    let ring = domains("all-reduce", NcclConfig::Ring(channels(8, SCALE_UP_BPS / 8)));
    assert_within(ring, bytes as f64 * 2.0 * 15.0 / 16.0 / (8.0 * goodput(100.0)), 0.05);
    let peers = NcclPeers {
        protocol: NcclProtocol::Simple,
        concurrent: 16,
        channels: 1,
        chunk_bytes: 256 << 10,
        pxn: true,
        scale_up: COPIES,
    };
    let all_to_all = domains("all-to-all", NcclConfig::Peers(peers));
    assert_within(all_to_all, bytes as f64 / 2.0 / goodput(100.0), 0.05);
}

/// NVIDIA/nccl#2409: the host spends 10 to 12 us on each step: 13 GB/s with steps of 128 KiB, 85 to 88 GB/s
/// with 1 MiB, over eight adapters of 400 Gb/s that could carry 392 GB/s.
#[test]
fn the_cost_of_a_step_bounds_small_steps() {
    let with_steps = |step_bytes: u64, cost_us: u64| {
        let bytes = 256 << 20;
        let mut spec = servers(2, 8, 400, 1, "send-receive", bytes);
        // One process on each server uses all adapters.
        spec.fabric.server = Some(ServerSpec {
            adapters: 8,
            adapters_of_gpu: vec![(0..8).collect()],
            machines: None,
            bus_rate_bps: None,
        });
        spec.jobs[0].hosts = vec![0, 1];
        spec.jobs[0].gpus = vec![0, 0];
        spec.transport.qps_per_rank_pair = 8;
        collective_of(&mut spec.jobs[0]).send_overhead_ps = cost_us * 1_000_000;
        let peers = NcclPeers {
            protocol: NcclProtocol::Simple,
            concurrent: 1,
            channels: 1,
            chunk_bytes: step_bytes,
            pxn: false,
            scale_up: COPIES,
        };
        bytes as f64 / time(&with(spec, NcclConfig::Peers(peers))) / 1e9
    };
    assert_within(with_steps(128 << 10, 10), 13.0, 0.1);
    assert_within(with_steps(1 << 20, 12), 86.5, 0.1);
}

/// Runs with a row for each chunk, and checks that its channels have the bytes and times of the chunks.
fn run_by_channel(spec: &RunSpec) -> Recorder {
    let (summary, recorder) = run(spec);
    let rows = &recorder.channels;
    let bytes = |is_local: bool| {
        let chunks =
            recorder.chunks.iter().filter(move |chunk| (chunk.src_host == chunk.dst_host) == is_local);
        chunks.map(|chunk| chunk.payload_bytes).sum::<u64>()
    };
    assert_eq!(rows.iter().map(|row| row.network_bytes).sum::<u64>(), bytes(false));
    if bytes(true) > 0 {
        assert_eq!(rows.iter().map(|row| row.scale_up_bytes).sum::<u64>(), bytes(true));
    }
    let ends = recorder.chunks.iter().filter_map(|chunk| chunk.completed_ps).max();
    assert_eq!(rows.iter().filter_map(|row| row.completed_ps).max(), ends);
    let starts = recorder.chunks.iter().filter_map(|chunk| chunk.start_ps).min();
    assert_eq!(rows.iter().filter_map(|row| row.start_ps).min(), starts);
    assert_eq!(summary.jobs[0].status, RunStatus::Complete);
    recorder
}

#[test]
fn each_channel_has_an_equal_part_of_a_ring_and_all_hops_inside_servers() {
    let (ranks, bytes) = (12, 12 * 4 * (100 << 10));
    let closed_forms = [
        ("all-reduce", 2 * (bytes / 4) / ranks * (ranks - 1)),
        ("all-gather", (bytes / 4) / ranks * (ranks - 1)),
    ];
    for (name, sent) in closed_forms {
        let spec = servers(3, 4, 400, 1, name, bytes);
        let rows = run_by_channel(&with(spec, NcclConfig::Ring(channels(4, SCALE_UP_BPS / 4)))).channels;
        assert_eq!(rows.len(), 4 * 3);
        for (number, row) in rows.iter().enumerate() {
            assert_eq!((row.channel, row.host), (number as u32 / 3, number as u32 % 3));
            assert_eq!((row.gpu, row.send_nic), (Some(row.channel), Some(row.channel)));
            assert_eq!((row.network_bytes, row.scale_up_bytes), (sent, 3 * sent));
        }
    }
}

#[test]
fn the_data_of_a_chain_pass_all_gpus_once_and_those_of_a_tree_twice() {
    let bytes: u64 = 4 * (900 << 10);
    let chain =
        with(servers(3, 4, 400, 1, "broadcast", bytes), NcclConfig::Ring(channels(4, SCALE_UP_BPS / 4)));
    let tree =
        with(servers(3, 4, 400, 1, "all-reduce", bytes), NcclConfig::Tree(channels(4, SCALE_UP_BPS / 4)));
    let nvls = NcclChannels {
        scale_up: ScaleUpHops { hops: 1, rate_bps: SCALE_UP_BPS, latency_ps: 1_000_000 },
        ..channels(4, SCALE_UP_BPS)
    };
    let nvls = with(servers(3, 4, 400, 1, "all-reduce", bytes), NcclConfig::Tree(nvls));
    // With NVLS four GPUs send to the switches, and one of them what arrives.
    for (spec, sent, inside) in [(chain, 2, 3), (tree, 4, 2 * 3), (nvls, 4, 4 + 1)] {
        let rows = run_by_channel(&spec).channels;
        let sum: u64 = rows.iter().map(|row| row.network_bytes).sum();
        assert_eq!(sum, sent * bytes);
        assert_eq!(rows.len(), 4 * 3);
        assert!(rows.iter().all(|row| row.scale_up_bytes == inside * bytes / 4));
    }
}

#[test]
fn messages_between_ranks_have_a_row_for_each_adapter_and_one_for_copies() {
    let bytes = 8 * (256 << 10);
    let rows = |pxn: bool| {
        let peers = NcclPeers {
            protocol: NcclProtocol::Simple,
            concurrent: 8,
            channels: 2,
            chunk_bytes: 64 << 10,
            pxn,
            scale_up: COPIES,
        };
        run_by_channel(&with(servers(2, 4, 100, 1, "all-to-all", bytes), NcclConfig::Peers(peers))).channels
    };
    for (pxn, copies) in [(false, 4 * 3), (true, 4 * 3 + 4 * 3)] {
        let (inside, sent): (Vec<_>, Vec<_>) = rows(pxn).into_iter().partition(|row| row.send_nic.is_none());
        assert_eq!((inside.len(), sent.len()), (2 * 2, 2 * 2 * 4));
        // Half of the parts of the data, of four peers on the other server.
        assert!(sent.iter().all(|row| (row.network_bytes, row.scale_up_bytes) == (4 * bytes / 8 / 2, 0)));
        assert!(inside.iter().all(|row| row.scale_up_bytes == copies * bytes / 8 / 2));
    }
}
