//! Queries the kernel for the MTU of the path to a peer; the error of packets that exceed it.

use std::ffi::c_int;
use std::io::{self, ErrorKind};
use std::mem;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd;

/// Port that the probe socket is connected to; nothing is sent to it (RFC 863).
const DISCARD_PORT: u16 = 9;

/// MTU of the path to a peer as known to the host [bytes]: that of the route, or as reported by routers
/// (RFC 1191).
pub(crate) fn mtu_bytes(from: Ipv4Addr, to: Ipv4Addr) -> io::Result<u32> {
    let probe = UdpSocket::bind(SocketAddrV4::new(from, 0))?;
    probe.connect(SocketAddrV4::new(to, DISCARD_PORT))?;
    let (mut mtu, mut bytes) = (0 as c_int, mem::size_of::<c_int>() as libc::socklen_t);
    let (descriptor, pointer) = (probe.as_raw_fd(), (&raw mut mtu).cast());
    // SAFETY: the value is an int that outlives the call, and `bytes` is its size.
    let result =
        unsafe { libc::getsockopt(descriptor, libc::IPPROTO_IP, libc::IP_MTU, pointer, &raw mut bytes) };
    if result == 0 { Ok(mtu as u32) } else { Err(io::Error::last_os_error()) }
}

/// Error for packets that exceed the path MTU.
pub(crate) fn too_long(packet_bytes: usize, from: Ipv4Addr, to: Ipv4Addr) -> io::Error {
    let state = match mtu_bytes(from, to) {
        Ok(bytes) => format!("has an MTU of {bytes}"),
        Err(error) => format!("has an unknown MTU: {error}"),
    };
    let text = format!("packets of {packet_bytes} bytes do not fit: the path from {from} to {to} {state}");
    io::Error::new(ErrorKind::InvalidInput, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_that_the_path_does_not_take_is_told_with_its_mtu() {
        const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;
        let mtu = mtu_bytes(HERE, HERE).unwrap();
        let error = too_long(mtu as usize + 1, HERE, HERE).to_string();
        let path = "do not fit: the path from 127.0.0.1 to 127.0.0.1 has an MTU of";
        assert_eq!(error, format!("packets of {} bytes {path} {mtu}", mtu + 1));
    }
}
