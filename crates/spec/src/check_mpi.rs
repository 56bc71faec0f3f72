//! What jobs do as programs of an MPI library.

use crate::check::{require, value};
use crate::{JobSpec, QpMode, RendezvousSpec, RepeatSpec, SpecError, TransportSpec};

/// Collectives in which every rank has a block of its own that goes to nobody.
const OWN_BLOCK: [&str; 2] = ["all-to-all", "all-gather"];
/// Collectives with a root.
const ROOTED: [&str; 5] = ["gather", "scatter", "broadcast", "reduce", "incast"];
/// Most rounds to warm up.
const WARM_UP_ROUNDS_MAX: u32 = 1_000_000;
/// Most payload of a message of the handshake [bytes].
const CONTROL_BYTES_MAX: u64 = 4_096;
/// Longest message that need not be announced [bytes].
const THRESHOLD_BYTES_MAX: u64 = 1 << 50;

pub(crate) fn check_mpi(
    job: &JobSpec,
    transport: &TransportSpec,
    field: &dyn Fn(&str) -> String,
) -> Result<(), SpecError> {
    require(!job.copies_own_block || OWN_BLOCK.contains(&&*job.collective), || {
        let found = format!("true for {:?}", job.collective);
        value(field("copies_own_block"), found, "false, but for all-to-all and all-gather")
    })?;
    require(!job.copies_own_block || job.arrivals.is_none(), || {
        value(field("copies_own_block"), "true for open-loop traffic", "false")
    })?;
    check_rounds(job, field)?;
    job.rendezvous.as_ref().map_or(Ok(()), |rendezvous| check_rendezvous(job, rendezvous, transport, field))
}

/// What rounds have in front of them, between them and different from each other.
fn check_rounds(job: &JobSpec, field: &dyn Fn(&str) -> String) -> Result<(), SpecError> {
    let what = job.arrivals.is_some().then_some("open-loop traffic");
    if let Some(what) = what.or(job.storage.is_some().then_some("storage")) {
        let absent = |name: &str, found: bool, allowed: &str| {
            require(!found, || value(field(name), format!("of {what}, which has no rounds"), allowed))
        };
        absent("warm_up_rounds", job.warm_up_rounds > 0, "0")?;
        absent("root_shift", job.root_shift, "false")?;
        absent("barrier", job.barrier, "false")?;
    }
    require(!job.root_shift || ROOTED.contains(&&*job.collective), || {
        value(
            field("root_shift"),
            format!("true for {:?}", job.collective),
            format!("it with {}", ROOTED.join(", ")),
        )
    })?;
    let most = match job.repeat {
        RepeatSpec::Rounds { .. } => WARM_UP_ROUNDS_MAX,
        // Nothing is measured of it that a beginning could spoil.
        RepeatSpec::UntilOthersEnd {} => 0,
    };
    require(job.warm_up_rounds <= most, || {
        value(field("warm_up_rounds"), job.warm_up_rounds, format!("at most {most}"))
    })
}

fn check_rendezvous(
    job: &JobSpec,
    rendezvous: &RendezvousSpec,
    transport: &TransportSpec,
    field: &dyn Fn(&str) -> String,
) -> Result<(), SpecError> {
    let RendezvousSpec { threshold_bytes, control_bytes } = *rendezvous;
    require(threshold_bytes <= THRESHOLD_BYTES_MAX, || {
        value(field("rendezvous.threshold_bytes"), threshold_bytes, "at most 2^50")
    })?;
    require((1..=CONTROL_BYTES_MAX).contains(&control_bytes), || {
        value(field("rendezvous.control_bytes"), control_bytes, format!("1 to {CONTROL_BYTES_MAX}"))
    })?;
    let message = job.arrivals.is_some().then_some("open-loop traffic");
    if let Some(found) = message.or(job.storage.is_some().then_some("storage")) {
        return Err(value(field("rendezvous"), format!("a handshake of {found}"), "none"));
    }
    require(transport.qp_mode == QpMode::PerPair, || {
        value(
            field("rendezvous"),
            "a handshake with a queue pair for each chunk",
            "none, or qp_mode per-pair",
        )
    })
}
