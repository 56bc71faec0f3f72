//! Builds the parameters of the buffer pools of a switch or chip from the spec, and checks that they fit into
//! the buffer.

use crate::packet::Priority;
use crate::setup::Fabric;
use crate::setup::switches::{lossless_plan, names_of, priority_mask};
use crate::switch::admission::buffer::LosslessPlan;
use crate::switch::admission::pools::{IngressPlan, LosslessProfile, PoolPlan, PoolsPlan, Profile};
use spec::{
    EgressPoolSpec, IngressPoolSpec, PoolsSpec, ProfileSpec, RunSpec, SpecError, XoffSpec, unsupported,
};
use topology::NodeKind;
use units::NodeId;

/// The pools of the buffer shared by `nodes`.
pub(crate) fn pools_plan(spec: &RunSpec, fabric: &Fabric, nodes: &[NodeId], pools: &PoolsSpec) -> PoolsPlan {
    let leads_to_host = |port: &topology::Port| fabric.graph.node(port.peer).kind == NodeKind::Host;
    let to_host: Vec<bool> =
        nodes.iter().flat_map(|&node| fabric.graph.node(node).ports.iter().map(leads_to_host)).collect();
    let switch = fabric.settings.of(nodes[0]);
    let lossless = switch.pfc.as_ref().map(|pfc| lossless_plan(spec, fabric, nodes, pfc));
    PoolsPlan {
        size_bytes: switch.buffer.size_bytes,
        ingress: pools.ingress.iter().map(ingress_plan).collect(),
        egress: pools.egress.iter().map(egress_plan).collect(),
        lossless: lossless.map_or_else(|| no_lossless(to_host.len()), lossless_profile),
        to_host,
    }
}

fn lossless_profile(plan: LosslessPlan) -> LosslessProfile {
    LosslessProfile {
        priorities: plan.priorities,
        profile: Profile { reserved_bytes: plan.reserved_bytes, limit: Some(plan.xoff) },
        xon_offset_bytes: plan.xon_offset_bytes,
        headroom_bytes: plan.headroom_bytes,
    }
}

fn no_lossless(ports: usize) -> LosslessProfile {
    let profile = Profile { reserved_bytes: 0, limit: None };
    LosslessProfile { priorities: 0, profile, xon_offset_bytes: 0, headroom_bytes: vec![0; ports] }
}

/// Profile of each priority: its own, or that of the pool.
fn profiles(all: Profile, own: &[ProfileSpec]) -> [Profile; Priority::COUNT] {
    let mut profiles = [all; Priority::COUNT];
    for each in own {
        for &priority in &each.priorities {
            profiles[Priority(priority).index()] = profile(each.reserved_bytes, each.limit);
        }
    }
    profiles
}

fn profile(reserved_bytes: u64, limit: Option<XoffSpec>) -> Profile {
    Profile { reserved_bytes, limit }
}

fn ingress_plan(spec: &IngressPoolSpec) -> IngressPlan {
    IngressPlan {
        pool: PoolPlan {
            priorities: priority_mask(&spec.priorities),
            size_bytes: spec.size_bytes,
            profiles: profiles(profile(spec.reserved_bytes, spec.limit), &spec.profiles),
        },
        headroom_bytes: spec.headroom_bytes,
        headroom_in_size: spec.headroom_in_size,
        xoff: spec.xoff,
    }
}

fn egress_plan(spec: &EgressPoolSpec) -> PoolPlan {
    PoolPlan {
        priorities: priority_mask(&spec.priorities),
        size_bytes: spec.size_bytes,
        profiles: profiles(profile(spec.reserved_bytes, spec.limit), &spec.profiles),
    }
}

/// Checks that the pools fit into the buffer shared by `nodes`, and their reserves and headrooms into the
/// pools.
pub(crate) fn check_pools(
    spec: &RunSpec,
    fabric: &Fabric,
    nodes: &[NodeId],
    pools: &PoolsSpec,
) -> Result<(), SpecError> {
    let plan = pools_plan(spec, fabric, nodes, pools);
    let whose = format!("the {} ports of {}", plan.to_host.len(), names_of(fabric, nodes));
    let refuse = |field: String, found: String, allowed: String| {
        let field = format!("{}.buffer.pools.{field}", fabric.settings.field(nodes[0]));
        Err(unsupported(field, found, allowed))
    };
    let mut taken = 0;
    for (index, own) in plan.ingress.iter().enumerate() {
        let (reserves, headroom) = (plan.ingress_reserves(own), plan.headroom(own));
        let size = own.pool.size_bytes;
        if reserves >= size {
            let kinds = if own.headroom_in_size { "reserves and headroom" } else { "reserves" };
            let found = format!("{reserves} bytes of {kinds} for {whose}");
            return refuse(
                format!("ingress[{index}].size_bytes"),
                found,
                format!("less than its {size} bytes"),
            );
        }
        let largest = plan.lossless.headroom_bytes.iter().copied().max().unwrap_or(0);
        if own.headroom_bytes.is_some_and(|shared| shared < largest) {
            let found = format!("{headroom} bytes");
            let allowed = format!("{largest} bytes or more, the headroom of one group");
            return refuse(format!("ingress[{index}].headroom_bytes"), found, allowed);
        }
        taken += plan.taken(own);
        if taken > plan.size_bytes {
            let found = format!("{taken} bytes of pools with their headroom, up to this one, for {whose}");
            let allowed = format!("at most the buffer of {} bytes", plan.size_bytes);
            return refuse(format!("ingress[{index}].size_bytes"), found, allowed);
        }
        let xoff_bytes = own.xoff.and_then(|xoff| xoff.bytes);
        if let Some(bytes) = xoff_bytes.filter(|bytes| *bytes > size - reserves) {
            let found = format!("{bytes} bytes");
            let allowed =
                format!("at most {} bytes, which the pool has beyond its reserves", size - reserves);
            return refuse(format!("ingress[{index}].xoff.bytes"), found, allowed);
        }
    }
    for (index, pool) in plan.egress.iter().enumerate() {
        let (field, reserves) = (format!("egress[{index}].size_bytes"), plan.egress_reserves(pool));
        if reserves >= pool.size_bytes {
            let found = format!("{reserves} bytes of reserves for {whose}");
            return refuse(field, found, format!("less than its {} bytes", pool.size_bytes));
        }
        if pool.size_bytes > plan.size_bytes {
            let allowed = format!("at most the buffer of {} bytes", plan.size_bytes);
            return refuse(field, format!("{} bytes", pool.size_bytes), allowed);
        }
    }
    Ok(())
}
