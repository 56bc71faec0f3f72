//! Rejects specs that the flow model cannot run, by field: unsupported features, here; possible PFC
//! deadlocks, where ports pause each other in a cycle (`pause_cycles`); delays to which real senders would
//! react (`delays`).

pub(crate) mod delays;
pub(crate) mod pause_cycles;

use spec::{
    FabricSpec, FailureSpec, JobSpec, LinkLayerSpec, LoadBalancing, LossRecovery, QpType, RateControlSpec,
    RunSpec, SpecError, unsupported,
};

/// Checks that the model covers every field.
///
/// # Errors
/// The first field that it does not cover.
pub(crate) fn check(spec: &RunSpec) -> Result<(), SpecError> {
    check_fabric(&spec.fabric)?;
    check_buffers(spec)?;
    // Packets that overtake others cause resends, so a run of packets takes many times as long.
    let resends = is_sprayed(spec) && spec.transport.recovery == LossRecovery::GoBackN;
    refuse(resends, "transport.recovery", "go-back-n, where packets are sprayed", "selective")?;
    check_unreliable(spec)?;
    let is_limited = matches!(spec.transport.rate_control, RateControlSpec::Fixed(_));
    refuse(is_limited, "transport.rate_control", "fixed", "another: flows share links equally")?;
    refuse(!spec.tcp.is_empty(), "tcp", "TCP traffic", "none: flows have no congestion window")?;
    let has_classes = spec.data_priorities().len() > 1;
    refuse(has_classes, "jobs", "jobs of several priorities", "one priority: flows share links equally")?;
    spec.jobs.iter().enumerate().try_for_each(|(index, job)| check_job(index, job))
}

/// Whether each frame may take a different path.
pub(crate) const fn is_sprayed(spec: &RunSpec) -> bool {
    matches!(
        spec.fabric.load_balancing,
        LoadBalancing::SprayRandom {} | LoadBalancing::SprayRoundRobin {} | LoadBalancing::Adaptive {}
    )
}

/// Whether switches drop data when their buffer is full.
fn is_lossy(spec: &RunSpec) -> bool {
    let pfc = spec.fabric.switch.pfc.as_ref();
    pfc.is_none_or(|pfc| !pfc.priorities.contains(&spec.priority_of(0)))
}

fn check_fabric(fabric: &FabricSpec) -> Result<(), SpecError> {
    let is_infiniband = matches!(fabric.link_layer, LinkLayerSpec::Infiniband { .. });
    let unknown = match fabric.load_balancing {
        LoadBalancing::Ecmp { .. }
        | LoadBalancing::Weighted { .. }
        | LoadBalancing::Pinned { .. }
        | LoadBalancing::SprayRandom {}
        | LoadBalancing::SprayRoundRobin {}
        | LoadBalancing::Adaptive {} => None,
        LoadBalancing::Flowlet { .. } => Some("flowlet"),
        LoadBalancing::DModK {} => Some("d-mod-k"),
    };
    let scheduled = fabric.switch.scheduled.is_some();
    refuse(is_infiniband, "fabric.link_layer", "infiniband", "ethernet: flows have no credits")?;
    refuse(
        unknown.is_some(),
        "fabric.load_balancing",
        unknown.unwrap_or_default(),
        "ecmp, weighted, pinned, spray-random, spray-round-robin, adaptive",
    )?;
    refuse(!fabric.switch.markers.is_empty(), "fabric.switch.markers", "colours of frames", "none")?;
    for (field, set_up) in fabric.set_ups() {
        let wred = set_up.ecn.and_then(|ecn| ecn.wred);
        // Without markers all frames are green, and marks have no effect in this model.
        let drops = wred.is_some_and(|wred| wred.green.is_some_and(|green| !green.ecn));
        refuse(drops, &format!("{field}.ecn.wred"), "WRED that drops green frames", "WRED that marks them")?;
    }
    refuse(scheduled, "fabric.switch.scheduled", "scheduled switches", "none: flows have no cells")?;
    refuse(fabric.nic.drain_rate_bps.is_some(), "fabric.nic.drain_rate_bps", "a drain rate", "none")?;
    refuse(fabric.nic.messages.is_some(), "fabric.nic.messages", "a cost of each message", "none")?;
    let (turns, allowed) = ("turns of several packets", "1: flows have none");
    refuse(fabric.nic.packets_per_turn.is_some(), "fabric.nic.packets_per_turn", turns, allowed)?;
    refuse(!fabric.chips.is_empty(), "fabric.chips", "several switches in one chip", "none")?;
    refuse(fabric.clocks.is_some(), "fabric.clocks", "clocks of hosts", "none")?;
    refuse(!fabric.nic.impairments.is_empty(), "fabric.nic.impairments", "impairments", "none")?;
    check_failures(fabric)
}

/// Failures are those with which the run starts, after routes have converged.
fn check_failures(fabric: &FabricSpec) -> Result<(), SpecError> {
    for (index, failure) in fabric.failures.iter().enumerate() {
        let (kind, is_covered) = match failure {
            FailureSpec::LinkDown { .. } => ("links that go down", true),
            FailureSpec::SwitchDown { .. } => ("switches that go down", true),
            FailureSpec::LinkRate { .. } => ("links that change their rate", true),
            FailureSpec::LinkUp { .. } | FailureSpec::SwitchUp { .. } => ("repairs", false),
            FailureSpec::BitErrors { .. } | FailureSpec::FrameLoss { .. } => ("lost frames", false),
            FailureSpec::NicThroughput { .. } => ("slow adapters", false),
        };
        let allowed = "links and switches that are down, or links of another rate, from the start";
        refuse(!is_covered, &format!("fabric.failures[{index}].kind"), kind, allowed)?;
        refuse(failure.at_ps() > 0, &format!("fabric.failures[{index}].at_ps"), kind, "0: from the start")?;
    }
    let cuts = |failure: &FailureSpec| !matches!(failure, FailureSpec::LinkRate { .. });
    let loses = fabric.failures.iter().any(cuts) && fabric.convergence_time_ps > 0;
    let allowed = "0 with links or switches that are down: flows lose no packets";
    refuse(loses, "fabric.convergence_time_ps", "time until routes change", allowed)
}

/// Buffers affect flows that can lose frames. If PFC applies to data, the division of buffers has no effect.
fn check_buffers(spec: &RunSpec) -> Result<(), SpecError> {
    let (fabric, is_lossy) = (&spec.fabric, is_lossy(spec));
    let has_pools = is_lossy && fabric.switch.buffer.pools.is_some();
    let has_settings = is_lossy && !fabric.switch_settings.is_empty();
    refuse(has_pools, "fabric.switch.buffer.pools", "pools with lossy data", "none, or data with PFC")?;
    let settings = "switches with settings of their own and lossy data";
    refuse(has_settings, "fabric.switch_settings", settings, "none, or data with PFC")
}

/// Unreliable connections complete as reliable ones only if no frame is lost or overtaken.
fn check_unreliable(spec: &RunSpec) -> Result<(), SpecError> {
    let drops = spec.transport.connection == QpType::Uc && (is_lossy(spec) || is_sprayed(spec));
    let allowed = "rc, or data with PFC and load balancing by queue pair";
    refuse(drops, "transport.connection", "uc, where frames may be lost or overtaken", allowed)
}

fn check_job(index: usize, job: &JobSpec) -> Result<(), SpecError> {
    let field = |name: &str| format!("jobs[{index}].{name}");
    refuse(job.work.storage().is_some(), &field("work.kind"), "a storage job", "none")?;
    if let Some(collective) = job.work.collective() {
        refuse(collective.rendezvous.is_some(), &field("work.rendezvous"), "a handshake", "none")?;
        refuse(collective.barrier, &field("work.barrier"), "true", "false")?;
        refuse(collective.copies_own_block, &field("work.copies_own_block"), "true", "false")?;
        let computes = collective.compute_ps > 0;
        refuse(computes, &field("work.compute_ps"), "time to compute in each round", "0")?;
    }
    let repeats = job.rounds_planned() != Some(1);
    refuse(repeats, &field("repeat"), "several rounds", "one round, without rounds to warm up")
}

fn refuse(is_refused: bool, field: &str, value: &str, allowed: &str) -> Result<(), SpecError> {
    let error = || unsupported(field, value, format!("{allowed} (the flow model covers no more)"));
    if is_refused { Err(error()) } else { Ok(()) }
}
