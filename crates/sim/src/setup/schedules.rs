//! Whether what the jobs send can be sent.

use super::switches::check_pins;
use super::{Fabric, Flows};
use jobs::check_jobs;
use spec::{LoadBalancing, RunSpec, SpecError};

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
    check_jobs(spec)
}
