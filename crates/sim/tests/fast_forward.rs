//! Skipping what repeats changes no table, nor do sides of the fabric that take turns.

use crate::common::{self, collective, leaf_spine, run, run_in_full, run_with, tables};
use fabricbench_sim::Path;
use proptest::prelude::*;
use spec::{
    EcmpHash, ImpairmentSpec, LoadBalancing, LossRecovery, NicDirection, PfcSpec, QpMode, RunSpec, XoffSpec,
};

/// Runs `spec` both ways; returns the share of time that was skipped [%].
fn skipped_percent(spec: &RunSpec) -> u64 {
    let (summary, recorder) = run(spec);
    let (full_summary, full) = run_in_full(spec);
    assert!(tables(&recorder) == tables(&full), "tables differ");
    assert_eq!(recorder.told, full.told);
    assert_eq!(summary.jobs, full_summary.jobs);
    assert_eq!(summary.packet_hops, full_summary.packet_hops);
    assert_eq!((summary.end_ps, full_summary.fast_forward_ps), (full_summary.end_ps, 0));
    // On the exact path the fabric goes window by window; fast-forward needs one thread.
    for path in [Path::Auto, Path::Exact] {
        let (other_summary, other) = run_with(spec, 2, path);
        assert!(tables(&other) == tables(&full), "tables differ with two threads, {path:?}");
        assert_eq!(
            (other_summary.jobs, other_summary.end_ps),
            (full_summary.jobs.clone(), full_summary.end_ps)
        );
    }
    summary.fast_forward_ps * 100 / summary.end_ps
}

/// With so many samples at the most.
fn sampled(mut spec: RunSpec, points: u32) -> RunSpec {
    spec.observe.series_points = points;
    spec
}

#[test]
fn most_of_a_ring_is_skipped() {
    for points in [0, 20, 1_000] {
        let ring = collective(leaf_spine(4), 8, "all-reduce", "ring", 8 * 16_000_000);
        let skipped = skipped_percent(&sampled(ring, points));
        assert!(skipped >= 80, "{skipped} of {points} points");
    }
}

#[test]
fn most_of_an_all_to_all_is_skipped() {
    for points in [0, 20, 1_000] {
        let spec = collective(leaf_spine(4), 8, "all-to-all", "parallel", 8 * 32_000_000);
        let skipped = skipped_percent(&sampled(spec, points));
        assert!(skipped >= 60, "{skipped} of {points} points");
    }
}

#[test]
fn each_switch_is_visited_for_two_windows_at_once() {
    for (points, at_most_percent) in [(0, 52), (20, 53), (1_000, 75)] {
        let spec = sampled(collective(leaf_spine(4), 8, "all-to-all", "parallel", 8 * 8_000_000), points);
        let visits = |threads, path| {
            let (summary, _) = run_with(&spec, threads, path);
            summary.fast_windows + summary.exact_windows
        };
        let (in_turns, whole) = (visits(2, Path::Auto), visits(2, Path::Exact));
        assert!(in_turns * 100 <= whole * at_most_percent, "{in_turns} of {whole} with {points} points");
    }
}

/// Half of them choose for each packet, or for some: there nothing is skipped, but sides take turns.
fn balancings() -> Vec<LoadBalancing> {
    vec![
        LoadBalancing::Ecmp { hash: EcmpHash::Crc, include_qp: true },
        LoadBalancing::Ecmp { hash: EcmpHash::Toeplitz, include_qp: false },
        LoadBalancing::Weighted { weights: vec![2, 1] },
        LoadBalancing::SprayRoundRobin {},
        LoadBalancing::SprayRandom {},
        LoadBalancing::Flowlet { gap_ps: 300_000 },
    ]
}

prop_compose! {
    fn any_bulk()(
        pattern in prop::sample::select(vec![
            ("all-reduce", "ring"), ("all-to-all", "parallel"), ("send-receive", "parallel"), ("incast", "parallel"),
            ("permutation", "parallel"), ("all-gather", "ring"),
        ]),
        ranks in 2_u32..7,
        messages in 8_u64..60,
        message_packets in 1_u64..40,
        uneven in 0_u64..5000,
        recovery in prop::sample::select(vec![LossRecovery::GoBackN, LossRecovery::Selective, LossRecovery::None]),
        xoff_bytes in prop::option::of(30_000_u64..2_000_000),
        qp_mode in prop::sample::select(vec![QpMode::PerPair, QpMode::PerChunk]),
        balancing in prop::sample::select(balancings()),
        shares_hosts in any::<bool>(),
        slow_host in prop::option::of((0_u32..6, 300_000_u32..1_000_000)),
        dcqcn in any::<bool>(),
        ecn_interval_us in prop::option::of(1_u64..40),
        ack_every in 1_u32..5,
        timeout_us in prop::sample::select(vec![50_u64, 4_000]),
        seed in 0_u64..1_000,
        failure in prop::option::weighted(0.3, common::any_failure(2_000)),
        points in prop::sample::select(vec![0_u32, 3, 20, 400]),
        interval_ns in prop::sample::select(vec![0_u64, 200, 1_000, 10_000]),
        residence in common::any_residence(),
    ) -> RunSpec {
        let ranks = ranks & !1;
        let ranks = ranks.max(2);
        let bytes = messages * message_packets * 4096 + uneven;
        let mut spec = collective(leaf_spine(3), ranks, pattern.0, pattern.1, bytes * u64::from(ranks));
        spec.seed = seed;
        spec.transport.message_bytes = message_packets * 4096;
        spec.transport.recovery = recovery;
        spec.transport.qp_mode = qp_mode;
        spec.transport.ack_every = ack_every;
        spec.transport.timeout_ps = timeout_us * 1_000_000;
        spec.fabric.switch.pfc = xoff_bytes.map(|bytes| PfcSpec { xoff: XoffSpec::Static { bytes }, ..common::dynamic_pfc() });
        common::reside(&mut spec, residence);
        spec.fabric.load_balancing = balancing;
        if shares_hosts {
            // Two ranks each, of which one pair is on one leaf and others are on both.
            spec.jobs[0].hosts.iter_mut().for_each(|host| *host = *host * 2 % ranks);
        }
        if seed % 5 < 2 {
            let twin = spec::JobSpec { name: "twin".into(), stream: 1, ..spec.jobs[0].clone() };
            spec.jobs.push(twin);
        }
        if let Some((host, throughput_ppm)) = slow_host.filter(|(host, _)| *host < ranks) {
            spec.fabric.nic.impairments.push(ImpairmentSpec { host, throughput_ppm, direction: NicDirection::Both });
        }
        if dcqcn {
            spec.transport.rate_control = common::dcqcn();
            spec.fabric.switch.ecn = Some(match ecn_interval_us {
                Some(interval_us) => common::dynamic_ecn(100_000, 400_000, interval_us),
                None => common::ecn(100_000, 400_000),
            });
            if seed % 3 == 1 {
                common::colour(&mut spec);
            }
        }
        if seed % 2 == 0 && recovery != LossRecovery::Selective {
            spec.fabric.nic.messages = Some(common::message_costs());
        }
        if let Some(draw) = failure {
            common::fail(&mut spec, draw);
        }
        spec.observe.series_interval_ps = interval_ns * 1_000;
        sampled(spec, points)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bulk_transfer_is_changed(spec in any_bulk()) {
        skipped_percent(&spec);
    }
}
