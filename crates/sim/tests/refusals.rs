//! Specs that cannot be carried out: each is refused with the field, what was found and what is allowed.

use crate::common::{self, collective, dynamic_pfc, ecn, leaf_spine, pattern_of, set_pattern};
use spec::{
    LoadBalancing, PfcSpec, PinSpec, RatioSpec, RunSpec, SchedulingSpec, StormActionSpec, WatchdogSpec,
    XoffSpec,
};

fn refusal(change: impl FnOnce(&mut RunSpec)) -> String {
    let mut spec = collective(leaf_spine(4), 8, "all-to-all", "parallel", 1 << 20);
    fabricbench_sim::check(&spec).expect("it can be carried out as it is");
    change(&mut spec);
    fabricbench_sim::check(&spec).expect_err("it cannot be carried out any more").to_string()
}

fn pfc(change: impl FnOnce(&mut PfcSpec)) -> String {
    let mut pfc = dynamic_pfc();
    change(&mut pfc);
    refusal(|spec| spec.fabric.switch.pfc = Some(pfc))
}

fn pin(switch: &str, qp: u32, uplink: u32) -> String {
    let pins = vec![PinSpec { switch: switch.into(), qp, uplink }];
    refusal(|spec| spec.fabric.load_balancing = LoadBalancing::Pinned { pins })
}

#[test]
fn headroom_that_does_not_fit() {
    let text = pfc(|pfc| pfc.headroom_bytes = Some(9 << 20));
    let expected = "fabric.switch.pfc.headroom_bytes: 75569472 bytes of reserve and headroom for the 8 ports of leaf0; \
                    allowed: less than its buffer of 67108864 bytes";
    assert_eq!(text, expected);
}

#[test]
fn more_packets_than_a_requester_counts() {
    let text = refusal(|spec| pattern_of(&mut spec.jobs[0]).data_bytes = 1 << 50);
    assert!(text.starts_with("jobs[0].work.pattern.data_bytes: 1125899906842624; allowed: 17"), "{text}");
    assert!(text.ends_with("bytes, at most 4294967294 packets"), "{text}");
}

#[test]
fn thresholds_of_ecn_that_are_out_of_order() {
    let text = refusal(|spec| spec.fabric.switch.ecn = Some(ecn(2_000, 1_000)));
    let expected =
        "fabric.switch.ecn.kmin_bytes: 2000; allowed: 0 to 1000 with this fabric.switch.ecn.kmax_bytes";
    assert_eq!(text, expected);
}

#[test]
fn colours_that_contradict_themselves() {
    let text = |change: fn(&mut spec::SwitchSpec)| {
        refusal(|spec| {
            spec.fabric.switch.ecn = Some(ecn(1_000, 2_000));
            common::colour(spec);
            change(&mut spec.fabric.switch);
        })
    };
    let wred = "fabric.switch.ecn.wred";
    let red = |curve: fn() -> Option<spec::WredCurveSpec>| {
        refusal(|spec| {
            spec.fabric.switch.ecn = Some(ecn(1_000, 2_000));
            common::colour(spec);
            ecn_of(&mut spec.fabric.switch).wred.as_mut().expect("WRED is on").red = curve();
        })
    };
    let expected = format!("{wred}.red.kmin_bytes: 2; allowed: 0 to 1 with this {wred}.red.kmax_bytes");
    assert_eq!(red(|| common::curve(2, 1, 1, false)), expected);
    let expected = format!("{wred}.red.pmax_ppm: 1000001; allowed: 0 to 1000000");
    assert_eq!(red(|| common::curve(1, 2, 1_000_001, false)), expected);
    let found = text(|switch| ecn_of(switch).dynamic = common::dynamic_ecn(1, 2, 100).dynamic);
    assert_eq!(found, format!("{wred}: WRED with thresholds that move; allowed: none"));
    let found = text(|switch| {
        let spec::ColouringSpec::TwoRate { pir_bps, .. } = &mut switch.markers[1].colouring else { return };
        *pir_bps = 1_000;
    });
    let rates = "fabric.switch.markers[1].colouring";
    assert_eq!(found, format!("{rates}.cir_bps: 60000000000; allowed: 1 to 1000 with this {rates}.pir_bps"));
    let found = text(|switch| switch.markers[0].hosts = Some(vec![99]));
    assert!(found.starts_with("fabric.switch.markers[0].hosts: host 99; allowed: hosts 0 to "), "{found}");
    let found = text(|switch| (switch.ecn, switch.scheduled) = (None, Some(common::scheduled())));
    let expected = "fabric.switch.markers: markers with scheduled switches or InfiniBand; allowed: none";
    assert_eq!(found, expected);
}

fn ecn_of(switch: &mut spec::SwitchSpec) -> &mut spec::EcnSpec {
    switch.ecn.as_mut().expect("ECN is on")
}

#[test]
fn dynamic_ecn_that_could_not_move() {
    let text = |change: fn(&mut spec::DynamicEcnSpec)| {
        let mut ecn = common::dynamic_ecn(1_000, 2_000, 100);
        change(ecn.dynamic.as_mut().expect("it is dynamic"));
        refusal(|spec| spec.fabric.switch.ecn = Some(ecn))
    };
    let expected = "fabric.switch.ecn.dynamic.interval_ps: 0; allowed: 1000000 to 1000000000000";
    assert_eq!(text(|dynamic| dynamic.interval_ps = 0), expected);
    let expected = "fabric.switch.ecn.dynamic.scale_max_ppm: 999999; allowed: 1000000 to 1000000000";
    assert_eq!(text(|dynamic| dynamic.scale_max_ppm = 999_999), expected);
    assert!(text(|dynamic| dynamic.raise_ppm = 0).contains("dynamic.raise_ppm: 0"));
    assert!(text(|dynamic| dynamic.confirm_intervals = 0).contains("dynamic.confirm_intervals: 0"));
}

#[test]
fn pins_of_what_is_not_there() {
    assert_eq!(
        pin("leaf9", 0, 0),
        "fabric.load_balancing.pins[0].switch: leaf9; allowed: a switch of the topology"
    );
    assert_eq!(pin("leaf0", 56, 0), "fabric.load_balancing.pins[0].qp: 56; allowed: 0 to 55");
    // Queue pair 6 is that of rank 0 to rank 7, on the other leaf.
    assert_eq!(
        pin("leaf0", 6, 4),
        "fabric.load_balancing.pins[0].uplink: uplink 4 of leaf0 towards host 7; allowed: 0 to 3"
    );
}

#[test]
fn priorities_without_a_queue() {
    let text = refusal(|spec| spec.transport.priorities.data = 8);
    assert_eq!(text, "transport.priorities.data: 8; allowed: 0 to 7");
    let text = pfc(|pfc| pfc.priorities = vec![3, 8]);
    assert_eq!(text, "fabric.switch.pfc.priorities[1]: 8; allowed: 0 to 7");
}

#[test]
fn values_that_would_never_end_or_divide_by_nothing() {
    let none = RatioSpec { numerator: 1, denominator: 0 };
    assert!(pfc(|pfc| pfc.quanta = 0).starts_with("fabric.switch.pfc.quanta: 0"));
    assert!(pfc(|pfc| pfc.xoff = XoffSpec::Dynamic { alpha: none }).contains("xoff.alpha.denominator: 0"));
    let watchdog = WatchdogSpec { detection_ps: 0, restoration_ps: 1, action: StormActionSpec::Drop };
    assert!(pfc(|pfc| pfc.watchdog = Some(watchdog)).contains("watchdog.detection_ps: 0"));
    let text = refusal(|spec| spec.fabric.switch.scheduling = SchedulingSpec::Dwrr { quantum_bytes: [0; 8] });
    assert!(text.contains("quantum_bytes[0]: 0"), "{text}");
    assert!(refusal(|spec| spec.fabric.switch.buffer.cell_bytes = 0).contains("cell_bytes: 0"));
}

#[test]
fn scheduled_switches_where_they_do_not_fit() {
    let text = |change: fn(&mut spec::ScheduledSpec)| {
        let mut scheduled = common::scheduled();
        change(&mut scheduled);
        refusal(|spec| spec.fabric.switch.scheduled = Some(scheduled))
    };
    assert_eq!(
        text(|scheduled| scheduled.credit_bytes = 200),
        "fabric.switch.scheduled.cell_bytes: 256; allowed: 32 to 200 with this fabric.switch.scheduled.credit_bytes"
    );
    assert_eq!(
        text(|scheduled| scheduled.cell_header_bytes = 240),
        "fabric.switch.scheduled.cell_header_bytes: 240; allowed: 0 to 224 with this fabric.switch.scheduled.cell_bytes"
    );
    assert!(text(|scheduled| scheduled.fabric_speedup_ppm = 0).contains("fabric_speedup_ppm: 0"));
    assert!(text(|scheduled| scheduled.egress_buffer_bytes = Some(100)).contains("egress_buffer_bytes: 100"));
    let text = refusal(|spec| {
        spec.fabric.switch.scheduled = Some(common::scheduled());
        spec.fabric.topology = common::switch_ring(4, 2);
    });
    assert!(
        text.starts_with("fabric.topology.kind: another one with scheduled switches; allowed: leaf-spine or")
    );
}

#[test]
fn more_queue_pairs_at_a_host_than_packets_can_number() {
    let text = refusal(|spec| {
        spec.jobs[0].hosts = (0..300_000).map(|rank| u32::from(rank > 0)).collect();
        set_pattern(&mut spec.jobs[0], "incast", "linear");
        spec.transport.qps_per_rank_pair = 1_024;
    });
    assert_eq!(text, "jobs[0].hosts: 307198976 queue pairs at one host; allowed: at most 268435456");
}

#[test]
fn more_chunks_than_can_be_numbered() {
    let text = refusal(|spec| {
        spec.jobs[0].hosts = (0..1_500).map(|rank| rank % 8).collect();
        set_pattern(&mut spec.jobs[0], "all-reduce", "ring");
        spec.transport.qps_per_rank_pair = 1_024;
    });
    assert_eq!(
        text,
        "jobs[0].hosts: 4604928000 chunks with those of the jobs before it; allowed: at most 2147483648"
    );
}
