//! Pauses that wait for each other in a circle, and the watchdog that ends them.

use crate::common::{Recorder, collective, dynamic_pfc, pattern_of, run, run_with, switch_ring, tables};
use fabricbench_sim::Path;
use record::{ChunkRow, EventRow, PortRow};
use spec::{PfcSpec, RunSpec, RunStatus, StormActionSpec, WatchdogSpec};

/// Every host of a ring of switches sends to the one two switches further on.
fn two_hops_clockwise(switches: u32, hosts: u32) -> RunSpec {
    let mut spec = collective(switch_ring(switches, hosts), switches, "all-gather", "ring", 8 << 20);
    spec.jobs = (0..hosts)
        .map(|host| {
            let mut job = spec.jobs[0].clone();
            job.name = format!("ring{host}");
            job.stream = host;
            job.hosts = (0..switches).map(|rank| (2 * rank % switches) * hosts + host).collect();
            pattern_of(&mut job).data_bytes = u64::from(switches) * (4 << 20);
            job
        })
        .collect();
    spec.fabric.switch.buffer.size_bytes = 2 << 20;
    spec.fabric.switch.pfc = Some(PfcSpec { xon_offset_bytes: 8_192, ..dynamic_pfc() });
    spec.transport.timeout_ps = 500_000_000;
    spec
}

fn with_watchdog(mut spec: RunSpec, action: StormActionSpec) -> RunSpec {
    let pfc = spec.fabric.switch.pfc.as_mut().expect("it is lossless");
    pfc.watchdog = Some(WatchdogSpec { detection_ps: 200_000_000, restoration_ps: 200_000_000, action });
    spec
}

fn events<'a>(recorder: &'a Recorder, kind: &str) -> Vec<&'a EventRow> {
    recorder.events.iter().filter(|event| event.kind == kind).collect()
}

/// Checks that paths and threads agree on everything.
fn assert_same_on_every_path(spec: &RunSpec) {
    let (summary, recorder) = run(spec);
    let expected = (summary.status, summary.frames_lost, tables(&recorder));
    for (threads, path) in [(1, Path::Exact), (2, Path::Auto), (3, Path::Exact)] {
        let (summary, recorder) = run_with(spec, threads, path);
        assert!((summary.status, summary.frames_lost, tables(&recorder)) == expected, "{threads} {path:?}");
    }
}

#[test]
fn a_ring_of_five_deadlocks_and_every_switch_of_the_circle_is_named() {
    let (summary, recorder) = run(&two_hops_clockwise(5, 2));
    assert_eq!(summary.status, RunStatus::Stalled);
    assert_eq!(summary.frames_lost.total(), 0);
    assert!(summary.jobs.iter().all(|job| job.end_ps.is_none() && job.chunks_complete < job.chunks));
    let circle: Vec<_> = events(&recorder, "pfc_deadlock");
    assert_eq!(circle.len(), 5);
    for (place, event) in circle.iter().enumerate() {
        // Port 2 of s0 leads to s1; the others have the link from their neighbour before them in the list.
        let port = if place == 0 { 2 } else { 3 };
        let expected = format!("port {port} at priority 3 waits for s{} with ", (place + 1) % 5);
        assert_eq!(event.node, format!("s{place}"));
        assert!(event.detail.starts_with(&expected), "{}", event.detail);
    }
    assert_eq!(events(&recorder, "stalled").len(), 5);
    assert!(summary.end_ps < 10_000_000_000, "it ends after its retries: {}", summary.end_ps);
}

#[test]
fn a_deadlock_behind_which_every_queue_pair_gives_up_is_one_as_well() {
    let mut spec = two_hops_clockwise(5, 2);
    spec.transport.retry_count = 0;
    spec.transport.timeout_ps = 20_000_000;
    let (summary, recorder) = run(&spec);
    assert!(!events(&recorder, "qp_failed").is_empty());
    assert_eq!((summary.status, events(&recorder, "pfc_deadlock").len()), (RunStatus::Stalled, 5));
}

#[test]
fn larger_rings_deadlock_alike_and_neighbours_never_do() {
    let (summary, recorder) = run(&two_hops_clockwise(9, 2));
    assert_eq!((summary.status, events(&recorder, "pfc_deadlock").len()), (RunStatus::Stalled, 9));
    let mut one_hop = two_hops_clockwise(9, 2);
    for (host, job) in one_hop.jobs.iter_mut().enumerate() {
        job.hosts = (0..9).map(|rank| rank * 2 + host as u32).collect();
    }
    let (summary, recorder) = run(&one_hop);
    assert_eq!((summary.status, summary.frames_lost.total()), (RunStatus::Complete, 0));
    assert!(recorder.ports.iter().any(|port| port.pfc_tx.unwrap_or(0) > 0), "two hosts share each link");
    assert!(recorder.events.is_empty(), "{:?}", recorder.events);
}

#[test]
fn a_buffer_that_holds_the_whole_load_never_pauses() {
    let mut spec = two_hops_clockwise(5, 1);
    spec.fabric.switch.buffer.size_bytes = 64 << 20;
    let (summary, recorder) = run(&spec);
    assert_eq!((summary.status, summary.frames_lost.total()), (RunStatus::Complete, 0));
    assert!(recorder.events.is_empty());
}

#[test]
fn a_watchdog_that_drops_ends_the_deadlock_and_counts_what_it_costs() {
    let (summary, recorder) = run(&with_watchdog(two_hops_clockwise(5, 2), StormActionSpec::Drop));
    assert_eq!(summary.status, RunStatus::Complete, "{:?}", summary.jobs);
    let lost = summary.frames_lost;
    assert!(lost.pfc_watchdog > 0 && lost.total() == lost.pfc_watchdog, "{lost:?}");
    let ports = |field: fn(&PortRow) -> u64| recorder.ports.iter().map(field).sum::<u64>();
    assert_eq!(ports(|port| port.dropped_watchdog_frames), lost.pfc_watchdog);
    assert!(ports(|port| port.dropped_watchdog_bytes) > 1000 * lost.pfc_watchdog);
    let (storms, restored) = (events(&recorder, "pfc_storm"), events(&recorder, "pfc_restored"));
    assert_eq!(ports(|port| port.pfc_storms.unwrap_or(0)), storms.len() as u64);
    assert!(!storms.is_empty() && restored.len() <= storms.len());
    assert!(storms[0].detail.contains("at priority 3: paused with"), "{}", storms[0].detail);
    assert!(storms[0].time_ps >= 200_000_000, "nothing stands still for the detection time before");
    let chunks = |field: fn(&ChunkRow) -> u64| recorder.chunks.iter().map(field).sum::<u64>();
    assert!(chunks(|chunk| chunk.tx_frames) - chunks(|chunk| chunk.rx_frames) <= lost.pfc_watchdog);
    assert!(chunks(|chunk| chunk.retransmits) >= lost.pfc_watchdog);
}

#[test]
fn a_watchdog_that_forwards_ends_the_deadlock_without_dropping_itself() {
    let (summary, recorder) = run(&with_watchdog(two_hops_clockwise(5, 2), StormActionSpec::Forward));
    assert_eq!((summary.status, summary.frames_lost.pfc_watchdog), (RunStatus::Complete, 0));
    assert!(!events(&recorder, "pfc_storm").is_empty());
    assert!(
        summary.frames_lost.headroom_overrun > 0,
        "the next switch had no room: {:?}",
        summary.frames_lost
    );
}

#[test]
fn a_watchdog_leaves_pauses_alone_that_let_frames_pass() {
    let mut spec = two_hops_clockwise(9, 2);
    for (host, job) in spec.jobs.iter_mut().enumerate() {
        job.hosts = (0..9).map(|rank| rank * 2 + host as u32).collect();
    }
    let (summary, recorder) = run(&with_watchdog(spec, StormActionSpec::Drop));
    assert_eq!((summary.status, summary.frames_lost.total()), (RunStatus::Complete, 0));
    assert!(recorder.events.is_empty() && recorder.ports.iter().all(|port| port.pfc_storms == Some(0)));
}

#[test]
fn deadlocks_and_storms_are_the_same_on_every_path() {
    assert_same_on_every_path(&two_hops_clockwise(5, 2));
    assert_same_on_every_path(&with_watchdog(two_hops_clockwise(5, 2), StormActionSpec::Drop));
    assert_same_on_every_path(&with_watchdog(two_hops_clockwise(5, 2), StormActionSpec::Forward));
}
