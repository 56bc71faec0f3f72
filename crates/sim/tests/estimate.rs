//! What a run is told to cost, against what it does.

use crate::common::{Counter, collective, leaf_spine, single_switch};
use fabricbench_sim::{Options, estimate, helpful_threads, run};
use spec::{LoadBalancing, QpMode, RepeatSpec, RunSpec};

/// Hops of a run are told to within so many per cent.
fn assert_close(name: &str, spec: &RunSpec, percent: u64) {
    let told = estimate(spec).expect("a spec that can be carried out");
    let found = run(spec, Options::default(), &mut Counter::default()).expect("as above");
    let chunks: u64 = found.jobs.iter().map(|job| job.chunks).sum();
    let off = told.packet_hops.abs_diff(found.packet_hops) * 100;
    assert!(
        off <= found.packet_hops * percent,
        "{name}: told {}, found {}",
        told.packet_hops,
        found.packet_hops
    );
    assert_eq!(told.chunk_rows, chunks, "{name}");
}

#[test]
fn packet_hops_are_told_to_within_a_few_per_cent() {
    for (name, algorithm) in [
        ("all-to-all", "parallel"),
        ("all-reduce", "ring"),
        ("all-reduce", "ring-bidirectional"),
        ("all-gather", "ring"),
    ] {
        assert_close(algorithm, &collective(leaf_spine(4), 8, name, algorithm, 8 << 20), 10);
    }
}

#[test]
fn rounds_count_and_queue_pairs_are_those_that_are_opened() {
    let mut spec = collective(leaf_spine(4), 8, "all-to-all", "parallel", 1 << 20);
    spec.jobs[0].repeat = RepeatSpec::Rounds { rounds: 5 };
    assert_close("five rounds", &spec, 5);
    for qp_mode in [QpMode::PerPair, QpMode::PerChunk] {
        let mut spec = collective(leaf_spine(4), 8, "all-reduce", "ring", 1 << 20);
        spec.transport.qp_mode = qp_mode;
        let opened = fabricbench_sim::describe(&spec).expect("a spec that can be carried out").qps.len();
        assert_eq!(estimate(&spec).expect("as above").queue_pairs, opened as u64);
    }
}

#[test]
fn a_million_chunks_are_estimated_without_making_them() {
    let ranks = |ranks, rounds| {
        let mut spec =
            collective(single_switch(ranks), ranks, "all-to-all", "parallel", u64::from(ranks) << 12);
        spec.jobs[0].repeat = RepeatSpec::Rounds { rounds };
        estimate(&spec).expect("a spec that can be carried out")
    };
    let (few, many) = (ranks(50, 1), ranks(2_000, 1));
    assert_eq!((few.chunks, many.chunks), (2_450, 3_998_000));
    // Every path has two links, and a chunk a packet and its acknowledgement.
    assert_eq!((few.packet_hops, many.packet_hops), (2_450 * 4, 3_998_000 * 4));
    assert!(many.memory_bytes > 4 << 28 && many.memory_bytes < 6 << 28);
    let long = ranks(2_000, u32::MAX);
    assert_eq!(long.packet_hops, many.packet_hops * u64::from(u32::MAX));
    assert!(long.time_ms > 1_000_000 * many.time_ms && long.memory_bytes == many.memory_bytes);
}

/// Most of the data goes to the nearest rank, and paths are told as if it went to any, or either way.
#[test]
fn what_goes_to_near_ranks_has_fewer_hops_than_it_is_told_to() {
    assert_close("halving", &collective(leaf_spine(4), 8, "all-reduce", "halving-doubling", 8 << 20), 40);
    assert_close("pairs", &collective(leaf_spine(4), 8, "send-receive", "parallel", 8 << 20), 30);
}

#[test]
fn threads_help_where_there_is_enough_to_do_and_nothing_to_skip() {
    let permutation =
        |hosts: u32, bytes| collective(single_switch(hosts), hosts, "permutation", "parallel", bytes);
    let sprayed = |mut spec: RunSpec| {
        spec.fabric.load_balancing = LoadBalancing::SprayRoundRobin {};
        spec
    };
    assert_eq!(helpful_threads(&permutation(8, 1 << 20), true, 4), 1, "a few hosts");
    assert_eq!(helpful_threads(&permutation(256, 64 << 10), true, 4), 1, "a few packets");
    let long = permutation(256, 64 << 20);
    assert_eq!(helpful_threads(&long, true, 4), 1, "fast-forward skips most of it");
    assert_eq!(helpful_threads(&long, false, 4), 4);
    assert_eq!(helpful_threads(&long, false, 2), 2, "no more than there are");
    assert_eq!(helpful_threads(&sprayed(long), true, 8), 4, "64 hosts each");
}
