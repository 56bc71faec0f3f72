//! Congestion control and hashing against published theory.

use crate::common::{self, collective, ecn, run};
use record::{ChunkRow, SeriesRow};
use spec::{
    CableSpec, DcqcnConfig, LinkSpec, RateControlSpec, RunSpec, SingleSwitch, SwiftConfig, TimelyConfig,
    TopologySpec,
};

/// DCQCN with the parameters of the paper, as they are.
fn paper() -> RateControlSpec {
    RateControlSpec::Dcqcn(DcqcnConfig {
        additive_increase_bps: 40_000_000,
        hyper_increase_bps: 400_000_000,
        rate_min_bps: 40_000_000,
        ..common::DCQCN
    })
}

/// `flows` long flows into one port of 40 Gb/s.
fn long_flows(flows: u32, bytes: u64) -> RunSpec {
    let link = LinkSpec { rate_bps: 40_000_000_000, cable: CableSpec { delay_ps: 15_000 } };
    let topology = TopologySpec::SingleSwitch(SingleSwitch { hosts: flows + 1, host_link: link });
    let mut spec = collective(topology, flows + 1, "incast", "parallel", bytes);
    spec.transport.mtu_bytes = 1024;
    spec.transport.rate_control = paper();
    spec.fabric.switch.ecn = Some(spec::EcnSpec { pmax_ppm: 50_000, ..ecn(40_000, 840_000) });
    spec.observe.series_points = 4_000;
    spec.observe.series_interval_ps = 20_000_000;
    spec
}

/// Where the fixed-point analysis of DCQCN puts the queue (Zhu, Ghobadi, Misra, Padhye, "ECN or Delay",
/// CoNEXT 2016, equations 10 and 11): p = cbrt(R_AI N^2 / (tau' C^2) (1/B + N/(T C))^2), queue = Kmin +
/// p/Pmax (Kmax - Kmin).
#[expect(clippy::float_arithmetic, reason = "a formula from the literature")]
fn fixed_point_queue_bytes(flows: u32) -> f64 {
    let packet_bits = 1106.0 * 8.0;
    let (capacity, increase) = (40e9 / packet_bits, 40e6 / packet_bits);
    let (byte_counter, timer, alpha_timer) = (10.0 * 1024.0 * 1024.0 / 1106.0, 55e-6, 55e-6);
    let flows = f64::from(flows);
    let rounds = 1.0 / byte_counter + flows / (timer * capacity);
    let probability =
        (increase * flows * flows / (alpha_timer * capacity * capacity) * rounds * rounds).cbrt();
    40_000.0 + probability / 0.05 * 800_000.0
}

/// Queue of the bottleneck at each sample between a quarter and seven eighths of the run [bytes].
fn settled_queue(series: &[SeriesRow]) -> Vec<u64> {
    let is_bottleneck =
        |row: &&SeriesRow| row.metric == "queue_bytes" && &*row.node == "leaf0" && row.port == 0;
    let queue: Vec<u64> = series.iter().filter(is_bottleneck).map(|row| row.value).collect();
    queue[queue.len() / 4..queue.len() * 7 / 8].to_vec()
}

/// The mean of it.
fn settled_queue_bytes(series: &[SeriesRow]) -> u64 {
    let settled = settled_queue(series);
    settled.iter().sum::<u64>() / settled.len() as u64
}

/// Jain's index of the flows' rates, in thousandths.
fn jain_thousandths(chunks: &[ChunkRow]) -> u128 {
    let rate = |chunk: &ChunkRow| {
        Some(u128::from(chunk.payload_bytes) * 1_000_000_000 / u128::from(chunk.completed_ps?))
    };
    let rates: Vec<u128> = chunks.iter().filter_map(rate).collect();
    let (sum, squares) =
        rates.iter().fold((0, 0), |(sum, squares), rate| (sum + rate, squares + rate * rate));
    sum * sum * 1_000 / (squares * rates.len() as u128)
}

#[test]
fn dcqcn_settles_at_its_fixed_point_and_is_fair() {
    // Kmax is far above the fixed point: the analysis knows no jump to marking everything.
    for flows in [2, 4, 6, 8, 10] {
        let (_, recorder) = run(&long_flows(flows, 1_000_000_000 / u64::from(flows) / 1024 * 1024));
        let (queue, theory) = (settled_queue_bytes(&recorder.series), fixed_point_queue_bytes(flows));
        let deviation = queue as f64 / theory - 1.0;
        assert!(deviation.abs() < 0.15, "{flows} flows: {queue} bytes, theory {theory:.0}");
        assert!(jain_thousandths(&recorder.chunks) >= 990, "{flows} flows");
    }
}

/// Rates of marks and CNPs at which the cycle of DCQCN from one CNP to the next balances, one flow of many
/// [1/s]: docs/closed-forms.md, "DCQCN". Marks are a Poisson process; no mark in one increase timer has
/// probability q.
#[expect(clippy::float_arithmetic, reason = "a formula")]
fn balanced_marks_and_cnps(flows: u32) -> (f64, f64) {
    let packet_bits = 1106.0 * 8.0;
    let (rate, increase) = (40e9 / packet_bits / f64::from(flows), 40e6 / packet_bits);
    let (cnp_interval, timer, rounds) = (50e-6, 55e-6, 5.0);
    let surplus = |marks: f64| {
        let (wait, q) = ((marks * cnp_interval).exp(), (-marks * timer).exp());
        // The alpha timer equals the increase timer.
        let alpha = 1.0 / (1.0 + wait * q / (1.0 - q));
        let halved = (q / 2.0) / (1.0 - q / 2.0);
        let lost = alpha / 2.0 * rate * (1.0 - wait * halved);
        lost - increase * wait * q.powf(rounds) * (q / (1.0 - q) - halved)
    };
    let (mut low, mut high) = (1.0, rate);
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        *(if surplus(middle) > 0.0 { &mut high } else { &mut low }) = middle;
    }
    (low, low / (1.0 + low * cnp_interval))
}

/// Marks and CNPs of a run of `bytes` in all, and when it ends [s].
#[expect(clippy::float_arithmetic, reason = "seconds")]
fn marks_and_cnps(flows: u32, bytes: u64) -> (u64, u64, f64) {
    let mut spec = long_flows(flows, bytes / u64::from(flows) / 1024 * 1024);
    spec.observe.series_points = 0;
    let (_, recorder) = run(&spec);
    let marks = recorder.ports.iter().map(|port| port.ecn_marked).sum();
    let cnps = recorder.chunks.iter().map(|chunk| chunk.cnp_tx).sum();
    let end_ps = recorder.chunks.iter().filter_map(|chunk| chunk.completed_ps).max().unwrap_or_default();
    (marks, cnps, end_ps as f64 / 1e12)
}

#[test]
fn dcqcn_marks_and_notifies_as_its_cycle_balances() {
    for flows in [4, 6, 8, 10] {
        // The difference of two runs leaves the start out.
        let [short, long] = [300_000_000, 1_200_000_000].map(|bytes| marks_and_cnps(flows, bytes));
        let of_a_flow = |count: u64| count as f64 / (long.2 - short.2) / f64::from(flows);
        let (marks, cnps) = (of_a_flow(long.0 - short.0), of_a_flow(long.1 - short.1));
        let (balanced_marks, balanced_cnps) = balanced_marks_and_cnps(flows);
        let deviation = cnps / balanced_cnps - 1.0;
        assert!(deviation.abs() < 0.06, "{flows} flows: {cnps:.0} CNPs/s, balance {balanced_cnps:.0}");
        // The queue varies, so that marks come in clusters, of which one CNP results.
        let excess = marks / balanced_marks - 1.0;
        assert!(
            (0.0..0.15).contains(&excess),
            "{flows} flows: {marks:.0} marks/s, balance {balanced_marks:.0}"
        );
    }
}

/// Two windows' worth of time for a frame and its acknowledgement on an empty switch, within which nothing
/// can queue.
const IDLE_RTT_NS: u64 = 1_500;

/// Bytes that a port of 40 Gb/s sends in so many nanoseconds.
const fn sent_in(ns: u64) -> u64 {
    ns * 5
}

/// Swift with that target, the same on all paths and for all windows, and that largest window.
fn swift(base_target_us: u64, window_max_2e20: u64) -> RateControlSpec {
    RateControlSpec::Swift(SwiftConfig {
        base_target_ps: base_target_us * 1_000_000,
        hop_target_ps: 0,
        scaling_range_ps: 0,
        scaling_window_min_2e20: (1 << 20) / 10,
        scaling_window_max_2e20: 100 << 20,
        additive_increase_2e20: 1 << 20,
        beta_ppm: 800_000,
        decrease_max_ppm: 500_000,
        window_min_2e20: 1 << 13,
        window_max_2e20,
        reset_timeouts: 5,
    })
}

/// When the last flow ends, in parts of a thousand of the time that the port needs for its payload at the
/// least.
fn time_thousandths(spec: &RunSpec, chunks: &[ChunkRow]) -> u64 {
    let last = chunks.iter().filter_map(|chunk| chunk.completed_ps).max().unwrap_or_default();
    let payload: u64 = chunks.iter().map(|chunk| chunk.payload_bytes).sum();
    let wire = payload / 1024 * (1024 + 62 + 20);
    assert_eq!(spec.transport.mtu_bytes, 1024);
    last * 1_000 / (wire * 200)
}

#[test]
fn swift_holds_the_delay_at_its_target_and_the_link_full() {
    // The paper, section 5: fabric delay stays at its target while the link is close to 100 % busy.
    for (flows, target_us) in [(2, 20), (4, 30), (8, 20), (8, 50), (16, 30)] {
        let mut spec = long_flows(flows, 400_000_000 / u64::from(flows) / 1024 * 1024);
        (spec.fabric.switch.ecn, spec.transport.rate_control) = (None, swift(target_us, 1 << 30));
        let (_, recorder) = run(&spec);
        let (queue, target) =
            (settled_queue_bytes(&recorder.series), sent_in(target_us * 1_000 - IDLE_RTT_NS));
        assert!((target * 85 / 100..=target).contains(&queue), "{flows} flows: {queue} of {target} bytes");
        assert!(jain_thousandths(&recorder.chunks) >= 990, "{flows} flows");
        assert!(time_thousandths(&spec, &recorder.chunks) <= 1_005, "{flows} flows");
    }
}

#[test]
fn swift_paces_an_incast_that_has_no_room_for_a_packet_each() {
    // 20 us hold 90 packets, of 500 flows: the paper, section 3.1, paces windows below one packet.
    let mut spec = long_flows(500, 1 << 20);
    (spec.fabric.switch.ecn, spec.transport.rate_control) = (None, swift(20, 2 << 20));
    let (_, recorder) = run(&spec);
    let (queue, target) = (settled_queue_bytes(&recorder.series), sent_in(20_000 - IDLE_RTT_NS));
    assert!((target * 3 / 4..=target * 4 / 3).contains(&queue), "{queue} of {target} bytes");
    assert!(jain_thousandths(&recorder.chunks) >= 940);
    assert!(time_thousandths(&spec, &recorder.chunks) <= 1_010);
}

#[test]
fn timely_turns_the_queue_round_at_its_lower_threshold() {
    for flows in [2, 8, 16] {
        let mut spec = long_flows(flows, 800_000_000 / u64::from(flows) / 1024 * 1024);
        spec.fabric.switch.ecn = None;
        spec.transport.rate_control = RateControlSpec::Timely(TimelyConfig {
            alpha_ppm: 875_000,
            beta_ppm: 800_000,
            decrease_max_ppm: 500_000,
            rtt_low_ps: 50_000_000,
            rtt_high_ps: 500_000_000,
            rtt_min_ps: 20_000_000,
            additive_increase_bps: 40_000_000,
            segment_bytes: 16_384,
            rate_min_bps: 10_000_000,
        });
        let (_, recorder) = run(&spec);
        // Below it rates only rise, and beyond it they fall with the gradient, long before the upper
        // threshold.
        let most = *settled_queue(&recorder.series).iter().max().unwrap_or(&0);
        assert!((sent_in(45_000)..=sent_in(100_000)).contains(&most), "{flows} flows: {most} bytes");
        assert!(jain_thousandths(&recorder.chunks) >= 930, "{flows} flows");
        // It oscillates: Zhu et al., "ECN or Delay", CoNEXT 2016.
        assert!(time_thousandths(&spec, &recorder.chunks) <= 1_400, "{flows} flows");
    }
}

#[test]
fn a_decrease_of_timely_is_limited_so_that_starting_at_line_rate_costs_little() {
    // 8 MB from each of two senders of 400 Gb/s: rates fall when the queue of both has grown for an RTT.
    let time = |decrease_max_ppm| {
        let link = LinkSpec { rate_bps: 400_000_000_000, cable: CableSpec { delay_ps: 15_000 } };
        let topology = TopologySpec::SingleSwitch(SingleSwitch { hosts: 3, host_link: link });
        let mut spec = collective(topology, 3, "incast", "parallel", 64 << 20);
        spec.transport.rate_control = RateControlSpec::Timely(TimelyConfig {
            alpha_ppm: 875_000,
            beta_ppm: 800_000,
            decrease_max_ppm,
            rtt_low_ps: 50_000_000,
            rtt_high_ps: 500_000_000,
            rtt_min_ps: 20_000_000,
            additive_increase_bps: 400_000_000,
            segment_bytes: 16_384,
            rate_min_bps: 100_000_000,
        });
        let (_, recorder) = run(&spec);
        recorder.chunks.iter().filter_map(|chunk| chunk.completed_ps).max().unwrap_or_default()
    };
    // Two times 64 MB take 2.7 ms. Without the limit both senders fall to the smallest rate, from which a
    // segment alone takes 1.3 ms.
    let (limited, unlimited) = (time(500_000), time(1_000_000));
    assert!(limited < 3_400_000_000, "{limited}");
    assert!(unlimited > limited + 1_000_000_000, "{unlimited}");
}

#[test]
fn ecmp_collides_like_balls_in_bins() {
    // 16 queue pairs of a leaf on 4 uplinks: C(16, 2) / 4 = 30 pairs share one, with a variance of 22.5.
    let mut spec = collective(common::leaf_spine(4), 8, "all-to-all", "parallel", 8 * 4096);
    let mut pairs = 0;
    let seeds = 400;
    for seed in 0..seeds {
        spec.seed = seed;
        let (_, recorder) = run(&spec);
        let uplinks = recorder.ports.iter().filter(|port| port.node == "leaf0" && port.port >= 4);
        pairs += uplinks
            .map(|port| u64::from(port.egress_qps) * u64::from(port.egress_qps.max(1) - 1) / 2)
            .sum::<u64>();
    }
    // Four standard deviations of the mean.
    assert!((pairs * 100).abs_diff(seeds * 3_000) < seeds * 95, "{pairs} over {seeds} seeds");
}
