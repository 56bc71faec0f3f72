//! A complete RoCEv2 frame: Ethernet II, IPv4, UDP, base transport header, extension headers, payload, ICRC;
//! its emission and parsing.

use crate::bytes::{array, require, require_zero};
use crate::ethernet::{EtherType, MacAddress};
use crate::{
    Error, Extension, Opcode, Result, RoceMtu, aeth, bth, cnp, ethernet, icrc, ipv4, reth, size, udp,
};
use std::net::Ipv4Addr;

const IPV4_OFFSET: usize = ethernet::HEADER_BYTES;
const UDP_OFFSET: usize = IPV4_OFFSET + ipv4::HEADER_BYTES;
const BTH_OFFSET: usize = UDP_OFFSET + udp::HEADER_BYTES;
const EXTENSION_OFFSET: usize = BTH_OFFSET + bth::HEADER_BYTES;
const PAYLOAD_BYTES_MAX: usize = RoceMtu::Mtu4096.bytes() as usize;

/// Fields of a frame below the transport: addresses, path entropy, traffic class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// MAC address of the sending port.
    pub source_mac: MacAddress,
    /// MAC address of the receiving port, or of the first router.
    pub destination_mac: MacAddress,
    /// IPv4 address of the sending port.
    pub source_ip: Ipv4Addr,
    /// IPv4 address of the receiving port.
    pub destination_ip: Ipv4Addr,
    /// UDP source port: the entropy that spreads queue pairs over paths.
    pub udp_source_port: u16,
    /// Differentiated services code point.
    pub dscp: ipv4::Dscp,
    /// Explicit congestion notification.
    pub ecn: ipv4::Ecn,
    /// Time to live, in hops.
    pub ttl: u8,
    /// IPv4 identification.
    pub identification: u16,
    /// The don't-fragment flag.
    pub dont_fragment: bool,
}

/// A RoCEv2 frame over IPv4 whose headers and payload match its operation code.
///
/// Lengths, pad count, checksum and ICRC are derived from the rest and not stored; neither is the pad that
/// extends a SEND Only packet without payload to the shortest Ethernet frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoceFrame<'a> {
    /// Fields below the transport.
    pub network: Network,
    bth: bth::Repr,
    extension: Extension,
    payload: &'a [u8],
}

impl<'a> RoceFrame<'a> {
    /// A frame of these parts. The pad count is computed; that of `bth` is ignored.
    ///
    /// # Errors
    /// [`Error::Extension`] if the headers do not match the operation code, [`Error::Payload`] if it does not
    /// allow the length of the payload, [`Error::Notification`] if a congestion notification packet differs
    /// from its fixed values.
    pub fn new(network: Network, bth: bth::Repr, extension: Extension, payload: &'a [u8]) -> Result<Self> {
        let bth = bth::Repr { pad_count: bth::PadCount::of(payload.len()), ..bth };
        extension.require_opcode(bth.opcode)?;
        require_payload(bth.opcode, payload.len())?;
        if extension == Extension::Notification {
            cnp::Repr::from_bth(&bth)?;
        }
        Ok(Self { network, bth, extension, payload })
    }

    /// A frame with a congestion notification packet.
    #[must_use]
    pub const fn notification(network: Network, cnp: &cnp::Repr) -> Self {
        Self { network, bth: cnp.bth(), extension: Extension::Notification, payload: &[] }
    }

    /// The base transport header.
    #[must_use]
    pub const fn bth(&self) -> &bth::Repr {
        &self.bth
    }

    /// The extension headers.
    #[must_use]
    pub const fn extension(&self) -> &Extension {
        &self.extension
    }

    /// The RDMA extended transport header, if the operation code has one.
    #[must_use]
    pub const fn reth(&self) -> Option<&reth::Repr> {
        match &self.extension {
            Extension::Reth(reth) | Extension::RethWithImmediate(reth, _) => Some(reth),
            _ => None,
        }
    }

    /// The ACK extended transport header, if the operation code has one.
    #[must_use]
    pub const fn aeth(&self) -> Option<&aeth::Repr> {
        match &self.extension {
            Extension::Aeth(aeth) => Some(aeth),
            _ => None,
        }
    }

    /// The payload, without its padding.
    #[must_use]
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The size of the frame including its frame check sequence.
    #[must_use]
    pub const fn frame_bytes(&self) -> usize {
        size::data_frame_bytes(self.bth.opcode, self.payload.len() as u32) as usize
    }

    /// Writes the frame without frame check sequence to the start of `buffer` and returns its length.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the buffer is shorter than the frame.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize> {
        let frame_bytes = self.frame_bytes() - ethernet::FCS_BYTES;
        require(buffer, frame_bytes)?;
        let frame = &mut buffer[..frame_bytes];
        frame.fill(0);
        self.emit_headers(frame)?;
        let payload_offset = EXTENSION_OFFSET + size::extension_bytes(self.bth.opcode) as usize;
        frame[payload_offset..payload_offset + self.payload.len()].copy_from_slice(self.payload);
        let icrc_offset = IPV4_OFFSET + self.ipv4_bytes() - icrc::BYTES;
        let icrc = icrc::icrc(&frame[IPV4_OFFSET..icrc_offset])?;
        // IBTA vol. 1, 7.8.1: bit-reversed like the FCS, hence least significant byte first.
        frame[icrc_offset..icrc_offset + icrc::BYTES].copy_from_slice(&icrc.to_le_bytes());
        Ok(frame_bytes)
    }

    /// Writes the frame with frame check sequence to the start of `buffer` and returns its length.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the buffer is shorter than the frame.
    pub fn emit_with_fcs(&self, buffer: &mut [u8]) -> Result<usize> {
        require(buffer, self.frame_bytes())?;
        let frame_bytes = self.emit(buffer)?;
        ethernet::emit_fcs(buffer, frame_bytes)?;
        Ok(self.frame_bytes())
    }

    /// Parses the frame in `bytes`, which end with the frame, without frame check sequence.
    ///
    /// # Errors
    /// The first error from the outermost header to the innermost; the ICRC is checked before the transport
    /// headers are read.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let header = ethernet::Repr::parse(&ethernet::Frame::new(bytes)?)?;
        if header.ethertype != EtherType::IPV4 {
            return Err(Error::EtherType(header.ethertype.value()));
        }
        let ip = ipv4::Repr::parse(&ipv4::Packet::new(&bytes[IPV4_OFFSET..])?)?;
        if ip.protocol != ipv4::PROTOCOL_UDP {
            return Err(Error::Protocol(ip.protocol));
        }
        let datagram = datagram(bytes, &ip)?;
        let udp = parse_udp(datagram)?;
        let transport = check_icrc(&bytes[IPV4_OFFSET..UDP_OFFSET + datagram.len()])?;
        let bth = bth::Repr::parse(&bth::Packet::new(transport)?)?;
        let body = &transport[bth::HEADER_BYTES..];
        let extension = Extension::parse(bth.opcode, body)?;
        let payload = payload(&bth, &body[size::extension_bytes(bth.opcode) as usize..])?;
        Self::new(network(&header, &ip, &udp), bth, extension, payload)
    }

    /// Parses the frame in `bytes`, which end with its frame check sequence.
    ///
    /// # Errors
    /// [`Error::BadFcs`] if the sequence does not match, and those of [`parse`](Self::parse).
    pub fn parse_with_fcs(bytes: &'a [u8]) -> Result<Self> {
        Self::parse(ethernet::check_fcs(bytes)?)
    }

    /// Length of the IPv4 datagram including its header.
    const fn ipv4_bytes(&self) -> usize {
        let transport_bytes = size::extension_bytes(self.bth.opcode) as usize + self.payload.len();
        let bytes = EXTENSION_OFFSET - IPV4_OFFSET + transport_bytes + icrc::BYTES;
        bytes + self.bth.pad_count.value() as usize
    }

    fn emit_headers(&self, frame: &mut [u8]) -> Result<()> {
        self.ethernet().emit(frame)?;
        self.ipv4().emit(&mut frame[IPV4_OFFSET..])?;
        self.udp().emit(&mut frame[UDP_OFFSET..])?;
        self.bth.emit(&mut frame[BTH_OFFSET..])?;
        self.extension.emit(&mut frame[EXTENSION_OFFSET..])
    }

    const fn ethernet(&self) -> ethernet::Repr {
        ethernet::Repr {
            destination: self.network.destination_mac,
            source: self.network.source_mac,
            ethertype: EtherType::IPV4,
        }
    }

    const fn ipv4(&self) -> ipv4::Repr {
        let Network { source_ip, destination_ip, dscp, ecn, ttl, identification, dont_fragment, .. } =
            self.network;
        ipv4::Repr {
            source: source_ip,
            destination: destination_ip,
            protocol: ipv4::PROTOCOL_UDP,
            dscp,
            ecn,
            ttl,
            identification,
            dont_fragment,
            payload_bytes: (self.ipv4_bytes() - ipv4::HEADER_BYTES) as u16,
        }
    }

    const fn udp(&self) -> udp::Repr {
        udp::Repr {
            source_port: self.network.udp_source_port,
            destination_port: udp::ROCE_PORT,
            payload_bytes: (self.ipv4_bytes() - ipv4::HEADER_BYTES - udp::HEADER_BYTES) as u16,
        }
    }
}

fn network(header: &ethernet::Repr, ip: &ipv4::Repr, udp: &udp::Repr) -> Network {
    Network {
        source_mac: header.source,
        destination_mac: header.destination,
        source_ip: ip.source,
        destination_ip: ip.destination,
        udp_source_port: udp.source_port,
        dscp: ip.dscp,
        ecn: ip.ecn,
        ttl: ip.ttl,
        identification: ip.identification,
        dont_fragment: ip.dont_fragment,
    }
}

/// Fails unless a packet of `opcode` may have this length of payload.
pub(crate) fn require_payload(opcode: Opcode, payload_bytes: usize) -> Result<()> {
    // IBTA vol. 1, 9.7.4 (length validation): First and Middle are full, Last is not empty, Only has any
    // length up to the path MTU.
    let allowed = match payload_bytes {
        0 => !(opcode.is_first() || opcode.is_middle() || opcode.is_last()),
        1..=PAYLOAD_BYTES_MAX if opcode.is_first() || opcode.is_middle() => {
            RoceMtu::from_bytes(payload_bytes as u32).is_some()
        }
        1..=PAYLOAD_BYTES_MAX => opcode.is_data(),
        _ => false,
    };
    if allowed { Ok(()) } else { Err(Error::Payload { opcode, payload_bytes }) }
}

/// The IPv4 payload, in a frame that ends with it or with the pad to the shortest frame.
fn datagram<'a>(bytes: &'a [u8], ip: &ipv4::Repr) -> Result<&'a [u8]> {
    let end = UDP_OFFSET + usize::from(ip.payload_bytes);
    let frame_bytes = end.max(ethernet::MIN_FRAME_BYTES);
    require(bytes, frame_bytes)?;
    require_length("frame", frame_bytes, bytes.len())?;
    Ok(&bytes[UDP_OFFSET..end])
}

fn parse_udp(datagram: &[u8]) -> Result<udp::Repr> {
    let udp = udp::Repr::parse(&udp::Packet::new(datagram)?)?;
    if udp.destination_port != udp::ROCE_PORT {
        return Err(Error::UdpPort(udp.destination_port));
    }
    require_length("UDP datagram", datagram.len(), udp::HEADER_BYTES + usize::from(udp.payload_bytes))?;
    Ok(udp)
}

/// The transport packet, without ICRC, in an IPv4 datagram that ends with the ICRC.
fn check_icrc(datagram: &[u8]) -> Result<&[u8]> {
    require(datagram, EXTENSION_OFFSET - IPV4_OFFSET + icrc::BYTES)?;
    let (packet, stored) = datagram.split_at(datagram.len() - icrc::BYTES);
    let (expected, stored) = (icrc::icrc(packet)?, u32::from_le_bytes(array(stored, 0)));
    if stored != expected {
        return Err(Error::BadIcrc { expected, stored });
    }
    Ok(&packet[BTH_OFFSET - IPV4_OFFSET..])
}

/// The payload without its padding.
pub(crate) fn payload<'a>(bth: &bth::Repr, padded: &'a [u8]) -> Result<&'a [u8]> {
    let pad_bytes = usize::from(bth.pad_count.value());
    require(padded, pad_bytes)?;
    let (payload, pad) = padded.split_at(padded.len() - pad_bytes);
    // The pad count must be the one that completes the payload, not any below four.
    let expected = payload.len() + usize::from(bth::PadCount::of(payload.len()).value());
    require_length("payload with pad", expected, padded.len())?;
    require_zero("pad of the payload", pad.iter().fold(0, |bits, &byte| bits | u64::from(byte)))?;
    Ok(payload)
}

pub(crate) fn require_length(field: &'static str, expected: usize, bytes: usize) -> Result<()> {
    match bytes == expected {
        true => Ok(()),
        false => Err(Error::Length { field, min: expected, max: expected, found: bytes }),
    }
}

#[cfg(test)]
mod tests;
