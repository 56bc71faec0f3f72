//! InfiniBand flow control packet: credits that a link's receiver grants to the sender on one virtual lane,
//! in blocks of 64 bytes. IBTA vol. 1, 7.9.4.

use super::lrh::VirtualLane;
use super::vcrc;
use crate::bytes::{array, be16, bounded, put, require, view};
use crate::{Error, Result, size};

/// Length of the packet including its CRC.
pub const PACKET_BYTES: usize = size::FLOW_CONTROL_PACKET_BYTES as usize;
/// Bytes of a block.
pub const BLOCK_BYTES: u32 = 64;

const CRC_OFFSET: usize = PACKET_BYTES - vcrc::BYTES;

bounded! {
    /// A number of blocks since the link came up, modulo 4096.
    BlockCount(u16), 12
}

impl BlockCount {
    /// The count for a total number of blocks.
    #[inline]
    #[must_use]
    pub const fn of(total_blocks: u64) -> Self {
        Self::from_low_bits((total_blocks & Self::MAX.value() as u64) as u16)
    }

    /// Number of blocks from `other` to this count, modulo 4096.
    #[inline]
    #[must_use]
    pub const fn ahead_of(self, other: Self) -> u16 {
        self.value().wrapping_sub(other.value()) & Self::MAX.value()
    }
}

/// Purpose of a flow control packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// While the link is up.
    Normal,
    /// While the link initialises.
    Initialise,
}

impl Operation {
    const fn code(self) -> u8 {
        match self {
            Self::Normal => 0,
            Self::Initialise => 1,
        }
    }
}

view! {
    /// View of a flow control packet.
    Packet, PACKET_BYTES, {
        /// Operand.
        operand: u8 = |bytes| bytes[0] >> 4;
        /// Flow control total blocks sent.
        total_blocks_sent: u16 = |bytes| be16(bytes, 0) & 0x0fff;
        /// Virtual lane.
        virtual_lane: u8 = |bytes| bytes[2] >> 4;
        /// Flow control credit limit.
        credit_limit: u16 = |bytes| be16(bytes, 2) & 0x0fff;
        /// Link packet CRC.
        crc: u16 = |bytes| u16::from_le_bytes(array(bytes, CRC_OFFSET));
    }
}

/// A flow control packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Purpose of the packet.
    pub operation: Operation,
    /// Blocks that its sender has sent on this lane in total, FCTBS.
    pub total_blocks_sent: BlockCount,
    /// The lane that the packet applies to.
    pub virtual_lane: VirtualLane,
    /// Blocks that the receiver of the packet may send in total, FCCL.
    pub credit_limit: BlockCount,
}

impl Repr {
    /// Parses the packet.
    ///
    /// # Errors
    /// [`Error::FlowControlOperand`], or [`Error::BadVcrc`] if the CRC does not match.
    pub fn parse<T: AsRef<[u8]>>(packet: &Packet<T>) -> Result<Self> {
        let (expected, stored) = (vcrc::vcrc(&packet.bytes()[..CRC_OFFSET]), packet.crc());
        if stored != expected {
            return Err(Error::BadVcrc { expected, stored });
        }
        let operation = match packet.operand() {
            0 => Operation::Normal,
            1 => Operation::Initialise,
            operand => return Err(Error::FlowControlOperand(operand)),
        };
        Ok(Self {
            operation,
            total_blocks_sent: BlockCount::from_low_bits(packet.total_blocks_sent()),
            virtual_lane: VirtualLane::from_low_bits(packet.virtual_lane()),
            credit_limit: BlockCount::from_low_bits(packet.credit_limit()),
        })
    }

    /// Writes the packet to the first [`PACKET_BYTES`] of `buffer`.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the buffer is shorter.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<()> {
        require(buffer, PACKET_BYTES)?;
        let sent = u16::from(self.operation.code()) << 12 | self.total_blocks_sent.value();
        let limit = u16::from(self.virtual_lane.value()) << 12 | self.credit_limit.value();
        put(buffer, [&sent.to_be_bytes(), &limit.to_be_bytes()])?;
        let crc = vcrc::vcrc(&buffer[..CRC_OFFSET]);
        put(&mut buffer[CRC_OFFSET..], [&crc.to_le_bytes()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use proptest::prelude::*;

    fn parse(packet: &[u8]) -> Result<Repr> {
        Repr::parse(&Packet::new(packet)?)
    }

    #[test]
    fn every_field_has_its_place() {
        let mut packet = [0x1a, 0xbc, 0x3d, 0xef, 0, 0];
        let crc = vcrc::vcrc(&packet[..4]).to_le_bytes();
        packet[4..].copy_from_slice(&crc);
        let expected = Repr {
            operation: Operation::Initialise,
            total_blocks_sent: BlockCount::new(0xabc).unwrap(),
            virtual_lane: VirtualLane::new(3).unwrap(),
            credit_limit: BlockCount::new(0xdef).unwrap(),
        };
        assert_eq!(parse(&packet), Ok(expected));
        packet[5] ^= 1;
        assert!(matches!(parse(&packet), Err(Error::BadVcrc { .. })));
    }

    #[test]
    fn counts_wrap_at_4096() {
        let (before, after) = (BlockCount::of(4_090), BlockCount::of(4_100));
        assert_eq!((after.value(), after.ahead_of(before), before.ahead_of(after)), (4, 10, 4_086));
    }

    proptest! {
        #[test]
        fn parse_is_the_inverse_of_emit(repr in testing::flow_control()) {
            let mut packet = [0xee; PACKET_BYTES];
            repr.emit(&mut packet)?;
            prop_assert_eq!(parse(&packet)?, repr);
        }

        #[test]
        fn emit_is_the_inverse_of_parse(mut packet: [u8; PACKET_BYTES]) {
            let crc = vcrc::vcrc(&packet[..CRC_OFFSET]).to_le_bytes();
            packet[CRC_OFFSET..].copy_from_slice(&crc);
            match parse(&packet) {
                Ok(repr) => {
                    let mut again = [0; PACKET_BYTES];
                    repr.emit(&mut again)?;
                    prop_assert_eq!(again, packet);
                }
                Err(error) => prop_assert_eq!(error, Error::FlowControlOperand(packet[0] >> 4)),
            }
        }

        #[test]
        fn short_buffers_are_errors(repr in testing::flow_control(), have in 0..PACKET_BYTES) {
            let mut packet = [0; PACKET_BYTES];
            let expected = Error::Truncated { need: PACKET_BYTES, have };
            prop_assert_eq!(repr.emit(&mut packet[..have]), Err(expected));
            prop_assert_eq!(parse(&packet[..have]), Err(expected));
        }
    }
}
