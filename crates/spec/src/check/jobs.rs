//! Checks of jobs.

use super::storage::check_storage;
use super::{SpecError, require, value, within};
use crate::{JobSpec, RunSpec, TransportSpec};
use std::collections::{HashMap, HashSet};

/// The most packets that the data of a job may be cut into, and so each chunk of it: requesters count them in
/// 32 bits.
pub const CHUNK_PACKETS_MAX: u64 = (1 << 32) - 2;

pub(super) fn check_jobs(spec: &RunSpec) -> Result<(), SpecError> {
    require(!spec.jobs.is_empty(), || value("jobs", "none", "1 or more"))?;
    let mut streams = HashSet::new();
    let mut jobs_of_hosts: HashMap<u32, usize> = HashMap::new();
    for (index, job) in spec.jobs.iter().enumerate() {
        let field = |name: &str| format!("jobs[{index}].{name}");
        require(streams.insert(job.stream), || {
            value(field("stream"), job.stream, "a number that no other job has")
        })?;
        check_hosts(spec, index, job, &mut jobs_of_hosts)?;
        within(field("root"), job.root, 0..=(job.hosts.len() as u64).saturating_sub(1), "hosts")?;
        check_packets(job, &spec.transport, &field)?;
        check_storage(job, &spec.transport, &field)?;
    }
    require(spec.jobs.iter().any(|job| job.repeat.rounds().is_some()), || {
        value("jobs[0].repeat", "until-others-end for every job", "at least one job that ends by itself")
    })
}

fn check_hosts(
    spec: &RunSpec,
    index: usize,
    job: &JobSpec,
    jobs_of_hosts: &mut HashMap<u32, usize>,
) -> Result<(), SpecError> {
    let hosts = spec.fabric.topology.hosts();
    for (rank, &host) in job.hosts.iter().enumerate() {
        let place = format!("jobs[{index}].hosts[{rank}]");
        require(u64::from(host) < hosts, || value(&*place, host, format!("0 to {}", hosts - 1)))?;
        let there = *jobs_of_hosts.entry(host).or_insert(index);
        require(there == index, || {
            let found = format!("host {host} already has a rank of {:?}", spec.jobs[there].name);
            value(&*place, found, "a host without ranks of other jobs")
        })?;
    }
    Ok(())
}

/// That no chunk can have more packets than a requester counts: none is longer than the data of its job.
fn check_packets(
    job: &JobSpec,
    transport: &TransportSpec,
    field: &dyn Fn(&str) -> String,
) -> Result<(), SpecError> {
    let message_packets = transport.message_bytes.div_ceil(transport.mtu_bytes.into());
    let packets = u128::from(job.data_bytes.div_ceil(transport.message_bytes)) * u128::from(message_packets);
    require(packets <= u128::from(CHUNK_PACKETS_MAX), || {
        let most = CHUNK_PACKETS_MAX / message_packets * transport.message_bytes;
        let allowed = format!("{most} bytes, at most {CHUNK_PACKETS_MAX} packets");
        value(field("data_bytes"), job.data_bytes, allowed)
    })
}
