//! Checks of a fabric: buffers, pools and settings of switches, scheduled switches, InfiniBand links, WRED
//! and colours of frames, NICs and clocks of hosts.

use super::{SpecError, require, unsupported, within};
use crate::run::VL_BUFFER_BYTES_MAX;
use crate::{
    BufferSpec, ColouringSpec, FabricSpec, ForwardingSpec, LinkLayerSpec, LossRecovery, PfcSpec, PoolsSpec,
    ProfileSpec, ReleaseSpec, RunSpec, ScheduledSpec, SwitchSettingsSpec, TopologySpec,
};

pub(super) fn check_fabric(spec: &RunSpec) -> Result<(), SpecError> {
    for (field, set_up) in spec.fabric.set_ups() {
        let (cell, size) = (set_up.buffer.cell_bytes, set_up.buffer.size_bytes);
        within(format!("{field}.buffer.cell_bytes"), cell, 1..=size, "size_bytes")?;
        check_release(&field, &set_up.buffer, spec.fabric.switch.pipeline_latency_ps)?;
        if let Some(reaction_ps) = set_up.pfc.as_ref().and_then(|pfc| pfc.reaction_ps) {
            let least = spec.fabric.switch.pipeline_latency_ps;
            let name = format!("{field}.pfc.reaction_ps");
            within(&name, reaction_ps, least..=u64::MAX, "pipeline_latency_ps")?;
            require(spec.fabric.switch.scheduled.is_none(), || {
                unsupported(name, format!("{reaction_ps} with scheduled switches"), "none")
            })?;
        }
        if let Some(ecn) = &set_up.ecn {
            within(format!("{field}.ecn.kmin_bytes"), ecn.kmin_bytes, 0..=ecn.kmax_bytes, "kmax_bytes")?;
        }
    }
    check_server(&spec.fabric)?;
    check_switch_settings(&spec.fabric)?;
    check_scheduled(spec)?;
    check_link_layer(spec)?;
    check_colours(spec)?;
    check_pools(spec)?;
    check_nic(spec)
}

/// Checks that the adapters of a server are hosts of the topology, and that each GPU has some.
fn check_server(fabric: &FabricSpec) -> Result<(), SpecError> {
    let Some(server) = &fabric.server else { return Ok(()) };
    let (hosts, adapters) = (fabric.topology.hosts(), u64::from(server.adapters));
    require(hosts.is_multiple_of(adapters), || {
        let found = format!("{adapters} of {hosts} hosts of the topology");
        unsupported("fabric.server.adapters", found, "a divisor of the number of hosts")
    })?;
    require(!matches!(fabric.topology, TopologySpec::MultiPlane(_)), || {
        unsupported("fabric.server", "servers in planes", "another topology")
    })?;
    require(!server.adapters_of_gpu.is_empty(), || {
        unsupported("fabric.server.adapters_of_gpu", "no GPU", "one or more")
    })?;
    let (gpus, machines) = (server.adapters_of_gpu.len() as u64, u64::from(server.machines.unwrap_or(1)));
    require(gpus.is_multiple_of(machines) && adapters.is_multiple_of(machines), || {
        let found = format!("{machines} of {gpus} GPUs and {adapters} adapters");
        unsupported("fabric.server.machines", found, "a divisor of both")
    })?;
    for (gpu, of_gpu) in server.adapters_of_gpu.iter().enumerate() {
        let field = format!("fabric.server.adapters_of_gpu[{gpu}]");
        let are_known = !of_gpu.is_empty() && of_gpu.iter().all(|&adapter| u64::from(adapter) < adapters);
        require(are_known, || {
            unsupported(field, format!("{of_gpu:?}"), format!("adapters from 0 to {}", adapters - 1))
        })?;
    }
    Ok(())
}

/// Checks that frames are read in the cells in which they are stored, and the part of the pipeline latency
/// inside the buffer.
fn check_release(field: &str, buffer: &BufferSpec, pipeline_latency_ps: u64) -> Result<(), SpecError> {
    let name = format!("{field}.buffer.pipeline_ps");
    within(name, buffer.pipeline_ps, 0..=pipeline_latency_ps, "pipeline_latency_ps")?;
    let ReleaseSpec::Cells { bytes } = buffer.release else { return Ok(()) };
    let cell_bytes = buffer.cell_bytes;
    require(cell_bytes == 1 || u64::from(bytes) == cell_bytes, || {
        unsupported(format!("{field}.buffer.release.bytes"), bytes, format!("{cell_bytes}, as cell_bytes"))
    })
}

/// Checks that switches with their own settings are of a kind that has them, with the lossless priorities of
/// all others: a switch must obey the pauses of another.
fn check_switch_settings(fabric: &FabricSpec) -> Result<(), SpecError> {
    let special_switches = match fabric.link_layer {
        LinkLayerSpec::Infiniband { .. } => Some("InfiniBand"),
        LinkLayerSpec::Ethernet {} => fabric.switch.scheduled.map(|_| "scheduled switches"),
    };
    if let Some(kind) = special_switches {
        require(fabric.switch_settings.is_empty(), || {
            unsupported(
                "fabric.switch_settings",
                format!("switches of their own settings with {kind}"),
                "none",
            )
        })?;
    }
    let lossless = |pfc: &Option<PfcSpec>| {
        pfc.iter().flat_map(|pfc| &pfc.priorities).fold(0_u8, |mask, priority| mask | 1 << priority)
    };
    let priorities = |mask: u8| (0..8).filter(move |bit| mask & 1 << bit != 0).map(|bit| bit.to_string());
    let list = |mask| format!("[{}]", priorities(mask).collect::<Vec<_>>().join(", "));
    let of_all = lossless(&fabric.switch.pfc);
    for (index, own) in fabric.switch_settings.iter().enumerate() {
        let own = lossless(&own.pfc);
        require(own == of_all, || {
            let field = format!("fabric.switch_settings[{index}].pfc.priorities");
            unsupported(field, list(own), format!("{}, as those of all other switches", list(of_all)))
        })?;
    }
    Ok(())
}

/// Minimum payload of a cell [bytes]: cells of a frame are counted in 9 bits.
const CELL_PAYLOAD_MIN: u32 = 32;

/// Checks scheduled switches, if there are any.
fn check_scheduled(spec: &RunSpec) -> Result<(), SpecError> {
    let Some(scheduled) = &spec.fabric.switch.scheduled else { return Ok(()) };
    let topology = &spec.fabric.topology;
    require(matches!(topology, TopologySpec::LeafSpine(_) | TopologySpec::SingleSwitch(_)), || {
        let allowed =
            "leaf-spine or single-switch, in which the fabric links of a leaf lead to every other leaf";
        unsupported("fabric.topology.kind", "another one with scheduled switches", allowed)
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

/// Bytes of a block of credit. IBTA vol. 1, 7.9.4.
const BLOCK_BYTES: u32 = 64;
/// LRH, BTH, RETH, ICRC and VCRC around the payload of a full packet.
const HEADER_BYTES: u32 = 8 + 12 + 16 + 4 + 2;
/// Unicast local identifiers: 1 to 0xbfff. IBTA vol. 1, 4.1.3.
const HOSTS_MAX: u64 = 0xbfff;

/// Checks the requirements of InfiniBand links, if the fabric has them.
fn check_link_layer(spec: &RunSpec) -> Result<(), SpecError> {
    let LinkLayerSpec::Infiniband { vl_buffer_bytes, .. } = spec.fabric.link_layer else {
        return Ok(());
    };
    let packet_bytes = (spec.transport.mtu_bytes + HEADER_BYTES).next_multiple_of(BLOCK_BYTES);
    let field = "fabric.link_layer.vl_buffer_bytes";
    let a_packet_or_more = packet_bytes.into()..=VL_BUFFER_BYTES_MAX.into();
    within(field, vl_buffer_bytes, a_packet_or_more, "transport.mtu_bytes")?;
    require(vl_buffer_bytes.is_multiple_of(BLOCK_BYTES), || {
        unsupported(field, format!("{vl_buffer_bytes} bytes"), format!("whole blocks of {BLOCK_BYTES} bytes"))
    })?;
    let hosts = spec.fabric.hosts();
    require(hosts <= HOSTS_MAX, || {
        let allowed = format!("at most {HOSTS_MAX} on InfiniBand, as a subnet has no more local identifiers");
        unsupported("fabric.topology", format!("{hosts} hosts"), allowed)
    })?;
    require(!spec.has_storage(), || {
        unsupported("jobs", "storage on InfiniBand links", "none, as its frames have the sizes of RoCEv2")
    })
}

/// Checks WRED and the colouring of frames: thresholds and rates against each other, and that hosts exist.
fn check_colours(spec: &RunSpec) -> Result<(), SpecError> {
    let fabric = &spec.fabric;
    for (field, set_up) in fabric.set_ups() {
        let Some((ecn, wred)) = set_up.ecn.as_ref().and_then(|ecn| Some((ecn, ecn.wred?))) else { continue };
        let field = format!("{field}.ecn.wred");
        require(ecn.dynamic.is_none(), || unsupported(&field, "WRED with thresholds that move", "none"))?;
        for (colour, curve) in wred.colours() {
            let Some(curve) = curve else { continue };
            let field = format!("{field}.{colour}.kmin_bytes");
            within(field, curve.kmin_bytes, 0..=curve.kmax_bytes, "kmax_bytes")?;
        }
    }
    let has_other_switches =
        fabric.switch.scheduled.is_some() || matches!(fabric.link_layer, LinkLayerSpec::Infiniband { .. });
    require(fabric.switch.markers.is_empty() || !has_other_switches, || {
        unsupported("fabric.switch.markers", "markers with scheduled switches or InfiniBand", "none")
    })?;
    let hosts = fabric.hosts();
    for (index, marker) in fabric.switch.markers.iter().enumerate() {
        let field = format!("fabric.switch.markers[{index}]");
        if let ColouringSpec::TwoRate { cir_bps, pir_bps, .. } = marker.colouring {
            within(format!("{field}.colouring.cir_bps"), cir_bps, 1..=pir_bps, "pir_bps")?;
        }
        let unknown = marker.hosts.iter().flatten().find(|&&host| u64::from(host) >= hosts);
        require(unknown.is_none(), || {
            let host = format!("host {}", unknown.copied().unwrap_or_default());
            unsupported(format!("{field}.hosts"), host, format!("hosts 0 to {}", hosts - 1))
        })?;
    }
    Ok(())
}

/// Checks chips and pools of buffers, as far as possible without the graph: the switches have shared buffers,
/// and each priority is in one ingress pool and one egress pool.
fn check_pools(spec: &RunSpec) -> Result<(), SpecError> {
    let fabric = &spec.fabric;
    let special_switches = match fabric.link_layer {
        LinkLayerSpec::Infiniband { .. } => Some("InfiniBand, where links have buffers of their own"),
        LinkLayerSpec::Ethernet {} => fabric.switch.scheduled.map(|_| "scheduled switches"),
    };
    if let Some(kind) = special_switches {
        require(fabric.chips.is_empty(), || {
            unsupported("fabric.chips", format!("chips with {kind}"), "none")
        })?;
        let pools = "fabric.switch.buffer.pools";
        require(fabric.switch.buffer.pools.is_none(), || {
            unsupported(pools, format!("pools with {kind}"), "none")
        })?;
    }
    fabric.set_ups().try_for_each(|(field, set_up)| check_pools_of(&format!("{field}.buffer.pools"), &set_up))
}

fn check_pools_of(field: &str, set_up: &SwitchSettingsSpec) -> Result<(), SpecError> {
    let Some(pools) = &set_up.buffer.pools else { return Ok(()) };
    check_priorities(field, pools)?;
    let lossless = set_up.pfc.as_ref().map_or(&[][..], |pfc| &pfc.priorities);
    for priority in lossless {
        require(pools.ingress.iter().any(|pool| pool.priorities.contains(priority)), || {
            let text = format!("no pool with priority {priority}");
            unsupported(format!("{field}.ingress"), text, "each lossless priority in one of them")
        })?;
    }
    for (index, pool) in pools.ingress.iter().enumerate() {
        let field = format!("{field}.ingress[{index}]");
        let has_lossless = pool.priorities.iter().any(|priority| lossless.contains(priority));
        require(has_lossless || pool.headroom_bytes.is_none(), || {
            unsupported(
                format!("{field}.headroom_bytes"),
                "headroom of a pool without lossless priorities",
                "none",
            )
        })?;
        let Some(xoff) = pool.xoff else { continue };
        require(has_lossless, || {
            unsupported(format!("{field}.xoff"), "a threshold of pauses without lossless priorities", "none")
        })?;
        let (bytes, size) = (xoff.bytes.unwrap_or(pool.size_bytes), format!("{field}.size_bytes"));
        within(format!("{field}.xoff.bytes"), bytes, 1..=pool.size_bytes, &size)?;
        within(format!("{field}.xoff.offset_bytes"), xoff.offset_bytes, 0..=bytes, "bytes")?;
    }
    Ok(())
}

fn check_priorities(field: &str, pools: &PoolsSpec) -> Result<(), SpecError> {
    let mut seen = 0;
    for (index, pool) in pools.ingress.iter().enumerate() {
        check_pool(&format!("{field}.ingress[{index}]"), &pool.priorities, &pool.profiles, &mut seen)?;
    }
    seen = 0;
    for (index, pool) in pools.egress.iter().enumerate() {
        check_pool(&format!("{field}.egress[{index}]"), &pool.priorities, &pool.profiles, &mut seen)?;
    }
    Ok(())
}

/// Checks that no other pool of its side has the priorities of a pool, and that its profiles divide them.
fn check_pool(
    field: &str,
    priorities: &[u8],
    profiles: &[ProfileSpec],
    seen: &mut u8,
) -> Result<(), SpecError> {
    check_once(&format!("{field}.priorities"), priorities, seen, "each priority in one pool, once")?;
    let mut elsewhere = !priorities.iter().fold(0_u8, |mask, priority| mask | 1 << priority);
    for (index, profile) in profiles.iter().enumerate() {
        let field = format!("{field}.profiles[{index}].priorities");
        check_once(&field, &profile.priorities, &mut elsewhere, "priorities of the pool, each once")?;
    }
    Ok(())
}

/// Checks that there are priorities and that none of them is taken; marks them as taken.
fn check_once(field: &str, priorities: &[u8], taken: &mut u8, allowed: &str) -> Result<(), SpecError> {
    require(!priorities.is_empty(), || unsupported(field, "none", "1 priority or more"))?;
    for &priority in priorities {
        require(*taken & 1 << priority == 0, || {
            unsupported(field, format!("priority {priority} again, or of another pool"), allowed)
        })?;
        *taken |= 1 << priority;
    }
    Ok(())
}

/// Checks the per-message cost of adapters, pauses of NICs, and clocks of hosts.
fn check_nic(spec: &RunSpec) -> Result<(), SpecError> {
    let has_storage = spec.has_storage();
    if spec.fabric.nic.messages.is_some() {
        // Each packet is a message of its own there.
        require(spec.transport.recovery != LossRecovery::Selective, || {
            unsupported("fabric.nic.messages", "a cost with selective recovery", "none, or go_back_n")
        })?;
        require(!has_storage, || unsupported("fabric.nic.messages", "a cost with a storage job", "none"))?;
    }
    if let Some(reaction_ps) = spec.fabric.nic.pause_reaction_ps {
        let least = spec.fabric.nic.latency_ps;
        within("fabric.nic.pause_reaction_ps", reaction_ps, least..=u64::MAX, "latency_ps")?;
    }
    if let Some(clocks) = &spec.fabric.clocks {
        require(!has_storage, || unsupported("fabric.clocks", "clocks with a storage job", "none"))?;
        // A frame would leave a switch faster than it arrives.
        require(spec.fabric.switch.forwarding == ForwardingSpec::StoreAndForward, || {
            unsupported("fabric.clocks", "clocks with cut-through switches", "none, or store-and-forward")
        })?;
        for (index, clock) in clocks.hosts.iter().enumerate() {
            let is_again = clocks.hosts[..index].iter().any(|other| other.host == clock.host);
            let field = || format!("fabric.clocks.hosts[{index}].host");
            require(!is_again, || {
                unsupported(field(), format!("host {} again", clock.host), "each host once")
            })?;
        }
    }
    Ok(())
}
