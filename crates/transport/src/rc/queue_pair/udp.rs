//! Appends and verifies the invariant CRC (ICRC) of packets sent through a UDP socket.

use std::net::SocketAddrV4;
use wire::{Error, Result, bth, icrc};

/// The two ends of a datagram. The ICRC covers the IPv4 and UDP headers, which a socket neither accepts nor
/// returns; this type supplies their fields.
///
/// Of the fields that the kernel writes, the identification matters. On Linux, an unconnected socket with
/// `IP_MTU_DISCOVER` set to `IP_PMTUDISC_DO` sets "don't fragment" and numbers the segments of each call
/// (`UDP_SEGMENT`) from 0; a single datagram has 0. Other sockets increment it, so the ICRC of their packets
/// does not match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpPath {
    /// Source address and port.
    pub source: SocketAddrV4,
    /// Destination address and port.
    pub destination: SocketAddrV4,
}

impl UdpPath {
    /// Appends the ICRC to the transport packet in the first `packet_bytes` of `buffer`, and returns the
    /// length of the datagram.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the buffer has no room for it, or the packet no base transport header;
    /// [`Error::Length`] if it is longer than a datagram.
    pub fn seal(&self, identification: u16, buffer: &mut [u8], packet_bytes: usize) -> Result<usize> {
        let (need, have) = (packet_bytes + icrc::BYTES, buffer.len());
        if have < need {
            return Err(Error::Truncated { need, have });
        }
        let crc = self.icrc(identification, [&buffer[..packet_bytes], &[], &[]])?;
        // IBTA vol. 1, 7.8.1: least significant byte first.
        buffer[packet_bytes..need].copy_from_slice(&crc.to_le_bytes());
        Ok(need)
    }

    /// The transport packet in a datagram, without the ICRC at its end.
    ///
    /// # Errors
    /// [`Error::Truncated`] if it is shorter than base transport header and ICRC, [`Error::BadIcrc`] if the
    /// ICRC does not match: the packet was damaged, or has another identification
    /// ([`icrc::IdentificationBits`]).
    pub fn open<'a>(&self, identification: u16, datagram: &'a [u8]) -> Result<&'a [u8]> {
        let (need, have) = (bth::HEADER_BYTES + icrc::BYTES, datagram.len());
        let Some((packet, stored)) = datagram.split_last_chunk().filter(|_| have >= need) else {
            return Err(Error::Truncated { need, have });
        };
        let (expected, stored) =
            (self.icrc(identification, [packet, &[], &[]])?, u32::from_le_bytes(*stored));
        if stored != expected {
            return Err(Error::BadIcrc { expected, stored });
        }
        Ok(packet)
    }

    /// The ICRC of a transport packet in three parts with the headers it has on the network. The first part
    /// contains the base transport header.
    ///
    /// # Errors
    /// [`Error::Truncated`] and [`Error::Length`] as for [`Self::seal`].
    pub fn icrc(&self, identification: u16, parts: [&[u8]; 3]) -> Result<u32> {
        icrc::of_sockets(&self.source, &self.destination, identification, parts)
    }
}
