//! What a run begins with: the spec checked, the network and the jobs made, and a path wherever data go.

use crate::check::check as check_coverage;
use crate::network::Network;
use jobs::{Jobs, QueuePair};
use spec::{RunSpec, SpecError};

/// That `spec` can be carried out, without doing so.
///
/// # Errors
/// When it cannot, or the model does not cover it.
pub fn check(spec: &RunSpec) -> Result<(), SpecError> {
    set_up(spec).map(|_| ())
}

/// The network of a spec, and its jobs.
///
/// # Errors
/// When the spec cannot be carried out, or the model does not cover it.
pub(crate) fn set_up(spec: &RunSpec) -> Result<(Network, Jobs), SpecError> {
    spec::check(spec)?;
    check_coverage(spec)?;
    let network = Network::new(spec)?;
    let mut jobs = Jobs::new(spec);
    for (index, job) in spec.jobs.iter().enumerate() {
        jobs.add_collective(spec, index as u32, job)?;
    }
    check_paths(&network, &jobs)?;
    Ok((network, jobs))
}

/// That there is a path wherever data go.
fn check_paths(network: &Network, jobs: &Jobs) -> Result<(), SpecError> {
    if network.graph.is_joined_by_switches() {
        return Ok(());
    }
    let has_no_path = |pair: &QueuePair| {
        let (from, to) = network.graph.attachments_between(pair.src_host, pair.dst_host, pair.part);
        !pair.is_local() && network.ports([from, to], 0).is_empty()
    };
    match jobs.queue_pairs().find(has_no_path) {
        None => Ok(()),
        Some(pair) => Err(SpecError::Value {
            field: format!("jobs[{}].hosts", pair.job),
            found: format!("host {} cannot reach host {}", pair.src_host, pair.dst_host),
            allowed: "hosts that are joined by switches".into(),
        }),
    }
}
