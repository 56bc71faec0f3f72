//! What holds in every run, over random fabrics, workloads and impairments.

use crate::common::{self, Recorder, any_residence, collective, dynamic_pfc, link, reside, run};
use proptest::prelude::*;
use record::{ChunkRow, ChunkStatus, PortRow};
use spec::{
    BufferSpec, Custom, CustomLink, CustomSwitch, ForwardingSpec, ImpairmentSpec, LinkSpec, LoadBalancing,
    LossRecovery, NicDirection, PfcSpec, RatioSpec, RunSpec, RunStatus, RunSummary, SingleSwitch,
    TopologySpec, XoffSpec,
};

const MTU: u64 = 4096;
const MESSAGE: u64 = 128 << 10;

prop_compose! {
    /// Up to five switches, a tree with more links across it, ports of different rates, cables of different
    /// lengths.
    fn any_fabric()(
        hosts in prop::collection::vec(1..4_u32, 2..6),
        parents in prop::collection::vec(0..8_usize, 5),
        more in prop::collection::vec((0..5_usize, 0..5_usize), 0..4),
        cables in prop::collection::vec((prop::sample::select(vec![100_u64, 200, 400, 800]), 1..2_000_u64), 9),
    ) -> TopologySpec {
        let count = hosts.len();
        let tree = (1..count).map(|switch| (switch, parents[switch - 1] % switch));
        let across = more.iter().map(|&(a, b)| (a % count, b % count)).filter(|(a, b)| a != b);
        let links = tree.chain(across).zip(cables).map(|((a, b), (gbps, length_m))| CustomLink {
            between: [format!("s{a}"), format!("s{b}")],
            count: 1,
            link: LinkSpec { rate_bps: gbps * 1_000_000_000, ..link(length_m) },
        });
        let switch = |(index, hosts)| CustomSwitch { name: format!("s{index}"), hosts };
        TopologySpec::Custom(Custom {
            links: links.collect(),
            switches: hosts.into_iter().enumerate().map(switch).collect(),
            host_link: link(3),
        })
    }
}

prop_compose! {
    /// Any of some patterns on every host of any fabric, with or without impairments.
    fn any_run()(
        topology in any_fabric(),
        pattern in prop::sample::select(vec![
            ("all-to-all", "parallel"), ("incast", "parallel"), ("all-gather", "ring"), ("permutation", "parallel"),
        ]),
        kib_per_share in 50_u64..1_500,
        seed: u64,
        cut_through: bool,
        cell_bytes in prop::sample::select(vec![1_u64, 208, 256]),
        impaired in prop::option::of(100_000_u32..900_000),
        recovery in prop::sample::select(vec![LossRecovery::GoBackN, LossRecovery::Selective]),
        residence in any_residence(),
    ) -> RunSpec {
        let ranks = topology.hosts() as u32;
        let shares = fabricbench_sim::shares(pattern.0, ranks);
        let mut spec = collective(topology, ranks, pattern.0, pattern.1, shares * kib_per_share * 1024);
        spec.seed = seed;
        spec.fabric.switch.buffer.cell_bytes = cell_bytes;
        if cut_through {
            spec.fabric.switch.forwarding = ForwardingSpec::CutThrough;
        }
        let impairment = |throughput_ppm| ImpairmentSpec { host: 0, throughput_ppm, direction: NicDirection::Both };
        spec.fabric.nic.impairments = impaired.map(impairment).into_iter().collect();
        spec.transport.recovery = recovery;
        reside(&mut spec, residence);
        spec
    }
}

/// Frames sent are those delivered, lost for a cause that the ports counted, and on the way.
fn assert_conserved(summary: &RunSummary, recorder: &Recorder) {
    let lost = summary.frames_lost;
    assert_eq!(summary.frames_sent, summary.frames_delivered + lost.total() + summary.frames_in_flight);
    let ports = |field: fn(&PortRow) -> u64| recorder.ports.iter().map(field).sum::<u64>();
    assert_eq!(ports(|port| port.dropped_frames), lost.buffer_full);
    assert_eq!(ports(|port| port.dropped_headroom_frames), lost.headroom_overrun);
    assert_eq!(ports(|port| port.dropped_wred_frames), lost.wred);
    assert_eq!(ports(|port| port.dropped_watchdog_frames), lost.pfc_watchdog);
    assert_eq!(ports(|port| port.lost_link_down_frames), lost.link_down);
    assert_eq!(ports(|port| port.fcs_error_frames), lost.bit_error);
    // What was not received was lost on a link, or is on one.
    let (sent, received) = (ports(|port| port.tx_frames), ports(|port| port.rx_frames));
    let lost_on_links = lost.link_down + lost.bit_error;
    assert!(
        sent >= received && sent - received <= summary.packet_hops + lost_on_links,
        "{sent} {received} {lost:?}"
    );
}

/// No queue was ever larger than the buffer.
fn assert_within(buffer: &BufferSpec, recorder: &Recorder) {
    let deepest = recorder.ports.iter().map(|port| port.queue_max_bytes).max().unwrap_or(0);
    assert!(deepest <= buffer.size_bytes, "{deepest} of {}", buffer.size_bytes);
}

/// Packets of a chunk.
fn packets(chunk: &ChunkRow) -> u64 {
    let (whole, rest) = (chunk.payload_bytes / MESSAGE, chunk.payload_bytes % MESSAGE);
    whole * MESSAGE.div_ceil(MTU) + rest.div_ceil(MTU)
}

/// Each packet of a complete chunk was accepted once, however often it came.
fn assert_delivered_once(recorder: &Recorder) {
    for chunk in recorder.chunks.iter().filter(|chunk| chunk.status == ChunkStatus::Complete) {
        assert_eq!(chunk.latency_frames, packets(chunk), "{chunk:?}");
        assert_eq!(chunk.tx_frames, packets(chunk) + chunk.retransmits, "{chunk:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_lossless_priority_with_the_computed_headroom_loses_nothing_and_keeps_its_order(
        mut spec in any_run(),
        xoff_kib in 10_u64..300,
    ) {
        spec.fabric.switch.pfc = Some(PfcSpec { xoff: XoffSpec::Static { bytes: xoff_kib << 10 }, ..dynamic_pfc() });
        spec.fabric.nic.receive_xoff_bytes = 200_000;
        let (summary, recorder) = run(&spec);
        assert_conserved(&summary, &recorder);
        assert_within(&spec.fabric.switch.buffer, &recorder);
        assert_delivered_once(&recorder);
        prop_assert_eq!(summary.frames_lost.headroom_overrun, 0);
        prop_assert_eq!(summary.frames_lost.host_overrun, 0);
        // Acknowledgements are not lossless; data is.
        for chunk in &recorder.chunks {
            prop_assert_eq!((chunk.out_of_order, chunk.naks), (0, 0), "{:?}", chunk);
        }
    }

    /// Short frames take more cells for their bytes than long ones.
    #[test]
    fn frames_of_any_size_in_cells_fit_the_computed_headroom(
        (message_bytes, messages) in (1_u32..700, 500_u64..3_000),
        cell_bytes in prop::sample::select(vec![1_u64, 48, 80, 144, 208, 256, 512, 1_024]),
        (hosts, length_m) in (3_u32..7, 1_u64..2_000),
        xoff_kib in 1_u64..60,
        ack_every in 1_u32..8,
        acks_are_lossless: bool,
    ) {
        let bytes = u64::from(message_bytes) * messages * u64::from(hosts - 1);
        let mut spec = collective(common::single_switch(hosts), hosts, "incast", "parallel", bytes);
        if let TopologySpec::SingleSwitch(SingleSwitch { host_link, .. }) = &mut spec.fabric.topology {
            *host_link = link(length_m);
        }
        (spec.transport.message_bytes, spec.transport.ack_every) = (message_bytes.into(), ack_every);
        if acks_are_lossless {
            spec.transport.priorities.ack = spec.transport.priorities.data;
        }
        let buffer = &mut spec.fabric.switch.buffer;
        (buffer.size_bytes, buffer.cell_bytes) = (512 << 20, cell_bytes);
        spec.fabric.switch.pfc = Some(PfcSpec { xoff: XoffSpec::Static { bytes: xoff_kib << 10 }, ..dynamic_pfc() });
        let (summary, _) = run(&spec);
        prop_assert_eq!((summary.status, summary.frames_lost.total()), (RunStatus::Complete, 0));
    }

    #[test]
    fn whatever_is_lost_is_counted_once_and_sent_again_until_each_byte_has_come(
        mut spec in any_run(),
        buffer_kib in 20_u64..1_000,
        alpha in prop::option::of(1_u32..4),
        spray: bool,
    ) {
        spec.fabric.switch.buffer.size_bytes = buffer_kib << 10;
        spec.fabric.switch.buffer.lossy_alpha = alpha.map(|numerator| RatioSpec { numerator, denominator: 2 });
        spec.transport.timeout_ps = 100_000_000;
        if spray {
            spec.fabric.load_balancing = LoadBalancing::SprayRandom {};
        }
        let (summary, recorder) = run(&spec);
        assert_conserved(&summary, &recorder);
        assert_within(&spec.fabric.switch.buffer, &recorder);
        assert_delivered_once(&recorder);
        prop_assert_eq!((summary.frames_lost.headroom_overrun, summary.frames_lost.pfc_watchdog), (0, 0));
    }

    #[test]
    fn what_fails_loses_frames_that_are_counted_once_and_sent_again(
        mut spec in any_run(),
        failure in common::any_failure(150),
        retry_count in 0_u32..8,
        lossless: bool,
    ) {
        common::fail(&mut spec, failure);
        spec.transport.timeout_ps = 100_000_000;
        spec.transport.retry_count = retry_count;
        spec.fabric.switch.pfc = lossless.then(dynamic_pfc);
        let (summary, recorder) = run(&spec);
        assert_conserved(&summary, &recorder);
        assert_delivered_once(&recorder);
        let failed = recorder.chunks.iter().any(|chunk| chunk.status == ChunkStatus::Failed);
        prop_assert!(summary.status == RunStatus::Complete || failed, "{:?}", summary.jobs);
    }

    #[test]
    fn a_quarter_of_the_headroom_loses_nothing_but_by_headroom_overrun(mut spec in any_run()) {
        let mut pfc = dynamic_pfc();
        pfc.xoff = XoffSpec::Static { bytes: 50_000 };
        pfc.headroom_bytes = Some(14_000);
        spec.fabric.switch.pfc = Some(pfc);
        spec.fabric.nic.impairments.clear();
        spec.transport.timeout_ps = 200_000_000;
        let (summary, recorder) = run(&spec);
        assert_conserved(&summary, &recorder);
        assert_within(&spec.fabric.switch.buffer, &recorder);
        assert_delivered_once(&recorder);
        prop_assert_eq!(summary.frames_lost.total(), summary.frames_lost.headroom_overrun);
    }
}
