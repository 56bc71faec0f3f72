//! Checks of the traffic of a spec: collective and open-loop jobs, storage jobs, TCP.

use super::{SpecError, require, unsupported, within};
use crate::{
    CollectiveSpec, JobSpec, NcclConfig, RunSpec, StorageSpec, TCP_WINDOW_SEGMENTS_MAX, TcpSpec,
    TransportSpec, Work,
};
use std::collections::{HashMap, HashSet};
use wire::Psn;

/// Maximum number of packets of a job's data, and thus of each of its chunks: requesters count them in 32
/// bits.
pub const CHUNK_PACKETS_MAX: u64 = (1 << 32) - 2;

pub(super) fn check_jobs(spec: &RunSpec) -> Result<(), SpecError> {
    require(!spec.jobs.is_empty(), || unsupported("jobs", "none", "1 or more"))?;
    let mut streams = HashSet::new();
    let mut storage_of_hosts: HashMap<u32, usize> = HashMap::new();
    for (index, job) in spec.jobs.iter().enumerate() {
        let field = |name: &str| format!("jobs[{index}].{name}");
        require(streams.insert(job.stream), || {
            unsupported(field("stream"), job.stream, "a number that no other job has")
        })?;
        check_hosts(spec, index, job, &mut storage_of_hosts)?;
        check_gpus(spec, job, &field)?;
        check_pattern(job, &field)?;
        check_packets(job, &spec.transport, &field)?;
        match &job.work {
            Work::Collective(collective) => check_round_bytes(job, collective, &field)?,
            Work::Storage(storage) => check_storage(job, storage, &spec.transport, &field)?,
            Work::OpenLoop(_) => {}
        }
    }
    check_priorities(spec)?;
    require(spec.jobs.iter().any(|job| job.repeat.rounds().is_some()), || {
        unsupported(
            "jobs[0].repeat",
            "until-others-end for every job",
            "at least one job that ends by itself",
        )
    })
}

/// Checks that a NIC can schedule all priorities of payload: turns of several packets, intervals between
/// messages and jitter are modelled for one priority only.
fn check_priorities(spec: &RunSpec) -> Result<(), SpecError> {
    let first = spec.priority_of(0);
    let Some(other) = (0..spec.jobs.len()).find(|&job| spec.priority_of(job as u32) != first) else {
        return Ok(());
    };
    let (nic, clocks) = (&spec.fabric.nic, spec.fabric.clocks.as_ref());
    let has_turns = nic.packets_per_turn.is_some_and(|packets| packets > 1);
    let has_intervals = nic.messages.is_some_and(|messages| messages.message_interval_ps > 0);
    let has_jitter = clocks.is_some_and(|clocks| clocks.jitter_ps_max > 0);
    let conflict = [
        ("fabric.nic.packets_per_turn", has_turns),
        ("fabric.nic.messages.message_interval_ps", has_intervals),
        ("fabric.clocks.jitter_ps_max", has_jitter),
    ];
    match conflict.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((field, _)) => {
            let found = format!("{} with `{field}`", spec.priority_of(other as u32));
            Err(unsupported(format!("jobs[{other}].priority"), found, format!("{first}, as of jobs[0]")))
        }
    }
}

/// Checks the hosts of a job. A host may have ranks of several jobs, but a role in one storage job only.
fn check_hosts(
    spec: &RunSpec,
    index: usize,
    job: &JobSpec,
    storage_of_hosts: &mut HashMap<u32, usize>,
) -> Result<(), SpecError> {
    let hosts = spec.fabric.hosts();
    for (rank, &host) in job.hosts.iter().enumerate() {
        let field = format!("jobs[{index}].hosts[{rank}]");
        require(u64::from(host) < hosts, || unsupported(&*field, host, format!("0 to {}", hosts - 1)))?;
        if job.work.storage().is_some() {
            let job = *storage_of_hosts.entry(host).or_insert(index);
            require(job == index, || {
                let text = format!("host {host}, which is in storage job {:?}", spec.jobs[job].name);
                unsupported(&*field, text, "a host without ranks of other storage jobs")
            })?;
        }
    }
    Ok(())
}

/// Checks that each rank of a job on servers has a GPU of its own, and others none.
fn check_gpus(spec: &RunSpec, job: &JobSpec, field: &dyn Fn(&str) -> String) -> Result<(), SpecError> {
    let Some(server) = &spec.fabric.server else {
        require(job.gpus.is_empty(), || unsupported(field("gpus"), "given without servers", "none"))?;
        return require(job.work.nccl().is_none(), || {
            unsupported(field("work.nccl"), "given without servers", "none")
        });
    };
    require(job.gpus.len() == job.hosts.len(), || {
        unsupported(
            field("gpus"),
            format!("{} of {} ranks", job.gpus.len(), job.hosts.len()),
            "one of each rank",
        )
    })?;
    let gpus = server.adapters_of_gpu.len() as u64;
    for (rank, &gpu) in job.gpus.iter().enumerate() {
        let name = format!("gpus[{rank}]");
        require(u64::from(gpu) < gpus, || unsupported(field(&name), gpu, format!("0 to {}", gpus - 1)))?;
    }
    let Some(channels) = job.work.nccl().and_then(NcclConfig::channels) else { return Ok(()) };
    let adapters = channels.channels.iter().flat_map(|channel| [channel.receive_nic, channel.send_nic]);
    match adapters.max().filter(|&most| u32::from(most) >= server.adapters) {
        Some(most) => Err(unsupported(
            field("work.nccl.channels"),
            format!("adapter {most}"),
            format!("0 to {}", server.adapters - 1),
        )),
        None => Ok(()),
    }
}

fn check_pattern(job: &JobSpec, field: &dyn Fn(&str) -> String) -> Result<(), SpecError> {
    let Some(pattern) = job.work.pattern() else { return Ok(()) };
    let ranks = job.hosts.len() as u64;
    within(field("work.pattern.root"), pattern.root, 0..=ranks.saturating_sub(1), &field("hosts"))
}

/// Maximum number of data sizes in a cycle of rounds: each has its own transfers.
const ROUND_SIZES_MAX: usize = 4_096;

/// Checks that a cycle of data sizes has two or more, of which that of the pattern is the largest, and that
/// rounds differ in nothing else.
fn check_round_bytes(
    job: &JobSpec,
    collective: &CollectiveSpec,
    field: &dyn Fn(&str) -> String,
) -> Result<(), SpecError> {
    let Some(bytes) = &collective.round_bytes else { return Ok(()) };
    let refuse = |found: String, allowed: String| unsupported(field("work.round_bytes"), found, allowed);
    let has_count = (2..=ROUND_SIZES_MAX).contains(&bytes.len());
    require(has_count, || refuse(format!("{} sizes", bytes.len()), format!("2 to {ROUND_SIZES_MAX}")))?;
    let planned = job.rounds_planned().unwrap_or(0);
    let is_whole = planned.is_multiple_of(bytes.len() as u32);
    require(is_whole, || {
        let text = format!("{} sizes for {planned} rounds", bytes.len());
        refuse(text, "a number of sizes that divides the rounds".into())
    })?;
    let least = bytes.iter().min();
    require(least > Some(&0), || refuse("0 bytes".into(), "1 byte or more for each round".into()))?;
    let data_bytes = collective.pattern.data_bytes;
    require(bytes.iter().max() == Some(&data_bytes), || {
        unsupported(field("work.pattern.data_bytes"), data_bytes, "the largest of `round_bytes`")
    })?;
    let excluded = [("root_shift", collective.root_shift), ("copies_own_block", collective.copies_own_block)];
    let conflict = excluded.into_iter().find(|(_, is_given)| *is_given);
    conflict.map_or(Ok(()), |(name, _)| {
        Err(unsupported(field(&format!("work.{name}")), "given with `round_bytes`", "one of them"))
    })
}

/// Checks that a requester can count the packets of each chunk, which is no longer than the data of its job.
fn check_packets(
    job: &JobSpec,
    transport: &TransportSpec,
    field: &dyn Fn(&str) -> String,
) -> Result<(), SpecError> {
    let bytes = job.work.transfer_bytes_max();
    let message_packets = transport.message_bytes.div_ceil(transport.mtu_bytes.into());
    let packets = u128::from(bytes.div_ceil(transport.message_bytes)) * u128::from(message_packets);
    require(packets <= u128::from(CHUNK_PACKETS_MAX), || {
        let most = CHUNK_PACKETS_MAX / message_packets * transport.message_bytes;
        let allowed = format!("{most} bytes, at most {CHUNK_PACKETS_MAX} packets");
        let name = if job.work.pattern().is_some() { "work.pattern.data_bytes" } else { "work.block_bytes" };
        unsupported(field(name), bytes, allowed)
    })
}

/// Maximum number of connections per host.
const CONNECTIONS_MAX: u64 = 4_096;
/// Size of an NVMe command [bytes].
const COMMAND_BYTES: u64 = 64;
const ALL_PPM: u32 = 1_000_000;

fn check_storage(
    job: &JobSpec,
    storage: &StorageSpec,
    transport: &TransportSpec,
    field: &dyn Fn(&str) -> String,
) -> Result<(), SpecError> {
    let (ranks, clients) = (job.hosts.len() as u64, u64::from(storage.clients));
    // The rest are targets.
    within(field("work.clients"), clients, 1..=ranks.saturating_sub(1), &field("hosts"))?;
    let most = clients.max(ranks - clients) * u64::from(transport.qps_per_rank_pair);
    require(most <= CONNECTIONS_MAX, || {
        let text = format!("{most} connections of one host");
        unsupported(field("hosts"), text, format!("at most {CONNECTIONS_MAX}"))
    })?;
    let in_capsule = storage.block_bytes <= storage.in_capsule_bytes && storage.read_ppm < ALL_PPM;
    let capsule_bytes = COMMAND_BYTES + if in_capsule { storage.block_bytes } else { 0 };
    require(capsule_bytes <= transport.message_bytes, || {
        let text = format!("a command of {capsule_bytes} bytes with its data");
        unsupported(field("work.in_capsule_bytes"), text, "commands that fit one message of the transport")
    })?;
    let packets = transport.message_bytes.div_ceil(u64::from(transport.mtu_bytes));
    let most = (u64::from(Psn::WINDOW_MAX) / packets).min(65_535);
    within(field("work.outstanding_reads"), storage.outstanding_reads, 1..=most, "transport.message_bytes")
}

pub(super) fn check_tcp(spec: &RunSpec) -> Result<(), SpecError> {
    let hosts = spec.fabric.hosts();
    for (index, tcp) in spec.tcp.iter().enumerate() {
        let field = |name: &str| format!("tcp[{index}].{name}");
        within(field("root"), tcp.root, 0..=(tcp.hosts.len() as u64).saturating_sub(1), "hosts")?;
        for (rank, &host) in tcp.hosts.iter().enumerate() {
            require(u64::from(host) < hosts, || {
                unsupported(field(&format!("hosts[{rank}]")), host, format!("0 to {}", hosts - 1))
            })?;
        }
        require(tcp.rate_bps.is_none() || tcp.outstanding_writes.is_none(), || {
            unsupported(field("outstanding_writes"), "a rate as well", "one of the two".to_owned())
        })?;
        check_endpoints(tcp, &field)?;
    }
    Ok(())
}

fn check_endpoints(tcp: &TcpSpec, field: &dyn Fn(&str) -> String) -> Result<(), SpecError> {
    let mss = u64::from(tcp.mss_bytes());
    within(field("window_bytes"), tcp.window_bytes, mss..=mss * TCP_WINDOW_SEGMENTS_MAX, "mtu_bytes")?;
    within(field("rto_min_ps"), tcp.rto_min_ps, 1..=tcp.rto_max_ps, "rto_max_ps")
}
