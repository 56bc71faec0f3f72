//! Switches with settings of their own: each does what its own say, and nothing else of the run knows.

use crate::common::*;
use spec::{RunSpec, SwitchSettingsSpec};

/// Settings of some switches, as all have them, with a change.
fn settings(
    spec: &RunSpec,
    switches: &[&str],
    change: impl FnOnce(&mut SwitchSettingsSpec),
) -> SwitchSettingsSpec {
    let spec::SwitchSpec { buffer, scheduling, pfc, ecn, .. } = spec.fabric.switch.clone();
    let switches = switches.iter().map(ToString::to_string).collect();
    let mut own = SwitchSettingsSpec { switches, buffer, scheduling, pfc, ecn };
    change(&mut own);
    own
}

/// Incast over two leaves and four spines, lossless.
fn lossless() -> RunSpec {
    let mut spec = collective(leaf_spine(4), 8, "gather", "parallel", 8 << 20);
    spec.fabric.switch.pfc = Some(dynamic_pfc());
    spec.fabric.switch.buffer.size_bytes = 8 << 20;
    spec
}

fn rows(spec: &RunSpec) -> (u64, String) {
    let (summary, recorder) = run(spec);
    (summary.end_ps, tables(&recorder))
}

#[test]
fn settings_like_those_of_all_change_nothing() {
    let mut spec = lossless();
    let expected = rows(&spec);
    spec.fabric.switch_settings = vec![settings(&spec, &["leaf*", "spine2"], |_| ())];
    assert_eq!(rows(&spec), expected);
}

#[test]
fn every_switch_by_its_own_settings_is_as_all_by_those_of_all() {
    let mut spec = lossless();
    let large = spec.fabric.switch.buffer.size_bytes;
    spec.fabric.switch.buffer.size_bytes = 2 << 20;
    let expected = rows(&spec);
    spec.fabric.switch.buffer.size_bytes = large;
    // A whole name goes before a beginning, and a longer beginning before a shorter.
    spec.fabric.switch_settings = vec![
        settings(&spec, &["*"], |own| own.buffer.size_bytes = 1 << 30),
        settings(&spec, &["leaf*", "spine*"], |own| own.buffer.size_bytes = 2 << 20),
    ];
    assert_eq!(rows(&spec), expected);
    assert_ne!(rows(&lossless()), expected, "the size of the buffer matters");
}

#[test]
fn only_the_switches_that_mark_do() {
    let mut spec = lossless();
    let ecn = spec::EcnSpec {
        priorities: vec![3],
        kmin_bytes: 1_000,
        kmax_bytes: 2_000,
        pmax_ppm: 1_000_000,
        reference_rate_bps: None,
        dynamic: None,
        wred: None,
    };
    spec.fabric.switch_settings = vec![settings(&spec, &["leaf1"], |own| own.ecn = Some(ecn.clone()))];
    let marks = |spec: &RunSpec| -> Vec<(u32, u64)> {
        let recorder = run(spec).1;
        recorder.ports.iter().map(|port| (port.tier, port.ecn_marked)).collect()
    };
    let by_one = marks(&spec);
    assert!(by_one.iter().any(|&(tier, count)| tier == 1 && count > 0), "{by_one:?}");
    assert!(by_one.iter().all(|&(tier, count)| tier == 1 || count == 0), "{by_one:?}");
}

fn refusal(change: impl FnOnce(&mut RunSpec)) -> String {
    let mut spec = lossless();
    change(&mut spec);
    fabricbench_sim::check(&spec).expect_err("it cannot be carried out").to_string()
}

#[test]
fn what_cannot_be_is_refused_by_its_field() {
    let other_priorities = refusal(|spec| {
        spec.fabric.switch_settings = vec![settings(spec, &["leaf0"], |own| own.pfc = None)];
    });
    assert_eq!(
        other_priorities,
        "fabric.switch_settings[0].pfc.priorities: []; allowed: [3], as those of all other switches"
    );
    let unknown =
        refusal(|spec| spec.fabric.switch_settings = vec![settings(spec, &["leaf0", "core*"], |_| ())]);
    assert!(
        unknown.starts_with("fabric.switch_settings[0].switches[1]: core*; allowed: a switch of"),
        "{unknown}"
    );
    let twice = refusal(|spec| {
        spec.fabric.switch_settings =
            vec![settings(spec, &["leaf0"], |_| ()), settings(spec, &["leaf0"], |_| ())];
    });
    assert_eq!(twice, "fabric.switch_settings[1].switches[0]: leaf0 again; allowed: each name once");
    let small = refusal(|spec| {
        spec.fabric.switch_settings = vec![settings(spec, &["spine1"], |own| own.buffer.size_bytes = 1_000)];
    });
    assert!(small.starts_with("fabric.switch_settings[0].pfc.headroom_bytes: "), "{small}");
    assert!(small.contains("ports of spine1"), "{small}");
    let chip = refusal(|spec| {
        let switches = ["leaf0", "spine0"].map(str::to_owned).to_vec();
        spec.fabric.chips = vec![spec::ChipSpec { name: "asic".into(), switches }];
        spec.fabric.switch_settings = vec![settings(spec, &["spine0"], |_| ())];
    });
    assert_eq!(
        chip,
        "fabric.switch_settings: other settings of spine0 than of leaf0, which is the same chip; allowed: one for all \
         switches of a chip"
    );
}
