//! Checks that the traffic of the jobs is valid.

use super::switches::check_pins;
use super::{Fabric, Flows};
use jobs::check_jobs;
use spec::{LoadBalancing, RunSpec, SpecError};

/// Checks the traffic of the jobs. Makes their chunks only if the check requires them.
///
/// # Errors
/// Those of [`Flows::new`], and of pins that name an item that does not exist.
pub(crate) fn check_flows(spec: &RunSpec, fabric: &Fabric) -> Result<(), SpecError> {
    let is_pinned = matches!(spec.fabric.load_balancing, LoadBalancing::Pinned { .. });
    let is_storage = spec.jobs.iter().any(|job| job.storage.is_some());
    if is_pinned || is_storage || !fabric.graph.is_joined_by_switches() {
        return check_pins(spec, fabric, &Flows::new(spec, fabric)?);
    }
    check_jobs(spec)
}
