//! What a run begins with: the spec checked, the network and the jobs made, and a path wherever data go.

use crate::check::check as check_coverage;
use crate::path::Paths;
use jobs::{Jobs, check_jobs};
use spec::{RunSpec, SpecError};

/// That `spec` can be carried out, without doing so.
///
/// # Errors
/// When it cannot, or the model does not cover it.
pub fn check(spec: &RunSpec) -> Result<(), SpecError> {
    spec::check(spec)?;
    check_coverage(spec)?;
    match paths::graph(&spec.fabric)?.is_joined_by_switches() {
        true => check_jobs(spec),
        false => set_up(spec).map(drop),
    }
}

/// The network of a spec with its paths, and its jobs.
///
/// # Errors
/// When the spec cannot be carried out, or the model does not cover it.
pub(crate) fn set_up(spec: &RunSpec) -> Result<(Paths, Jobs), SpecError> {
    spec::check(spec)?;
    check_coverage(spec)?;
    let paths = Paths::new(spec)?;
    let mut jobs = Jobs::new(spec);
    for (index, job) in spec.jobs.iter().enumerate() {
        jobs.add_collective(spec, index as u32, job)?;
    }
    paths.check(&jobs)?;
    Ok((paths, jobs))
}
