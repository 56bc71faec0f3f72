//! InfiniBand local route header: local identifiers, virtual lane, service level, packet length. IBTA vol. 1,
//! 7.7.

use crate::bytes::{be16, bounded, put, require_zero, view};
use crate::{Error, Result, size};

/// Length of the header.
pub const HEADER_BYTES: usize = size::LRH_BYTES as usize;

/// Link next header: a base transport header follows, without global route header. IBTA vol. 1, table 10.
const NEXT_HEADER_LOCAL: u8 = 0b10;
const RESERVED_BITS: u8 = 0x0c;
/// Bytes per word of the packet length.
const WORD_BYTES: usize = 4;

bounded! {
    /// Virtual lane. 15 is reserved for subnet management.
    VirtualLane(u8), 4
}

bounded! {
    /// Service level.
    ServiceLevel(u8), 4
}

view! {
    /// View of a local route header.
    Packet, HEADER_BYTES, {
        /// Virtual lane.
        virtual_lane: u8 = |bytes| bytes[0] >> 4;
        /// Link version.
        link_version: u8 = |bytes| bytes[0] & 0x0f;
        /// Service level.
        service_level: u8 = |bytes| bytes[1] >> 4;
        /// The two reserved bits after the service level, not shifted.
        reserved: u8 = |bytes| bytes[1] & RESERVED_BITS;
        /// Link next header.
        next_header: u8 = |bytes| bytes[1] & 0x03;
        /// Destination local identifier.
        destination_lid: u16 = |bytes| be16(bytes, 2);
        /// The five reserved bits before the packet length.
        reserved_before_length: u8 = |bytes| bytes[4] >> 3;
        /// Packet length in words of 4 bytes, from the first byte of this header to the last before the VCRC.
        packet_words: u16 = |bytes| be16(bytes, 4) & 0x07ff;
        /// Source local identifier.
        source_lid: u16 = |bytes| be16(bytes, 6);
    }
}

/// Fields of the local route header that control forwarding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Virtual lane.
    pub virtual_lane: VirtualLane,
    /// Service level.
    pub service_level: ServiceLevel,
    /// Local identifier of the receiving port.
    pub destination_lid: u16,
    /// Local identifier of the sending port.
    pub source_lid: u16,
}

/// A local route header followed by a base transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Fields that control forwarding.
    pub route: Route,
    /// Bytes from this header to the ICRC, both included: a multiple of 4 below 8192.
    pub packet_bytes: u16,
}

impl Repr {
    /// Parses the header.
    ///
    /// # Errors
    /// [`Error::LinkVersion`], [`Error::NextHeader`] or [`Error::Reserved`].
    pub fn parse<T: AsRef<[u8]>>(packet: &Packet<T>) -> Result<Self> {
        if packet.link_version() != 0 {
            return Err(Error::LinkVersion(packet.link_version()));
        }
        if packet.next_header() != NEXT_HEADER_LOCAL {
            return Err(Error::NextHeader(packet.next_header()));
        }
        require_zero("LRH field after the service level", packet.reserved().into())?;
        require_zero("LRH field before the packet length", packet.reserved_before_length().into())?;
        let route = Route {
            virtual_lane: VirtualLane::from_low_bits(packet.virtual_lane()),
            service_level: ServiceLevel::from_low_bits(packet.service_level()),
            destination_lid: packet.destination_lid(),
            source_lid: packet.source_lid(),
        };
        Ok(Self { route, packet_bytes: packet.packet_words() * WORD_BYTES as u16 })
    }

    /// Writes the header to the first [`HEADER_BYTES`] of `buffer`.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the buffer is shorter, [`Error::Length`] if the packet length is invalid.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<()> {
        let (words, rest) = (self.packet_bytes / 4, self.packet_bytes % 4);
        if rest != 0 || words > 0x07ff {
            let found = usize::from(self.packet_bytes);
            return Err(Error::Length { field: "LRH packet length", min: 24, max: 8188, found });
        }
        let Route { virtual_lane, service_level, destination_lid, source_lid } = self.route;
        let first = [virtual_lane.value() << 4, service_level.value() << 4 | NEXT_HEADER_LOCAL];
        let [destination, length, source] = [destination_lid, words, source_lid].map(u16::to_be_bytes);
        put(buffer, [&first, &destination, &length, &source])
    }
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
        let route = Route {
            virtual_lane: VirtualLane::new(7).unwrap(),
            service_level: ServiceLevel::new(1).unwrap(),
            destination_lid: 0x375c,
            source_lid: 0x17d2,
        };
        let expected = Repr { route, packet_bytes: 56 };
        assert_eq!(parse(&[0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2]), Ok(expected));
    }

    #[test]
    fn other_versions_other_next_headers_and_reserved_bits_are_rejected() {
        let with = |at: usize, value: u8| {
            let mut header = [0, NEXT_HEADER_LOCAL, 0, 1, 0, 7, 0, 2];
            header[at] |= value;
            parse(&header)
        };
        assert_eq!(with(0, 0x03), Err(Error::LinkVersion(3)));
        assert_eq!(with(1, 0x01), Err(Error::NextHeader(3)));
        assert!(matches!(with(1, 0x08), Err(Error::Reserved { found: 8, .. })));
        assert!(matches!(with(4, 0x80), Err(Error::Reserved { found: 16, .. })));
    }

    #[test]
    fn a_length_that_the_field_cannot_hold_is_not_written() {
        let header = parse(&[0, NEXT_HEADER_LOCAL, 0, 1, 0, 7, 0, 2]).unwrap();
        for packet_bytes in [57, 8192] {
            let wrong = Repr { packet_bytes, ..header };
            assert!(matches!(wrong.emit(&mut [0; HEADER_BYTES]), Err(Error::Length { .. })));
        }
    }

    proptest! {
        #[test]
        fn parse_is_the_inverse_of_emit(repr in testing::lrh()) {
            let mut bytes = [0xee; HEADER_BYTES];
            repr.emit(&mut bytes)?;
            prop_assert_eq!(parse(&bytes)?, repr);
        }

        #[test]
        fn emit_is_the_inverse_of_parse(mut bytes: [u8; HEADER_BYTES]) {
            bytes[0] &= 0xf0;
            bytes[1] = bytes[1] & 0xf0 | NEXT_HEADER_LOCAL;
            bytes[4] &= 0x07;
            let mut again = [0; HEADER_BYTES];
            parse(&bytes)?.emit(&mut again)?;
            prop_assert_eq!(again, bytes);
        }

        #[test]
        fn short_buffers_are_errors(repr in testing::lrh(), have in 0..HEADER_BYTES) {
            let mut bytes = [0; HEADER_BYTES];
            let expected = Error::Truncated { need: HEADER_BYTES, have };
            prop_assert_eq!(repr.emit(&mut bytes[..have]), Err(expected));
            prop_assert_eq!(parse(&bytes[..have]), Err(expected));
        }
    }
}
