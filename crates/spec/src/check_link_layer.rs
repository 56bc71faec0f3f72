//! Checks of InfiniBand links: their buffers, and what has no meaning on them.

use crate::check::{SpecError, require, value};
use crate::{LinkLayerSpec, RateControl, RunSpec};

/// Bytes of a block of credit. IBTA vol. 1, 7.9.4.
const BLOCK_BYTES: u32 = 64;
/// The most that can be granted: half of the range of a 12-bit count. IBTA vol. 1, 7.9.4.4.2.
const VL_BUFFER_BYTES_MAX: u32 = 2048 * BLOCK_BYTES;
/// LRH, BTH, RETH, ICRC and VCRC around the payload of a full packet.
const HEADER_BYTES: u32 = 8 + 12 + 16 + 4 + 2;
/// A receiver repeats its grant after 65,536 symbol times at the latest; 1 s is beyond any of them.
const CREDIT_INTERVAL_PS_MAX: u64 = 1_000_000_000_000;

/// Unicast local identifiers: 1 to 0xbfff. IBTA vol. 1, 4.1.3.
const HOSTS_MAX: u64 = 0xbfff;

/// Checks what InfiniBand asks for, if it is InfiniBand.
pub(crate) fn check_link_layer(spec: &RunSpec) -> Result<(), SpecError> {
    let LinkLayerSpec::Infiniband { vl_buffer_bytes, credit_interval_ps } = spec.fabric.link_layer else {
        return Ok(());
    };
    let field = |name: &str| format!("fabric.link_layer.{name}");
    let packet_bytes = (spec.transport.mtu_bytes + HEADER_BYTES).next_multiple_of(BLOCK_BYTES);
    let is_whole = vl_buffer_bytes.is_multiple_of(BLOCK_BYTES);
    require(is_whole && (packet_bytes..=VL_BUFFER_BYTES_MAX).contains(&vl_buffer_bytes), || {
        let allowed = format!(
            "whole blocks of {BLOCK_BYTES} bytes, from {packet_bytes}, a full packet, to {VL_BUFFER_BYTES_MAX}, all that credits can grant"
        );
        value(field("vl_buffer_bytes"), vl_buffer_bytes, allowed)
    })?;
    require(credit_interval_ps <= CREDIT_INTERVAL_PS_MAX, || {
        value(field("credit_interval_ps"), credit_interval_ps, "at most 1 s")
    })?;
    let hosts = spec.fabric.topology.hosts();
    require(hosts <= HOSTS_MAX, || {
        let allowed = format!("at most {HOSTS_MAX} on InfiniBand, as a subnet has no more local identifiers");
        value("fabric.topology", format!("{hosts} hosts"), allowed)
    })?;
    check_absent(spec)
}

/// What Ethernet has and InfiniBand has not, or not in this model.
fn check_absent(spec: &RunSpec) -> Result<(), SpecError> {
    let switch = &spec.fabric.switch;
    let absent = [
        ("fabric.switch.pfc", switch.pfc.is_some(), "no PFC on InfiniBand: credits keep it lossless"),
        ("fabric.switch.ecn", switch.ecn.is_some(), "no ECN on InfiniBand"),
        ("fabric.switch.scheduled", switch.scheduled.is_some(), "no scheduled switches on InfiniBand"),
        ("jobs", spec.jobs.iter().any(|job| job.storage.is_some()), "no storage jobs on InfiniBand"),
        ("fabric.failures", !spec.fabric.failures.is_empty(), "no failures on InfiniBand links"),
        (
            "transport.rate_control",
            !matches!(spec.transport.rate_control, RateControl::LineRate {}),
            "line rate on InfiniBand",
        ),
    ];
    let found = absent.into_iter().find(|&(_, is_there, _)| is_there);
    found.map_or(Ok(()), |(field, _, allowed)| Err(value(field, "given", allowed)))
}
