//! Congestion notification packet: sent by a RoCEv2 receiver to the sender of packets that a switch has
//! marked with ECN. IBTA vol. 1, annex A17.9.3.

use crate::bytes::{array, require_zero, view};
use crate::{Error, Opcode, Psn, Result, bth, size};

/// Length of the BTH and the reserved bytes after it.
pub const HEADER_BYTES: usize = bth::HEADER_BYTES + RESERVED_BYTES;
/// Length of the reserved bytes.
pub const RESERVED_BYTES: usize = size::CNP_RESERVED_BYTES as usize;

view! {
    /// View of a congestion notification packet, starting at its BTH.
    Packet, HEADER_BYTES, {
        /// The reserved bytes after the BTH.
        reserved: [u8; RESERVED_BYTES] = |bytes| array(bytes, bth::HEADER_BYTES);
    }
}

/// A congestion notification packet. Fields with fixed values in the annex (BECN set; PSN, SE, M, A, pad
/// count zero) are omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Queue pair that must reduce its rate.
    pub destination_qp: bth::Qpn,
    /// Partition key of the marked packet.
    pub partition_key: u16,
}

impl Repr {
    /// Parses the packet.
    ///
    /// # Errors
    /// [`Error::Notification`] if a field of the BTH differs from its fixed value in the annex,
    /// [`Error::Reserved`] if a reserved byte is not 0, and the errors of [`bth::Repr::parse`].
    pub fn parse<T: AsRef<[u8]>>(packet: &Packet<T>) -> Result<Self> {
        let repr = Self::from_bth(&bth::Repr::parse(&bth::Packet::new(packet.bytes())?)?)?;
        require_reserved(packet.reserved())?;
        Ok(repr)
    }

    /// Writes the packet to the first [`HEADER_BYTES`] of `buffer`.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the buffer is shorter.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<()> {
        crate::bytes::require(buffer, HEADER_BYTES)?;
        self.bth().emit(buffer)?;
        buffer[bth::HEADER_BYTES..HEADER_BYTES].fill(0);
        Ok(())
    }

    /// The base transport header of the packet.
    #[must_use]
    pub const fn bth(&self) -> bth::Repr {
        bth::Repr {
            becn: true,
            partition_key: self.partition_key,
            ..bth::Repr::new(Opcode::CongestionNotification, self.destination_qp, Psn::new(0))
        }
    }

    /// The packet with this base transport header.
    ///
    /// # Errors
    /// [`Error::Notification`] if a field differs from its fixed value in the annex.
    pub fn from_bth(bth: &bth::Repr) -> Result<Self> {
        let fields = [
            (
                "operation code",
                u32::from(bth.opcode.code()),
                u32::from(Opcode::CongestionNotification.code()),
            ),
            ("SE", u32::from(bth.solicited_event), 0),
            ("M", u32::from(bth.migrated), 0),
            ("pad count", u32::from(bth.pad_count.value()), 0),
            ("FECN", u32::from(bth.fecn), 0),
            ("BECN", u32::from(bth.becn), 1),
            ("A", u32::from(bth.ack_request), 0),
            ("PSN", bth.psn.value(), 0),
        ];
        match fields.into_iter().find(|(_, value, expected)| value != expected) {
            Some((field, _, expected)) => Err(Error::Notification { field, expected }),
            None => Ok(Self { destination_qp: bth.destination_qp, partition_key: bth.partition_key }),
        }
    }
}

/// Fails unless the reserved bytes after the BTH are zero.
pub(crate) fn require_reserved(reserved: [u8; RESERVED_BYTES]) -> Result<()> {
    let high_and_low = u128::from_be_bytes(reserved);
    require_zero("field after the BTH", (high_and_low >> 64) as u64)?;
    require_zero("field after the BTH", high_and_low as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bth::Qpn;
    use crate::testing;
    use proptest::prelude::*;

    fn parse(packet: &[u8]) -> Result<Repr> {
        Repr::parse(&Packet::new(packet)?)
    }

    #[test]
    fn a_known_packet_parses_to_its_fields() {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&[0x81, 0, 0xff, 0xff, 0x40, 0, 0, 0xd2]);
        let expected = Repr { destination_qp: Qpn::new(0xd2).unwrap(), partition_key: 0xffff };
        assert_eq!(parse(&bytes), Ok(expected));
    }

    #[test]
    fn any_other_bit_set_or_cleared_is_rejected() {
        let mut bytes = [0; HEADER_BYTES];
        Repr { destination_qp: Qpn::MAX, partition_key: 0x8001 }.emit(&mut bytes).unwrap();
        let free = [2, 3, 5, 6, 7];
        for bit in 0..HEADER_BYTES * 8 {
            let mut changed = bytes;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(parse(&changed).is_ok(), free.contains(&(bit / 8)), "bit {bit}");
        }
    }

    #[test]
    fn the_error_names_the_field() {
        let bth = bth::Repr { becn: false, ..Repr { destination_qp: Qpn::MAX, partition_key: 1 }.bth() };
        assert_eq!(Repr::from_bth(&bth), Err(Error::Notification { field: "BECN", expected: 1 }));
    }

    proptest! {
        #[test]
        fn parse_is_the_inverse_of_emit(repr in testing::cnp()) {
            let mut bytes = [0xee; HEADER_BYTES];
            repr.emit(&mut bytes)?;
            prop_assert_eq!(parse(&bytes)?, repr);
        }

        #[test]
        fn emit_is_the_inverse_of_parse(partition_key: [u8; 2], qp: [u8; 3]) {
            let mut bytes = [0; HEADER_BYTES];
            (bytes[0], bytes[4]) = (0x81, 0x40);
            bytes[2..4].copy_from_slice(&partition_key);
            bytes[5..8].copy_from_slice(&qp);
            let mut again = [0xee; HEADER_BYTES];
            parse(&bytes)?.emit(&mut again)?;
            prop_assert_eq!(again, bytes);
        }

        #[test]
        fn short_buffers_are_errors(repr in testing::cnp(), have in 0..HEADER_BYTES) {
            let mut bytes = [0; HEADER_BYTES];
            let expected = Error::Truncated { need: HEADER_BYTES, have };
            prop_assert_eq!(repr.emit(&mut bytes[..have]), Err(expected));
            prop_assert_eq!(parse(&bytes[..have]), Err(expected));
        }
    }
}
