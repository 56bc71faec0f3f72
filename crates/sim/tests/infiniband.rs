//! InfiniBand links: lossless by credits, at line rate if the buffer holds a round trip, else at buffer over
//! round trip.

use crate::common::{
    self, collective, completion_ps, leaf_spine, run, run_with, single_switch, switch_ring, tables,
};
use fabricbench_sim::Path;
use proptest::prelude::*;
use spec::{
    ForwardingSpec, ImpairmentSpec, LeafSpine, LinkLayerSpec, LoadBalancing, LossRecovery, NicDirection,
    PrioritySpec, QpMode, RunSpec, RunStatus, SchedulingSpec, TopologySpec,
};

/// One byte at 400 Gb/s [ps].
const BYTE_PS: u64 = 20;
/// A full packet of a message but its first, and its symbols.
const PACKET_BYTES: u64 = 4_096 + 26 + 2;
/// A flow control packet with its symbols.
const UPDATE_BYTES: u64 = 8;
const NIC_PS: u64 = 400_000;
const PIPELINE_PS: u64 = 500_000;
const CABLE_PS: u64 = 15_000;

fn infiniband(vl_buffer_bytes: u32, credit_interval_ps: u64) -> LinkLayerSpec {
    LinkLayerSpec::Infiniband { vl_buffer_bytes, credit_interval_ps }
}

/// One message from host 1 to host 0 on one switch, acknowledged once, on another lane.
fn transfer(data_bytes: u64, link_layer: LinkLayerSpec) -> RunSpec {
    let mut spec = collective(single_switch(2), 2, "incast", "parallel", data_bytes);
    spec.fabric.link_layer = link_layer;
    spec.transport.message_bytes = 1 << 30;
    spec.transport.ack_every = 1 << 20;
    spec
}

#[test]
fn a_lone_message_takes_what_its_bytes_and_latencies_take() {
    for (bytes, packets) in [(1, 1), (4_096, 1), (1 << 20, 256)] {
        let (summary, _) = run(&transfer(bytes, infiniband(131_072, 0)));
        let data = bytes.next_multiple_of(4) + packets * 28 + 16;
        // The largest packet comes first; through the switch the last follows without a gap.
        let last = if packets == 1 { data } else { PACKET_BYTES + 16 };
        let hop = NIC_PS + 2 * CABLE_PS + PIPELINE_PS + NIC_PS;
        // The grant for the last packet goes ahead of the acknowledgement.
        let acknowledgement = (UPDATE_BYTES + 2 * 32) * BYTE_PS + hop;
        assert_eq!(completion_ps(&summary), (data + last) * BYTE_PS + hop + acknowledgement, "{bytes} bytes");
    }
}

/// From the first bit of a packet at a host to the moment when its credit can be spent again, on an idle
/// switch that grants it at once: it arrives, goes out, and the grant comes back.
const ROUND_TRIP_PS: u64 = (PACKET_BYTES + PACKET_BYTES + UPDATE_BYTES) * BYTE_PS
    + (NIC_PS + CABLE_PS + PIPELINE_PS)
    + (CABLE_PS + NIC_PS);

/// Rate of a long transfer with such a buffer [ps per packet].
fn packet_ps(vl_buffer_bytes: u32) -> u64 {
    let took = |packets: u64| {
        let spec = transfer(packets * 4_096, infiniband(vl_buffer_bytes, 0));
        completion_ps(&run(&spec).0)
    };
    (took(3_400) - took(1_000)) / 2_400
}

#[test]
fn below_a_round_trip_the_rate_is_the_buffer_over_the_round_trip() {
    for packets in [1_u64, 2, 5, 8] {
        let measured = packet_ps(packets as u32 * 65 * 64);
        assert_eq!(measured, ROUND_TRIP_PS / packets, "a buffer of {packets} packets");
    }
}

#[test]
fn from_a_round_trip_on_the_rate_is_that_of_the_line() {
    let line_ps = PACKET_BYTES * BYTE_PS;
    let needed = ROUND_TRIP_PS.div_ceil(line_ps);
    assert!(packet_ps((needed - 1) as u32 * 65 * 64) > line_ps);
    for packets in [needed, needed + 1, 31] {
        assert_eq!(packet_ps(packets as u32 * 65 * 64), line_ps, "a buffer of {packets} packets");
    }
}

#[test]
fn updates_come_at_their_interval_and_waits_are_counted() {
    let buffer = 4 * 65 * 64;
    let (summary, recorder) = run(&transfer(4 << 20, infiniband(buffer, 2_000_000)));
    let host = recorder.ports.iter().find(|port| port.node == "host1").unwrap();
    let switch = recorder.ports.iter().find(|port| port.peer == "host1").unwrap();
    let most = completion_ps(&summary) / 2_000_000 + 2;
    let updates = switch.flow_control_tx.unwrap();
    assert!(updates > most - 8 && updates <= most, "{updates} of {most}");
    assert_eq!(host.flow_control_rx, Some(updates));
    // 4 packets in 2 us and the wait for the first grant, of which 3 x 83 ns and the next's start are no
    // waits.
    let waited = host.credit_wait_ps.unwrap();
    assert!(waited > completion_ps(&summary) * 4 / 5 && waited < completion_ps(&summary), "{waited}");
    assert_eq!(switch.credit_wait_ps, Some(0));
    assert_eq!((host.pfc_tx, host.pfc_rx, host.paused_ps), (None, None, None));
}

#[test]
fn an_incast_fills_the_receivers_link_and_loses_nothing() {
    let mut spec = collective(leaf_spine(4), 8, "incast", "parallel", 1 << 20);
    spec.fabric.link_layer = infiniband(131_072, 100_000);
    spec.fabric.load_balancing = LoadBalancing::DModK {};
    let (summary, recorder) = run(&spec);
    assert_eq!((summary.status, summary.frames_lost.total()), (RunStatus::Complete, 0));
    let of_payload = 7 * (1 << 20) * BYTE_PS;
    let share = of_payload as f64 / completion_ps(&summary) as f64;
    assert!(share > 0.96, "{share}");
    assert!(recorder.ports.iter().any(|port| port.node == "leaf1" && port.credit_wait_ps > Some(0)));
    assert!(recorder.ports.iter().all(|port| port.flow_control_tx.is_some()));
}

/// Queue pairs that are made when they are needed are made by data that waits in a receive buffer, too.
#[test]
fn slow_receivers_of_a_ring_give_the_same_on_both_paths() {
    let mut spec = collective(single_switch(3), 3, "reduce-scatter", "ring", 3 << 10);
    spec.fabric.link_layer = infiniband(131_072, 0);
    spec.fabric.nic.drain_rate_bps = Some(1_000_000_000);
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.status, RunStatus::Complete);
    assert!(tables(&recorder) == tables(&run_with(&spec, 2, Path::Exact).1));
}

#[test]
fn destinations_are_dealt_out_over_the_spines() {
    let mut spec = collective(leaf_spine(8), 16, "all-to-all", "parallel", 16 << 16);
    spec.fabric.link_layer = infiniband(131_072, 256_000);
    spec.fabric.load_balancing = LoadBalancing::DModK {};
    let (_, recorder) = run(&spec);
    let uplinks: Vec<_> =
        recorder.links.iter().filter(|link| link.from.starts_with("leaf") && link.tier == 2).collect();
    assert_eq!(uplinks.len(), 8);
    let most = uplinks.iter().map(|link| link.bytes).max().unwrap();
    // Flow control packets apart, all carry the same.
    assert!(uplinks.iter().all(|link| most - link.bytes < most / 100));
}

#[test]
fn a_circle_without_credit_is_a_deadlock_with_a_name() {
    let mut spec = collective(switch_ring(5, 2), 10, "all-to-all", "parallel", 10 << 20);
    spec.fabric.link_layer = infiniband(4_160, 0);
    spec.fabric.load_balancing = LoadBalancing::DModK {};
    spec.transport.timeout_ps = 20_000_000;
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.status, RunStatus::Stalled);
    let circle: Vec<_> = recorder.events.iter().filter(|event| event.kind == "credit_deadlock").collect();
    assert!(circle.len() >= 3, "{:?}", recorder.events);
    assert!(circle[0].detail.contains(" waits for s"), "{}", circle[0].detail);
}

prop_compose! {
    fn any_spec()(
        topology in prop::sample::select(vec![leaf_spine(6), single_switch(12), slow_spines()]),
        pattern in prop::sample::select(fabricbench_sim::patterns()),
        (ranks, kib_per_part) in (2_u32..=12, 1_u64..60),
        packets in prop_oneof![1_u32..4, Just(31)],
        interval_ps in prop_oneof![Just(0_u64), 1..2_000_000_u64],
        ack_every in 1_u32..5,
        seed: u64,
        balancing in prop::sample::select(vec![
            LoadBalancing::DModK {}, LoadBalancing::Adaptive {}, LoadBalancing::SprayRandom {},
        ]),
        mtu_bytes in prop::sample::select(vec![256_u32, 4096]),
        (one_lane, per_pair, cut_through, is_slow, dwrr) in any::<(bool, bool, bool, bool, bool)>(),
    ) -> RunSpec {
        let (name, algorithm) = pattern;
        let ranks = common::supported(pattern, ranks);
        let data_bytes = kib_per_part * 1024 * u64::from(ranks);
        let mut spec = collective(topology, ranks, name, algorithm, data_bytes);
        spec.seed = seed;
        spec.fabric.link_layer = infiniband(packets * (mtu_bytes + 42).next_multiple_of(64), interval_ps);
        spec.transport.mtu_bytes = mtu_bytes;
        spec.transport.ack_every = ack_every;
        let sprays = balancing != LoadBalancing::DModK {};
        spec.transport.recovery = if sprays { LossRecovery::Selective } else { LossRecovery::GoBackN };
        spec.fabric.load_balancing = balancing;
        if one_lane {
            spec.transport.priorities = PrioritySpec { data: 0, ack: 0, cnp: 0 };
        }
        if per_pair {
            spec.transport.qp_mode = QpMode::PerPair;
        }
        if cut_through {
            spec.fabric.switch.forwarding = ForwardingSpec::CutThrough;
        }
        if is_slow {
            spec.fabric.nic.impairments = vec![ImpairmentSpec { host: 1, throughput_ppm: 400_000, direction: NicDirection::Both }];
        }
        if dwrr {
            spec.fabric.switch.scheduling = SchedulingSpec::Dwrr { quantum_bytes: [4_500; 8] };
        }
        spec
    }
}

/// Uplinks of half the rate.
fn slow_spines() -> TopologySpec {
    let mut topology = leaf_spine(6);
    if let TopologySpec::LeafSpine(LeafSpine { fabric_link, .. }) = &mut topology {
        fabric_link.rate_bps /= 2;
    }
    topology
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    // That no packet is sent without credit or finds its buffer full, and that frames are conserved, is
    // checked inside every run.
    #[test]
    fn nothing_is_lost_and_threads_agree(spec in any_spec()) {
        let (summary, recorder) = run(&spec);
        prop_assert_eq!(summary.status, RunStatus::Complete);
        prop_assert_eq!(summary.frames_lost.total(), 0);
        prop_assert_eq!(summary.fast_forward_ps, 0);
        for (threads, path) in [(2, Path::Auto), (3, Path::Exact)] {
            let (other_summary, other) = run_with(&spec, threads, path);
            prop_assert_eq!(summary.packet_hops, other_summary.packet_hops);
            prop_assert!(tables(&recorder) == tables(&other), "tables differ with {} threads", threads);
        }
    }
}
