//! Switches that are one chip: they share its buffer and nothing else.

use crate::common::{
    Recorder, collective, dynamic_ecn, dynamic_pfc, ecn, leaf_spine, link, run, run_with, supported,
    switch_ring, tables,
};
use fabricbench_sim::Path;
use proptest::prelude::*;
use spec::{
    ChipSpec, EcmpHash, FatTree, ForwardingSpec, JobSpec, LoadBalancing, RunSpec, RunStatus, RunSummary,
    TopologySpec, XoffSpec,
};

fn fat_tree() -> TopologySpec {
    TopologySpec::FatTree(FatTree {
        pods: 2,
        leaves_per_pod: 2,
        hosts_per_leaf: 2,
        aggs_per_pod: 2,
        cores_per_agg: 2,
        host_link: link(3),
        fabric_link: link(30),
        core_link: link(300),
    })
}

fn balancings() -> Vec<LoadBalancing> {
    vec![
        LoadBalancing::Ecmp { hash: EcmpHash::Crc, include_qp: false },
        LoadBalancing::Flowlet { gap_ps: 1_000_000 },
        LoadBalancing::SprayRandom {},
        LoadBalancing::SprayRoundRobin {},
        LoadBalancing::Adaptive {},
    ]
}

fn switches(spec: &RunSpec) -> Vec<String> {
    let nodes = fabricbench_sim::describe(spec).expect("the spec is right").nodes;
    nodes.into_iter().filter(|node| node.kind == "switch").map(|node| node.name).collect()
}

/// Deals the switches out to so many chips by `draw`; those that are left alone stay as they are.
fn put_in_chips(spec: &mut RunSpec, chips: usize, draw: &[u8]) {
    let mut members = vec![Vec::new(); chips];
    for (place, name) in switches(spec).into_iter().enumerate() {
        // One in `chips + 1` is in none.
        if let Some(chip) = members.get_mut(usize::from(draw[place % draw.len()]) % (chips + 1)) {
            chip.push(name);
        }
    }
    let chip = |(number, switches)| ChipSpec { name: format!("chip{number}"), switches };
    spec.fabric.chips =
        members.into_iter().filter(|members| members.len() > 1).enumerate().map(chip).collect();
}

/// What must not depend on chips: everything but how the engine went about it.
fn facts((summary, recorder): (RunSummary, Recorder)) -> (RunSummary, String) {
    let summary = RunSummary { events: 0, fast_windows: 0, exact_windows: 0, fast_forward_ps: 0, ..summary };
    (summary, tables(&recorder))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chips_with_room_for_all_are_as_their_switches_apart(
        topology in prop::sample::select(vec![leaf_spine(3), fat_tree(), switch_ring(5, 2)]),
        balancing in prop::sample::select(balancings()),
        pattern in prop::sample::select(vec![("all-to-all", "parallel"), ("all-reduce", "ring"), ("gather", "parallel")]),
        (data_kib, is_cut_through, marks, xoff_kb) in (64..2_048_u64, any::<bool>(), 0..3_u8, 20..400_u64),
        (chips, draw) in (1..3_usize, prop::collection::vec(any::<u8>(), 1..12)),
        threads in 1..4_usize,
        is_exact in any::<bool>(),
    ) {
        let ranks = supported(pattern, 6);
        let mut spec = collective(topology, ranks, pattern.0, pattern.1, data_kib * 1_536);
        spec.fabric.load_balancing = balancing;
        if is_cut_through {
            spec.fabric.switch.forwarding = ForwardingSpec::CutThrough;
        }
        spec.fabric.switch.ecn = match marks {
            0 => None,
            1 => Some(ecn(50_000, 400_000)),
            _ => Some(dynamic_ecn(50_000, 400_000, 20)),
        };
        let mut pfc = dynamic_pfc();
        pfc.xoff = XoffSpec::Static { bytes: xoff_kb * 1_000 };
        spec.fabric.switch.pfc = Some(pfc);
        spec.fabric.switch.buffer.size_bytes = 1 << 30;
        let apart = facts(run(&spec));
        put_in_chips(&mut spec, chips, &draw);
        let path = if is_exact { Path::Exact } else { Path::Auto };
        prop_assert_eq!(facts(run_with(&spec, threads, path)), apart);
    }

    #[test]
    fn a_chip_is_the_same_on_every_path_and_any_number_of_threads(
        topology in prop::sample::select(vec![leaf_spine(3), fat_tree(), switch_ring(5, 2)]),
        (data_kib, buffer_kib, is_lossless) in (256..2_048_u64, 1_500..6_000_u64, any::<bool>()),
        (chips, draw) in (1..3_usize, prop::collection::vec(any::<u8>(), 1..12)),
        threads in 2..4_usize,
    ) {
        let mut spec = collective(topology, 6, "all-to-all", "parallel", data_kib * 1_536);
        put_in_chips(&mut spec, chips, &draw);
        spec.fabric.switch.pfc = is_lossless.then(dynamic_pfc);
        spec.fabric.switch.buffer.size_bytes = buffer_kib << 10;
        spec.transport.timeout_ps = 100_000_000;
        prop_assume!(fabricbench_sim::check(&spec).is_ok());
        let (summary, recorder) = run(&spec);
        if is_lossless {
            prop_assert_eq!(summary.frames_lost.total(), 0, "the computed headroom is enough");
        }
        let expected = facts((summary, recorder));
        prop_assert_eq!(&facts(run_with(&spec, 1, Path::Exact)), &expected);
        prop_assert_eq!(&facts(run_with(&spec, threads, Path::Auto)), &expected);
    }
}

/// On leaf 0 three send to one; on leaf 1 two send to one a little later.
fn two_incasts() -> RunSpec {
    let mut spec = collective(leaf_spine(4), 4, "incast", "parallel", 2 << 20);
    let job = |name: &str, stream, hosts: &[u32], start_ps| JobSpec {
        name: name.into(),
        stream,
        hosts: hosts.to_vec(),
        start_ps,
        ..spec.jobs[0].clone()
    };
    spec.jobs = vec![job("large", 0, &[0, 1, 2, 3], 0), job("small", 1, &[4, 5, 6], 10_000_000)];
    spec.fabric.switch.buffer.size_bytes = 3 << 20;
    spec.transport.timeout_ps = 200_000_000;
    spec
}

fn dropped_at(recorder: &Recorder, node: &str) -> u64 {
    recorder.ports.iter().filter(|port| port.node == node).map(|port| port.dropped_frames).sum()
}

#[test]
fn what_fills_one_switch_of_a_chip_is_missing_at_another() {
    let mut spec = two_incasts();
    let (_, recorder) = run(&spec);
    assert!(dropped_at(&recorder, "leaf0") > 0);
    assert_eq!(dropped_at(&recorder, "leaf1"), 0, "2 MiB fit a buffer of its own");
    let switches = ["leaf0", "leaf1"].map(str::to_owned).to_vec();
    spec.fabric.chips = vec![ChipSpec { name: "chip".into(), switches }];
    let (summary, recorder) = run(&spec);
    assert!(dropped_at(&recorder, "leaf1") > 0, "the chip was full");
    assert_eq!(summary.status, RunStatus::Complete);
}

#[test]
fn a_chip_pauses_across_its_own_cables() {
    let mut spec = collective(leaf_spine(4), 8, "gather", "parallel", 32 << 20);
    spec.fabric.switch.pfc = Some(dynamic_pfc());
    spec.fabric.switch.buffer.size_bytes = 4 << 20;
    let switches = switches(&spec);
    spec.fabric.chips = vec![ChipSpec { name: "chip".into(), switches }];
    let (summary, recorder) = run(&spec);
    assert_eq!((summary.status, summary.frames_lost.total()), (RunStatus::Complete, 0));
    let heard = |tier, peer: &str| -> u64 {
        let ports = recorder.ports.iter().filter(|port| port.tier == tier && port.peer.starts_with(peer));
        ports.map(|port| port.pfc_rx.unwrap_or(0)).sum()
    };
    assert!(heard(2, "leaf") > 0, "the leaf of the root pauses the spines");
    assert!(heard(1, "spine") > 0, "the spines pause the other leaf");
    assert!(heard(0, "leaf1") > 0, "that pauses its hosts");
}
