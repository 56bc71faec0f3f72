//! Checks of storage jobs.

use super::{SpecError, require, value, within};
use crate::{JobSpec, TransportSpec};
use wire::Psn;

/// Connections that a host may have.
const CONNECTIONS_MAX: u64 = 4_096;
/// Size of a command [bytes].
const COMMAND_BYTES: u64 = 64;
const ALL_PPM: u32 = 1_000_000;

pub(super) fn check_storage(
    job: &JobSpec,
    transport: &TransportSpec,
    field: &dyn Fn(&str) -> String,
) -> Result<(), SpecError> {
    let Some(storage) = &job.storage else { return Ok(()) };
    let (ranks, clients) = (job.hosts.len() as u64, u64::from(storage.clients));
    // The rest are targets.
    within(field("storage.clients"), clients, 1..=ranks.saturating_sub(1), "hosts")?;
    let most = clients.max(ranks - clients) * u64::from(transport.qps_per_rank_pair);
    require(most <= CONNECTIONS_MAX, || {
        let found = format!("{most} connections of one host");
        value(field("hosts"), found, format!("at most {CONNECTIONS_MAX}"))
    })?;
    let in_capsule = job.data_bytes <= storage.in_capsule_bytes && storage.read_ppm < ALL_PPM;
    let capsule_bytes = COMMAND_BYTES + if in_capsule { job.data_bytes } else { 0 };
    require(capsule_bytes <= transport.message_bytes, || {
        let found = format!("a command of {capsule_bytes} bytes with its data");
        value(field("storage.in_capsule_bytes"), found, "commands that fit one message of the transport")
    })?;
    let packets = transport.message_bytes.div_ceil(u64::from(transport.mtu_bytes));
    let most = (u64::from(Psn::WINDOW_MAX) / packets).min(65_535);
    within(field("storage.outstanding_reads"), storage.outstanding_reads, 1..=most, "transport.message_bytes")
}
