//! The invariant CRC of packets that a UDP socket carries.

use std::net::SocketAddrV4;
use wire::ipv4::{self, Dscp, Ecn};
use wire::{Error, Result, bth, icrc, udp};

/// The two ends of a datagram. The ICRC covers IPv4 and UDP headers, which a socket neither takes nor gives;
/// this says what stands in them.
///
/// Of what the kernel writes the identification counts. On Linux it is 0, and "don't fragment" set, for
/// single datagrams of a socket that is not connected and has `IP_MTU_DISCOVER` at `IP_PMTUDISC_DO`; other
/// sockets count it up, and their packets have another ICRC than they say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpPath {
    /// Where it comes from.
    pub source: SocketAddrV4,
    /// Where it goes to.
    pub destination: SocketAddrV4,
}

impl UdpPath {
    /// Bytes that callers leave free before the transport packet, for the headers that the ICRC covers.
    pub const HEADROOM_BYTES: usize = ipv4::HEADER_BYTES + udp::HEADER_BYTES;

    /// Appends the ICRC to the `packet_bytes` of a transport packet behind the headroom of `buffer`, and
    /// returns what is to be sent.
    ///
    /// # Errors
    /// [`Error::Truncated`] when the buffer has no room for it, or the packet no base transport header;
    /// [`Error::Length`] when it is longer than a datagram.
    pub fn seal<'a>(&self, buffer: &'a mut [u8], packet_bytes: usize) -> Result<&'a [u8]> {
        let (end, have) = (Self::HEADROOM_BYTES + packet_bytes, buffer.len());
        let need = end + icrc::BYTES;
        if have < need {
            return Err(Error::Truncated { need, have });
        }
        let crc = self.icrc(&mut buffer[..end])?;
        // IBTA vol. 1, 7.8.1: least significant byte first.
        buffer[end..need].copy_from_slice(&crc.to_le_bytes());
        Ok(&buffer[Self::HEADROOM_BYTES..need])
    }

    /// The transport packet in what was received behind the headroom of `buffer`, without the ICRC at its
    /// end.
    ///
    /// # Errors
    /// [`Error::Truncated`] when it is shorter than base transport header and ICRC, [`Error::BadIcrc`] when
    /// the ICRC does not match.
    pub fn open<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a [u8]> {
        let (need, have) = (Self::HEADROOM_BYTES + bth::HEADER_BYTES + icrc::BYTES, buffer.len());
        let Some((packet, stored)) = buffer.split_last_chunk_mut().filter(|_| have >= need) else {
            return Err(Error::Truncated { need, have });
        };
        let (expected, found) = (self.icrc(packet)?, u32::from_le_bytes(*stored));
        if found != expected {
            return Err(Error::BadIcrc { expected, found });
        }
        Ok(&packet[Self::HEADROOM_BYTES..])
    }

    /// Writes the headers into the headroom and computes the ICRC of all.
    fn icrc(&self, packet: &mut [u8]) -> Result<u32> {
        let length = |bytes: usize| {
            let max = usize::from(u16::MAX) - Self::HEADROOM_BYTES;
            u16::try_from(bytes).map_err(|_| Error::Length { field: "datagram", min: 0, max, found: bytes })
        };
        let udp = udp::Repr {
            source_port: self.source.port(),
            destination_port: self.destination.port(),
            payload_bytes: length(packet.len() - Self::HEADROOM_BYTES + icrc::BYTES)?,
        };
        let ip = ipv4::Repr {
            source: *self.source.ip(),
            destination: *self.destination.ip(),
            protocol: ipv4::PROTOCOL_UDP,
            dscp: Dscp::default(),
            ecn: Ecn::default(),
            ttl: 0,
            identification: 0,
            dont_fragment: true,
            payload_bytes: length(packet.len() - ipv4::HEADER_BYTES + icrc::BYTES)?,
        };
        ip.emit(packet)?;
        udp.emit(&mut packet[ipv4::HEADER_BYTES..])?;
        icrc::icrc(packet)
    }
}
