//! Several jobs on the same hosts: they share the ports, not the software; every result is per job.

use crate::common::{collective, collective_of, run, single_switch, storage_work, work};
use record::{ChunkRow, SeriesRow};
use spec::{JobSpec, RepeatSpec, RunSpec, RunStatus, RunSummary, SchedulingSpec, StorageSpec, Work};

/// The same spec with another job like its first, on the same hosts.
fn with_twin(mut spec: RunSpec, change: impl FnOnce(&mut JobSpec)) -> RunSpec {
    let mut twin = spec.jobs[0].clone();
    (twin.name, twin.stream) = ("twin".into(), 1);
    change(&mut twin);
    spec.jobs.push(twin);
    spec
}

/// Duration of a job [ps].
fn duration(summary: &RunSummary, job: usize) -> u64 {
    let job = &summary.jobs[job];
    assert_eq!(job.status, RunStatus::Complete, "{}", job.reason);
    job.end_ps.expect("a complete job has an end") - job.start_ps
}

fn chunks_of(rows: &[ChunkRow], job: u32) -> Vec<&ChunkRow> {
    rows.iter().filter(|row| row.job == job).collect()
}

/// The last delivered bytes of a job [bytes].
fn delivered(rows: &[SeriesRow], job: u32) -> u64 {
    let own = rows.iter().filter(|row| row.metric == "delivered_bytes" && row.job == Some(job));
    own.map(|row| row.value).max().expect("the job is sampled")
}

#[test]
fn two_rings_that_share_every_port_each_take_twice_as_long() {
    let ring = || collective(single_switch(4), 4, "all-reduce", "ring", 64 << 20);
    let alone = duration(&run(&ring()).0, 0);
    let (summary, _) = run(&with_twin(ring(), |_| {}));
    for job in 0..2 {
        let ratio = duration(&summary, job) as f64 / alone as f64;
        assert!((ratio - 2.0).abs() < 0.02, "job {job}: {ratio}");
    }
}

#[test]
fn jobs_of_different_priorities_share_the_ports_of_a_host() {
    let mut spec = collective(single_switch(4), 4, "all-reduce", "ring", 8 << 20);
    spec.fabric.switch.scheduling = SchedulingSpec::Dwrr { quantum_bytes: [4_500; 8] };
    let alone = duration(&run(&spec).0, 0);
    let (summary, _) = run(&with_twin(spec, |job| job.priority = Some(5)));
    for job in 0..2 {
        let ratio = duration(&summary, job) as f64 / alone as f64;
        assert!((1.8..2.05).contains(&ratio), "job {job}: {ratio}");
    }
}

#[test]
fn jobs_of_several_kinds_complete_on_the_same_hosts_and_are_counted_apart() {
    let mut spec = collective(single_switch(6), 4, "all-reduce", "ring", 1 << 20);
    spec.observe.series_interval_ps = 1_000_000;
    spec = with_twin(spec, |job| {
        job.work = work("all-to-all", "parallel", 5 << 18);
        job.hosts = vec![3, 1, 1, 0, 2];
        job.repeat = RepeatSpec::Rounds { rounds: 3 };
        collective_of(job).barrier = true;
    });
    let mut endless = spec.jobs[0].clone();
    (endless.name, endless.stream, endless.repeat) = ("endless".into(), 2, RepeatSpec::UntilOthersEnd {});
    (endless.hosts, endless.start_ps) = (vec![4, 5, 0, 1], 1_000_000);
    spec.jobs.push(endless);
    let (summary, recorder) = run(&spec);
    assert_eq!(summary.jobs.len(), 3);
    assert!(duration(&summary, 0) > 0 && duration(&summary, 1) > 0);
    assert_eq!((chunks_of(&recorder.chunks, 0).len(), chunks_of(&recorder.chunks, 1).len()), (24, 60));
    let payload = |job: u32| -> u64 {
        let enters = |row: &&&ChunkRow| row.src_host != row.dst_host;
        chunks_of(&recorder.chunks, job).iter().filter(enters).map(|row| row.payload_bytes).sum()
    };
    assert_eq!([0, 1].map(|job| delivered(&recorder.series, job)), [0, 1].map(payload));
    assert!(delivered(&recorder.series, 2) > 0);
}

/// A rank that is busy with its message, or copies in memory, does not delay those of another job.
#[test]
fn ranks_of_different_jobs_are_different_processes() {
    let mut spec = collective(single_switch(4), 4, "scatter", "parallel", 4 << 10);
    collective_of(&mut spec.jobs[0]).send_overhead_ps = 5_000_000;
    let spec = with_twin(spec, |_| {});
    let (summary, recorder) = run(&spec);
    assert_eq!(duration(&summary, 0).abs_diff(duration(&summary, 1)) / 1_000_000, 0);
    for job in 0..2 {
        let mut posted: Vec<_> = chunks_of(&recorder.chunks, job).iter().map(|row| row.start_ps).collect();
        posted.sort_unstable();
        assert_eq!(posted, [1, 2, 3].map(|count| Some(count * 5_000_000)), "job {job}");
    }
}

#[test]
fn a_host_may_serve_storage_and_have_ranks() {
    let spec = collective(single_switch(4), 4, "all-to-all", "parallel", 4 << 20);
    let spec = with_twin(spec, |job| {
        job.work = Work::Storage(StorageSpec { read_ppm: 500_000, ..storage_work(2, 4, 40, 64 << 10) });
    });
    let (summary, recorder) = run(&spec);
    assert!(duration(&summary, 0) > 0 && duration(&summary, 1) > 0);
    assert_eq!((chunks_of(&recorder.chunks, 0).len(), chunks_of(&recorder.chunks, 1).len()), (12, 80));
    let mut other = spec.jobs[1].clone();
    (other.name, other.stream) = ("other".into(), 2);
    let refused = RunSpec { jobs: [&spec.jobs[..], &[other]].concat(), ..spec };
    let error = fabricbench_sim::check(&refused).expect_err("one role in storage for each host");
    assert!(error.to_string().contains("storage job \"twin\""), "{error}");
}
