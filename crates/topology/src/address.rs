//! Computes IP and MAC addresses of host ports, and MAC addresses of switch ports, from their numbers.
//!
//! The IP address of port `p` of host `h` is `10.A.B.C` with
//!
//! - `A = p + 32 * (h / 32768)`: the port, which is also the plane of the network; with up to 32,768 hosts it
//!   is `10.0.x.y` for port 0 and `10.1.x.y` for port 1;
//! - `B = h / 128 mod 256` and `C = 1 + h mod 128`, which is never 0 or 255.
//!
//! This encodes 5 bits of port and 18 bits of host, so every fabric within the limits has unique addresses.
//! All ports with the same number form one subnet, without a gateway: a `/16`, or the `/8` with more than
//! 32,768 hosts. The MAC address is `02:00` (locally administered, unicast; IEEE 802-2014, 8.2) followed by
//! the number of the attachment (a host port connected to the fabric); that of the connected switch port is
//! `02:01` and the same number.

use crate::limits::{MAX_HOST_PORTS, MAX_HOSTS};
use std::net::Ipv4Addr;
use units::{AttachmentId, HostId};

/// IP address of port `host_port` of `host`.
pub(crate) fn ip(host: HostId, host_port: u16) -> Ipv4Addr {
    assert!(u64::from(host.0) < MAX_HOSTS && host_port < MAX_HOST_PORTS, "the address space is exceeded");
    let plane = u32::from(host_port) + (host.0 >> 15) * u32::from(MAX_HOST_PORTS);
    let block = (host.0 >> 7) & 0xff;
    let last = 1 + (host.0 & 0x7f);
    Ipv4Addr::from((10 << 24) | (plane << 16) | (block << 8) | last)
}

/// Prefix length of the subnet of a host port, in a fabric with `hosts` hosts.
pub(crate) const fn prefix(hosts: usize) -> u8 {
    if hosts >> 15 == 0 || hosts == 1 << 15 { 16 } else { 8 }
}

/// MAC address of an attachment.
pub(crate) fn mac(attachment: AttachmentId) -> [u8; 6] {
    numbered_mac(0x00, attachment)
}

/// MAC address of the switch port that an attachment is connected to.
pub(crate) fn switch_mac(attachment: AttachmentId) -> [u8; 6] {
    numbered_mac(0x01, attachment)
}

fn numbered_mac(end: u8, attachment: AttachmentId) -> [u8; 6] {
    let [a, b, c, d] = attachment.0.to_be_bytes();
    [0x02, end, a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn addresses_are_readable() {
        assert_eq!(ip(HostId(0), 0).to_string(), "10.0.0.1");
        assert_eq!(ip(HostId(7), 1).to_string(), "10.1.0.8");
        assert_eq!(ip(HostId(130), 0).to_string(), "10.0.1.3");
        assert_eq!(ip(HostId(32_768), 1).to_string(), "10.33.0.1");
        assert_eq!(mac(AttachmentId(0x1_2345)), [2, 0, 0, 1, 0x23, 0x45]);
        assert_eq!(switch_mac(AttachmentId(0x1_2345)), [2, 1, 0, 1, 0x23, 0x45]);
        assert_eq!([prefix(1), prefix(32_768), prefix(32_769)], [16, 16, 8]);
    }

    #[test]
    fn every_host_of_the_largest_fabric_has_its_own_address() {
        let hosts = u32::try_from(MAX_HOSTS).unwrap();
        let unique: HashSet<_> = (0..hosts).map(|host| ip(HostId(host), 0)).collect();
        assert_eq!(unique.len(), MAX_HOSTS as usize);
    }

    #[test]
    fn planes_do_not_overlap() {
        let hosts = [0, 127, 128, 32_767, 32_768, 262_143];
        let unique: HashSet<_> = hosts
            .iter()
            .flat_map(|&host| (0..MAX_HOST_PORTS).map(move |port| ip(HostId(host), port)))
            .collect();
        assert_eq!(unique.len(), hosts.len() * usize::from(MAX_HOST_PORTS));
    }
}
