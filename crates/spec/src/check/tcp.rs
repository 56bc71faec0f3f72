//! Checks of TCP traffic.

use super::{SpecError, require, value, within};
use crate::{RunSpec, TCP_WINDOW_SEGMENTS_MAX, TcpSpec};

pub(super) fn check_tcp(spec: &RunSpec) -> Result<(), SpecError> {
    let hosts = spec.fabric.topology.hosts();
    for (index, tcp) in spec.tcp.iter().enumerate() {
        let field = |name: &str| format!("tcp[{index}].{name}");
        within(field("root"), tcp.root, 0..=(tcp.hosts.len() as u64).saturating_sub(1), "hosts")?;
        for (rank, &host) in tcp.hosts.iter().enumerate() {
            require(u64::from(host) < hosts, || {
                value(field(&format!("hosts[{rank}]")), host, format!("0 to {}", hosts - 1))
            })?;
        }
        require(tcp.rate_bps.is_none() || tcp.outstanding_writes.is_none(), || {
            value(field("outstanding_writes"), "a rate as well", "one of the two".to_owned())
        })?;
        check_endpoints(tcp, &field)?;
    }
    Ok(())
}

fn check_endpoints(tcp: &TcpSpec, field: &dyn Fn(&str) -> String) -> Result<(), SpecError> {
    let mss = u64::from(tcp.mss_bytes());
    within(field("window_bytes"), tcp.window_bytes, mss..=mss * TCP_WINDOW_SEGMENTS_MAX, "mtu_bytes")?;
    within(field("rto_min_ps"), tcp.rto_min_ps, 1..=tcp.rto_max_ps, "rto_max_ps")
}
