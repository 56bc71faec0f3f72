//! IPv4 header without options: addresses, DSCP, ECN, identification, lengths, checksum. Fragments are
//! errors.

use crate::bytes::{array, be16, bounded, put, require, require_zero, view};
use crate::{Error, Result, size};
use std::net::Ipv4Addr;

/// Length of the header without options.
pub const HEADER_BYTES: usize = size::IPV4_HEADER_BYTES as usize;
/// The longest payload.
pub const PAYLOAD_BYTES_MAX: usize = u16::MAX as usize - HEADER_BYTES;
/// Protocol number of UDP.
pub const PROTOCOL_UDP: u8 = 17;

const VERSION_AND_LENGTH: u8 = 0x45;
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const RESERVED_FLAG: u16 = 0x8000;
const FRAGMENT_OFFSET: u16 = 0x1fff;

bounded! {
    /// Differentiated services code point: 6 bits that select the priority. RFC 2474.
    Dscp(u8), 6
}

/// Explicit congestion notification. RFC 3168, 5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// The transport is not capable of ECN.
    #[default]
    NotEct = 0,
    /// ECN-capable transport, ECT(1).
    Ect1 = 1,
    /// ECN-capable transport, ECT(0): set by RoCE senders.
    Ect0 = 2,
    /// Congestion experienced: set by a switch.
    CongestionExperienced = 3,
}

impl Ecn {
    /// The code point in the two low bits of a traffic class byte.
    #[must_use]
    pub const fn from_low_bits(value: u8) -> Self {
        match value & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::CongestionExperienced,
        }
    }
}

view! {
    /// View of a datagram, starting at its header.
    Packet, HEADER_BYTES, {
        /// IP version.
        version: u8 = |bytes| bytes[0] >> 4;
        /// Length of the header including options.
        header_bytes: usize = |bytes| usize::from(bytes[0] & 0xf) * 4;
        /// DSCP and ECN: the former type-of-service byte.
        traffic_class: u8 = |bytes| bytes[1];
        /// Length of header and payload.
        total_bytes: u16 = |bytes| be16(bytes, 2);
        /// Identification.
        identification: u16 = |bytes| be16(bytes, 4);
        /// Flags and fragment offset.
        flags_and_offset: u16 = |bytes| be16(bytes, 6);
        /// Time to live.
        ttl: u8 = |bytes| bytes[8];
        /// Protocol of the payload.
        protocol: u8 = |bytes| bytes[9];
        /// Header checksum as stored.
        checksum: u16 = |bytes| be16(bytes, 10);
        /// Computed header checksum, for a header without options.
        expected_checksum: u16 = |bytes| header_checksum(&array(bytes, 0));
        /// Source address.
        source: Ipv4Addr = |bytes| array(bytes, 12).into();
        /// Destination address.
        destination: Ipv4Addr = |bytes| array(bytes, 16).into();
    }
}

impl<T: AsRef<[u8]>> Packet<T> {
    /// The payload of a datagram without options, with the length given by the header.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the buffer ends before the datagram, [`Error::Length`] if the datagram ends
    /// before its header.
    pub fn payload(&self) -> Result<&[u8]> {
        let total_bytes = usize::from(self.total_bytes());
        require_total(total_bytes)?;
        require(self.bytes(), total_bytes)?;
        Ok(&self.bytes()[HEADER_BYTES..total_bytes])
    }
}

fn require_total(total_bytes: usize) -> Result<()> {
    let max = HEADER_BYTES + PAYLOAD_BYTES_MAX;
    match (HEADER_BYTES..=max).contains(&total_bytes) {
        true => Ok(()),
        false => {
            Err(Error::Length { field: "IPv4 total length", min: HEADER_BYTES, max, found: total_bytes })
        }
    }
}

/// The checksum of a header, independent of its checksum field. RFC 791, 3.1 and RFC 1071.
fn header_checksum(header: &[u8; HEADER_BYTES]) -> u16 {
    let words = (0..HEADER_BYTES).step_by(2).filter(|&at| at != 10);
    let mut sum: u32 = words.map(|at| u32::from(be16(header, at))).sum();
    // Nine words sum to less than 2^20: folding twice adds all carries.
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    !(sum as u16)
}

/// An IPv4 header without options of a datagram that is not a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// Protocol of the payload.
    pub protocol: u8,
    /// Differentiated services code point.
    pub dscp: Dscp,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// Time to live, in hops.
    pub ttl: u8,
    /// Identification: meaningless while nothing is fragmented (RFC 6864), and preserved.
    pub identification: u16,
    /// The don't-fragment flag.
    pub dont_fragment: bool,
    /// Length of the payload, at most [`PAYLOAD_BYTES_MAX`].
    pub payload_bytes: u16,
}

impl Repr {
    /// Parses the header of a datagram and verifies its checksum.
    ///
    /// The buffer need not contain the payload; see [`Packet::payload`].
    ///
    /// # Errors
    /// Another version, options, a bad checksum, fragmentation, the reserved flag, or a total length shorter
    /// than the header.
    pub fn parse<T: AsRef<[u8]>>(packet: &Packet<T>) -> Result<Self> {
        if packet.version() != 4 {
            return Err(Error::IpVersion(packet.version()));
        }
        if packet.header_bytes() != HEADER_BYTES {
            return Err(Error::Ipv4Options { header_bytes: packet.header_bytes() });
        }
        let (expected, stored) = (packet.expected_checksum(), packet.checksum());
        if stored != expected {
            return Err(Error::BadChecksum { expected, stored });
        }
        require_total(usize::from(packet.total_bytes()))?;
        Ok(Self {
            source: packet.source(),
            destination: packet.destination(),
            protocol: packet.protocol(),
            dscp: Dscp::from_low_bits(packet.traffic_class() >> 2),
            ecn: Ecn::from_low_bits(packet.traffic_class()),
            ttl: packet.ttl(),
            identification: packet.identification(),
            dont_fragment: parse_flags(packet.flags_and_offset())?,
            payload_bytes: packet.total_bytes() - HEADER_BYTES as u16,
        })
    }

    /// Writes the header with its checksum to the first [`HEADER_BYTES`] of `buffer`.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the buffer is shorter, [`Error::Length`] if the payload is too long.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<()> {
        let total_bytes = HEADER_BYTES + usize::from(self.payload_bytes);
        require_total(total_bytes)?;
        let flags = if self.dont_fragment { DONT_FRAGMENT } else { 0 };
        let mut header = [0; HEADER_BYTES];
        let traffic_class = self.dscp.value() << 2 | self.ecn as u8;
        let parts: [&[u8]; 7] = [
            &[VERSION_AND_LENGTH, traffic_class],
            &(total_bytes as u16).to_be_bytes(),
            &self.identification.to_be_bytes(),
            &flags.to_be_bytes(),
            &[self.ttl, self.protocol, 0, 0],
            &self.source.octets(),
            &self.destination.octets(),
        ];
        put(&mut header, parts)?;
        let checksum = header_checksum(&header).to_be_bytes();
        header[10..12].copy_from_slice(&checksum);
        put(buffer, [&header])
    }
}

/// Whether the don't-fragment flag is set, in the flags of a datagram that is not a fragment.
fn parse_flags(flags_and_offset: u16) -> Result<bool> {
    require_zero("IPv4 flag bit 0", u64::from(flags_and_offset & RESERVED_FLAG))?;
    if flags_and_offset & (MORE_FRAGMENTS | FRAGMENT_OFFSET) != 0 {
        return Err(Error::Fragment {
            offset_bytes: u32::from(flags_and_offset & FRAGMENT_OFFSET) * 8,
            more_fragments: flags_and_offset & MORE_FRAGMENTS != 0,
        });
    }
    Ok(flags_and_offset & DONT_FRAGMENT != 0)
}

#[cfg(test)]
mod tests;
