//! Paths of different delay: distances of what comes out of order, and what NICs make of it.

use crate::common::{Recorder, collective, completion_ps, link, pattern_of, run, run_with, tables};
use fabricbench_sim::Path;
use spec::{ExtraDelaySpec, LeafSpine, LoadBalancing, LossRecovery, RunSpec, RunStatus, TopologySpec};

const FRAMES: u64 = 20_000;
/// A full frame in the middle of a message on a link of 400 Gb/s, preamble and gap included [ps].
const FRAME_PS: u64 = (4096 + 62 + 20) * 20;

/// Host 0 sends one message to host 1 over that many spines in turn; the way over spine k has `delays_ps[k]`
/// more.
fn sprayed(delays_ps: &[u64], recovery: LossRecovery) -> RunSpec {
    let topology = TopologySpec::LeafSpine(LeafSpine {
        leaves: 2,
        hosts_per_leaf: 1,
        spines: delays_ps.len() as u32,
        links_per_spine: 1,
        host_link: link(3),
        fabric_link: link(30),
    });
    let mut spec = collective(topology, 2, "incast", "parallel", FRAMES * 4096);
    pattern_of(&mut spec.jobs[0]).root = 1;
    spec.transport.message_bytes = 1 << 30;
    spec.transport.recovery = recovery;
    spec.transport.timeout_ps = 1_000_000_000;
    spec.fabric.load_balancing = LoadBalancing::SprayRoundRobin {};
    let extra =
        |(spine, &delay_ps): (usize, &u64)| ExtraDelaySpec { link: format!("leaf0-spine{spine}"), delay_ps };
    spec.fabric.extra_delays = delays_ps.iter().enumerate().map(extra).collect();
    spec
}

fn of_job(recorder: &Recorder) -> Vec<(u32, u32, u64)> {
    let rows = recorder.reordering.iter().filter(|row| row.qp.is_none());
    rows.map(|row| (row.distance_min, row.distance_max, row.frames)).collect()
}

/// Every second frame is `delay` late. When it arrives, the newest is the last of the others that left no
/// later than `delay` after it: the distance is the largest odd number of frame times within the delay.
#[test]
fn two_paths_of_a_given_difference_give_one_distance() {
    for (delay_frames_x10, distance) in [(15, 1), (35, 3), (315, 31), (325, 31), (335, 33), (1_235, 123)] {
        let delay_ps = FRAME_PS * delay_frames_x10 / 10;
        for slow in [0, 1] {
            let delays = if slow == 0 { [delay_ps, 0] } else { [0, delay_ps] };
            let (summary, recorder) = run(&sprayed(&delays, LossRecovery::None));
            assert_eq!(summary.frames_lost.total(), 0);
            // Nothing overtakes the last of the slow frames once the fast ones have ended.
            let rows = of_job(&recorder);
            let late: u64 = rows.iter().map(|row| row.2).sum();
            assert!(late.abs_diff(FRAMES / 2) <= 1, "{late} late by {distance}");
            let power = 1 << u32::ilog2(distance);
            let main = rows.iter().find(|row| row.0 == power).expect("a bucket");
            assert_eq!(main.1, distance, "{rows:?}");
            let ending: u64 = rows.iter().filter(|row| row.0 != power).map(|row| row.2).sum();
            assert!(ending <= u64::from(distance), "only the last frames are less late: {rows:?}");
        }
    }
}

#[test]
fn paths_of_one_delay_keep_the_order() {
    for recovery in [LossRecovery::GoBackN, LossRecovery::Selective, LossRecovery::None] {
        let (summary, recorder) = run(&sprayed(&[1_000_000; 4], recovery));
        assert_eq!(summary.status, RunStatus::Complete);
        assert_eq!(of_job(&recorder), []);
        assert_eq!(recorder.chunks[0].out_of_order, 0);
    }
}

#[test]
fn a_delay_line_adds_its_delay_once_each_way() {
    let plain = completion_ps(&run(&sprayed(&[0], LossRecovery::GoBackN)).0);
    let delayed = completion_ps(&run(&sprayed(&[7_000_000], LossRecovery::GoBackN)).0);
    assert_eq!(delayed - plain, 2 * 7_000_000, "data there, the last acknowledgement back");
}

/// The NIC decides: in order only, it collapses; with a window beyond the distance it does not notice; with a
/// smaller one it falls in between.
#[test]
fn a_nic_that_takes_packets_in_any_order_keeps_its_rate_as_far_as_its_window_reaches() {
    let time = |recovery, window| {
        let mut spec = sprayed(&[0, 64 * FRAME_PS], recovery);
        spec.transport.ooo_window_packets = window;
        let (summary, recorder) = run(&spec);
        assert_eq!((summary.status, summary.frames_lost.total()), (RunStatus::Complete, 0));
        (completion_ps(&summary), recorder.chunks[0].retransmits)
    };
    let mut in_order = sprayed(&[0, 0], LossRecovery::GoBackN);
    in_order.transport.ooo_window_packets = 1 << 12;
    let full = completion_ps(&run(&in_order).0);
    let (wide, none) = time(LossRecovery::Selective, 1 << 12);
    assert!((wide - full) * 100 < full && none == 0, "{wide} of {full}");
    let (narrow, _) = time(LossRecovery::Selective, 96);
    assert!(narrow > full * 11 / 10 && narrow < full * 4, "{narrow} of {full}");
    let (refused, resent) = time(LossRecovery::GoBackN, 1 << 12);
    assert!(
        refused > narrow && refused > full * 3 && resent > FRAMES,
        "{refused} of {full}, {resent} resent"
    );
}

#[test]
fn distances_are_the_same_on_every_path() {
    let mut spec = sprayed(&[0, 2_000_000, 9_000_000], LossRecovery::Selective);
    spec.fabric.load_balancing = LoadBalancing::SprayRandom {};
    let expected = tables(&run(&spec).1);
    assert!(expected.contains("ReorderingRow"));
    for (threads, path) in [(1, Path::Exact), (2, Path::Auto), (3, Path::Exact)] {
        assert_eq!(tables(&run_with(&spec, threads, path).1), expected);
    }
}

#[test]
fn a_delay_line_in_a_link_that_is_not_there_is_refused() {
    let mut spec = sprayed(&[0], LossRecovery::None);
    spec.fabric.extra_delays[0].link = "leaf0-spine7".into();
    let error = fabricbench_sim::check(&spec).expect_err("no such link").to_string();
    assert!(error.starts_with("fabric.extra_delays[0].link: leaf0-spine7; allowed: a link by"), "{error}");
}
