//! The invariant CRC of packets that a UDP socket carries.

use std::net::SocketAddrV4;
use wire::{Error, Result, bth, icrc};

/// The two ends of a datagram. The ICRC covers IPv4 and UDP headers, which a socket neither takes nor gives;
/// this says what stands in them.
///
/// Of what the kernel writes the identification counts. On Linux, a socket that is not connected and has
/// `IP_MTU_DISCOVER` at `IP_PMTUDISC_DO` sets "don't fragment" and numbers the segments of each call
/// (`UDP_SEGMENT`) from 0; a datagram by itself has 0. Other sockets count it up, and their packets have
/// another ICRC than they say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpPath {
    /// Where it comes from.
    pub source: SocketAddrV4,
    /// Where it goes to.
    pub destination: SocketAddrV4,
}

impl UdpPath {
    /// Appends the ICRC to the `packet_bytes` of a transport packet at the start of `buffer`, and returns how
    /// long the datagram is.
    ///
    /// # Errors
    /// [`Error::Truncated`] when the buffer has no room for it, or the packet no base transport header;
    /// [`Error::Length`] when it is longer than a datagram.
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
    /// [`Error::Truncated`] when it is shorter than base transport header and ICRC, [`Error::BadIcrc`] when
    /// the ICRC does not match: the packet was damaged, or has another identification
    /// ([`icrc::IdentificationBits`]).
    pub fn open<'a>(&self, identification: u16, datagram: &'a [u8]) -> Result<&'a [u8]> {
        let (need, have) = (bth::HEADER_BYTES + icrc::BYTES, datagram.len());
        let Some((packet, stored)) = datagram.split_last_chunk().filter(|_| have >= need) else {
            return Err(Error::Truncated { need, have });
        };
        let (expected, found) = (self.icrc(identification, [packet, &[], &[]])?, u32::from_le_bytes(*stored));
        if found != expected {
            return Err(Error::BadIcrc { expected, found });
        }
        Ok(packet)
    }

    /// The ICRC of a transport packet in three parts, the first of which holds its base transport header, with
    /// the headers that it has on the way.
    ///
    /// # Errors
    /// [`Error::Truncated`] and [`Error::Length`] as for [`Self::seal`].
    pub fn icrc(&self, identification: u16, parts: [&[u8]; 3]) -> Result<u32> {
        icrc::of_sockets((&self.source, &self.destination), identification, parts)
    }
}
