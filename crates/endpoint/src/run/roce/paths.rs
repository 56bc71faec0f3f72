//! Checks the MTU of paths to peers, and describes failed paths.

use super::Roce;
use crate::path;
use crate::run::RunError;
use std::net::Ipv4Addr;
use transport::Status;

/// Maximum headers of a packet, from the IPv4 header on: IP 20, UDP 8, BTH 12, RETH 16, immediate 4, ICRC 4.
const HEADERS_BYTES: u32 = 64;
/// Headers that `ping` adds itself: IP and ICMP.
const PING_HEADERS_BYTES: u32 = 28;
impl Roce {
    /// Checks that packets fit the paths to the hosts, as far as their MTU is known.
    pub(super) fn check_paths(&self, hosts: impl Iterator<Item = (u32, Ipv4Addr)>) -> Result<(), RunError> {
        let need = self.spec.transport.mtu_bytes + HEADERS_BYTES;
        for (host, to) in hosts {
            // Without a route to the host, sending will fail with a clear error.
            if let Ok(mtu) = path::mtu_bytes(self.settings.address, to)
                && need > mtu
            {
                return Err(RunError::PathMtu { host, from: self.settings.address, to, mtu, need });
            }
        }
        Ok(())
    }

    /// Describes why a queue pair to a peer failed, with a hint.
    pub(super) fn why(&self, peer: Ipv4Addr, status: Status) -> String {
        let mut text = format!("queue pair from {} to {peer}: ", self.settings.address);
        if status != Status::RetryExceeded {
            return text + &format!("{status:?}");
        }
        let (times, each_ms) = (self.spec.transport.retry_count + 1, self.timeout().0 / 1_000_000_000);
        text += &format!("retries exceeded, nothing was heard for {times} timeouts of {each_ms} ms");
        if let (calls, Some(error)) = self.endpoint.unsent() {
            text += &format!("; {calls} times the host could not send: {error}");
        } else if !self.has_delivered {
            let packet_bytes = self.spec.transport.mtu_bytes + HEADERS_BYTES;
            let size = packet_bytes - PING_HEADERS_BYTES;
            text += &format!(
                "; do packets of {packet_bytes} bytes pass? `ping -M do -s {size} {peer}` tells, and whether a \
                 firewall lets UDP through"
            );
        }
        text
    }
}
