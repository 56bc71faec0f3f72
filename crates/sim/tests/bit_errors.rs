//! Links that corrupt frames, against closed forms.

use crate::common::{Recorder, collective, pattern_of, run, run_in_full, run_with, single_switch, tables};
use fabricbench_sim::Path;
use spec::{FailureSpec, LossRecovery, RunSpec, RunStatus};

const FRAMES: u64 = 100_000;
/// Bits of a frame in the middle of a message; the RETH of the only first one does not matter.
const FRAME_BITS: u64 = (4096 + 62) * 8;

/// Host 0 sends one message to host 1 over one switch and never sends anything again.
fn counted(failures: Vec<FailureSpec>) -> RunSpec {
    let mut spec = collective(single_switch(2), 2, "incast", "parallel", FRAMES * 4096);
    pattern_of(&mut spec.jobs[0]).root = 1;
    spec.transport.message_bytes = 1 << 30;
    spec.transport.recovery = LossRecovery::None;
    spec.transport.ack_every = 1 << 20;
    spec.transport.timeout_ps = 100_000_000;
    spec.fabric.failures = failures;
    spec
}

fn bit_errors(at_ps: u64, link: &str, errors_1e18: u64) -> FailureSpec {
    FailureSpec::BitErrors { at_ps, link: link.into(), errors_1e18 }
}

fn frame_loss(at_ps: u64, link: &str, lost_ppm: u32) -> FailureSpec {
    FailureSpec::FrameLoss { at_ps, link: link.into(), lost_ppm }
}

fn fcs_errors(recorder: &Recorder, node: &str) -> u64 {
    recorder.ports.iter().filter(|port| port.node == node).map(|port| port.fcs_error_frames).sum()
}

/// A frame of n bits is lost with 1 - (1 - p)^n.
#[test]
fn the_share_of_frames_lost_is_that_of_their_bits() {
    // p = 1e-6: 1 - (1 - 1e-6)^33264 = 0.032717 of the frames; 100,000 frames: 3,272 with a standard error of
    // 56.
    let (summary, recorder) = run(&counted(vec![bit_errors(0, "host0-leaf0", 1_000_000_000_000)]));
    let lost = summary.frames_lost.bit_error;
    assert!(lost.abs_diff(3_272) < 4 * 56, "{lost} lost with {FRAME_BITS} bits each");
    assert_eq!((summary.frames_lost.total(), fcs_errors(&recorder, "leaf0")), (lost, lost));
    assert_eq!(recorder.chunks[0].rx_frames, FRAMES - lost);
    let switch =
        recorder.ports.iter().find(|port| port.node == "leaf0" && port.peer == "host0").expect("a port");
    assert_eq!(switch.rx_frames, FRAMES - lost, "what is corrupted is not received");
    assert!(switch.fcs_error_bytes >= lost * (4096 + 62));
}

#[test]
fn frame_loss_is_the_share_of_frames_and_ends_when_it_is_set_to_none() {
    // 2 % of the frames of the first half: a frame takes 83.56 ns, 4,178 us in all.
    let half_ps = FRAMES / 2 * (4096 + 62 + 20) * 20;
    let failures = vec![frame_loss(0, "leaf0-host1", 20_000), frame_loss(half_ps, "leaf0-host1", 0)];
    let (summary, recorder) = run(&counted(failures));
    let lost = summary.frames_lost.bit_error;
    assert!(lost.abs_diff(1_000) < 4 * 32, "{lost}");
    assert_eq!(fcs_errors(&recorder, "host1"), lost);
    let events: Vec<_> = recorder.events.iter().map(|event| (event.time_ps, event.kind)).collect();
    assert_eq!(events, [(0, "frame_loss"), (half_ps, "frame_loss")]);
}

#[test]
fn each_direction_of_each_link_has_errors_of_its_own() {
    let mut spec = collective(single_switch(4), 4, "all-to-all", "parallel", 64 << 20);
    spec.fabric.failures = (0..4).map(|host| frame_loss(0, &format!("host{host}-leaf0"), 1_000)).collect();
    spec.transport.recovery = LossRecovery::Selective;
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.status, RunStatus::Complete);
    let mut counts: Vec<u64> = recorder.ports.iter().map(|port| port.fcs_error_frames).collect();
    assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
    counts.sort_unstable();
    counts.dedup();
    assert!(counts.len() > 4, "{counts:?}");
}

/// Go-back-N resends from each frame lost; every byte arrives.
#[test]
fn everything_arrives_over_a_bad_link_and_costs_what_is_sent_again() {
    let mut spec = counted(vec![bit_errors(0, "host0-leaf0", 1_000_000_000)]);
    spec.transport.recovery = LossRecovery::GoBackN;
    spec.transport.ack_every = 2;
    let (summary, recorder) = run(&spec);
    let chunk = &recorder.chunks[0];
    assert_eq!(summary.status, RunStatus::Complete);
    assert_eq!(chunk.tx_frames, FRAMES + chunk.retransmits);
    assert!(summary.frames_lost.bit_error > 0 && chunk.retransmits >= summary.frames_lost.bit_error);
}

#[test]
fn a_rate_of_errors_so_low_that_none_falls_into_the_run_changes_no_frame() {
    let plain = run(&counted(Vec::new())).1;
    let (summary, recorder) = run(&counted(vec![bit_errors(0, "host0-leaf0", 1)]));
    assert_eq!(summary.frames_lost.total(), 0);
    assert_eq!(format!("{:?}", plain.chunks), format!("{:?}", recorder.chunks));
}

#[test]
fn errors_are_the_same_on_every_path_and_where_time_is_skipped() {
    let mut spec = counted(vec![bit_errors(1_000_000, "host0-leaf0", 1_000_000_000)]);
    spec.transport.message_bytes = 128 << 10;
    spec.observe.series_points = 20;
    let (summary, recorder) = run(&spec);
    assert!(summary.frames_lost.bit_error > 0);
    assert!(summary.fast_forward_ps * 2 > summary.end_ps, "frames that get through repeat");
    assert_eq!(tables(&recorder), tables(&run_in_full(&spec).1));
    for (threads, path) in [(1, Path::Exact), (2, Path::Auto)] {
        assert_eq!(tables(&recorder), tables(&run_with(&spec, threads, path).1));
    }
}
