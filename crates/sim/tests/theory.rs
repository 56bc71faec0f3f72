//! Congestion control and hashing against published theory.

mod common;

use common::{collective, ecn, run};
use spec::{CableSpec, ChunkRow, LinkSpec, RateControl, RunSpec, SeriesRow, TopologySpec};

/// DCQCN with the parameters of the paper, as they are.
fn paper() -> RateControl {
    match common::dcqcn() {
        RateControl::Dcqcn {
            g_2e20,
            alpha_timer_ps,
            rate_cut_period_ps,
            increase_timer_ps,
            byte_counter_bytes,
            fast_recovery_rounds,
            clamp_target_rate,
            cnp_interval_ps,
            ..
        } => RateControl::Dcqcn {
            g_2e20,
            alpha_timer_ps,
            rate_cut_period_ps,
            increase_timer_ps,
            byte_counter_bytes,
            fast_recovery_rounds,
            additive_increase_bps: 40_000_000,
            hyper_increase_bps: 400_000_000,
            rate_min_bps: 40_000_000,
            clamp_target_rate,
            cnp_interval_ps,
        },
        other @ RateControl::LineRate {} => other,
    }
}

/// `flows` long flows into one port of 40 Gb/s.
fn long_flows(flows: u32, bytes: u64) -> RunSpec {
    let link = LinkSpec { rate_bps: 40_000_000_000, cable: CableSpec { delay_ps: 15_000 } };
    let topology = TopologySpec::SingleSwitch { hosts: flows + 1, host_link: link };
    let mut spec = collective(topology, flows + 1, "incast", "parallel", bytes);
    spec.transport.mtu_bytes = 1024;
    spec.transport.rate_control = paper();
    spec.fabric.switch.ecn = Some(spec::EcnSpec { pmax_ppm: 50_000, ..ecn(40_000, 840_000) });
    spec.observe.series_points = 4_000;
    spec.observe.series_interval_ps = 20_000_000;
    spec
}

/// Where the fixed-point analysis of DCQCN puts the queue (Zhu, Ghobadi, Misra, Padhye, "ECN or Delay", CoNEXT 2016,
/// equations 10 and 11): p = cbrt(R_AI N^2 / (tau' C^2) (1/B + N/(T C))^2), queue = Kmin + p/Pmax (Kmax - Kmin).
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

/// Mean queue of the bottleneck between a quarter and seven eighths of the run.
fn settled_queue_bytes(series: &[SeriesRow]) -> u64 {
    let queue: Vec<u64> = series
        .iter()
        .filter(|row| row.metric == "queue_bytes" && &*row.node == "leaf0" && row.port == 0)
        .map(|row| row.value)
        .collect();
    let settled = &queue[queue.len() / 4..queue.len() * 7 / 8];
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
