//! Selects adapter, port and GID; converts parameters of the plan (MTU, timeout, retries, DSCP, UDP source
//! port) to those of adapters.

use crate::verbs::{Device, GidAt, Port, Timing, Verbs, VerbsError};
use jobs::QueuePair;
use spec::{SpecError, TransportSpec};
use std::net::Ipv4Addr;
use std::sync::Arc;
use units::Span;

/// Unit of timeouts (IBTA vol. 1, 11.2.5.2).
const TIMEOUT_UNIT: Span = Span(4_096_000);
/// Maximum retry count: a field of three bits.
const RETRIES_MAX: u32 = 7;
/// ECT(0) (RFC 3168, 5): permits switches to mark instead of drop.
const ECT_0: u8 = 0b10;

/// An adapter's port with the GID of the local address.
pub(super) struct Adapter {
    pub(super) device: Arc<Device>,
    pub(super) port: Port,
    pub(super) gid: GidAt,
}

/// Why no adapter of this host is usable (with that address, if given); empty if one is.
pub(in crate::run) fn unusable_reason(address: Option<Ipv4Addr>) -> String {
    let tried = match address {
        Some(address) => Adapter::choose(address, None, None).map(drop),
        None => Verbs::load().and_then(Verbs::open_all).map(drop),
    };
    tried.err().map_or_else(String::new, |error| error.to_string())
}

impl Adapter {
    /// Finds the port with a GID of the address, restricted to a device and a GID index if given.
    pub(super) fn choose(
        address: Ipv4Addr,
        device: Option<&str>,
        gid_index: Option<u8>,
    ) -> Result<Self, VerbsError> {
        let mut devices = Verbs::load()?.open_all()?;
        let names = |devices: &[Arc<Device>]| -> String {
            devices.iter().map(|device| device.name()).collect::<Vec<_>>().join(", ")
        };
        if let Some(name) = device {
            let allowed = names(&devices);
            devices.retain(|device| device.name() == name);
            if devices.is_empty() {
                return Err(VerbsError::UnknownDevice { found: name.into(), allowed });
            }
        }
        let (mut others, mut unusable) = (Vec::new(), None);
        for device in &devices {
            for gid in device.gids()? {
                let Some(has) = gid.address().filter(|_| gid.is_roce_v2) else { continue };
                if has == address && gid_index.is_none_or(|index| index == gid.index) {
                    match device.active_port(gid.port) {
                        Ok(port) => return Ok(Self { device: Arc::clone(device), port, gid }),
                        Err(error) => unusable = Some(error),
                    }
                }
                others.push(format!("{has} (index {} of {})", gid.index, device.name()));
            }
        }
        if let Some(error) = unusable {
            return Err(error);
        }
        let gids = if others.is_empty() { "none".into() } else { others.join(", ") };
        let at = gid_index.map_or_else(String::new, |index| format!(" at index {index}"));
        Err(VerbsError::NoGid { devices: names(&devices), address, at, found: gids })
    }

    /// Checks that the port supports the plan's MTU.
    pub(super) fn check_mtu(&self, mtu_bytes: u32) -> Result<(), SpecError> {
        if mtu_bytes <= self.port.mtu_bytes && mtu_bytes.is_power_of_two() && mtu_bytes >= 256 {
            return Ok(());
        }
        let allowed = format!(
            "at most {} at {}, whose interface may have a larger MTU",
            self.port.mtu_bytes,
            self.device.name()
        );
        Err(SpecError::Value { field: "transport.mtu_bytes".into(), found: mtu_bytes.to_string(), allowed })
    }
}

/// Retransmission parameters: the shortest timeout of adapters that is not below the requested one, and the
/// retry count, limited to that of adapters.
pub(super) fn timing(transport: &TransportSpec, timeout_min: Span) -> Timing {
    let timeout_min = Span(transport.timeout_ps).max(timeout_min);
    Timing {
        timeout_exponent: exponent_of(timeout_min),
        retries: transport.retry_count.min(RETRIES_MAX) as u8,
    }
}

/// Smallest exponent with a timeout of at least `timeout_min`. 0 means no timeout: a lost packet would stall
/// forever.
fn exponent_of(timeout_min: Span) -> u8 {
    (1..31).find(|&exponent| timeout(exponent) >= timeout_min).unwrap_or(31)
}

/// Timeout of an exponent.
pub(super) const fn timeout(exponent: u8) -> Span {
    Span(TIMEOUT_UNIT.0 << exponent)
}

/// Traffic class of data: DSCP and ECT(0).
pub(super) const fn traffic_class(dscp: u8) -> u8 {
    dscp << 2 | ECT_0
}

/// Flow label from which Linux (`rdma_flow_label_to_udp_sport`), and adapters that follow it, derive the
/// plan's UDP source port of a queue pair. Never 0, which would leave the choice to the adapter.
pub(super) fn flow_label(pair: &QueuePair) -> u32 {
    label_of(pair.udp_source_port())
}

const fn label_of(udp_source_port: u16) -> u32 {
    1 << 14 | ((udp_source_port as u32 & 0x3fff) ^ 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `rdma_flow_label_to_udp_sport` of Linux (include/rdma/ib_verbs.h).
    fn source_port_of_linux(label: u32) -> u16 {
        let (low, high) = (label & 0x3fff, label & 0xf_c000);
        (low ^ high >> 14) as u16 | 0xc000
    }

    #[test]
    fn the_flow_label_leads_to_the_udp_source_port_of_the_plan() {
        for port in 0xc000..=0xffff {
            let label = label_of(port);
            assert!(label != 0 && label < 1 << 20);
            assert_eq!(source_port_of_linux(label), port);
        }
    }

    #[test]
    fn the_timeout_is_the_next_that_adapters_have() {
        assert_eq!(exponent_of(Span::ZERO), 1);
        assert_eq!(exponent_of(timeout(14)), 14);
        assert_eq!(exponent_of(Span(timeout(14).0 + 1)), 15);
        // IBTA vol. 1, 11.2.5.2: 14 is 67 ms, 31 is 8,796 s.
        assert_eq!(timeout(14).0 / 1_000_000_000, 67);
        assert_eq!(exponent_of(Span(u64::MAX)), 31);
        assert_eq!(timeout(31).0 / 1_000_000_000_000, 8_796);
    }

    #[test]
    fn data_is_ect_with_the_dscp_above_it() {
        assert_eq!(traffic_class(26), 0x6a);
    }
}
