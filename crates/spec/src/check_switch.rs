//! Checks of what a switch is told: buffer, scheduling, PFC, ECN and the priorities that traffic uses.

use crate::check::{SpecError, require, value};
use crate::{
    DynamicEcnSpec, EcnSpec, FabricSpec, PfcSpec, PrioritySpec, RatioSpec, RunSpec, SchedulingSpec, XoffSpec,
};
use std::ops::RangeInclusive;

const PRIORITIES: u8 = 8;
/// A control interval of dynamic ECN [ps]: 1 us to 1 s.
const CONTROL_INTERVAL_PS: RangeInclusive<u64> = 1_000_000..=1_000_000_000_000;
/// How far dynamic ECN may raise the thresholds, at most.
const ECN_SCALE_MAX: u64 = 1_000;
/// All, in parts per million.
const WHOLE_PPM: u32 = 1_000_000;

/// Checks the switches, and that PFC and ECN hold for priorities that traffic uses.
pub(crate) fn check_switch(spec: &RunSpec) -> Result<(), SpecError> {
    check_priorities(&spec.transport.priorities)?;
    check_buffer(&spec.fabric)?;
    let used = used_priorities(spec);
    if let Some(pfc) = &spec.fabric.switch.pfc {
        check_pfc(pfc)?;
        check_used("fabric.switch.pfc.priorities", &pfc.priorities, &used)?;
    }
    if let Some(ecn) = &spec.fabric.switch.ecn {
        check_ecn(ecn)?;
        check_used("fabric.switch.ecn.priorities", &ecn.priorities, &used)?;
    }
    Ok(())
}

/// There is a queue for each of eight priorities (IEEE 802.1Q).
fn check_priorities(priorities: &PrioritySpec) -> Result<(), SpecError> {
    for (name, priority) in [("data", priorities.data), ("ack", priorities.ack), ("cnp", priorities.cnp)] {
        require(priority < PRIORITIES, || value(format!("transport.priorities.{name}"), priority, "0 to 7"))?;
    }
    Ok(())
}

fn used_priorities(spec: &RunSpec) -> Vec<u8> {
    let PrioritySpec { data, ack, cnp } = spec.transport.priorities;
    let mut used = vec![data, ack];
    used.extend(spec.tcp.iter().map(|tcp| tcp.priority));
    if spec.transport.rate_control.has_cnps() {
        used.push(cnp);
    }
    used.sort_unstable();
    used.dedup();
    used
}

fn check_used(field: &str, chosen: &[u8], used: &[u8]) -> Result<(), SpecError> {
    require(!chosen.is_empty(), || value(field, "none", "1 or more"))?;
    for (place, priority) in chosen.iter().enumerate() {
        let path = || format!("{field}[{place}]");
        require(used.contains(priority), || {
            value(path(), format!("priority {priority}, which no traffic uses"), format!("{used:?}"))
        })?;
        require(!chosen[..place].contains(priority), || {
            value(path(), format!("priority {priority} twice"), "each priority once")
        })?;
    }
    Ok(())
}

fn check_buffer(fabric: &FabricSpec) -> Result<(), SpecError> {
    let buffer = &fabric.switch.buffer;
    require(buffer.size_bytes > 0, || value("fabric.switch.buffer.size_bytes", 0, "1 or more"))?;
    require((1..=buffer.size_bytes).contains(&buffer.cell_bytes), || {
        value("fabric.switch.buffer.cell_bytes", buffer.cell_bytes, "1 to the size of the buffer")
    })?;
    check_ratio("fabric.switch.buffer.lossy_alpha", buffer.lossy_alpha)?;
    if let SchedulingSpec::Dwrr { quantum_bytes } = &fabric.switch.scheduling {
        for (priority, &quantum) in quantum_bytes.iter().enumerate() {
            let field = format!("fabric.switch.scheduling.quantum_bytes[{priority}]");
            require((1..=1 << 30).contains(&quantum), || value(field, quantum, "1 B to 1 GiB"))?;
        }
    }
    Ok(())
}

fn check_ratio(field: &str, ratio: Option<RatioSpec>) -> Result<(), SpecError> {
    let Some(RatioSpec { numerator, denominator }) = ratio else { return Ok(()) };
    require(numerator > 0 && denominator > 0, || {
        value(field, format!("{numerator}/{denominator}"), "a ratio above 0")
    })
}

fn check_pfc(pfc: &PfcSpec) -> Result<(), SpecError> {
    require(pfc.quanta > 0, || value("fabric.switch.pfc.quanta", 0, "1 or more"))?;
    if let XoffSpec::Dynamic { alpha } = pfc.xoff {
        check_ratio("fabric.switch.pfc.xoff.alpha", Some(alpha))?;
    }
    let Some(watchdog) = pfc.watchdog else { return Ok(()) };
    for (name, time) in [("detection", watchdog.detection_ps), ("restoration", watchdog.restoration_ps)] {
        let field = format!("fabric.switch.pfc.watchdog.{name}_ps");
        require(time > 0, || value(field, time, "more than 0"))?;
    }
    Ok(())
}

fn check_ecn(ecn: &EcnSpec) -> Result<(), SpecError> {
    require(ecn.kmin_bytes <= ecn.kmax_bytes, || {
        let found = format!("{} above kmax of {}", ecn.kmin_bytes, ecn.kmax_bytes);
        value("fabric.switch.ecn.kmin_bytes", found, "at most kmax")
    })?;
    require(ecn.pmax_ppm <= WHOLE_PPM, || {
        value("fabric.switch.ecn.pmax_ppm", ecn.pmax_ppm, "at most 1000000")
    })?;
    require(ecn.reference_rate_bps != Some(0), || {
        value("fabric.switch.ecn.reference_rate_bps", 0, "more than 0")
    })?;
    ecn.dynamic.as_ref().map_or(Ok(()), check_dynamic_ecn)
}

fn check_dynamic_ecn(dynamic: &DynamicEcnSpec) -> Result<(), SpecError> {
    let check = |name: &str, found: u64, allowed: RangeInclusive<u64>| {
        require(allowed.contains(&found), || {
            let field = format!("fabric.switch.ecn.dynamic.{name}");
            value(field, found, format!("{} to {}", allowed.start(), allowed.end()))
        })
    };
    let whole = u64::from(WHOLE_PPM);
    check("interval_ps", dynamic.interval_ps, CONTROL_INTERVAL_PS)?;
    check("scale_min_ppm", dynamic.scale_min_ppm, 1..=whole)?;
    check("scale_max_ppm", dynamic.scale_max_ppm, whole..=ECN_SCALE_MAX * whole)?;
    check("raise_ppm", dynamic.raise_ppm.into(), 1..=whole)?;
    check("lower_ppm", dynamic.lower_ppm.into(), 1..=whole)?;
    check("link_use_ppm", dynamic.link_use_ppm.into(), 1..=whole)?;
    check("queueing_delay_ps", dynamic.queueing_delay_ps, 1..=u64::MAX)?;
    check("incast_degree", dynamic.incast_degree.into(), 1..=u64::from(u32::MAX))?;
    check("confirm_intervals", dynamic.confirm_intervals.into(), 1..=u64::from(u32::MAX))
}
