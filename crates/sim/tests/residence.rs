//! Frames in the buffer of a switch while they are read out, and response times of PFC.

use crate::common::{self, collective, dynamic_pfc, ecn, leaf_spine, run, run_with, single_switch, tables};
use fabricbench_sim::Path;
use spec::{ReleaseSpec, RepeatSpec, RunSpec, RunStatus, XoffSpec};

const CELL: u64 = 256;
const RELEASES: [ReleaseSpec; 3] =
    [ReleaseSpec::Start {}, ReleaseSpec::End {}, ReleaseSpec::Cells { bytes: CELL as u32 }];

/// Two hosts into one, frames of the second half a frame time behind those of the first; marked is what finds
/// more than 1,001 bytes.
fn marked(release: ReleaseSpec) -> (u64, u64) {
    let mut spec = collective(single_switch(3), 3, "incast", "parallel", 64 << 10);
    common::delay(&mut spec, 1, 40_000);
    spec.fabric.switch.ecn = Some(ecn(1_000, 1_001));
    spec.fabric.switch.buffer.release = release;
    let (_, recorder) = run(&spec);
    let sum = |value: fn(&record::PortRow) -> u64| recorder.ports.iter().map(value).sum::<u64>();
    let deepest = recorder.ports.iter().map(|port| port.queue_max_bytes).max().unwrap_or(0);
    (sum(|port| port.ecn_marked), deepest)
}

#[test]
fn the_frame_in_transmission_counts_for_marks_and_not_for_the_deepest_queue() {
    let [start, end, cells] = RELEASES.map(marked);
    assert!(start.0 < cells.0 && cells.0 <= end.0, "{start:?} {cells:?} {end:?}");
    assert_eq!([start.1, end.1], [cells.1; 2]);
}

#[test]
fn a_frame_that_finds_only_one_in_transmission_is_marked_on_both_paths() {
    let mut spec = collective(single_switch(2), 2, "all-reduce", "ring", 9_182);
    spec.fabric.switch.ecn = Some(ecn(0, 1));
    spec.fabric.switch.buffer.release = RELEASES[2];
    let (_, recorder) = run(&spec);
    assert!(recorder.ports.iter().any(|port| port.ecn_marked > 0), "nothing is marked");
    assert!(tables(&recorder) == tables(&run_with(&spec, 1, Path::Exact).1));
}

/// Seven hosts into one without loss.
fn incast() -> RunSpec {
    let mut spec = collective(leaf_spine(4), 8, "incast", "parallel", 4 << 20);
    spec.fabric.switch.buffer.size_bytes = 8 << 20;
    spec.fabric.switch.pfc = Some(dynamic_pfc());
    spec
}

#[test]
fn default_headroom_follows_response_times() {
    let headroom = incast();
    type Change = fn(&mut RunSpec);
    let changes: [Change; 3] = [
        |spec| spec.fabric.switch.pfc.as_mut().expect("lossless").response_ps = 2_000_000,
        |spec| spec.fabric.switch.pfc.as_mut().expect("lossless").reaction_ps = Some(3_000_000),
        |spec| spec.fabric.nic.pause_reaction_ps = Some(3_000_000),
    ];
    for change in changes {
        let mut spec = headroom.clone();
        change(&mut spec);
        let (summary, recorder) = run(&spec);
        assert_eq!((summary.status, summary.frames_lost.total()), (RunStatus::Complete, 0));
        assert!(summary.exact_windows > 0);
        assert!(tables(&recorder) == tables(&run_with(&spec, 2, Path::Exact).1));
        // What suffices at once does not later.
        spec.fabric.switch.pfc.as_mut().expect("lossless").headroom_bytes = Some(90_000);
        assert!(run(&spec).0.frames_lost.headroom_overrun > 0);
        let mut at_once = headroom.clone();
        at_once.fabric.switch.pfc.as_mut().expect("lossless").headroom_bytes = Some(90_000);
        assert_eq!(run(&at_once).0.frames_lost.total(), 0);
    }
}

#[test]
fn response_times_that_are_those_of_frames_change_nothing() {
    let expected = tables(&run(&incast()).1);
    let mut spec = incast();
    spec.fabric.switch.pfc.as_mut().expect("lossless").reaction_ps = Some(500_000);
    spec.fabric.nic.pause_reaction_ps = Some(400_000);
    assert!(tables(&run(&spec).1) == expected);
}

#[test]
fn a_slow_host_asks_for_its_pauses_later_by_its_response_time() {
    let mut spec = collective(single_switch(2), 2, "send-receive", "parallel", 8 << 20);
    spec.fabric.switch.pfc = Some(dynamic_pfc());
    spec.fabric.nic.drain_rate_bps = Some(200_000_000_000);
    spec.fabric.nic.receive_buffer_bytes = 3 << 20;
    let first_pause = |spec: &RunSpec| {
        let (summary, recorder) = run(spec);
        assert_eq!(summary.frames_lost.total(), 0);
        recorder.ports.iter().map(|port| port.paused_ps.unwrap_or(0)).max().unwrap_or(0)
    };
    let at_once = first_pause(&spec);
    spec.fabric.nic.pause_response_ps = 5_000_000;
    let later = first_pause(&spec);
    assert!(at_once > 0 && later > 0 && later != at_once, "{at_once} {later}");
}

/// A constant time inside the buffer delays what thresholds see: without any in reach nothing changes.
#[test]
fn the_part_of_the_pipeline_inside_the_buffer_matters_to_thresholds_alone() {
    for release in RELEASES {
        let mut spec = incast();
        spec.fabric.switch.pfc = None;
        spec.fabric.switch.buffer.size_bytes = 1 << 30;
        spec.fabric.switch.buffer.release = release;
        let expected = tables(&run(&spec).1);
        spec.fabric.switch.buffer.pipeline_ps = 400_000;
        assert!(tables(&run(&spec).1) == expected, "{release:?}");
        spec.fabric.switch.pfc = Some(dynamic_pfc());
        spec.fabric.switch.pfc.as_mut().expect("lossless").xoff = XoffSpec::Static { bytes: 30_000 };
        let late = tables(&run(&spec).1);
        spec.fabric.switch.buffer.pipeline_ps = 0;
        assert!(tables(&run(&spec).1) != late, "{release:?}");
    }
}

/// Pauses without XON last whole halves of their quanta and the rest of the last one; on any path.
#[test]
fn pauses_without_xon_end_by_their_time() {
    let mut spec = incast();
    let pfc = spec.fabric.switch.pfc.as_mut().expect("lossless");
    // 10 us at 400 Gb/s, renewed after 5.
    (pfc.ends_by_time, pfc.quanta) = (true, 7_812);
    let (summary, recorder) = run(&spec);
    assert_eq!((summary.status, summary.frames_lost.total()), (RunStatus::Complete, 0));
    let sum =
        |value: fn(&record::PortRow) -> Option<u64>| -> u64 { recorder.ports.iter().filter_map(value).sum() };
    assert!(sum(|port| port.pfc_tx) > 0);
    assert_eq!(sum(|port| port.pfc_xon_tx), 0);
    let shortest =
        recorder.ports.iter().filter(|port| port.pfc_rx > Some(0)).filter_map(|port| port.paused_ps).min();
    assert!(shortest >= Some(7_812 * 64 * 20), "{shortest:?}");
    assert!(tables(&recorder) == tables(&run_with(&spec, 2, Path::Exact).1));
}

/// A run that ends while pause frames have come and do not take effect yet counts each frame once.
#[test]
fn pause_frames_within_the_reaction_time_at_the_end_are_no_data() {
    let mut spec = incast();
    spec.fabric.nic.pause_reaction_ps = Some(3_000_000);
    // 128 ns at 400 Gb/s, renewed after 64.
    spec.fabric.switch.pfc.as_mut().expect("lossless").quanta = 100;
    spec.jobs[0].repeat = RepeatSpec::UntilOthersEnd {};
    let mut short = spec.jobs[0].clone();
    (short.name, short.stream, short.repeat) = ("short".into(), 1, RepeatSpec::Rounds { rounds: 1 });
    short.hosts = spec.jobs[0].hosts.split_off(6);
    spec.jobs.push(short);
    assert_eq!(run(&spec).0.frames_lost.total(), 0);
}
