//! Link failures during one transfer, compared with closed forms.

use super::run;
use crate::rows::FlowSummary;
use crate::set_up::check;
use crate::watch::Progress;
use jobs::{Observer, Stopped};
use record::{Batch, ChunkRow, EventRow};
use spec::{FailureSpec, FatTree, LeafSpine, LossRecovery, RunSpec, RunStatus, TopologySpec};

/// A full frame with preamble and gap at 400 Gb/s [ps].
const FRAME_PS: u64 = (4096 + 62 + 20) * 20;
const CONVERGENCE: u64 = 20_000_000;
const AT: u64 = 50_000_000;

#[derive(Default)]
struct Told {
    chunks: Vec<ChunkRow>,
    events: Vec<EventRow>,
}

impl Observer<Progress> for Told {
    fn batch(&mut self, batch: Batch) -> Result<(), Stopped> {
        match batch {
            Batch::Chunks(rows) => self.chunks.extend(rows),
            Batch::Events(rows) => self.events.extend(rows),
            _ => {}
        }
        Ok(())
    }

    fn progress(&mut self, _: Progress) -> Result<(), Stopped> {
        Ok(())
    }
}

/// Two leaves of two hosts each, over `spines` spines; host 0 sends `frames` frames to host 2.
fn one_flow(spines: u32, frames: u64) -> RunSpec {
    let mut spec: RunSpec = serde_json::from_str(include_str!("../relay/ring.json")).expect("it is a spec");
    let TopologySpec::FatTree(FatTree { host_link, .. }) = &spec.fabric.topology else {
        panic!("it is a fat tree")
    };
    let link = *host_link;
    spec.fabric.topology = TopologySpec::LeafSpine(LeafSpine {
        leaves: 2,
        hosts_per_leaf: 2,
        spines,
        links_per_spine: 1,
        host_link: link,
        fabric_link: link,
    });
    let job = &mut spec.jobs[0];
    (job.collective, job.algorithm) = ("incast".into(), "parallel".into());
    (job.hosts, job.root, job.data_bytes) = (vec![0, 2], 1, frames * 4096);
    spec.transport.message_bytes = 1 << 30;
    spec.transport.timeout_ps = 500_000_000;
    spec.fabric.convergence_time_ps = CONVERGENCE;
    spec
}

fn down(at_ps: u64, link: &str) -> FailureSpec {
    FailureSpec::LinkDown { at_ps, link: link.into() }
}

fn up(at_ps: u64, link: &str) -> FailureSpec {
    FailureSpec::LinkUp { at_ps, link: link.into() }
}

fn with(spec: &RunSpec, failures: Vec<FailureSpec>) -> (FlowSummary, Told) {
    let mut spec = spec.clone();
    spec.fabric.failures = failures;
    let mut told = Told::default();
    check(&spec).unwrap();
    let summary = run(&spec, &mut told).unwrap();
    (summary, told)
}

/// The spine that the flow crosses, found by the effect of a permanent failure, and the other one.
fn spines(spec: &RunSpec) -> [&'static str; 2] {
    let plain = with(spec, Vec::new()).0.end_ps;
    let is_on = |spine: &str| with(spec, vec![down(AT, &format!("leaf0-{spine}"))]).0.end_ps > plain;
    match ["spine0", "spine1"].map(is_on) {
        [true, false] => ["spine0", "spine1"],
        [false, true] => ["spine1", "spine0"],
        both => panic!("it crosses one of them: {both:?}"),
    }
}

#[test]
fn go_back_n_goes_on_a_round_trip_after_routes_have_converged() {
    let spec = one_flow(2, 4_000);
    let [spine, _] = spines(&spec);
    let plain = with(&spec, Vec::new()).0.end_ps;
    let (summary, told) = with(&spec, vec![down(AT, &format!("leaf0-{spine}"))]);
    // Everything sent until then, and until the NAK arrived, was sent in vain.
    let (least, round_trip) = (plain + CONVERGENCE, 2 * (2 * 400_000 + 3 * 500_000 + 4 * 15_000));
    let most = least + round_trip + 10 * FRAME_PS;
    assert!((least..=most).contains(&summary.end_ps), "{} in {least} to {most}", summary.end_ps);
    let kinds: Vec<_> = told.events.iter().map(|event| (event.time_ps, event.kind)).collect();
    assert_eq!(kinds, [(AT, "link_down"), (AT + CONVERGENCE, "routes_converged")]);
}

#[test]
fn a_failure_elsewhere_changes_nothing() {
    let spec = one_flow(2, 4_000);
    let [_, other] = spines(&spec);
    let (plain, told) = with(&spec, Vec::new());
    for failures in [vec![down(AT, &format!("leaf0-{other}"))], vec![down(1 << 40, "leaf0-spine0")]] {
        let (summary, with_failure) = with(&spec, failures);
        assert_eq!(summary.end_ps, plain.end_ps);
        assert_eq!(format!("{:?}", with_failure.chunks), format!("{:?}", told.chunks));
    }
}

#[test]
fn what_was_sent_whole_waits_for_a_timeout() {
    for recovery in [LossRecovery::GoBackN, LossRecovery::Selective] {
        let mut spec = one_flow(2, 600);
        spec.transport.recovery = recovery;
        let [spine, _] = spines(&one_flow(2, 4_000));
        let (at, last) = (40_000_000, 40_000_000 + 500_000_000);
        let (summary, _) = with(&spec, vec![down(at, &format!("leaf0-{spine}"))]);
        // The last acknowledgement arrives within a round trip, and the remaining frames take no longer than
        // all.
        let (least, most) = (last, last + 600 * FRAME_PS + 20_000_000);
        assert!((least..=most).contains(&summary.end_ps), "{} in {least} to {most}", summary.end_ps);
    }
}

#[test]
fn a_queue_pair_without_a_way_fails_after_its_retries() {
    for spec_retries in [0, 3] {
        let mut spec = one_flow(1, 4_000);
        spec.transport.retry_count = spec_retries;
        let (summary, told) = with(&spec, vec![down(AT, "leaf0-spine0")]);
        assert_eq!((summary.status, summary.jobs[0].chunks_failed), (RunStatus::Incomplete, 1));
        let failed = told.events.iter().find(|event| event.kind == "qp_failed").expect("it is told");
        let last = AT + 500_000_000 * (u64::from(spec_retries) + 1);
        assert!(failed.time_ps.abs_diff(last) < 10_000_000, "{} {last}", failed.time_ps);
        assert_eq!(summary.end_ps, failed.time_ps);
        assert_eq!(told.chunks.len(), 1);
        assert!(summary.jobs[0].reason.contains("used up its"), "{}", summary.jobs[0].reason);
    }
}

#[test]
fn a_repaired_link_carries_it_again_after_the_timeouts_that_it_takes() {
    let spec = one_flow(1, 600);
    let up_at = 1_200_000_000;
    let (summary, _) = with(&spec, vec![down(40_000_000, "leaf0-spine0"), up(up_at, "leaf0-spine0")]);
    // Timeouts at 540, 1040 and 1540 us.
    let (least, most) = (1_540_000_000, 1_540_000_000 + 600 * FRAME_PS + 20_000_000);
    assert_eq!(summary.status, RunStatus::Complete);
    assert!((least..=most).contains(&summary.end_ps), "{} in {least} to {most}", summary.end_ps);
}

#[test]
fn a_slow_link_takes_longer_for_what_is_left() {
    let spec = one_flow(1, 4_000);
    let plain = with(&spec, Vec::new()).0.end_ps;
    let slow = |at_ps, rate_bps| FailureSpec::LinkRate { at_ps, link: "leaf0-spine0".into(), rate_bps };
    let (summary, _) = with(&spec, vec![slow(AT, 100_000_000_000), slow(2 * AT, 400_000_000_000)]);
    // A quarter of the rate for 50 us: three quarters of that are lost.
    assert!(summary.end_ps.abs_diff(plain + AT * 3 / 4) <= 2, "{} {plain}", summary.end_ps);
}

#[test]
fn acknowledgements_that_are_lost_cost_a_timeout_at_the_end_alone() {
    // Data and acknowledgements cross the same spine.
    let spec = one_flow(1, 1_000);
    let (plain, told) = with(&spec, Vec::new());
    let delivered = told.chunks[0].delivered_ps.expect("it is complete");
    // The cable to the spine fails when data have passed it and their acknowledgement has not.
    let (at, up_at) = (delivered + 400_000, delivered + 10_000_000);
    let (summary, told) = with(&spec, vec![down(at, "leaf0-spine0"), up(up_at, "leaf0-spine0")]);
    assert_eq!(told.chunks[0].delivered_ps, Some(delivered));
    assert!(summary.end_ps > plain.end_ps + 400_000_000, "{} {}", summary.end_ps, plain.end_ps);
}
