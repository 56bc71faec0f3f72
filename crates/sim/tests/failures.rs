//! Links and switches that fail and are repaired at given times, against closed forms.

use crate::common::{
    Recorder, collective, completion_ps, leaf_spine, link, pattern_of, run, run_in_full, tables,
};
use record::PortRow;
use spec::{EcmpHash, FailureSpec, LeafSpine, LoadBalancing, LossRecovery, RunSpec, RunStatus, TopologySpec};

/// One byte at 400 Gb/s [ps].
const BYTE_PS: u64 = 20;
/// A full frame with preamble and gap: 4096 bytes of payload, 62 of headers and 20 on the link; first of a
/// message, with a RETH.
const FRAME: u64 = 4096 + 62 + 20;
const RETH: u64 = 16;
/// From the first bit out of a NIC to the link.
const NIC_PS: u64 = 400_000;

fn down(at_ps: u64, link: &str) -> FailureSpec {
    FailureSpec::LinkDown { at_ps, link: link.into() }
}

fn up(at_ps: u64, link: &str) -> FailureSpec {
    FailureSpec::LinkUp { at_ps, link: link.into() }
}

fn rate(at_ps: u64, link: &str, gbps: u64) -> FailureSpec {
    FailureSpec::LinkRate { at_ps, link: link.into(), rate_bps: gbps * 1_000_000_000 }
}

/// Two leaves of one host each, over that many spines; host 0 sends one message to host 1.
fn one_flow(spines: u32, frames: u64) -> RunSpec {
    let topology = TopologySpec::LeafSpine(LeafSpine {
        leaves: 2,
        hosts_per_leaf: 1,
        spines,
        links_per_spine: 1,
        host_link: link(3),
        fabric_link: link(30),
    });
    let mut spec = collective(topology, 2, "incast", "parallel", frames * 4096);
    pattern_of(&mut spec.jobs[0]).root = 1;
    spec.transport.message_bytes = 1 << 30;
    spec.transport.timeout_ps = 500_000_000;
    spec.fabric.convergence_time_ps = 20_000_000;
    spec
}

/// The spine over which the only flow goes.
fn spine_of(spec: &RunSpec) -> String {
    let mut plain = spec.clone();
    plain.fabric.failures.clear();
    let (_, recorder) = run(&plain);
    recorder.paths.iter().find(|path| path.node == "leaf0").expect("it crosses").peer.clone()
}

fn lost_by_ports(recorder: &Recorder) -> u64 {
    recorder.ports.iter().map(|port| port.lost_link_down_frames).sum()
}

fn port<'a>(recorder: &'a Recorder, node: &str, peer: &str) -> &'a PortRow {
    recorder.ports.iter().find(|port| port.node == node && port.peer == peer).expect("there is such a port")
}

fn events(recorder: &Recorder) -> Vec<(u64, &'static str)> {
    recorder.events.iter().map(|event| (event.time_ps, event.kind)).collect()
}

/// When frame `k` (from 0) of the flow begins to leave leaf 0 and when it is out of the cable to the spine.
fn on_uplink(k: u64) -> (u64, u64) {
    let end_of = |frames: u64| if frames == 0 { 0 } else { (frames * FRAME + RETH) * BYTE_PS };
    // Sent by the NIC back to back; stored by the leaf, which sends each as soon as it has it.
    let at_leaf = |frames: u64| end_of(frames) + NIC_PS + 3 * 5_000 + 500_000;
    let begins = at_leaf(k + 1);
    let bytes = if k == 0 { FRAME + RETH } else { FRAME };
    (begins, begins + bytes * BYTE_PS + 30 * 5_000)
}

/// Between the failure and the convergence exactly those frames are lost that touch the link while it is
/// down.
#[test]
fn frames_on_and_to_a_dead_link_are_lost_until_routes_converge() {
    let mut spec = one_flow(2, 2_000);
    spec.transport.recovery = LossRecovery::None;
    // Only the end of the message is acknowledged.
    spec.transport.ack_every = 1 << 20;
    let spine = spine_of(&spec);
    let (at, convergence) = (50_000_000, 20_000_000);
    spec.fabric.convergence_time_ps = convergence;
    spec.fabric.failures = vec![down(at, &format!("leaf0-{spine}"))];
    let (summary, recorder) = run(&spec);
    // A frame is lost if it is not out of the cable by then and was routed, one hop earlier, before the
    // convergence: the leaf chooses when it has the frame, which is when it begins to send it.
    let lost =
        (0..2_000).filter(|&k| on_uplink(k).1 > at && on_uplink(k).0 < at + convergence).count() as u64;
    assert!(lost > 200, "{lost}");
    assert_eq!((summary.frames_lost.link_down, summary.frames_lost.total()), (lost, lost));
    let uplink = port(&recorder, "leaf0", &spine);
    assert_eq!((uplink.lost_link_down_frames, lost_by_ports(&recorder)), (lost, lost));
    assert!(uplink.lost_link_down_bytes > lost * 4096);
    assert_eq!(events(&recorder), [(at, "link_down"), (at + convergence, "routes_converged")]);
    let other = recorder.ports.iter().filter(|port| port.node == "leaf0" && port.peer.starts_with("spine"));
    let carried: u64 = other.map(|port| port.tx_frames).sum();
    assert_eq!(carried, 2_000, "every frame left the leaf once, over one spine or the other");
}

/// Go-back-N resends from the first frame lost when the first after the convergence tells of the gap.
#[test]
fn go_back_n_resumes_over_the_other_spine() {
    let mut spec = one_flow(2, 4_000);
    let (plain, _) = run(&spec);
    let spine = spine_of(&spec);
    spec.fabric.failures = vec![down(50_000_000, &format!("{spine}-leaf0"))];
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.status, RunStatus::Complete);
    let chunk = &recorder.chunks[0];
    assert_eq!((chunk.naks, chunk.timeouts), (1, 0));
    let lost = port(&recorder, "leaf0", &spine).lost_link_down_frames;
    // Each frame lost costs its time again, and so does what was on its way until the NAK was there.
    let (time, ideal) = (completion_ps(&summary), completion_ps(&plain));
    let round_trip = 2 * (2 * NIC_PS + 3 * 500_000 + 330_000) + 8 * FRAME * BYTE_PS;
    let (low, high) = (ideal + lost * FRAME * BYTE_PS, ideal + lost * FRAME * BYTE_PS + round_trip);
    assert!((low..=high).contains(&time), "{time} in {low} to {high}");
    assert_eq!(chunk.tx_frames, 4_000 + chunk.retransmits);
    assert!(chunk.retransmits >= lost);
}

#[test]
fn a_repaired_link_carries_traffic_again_once_routes_converge() {
    let mut spec = one_flow(2, 8_000);
    let spine = spine_of(&spec);
    let name = format!("leaf0-{spine}");
    spec.fabric.failures = vec![up(200_000_000, &name), down(50_000_000, &name)];
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.status, RunStatus::Complete);
    let kinds = [
        (50_000_000, "link_down"),
        (70_000_000, "routes_converged"),
        (200_000_000, "link_up"),
        (220_000_000, "routes_converged"),
    ];
    assert_eq!(events(&recorder), kinds);
    let uplink = port(&recorder, "leaf0", &spine);
    // 50 us before the failure and all that comes 220 us after the start.
    assert!(uplink.tx_frames > 5_000 && uplink.tx_frames < 7_500, "{}", uplink.tx_frames);
    assert_eq!(recorder.chunks[0].timeouts, 0);
}

#[test]
fn a_dead_switch_is_all_its_links() {
    let mut spec = one_flow(2, 4_000);
    let spine = spine_of(&spec);
    spec.fabric.failures = vec![FailureSpec::SwitchDown { at_ps: 50_000_000, switch: spine.clone() }];
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.status, RunStatus::Complete);
    assert_eq!(lost_by_ports(&recorder), summary.frames_lost.link_down);
    let at_spine = recorder.ports.iter().filter(|port| port.node == spine);
    assert!(at_spine.map(|port| port.lost_link_down_frames).sum::<u64>() > 0, "what it held is lost, too");
}

/// Without any way left, frames are lost for the same cause, the queue pair gives up and the run says why.
#[test]
fn without_a_way_left_the_queue_pair_fails() {
    for name in ["leaf1-spine0", "host1-leaf1"] {
        let mut spec = one_flow(1, 1_000);
        spec.transport.timeout_ps = 100_000_000;
        spec.transport.retry_count = 2;
        spec.fabric.failures = vec![down(20_000_000, name)];
        let (summary, recorder) = run(&spec);
        assert_eq!(summary.status, RunStatus::Incomplete, "{name}");
        assert!(summary.jobs[0].reason.contains("used up its 2 retries"), "{}", summary.jobs[0].reason);
        assert_eq!(lost_by_ports(&recorder), summary.frames_lost.link_down);
        assert_eq!(summary.frames_lost.total(), summary.frames_lost.link_down);
        assert!(recorder.events.iter().any(|event| event.kind == "qp_failed"));
        if name == "leaf1-spine0" {
            let stranded = port(&recorder, "leaf0", "host0");
            assert!(stranded.lost_link_down_frames > 0, "no route is left at the first leaf");
        }
    }
}

/// A switch that is repaired before the retries are used up lets the run complete.
#[test]
fn an_outage_shorter_than_the_retries_is_survived() {
    let mut spec = one_flow(1, 1_000);
    spec.transport.timeout_ps = 100_000_000;
    let switch = || String::from("leaf1");
    spec.fabric.failures = vec![
        FailureSpec::SwitchDown { at_ps: 20_000_000, switch: switch() },
        FailureSpec::SwitchUp { at_ps: 300_000_000, switch: switch() },
    ];
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.status, RunStatus::Complete);
    assert!(recorder.chunks[0].timeouts > 0 && summary.frames_lost.link_down > 0);
}

/// Half of the data at 400 Gb/s, the rest at 100.
#[test]
fn a_slower_link_takes_the_time_of_its_rate() {
    let frames = 4_000;
    let mut spec = one_flow(1, frames);
    spec.transport.ack_every = 1 << 20;
    spec.transport.window_packets = 1 << 20;
    spec.fabric.switch.buffer.size_bytes = 1 << 30;
    let (plain, _) = run(&spec);
    let (at, back) = (100_000_000, 250_000_000);
    spec.fabric.failures = vec![rate(at, "spine0-leaf1", 100), rate(back, "spine0-leaf1", 400)];
    let (summary, recorder) = run(&spec);
    assert_eq!((summary.status, summary.frames_lost.total()), (RunStatus::Complete, 0));
    // In that time a quarter was sent, rounded to frames.
    let delay = completion_ps(&summary) - completion_ps(&plain);
    let ideal = (back - at) * 3 / 4;
    assert!(delay.abs_diff(ideal) <= 4 * FRAME * BYTE_PS, "{delay} against {ideal}");
    let is_it = |row: &&record::LinkRow| row.from == "spine0" && row.to == "leaf1";
    let row = recorder.links.iter().find(is_it).expect("there is such a link");
    let busy = (frames * FRAME + RETH) * BYTE_PS + ideal;
    assert!(row.busy_ps.abs_diff(busy) <= 4 * FRAME * BYTE_PS, "{} against {busy}", row.busy_ps);
}

/// Times of failures are not skipped over, and what repeats between them is.
#[test]
fn fast_forward_stops_at_every_change() {
    let mut spec = collective(leaf_spine(4), 8, "all-reduce", "ring", 8 * 32_000_000);
    spec.fabric.load_balancing = LoadBalancing::Ecmp { hash: EcmpHash::Crc, include_qp: true };
    spec.observe.series_points = 20;
    spec.transport.timeout_ps = 2_000_000_000;
    for failures in [
        vec![down(1_000_000_000, "leaf0-spine1"), up(2_500_000_000, "leaf0-spine1")],
        vec![rate(1_234_567_890, "leaf1-spine0", 200), rate(3_000_000_000, "host1-leaf0", 300)],
        vec![FailureSpec::SwitchDown { at_ps: 2_000_000_001, switch: "spine2".into() }],
    ] {
        spec.fabric.failures = failures;
        let (summary, recorder) = run(&spec);
        let (_, full) = run_in_full(&spec);
        assert!(tables(&recorder) == tables(&full), "tables differ: {:?}", spec.fabric.failures);
        println!("{} of {} ps skipped", summary.fast_forward_ps, summary.end_ps);
        assert!(summary.fast_forward_ps > 500_000_000, "{}", summary.fast_forward_ps);
    }
}
