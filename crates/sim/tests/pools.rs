//! Buffers divided into pools, in whole runs.

use crate::common::{
    self, Recorder, any_residence, collective, dynamic_pfc, leaf_spine, pattern_of, reside, run, run_with,
    single_switch, supported, tables,
};
use fabricbench_sim::Path;
use proptest::prelude::*;
use spec::{
    ChipSpec, EgressPoolSpec, IngressPoolSpec, PoolPauseSpec, PoolXoffSpec, PoolsSpec, ProfileSpec,
    RatioSpec, ReleaseSpec, RunSpec, RunStatus, XoffSpec,
};

/// One pool of all groups, of that size, and none of queues.
fn one_pool(size_bytes: u64) -> PoolsSpec {
    let ingress = IngressPoolSpec {
        name: "all".into(),
        priorities: (0..8).collect(),
        size_bytes,
        headroom_bytes: None,
        headroom_in_size: false,
        xoff: None,
        reserved_bytes: 0,
        limit: None,
        profiles: Vec::new(),
    };
    PoolsSpec { ingress: vec![ingress], egress: Vec::new() }
}

fn egress(priorities: &[u8], size_bytes: u64, limit: Option<XoffSpec>) -> EgressPoolSpec {
    let priorities = priorities.to_vec();
    let profiles = Vec::new();
    EgressPoolSpec { name: "queues".into(), priorities, size_bytes, reserved_bytes: 0, limit, profiles }
}

/// Gather over two leaves, or what else is asked for, lossless in a buffer that is small.
fn lossless(pattern: (&str, &str), data_bytes: u64) -> RunSpec {
    let ranks = supported(pattern, 8);
    let mut spec = collective(leaf_spine(4), ranks, pattern.0, pattern.1, data_bytes);
    spec.fabric.switch.pfc = Some(dynamic_pfc());
    spec.fabric.switch.buffer.size_bytes = 8 << 20;
    spec
}

/// What a run measured, whatever way the engine went.
fn facts(spec: &RunSpec, threads: usize, path: Path) -> (RunStatus, u64, u64, String) {
    let (summary, recorder) = run_with(spec, threads, path);
    (summary.status, summary.end_ps, summary.frames_lost.total(), tables(&recorder))
}

fn pauses_at(recorder: &Recorder, tier: u32) -> Vec<u64> {
    let ports = recorder.ports.iter().filter(|port| port.tier == tier);
    ports.map(|port| port.pfc_rx.unwrap_or(0)).collect()
}

#[test]
fn a_pool_of_a_switch_alone_gives_the_same_rows_as_its_undivided_buffer() {
    let mut spec = collective(single_switch(6), 6, "all-to-all", "parallel", 12 << 20);
    pattern_of(&mut spec.jobs[0]).collective = "gather".into();
    let mut pfc = dynamic_pfc();
    pfc.headroom_bytes = Some(80_000);
    spec.fabric.switch.pfc = Some(pfc);
    spec.fabric.switch.buffer.size_bytes = 4 << 20;
    for release in [ReleaseSpec::Start {}, ReleaseSpec::End {}, ReleaseSpec::Cells { bytes: 256 }] {
        spec.fabric.switch.buffer.release = release;
        spec.fabric.switch.buffer.pools = None;
        let undivided = facts(&spec, 1, Path::Auto);
        spec.fabric.switch.buffer.pools = Some(one_pool((4 << 20) - 6 * 80_000));
        assert_eq!(facts(&spec, 1, Path::Auto), undivided);
    }
}

#[test]
fn headroom_in_the_size_of_a_pool_is_that_much_less_beside_it() {
    let mut spec = lossless(("gather", "parallel"), 8 << 20);
    spec.fabric.topology = single_switch(8);
    spec.fabric.switch.pfc.as_mut().expect("lossless").headroom_bytes = Some(80_000);
    for shared in [None, Some(300_000)] {
        let headroom = shared.unwrap_or(8 * 80_000);
        let mut beside = one_pool((2 << 20) - headroom);
        beside.ingress[0].headroom_bytes = shared;
        spec.fabric.switch.buffer.pools = Some(beside);
        let expected = facts(&spec, 1, Path::Auto);
        let mut within = one_pool(2 << 20);
        within.ingress[0].headroom_bytes = shared;
        within.ingress[0].headroom_in_size = true;
        spec.fabric.switch.buffer.pools = Some(within);
        assert_eq!(facts(&spec, 1, Path::Auto), expected);
    }
}

#[test]
fn a_profile_of_some_priorities_goes_before_what_the_pool_says() {
    let mut spec = collective(single_switch(4), 4, "incast", "parallel", 1 << 20);
    spec.transport.timeout_ps = 100_000_000;
    let limit = Some(XoffSpec::Static { bytes: 200_000 });
    let mut with = |pool: EgressPoolSpec| {
        spec.fabric.switch.buffer.pools = Some(PoolsSpec { egress: vec![pool], ..PoolsSpec::default() });
        facts(&spec, 1, Path::Auto)
    };
    let of_pool = with(egress(&[3], 1 << 20, limit));
    let profile =
        |priorities: &[u8], limit| ProfileSpec { priorities: priorities.to_vec(), reserved_bytes: 0, limit };
    let mut own = egress(&[3], 1 << 20, Some(XoffSpec::Static { bytes: 10 }));
    own.profiles = vec![profile(&[3], limit)];
    assert!(of_pool.2 > 0, "the limit drops");
    assert_eq!(with(own), of_pool);
    let mut others = egress(&[2, 3], 1 << 20, limit);
    others.profiles = vec![profile(&[2], Some(XoffSpec::Static { bytes: 10 }))];
    assert_eq!(with(others), of_pool, "nothing is sent in the other priority");
}

#[test]
fn a_threshold_of_the_pool_pauses_every_host() {
    let mut spec = lossless(("gather", "parallel"), 32 << 20);
    let mut pools = one_pool(6 << 20);
    let pauses = PoolPauseSpec::HostPorts;
    pools.ingress[0].xoff = Some(PoolXoffSpec { bytes: Some(1 << 20), offset_bytes: 100_000, pauses });
    spec.fabric.switch.buffer.pools = Some(pools);
    let switches = ["leaf0", "leaf1", "spine0", "spine1", "spine2", "spine3"].map(str::to_owned).to_vec();
    spec.fabric.chips = vec![ChipSpec { name: "chip".into(), switches }];
    spec.fabric.switch.pfc.as_mut().expect("lossless").xoff = XoffSpec::Static { bytes: 6 << 20 };
    let (summary, recorder) = run(&spec);
    assert_eq!((summary.status, summary.frames_lost.total()), (RunStatus::Complete, 0));
    let at_hosts = pauses_at(&recorder, 0);
    // Those that send wait for their headroom to drain, too, and are told so again; the root only receives.
    let [least, most] =
        [at_hosts.iter().min(), at_hosts.iter().max()].map(|pauses| pauses.copied().unwrap_or(0));
    assert!(least > 10 && most < 2 * least, "{at_hosts:?}");
}

#[test]
fn an_egress_limit_drops_what_no_ingress_would() {
    let mut spec = collective(single_switch(4), 4, "incast", "parallel", 1 << 20);
    spec.transport.timeout_ps = 100_000_000;
    assert_eq!(run(&spec).0.frames_lost.total(), 0);
    let limit = Some(XoffSpec::Static { bytes: 200_000 });
    spec.fabric.switch.buffer.pools =
        Some(PoolsSpec { egress: vec![egress(&[3], 1 << 20, limit)], ..PoolsSpec::default() });
    let (summary, recorder) = run(&spec);
    assert!(summary.frames_lost.buffer_full > 0);
    assert_eq!(summary.status, RunStatus::Complete);
    let deepest = recorder.ports.iter().map(|port| port.queue_max_bytes).max();
    assert!(deepest <= Some(201_000), "{deepest:?}, the acknowledgements among it");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    /// The headroom needed is a closed form of rate, cable and response; with it nothing is lost, however
    /// pools are cut and whoever asks for the pauses.
    #[test]
    fn pools_with_the_computed_headroom_lose_nothing(
        pattern in prop::sample::select(vec![("all-to-all", "parallel"), ("gather", "parallel"), ("all-reduce", "ring")]),
        (data_kib, pool_kib, reserved_bytes) in (2_048_u64..12_288, 500_u64..3_000, 0_u64..20_000),
        limit in prop_oneof![
            (50_000_u64..3_000_000).prop_map(|bytes| XoffSpec::Static { bytes }),
            (1_u32..9, 1_u32..9).prop_map(|(numerator, denominator)| XoffSpec::Dynamic { alpha: RatioSpec { numerator, denominator } }),
        ],
        xoff in prop::option::of((2_u64..10, 0_u64..400_000, any::<bool>())),
        (is_chip, cell_bytes) in (any::<bool>(), prop::sample::select(vec![1_u64, 208, 254])),
        threads in 1..3_usize,
        residence in any_residence(),
    ) {
        let mut spec = lossless(pattern, data_kib * 1_024 / 48 * 48);
        let mut pfc = dynamic_pfc();
        (pfc.xoff, pfc.reserved_bytes) = (limit, reserved_bytes);
        spec.fabric.switch.pfc = Some(pfc);
        spec.fabric.switch.buffer.cell_bytes = cell_bytes;
        // Acknowledgements are lossy: a pool that is full would drop them.
        let mut pools = one_pool(pool_kib << 10);
        pools.ingress[0].priorities = vec![3];
        pools.ingress[0].xoff = xoff.map(|(tenths, offset_bytes, hosts)| {
            let bytes = ((pool_kib << 10) - 500_000) * tenths / 10 + 1;
            let pauses = if hosts { PoolPauseSpec::HostPorts } else { PoolPauseSpec::Holders };
            PoolXoffSpec { bytes: (tenths < 9).then_some(bytes), offset_bytes: offset_bytes.min(bytes), pauses }
        });
        spec.fabric.switch.buffer.pools = Some(pools);
        if is_chip {
            let switches = ["leaf0", "spine0", "leaf1", "spine2"].map(str::to_owned).to_vec();
            spec.fabric.chips = vec![ChipSpec { name: "chip".into(), switches }];
        }
        reside(&mut spec, residence);
        prop_assume!(fabricbench_sim::check(&spec).is_ok());
        let found = facts(&spec, 1, Path::Auto);
        prop_assert_eq!(found.2, 0);
        prop_assert_eq!(&facts(&spec, threads, Path::Exact), &found);
    }
}

fn refusal(change: impl FnOnce(&mut RunSpec, &mut PoolsSpec)) -> String {
    let mut spec = lossless(("gather", "parallel"), 16 << 20);
    let mut pools = one_pool(4 << 20);
    change(&mut spec, &mut pools);
    spec.fabric.switch.buffer.pools = Some(pools);
    fabricbench_sim::check(&spec).expect_err("it cannot be carried out").to_string()
}

#[test]
fn what_does_not_fit_is_refused_by_its_field() {
    let of = "fabric.switch.buffer.pools";
    let text = refusal(|_, pools| pools.ingress[0].size_bytes = 8 << 20);
    assert!(text.starts_with(&format!("{of}.ingress[0].size_bytes: 9015776 bytes of pools")), "{text}");
    assert!(text.ends_with("allowed: at most the buffer of 8388608 bytes"), "{text}");
    let text = refusal(|_, pools| pools.ingress[0].size_bytes = 70_000);
    assert!(text.contains("72000 bytes of reserves for the 8 ports of leaf0"), "{text}");
    let text = refusal(|_, pools| pools.ingress[0].headroom_bytes = Some(1_000));
    assert!(text.starts_with(&format!("{of}.ingress[0].headroom_bytes: 1000 bytes; allowed: ")), "{text}");
    let text = refusal(|_, pools| pools.egress.push(egress(&[3], 9 << 20, None)));
    assert!(
        text.starts_with(&format!("{of}.egress[0].size_bytes: 9437184 bytes; allowed: at most")),
        "{text}"
    );
    let text = refusal(|_, pools| pools.ingress[0].priorities = vec![0, 1]);
    assert!(text.starts_with(&format!("{of}.ingress: no pool with priority 3")), "{text}");
    let text = refusal(|_, pools| pools.ingress[0].priorities.push(3));
    assert!(text.starts_with(&format!("{of}.ingress[0].priorities: priority 3 again")), "{text}");
    let xoff = PoolXoffSpec { bytes: Some(4 << 20), offset_bytes: 0, pauses: PoolPauseSpec::Holders };
    let text = refusal(|_, pools| pools.ingress[0].xoff = Some(xoff));
    assert!(text.contains("which the pool has beyond its reserves"), "{text}");
    let text = refusal(|spec, pools| {
        spec.fabric.switch.pfc = None;
        pools.ingress[0].xoff = Some(xoff);
    });
    assert!(text.starts_with(&format!("{of}.ingress[0].xoff: a threshold of pauses without")), "{text}");
    let text = refusal(|spec, _| spec.fabric.switch.scheduled = Some(common::scheduled()));
    assert!(text.starts_with(&format!("{of}: pools with scheduled switches; allowed: none")), "{text}");
}
