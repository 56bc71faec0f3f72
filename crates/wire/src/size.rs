//! Sizes of headers and frames, computed without building them; RoCE MTUs.
//!
//! Sizes of Ethernet frames include the Ethernet header and the FCS, those of InfiniBand packets the local
//! route header and the VCRC. Both exclude the overhead of the link, such as preamble and gap
//! ([`Framing::link_overhead_bytes`]).

use crate::Opcode;

/// Ethernet II header: destination, source, EtherType.
pub const ETHERNET_HEADER_BYTES: u32 = 14;
/// VLAN tag: TPID and tag control information. IEEE 802.1Q-2022, 9.3.
pub const VLAN_TAG_BYTES: u32 = 4;
/// Frame check sequence.
pub const FCS_BYTES: u32 = 4;
/// IPv4 header without options.
pub const IPV4_HEADER_BYTES: u32 = 20;
/// UDP header.
pub const UDP_HEADER_BYTES: u32 = 8;
/// Base transport header.
pub const BTH_BYTES: u32 = 12;
/// RDMA extended transport header.
pub const RETH_BYTES: u32 = 16;
/// ACK extended transport header.
pub const AETH_BYTES: u32 = 4;
/// Immediate data.
pub const IMMEDIATE_BYTES: u32 = 4;
/// Reserved bytes after the BTH of a congestion notification packet.
pub const CNP_RESERVED_BYTES: u32 = 16;
/// Invariant CRC.
pub const ICRC_BYTES: u32 = 4;
/// InfiniBand local route header.
pub const LRH_BYTES: u32 = 8;
/// InfiniBand variant CRC.
pub const VCRC_BYTES: u32 = 2;
/// An InfiniBand flow control packet, without its two symbols. IBTA vol. 1, 7.9.4.
pub const FLOW_CONTROL_PACKET_BYTES: u32 = 6;

/// The shortest Ethernet frame; shorter ones are padded. IEEE 802.3-2022, 3.2.8 and 4A.4.2.
pub const MIN_FRAME_BYTES: u32 = 64;

/// Ethernet, IPv4, UDP, BTH, ICRC and FCS: common to all RoCEv2 frames.
pub const BASE_FRAME_BYTES: u32 =
    ETHERNET_HEADER_BYTES + IPV4_HEADER_BYTES + UDP_HEADER_BYTES + BTH_BYTES + ICRC_BYTES + FCS_BYTES;

/// A frame with an ACK or a NAK.
pub const ACK_FRAME_BYTES: u32 = data_frame_bytes(Opcode::Acknowledge, 0);
/// A frame with a congestion notification packet.
pub const CNP_FRAME_BYTES: u32 = data_frame_bytes(Opcode::CongestionNotification, 0);
/// A priority flow control frame: the shortest Ethernet frame. IEEE 802.3-2022, annex 31D.
pub const PFC_FRAME_BYTES: u32 = MIN_FRAME_BYTES;

/// TCP header without options.
pub const TCP_HEADER_BYTES: u32 = 20;
/// Timestamps option with the padding of Linux (RFC 7323, appendix A).
pub const TCP_TIMESTAMPS_BYTES: u32 = 12;
/// A frame with a TCP segment with timestamps, without payload.
pub const TCP_DATA_FRAME_BYTES: u32 =
    ETHERNET_HEADER_BYTES + IPV4_HEADER_BYTES + TCP_HEADER_BYTES + TCP_TIMESTAMPS_BYTES + FCS_BYTES;
/// A frame with a TCP acknowledgement without SACK option.
pub const TCP_ACK_FRAME_BYTES: u32 = TCP_DATA_FRAME_BYTES;

/// The SACK option with its padding (RFC 2018, 3, and RFC 7323, appendix A).
#[inline]
#[must_use]
pub const fn tcp_sack_bytes(blocks: u32) -> u32 {
    if blocks == 0 { 0 } else { 4 + 8 * blocks }
}

/// Bytes of the headers between the BTH and the payload.
#[inline]
#[must_use]
pub const fn extension_bytes(opcode: Opcode) -> u32 {
    let mut bytes = 0;
    if opcode.has_reth() {
        bytes += RETH_BYTES;
    }
    if opcode.has_aeth() {
        bytes += AETH_BYTES;
    }
    if opcode.has_immediate() {
        bytes += IMMEDIATE_BYTES;
    }
    if matches!(opcode, Opcode::CongestionNotification) {
        bytes += CNP_RESERVED_BYTES;
    }
    bytes
}

/// Bytes that pad the payload to a multiple of four: the BTH's pad count. IBTA vol. 1, 9.2 (PadCnt).
#[inline]
#[must_use]
pub const fn pad_bytes(payload_bytes: u32) -> u32 {
    payload_bytes.wrapping_neg() % 4
}

/// The size of the Ethernet frame of a packet of `opcode` with `payload_bytes` of payload.
///
/// The payload's padding and the padding to the shortest Ethernet frame are included.
#[inline]
#[must_use]
pub const fn data_frame_bytes(opcode: Opcode, payload_bytes: u32) -> u32 {
    let bytes = BASE_FRAME_BYTES + extension_bytes(opcode) + payload_bytes + pad_bytes(payload_bytes);
    if bytes < MIN_FRAME_BYTES { MIN_FRAME_BYTES } else { bytes }
}

/// Encapsulation of transport packets on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Framing {
    /// RoCEv2 over IPv4 in Ethernet II.
    Ethernet,
    /// RoCEv2 over IPv4 in Ethernet II with a VLAN tag. The tag counts as link overhead, like preamble and
    /// gap: it takes time on each link, and sizes of frames exclude it.
    TaggedEthernet,
    /// InfiniBand within a subnet: no global route header.
    Infiniband,
}

impl Framing {
    /// LRH, BTH, ICRC and VCRC: common to all InfiniBand packets.
    const INFINIBAND_BASE_BYTES: u32 = LRH_BYTES + BTH_BYTES + ICRC_BYTES + VCRC_BYTES;

    /// Bytes that occupy the link in addition to the frame: for Ethernet preamble and gap; for InfiniBand the
    /// symbols at start and end (IBTA vol. 1, 5.2: SDP or SLP, and EGP). Line codes (8b/10b, 64b/66b, RS-FEC)
    /// are not included: the rates of both are data rates, without the line code.
    #[inline]
    #[must_use]
    pub const fn link_overhead_bytes(self) -> u32 {
        match self {
            Self::Ethernet => units::LINK_OVERHEAD_BYTES,
            Self::TaggedEthernet => units::LINK_OVERHEAD_BYTES + VLAN_TAG_BYTES,
            Self::Infiniband => 2,
        }
    }

    /// The size of the frame of a packet of `opcode` with `payload_bytes` of payload.
    #[inline]
    #[must_use]
    pub const fn frame_bytes(self, opcode: Opcode, payload_bytes: u32) -> u32 {
        match self {
            Self::Ethernet | Self::TaggedEthernet => data_frame_bytes(opcode, payload_bytes),
            Self::Infiniband => {
                let payload_bytes = payload_bytes + pad_bytes(payload_bytes);
                Self::INFINIBAND_BASE_BYTES + extension_bytes(opcode) + payload_bytes
            }
        }
    }

    /// The payload of a packet of `opcode` in a frame of `frame_bytes`, including its padding to a multiple
    /// of four.
    #[inline]
    #[must_use]
    pub const fn payload_bytes(self, opcode: Opcode, frame_bytes: u32) -> u32 {
        let base_bytes = match self {
            // The shortest frame has no payload: one byte of payload makes a longer one.
            Self::Ethernet | Self::TaggedEthernet if frame_bytes <= MIN_FRAME_BYTES => return 0,
            Self::Ethernet | Self::TaggedEthernet => BASE_FRAME_BYTES,
            Self::Infiniband => Self::INFINIBAND_BASE_BYTES,
        };
        frame_bytes - base_bytes - extension_bytes(opcode)
    }

    /// Size of the headers common to all packets, and of the shortest frame.
    const fn base_and_shortest_bytes(self) -> (u32, u32) {
        match self {
            Self::Ethernet | Self::TaggedEthernet => (BASE_FRAME_BYTES, MIN_FRAME_BYTES),
            Self::Infiniband => (Self::INFINIBAND_BASE_BYTES, 0),
        }
    }

    /// The size of the frame of a packet of a write: [`Self::frame_bytes`] without an opcode.
    #[inline]
    #[must_use]
    pub const fn write_frame_bytes(self, starts_message: bool, payload_bytes: u32) -> u32 {
        let (base_bytes, shortest_bytes) = self.base_and_shortest_bytes();
        let reth_bytes = RETH_BYTES * starts_message as u32;
        let bytes = base_bytes + reth_bytes + payload_bytes + pad_bytes(payload_bytes);
        if bytes < shortest_bytes { shortest_bytes } else { bytes }
    }

    /// The payload of a packet of a write: [`Self::payload_bytes`] without an opcode.
    #[inline]
    #[must_use]
    pub const fn write_payload_bytes(self, starts_message: bool, frame_bytes: u32) -> u32 {
        let (base_bytes, _) = self.base_and_shortest_bytes();
        // Padded payload is a multiple of four; the padding of the shortest frame is less than four bytes.
        (frame_bytes - base_bytes - RETH_BYTES * starts_message as u32) & !3
    }

    /// The size of a frame with an ACK or a NAK.
    #[inline]
    #[must_use]
    pub const fn ack_frame_bytes(self) -> u32 {
        self.frame_bytes(Opcode::Acknowledge, 0)
    }

    /// The size of a link-level flow control frame.
    #[inline]
    #[must_use]
    pub const fn flow_control_frame_bytes(self) -> u32 {
        match self {
            Self::Ethernet | Self::TaggedEthernet => PFC_FRAME_BYTES,
            Self::Infiniband => FLOW_CONTROL_PACKET_BYTES,
        }
    }
}

/// Payload of a full packet on the path of a queue pair (the path MTU).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum RoceMtu {
    /// 256 bytes.
    Mtu256 = 256,
    /// 512 bytes.
    Mtu512 = 512,
    /// 1024 bytes.
    Mtu1024 = 1024,
    /// 2048 bytes.
    Mtu2048 = 2048,
    /// 4096 bytes.
    Mtu4096 = 4096,
}

impl RoceMtu {
    /// Every RoCE MTU, smallest first.
    pub const ALL: [Self; 5] = [Self::Mtu256, Self::Mtu512, Self::Mtu1024, Self::Mtu2048, Self::Mtu4096];

    /// Headers that a full packet may need within the Ethernet MTU: IPv4, UDP, BTH, RETH, immediate, ICRC.
    ///
    /// Linux reserves 96 bytes (`iboe_get_mtu`: also GRH, XRC and atomic headers). The two differ only for an
    /// Ethernet MTU that is 64 to 95 bytes above a RoCE MTU.
    pub const HEADER_BYTES: u32 =
        IPV4_HEADER_BYTES + UDP_HEADER_BYTES + BTH_BYTES + RETH_BYTES + IMMEDIATE_BYTES + ICRC_BYTES;

    /// The MTU of exactly `bytes`, if there is one.
    #[must_use]
    pub fn from_bytes(bytes: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|mtu| mtu.bytes() == bytes)
    }

    /// The largest MTU that fits a port's Ethernet MTU (bytes of Ethernet payload) with its headers; `None`
    /// below 320 bytes.
    #[must_use]
    pub fn for_ethernet_mtu(ethernet_mtu_bytes: u32) -> Option<Self> {
        let payload_bytes_max = ethernet_mtu_bytes.checked_sub(Self::HEADER_BYTES)?;
        Self::ALL.into_iter().rev().find(|mtu| mtu.bytes() <= payload_bytes_max)
    }

    /// The payload of a full packet, in bytes.
    #[inline]
    #[must_use]
    pub const fn bytes(self) -> u32 {
        self as u32
    }

    /// Number of packets of a message of `message_bytes`: a message without payload is one packet.
    #[inline]
    #[must_use]
    pub const fn packets(self, message_bytes: u64) -> u64 {
        let packets = message_bytes.div_ceil(self.bytes() as u64);
        if packets == 0 { 1 } else { packets }
    }

    /// Sum of the frame sizes of an RDMA WRITE message of `message_bytes`.
    #[must_use]
    pub const fn write_message_frame_bytes(self, message_bytes: u64) -> u64 {
        let full_packets = self.packets(message_bytes) - 1;
        let mtu_bytes = self.bytes();
        let last_payload_bytes = (message_bytes - full_packets * mtu_bytes as u64) as u32;
        let last = data_frame_bytes(Opcode::WriteLast, last_payload_bytes) as u64;
        match full_packets {
            0 => data_frame_bytes(Opcode::WriteOnly, last_payload_bytes) as u64,
            _ => {
                let middle = data_frame_bytes(Opcode::WriteMiddle, mtu_bytes) as u64;
                data_frame_bytes(Opcode::WriteFirst, mtu_bytes) as u64 + (full_packets - 1) * middle + last
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MESSAGE_BYTES: u64 = 128 << 10;

    #[test]
    fn fixed_frame_sizes() {
        assert_eq!(BASE_FRAME_BYTES, 62);
        assert_eq!(ACK_FRAME_BYTES, 66);
        assert_eq!(CNP_FRAME_BYTES, 78);
        assert_eq!(PFC_FRAME_BYTES, 64);
    }

    #[test]
    fn only_the_packet_that_starts_a_write_carries_the_reth() {
        for (opcode, overhead_bytes) in [
            (Opcode::WriteFirst, 78),
            (Opcode::WriteOnly, 78),
            (Opcode::WriteMiddle, 62),
            (Opcode::WriteLast, 62),
            (Opcode::WriteLastWithImmediate, 66),
            (Opcode::WriteOnlyWithImmediate, 82),
            (Opcode::SendFirst, 62),
            (Opcode::ReadResponseFirst, 66),
            (Opcode::ReadResponseMiddle, 62),
        ] {
            assert_eq!(data_frame_bytes(opcode, 4096), 4096 + overhead_bytes, "{opcode:?}");
        }
        assert_eq!(data_frame_bytes(Opcode::ReadRequest, 0), 78);
    }

    #[test]
    fn an_infiniband_packet_has_36_bytes_less() {
        let framing = Framing::Infiniband;
        assert_eq!(framing.frame_bytes(Opcode::WriteMiddle, 4096), 4096 + 26);
        assert_eq!(framing.frame_bytes(Opcode::WriteFirst, 4096), 4096 + 42);
        assert_eq!(framing.frame_bytes(Opcode::WriteOnly, 1), 46, "no shortest packet, but whole words");
        assert_eq!((framing.ack_frame_bytes(), framing.flow_control_frame_bytes()), (30, 6));
        assert_eq!(framing.link_overhead_bytes(), 2);
        assert_eq!(Framing::Ethernet.frame_bytes(Opcode::WriteMiddle, 4096), 4096 + 62);
    }

    #[test]
    fn payload_is_padded_to_four_bytes_and_the_frame_to_the_ethernet_minimum() {
        let send_only = |payload_bytes| data_frame_bytes(Opcode::SendOnly, payload_bytes);
        assert_eq!([5, 6, 7, 8].map(send_only), [70; 4]);
        assert_eq!([0, 1, 4, 5].map(pad_bytes), [0, 3, 0, 3]);
        assert_eq!(send_only(0), 64, "62 bytes of headers are short of the Ethernet minimum");
    }

    #[test]
    fn check_values_of_whole_chunks() {
        let mtu = RoceMtu::Mtu4096;
        // A chunk is split into messages of 128 KiB: 2 MiB are 16 of them, and 26,214,400 bytes exactly 200.
        for (chunk_bytes, frames, frame_bytes) in
            [(MESSAGE_BYTES, 32, 133_072), (2 << 20, 512, 2_129_152), (26_214_400, 6_400, 26_614_400)]
        {
            let messages = chunk_bytes / MESSAGE_BYTES;
            assert_eq!(chunk_bytes % MESSAGE_BYTES, 0);
            assert_eq!(messages * mtu.packets(MESSAGE_BYTES), frames);
            assert_eq!(messages * mtu.write_message_frame_bytes(MESSAGE_BYTES), frame_bytes);
        }
    }

    #[test]
    fn the_mtu_is_the_largest_that_fits_the_port() {
        let bytes = |ethernet_mtu| RoceMtu::for_ethernet_mtu(ethernet_mtu).map(RoceMtu::bytes);
        assert_eq!(
            [1500, 2200, 4200, 8192, 9216].map(bytes),
            [Some(1024), Some(2048), Some(4096), Some(4096), Some(4096)]
        );
        assert_eq!([319, 320, 4159, 4160].map(bytes), [None, Some(256), Some(2048), Some(4096)]);
        assert_eq!([0, u32::MAX].map(bytes), [None, Some(4096)]);
    }

    proptest! {
        #[test]
        fn a_message_is_the_sum_of_its_packets(message_bytes in 0..200_000_u64, mtu_index in 0..5_usize) {
            let mtu = RoceMtu::ALL[mtu_index];
            let (mut left, mut packets, mut frame_bytes) = (message_bytes, 0, 0_u64);
            loop {
                let payload_bytes = left.min(u64::from(mtu.bytes())) as u32;
                left -= u64::from(payload_bytes);
                let opcode = Opcode::write(packets == 0, left == 0);
                frame_bytes += u64::from(data_frame_bytes(opcode, payload_bytes));
                for framing in [Framing::Ethernet, Framing::TaggedEthernet, Framing::Infiniband] {
                    let frame = framing.frame_bytes(opcode, payload_bytes);
                    prop_assert_eq!(framing.write_frame_bytes(packets == 0, payload_bytes), frame);
                    let found = framing.payload_bytes(opcode, frame);
                    prop_assert_eq!(found, payload_bytes + pad_bytes(payload_bytes));
                    prop_assert_eq!(framing.write_payload_bytes(packets == 0, frame), found);
                }
                packets += 1;
                if left == 0 {
                    break;
                }
            }
            prop_assert_eq!(mtu.packets(message_bytes), packets);
            prop_assert_eq!(mtu.write_message_frame_bytes(message_bytes), frame_bytes);
        }
    }
}
