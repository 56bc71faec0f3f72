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
        check_round_bytes(job, &field)?;
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

/// The most data sizes of a cycle of rounds: each of them has transfers of its own.
const ROUND_SIZES_MAX: usize = 4_096;

/// That a cycle of data sizes names two or more, of which `data_bytes` is the largest, and that nothing
/// else makes rounds differ.
fn check_round_bytes(job: &JobSpec, field: &dyn Fn(&str) -> String) -> Result<(), SpecError> {
    let Some(bytes) = &job.round_bytes else { return Ok(()) };
    let has_count = (2..=ROUND_SIZES_MAX).contains(&bytes.len());
    require(has_count, || {
        value(field("round_bytes"), format!("{} sizes", bytes.len()), format!("2 to {ROUND_SIZES_MAX}"))
    })?;
    let planned = job.rounds_planned().unwrap_or(0);
    let is_whole = planned.is_multiple_of(bytes.len() as u32);
    require(is_whole, || {
        let found = format!("{} sizes for {planned} rounds", bytes.len());
        value(field("round_bytes"), found, "a number of sizes that divides the rounds")
    })?;
    let least = bytes.iter().min();
    require(least > Some(&0), || value(field("round_bytes"), "0 bytes", "1 byte or more for each round"))?;
    require(bytes.iter().max() == Some(&job.data_bytes), || {
        value(field("data_bytes"), job.data_bytes, "the largest of `round_bytes`")
    })?;
    let excluded = [
        ("arrivals", job.arrivals.is_some()),
        ("storage", job.storage.is_some()),
        ("root_shift", job.root_shift),
        ("copies_own_block", job.copies_own_block),
    ];
    let found = excluded.into_iter().find(|(_, is_given)| *is_given);
    found.map_or(Ok(()), |(name, _)| Err(value(field(name), "given with `round_bytes`", "one of them")))
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
