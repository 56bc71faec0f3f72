//! Checks of InfiniBand links.

use super::{SpecError, require, value, within};
use crate::run::limits::VL_BUFFER_BYTES_MAX;
use crate::{LinkLayerSpec, RunSpec};

/// Bytes of a block of credit. IBTA vol. 1, 7.9.4.
const BLOCK_BYTES: u32 = 64;
/// LRH, BTH, RETH, ICRC and VCRC around the payload of a full packet.
const HEADER_BYTES: u32 = 8 + 12 + 16 + 4 + 2;
/// Unicast local identifiers: 1 to 0xbfff. IBTA vol. 1, 4.1.3.
const HOSTS_MAX: u64 = 0xbfff;

/// Checks what InfiniBand asks for, if it is InfiniBand.
pub(super) fn check_link_layer(spec: &RunSpec) -> Result<(), SpecError> {
    let LinkLayerSpec::Infiniband { vl_buffer_bytes, .. } = spec.fabric.link_layer else {
        return Ok(());
    };
    let packet_bytes = (spec.transport.mtu_bytes + HEADER_BYTES).next_multiple_of(BLOCK_BYTES);
    let field = "fabric.link_layer.vl_buffer_bytes";
    let a_packet_or_more = packet_bytes.into()..=VL_BUFFER_BYTES_MAX.into();
    within(field, vl_buffer_bytes, a_packet_or_more, "transport.mtu_bytes")?;
    require(vl_buffer_bytes.is_multiple_of(BLOCK_BYTES), || {
        value(field, format!("{vl_buffer_bytes} bytes"), format!("whole blocks of {BLOCK_BYTES} bytes"))
    })?;
    let hosts = spec.fabric.topology.hosts();
    require(hosts <= HOSTS_MAX, || {
        let allowed = format!("at most {HOSTS_MAX} on InfiniBand, as a subnet has no more local identifiers");
        value("fabric.topology", format!("{hosts} hosts"), allowed)
    })?;
    require(spec.jobs.iter().all(|job| job.storage.is_none()), || {
        value("jobs", "storage on InfiniBand links", "none, as its frames have the sizes of RoCEv2")
    })
}
