//! TCP in the simulator: throughput over a bottleneck, marks, losses, and RDMA beside it.

#![expect(clippy::unwrap_used, reason = "tests may fail, and compare with formulas")]

use crate::common::{self, Recorder, collective, ecn, leaf_spine, run, single_switch, tcp};
use record::ConnectionRow;
use spec::{
    CongestionKind, EcnSpec, LinkSpec, RatioSpec, RepeatSpec, RunSpec, RunStatus, SingleSwitch, TcpSpec,
    TopologySpec,
};

/// TCP on hosts of 10 Gb/s beside a job of a few bytes, which no run can be without.
fn alone(hosts: u32, traffic: TcpSpec) -> RunSpec {
    let link = LinkSpec { rate_bps: 10_000_000_000, ..common::link(3) };
    let topology = TopologySpec::SingleSwitch(SingleSwitch { hosts: hosts + 2, host_link: link });
    let mut spec = collective(topology, 2, "send-receive", "parallel", 64);
    spec.jobs[0].hosts = vec![hosts, hosts + 1];
    spec.tcp = vec![traffic];
    spec
}

/// A path so long that the queue adds little to the round trip: 100 us each way.
fn long(mut spec: RunSpec) -> RunSpec {
    if let TopologySpec::SingleSwitch(SingleSwitch { host_link, .. }) = &mut spec.fabric.topology {
        host_link.cable.delay_ps = 50_000_000;
    }
    spec
}

fn incast(senders: u32, congestion: CongestionKind) -> TcpSpec {
    TcpSpec { congestion, ..tcp((0..=senders).collect::<Vec<u32>>(), "incast", None) }
}

fn goodput_bps(row: &ConnectionRow) -> u64 {
    (u128::from(row.acked_bytes) * 8_000_000_000_000 / u128::from(row.end_ps - row.start_ps.unwrap())) as u64
}

fn total_goodput_bps(recorder: &Recorder) -> u64 {
    recorder.connections.iter().map(goodput_bps).sum()
}

#[test]
fn one_connection_fills_a_link() {
    let mut traffic = incast(1, CongestionKind::Cubic);
    traffic.duration_ps = Some(30_000_000_000);
    let (summary, recorder) = run(&alone(2, traffic));
    assert_eq!(summary.status, RunStatus::Complete);
    let row = &recorder.connections[0];
    // 1448 of 1538 bytes on the wire; the last acknowledgement is delayed.
    assert!(goodput_bps(row) > 9_200_000_000 && goodput_bps(row) < 9_420_000_000, "{row:?}");
    assert_eq!((row.retransmits, row.timeouts, row.acked_bytes), (0, 0, row.delivered_bytes));
    assert!(row.is_complete && row.rtt_samples > 100);
}

#[test]
fn an_application_that_offers_less_sends_that() {
    let mut traffic = tcp((0..4).collect::<Vec<u32>>(), "all-to-all", Some(3));
    traffic.duration_ps = Some(10_000_000_000);
    let (_, recorder) = run(&alone(4, traffic));
    assert_eq!(recorder.connections.len(), 12);
    for row in &recorder.connections {
        // 3 Gb/s of each host over three connections, in writes of 131 KB.
        assert_eq!(row.offered_bytes, Some(row.delivered_bytes));
        assert!(row.delivered_bytes.abs_diff(1_250_000) <= 132_000, "{row:?}");
        assert_eq!(row.retransmits, 0);
    }
}

/// Mathis et al. 1997: MSS / RTT x sqrt(3/2) / sqrt(p), where the only cause of loss is a full queue and `p`
/// counts the signals.
#[test]
fn newreno_follows_the_square_root_law_over_a_drop_tail_bottleneck() {
    for queue_bytes in [60_000, 120_000] {
        let mut traffic = incast(2, CongestionKind::NewReno);
        traffic.duration_ps = Some(400_000_000_000);
        let mut spec = long(alone(3, traffic));
        spec.fabric.switch.buffer.size_bytes = queue_bytes;
        let (summary, recorder) = run(&spec);
        assert!(summary.frames_lost.buffer_full > 20);
        for row in &recorder.connections {
            let signals = (row.fast_recoveries + row.timeouts) as f64;
            let loss = signals / row.segments as f64;
            let round_trip = row.rtt_mean_ps.unwrap() as f64 / 1e12;
            let law = 8.0 * 1448.0 / round_trip * (1.5 / loss).sqrt();
            let ratio = goodput_bps(row) as f64 / law;
            assert!((0.8..1.2).contains(&ratio), "{ratio} times the law: {row:?}");
        }
        assert!(total_goodput_bps(&recorder) > 7_000_000_000);
    }
}

#[test]
fn dctcp_keeps_the_queue_near_its_threshold() {
    let mut spec = alone(3, incast(2, CongestionKind::Dctcp));
    let threshold = 100_000;
    spec.fabric.switch.ecn = Some(EcnSpec { priorities: vec![0], ..ecn(threshold, threshold) });
    spec.observe.series_points = 2_000;
    let (summary, recorder) = run(&spec);
    let queue =
        recorder.series.iter().filter(|row| row.metric == "queue_bytes" && !row.node.starts_with("host"));
    let queue: Vec<u64> =
        queue.filter(|row| row.time_ps > 1_000_000_000 && row.value > 0).map(|row| row.value).collect();
    let mean = queue.iter().sum::<u64>() / queue.len() as u64;
    assert!((threshold / 2..threshold * 3 / 2).contains(&mean), "the mean queue is {mean} bytes");
    assert_eq!(summary.frames_lost.total(), 0);
    assert!(recorder.connections.iter().all(|row| row.ecn_ce_rx > 0));
    assert!(total_goodput_bps(&recorder) > 9_000_000_000);
}

/// By marks. Two senders of exactly the rate of a full drop-tail queue meet it in the same order again and
/// again, and one of them may be locked out (Floyd and Jacobson, "Traffic phase effects", 1991): nothing in a
/// simulated host breaks the rhythm.
#[test]
fn connections_share_a_bottleneck_fairly() {
    let mut traffic = incast(2, CongestionKind::Dctcp);
    traffic.duration_ps = Some(100_000_000_000);
    let mut spec = alone(3, traffic);
    spec.fabric.switch.ecn = Some(EcnSpec { priorities: vec![0], ..ecn(100_000, 100_000) });
    let (_, recorder) = run(&spec);
    let rates: Vec<u64> = recorder.connections.iter().map(goodput_bps).collect();
    let (least, most) = (rates[0].min(rates[1]), rates[0].max(rates[1]));
    assert!(least * 5 > most * 4, "{rates:?}");
    assert!(least + most > 9_000_000_000, "{rates:?}");
}

/// The RDMA job of a lossless priority, with TCP that overloads the same links or without.
fn shared(with_tcp: bool) -> (spec::RunSummary, Recorder) {
    let mut spec = collective(leaf_spine(4), 8, "all-to-all", "parallel", 16 << 20);
    spec.fabric.switch.pfc = Some(common::dynamic_pfc());
    spec.fabric.switch.buffer.size_bytes = 16 << 20;
    spec.fabric.switch.buffer.lossy_alpha = Some(RatioSpec { numerator: 1, denominator: 64 });
    if with_tcp {
        let mut traffic = tcp((0..8).collect::<Vec<u32>>(), "incast", None);
        (traffic.duration_ps, traffic.connections) = (None, 8);
        spec.tcp = vec![traffic];
    }
    run(&spec)
}

#[test]
fn rdma_in_a_lossless_priority_loses_nothing_beside_tcp() {
    let (summary, recorder) = shared(true);
    assert_eq!(summary.status, RunStatus::Complete);
    assert!(summary.frames_lost.buffer_full > 0, "TCP overloads its queue");
    assert!(recorder.priorities.iter().all(|row| row.dropped_frames == 0 || row.priority == 0));
    assert!(recorder.chunks.iter().all(|chunk| chunk.retransmits == 0));
    assert!(
        recorder.connections.iter().all(|row| !row.is_complete && row.acked_bytes <= row.delivered_bytes)
    );
    // Nothing repeats that could be skipped.
    assert_eq!(summary.fast_forward_ps, 0);
}

#[test]
fn a_run_goes_on_until_tcp_with_a_duration_has_ended() {
    let mut spec = alone(2, tcp([0, 1], "permutation", Some(1)));
    spec.jobs[0].repeat = RepeatSpec::Rounds { rounds: 1 };
    let (summary, recorder) = run(&spec);
    assert!(summary.end_ps >= 2_000_000_000);
    assert!(recorder.connections.iter().all(|row| row.is_complete && row.end_ps >= 2_000_000_000));
}

#[test]
fn the_two_share_a_port_packet_by_packet() {
    // The host that sends TCP sends a chunk as well, to another receiver: each gets half of its port.
    let mut spec = collective(single_switch(4), 2, "incast", "parallel", 64 << 20);
    spec.jobs[0].hosts = vec![1, 0];
    let mut traffic = tcp([2, 0], "incast", None);
    (traffic.mtu_bytes, traffic.window_bytes) = (4_096 + 62, 8_000_000);
    traffic.duration_ps = None;
    spec.tcp = vec![traffic];
    let (summary, recorder) = run(&spec);
    let (row, end) = (&recorder.connections[0], summary.end_ps);
    let rdma = (64 << 20) * 8_000_u64 / (end / 1_000_000);
    let tcp = row.acked_bytes * 8_000 / (end / 1_000_000);
    assert!(rdma.abs_diff(tcp) * 20 < rdma, "{rdma} and {tcp} kb/s of RDMA and TCP");
}

/// A closed loop of `depth` writes of three segments for 10 ms, each segment acknowledged at once.
fn closed_loop(senders: u32, depth: u32) -> (u64, Vec<ConnectionRow>) {
    let mut traffic = incast(senders, CongestionKind::Cubic);
    (traffic.write_bytes, traffic.ack_every) = (3 * 1448, 1);
    (traffic.outstanding_writes, traffic.start_spread_ps) = (Some(depth), 0);
    traffic.duration_ps = Some(10_000_000_000);
    let (summary, recorder) = run(&alone(senders + 1, traffic));
    assert_eq!(summary.status, RunStatus::Complete);
    (summary.tcp[0].writes.unwrap(), recorder.connections)
}

#[test]
fn a_closed_loop_at_depth_one_takes_a_round_trip_for_each_write() {
    let (writes, rows) = closed_loop(1, 1);
    let (row, mean) = (&rows[0], rows[0].write_mean_ps.unwrap());
    assert_eq!((row.writes, row.write_max_ps), (Some(writes), row.write_p99_ps));
    // Nothing is sent before the write is acknowledged: writes follow each other without a gap.
    let spent = row.end_ps - row.start_ps.unwrap();
    assert!(spent.abs_diff(writes * mean) <= 1_000 * writes, "{writes} writes of {mean} ps in {spent} ps");
    assert!(spent >= 10_000_000_000 && spent < 10_000_000_000 + mean + 1_000);
}

#[test]
fn closed_loops_that_fill_a_port_keep_littles_law() {
    let (writes, rows) = closed_loop(4, 16);
    // Three frames of 1,538 bytes on a link of 10 Gb/s: 3.6912 us.
    let full = 10_000_000_000 / 3_691_200;
    assert!(writes.abs_diff(full) <= full / 50 + 64, "{writes} writes, {full} at line rate");
    for row in rows {
        let sum = row.writes.unwrap() * row.write_mean_ps.unwrap();
        let (least, most) = (16 * 10_000_000_000, 16 * (row.end_ps - row.start_ps.unwrap()));
        assert!((least - 1_000 * row.writes.unwrap()..=most).contains(&sum), "{least}, {sum}, {most}");
    }
}

#[test]
fn a_rate_and_a_closed_loop_exclude_each_other() {
    let mut traffic = tcp((0..2).collect::<Vec<u32>>(), "incast", Some(1));
    traffic.outstanding_writes = Some(1);
    let refused = fabricbench_sim::check(&alone(2, traffic)).unwrap_err();
    assert!(refused.to_string().contains("outstanding_writes"), "{refused}");
}
