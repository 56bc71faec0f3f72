//! Jobs with priorities of their own: scheduling of their classes, and lossless beside lossy ones.

use crate::common::{collective, completion_ps, dynamic_pfc, leaf_spine, run, work};
use proptest::prelude::*;
use spec::{JobSpec, JobSummary, LeafSpine, LossRecovery, RunSpec, RunStatus, SchedulingSpec, TopologySpec};

const MTU_BYTES: u64 = 4096;
const MTU_FRAME_BYTES: u64 = MTU_BYTES + 62;

/// Host `i` of the first leaf sends to host `i` of the second as job `i`, all by the one link to the spine.
fn classes(priorities: &[u8], bytes: impl Fn(usize) -> u64) -> RunSpec {
    let hosts = priorities.len() as u32;
    let mut topology = leaf_spine(hosts);
    if let TopologySpec::LeafSpine(LeafSpine { spines, .. }) = &mut topology {
        *spines = 1;
    }
    let mut spec = collective(topology, 2, "incast", "parallel", MTU_BYTES);
    let job = |(index, &priority): (usize, &u8)| JobSpec {
        name: format!("class{priority}"),
        hosts: vec![hosts + index as u32, index as u32],
        stream: index as u32,
        priority: Some(priority),
        work: work("incast", "parallel", bytes(index)),
        ..spec.jobs[0].clone()
    };
    spec.jobs = priorities.iter().enumerate().map(job).collect();
    spec
}

fn duration_ps(job: &JobSummary) -> u64 {
    job.end_ps.expect("the job completed") - job.start_ps
}

#[test]
fn classes_share_a_port_by_the_weights_of_dwrr() {
    // As much for each as its weight, so that all are busy until the end.
    let packets = [8_000, 4_000, 4_000, 4_000];
    let mut spec = classes(&[1, 2, 3, 4], |job| packets[job] * MTU_BYTES);
    spec.fabric.switch.buffer.size_bytes = 1 << 30;
    let mut quantum_bytes = [10_000; 8];
    quantum_bytes[1] = 20_000;
    spec.fabric.switch.scheduling = SchedulingSpec::Dwrr { quantum_bytes };
    let (summary, _) = run(&spec);
    assert_eq!(summary.status, RunStatus::Complete);
    for ((job, packets), expected) in summary.jobs.iter().zip(packets).zip([159.2, 79.6, 79.6, 79.6]) {
        let gbps = (packets * MTU_FRAME_BYTES * 8_000) as f64 / duration_ps(job) as f64;
        assert!((gbps / expected - 1.0).abs() < 0.01, "{}: {gbps} Gb/s, not {expected}", job.name);
    }
}

#[test]
fn the_highest_class_is_served_as_if_alone_by_strict_priority() {
    let mut spec = classes(&[1, 5], |_| 1_000 * MTU_BYTES);
    spec.fabric.switch.buffer.size_bytes = 1 << 30;
    let (summary, _) = run(&spec);
    let alone = RunSpec { jobs: vec![spec.jobs[1].clone()], ..spec.clone() };
    let (alone, both) = (completion_ps(&run(&alone).0), duration_ps(&summary.jobs[1]));
    assert!(both < alone * 101 / 100 && duration_ps(&summary.jobs[0]) > alone * 19 / 10);
}

#[test]
fn in_an_incast_lossless_classes_lose_nothing_while_lossy_ones_do() {
    let mut spec = classes(&[3, 1, 4, 2], |_| 4_000 * MTU_BYTES);
    spec.transport.recovery = LossRecovery::Selective;
    let mut pfc = dynamic_pfc();
    pfc.priorities = vec![3, 4];
    spec.fabric.switch.pfc = Some(pfc);
    spec.fabric.switch.buffer.lossy_alpha = Some(spec::RatioSpec { numerator: 1, denominator: 64 });
    spec.fabric.switch.buffer.size_bytes = 16 << 20;
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.status, RunStatus::Complete);
    let lost = |priority: u32| -> u64 {
        let of_class = recorder.priorities.iter().filter(|row| row.priority == priority);
        of_class.map(|row| row.dropped_frames).sum()
    };
    assert_eq!((lost(3), lost(4)), (0, 0));
    assert!(lost(1) > 0 && lost(2) > 0);
    let resent = |job: u32| {
        recorder.chunks.iter().filter(|row| row.job == job).map(|row| row.retransmits).sum::<u64>()
    };
    assert_eq!((resent(0), resent(2)), (0, 0));
    assert!(resent(1) > 0 && resent(3) > 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Which of eight priorities a single job has changes nothing that does not name the priority.
    #[test]
    fn the_number_of_an_only_priority_does_not_matter(priority in 0_u8..6, bytes in 1_u64..2_000_000) {
        let mut spec = collective(leaf_spine(4), 8, "all-to-all", "parallel", bytes * 8);
        let (expected, _) = run(&spec);
        spec.jobs[0].priority = Some(priority);
        let (summary, _) = run(&spec);
        prop_assert_eq!(completion_ps(&summary), completion_ps(&expected));
    }
}
