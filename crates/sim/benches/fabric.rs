//! Whole runs, timed: packet-hops per second, nanoseconds per hop, peak memory.
//!
//! `cargo bench -p fabricbench-sim` runs all; `cargo bench -p fabricbench-sim -- B1 B5` some.
//! `--threads N` and `--exact` choose how. Packet-hops count every frame crossing every link.
#![allow(clippy::print_stdout, clippy::float_arithmetic, reason = "a benchmark prints what it measures")]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{collective, dcqcn, dynamic_pfc, ecn, leaf_spine, link, run_with, single_switch};
use fabricbench_sim::Path;
use spec::{LoadBalancing, RunSpec, TopologySpec};
use std::time::Instant;

fn clos(leaves: u32, hosts_per_leaf: u32, spines: u32) -> TopologySpec {
    TopologySpec::LeafSpine {
        leaves,
        hosts_per_leaf,
        spines,
        links_per_spine: 1,
        host_link: link(3),
        fabric_link: link(30),
    }
}

/// PFC, ECN and DCQCN on.
fn controlled(mut spec: RunSpec) -> RunSpec {
    spec.fabric.switch.pfc = Some(dynamic_pfc());
    spec.fabric.switch.ecn = Some(ecn(400_000, 1_600_000));
    spec.transport.rate_control = dcqcn();
    spec
}

fn sprayed(mut spec: RunSpec) -> RunSpec {
    spec.fabric.load_balancing = LoadBalancing::SprayRoundRobin {};
    spec.transport.recovery = spec::LossRecovery::Selective;
    spec
}

fn lossless_incast(hosts: u32) -> RunSpec {
    let mut spec = collective(single_switch(hosts), hosts, "incast", "parallel", 1 << 20);
    spec.fabric.switch.pfc = Some(dynamic_pfc());
    spec.fabric.switch.buffer.size_bytes = 32 << 20;
    spec
}

fn workloads() -> Vec<(&'static str, &'static str, RunSpec)> {
    let total = |ranks: u64, bytes: u64| ranks * bytes;
    vec![
        (
            "B1",
            "8 hosts, two tiers, all-to-all of 16 MB per pair",
            collective(leaf_spine(4), 8, "all-to-all", "parallel", total(8, 16 << 20)),
        ),
        (
            "B2",
            "128 hosts, permutation of 16 MB, ECMP, PFC + DCQCN",
            controlled(collective(clos(8, 16, 16), 128, "permutation", "parallel", 16 << 20)),
        ),
        (
            "B3",
            "1,024 hosts, permutation of 4 MB, spray",
            sprayed(collective(clos(32, 32, 32), 1024, "permutation", "parallel", 4 << 20)),
        ),
        (
            "B4",
            "432 ranks, all-to-all of 16 KB per pair",
            collective(clos(24, 18, 18), 432, "all-to-all", "parallel", total(432, 16 << 10)),
        ),
        ("B5", "127:1 incast of 1 MB, lossless", lossless_incast(128)),
        (
            "B8",
            "1,024 ranks, all-to-all of 4 KB per pair",
            collective(clos(32, 32, 32), 1024, "all-to-all", "parallel", total(1024, 4 << 10)),
        ),
    ]
}

fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|text| text.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let exact = arguments.iter().any(|argument| argument == "--exact");
    let threads = arguments.iter().position(|argument| argument == "--threads");
    let threads = threads.and_then(|place| arguments.get(place + 1)?.parse().ok()).unwrap_or(1);
    let names: Vec<&String> = arguments.iter().filter(|argument| argument.starts_with('B')).collect();
    println!(
        "{:<4}{:>9} {:>8} {:>7} {:>8} {:>10} {:>10} {:>8}  workload",
        "", "M hops", "wall s", "M/s", "ns/hop", "fast", "exact", "peak MB"
    );
    for (name, what, mut spec) in workloads() {
        if !names.is_empty() && !names.iter().any(|wanted| *wanted == name) {
            continue;
        }
        spec.observe.series_ports = 256;
        let start = Instant::now();
        let (summary, _) = run_with(&spec, threads, if exact { Path::Exact } else { Path::Auto });
        let wall = start.elapsed().as_secs_f64();
        let hops = summary.packet_hops as f64;
        println!(
            "{name:<4}{:>9.2} {wall:>8.3} {:>7.1} {:>8.1} {:>10} {:>10} {:>8}  {what} ({:?})",
            hops / 1e6,
            hops / wall / 1e6,
            wall * 1e9 / hops,
            summary.fast_windows,
            summary.exact_windows,
            peak_mib(),
            summary.status,
        );
    }
}
