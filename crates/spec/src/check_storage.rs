//! Checks of storage jobs.

use crate::check::{DURATION_PS_MAX, RATE_BPS_MAX, SpecError, WINDOW_PACKETS_MAX, require, value};
use crate::{JobSpec, LossRecovery, RepeatSpec, StorageLength, StorageSpec, TransportSpec};

/// The collective of a storage job.
pub(crate) const STORAGE: &str = "storage";
/// Size of a logical block: what a block size is a multiple of [bytes].
const LOGICAL_BLOCK_BYTES: u64 = 512;
/// Identifiers of a queue: 16 bits (NVMe base specification 2.0, 3.3.3.1).
const DEPTH_MAX: u32 = 65_535;
/// Operations of a client: they are numbered.
const OPERATIONS_MAX: u64 = 1_000_000_000;
/// Connections that a host may have.
const CONNECTIONS_MAX: u64 = 4_096;
/// Size of a command [bytes].
const COMMAND_BYTES: u64 = 64;
const ALL_PPM: u32 = 1_000_000;

pub(crate) fn check_storage(
    job: &JobSpec,
    transport: &TransportSpec,
    field: &dyn Fn(&str) -> String,
) -> Result<(), SpecError> {
    let is_storage = job.collective == STORAGE;
    let Some(storage) = &job.storage else {
        return require(!is_storage, || value(field("storage"), "none", "what the clients do"));
    };
    require(is_storage, || value(field("collective"), &job.collective, "storage, for a job with `storage`"))?;
    require(job.data_bytes.is_multiple_of(LOGICAL_BLOCK_BYTES), || {
        let found = format!("a block of {} bytes", job.data_bytes);
        value(field("data_bytes"), found, "a multiple of 512 bytes, the logical block")
    })?;
    require(job.arrivals.is_none(), || value(field("arrivals"), "arrivals of a storage job", "none"))?;
    require(job.step_overhead_ps == 0, || value(field("step_overhead_ps"), job.step_overhead_ps, "0"))?;
    let runs_once = matches!(job.repeat, RepeatSpec::UntilOthersEnd {} | RepeatSpec::Rounds { rounds: 1 });
    require(runs_once, || {
        value(field("repeat"), "several rounds of a storage job", "1, or until others end")
    })?;
    check_clients(job, storage, transport, field)?;
    check_length(storage, field)?;
    check_protocol(job, storage, transport, field)
}

fn check_clients(
    job: &JobSpec,
    storage: &StorageSpec,
    transport: &TransportSpec,
    field: &dyn Fn(&str) -> String,
) -> Result<(), SpecError> {
    let ranks = job.hosts.len() as u64;
    let clients = u64::from(storage.clients);
    require((1..ranks).contains(&clients), || {
        value(field("storage.clients"), clients, format!("1 to {}: the rest are targets", ranks - 1))
    })?;
    let most = clients.max(ranks - clients) * u64::from(transport.qps_per_rank_pair);
    require(most <= CONNECTIONS_MAX, || {
        let found = format!("{most} connections of one host");
        value(field("hosts"), found, format!("at most {CONNECTIONS_MAX}"))
    })?;
    require((1..=DEPTH_MAX).contains(&storage.depth), || {
        value(field("storage.depth"), storage.depth, format!("1 to {DEPTH_MAX}"))
    })?;
    require(storage.read_ppm <= ALL_PPM, || {
        value(field("storage.read_ppm"), storage.read_ppm, format!("0 to {ALL_PPM}"))
    })
}

fn check_length(storage: &StorageSpec, field: &dyn Fn(&str) -> String) -> Result<(), SpecError> {
    match storage.length {
        StorageLength::Duration { duration_ps } => {
            require((1..=DURATION_PS_MAX).contains(&duration_ps), || {
                value(field("storage.length.duration_ps"), duration_ps, "more than 0, at most 1,000 s")
            })?;
            require(storage.warm_up_ps < duration_ps, || {
                value(field("storage.warm_up_ps"), storage.warm_up_ps, "less than the duration")
            })
        }
        StorageLength::Operations { operations } => {
            require((1..=OPERATIONS_MAX).contains(&operations), || {
                value(field("storage.length.operations"), operations, format!("1 to {OPERATIONS_MAX}"))
            })?;
            require(storage.warm_up_ps <= DURATION_PS_MAX, || {
                value(field("storage.warm_up_ps"), storage.warm_up_ps, "at most 1,000 s")
            })
        }
    }
}

fn check_protocol(
    job: &JobSpec,
    storage: &StorageSpec,
    transport: &TransportSpec,
    field: &dyn Fn(&str) -> String,
) -> Result<(), SpecError> {
    require(!transport.rate_control.is_delay_based(), || {
        let allowed = "line-rate or dcqcn with storage: data of a READ are not acknowledged one by one";
        value("transport.rate_control", "a control that follows round-trip times", allowed)
    })?;
    require(transport.recovery == LossRecovery::GoBackN, || {
        let allowed = "go_back_n with a storage job: its commands are taken in order";
        value("transport.recovery", format!("{:?}", transport.recovery), allowed)
    })?;
    let in_capsule = job.data_bytes <= storage.in_capsule_bytes && storage.read_ppm < ALL_PPM;
    let capsule_bytes = COMMAND_BYTES + if in_capsule { job.data_bytes } else { 0 };
    require(capsule_bytes <= transport.message_bytes, || {
        let found = format!("a command of {capsule_bytes} bytes with its data");
        value(field("storage.in_capsule_bytes"), found, "commands that fit one message of the transport")
    })?;
    let packets = transport.message_bytes.div_ceil(u64::from(transport.mtu_bytes));
    let most = (u64::from(WINDOW_PACKETS_MAX) / packets.max(1)).min(65_535);
    require((1..=most).contains(&u64::from(storage.outstanding_reads)), || {
        value(field("storage.outstanding_reads"), storage.outstanding_reads, format!("1 to {most}"))
    })?;
    require(storage.service_rate_bps.is_none_or(|rate| (1_000_000..=RATE_BPS_MAX).contains(&rate)), || {
        let found = storage.service_rate_bps.unwrap_or_default();
        value(field("storage.service_rate_bps"), found, "1 Mb/s to 100 Tb/s")
    })?;
    require(storage.service_time_ps <= DURATION_PS_MAX, || {
        value(field("storage.service_time_ps"), storage.service_time_ps, "at most 1,000 s")
    })
}
