//! Choices over sizes, by hand and in public logs, channels, chunks and steps.

use crate::case::Case;
use crate::examples::{a1, a2, b1, efa, h, h1, tuner};
use crate::servers::h100;
use crate::tuner_times::assert_printed;
use fabricbench_nccl::{
    Algorithm, Collective, Communicator, Operation, PathType, Protocol, Rules, Settings, Tuner, TunerInput,
    Vendor,
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The choice at 8 B, and each size of a power of two from which on another is chosen, up to 16 GiB.
fn switches(tuner: &Tuner) -> Vec<(u64, Algorithm, Protocol)> {
    let mut switches: Vec<(u64, Algorithm, Protocol)> = Vec::new();
    for bytes in (3..=34).map(|power| 1_u64 << power) {
        let choice = tuner.choose(Operation::new(Collective::AllReduce, bytes)).expect("an algorithm");
        if switches.last().is_none_or(|last| (last.1, last.2) != (choice.algorithm, choice.protocol)) {
            switches.push((bytes, choice.algorithm, choice.protocol));
        }
    }
    switches
}

const TREE_LL: (u64, Algorithm, Protocol) = (8, Algorithm::Tree, Protocol::Ll);
const RING_LL: (u64, Algorithm, Protocol) = (8, Algorithm::Ring, Protocol::Ll);

const fn tree_ll128(bytes: u64) -> (u64, Algorithm, Protocol) {
    (bytes, Algorithm::Tree, Protocol::Ll128)
}

const fn ring_ll128(bytes: u64) -> (u64, Algorithm, Protocol) {
    (bytes, Algorithm::Ring, Protocol::Ll128)
}

const fn ring(bytes: u64) -> (u64, Algorithm, Protocol) {
    (bytes, Algorithm::Ring, Protocol::Simple)
}

const fn nvls_tree(bytes: u64) -> (u64, Algorithm, Protocol) {
    (bytes, Algorithm::NvlsTree, Protocol::Simple)
}

/// DGX A100 whose rings need PXN and whose trees cross the CPU: no LL128.
fn a2_without_ll128() -> TunerInput {
    let mut input = a2(Vendor::Amd);
    input.graphs.ring.type_inter = PathType::Pxn;
    input.graphs.tree.type_inter = PathType::Phb;
    input.graphs.tree.intra = input.graphs.tree.inter;
    input
}

#[test]
fn choices_by_size() {
    let nvls = |bytes| (bytes, Algorithm::Nvls, Protocol::Simple);
    let ring_ll = |bytes| (bytes, Algorithm::Ring, Protocol::Ll);
    let with_efa =
        |size: u64, last: u64| vec![TREE_LL, tree_ll128(size), ring_ll128(16 * MIB), nvls_tree(last)];
    let rows = [
        ("H1", h1(), vec![RING_LL, nvls(2 * MIB)]),
        ("H2", h(2), vec![TREE_LL, tree_ll128(256 * KIB), nvls_tree(2 * MIB)]),
        ("H4", h(4), vec![TREE_LL, tree_ll128(256 * KIB), nvls_tree(8 * MIB), ring(GIB)]),
        ("H8", h(8), vec![TREE_LL, tree_ll128(256 * KIB), nvls_tree(16 * MIB), ring(4 * GIB)]),
        ("H2, latency 35", efa(35.0, Vendor::Intel), with_efa(256 * KIB, 32 * MIB)),
        ("H2, latency 75", efa(75.0, Vendor::Intel), with_efa(256 * KIB, 64 * MIB)),
        ("H2, latency 75, AMD", efa(75.0, Vendor::Amd), with_efa(128 * KIB, 64 * MIB)),
        (
            "A2-I",
            a2(Vendor::Intel),
            vec![TREE_LL, ring_ll(256 * KIB), tree_ll128(512 * KIB), ring_ll128(16 * MIB), ring(64 * MIB)],
        ),
        (
            "A2-D",
            a2(Vendor::Amd),
            vec![TREE_LL, tree_ll128(256 * KIB), ring_ll128(16 * MIB), ring(128 * MIB)],
        ),
        (
            "A2 without LL128",
            a2_without_ll128(),
            vec![TREE_LL, (512 * KIB, Algorithm::Tree, Protocol::Simple), ring(32 * MIB)],
        ),
        ("8 x A100", a1(8), vec![RING_LL, ring_ll128(4 * MIB), ring(32 * MIB)]),
        ("4 x A100", a1(4), vec![RING_LL, ring_ll128(2 * MIB), ring(8 * MIB)]),
        ("8 x B200", b1(), vec![RING_LL, nvls(4 * MIB)]),
    ];
    for (name, input, expected) in rows {
        assert_eq!(switches(&tuner(&input, "2.30")), expected, "{name}");
    }
}

#[test]
fn b200_costs() {
    let tuner = tuner(&b1(), "2.30");
    let cost = |algorithm, protocol| {
        let combination = (Collective::AllReduce, algorithm, protocol);
        *tuner
            .costs()
            .iter()
            .find(|cost| (cost.collective, cost.algorithm, cost.protocol) == combination)
            .unwrap()
    };
    let ring = cost(Algorithm::Ring, Protocol::Ll);
    assert_printed(ring.latency_us, "15.0", "ring");
    assert_printed(ring.bandwidth_gb, "161.1", "ring");
    let nvls = cost(Algorithm::Nvls, Protocol::Simple);
    assert_printed(nvls.latency_us, "25", "NVLS");
    assert_printed(nvls.bandwidth_gb, "411.4", "NVLS");
}

/// Before 2.28, NVLSTree was expected to be faster (row 2.28 of section 1f).
#[test]
fn older_tuners() {
    for (nodes, latency, bandwidth, choices) in [
        (2, "53.0", "266.7", vec![nvls_tree(512 * KIB)]),
        (4, "81.0", "160", vec![nvls_tree(2 * MIB), ring(256 * MIB)]),
    ] {
        let tuner = tuner(&h(nodes), "2.27");
        let cost = tuner.costs().iter().find(|cost| cost.algorithm == Algorithm::NvlsTree).unwrap();
        assert_printed(cost.latency_us, latency, "NVLSTree");
        assert_printed(cost.bandwidth_gb, bandwidth, "NVLSTree");
        let switches = switches(&tuner);
        assert!(switches.ends_with(&choices), "{nodes} nodes: {switches:?}");
    }
}

/// From the search to the choice, as logs show it (check 1 and 6 of section 5c).
#[test]
fn some_gpus_of_a_hopper_node() {
    let rows = [
        (8, "2.30.7", Algorithm::Nvls, None),
        (2, "2.29.2", Algorithm::Ring, Some(("102", "360"))),
        (4, "2.29.2", Algorithm::Ring, Some(("160", "240"))),
        (6, "2.29.2", Algorithm::Nvls, Some(("216", "216"))),
    ];
    for (gpus, version, choice, bandwidths) in rows {
        let members: Vec<usize> = (0..gpus).collect();
        let run = Case::new(&h100(), version, 1).with_gpus(&members).run();
        let communicator = run.communicator();
        let input = run.with_nodes(|nodes| TunerInput::new(nodes, &communicator));
        let tuner = Tuner::new(&input, &Rules::of(version.parse().unwrap()), &Settings::default());
        let large = tuner.choose(Operation::new(Collective::AllReduce, GIB)).unwrap();
        assert_eq!(large.algorithm, choice, "{gpus} GPUs");
        let bandwidth = |algorithm| {
            let simple = tuner.costs().iter().filter(|cost| cost.protocol == Protocol::Simple);
            let mut of_all_reduce = simple.filter(|cost| cost.collective == Collective::AllReduce);
            of_all_reduce.find(|cost| cost.algorithm == algorithm).unwrap().bandwidth_gb
        };
        if let Some((nvls, ring)) = bandwidths {
            assert_printed(bandwidth(Algorithm::Nvls), nvls, "NVLS");
            assert_printed(bandwidth(Algorithm::Ring), ring, "ring");
        }
    }
}

/// Channels 0 to 23 for Ring LL up to 1 MiB, 0 to 15 for NVLS (check 1).
#[test]
fn channels_of_eight_h100() {
    let tuner = tuner(&h1(), "2.30");
    let channels = |bytes| tuner.plan(Operation::new(Collective::AllReduce, bytes)).unwrap().work.channels();
    assert_eq!(channels(8), 1);
    assert_eq!(channels(MIB), 24);
    assert_eq!(channels(2 * MIB), 16);
}

/// The split into cells leaves a channel without data (section 6).
#[test]
fn cells_of_four_a100() {
    let tuner = tuner(&a1(4), "2.27.3");
    for (bytes, protocol, channels) in [(182_092, Protocol::Ll, 10), (1_820_956, Protocol::Ll128, 23)] {
        let work = tuner.work(Operation::new(Collective::AllReduce, bytes), Algorithm::Ring, protocol);
        assert_eq!(work.channels(), channels, "{bytes} B");
        assert_eq!(work.channel_bytes.iter().sum::<u64>(), bytes);
    }
}

#[test]
fn all_bytes_are_on_channels() {
    let tuner = tuner(&h(2), "2.30");
    for collective in Collective::ALL {
        for bytes in [1, 16, 1000, 65_536, 1_000_000, GIB].map(|bytes: u64| bytes.next_multiple_of(16)) {
            let plan = tuner.plan(Operation::new(*collective, bytes)).unwrap();
            assert_eq!(plan.work.channel_bytes.iter().sum::<u64>(), bytes, "{collective} {bytes} B");
            assert!(plan.work.channels() <= 16);
        }
    }
}

#[test]
fn chunks_and_steps() {
    let tuner = tuner(&h(2), "2.30");
    let chunking =
        |bytes, algorithm, protocol| tuner.chunking(Collective::AllReduce, algorithm, protocol, bytes);
    let ring = chunking(GIB / 16, Algorithm::Ring, Protocol::Simple);
    assert_eq!((ring.chunk_bytes, ring.slice_bytes), (2 * MIB, MIB), "4 and 2 steps of 512 KiB");
    assert_eq!((ring.loops, ring.messages()), (2, 2 * 30 * 2), "64 MiB / (16 ranks x 2 MiB)");
    assert_eq!((ring.last_chunk_bytes, ring.messages_in_flight()), (2 * MIB, 4));
    let short = chunking(48 * MIB, Algorithm::Ring, Protocol::Simple);
    assert_eq!((short.loops, short.last_chunk_bytes), (2, MIB), "the second loop has 16 of 32 MiB");
    let chunk = |bytes, algorithm, protocol| chunking(bytes, algorithm, protocol).chunk_bytes;
    assert_eq!(chunk(MIB, Algorithm::Tree, Protocol::Simple), 512 * KIB);
    assert_eq!(chunk(MIB, Algorithm::Ring, Protocol::Ll), 32 * KIB);
    assert_eq!(chunk(MIB, Algorithm::Ring, Protocol::Ll128), 576_000);
    assert!(chunk(64 * KIB, Algorithm::Tree, Protocol::Ll128) < 576_000, "small messages: small chunks");
    let nvls_tree = |bytes| chunk(bytes, Algorithm::NvlsTree, Protocol::Simple);
    assert_eq!((nvls_tree(64 * MIB), nvls_tree(128 * KIB)), (128 * KIB, 32 * KIB));
}

#[test]
fn the_chunks_of_a_plan_have_its_bytes() {
    let tuner = tuner(&h(2), "2.30");
    for bytes in [KIB, 100_000, MIB, 20 * MIB, GIB] {
        let operation = Operation::new(Collective::AllReduce, bytes);
        let plan = tuner.plan(operation).unwrap();
        for (&channel_bytes, chunking) in plan.work.channel_bytes.iter().zip(&plan.chunking) {
            let full = (chunking.loops - 1) * chunking.chunks_per_loop * chunking.chunk_bytes;
            let last = chunking.chunks_per_loop * chunking.last_chunk_bytes;
            assert!(full < channel_bytes.max(1) && full + last >= channel_bytes, "{bytes} B");
        }
    }
}

#[test]
fn settings_restrict_the_choice() {
    let choose = |variables: &[(&str, &str)]| {
        let settings = Settings::from_variables(variables.iter().copied()).unwrap().settings;
        let tuner = Tuner::new(&h(2), &Rules::of("2.30".parse().unwrap()), &settings);
        tuner
            .choose(Operation::new(Collective::AllReduce, GIB))
            .map(|choice| (choice.algorithm, choice.protocol))
    };
    assert_eq!(choose(&[]), Some((Algorithm::NvlsTree, Protocol::Simple)));
    assert_eq!(choose(&[("NCCL_ALGO", "ring,tree")]), Some((Algorithm::Ring, Protocol::Simple)));
    let tree_ll128 = [("NCCL_ALGO", "ring;allreduce:tree"), ("NCCL_PROTO", "LL128")];
    assert_eq!(choose(&tree_ll128), Some((Algorithm::Tree, Protocol::Ll128)));
    assert_eq!(choose(&[("NCCL_ALGO", "allreduce:PAT")]), None);
}

#[test]
fn fp8_reductions_avoid_long_rings() {
    let tuner = tuner(&a2(Vendor::Intel), "2.30");
    let operation = Operation::new(Collective::AllReduce, GIB);
    assert_eq!(tuner.choose(operation).unwrap().algorithm, Algorithm::Ring);
    let fp8 = Operation { reduces_fp8: true, ..operation };
    assert_eq!(tuner.choose(fp8).unwrap().algorithm, Algorithm::Tree);
}

#[test]
fn pat_serves_one_gpu_per_node() {
    let single = TunerInput { ranks: 16, nodes: 16, ..h(16) };
    let gathers = |version: &str| {
        let tuner = tuner(&single, version);
        tuner
            .times(Operation::new(Collective::AllGather, KIB))
            .any(|choice| choice.algorithm == Algorithm::Pat)
    };
    assert!(gathers("2.23") && !gathers("2.22"));
}

#[test]
fn one_rank_has_nothing_to_choose() {
    let alone = Case::one_node(&h100()).with_gpus(&[0]).run();
    let communicator: Communicator = alone.communicator();
    let input = alone.with_nodes(|nodes| TunerInput::new(nodes, &communicator));
    assert_eq!(tuner(&input, "2.30").choose(Operation::new(Collective::AllReduce, 8)), None);
}
