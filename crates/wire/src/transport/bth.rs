//! Base transport header: operation code, flags, queue pair number, packet sequence number, pad count. IBTA
//! vol. 1, 9.2 and annex A17.

use crate::bytes::{be16, be24, bounded, put, require_zero, view, word};
use crate::{Error, Opcode, Psn, Result, size};

/// Length of the header.
pub const HEADER_BYTES: usize = size::BTH_BYTES as usize;
/// Partition key of the default partition, full membership.
pub const DEFAULT_PARTITION_KEY: u16 = 0xffff;

/// Offset of the byte with FECN, BECN and six reserved bits (resv8a), which switches may change.
pub(crate) const RESV8A_OFFSET: usize = 4;

const SOLICITED_EVENT: u8 = 0x80;
const MIGRATED: u8 = 0x40;
const FECN: u8 = 0x80;
const BECN: u8 = 0x40;
const ACK_REQUEST: u8 = 0x80;

bounded! {
    /// Queue pair number: 24 bits.
    Qpn(u32), 24
}

bounded! {
    /// Number of bytes that pad the payload to a multiple of four.
    PadCount(u8), 2
}

impl PadCount {
    /// The pad count of a payload of `payload_bytes`.
    #[must_use]
    pub const fn of(payload_bytes: usize) -> Self {
        Self((payload_bytes.wrapping_neg() % 4) as u8)
    }
}

view! {
    /// View of a transport packet, starting at its BTH.
    Packet, HEADER_BYTES, {
        /// Operation code.
        opcode: u8 = |bytes| bytes[0];
        /// Solicited event, SE.
        solicited_event: bool = |bytes| bytes[1] & SOLICITED_EVENT != 0;
        /// Migration state, M.
        migrated: bool = |bytes| bytes[1] & MIGRATED != 0;
        /// Pad count.
        pad_count: u8 = |bytes| bytes[1] >> 4 & 3;
        /// Transport header version, TVer.
        transport_version: u8 = |bytes| bytes[1] & 0xf;
        /// Partition key.
        partition_key: u16 = |bytes| be16(bytes, 2);
        /// Forward explicit congestion notification.
        fecn: bool = |bytes| bytes[RESV8A_OFFSET] & FECN != 0;
        /// Backward explicit congestion notification.
        becn: bool = |bytes| bytes[RESV8A_OFFSET] & BECN != 0;
        /// The six reserved bits after FECN and BECN.
        reserved_after_becn: u8 = |bytes| bytes[RESV8A_OFFSET] & 0x3f;
        /// Destination queue pair.
        destination_qp: u32 = |bytes| be24(bytes, 5);
        /// Acknowledge request, A.
        ack_request: bool = |bytes| bytes[8] & ACK_REQUEST != 0;
        /// The seven reserved bits after the acknowledge request.
        reserved_after_ack_request: u8 = |bytes| bytes[8] & 0x7f;
        /// Packet sequence number.
        psn: u32 = |bytes| be24(bytes, 9);
    }
}

/// A base transport header of version 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Operation code.
    pub opcode: Opcode,
    /// Solicited event: the responder raises an event when the message is complete.
    pub solicited_event: bool,
    /// Migration state of the connection.
    pub migrated: bool,
    /// Bytes of padding after the payload.
    pub pad_count: PadCount,
    /// Partition key.
    pub partition_key: u16,
    /// Forward explicit congestion notification; RoCEv2 marks the IP header instead.
    pub fecn: bool,
    /// Backward explicit congestion notification; set in a congestion notification packet.
    pub becn: bool,
    /// Destination queue pair.
    pub destination_qp: Qpn,
    /// The responder must acknowledge this packet.
    pub ack_request: bool,
    /// Packet sequence number.
    pub psn: Psn,
}

impl Repr {
    /// A header with the default partition key and no flag set; the pad count is for an empty payload.
    #[must_use]
    pub const fn new(opcode: Opcode, destination_qp: Qpn, psn: Psn) -> Self {
        Self {
            opcode,
            solicited_event: false,
            migrated: false,
            pad_count: PadCount::of(0),
            partition_key: DEFAULT_PARTITION_KEY,
            fecn: false,
            becn: false,
            destination_qp,
            ack_request: false,
            psn,
        }
    }

    /// Parses the header of a packet.
    ///
    /// # Errors
    /// [`Error::Opcode`], [`Error::TransportVersion`] or [`Error::Reserved`].
    pub fn parse<T: AsRef<[u8]>>(packet: &Packet<T>) -> Result<Self> {
        if packet.transport_version() != 0 {
            return Err(Error::TransportVersion(packet.transport_version()));
        }
        require_zero("BTH field after BECN", packet.reserved_after_becn().into())?;
        require_zero("BTH field after the acknowledge request", packet.reserved_after_ack_request().into())?;
        Ok(Self {
            opcode: Opcode::from_code(packet.opcode())?,
            solicited_event: packet.solicited_event(),
            migrated: packet.migrated(),
            pad_count: PadCount::from_low_bits(packet.pad_count()),
            partition_key: packet.partition_key(),
            fecn: packet.fecn(),
            becn: packet.becn(),
            destination_qp: Qpn::from_low_bits(packet.destination_qp()),
            ack_request: packet.ack_request(),
            psn: Psn::new(packet.psn()),
        })
    }

    /// Writes the header to the first [`HEADER_BYTES`] of `buffer`.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the buffer is shorter.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<()> {
        let flags = bit(self.solicited_event, SOLICITED_EVENT) | bit(self.migrated, MIGRATED);
        let parts: [&[u8]; 4] = [
            &[self.opcode.code(), flags | self.pad_count.value() << 4],
            &self.partition_key.to_be_bytes(),
            &word(bit(self.fecn, FECN) | bit(self.becn, BECN), self.destination_qp.value()),
            &word(bit(self.ack_request, ACK_REQUEST), self.psn.value()),
        ];
        put(buffer, parts)
    }
}

fn bit(set: bool, mask: u8) -> u8 {
    if set { mask } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use proptest::prelude::*;

    fn parse(header: &[u8]) -> Result<Repr> {
        Repr::parse(&Packet::new(header)?)
    }

    #[test]
    fn every_field_has_its_place() {
        let header = [0x0a, 0xf0, 0x80, 0x01, 0xc0, 0x12, 0x34, 0x56, 0x80, 0xab, 0xcd, 0xef];
        let expected = Repr {
            solicited_event: true,
            migrated: true,
            pad_count: PadCount::new(3).unwrap(),
            partition_key: 0x8001,
            fecn: true,
            becn: true,
            ack_request: true,
            ..Repr::new(Opcode::WriteOnly, Qpn::new(0x12_3456).unwrap(), Psn::new(0xab_cdef))
        };
        assert_eq!(parse(&header), Ok(expected));
    }

    #[test]
    fn reserved_bits_unknown_opcodes_and_other_versions_are_rejected() {
        let mut header = [0; HEADER_BYTES];
        Repr::new(Opcode::SendOnly, Qpn::MAX, Psn::new(1)).emit(&mut header).unwrap();
        let with = |at: usize, value: u8| {
            let mut changed = header;
            changed[at] |= value;
            parse(&changed)
        };
        assert_eq!(with(0, 0xe0), Err(Error::Opcode(0xe4)));
        assert_eq!(with(1, 0x05), Err(Error::TransportVersion(5)));
        assert!(matches!(with(4, 0x20), Err(Error::Reserved { found: 0x20, .. })));
        assert!(matches!(with(8, 0x01), Err(Error::Reserved { found: 0x01, .. })));
    }

    #[test]
    fn numbers_wider_than_their_field_are_no_numbers() {
        assert_eq!(Qpn::new(1 << 24), None);
        assert_eq!(PadCount::new(4), None);
        assert_eq!([5, 6, 7, 8].map(|bytes| PadCount::of(bytes).value()), [3, 2, 1, 0]);
    }

    proptest! {
        #[test]
        fn parse_is_the_inverse_of_emit(repr in testing::bth()) {
            let mut bytes = [0xee; HEADER_BYTES];
            repr.emit(&mut bytes)?;
            prop_assert_eq!(parse(&bytes)?, repr);
        }

        #[test]
        fn emit_is_the_inverse_of_parse(mut bytes: [u8; HEADER_BYTES], opcode in testing::opcode()) {
            bytes[0] = opcode.code();
            bytes[1] &= 0xf1;
            bytes[4] &= 0xc1;
            bytes[8] &= 0x81;
            if let Ok(repr) = parse(&bytes) {
                let mut again = [0; HEADER_BYTES];
                repr.emit(&mut again)?;
                prop_assert_eq!(again, bytes);
            }
        }

        #[test]
        fn short_buffers_are_errors(repr in testing::bth(), have in 0..HEADER_BYTES) {
            let mut bytes = [0; HEADER_BYTES];
            let expected = Error::Truncated { need: HEADER_BYTES, have };
            prop_assert_eq!(repr.emit(&mut bytes[..have]), Err(expected));
            prop_assert_eq!(parse(&bytes[..have]), Err(expected));
        }
    }
}
