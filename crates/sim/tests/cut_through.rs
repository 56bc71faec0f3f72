//! Cut-through and store-and-forward: latency in closed form, and what they have in common.

use crate::common::{
    self, Recorder, collective, dynamic_pfc, leaf_spine, link, run, run_with, single_switch, switch_ring,
    tables,
};
use fabricbench_sim::Path;
use spec::{Custom, CustomLink, CustomSwitch, ForwardingSpec, LinkSpec, RunSpec, RunStatus, TopologySpec};

/// One byte at 400 Gb/s [ps].
const BYTE_PS: u64 = 20;
/// A full frame that is the only one of its message, with preamble and gap, and what must be in of it before
/// it leaves.
const FRAME: u64 = 4096 + 78 + 20;
const HEAD: u64 = 8 + 64;
const PIPELINE_PS: u64 = 500_000;
/// Cables of a host and between switches [ps].
const NEAR_PS: u64 = 15_000;
const FAR_PS: u64 = 150_000;

fn cut(mut spec: RunSpec) -> RunSpec {
    spec.fabric.switch.forwarding = ForwardingSpec::CutThrough;
    spec
}

/// One full frame from the second of `hosts` to the first.
fn one_frame(topology: TopologySpec, hosts: [u32; 2]) -> RunSpec {
    let mut spec = collective(topology, 2, "incast", "parallel", 4096);
    spec.jobs[0].hosts = hosts.to_vec();
    spec
}

fn latency_ps(spec: &RunSpec) -> u64 {
    run(spec).1.chunks[0].latency_min_ps.expect("the frame arrived")
}

#[test]
fn a_hop_costs_a_frame_when_stored_and_a_head_when_cut_through() {
    let near = one_frame(leaf_spine(4), [0, 1]);
    let (one_path, three_path) = (2 * NEAR_PS + PIPELINE_PS, 2 * NEAR_PS + 2 * FAR_PS + 3 * PIPELINE_PS);
    assert_eq!(latency_ps(&near), 2 * FRAME * BYTE_PS + one_path);
    assert_eq!(latency_ps(&cut(near)), (FRAME + HEAD) * BYTE_PS + one_path);
    let far = one_frame(leaf_spine(4), [0, 4]);
    assert_eq!(latency_ps(&far), 4 * FRAME * BYTE_PS + three_path);
    assert_eq!(latency_ps(&cut(far)), (FRAME + 3 * HEAD) * BYTE_PS + three_path);
}

/// Hosts at 400 Gb/s, the link between their switches at `gbps`.
fn pair(gbps: u64) -> TopologySpec {
    let name = |index: u32| format!("s{index}");
    TopologySpec::Custom(Custom {
        switches: (0..2).map(|index| CustomSwitch { name: name(index), hosts: 4 }).collect(),
        links: vec![CustomLink {
            between: [name(0), name(1)],
            count: 1,
            link: LinkSpec { rate_bps: gbps * 1_000_000_000, ..link(30) },
        }],
        host_link: link(3),
    })
}

#[test]
fn a_frame_is_stored_where_it_leaves_faster_than_it_came() {
    let path = 2 * NEAR_PS + FAR_PS + 2 * PIPELINE_PS;
    // Into the faster link it is stored; out of it into a slower one it is cut through.
    let fast = cut(one_frame(pair(800), [0, 4]));
    assert_eq!(latency_ps(&fast), FRAME * BYTE_PS + HEAD * 10 + FRAME * BYTE_PS + path);
    // At 100 Gb/s a byte takes 80 ps: into the slower link it is cut through, out of it stored.
    let slow = cut(one_frame(pair(100), [0, 4]));
    assert_eq!(latency_ps(&slow), HEAD * BYTE_PS + FRAME * 80 + FRAME * BYTE_PS + path);
}

#[test]
fn a_busy_port_makes_both_alike() {
    let spec = collective(single_switch(8), 8, "incast", "parallel", 4 << 20);
    let time = |spec: &RunSpec| common::completion_ps(&run(spec).0);
    let (stored, cut_through) = (time(&spec), time(&cut(spec.clone())));
    // The receiver's port is the bottleneck: only the first frame and the last ACK are sooner.
    assert!(cut_through < stored && stored - cut_through < 2 * FRAME * BYTE_PS, "{stored} {cut_through}");
}

fn lossless(topology: TopologySpec) -> RunSpec {
    let mut spec = cut(collective(topology, 8, "incast", "parallel", 4 << 20));
    spec.fabric.switch.buffer.size_bytes = 4 << 20;
    spec.fabric.switch.pfc = Some(dynamic_pfc());
    spec
}

fn sum(recorder: &Recorder, field: fn(&record::PortRow) -> u64) -> u64 {
    recorder.ports.iter().map(field).sum()
}

#[test]
fn pfc_keeps_frames_that_are_cut_through() {
    for topology in [leaf_spine(4), pair(800), pair(100), switch_ring(4, 2)] {
        let (summary, recorder) = run(&lossless(topology));
        assert_eq!((summary.status, summary.frames_lost.total()), (RunStatus::Complete, 0));
        assert!(sum(&recorder, |port| port.pfc_tx.unwrap_or(0)) > 10);
        assert!(recorder.chunks.iter().all(|chunk| chunk.out_of_order == 0 && chunk.retransmits == 0));
    }
}

#[test]
fn cut_through_is_the_same_on_every_path() {
    for topology in [leaf_spine(4), pair(800), pair(100)] {
        for mut spec in
            [lossless(topology.clone()), cut(collective(topology, 8, "all-to-all", "parallel", 2 << 20))]
        {
            spec.observe.path_rows = 0;
            let (summary, recorder) = run(&spec);
            assert!(summary.fast_windows > 0);
            let expected = tables(&recorder);
            for (threads, path) in [(1, Path::Exact), (2, Path::Auto), (3, Path::Exact)] {
                assert!(tables(&run_with(&spec, threads, path).1) == expected, "{threads} {path:?}");
            }
        }
    }
}
