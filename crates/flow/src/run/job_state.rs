//! State of each job: progress of its transfers, counts of its chunks, time of its last completion.

use super::equal_servers::EqualServers;
use jobs::{JobTimes, Jobs, Progress};
use spec::RunSpec;
use units::Instant;

/// A job.
pub(crate) struct JobState {
    /// All its ranks; transfers and ranks have the numbers of the schedule.
    pub(crate) progress: Progress,
    /// Whether no transfer waits for another, so that the end of one has no consequences and is not counted
    /// in `progress`.
    pub(crate) is_independent: bool,
    /// It is a collective as NCCL runs it.
    pub(crate) is_nccl: bool,
    pub(crate) chunks: u64,
    pub(crate) complete: u64,
    pub(crate) end: Instant,
    /// Why it does not run, as links are down; `None` if it runs.
    pub(crate) stops: Option<String>,
}

impl JobState {
    pub(crate) fn new(
        spec: &RunSpec,
        jobs: &Jobs,
        job: usize,
        servers: &EqualServers,
        stops: Option<String>,
    ) -> Self {
        let (schedule, times) = (&jobs.schedules[job], JobTimes::new(spec, job as u32));
        Self {
            progress: Progress::of_schedule(schedule, spec.jobs[job].hosts.len() as u32, jobs.parts, times),
            is_nccl: spec.jobs[job].work.nccl().is_some(),
            is_independent: schedule.independent_bytes().is_some(),
            chunks: servers.chunks(jobs, job),
            complete: 0,
            end: times.start,
            stops,
        }
    }
}
