//! Checks of scheduled switches: their own parameters, and what does not go with them.

use crate::check::{SpecError, require, value};
use crate::{ForwardingSpec, RunSpec, ScheduledSpec, TopologySpec};

/// Cells of a frame are counted in 9 bits, so what a cell carries must not be too little [bytes].
const CELL_PAYLOAD_MIN: u32 = 32;
const CELL_BYTES_MAX: u32 = 4_096;
const CREDIT_BYTES_MAX: u32 = 1 << 20;
/// Speed-ups: 0.1 to 10 [parts per million].
const SPEEDUP_PPM: std::ops::RangeInclusive<u32> = 100_000..=10_000_000;

/// Checks scheduled switches, if there are any.
pub(crate) fn check_scheduled(spec: &RunSpec) -> Result<(), SpecError> {
    let Some(scheduled) = &spec.fabric.switch.scheduled else { return Ok(()) };
    check_cells(scheduled)?;
    for (name, ppm) in [
        ("credit_speedup_ppm", scheduled.credit_speedup_ppm),
        ("fabric_speedup_ppm", scheduled.fabric_speedup_ppm),
    ] {
        require(SPEEDUP_PPM.contains(&ppm), || value(field(name), ppm, "100000 to 10000000"))?;
    }
    check_company(spec)
}

fn field(name: &str) -> String {
    format!("fabric.switch.scheduled.{name}")
}

fn check_cells(scheduled: &ScheduledSpec) -> Result<(), SpecError> {
    let ScheduledSpec { credit_bytes, cell_bytes, cell_header_bytes, control_cell_bytes, .. } = *scheduled;
    require(credit_bytes <= CREDIT_BYTES_MAX, || {
        value(field("credit_bytes"), credit_bytes, "at most 1 MiB")
    })?;
    require(cell_bytes <= CELL_BYTES_MAX.min(credit_bytes), || {
        let allowed = format!("at most 4096 bytes and the credit of {credit_bytes}, of which it is a part");
        value(field("cell_bytes"), cell_bytes, allowed)
    })?;
    require(cell_header_bytes.saturating_add(CELL_PAYLOAD_MIN) <= cell_bytes, || {
        let allowed =
            format!("at most {} in a cell of {cell_bytes}", cell_bytes.saturating_sub(CELL_PAYLOAD_MIN));
        value(field("cell_header_bytes"), cell_header_bytes, allowed)
    })?;
    require((1..=cell_bytes).contains(&control_cell_bytes), || {
        value(field("control_cell_bytes"), control_cell_bytes, format!("1 to the cell of {cell_bytes}"))
    })?;
    require(scheduled.egress_buffer_bytes.is_none_or(|bytes| bytes >= u64::from(credit_bytes)), || {
        let found = scheduled.egress_buffer_bytes.unwrap_or_default();
        value(field("egress_buffer_bytes"), found, format!("a credit of {credit_bytes} or more"))
    })
}

/// What the model leaves out is refused.
fn check_company(spec: &RunSpec) -> Result<(), SpecError> {
    let (fabric, switch) = (&spec.fabric, &spec.fabric.switch);
    let is_one_fabric =
        matches!(fabric.topology, TopologySpec::LeafSpine { .. } | TopologySpec::SingleSwitch { .. });
    require(is_one_fabric, || {
        value(
            "fabric.topology.kind",
            "another than these with scheduled switches",
            "leaf-spine or single-switch",
        )
    })?;
    require(switch.forwarding == ForwardingSpec::StoreAndForward, || {
        value("fabric.switch.forwarding", "cut-through with scheduled switches", "store-and-forward")
    })?;
    require(switch.ecn.is_none(), || {
        value("fabric.switch.ecn", "marking with scheduled switches, which mark nothing", "none")
    })?;
    let has_watchdog = switch.pfc.as_ref().is_some_and(|pfc| pfc.watchdog.is_some());
    require(!has_watchdog, || {
        value("fabric.switch.pfc.watchdog", "a watchdog of scheduled switches", "none")
    })?;
    require(fabric.extra_delays.is_empty(), || {
        value(
            "fabric.extra_delays",
            "delay lines with scheduled switches",
            "none; their links have one delay",
        )
    })?;
    require(fabric.failures.is_empty(), || {
        value("fabric.failures", "failures with scheduled switches", "none; their links do not fail")
    })
}
