//! WRED by colour in whole runs.

use crate::common::{
    self, Recorder, collective, curve, ecn, leaf_spine, pattern_of, run, single_switch, tables, tcp,
};
use record::PortRow;
use spec::{
    ColourSpec, ColouringSpec, CongestionKind, EcnSpec, ImpairmentSpec, JobSpec, LeafSpine, MarkerSpec,
    NicDirection, RunSpec, RunStatus, TopologySpec, WredSpec,
};

fn marker(hosts: &[u32], colouring: ColouringSpec) -> MarkerSpec {
    MarkerSpec { hosts: Some(hosts.to_vec()), priorities: None, colouring }
}

fn fixed(hosts: &[u32], colour: ColourSpec) -> MarkerSpec {
    marker(hosts, ColouringSpec::Fixed { colour })
}

fn set_wred(spec: &mut RunSpec, wred: WredSpec) {
    spec.fabric.switch.ecn = Some(EcnSpec { wred: Some(wred), ..ecn(100_000, 400_000) });
}

fn sum(recorder: &Recorder, field: fn(&PortRow) -> u64) -> u64 {
    recorder.ports.iter().map(field).sum()
}

#[test]
fn wred_that_can_only_mark_gives_the_same_rows_as_ecn() {
    let mut spec = collective(leaf_spine(4), 8, "incast", "parallel", 1 << 20);
    spec.fabric.switch.ecn = Some(ecn(20_000, 80_000));
    spec.transport.rate_control = common::dcqcn();
    let (summary, recorder) = run(&spec);
    let expected = tables(&recorder);
    let marked = sum(&recorder, |port| port.ecn_marked);
    assert!(marked > 10 && summary.fast_windows > 0, "{marked} {summary:?}");
    let green = curve(20_000, 80_000, 200_000, true);
    set_wred(&mut spec, WredSpec { green, yellow: curve(0, 0, 0, false), red: curve(0, 0, 0, false) });
    let (summary, recorder) = run(&spec);
    assert!(tables(&recorder) == expected && summary.fast_windows > 0, "colours do not matter");
    // Green by a marker: every frame is judged by its colour.
    spec.fabric.switch.markers = vec![fixed(&(0..8).collect::<Vec<_>>(), ColourSpec::Green)];
    let (summary, recorder) = run(&spec);
    assert!(tables(&recorder) == expected && summary.fast_windows == 0);
}

/// Two jobs send by one link from leaf to spine, at half of its rate each and a tenth more.
fn two_jobs() -> RunSpec {
    let mut topology = leaf_spine(2);
    if let TopologySpec::LeafSpine(LeafSpine { spines, .. }) = &mut topology {
        *spines = 1;
    }
    let mut spec = collective(topology, 2, "incast", "parallel", 4 << 20);
    spec.jobs[0].hosts = vec![2, 0];
    let other = JobSpec { name: "other".into(), hosts: vec![3, 1], stream: 1, ..spec.jobs[0].clone() };
    spec.jobs.push(other);
    let slow = |host| ImpairmentSpec { host, throughput_ppm: 550_000, direction: NicDirection::Send };
    spec.fabric.nic.impairments = vec![slow(0), slow(1)];
    spec
}

#[test]
fn yellow_is_dropped_first_and_green_is_not() {
    let mut spec = two_jobs();
    spec.fabric.switch.markers = vec![fixed(&[1], ColourSpec::Yellow)];
    let (green, yellow) = (curve(400_000, 800_000, 100_000, false), curve(20_000, 60_000, 200_000, false));
    set_wred(&mut spec, WredSpec { green, yellow, red: None });
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.status, RunStatus::Complete);
    assert!(summary.frames_lost.wred > 10, "{summary:?}");
    assert_eq!(summary.frames_lost.total(), summary.frames_lost.wred, "nothing is lost in full buffers");
    assert_eq!(sum(&recorder, |port| port.dropped_wred_yellow_frames), summary.frames_lost.wred);
    assert!(sum(&recorder, |port| port.dropped_wred_bytes) > 1_000 * summary.frames_lost.wred);
    let by_priority = recorder.priorities.iter().filter(|row| row.priority == 3);
    assert_eq!(by_priority.map(|row| row.dropped_wred_frames).sum::<u64>(), summary.frames_lost.wred);
    let resent = |job: u32| {
        recorder.chunks.iter().filter(|chunk| chunk.job == job).map(|chunk| chunk.retransmits).sum::<u64>()
    };
    assert!(resent(0) == 0 && resent(1) > 0, "{} {}", resent(0), resent(1));
    let end = |job: usize| summary.jobs[job].end_ps.expect("it is complete");
    assert!(end(0) < end(1));
}

#[test]
fn what_is_beyond_the_committed_rate_is_dropped_before_what_is_within() {
    let mut spec = two_jobs();
    spec.jobs.truncate(1);
    spec.jobs[0].hosts = vec![2, 0, 1];
    // Committed to both together is three quarters of what they share; they send a tenth more than that.
    let (cir_bps, pir_bps) = (150_000_000_000, 400_000_000_000);
    let colouring = ColouringSpec::TwoRate { cir_bps, cbs_bytes: 20_000, pir_bps, pbs_bytes: 20_000 };
    spec.fabric.switch.markers = vec![marker(&[0, 1], colouring)];
    let (green, yellow) = (curve(400_000, 800_000, 100_000, false), curve(20_000, 60_000, 1_000_000, false));
    set_wred(&mut spec, WredSpec { green, yellow, red: curve(0, 0, 0, false) });
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.status, RunStatus::Complete);
    assert!(summary.frames_lost.wred > 10);
    assert_eq!(sum(&recorder, |port| port.dropped_wred_yellow_frames), summary.frames_lost.wred);
}

#[test]
fn the_queue_stands_where_what_is_dropped_is_what_is_too_much() {
    let mut spec = two_jobs();
    spec.jobs.iter_mut().for_each(|job| pattern_of(job).data_bytes = 32 << 20);
    spec.transport.qp_mode = spec::QpMode::PerPair;
    set_wred(
        &mut spec,
        WredSpec { green: curve(100_000, 1_100_000, 1_000_000, false), yellow: None, red: None },
    );
    spec.observe.series_interval_ps = 1_000_000;
    spec.observe.series_points = 4_000;
    let (summary, recorder) = run(&spec);
    let depths = recorder
        .series
        .iter()
        .filter(|row| row.metric == "queue_bytes" && &*row.node == "leaf0" && row.port == 2 && row.value > 0);
    let mut depths: Vec<_> = depths.map(|row| row.value).collect();
    depths.sort_unstable();
    let median = depths[depths.len() / 2];
    // 1.1 comes in for every 1 that leaves: 1/11 is dropped, at that part of the way from Kmin to Kmax.
    assert!(median.abs_diff(100_000 + 1_000_000 / 11) < 3_000, "{median} of {} {summary:?}", depths.len());
}

#[test]
fn frames_that_are_not_ecn_capable_are_dropped_where_others_are_marked() {
    let lost_and_marked = |congestion| {
        let mut spec = collective(single_switch(4), 2, "permutation", "parallel", 1 << 10);
        let traffic = tcp([1, 2, 3], "incast", None);
        spec.tcp = vec![spec::TcpSpec { congestion, rto_min_ps: 100_000_000, ..traffic }];
        set_wred(
            &mut spec,
            WredSpec { green: curve(20_000, 60_000, 200_000, true), yellow: None, red: None },
        );
        spec.fabric.switch.ecn.as_mut().expect("ECN is on").priorities = vec![0];
        let (summary, recorder) = run(&spec);
        assert_eq!(summary.tcp[0].dropped_frames, summary.frames_lost.wred);
        (summary.frames_lost.wred, sum(&recorder, |port| port.ecn_marked))
    };
    let (lost, marked) = lost_and_marked(CongestionKind::Dctcp);
    assert!(lost == 0 && marked > 0, "{lost} {marked}");
    let (lost, marked) = lost_and_marked(CongestionKind::Cubic);
    assert!(lost > 0 && marked == 0, "{lost} {marked}");
}
