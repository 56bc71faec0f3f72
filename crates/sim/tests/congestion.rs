//! PFC, ECN, DCQCN and load balancing in whole runs.

use crate::common::{
    DCQCN, Recorder, collective, completion_ps, dcqcn, dynamic_ecn, dynamic_pfc, ecn, leaf_spine, run,
    single_switch,
};
use spec::{
    DcqcnConfig, FixedConfig, ImpairmentSpec, LineRateConfig, LoadBalancing, NicDirection, RateControlSpec,
    RatioSpec, RunSpec, RunStatus, XoffSpec,
};

/// Seven senders into one host, 16 MB of buffer.
fn lossless_incast() -> RunSpec {
    let mut spec = collective(leaf_spine(4), 8, "incast", "parallel", 8 << 20);
    spec.fabric.switch.buffer.size_bytes = 4 << 20;
    spec.fabric.switch.pfc = Some(dynamic_pfc());
    spec
}

#[test]
fn pfc_with_the_computed_headroom_loses_nothing_and_keeps_the_order() {
    let (summary, recorder) = run(&lossless_incast());
    assert_eq!(summary.status, RunStatus::Complete);
    assert_eq!(summary.frames_lost.total(), 0);
    let pauses: u64 = recorder.ports.iter().map(|port| port.pfc_tx.unwrap_or(0)).sum();
    let heard: u64 = recorder.ports.iter().map(|port| port.pfc_rx.unwrap_or(0)).sum();
    assert!(pauses > 10 && heard.abs_diff(pauses) < 10, "{pauses} {heard}");
    assert!(recorder.chunks.iter().all(|chunk| chunk.out_of_order == 0 && chunk.retransmits == 0));
    assert!(recorder.ports.iter().any(|port| port.tier == 0 && port.paused_ps > Some(0)));
    // The bottleneck never idles: the time is that of the bytes, within 1 %.
    let bytes = 7 * ((8 << 20) + 2048 * 82 + 64 * 16);
    let ideal = bytes * 20;
    let time = completion_ps(&summary);
    assert!(time > ideal && time < ideal + ideal / 100, "{time} against {ideal}");
}

#[test]
fn a_quarter_of_the_headroom_is_overrun_and_reported_as_such() {
    let mut spec = lossless_incast();
    let mut pfc = dynamic_pfc();
    pfc.headroom_bytes = Some(14_000);
    spec.fabric.switch.pfc = Some(pfc);
    spec.transport.timeout_ps = 200_000_000;
    let (summary, recorder) = run(&spec);
    assert!(summary.frames_lost.headroom_overrun > 0, "{summary:?}");
    assert_eq!(summary.frames_lost.buffer_full, 0);
    let by_port: u64 = recorder.ports.iter().map(|port| port.dropped_headroom_frames).sum();
    assert_eq!(by_port, summary.frames_lost.headroom_overrun);
    assert_eq!(summary.status, RunStatus::Complete, "go-back-N repairs it");
}

#[test]
fn a_fixed_rate_is_that_of_the_bytes_on_the_link() {
    let mut spec = collective(single_switch(2), 2, "incast", "parallel", 1 << 20);
    spec.transport.message_bytes = 4096;
    let at_line_rate = completion_ps(&run(&spec).0);
    spec.transport.rate_control = RateControlSpec::Fixed(FixedConfig { rate_bps: 10_000_000_000 });
    let (summary, recorder) = run(&spec);
    // The last of 256 equal frames starts when those before it have been sent: 800 ps a byte instead of 20.
    assert_eq!(completion_ps(&summary) - at_line_rate, 255 * (4096 + 98) * 780);
    assert!(recorder.chunks.iter().all(|chunk| chunk.retransmits == 0));
}

#[test]
fn a_static_threshold_works_as_well() {
    let mut spec = lossless_incast();
    let mut pfc = dynamic_pfc();
    pfc.xoff = XoffSpec::Static { bytes: 100_000 };
    spec.fabric.switch.pfc = Some(pfc);
    let (summary, recorder) = run(&spec);
    assert_eq!((summary.status, summary.frames_lost.total()), (RunStatus::Complete, 0));
    assert!(recorder.ports.iter().map(|port| port.pfc_tx.unwrap_or(0)).sum::<u64>() > 10);
}

#[test]
fn dcqcn_shares_a_bottleneck_fairly_without_loss() {
    let mut spec = collective(single_switch(5), 5, "incast", "parallel", 400 << 20);
    spec.fabric.switch.ecn = Some(ecn(400_000, 1_600_000));
    spec.fabric.switch.pfc = Some(dynamic_pfc());
    spec.transport.rate_control = dcqcn();
    let (summary, recorder) = run(&spec);
    assert_eq!((summary.status, summary.frames_lost.total()), (RunStatus::Complete, 0));
    let marked: u64 = recorder.ports.iter().map(|port| port.ecn_marked).sum();
    let received: u64 = recorder.chunks.iter().map(|chunk| chunk.ecn_ce_rx).sum();
    let (sent, heard) =
        recorder.chunks.iter().fold((0, 0), |(tx, rx), chunk| (tx + chunk.cnp_tx, rx + chunk.cnp_rx));
    assert!(
        marked > 0 && received == marked && sent == heard && sent > 0,
        "{marked} {received} {sent} {heard}"
    );
    let times: Vec<u64> = recorder.chunks.iter().filter_map(|chunk| chunk.completed_ps).collect();
    let (first, last) = (times.iter().min().expect("four"), times.iter().max().expect("four"));
    assert!(last - first < last / 10, "{first} {last}");
    let bytes_ps = 4 * (400 << 20) * 4194 / 4096 * 20;
    assert!(
        completion_ps(&summary) < bytes_ps * 5 / 4,
        "the link is used to 80 %: {}",
        completion_ps(&summary)
    );
}

/// Kmin of the bottleneck at each sample.
fn kmin_of(recorder: &Recorder, port: u32) -> Vec<u64> {
    let series = recorder.series.iter();
    series.filter(|row| row.metric == "ecn_kmin_bytes" && row.port == port).map(|row| row.value).collect()
}

#[test]
fn thresholds_go_down_under_an_incast_and_leave_a_shorter_queue() {
    let mut spec = collective(single_switch(9), 9, "incast", "parallel", 50 << 20);
    spec.fabric.switch.pfc = Some(dynamic_pfc());
    spec.transport.rate_control = dcqcn();
    spec.fabric.switch.ecn = Some(ecn(400_000, 1_600_000));
    let mean_queue = |recorder: &Recorder| {
        let of_root = |row: &&record::SeriesRow| row.metric == "queue_bytes" && row.port == 0;
        let queue: Vec<u64> = recorder.series.iter().filter(of_root).map(|row| row.value).collect();
        queue.iter().sum::<u64>() / queue.len() as u64
    };
    let (fixed_summary, fixed) = run(&spec);
    spec.fabric.switch.ecn = Some(dynamic_ecn(400_000, 1_600_000, 100));
    let (summary, recorder) = run(&spec);
    assert_eq!((summary.status, summary.frames_lost.total()), (RunStatus::Complete, 0));
    let kmin = kmin_of(&recorder, 0);
    assert_eq!(kmin[0], 400_000, "they begin as configured");
    assert!(kmin.iter().all(|value| (50_000..=3_200_000).contains(value)), "{kmin:?}");
    assert!(kmin.iter().any(|&value| value < 200_000), "{kmin:?}");
    assert!(
        mean_queue(&recorder) * 5 < mean_queue(&fixed) * 4,
        "{} {}",
        mean_queue(&recorder),
        mean_queue(&fixed)
    );
    let (dynamic, fixed) = (completion_ps(&summary), completion_ps(&fixed_summary));
    assert!(dynamic < fixed * 11 / 10, "{dynamic} {fixed}");
    let changes = recorder.ports.iter().map(|port| port.ecn_changes).max().expect("there are ports");
    let logged = recorder.events.iter().filter(|event| event.kind.starts_with("ecn_")).count() as u64;
    assert!(logged == changes.min(16) && logged > 0, "{logged} {changes}");
    assert!(kmin_of(&recorder, 1).iter().all(|&value| value == 400_000), "no other port has a reason to");
}

#[test]
fn an_impaired_nic_slows_its_senders_through_pfc() {
    let mut spec = collective(leaf_spine(4), 2, "incast", "parallel", 16 << 20);
    let time = |spec: &RunSpec| completion_ps(&run(spec).0);
    let healthy = time(&spec);
    spec.fabric.switch.pfc = Some(dynamic_pfc());
    spec.fabric.switch.buffer.size_bytes = 4 << 20;
    spec.fabric.nic.impairments =
        vec![ImpairmentSpec { host: 0, throughput_ppm: 500_000, direction: NicDirection::Both }];
    let (summary, recorder) = run(&spec);
    let slow = completion_ps(&summary);
    assert!(slow > healthy * 19 / 10 && slow < healthy * 21 / 10, "{healthy} {slow}");
    assert_eq!(summary.frames_lost.total(), 0);
    let nic = recorder.ports.iter().find(|port| port.node == "host0").expect("it is there");
    assert!(nic.pfc_tx.unwrap_or(0) > 0);
    assert!(
        recorder.ports.iter().any(|port| port.node == "host1" && port.pfc_rx.unwrap_or(0) > 0),
        "it spreads to the sender"
    );
}

#[test]
fn spraying_uses_every_uplink_alike_and_reorders() {
    let mut spec = collective(leaf_spine(4), 8, "permutation", "parallel", 4 << 20);
    for balancing in
        [LoadBalancing::SprayRoundRobin {}, LoadBalancing::SprayRandom {}, LoadBalancing::Adaptive {}]
    {
        spec.fabric.load_balancing = balancing.clone();
        spec.transport.timeout_ps = 200_000_000;
        let (_, recorder) = run(&spec);
        let up: Vec<u64> = recorder
            .ports
            .iter()
            .filter(|port| port.node == "leaf0" && port.port >= 4)
            .map(|port| port.tx_frames)
            .collect();
        let (least, most) = (up.iter().min().expect("four"), up.iter().max().expect("four"));
        assert!(most - least < most / 5, "{balancing:?}: {up:?}");
    }
}

#[test]
fn pins_decide_the_uplink() {
    let mut spec = collective(leaf_spine(4), 8, "all-to-all", "parallel", 8 << 20);
    let (_, recorder) = run(&spec);
    let crossing = recorder.chunks.iter().filter(|chunk| chunk.src_host < 4 && chunk.dst_host >= 4);
    let pins = crossing.map(|chunk| spec::PinSpec { switch: "leaf0".into(), qp: chunk.qp, uplink: 2 });
    spec.fabric.load_balancing = LoadBalancing::Pinned { pins: pins.collect() };
    spec.fabric.switch.pfc = Some(dynamic_pfc());
    let (_, recorder) = run(&spec);
    let uplinks: Vec<u32> = recorder
        .ports
        .iter()
        .filter(|port| port.node == "leaf0" && port.port >= 4)
        .map(|port| port.egress_qps)
        .collect();
    assert_eq!(uplinks, [0, 0, 16, 0]);
}

#[test]
fn a_lossy_queue_is_held_to_its_share() {
    let mut spec = collective(single_switch(3), 3, "incast", "parallel", 8 << 20);
    spec.fabric.switch.buffer.size_bytes = 3 << 20;
    spec.fabric.switch.buffer.lossy_alpha = Some(RatioSpec { numerator: 1, denominator: 2 });
    spec.transport.timeout_ps = 200_000_000;
    let (summary, recorder) = run(&spec);
    assert!(summary.frames_lost.buffer_full > 0);
    // alpha / (1 + alpha) of the buffer for one queue.
    let deepest = recorder.ports.iter().map(|port| port.queue_max_bytes).max();
    assert!(deepest.is_some_and(|bytes| bytes <= (1 << 20) && bytes > (1 << 20) - 10_000), "{deepest:?}");
}

/// At line rate notifications change nothing but their own counts: no chunk takes longer than without marks.
#[test]
fn senders_at_line_rate_count_notifications_and_do_not_slow_down() {
    let mut spec = collective(single_switch(5), 5, "incast", "parallel", 4 << 20);
    let unmarked = run(&spec).1.chunks;
    spec.fabric.switch.ecn = Some(ecn(10_000, 300_000));
    spec.transport.rate_control =
        RateControlSpec::LineRate(LineRateConfig { cnp_interval_ps: Some(50_000_000) });
    let notified = run(&spec).1.chunks;
    for (before, after) in unmarked.iter().zip(&notified) {
        assert!(after.ecn_ce_rx > 900 && after.cnp_tx >= 6, "{} marks, {}", after.ecn_ce_rx, after.cnp_tx);
        assert_eq!(after.cnp_rx, after.cnp_tx);
        assert_eq!((before.src_rank, before.delivered_ps), (after.src_rank, after.delivered_ps));
    }
    spec.transport.rate_control = RateControlSpec::LINE_RATE;
    assert!(run(&spec).1.chunks.iter().all(|chunk| chunk.ecn_ce_rx > 900 && chunk.cnp_tx == 0));
}

/// Every frame is marked, and no notification slows its sender: the notifications are those of the clock.
#[test]
fn a_receiver_notifies_once_in_an_interval_however_many_frames_are_marked() {
    let mut spec = collective(single_switch(3), 3, "incast", "parallel", 4 << 20);
    spec.fabric.switch.ecn = Some(ecn(0, 1));
    for interval_ps in [10_000_000, 40_000_000] {
        spec.transport.rate_control = RateControlSpec::Dcqcn(DcqcnConfig {
            cnp_interval_ps: interval_ps,
            rate_min_bps: 400_000_000_000,
            ..DCQCN
        });
        let (_, recorder) = run(&spec);
        for chunk in &recorder.chunks {
            assert!(chunk.ecn_ce_rx > 1_000, "{} of 1,024 frames are marked", chunk.ecn_ce_rx);
            let completed_ps = chunk.completed_ps.expect("it completes");
            // Its frames share the link with those of another chunk, and take 84 ns each: the first marked
            // one after an interval comes that much later. 2 us of the time are on the way to the receiver.
            let time_ps = completed_ps - chunk.start_ps.expect("it starts") - 2_000_000;
            let count = time_ps / (interval_ps + 200_000)..=time_ps / interval_ps + 1;
            assert!(count.contains(&chunk.cnp_tx), "{} in {time_ps} ps: {count:?}", chunk.cnp_tx);
            assert_eq!(chunk.cnp_rx, chunk.cnp_tx);
        }
    }
}
