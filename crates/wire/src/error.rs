//! Errors of parsing and building headers and frames.

use crate::Opcode;

/// Reason why bytes are not the expected header or frame, or why parts do not form one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message of each variant says what its numbers are")]
pub enum Error {
    /// The buffer ends before the header or frame does.
    #[error("truncated: {need} bytes needed, {have} found")]
    Truncated { need: usize, have: usize },
    /// A length field, or the length of a frame or payload, that contradicts the rest of the packet.
    #[error("{field} is {found} bytes; {min} to {max} are allowed here")]
    Length { field: &'static str, min: usize, max: usize, found: usize },
    /// A reserved or padding field that is not zero.
    #[error("{field} is reserved and must be 0, found {found:#x}")]
    Reserved { field: &'static str, found: u64 },

    /// A number below 1536 instead of the EtherType is a length (IEEE 802.3, not Ethernet II); other
    /// EtherTypes are not supported where IPv4 or MAC control is expected.
    #[error("EtherType {0:#06x} is not the one expected here")]
    EtherType(u16),
    /// The frame check sequence does not match the frame.
    #[error("bad frame check sequence: {expected:#010x} expected, {stored:#010x} found")]
    BadFcs { expected: u32, stored: u32 },
    /// A VLAN tag with another TPID, with a reserved identifier, or drop-eligible.
    #[error("VLAN tag {tpid:#06x} {control:#06x} is none of 802.1Q with a VLAN of 1 to 4094")]
    VlanTag { tpid: u16, control: u16 },

    /// The IP version is not 4.
    #[error("IP version {0}; only 4 is supported")]
    IpVersion(u8),
    /// The IPv4 header is not 20 bytes long: it has options, or its length is not valid.
    #[error("IPv4 header of {header_bytes} bytes; options are not supported and 20 is the only length")]
    Ipv4Options { header_bytes: usize },
    /// The IPv4 header checksum does not match the header.
    #[error("bad IPv4 header checksum: {expected:#06x} expected, {stored:#06x} found")]
    BadChecksum { expected: u16, stored: u16 },
    /// The datagram is a fragment.
    #[error("IPv4 fragment at offset {offset_bytes} (more fragments: {more_fragments}); not supported")]
    Fragment { offset_bytes: u32, more_fragments: bool },
    /// The IPv4 protocol is not UDP.
    #[error("IPv4 protocol {0}; 17 (UDP) expected")]
    Protocol(u8),
    /// The UDP destination port is not that of RoCEv2.
    #[error("UDP destination port {0}; 4791 (RoCEv2) expected")]
    UdpPort(u16),
    /// The TCP options are not timestamps, by themselves or before SACK, each after two bytes of padding.
    #[error("TCP header of {header_bytes} bytes with other options than timestamps and SACK")]
    TcpOptions { header_bytes: usize },
    /// The UDP checksum is not 0, that is, not unused.
    #[error("UDP checksum {0:#06x}; RoCEv2 leaves it unused (0)")]
    UdpChecksum(u16),

    /// An operation code outside the supported subset (reliable connection).
    #[error("unknown operation code {0:#04x}")]
    Opcode(u8),
    /// The transport header version is not 0.
    #[error("transport header version {0}; 0 expected")]
    TransportVersion(u8),
    /// An AETH syndrome of a reserved kind or with a reserved NAK code.
    #[error("reserved AETH syndrome {0:#04x}")]
    Syndrome(u8),
    /// The invariant CRC does not match the packet.
    #[error("bad ICRC: {expected:#010x} expected, {stored:#010x} found")]
    BadIcrc { expected: u32, stored: u32 },
    /// The extension headers do not match the operation code.
    #[error("the extension headers do not belong to operation code {opcode:?}")]
    Extension { opcode: Opcode },
    /// A payload length that the operation code does not allow.
    #[error("operation code {opcode:?} cannot carry {payload_bytes} bytes of payload")]
    Payload { opcode: Opcode, payload_bytes: usize },
    /// The field must have this value in a congestion notification packet.
    #[error("{field} of a congestion notification packet must be {expected}")]
    Notification { field: &'static str, expected: u32 },

    /// The link version of a local route header is not 0.
    #[error("InfiniBand link version {0}; 0 expected")]
    LinkVersion(u8),
    /// The header after the local route header is not a base transport header.
    #[error("link next header {0}; 2 (base transport header, no global route header) expected")]
    NextHeader(u8),
    /// The variant CRC, or the CRC of a link packet, does not match.
    #[error("bad VCRC: {expected:#06x} expected, {stored:#06x} found")]
    BadVcrc { expected: u16, stored: u16 },
    /// A flow control packet is of a reserved kind.
    #[error("flow control operand {0}; 0 or 1 expected")]
    FlowControlOperand(u8),

    /// The destination address is not that of MAC control frames.
    #[error("destination {0}; MAC control frames go to 01:80:c2:00:00:01")]
    ControlAddress(crate::ethernet::MacAddress),
    /// The MAC control opcode is not priority flow control.
    #[error("MAC control opcode {0:#06x}; 0x0101 (PFC) expected")]
    ControlOpcode(u16),
}

/// The result of parsing or emitting.
pub type Result<T> = std::result::Result<T, Error>;
