//! Frames in the buffer of a switch while they are read out, and response times of PFC.

mod common;

use common::{collective, dynamic_pfc, ecn, leaf_spine, link, run, run_with, single_switch, tables};
use fabricbench_sim::Path;
use spec::{
    CustomLinkSpec, CustomSwitchSpec, LinkSpec, ReleaseSpec, RunSpec, RunStatus, TopologySpec, XoffSpec,
};

const CELL: u64 = 256;
/// A full frame that is not first in its message.
const FRAME: u64 = 4_158;
const RELEASES: [ReleaseSpec; 3] =
    [ReleaseSpec::Start {}, ReleaseSpec::End {}, ReleaseSpec::Cells { bytes: CELL as u32 }];

/// The mean of what an idle egress of 800 Gb/s holds of frames that arrive at 400 Gb/s, by samples and by the
/// closed form of `docs/closed-forms.md` [thousandths of a byte].
fn mean_queue(release: ReleaseSpec) -> (u64, u64) {
    let switch = |name: &str| CustomSwitchSpec { name: name.into(), hosts: 1 };
    let topology = TopologySpec::Custom {
        switches: ["a", "b"].map(switch).to_vec(),
        links: vec![CustomLinkSpec {
            between: ["a".into(), "b".into()],
            count: 1,
            link: LinkSpec { rate_bps: 800_000_000_000, ..link(30) },
        }],
        host_link: link(3),
    };
    let mut spec = collective(topology, 2, "incast", "parallel", 64 << 20);
    spec.fabric.switch.buffer.release = release;
    // An odd interval, so that samples fall on every part of a frame.
    (spec.observe.series_points, spec.observe.series_interval_ps) = (1_000_000, 300_007);
    let (_, recorder) = run(&spec);
    let is_egress = |row: &&record::SeriesRow| {
        (&*row.node, row.port, row.metric) == ("b", 1, "queue_bytes")
            && (20_000_000..600_000_000).contains(&row.time_ps)
    };
    let queues: Vec<u64> = recorder.series.iter().filter(is_egress).map(|row| row.value).collect();
    assert!(queues.len() > 1_000, "{} samples", queues.len());
    let measured = queues.iter().sum::<u64>() * 1_000 / queues.len() as u64;
    let (frame, rest) = (FRAME, FRAME % CELL);
    let twice = match release {
        ReleaseSpec::Start {} => 0,
        ReleaseSpec::End {} => 2 * frame * (frame + 8),
        ReleaseSpec::Cells { .. } => frame * (frame + CELL + 16) - rest * (CELL - rest),
    };
    // At half of the load.
    (measured, twice * 1_000 / (4 * (frame + 20)))
}

#[test]
fn an_idle_egress_holds_half_a_frame_and_a_cell_times_its_load() {
    for release in RELEASES {
        let (measured, expected) = mean_queue(release);
        assert!(measured.abs_diff(expected) * 50 <= expected, "{release:?}: {measured} for {expected}");
    }
}

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
fn the_frame_that_is_sent_counts_for_marks_and_depths() {
    let [start, end, cells] = RELEASES.map(marked);
    assert!(start.0 < cells.0 && cells.0 <= end.0, "{start:?} {cells:?} {end:?}");
    assert!(start.1 < cells.1 && cells.1 <= end.1 && end.1 <= start.1 + 4_174, "{start:?} {cells:?} {end:?}");
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
