//! Checks of scheduled switches.

use super::{SpecError, require, value, within};
use crate::{RunSpec, ScheduledSpec, TopologySpec};

/// Cells of a frame are counted in 9 bits, so what a cell carries must not be too little [bytes].
const CELL_PAYLOAD_MIN: u32 = 32;

/// Checks scheduled switches, if there are any.
pub(super) fn check_scheduled(spec: &RunSpec) -> Result<(), SpecError> {
    let Some(scheduled) = &spec.fabric.switch.scheduled else { return Ok(()) };
    let topology = &spec.fabric.topology;
    require(matches!(topology, TopologySpec::LeafSpine(_) | TopologySpec::SingleSwitch(_)), || {
        let allowed =
            "leaf-spine or single-switch, in which the fabric links of a leaf lead to every other leaf";
        value("fabric.topology.kind", "another one with scheduled switches", allowed)
    })?;
    check_cells(scheduled)
}

fn check_cells(scheduled: &ScheduledSpec) -> Result<(), SpecError> {
    let ScheduledSpec { credit_bytes, cell_bytes, cell_header_bytes, control_cell_bytes, .. } = *scheduled;
    let field = |name: &str| format!("fabric.switch.scheduled.{name}");
    within(field("cell_bytes"), cell_bytes, CELL_PAYLOAD_MIN.into()..=credit_bytes.into(), "credit_bytes")?;
    let header_max = cell_bytes - CELL_PAYLOAD_MIN;
    within(field("cell_header_bytes"), cell_header_bytes, 0..=header_max.into(), "cell_bytes")?;
    within(field("control_cell_bytes"), control_cell_bytes, 1..=cell_bytes.into(), "cell_bytes")?;
    let egress_bytes = scheduled.egress_buffer_bytes.unwrap_or(u64::MAX);
    within(field("egress_buffer_bytes"), egress_bytes, credit_bytes.into()..=u64::MAX, "credit_bytes")
}
