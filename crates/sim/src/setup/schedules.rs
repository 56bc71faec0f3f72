//! Whether what the jobs send can be sent.

use super::switches::check_pins;
use super::{Fabric, Flows};
use jobs::{check_chunks, job_refusal, schedule, shape};
use spec::{JobSpec, LoadBalancing, RunSpec, SpecError};

/// Checks what the jobs will send, without making their chunks unless only those show whether it can be sent.
///
/// # Errors
/// Those of [`Flows::new`], and of pins that name what is not there.
pub(crate) fn check_flows(spec: &RunSpec, fabric: &Fabric) -> Result<(), SpecError> {
    let is_pinned = matches!(spec.fabric.load_balancing, LoadBalancing::Pinned { .. });
    let is_storage = spec.jobs.iter().any(|job| job.storage.is_some());
    if is_pinned || is_storage || !fabric.graph.is_joined_by_switches() {
        return check_pins(spec, fabric, &Flows::new(spec, fabric)?);
    }
    let parts = spec.transport.qps_per_rank_pair;
    let add = |chunks, (job, index)| check_chunks(index, chunks, transfers(spec, index, job)?, parts);
    spec.jobs.iter().zip(0..).try_fold(0, add).map(drop)
}

/// The transfers of the schedule of a job, if it has one; when open-loop messages are offered is drawn to
/// know.
fn transfers(spec: &RunSpec, index: u32, job: &JobSpec) -> Result<u64, SpecError> {
    if job.arrivals.is_some() || job.rendezvous.is_some() || job.root_shift || job.barrier {
        return Ok(schedule(spec, index, job)?.transfers().len() as u64);
    }
    workload::check_schedule(&job.collective, &job.algorithm, &shape(spec, job))
        .map(|pattern| pattern.transfers(job.hosts.len() as u32, job.data_bytes))
        .map_err(|error| job_refusal(index, job, &error))
}
