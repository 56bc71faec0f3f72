//! NICs whose throughput changes in the course of a run, against closed forms.

use crate::common::{
    collective, completion_ps, dynamic_pfc, pattern_of, run, run_in_full, run_with, single_switch, tables,
};
use fabricbench_sim::Path;
use spec::{FailureSpec, ImpairmentSpec, NicDirection, RunSpec, RunStatus};

const FRAMES: u64 = 40_000;
/// A full frame on a link of 400 Gb/s, preamble and gap included [ps].
const FRAME_PS: u64 = (4096 + 62 + 20) * 20;

/// Host 0 sends one message to host 1 over one switch.
fn one_flow(changes: &[(u64, u32, u32)]) -> RunSpec {
    let mut spec = collective(single_switch(2), 2, "incast", "parallel", FRAMES * 4096);
    pattern_of(&mut spec.jobs[0]).root = 1;
    spec.fabric.switch.pfc = Some(dynamic_pfc());
    let change = |&(at_ps, host, throughput_ppm): &_| FailureSpec::NicThroughput {
        at_ps,
        host,
        throughput_ppm,
        direction: NicDirection::Both,
    };
    spec.fabric.failures = changes.iter().map(change).collect();
    spec
}

/// Sender or receiver, a quarter of the rate costs three times the time for which it lasts.
#[test]
fn a_nic_at_a_quarter_for_a_while_costs_three_quarters_of_that_while() {
    let full = completion_ps(&run(&one_flow(&[])).0);
    let (begin, lasts) = (500_000_000, 800_000_000);
    for host in [0, 1] {
        let (summary, recorder) = run(&one_flow(&[(begin, host, 250_000), (begin + lasts, host, 1_000_000)]));
        assert_eq!((summary.status, summary.frames_lost.total()), (RunStatus::Complete, 0));
        let cost = completion_ps(&summary) - full;
        // What the receive buffer holds at the end of that time is taken out at line rate; 2 MiB last 42 us.
        assert!(cost.abs_diff(lasts * 3 / 4) < 50_000_000 + 8 * FRAME_PS, "{cost} with host {host} slow");
        let paused: u64 =
            recorder.ports.iter().filter(|port| port.node == "leaf0").filter_map(|port| port.paused_ps).sum();
        assert_eq!(paused > lasts / 2, host == 1, "a slow receiver pauses the switch: {paused}");
        let events: Vec<_> = recorder.events.iter().map(|event| (event.time_ps, event.kind)).collect();
        assert_eq!(events, [(begin, "nic_throughput"), (begin + lasts, "nic_throughput")]);
        assert_eq!(recorder.events[0].detail, format!("host{host}, 25 % of line rate from now on"));
    }
}

#[test]
fn from_the_start_it_is_the_impairment_of_a_plan() {
    for host in [0, 1] {
        let mut impaired = one_flow(&[]);
        impaired.fabric.nic.impairments =
            vec![ImpairmentSpec { host, throughput_ppm: 600_000, direction: NicDirection::Both }];
        let changed = run(&one_flow(&[(0, host, 600_000)])).1;
        assert_eq!(format!("{:?}", changed.chunks), format!("{:?}", run(&impaired).1.chunks));
    }
}

/// Host 0 sends and host 1 receives: a NIC that is slow in the other direction changes nothing.
#[test]
fn a_direction_slows_only_what_goes_that_way() {
    let with = |host, direction| {
        let mut spec = one_flow(&[]);
        spec.fabric.nic.impairments = vec![ImpairmentSpec { host, throughput_ppm: 500_000, direction }];
        format!("{:?}", run(&spec).1.chunks)
    };
    let (whole, both) = (format!("{:?}", run(&one_flow(&[])).1.chunks), NicDirection::Both);
    assert_eq!(with(0, NicDirection::Send), with(0, both));
    assert_eq!(with(1, NicDirection::Receive), with(1, both));
    assert_eq!(with(0, NicDirection::Receive), whole);
    // All that arrives, be it data or nothing but acknowledgements, keeps its time when only sending of data
    // is slow.
    assert_eq!(with(1, NicDirection::Send), whole);
    assert_ne!(with(0, both), whole);
}

/// From 500 us on the NIC of host 1 is slow in one direction, from 900 us on in the other: a change counts
/// for both.
#[test]
fn a_change_of_direction_ends_the_one_before() {
    let change = |at_ps, throughput_ppm, direction| FailureSpec::NicThroughput {
        at_ps,
        host: 1,
        throughput_ppm,
        direction,
    };
    let mut spec = one_flow(&[]);
    let begins = change(500_000_000, 250_000, NicDirection::Receive);
    spec.fabric.failures = vec![begins.clone(), change(900_000_000, 250_000, NicDirection::Send)];
    let (_, recorder) = run(&spec);
    assert_eq!(recorder.events[0].detail, "host1, 25 % of line rate, receiving from now on");
    let turned = format!("{:?}", recorder.chunks);
    spec.fabric.failures = vec![begins, change(900_000_000, 1_000_000, NicDirection::Both)];
    assert_eq!(turned, format!("{:?}", run(&spec).1.chunks));
}

#[test]
fn a_change_that_comes_when_all_is_done_changes_nothing() {
    let plain = format!("{:?}", run(&one_flow(&[])).1.chunks);
    assert_eq!(plain, format!("{:?}", run(&one_flow(&[(900_000_000_000, 1, 1_000)])).1.chunks));
}

#[test]
fn a_change_is_the_same_on_every_path_and_where_time_is_skipped() {
    let mut spec =
        one_flow(&[(400_000_000, 1, 500_000), (1_000_000_000, 1, 800_000), (1_500_000_000, 0, 300_000)]);
    spec.observe.series_points = 20;
    let (summary, recorder) = run(&spec);
    assert!(summary.fast_forward_ps > 0);
    let expected = tables(&recorder);
    assert_eq!(tables(&run_in_full(&spec).1), expected);
    for (threads, path) in [(1, Path::Exact), (2, Path::Auto)] {
        assert_eq!(tables(&run_with(&spec, threads, path).1), expected);
    }
}

#[test]
fn a_host_that_is_not_there_is_refused() {
    let error = fabricbench_sim::check(&one_flow(&[(0, 7, 500_000)])).expect_err("no such host").to_string();
    assert_eq!(error, "fabric.failures[0].host: host 7; allowed: hosts 0 to 1 of this topology");
}
