//! Checks of the pools of buffers, and of chips, that need no graph.

use super::{SpecError, require, value, within};
use crate::{LinkLayerSpec, PoolsSpec, ProfileSpec, RunSpec, SwitchSettingsSpec};

/// Checks that each priority is in one pool of each side, and that what is divided or shared is a buffer.
pub(super) fn check_pools(spec: &RunSpec) -> Result<(), SpecError> {
    let fabric = &spec.fabric;
    let what = match fabric.link_layer {
        LinkLayerSpec::Infiniband { .. } => Some("InfiniBand, where links have buffers of their own"),
        LinkLayerSpec::Ethernet {} => fabric.switch.scheduled.map(|_| "scheduled switches"),
    };
    if let Some(what) = what {
        require(fabric.chips.is_empty(), || value("fabric.chips", format!("chips with {what}"), "none"))?;
        let pools = "fabric.switch.buffer.pools";
        require(fabric.switch.buffer.pools.is_none(), || value(pools, format!("pools with {what}"), "none"))?;
    }
    fabric.set_ups().try_for_each(|(field, set_up)| check_set_up(&format!("{field}.buffer.pools"), &set_up))
}

fn check_set_up(field: &str, set_up: &SwitchSettingsSpec) -> Result<(), SpecError> {
    let Some(pools) = &set_up.buffer.pools else { return Ok(()) };
    check_priorities(field, pools)?;
    let lossless = set_up.pfc.as_ref().map_or(&[][..], |pfc| &pfc.priorities);
    for priority in lossless {
        require(pools.ingress.iter().any(|pool| pool.priorities.contains(priority)), || {
            let found = format!("no pool with priority {priority}");
            value(format!("{field}.ingress"), found, "each lossless priority in one of them")
        })?;
    }
    for (place, pool) in pools.ingress.iter().enumerate() {
        let field = format!("{field}.ingress[{place}]");
        let has_lossless = pool.priorities.iter().any(|priority| lossless.contains(priority));
        require(has_lossless || pool.headroom_bytes.is_none(), || {
            value(format!("{field}.headroom_bytes"), "headroom of a pool without lossless priorities", "none")
        })?;
        let Some(xoff) = pool.xoff else { continue };
        require(has_lossless, || {
            value(format!("{field}.xoff"), "a threshold of pauses without lossless priorities", "none")
        })?;
        let (bytes, size) = (xoff.bytes.unwrap_or(pool.size_bytes), format!("{field}.size_bytes"));
        within(format!("{field}.xoff.bytes"), bytes, 1..=pool.size_bytes, &size)?;
        within(format!("{field}.xoff.offset_bytes"), xoff.offset_bytes, 0..=bytes, "bytes")?;
    }
    Ok(())
}

fn check_priorities(field: &str, pools: &PoolsSpec) -> Result<(), SpecError> {
    let mut seen = 0;
    for (place, pool) in pools.ingress.iter().enumerate() {
        check_pool(&format!("{field}.ingress[{place}]"), &pool.priorities, &pool.profiles, &mut seen)?;
    }
    seen = 0;
    for (place, pool) in pools.egress.iter().enumerate() {
        check_pool(&format!("{field}.egress[{place}]"), &pool.priorities, &pool.profiles, &mut seen)?;
    }
    Ok(())
}

/// Checks the priorities of a pool against those that others of its side have, and those of its profiles.
fn check_pool(
    field: &str,
    priorities: &[u8],
    profiles: &[ProfileSpec],
    seen: &mut u8,
) -> Result<(), SpecError> {
    check_once(&format!("{field}.priorities"), priorities, seen, "each priority in one pool, once")?;
    let mut elsewhere = !priorities.iter().fold(0_u8, |mask, priority| mask | 1 << priority);
    for (place, profile) in profiles.iter().enumerate() {
        let field = format!("{field}.profiles[{place}].priorities");
        check_once(&field, &profile.priorities, &mut elsewhere, "priorities of the pool, each once")?;
    }
    Ok(())
}

/// Checks that there are priorities of which none is among those that are taken, and takes them.
fn check_once(field: &str, priorities: &[u8], taken: &mut u8, allowed: &str) -> Result<(), SpecError> {
    require(!priorities.is_empty(), || value(field, "none", "1 priority or more"))?;
    for &priority in priorities {
        require(*taken & 1 << priority == 0, || {
            value(field, format!("priority {priority} again, or of another pool"), allowed)
        })?;
        *taken |= 1 << priority;
    }
    Ok(())
}
