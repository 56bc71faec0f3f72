//! Golden results: small, integer, textual. A line that changes is a breaking change; the commit says why.
//!
//! `UPDATE_GOLDEN=1 cargo test -p fabricbench-sim --test golden` writes them anew.

use crate::common::{self, collective, collective_of, leaf_spine, run, single_switch};
use spec::{FatTree, RunSpec, TopologySpec};
use std::fmt::Write;

fn three_tiers() -> TopologySpec {
    TopologySpec::FatTree(FatTree {
        pods: 2,
        leaves_per_pod: 2,
        hosts_per_leaf: 2,
        aggs_per_pod: 2,
        cores_per_agg: 1,
        host_link: common::link(3),
        fabric_link: common::link(30),
        core_link: common::link(300),
    })
}

fn overrun() -> RunSpec {
    let mut spec = collective(single_switch(9), 9, "incast", "parallel", 1 << 20);
    spec.fabric.switch.buffer.size_bytes = 1 << 20;
    spec.transport.timeout_ps = 200_000_000;
    spec
}

fn per_pair() -> RunSpec {
    let mut spec = collective(leaf_spine(4), 8, "all-reduce", "ring-bidirectional", 8 << 20);
    spec.transport.qp_mode = spec::QpMode::PerPair;
    spec.transport.qps_per_rank_pair = 2;
    spec.jobs[0].hosts = vec![0, 1, 4, 5, 2, 3, 6, 7];
    collective_of(&mut spec.jobs[0]).step_overhead_ps = 2_000_000;
    spec
}

fn scenarios() -> Vec<(&'static str, RunSpec)> {
    vec![
        ("alltoall_8_16mb", collective(leaf_spine(4), 8, "all-to-all", "parallel", 16 << 20)),
        ("ring_allreduce_4_16mb", collective(leaf_spine(2), 4, "all-reduce", "ring", 16 << 20)),
        ("ring_allreduce_8_per_pair_overhead", per_pair()),
        ("allgather_8_three_tiers", collective(three_tiers(), 8, "all-gather", "ring", 4 << 20)),
        ("permutation_8_three_tiers", collective(three_tiers(), 8, "permutation", "parallel", 4 << 20)),
        ("broadcast_5", collective(single_switch(5), 5, "broadcast", "parallel", 1 << 20)),
        ("incast_8to1_overrun", overrun()),
    ]
}

/// The facts of a run that must not move.
fn line(name: &str, spec: &RunSpec) -> String {
    let (summary, recorder) = run(spec);
    let mut fct: Vec<u64> = recorder
        .chunks
        .iter()
        .map(|chunk| chunk.completed_ps.unwrap_or(0) - chunk.start_ps.unwrap_or(0))
        .collect();
    fct.sort_unstable();
    let sum = |field: fn(&record::ChunkRow) -> u64| recorder.chunks.iter().map(field).sum::<u64>();
    let uplinks: Vec<String> = recorder
        .ports
        .iter()
        .filter(|port| port.node == "leaf0")
        .map(|port| port.egress_qps.to_string())
        .collect();
    let mut text = String::new();
    write!(
        text,
        "{name} end_ps={} hops={} fct_min_ps={} fct_p50_ps={} fct_max_ps={} latency_max_ps={} retransmits={} naks={} \
         timeouts={} lost={} leaf0_egress_qps={}",
        summary.end_ps,
        summary.packet_hops,
        fct[0],
        fct[(fct.len() - 1) / 2],
        fct[fct.len() - 1],
        recorder.chunks.iter().filter_map(|chunk| chunk.latency_max_ps).max().unwrap_or(0),
        sum(|chunk| chunk.retransmits),
        sum(|chunk| chunk.naks),
        sum(|chunk| chunk.timeouts),
        summary.frames_lost.buffer_full,
        uplinks.join("+"),
    )
    .expect("a string takes everything");
    text
}

#[test]
fn results_are_what_they_were() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden.txt");
    let actual: String = scenarios().iter().map(|(name, spec)| line(name, spec) + "\n").collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &actual).expect("the golden file can be written");
    }
    let expected = std::fs::read_to_string(path).expect("the golden file is there");
    for (actual, expected) in actual.lines().zip(expected.lines()) {
        assert_eq!(actual, expected);
    }
    assert_eq!(actual.lines().count(), expected.lines().count());
}
