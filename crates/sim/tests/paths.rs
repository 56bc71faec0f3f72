//! Table `paths`: which way the data of each queue pair takes.

use crate::common::{Recorder, collective, leaf_spine, run, set_pattern};
use fabricbench_sim::path_choices;
use record::PathRow;
use spec::{EcmpHash, LoadBalancing, RunSpec};
use std::collections::HashMap;

/// An all-to-all and a ring, each across two leaves.
fn two_jobs() -> RunSpec {
    let mut spec = collective(leaf_spine(4), 4, "all-to-all", "parallel", 1 << 20);
    spec.jobs[0].hosts = vec![0, 1, 4, 5];
    let mut other = spec.jobs[0].clone();
    other.name = "other".into();
    other.stream = 1;
    other.hosts = vec![2, 3, 6, 7];
    set_pattern(&mut other, "all-reduce", "ring");
    spec.jobs.push(other);
    spec
}

fn ways(rows: &[PathRow], job: u32) -> Vec<String> {
    let of_job = rows.iter().filter(|row| row.job == job);
    of_job
        .map(|row| format!("{}>{} {}: {} {}", row.src_rank, row.dst_rank, row.hop, row.node, row.port))
        .collect()
}

#[test]
fn a_job_keeps_its_paths_when_its_neighbour_leaves() {
    for include_qp in [false, true] {
        let mut spec = two_jobs();
        spec.fabric.load_balancing = LoadBalancing::Ecmp { hash: EcmpHash::Crc, include_qp };
        let (_, both) = run(&spec);
        spec.jobs.remove(0);
        let (_, alone) = run(&spec);
        assert_eq!(ways(&both.paths, 1), ways(&alone.paths, 0));
        assert_eq!(ways(&alone.paths, 0).len(), 24, "12 of 24 queue pairs cross, by two links each");
        let ports = |recorder: &Recorder, job| -> Vec<u16> {
            let mut rows: Vec<_> = recorder.chunks.iter().filter(|chunk| chunk.job == job).collect();
            rows.sort_by_key(|chunk| chunk.transfer);
            rows.iter().map(|chunk| chunk.udp_source_port).collect()
        };
        assert_eq!(ports(&both, 1), ports(&alone, 0));
    }
}

#[test]
fn paths_add_up_to_the_queue_pairs_of_each_port() {
    let (_, recorder) = run(&two_jobs());
    let mut counts: HashMap<(&str, u32), u32> = HashMap::new();
    for row in &recorder.paths {
        *counts.entry((&row.node, row.port)).or_default() += 1;
    }
    let between_switches =
        recorder.ports.iter().filter(|port| port.tier > 0 && !port.peer.starts_with("host"));
    for port in between_switches {
        let counted = counts.get(&(port.node.as_str(), port.port)).copied().unwrap_or(0);
        assert_eq!(counted, port.egress_qps, "{} port {}", port.node, port.port);
    }
}

#[test]
fn the_table_is_bounded_and_empty_without_paths() {
    let mut spec = two_jobs();
    spec.observe.path_rows = 15;
    let (_, some) = run(&spec);
    assert!((8..=15).contains(&some.paths.len()), "{} rows", some.paths.len());
    spec.observe.path_rows = 0;
    assert!(run(&spec).1.paths.is_empty());
    spec.observe.path_rows = 1_000;
    spec.fabric.load_balancing = LoadBalancing::SprayRandom {};
    assert!(run(&spec).1.paths.is_empty());
}

#[test]
fn choices_known_before_a_run_are_the_paths_that_its_queue_pairs_take() {
    let ecmp = LoadBalancing::Ecmp { hash: EcmpHash::Toeplitz, include_qp: false };
    for balancing in [ecmp, LoadBalancing::Weighted { weights: vec![1, 3] }, LoadBalancing::DModK {}] {
        let mut spec = two_jobs();
        spec.fabric.load_balancing = balancing;
        let (_, recorder) = run(&spec);
        let rows = recorder.paths.iter().filter(|row| row.peer.starts_with("spine"));
        let taken: Vec<_> = rows.map(|row| (row.qp, row.node.clone(), row.port)).collect();
        let choices = path_choices(&spec).expect("the spec is right");
        let chosen: Vec<_> =
            choices.into_iter().map(|each| (each.qp, each.switch, u32::from(each.port))).collect();
        assert!(!taken.is_empty());
        assert_eq!(chosen, taken);
        spec.fabric.load_balancing = LoadBalancing::SprayRandom {};
        assert!(path_choices(&spec).expect("the spec is right").is_empty());
    }
}
