//! Checks of WRED and of what colours frames.

use super::{SpecError, require, value, within};
use crate::{ColouringSpec, LinkLayerSpec, RunSpec};

/// Checks thresholds and rates against each other, and that hosts exist.
pub(super) fn check_colours(spec: &RunSpec) -> Result<(), SpecError> {
    let fabric = &spec.fabric;
    for (field, set_up) in fabric.set_ups() {
        let Some((ecn, wred)) = set_up.ecn.as_ref().and_then(|ecn| Some((ecn, ecn.wred?))) else { continue };
        let field = format!("{field}.ecn.wred");
        require(ecn.dynamic.is_none(), || value(&field, "WRED with thresholds that move", "none"))?;
        for (colour, curve) in wred.colours() {
            let Some(curve) = curve else { continue };
            let field = format!("{field}.{colour}.kmin_bytes");
            within(field, curve.kmin_bytes, 0..=curve.kmax_bytes, "kmax_bytes")?;
        }
    }
    let has_other_switches =
        fabric.switch.scheduled.is_some() || matches!(fabric.link_layer, LinkLayerSpec::Infiniband { .. });
    require(fabric.switch.markers.is_empty() || !has_other_switches, || {
        value("fabric.switch.markers", "markers with scheduled switches or InfiniBand", "none")
    })?;
    let hosts = fabric.topology.hosts();
    for (place, marker) in fabric.switch.markers.iter().enumerate() {
        let field = format!("fabric.switch.markers[{place}]");
        if let ColouringSpec::TwoRate { cir_bps, pir_bps, .. } = marker.colouring {
            within(format!("{field}.colouring.cir_bps"), cir_bps, 1..=pir_bps, "pir_bps")?;
        }
        let unknown = marker.hosts.iter().flatten().find(|&&host| u64::from(host) >= hosts);
        require(unknown.is_none(), || {
            let found = format!("host {}", unknown.copied().unwrap_or_default());
            value(format!("{field}.hosts"), found, format!("hosts 0 to {}", hosts - 1))
        })?;
    }
    Ok(())
}
