//! What a run begins with: the spec checked, the network and the jobs made, and a path wherever data go.

use crate::check::check as check_coverage;
use crate::path::Paths;
use crate::relay::Relays;
use jobs::{Jobs, check_jobs};
use spec::{ChunksObserved, RunSpec, SpecError};

/// That `spec` can be carried out, without doing so.
///
/// # Errors
/// When it cannot, or the model does not cover it.
pub fn check(spec: &RunSpec) -> Result<(), SpecError> {
    spec::check(spec)?;
    check_coverage(spec)?;
    let is_joined = paths::graph(&spec.fabric)?.is_joined_by_switches();
    match check_jobs(spec) {
        Ok(()) if is_joined => Ok(()),
        Ok(()) => jobs_of(spec, &Paths::new(spec)?).map(drop),
        // Nothing numbers the transfers of rings of which only counts are wanted.
        Err(error) if spec.observe.chunks == ChunksObserved::Summary => {
            Relays::find(spec, &mut Paths::new(spec)?).map(drop).ok_or(error)
        }
        Err(error) => Err(error),
    }
}

/// The network of a spec with its paths.
///
/// # Errors
/// When the spec cannot be carried out, or the model does not cover it.
pub(crate) fn paths_of(spec: &RunSpec) -> Result<Paths, SpecError> {
    spec::check(spec)?;
    check_coverage(spec)?;
    Paths::new(spec)
}

/// Its jobs.
///
/// # Errors
/// When one has no schedule that can be listed or numbered, or no path.
pub(crate) fn jobs_of(spec: &RunSpec, paths: &Paths) -> Result<Jobs, SpecError> {
    let mut jobs = Jobs::new(spec);
    for (index, job) in spec.jobs.iter().enumerate() {
        jobs.add_collective(spec, index as u32, job)?;
    }
    paths.check(&jobs)?;
    Ok(jobs)
}
