//! UDP header of a datagram without checksum.
//!
//! RoCEv2 leaves the checksum unused (0): the ICRC protects the packet, and switches that change header
//! fields would have to update the checksum. IBTA vol. 1, annex A17.

use crate::bytes::{be16, put, require, view};
use crate::{Error, Result, size};

/// Length of the header.
pub const HEADER_BYTES: usize = size::UDP_HEADER_BYTES as usize;
/// The longest payload of a datagram in IPv4.
pub const PAYLOAD_BYTES_MAX: usize = crate::ipv4::PAYLOAD_BYTES_MAX - HEADER_BYTES;
/// Destination port of RoCEv2. IBTA vol. 1, annex A17.
pub const ROCE_PORT: u16 = 4791;

view! {
    /// View of a datagram, starting at its header.
    Packet, HEADER_BYTES, {
        /// Source port.
        source_port: u16 = |bytes| be16(bytes, 0);
        /// Destination port.
        destination_port: u16 = |bytes| be16(bytes, 2);
        /// Length of header and payload.
        total_bytes: u16 = |bytes| be16(bytes, 4);
        /// Checksum; 0 if unused.
        checksum: u16 = |bytes| be16(bytes, 6);
    }
}

impl<T: AsRef<[u8]>> Packet<T> {
    /// The payload, with the length given by the header.
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
        false => Err(Error::Length { field: "UDP length", min: HEADER_BYTES, max, found: total_bytes }),
    }
}

/// A UDP header without checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Source port: in RoCEv2 the entropy that spreads queue pairs over paths.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Length of the payload, at most [`PAYLOAD_BYTES_MAX`].
    pub payload_bytes: u16,
}

impl Repr {
    /// Parses the header of a datagram. The buffer need not contain the payload; see [`Packet::payload`].
    ///
    /// # Errors
    /// [`Error::UdpChecksum`] if the checksum is used, [`Error::Length`] if the length is impossible.
    pub fn parse<T: AsRef<[u8]>>(packet: &Packet<T>) -> Result<Self> {
        require_total(usize::from(packet.total_bytes()))?;
        if packet.checksum() != 0 {
            return Err(Error::UdpChecksum(packet.checksum()));
        }
        Ok(Self {
            source_port: packet.source_port(),
            destination_port: packet.destination_port(),
            payload_bytes: packet.total_bytes() - HEADER_BYTES as u16,
        })
    }

    /// Writes the header to the first [`HEADER_BYTES`] of `buffer`.
    ///
    /// # Errors
    /// [`Error::Truncated`] if the buffer is shorter, [`Error::Length`] if the payload is too long.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<()> {
        let total_bytes = HEADER_BYTES + usize::from(self.payload_bytes);
        require_total(total_bytes)?;
        let total_bytes = (total_bytes as u16).to_be_bytes();
        put(
            buffer,
            [
                &self.source_port.to_be_bytes(),
                &self.destination_port.to_be_bytes(),
                &total_bytes,
                &0_u16.to_be_bytes(),
            ],
        )
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
    fn a_known_header_parses_to_its_fields() {
        let repr = parse(&[0xc0, 0x01, 0x12, 0xb7, 0x00, 0x20, 0, 0]).unwrap();
        assert_eq!(repr, Repr { source_port: 49_153, destination_port: ROCE_PORT, payload_bytes: 24 });
    }

    #[test]
    fn a_checksum_and_an_impossible_length_are_rejected() {
        assert_eq!(parse(&[0, 0, 0, 0, 0, 8, 0, 9]), Err(Error::UdpChecksum(9)));
        for total_bytes in [7_u16, 65_516] {
            let [high, low] = total_bytes.to_be_bytes();
            let result = parse(&[0, 0, 0, 0, high, low, 0, 0]);
            assert!(matches!(result, Err(Error::Length { found, .. }) if found == usize::from(total_bytes)));
        }
        let repr = Repr { source_port: 1, destination_port: 2, payload_bytes: PAYLOAD_BYTES_MAX as u16 + 1 };
        assert!(matches!(repr.emit(&mut [0; 8]), Err(Error::Length { .. })));
    }

    #[test]
    fn the_payload_is_as_long_as_the_header_says() {
        let bytes = [0, 0, 0, 0, 0, 11, 0, 0, 1, 2, 3, 4];
        assert_eq!(Packet::new(bytes).unwrap().payload().unwrap(), [1, 2, 3]);
        let short = Packet::new(&bytes[..10]).unwrap();
        assert_eq!(short.payload(), Err(Error::Truncated { need: 11, have: 10 }));
    }

    proptest! {
        #[test]
        fn parse_is_the_inverse_of_emit(repr in testing::udp()) {
            let mut bytes = [0xee; HEADER_BYTES];
            repr.emit(&mut bytes)?;
            prop_assert_eq!(parse(&bytes)?, repr);
        }

        #[test]
        fn emit_is_the_inverse_of_parse(mut bytes: [u8; HEADER_BYTES], checksum in 0..2_u8) {
            (bytes[6], bytes[7]) = (0, checksum);
            if let Ok(repr) = parse(&bytes) {
                let mut again = [0; HEADER_BYTES];
                repr.emit(&mut again)?;
                prop_assert_eq!(again, bytes);
            }
        }

        #[test]
        fn short_buffers_are_errors(repr in testing::udp(), have in 0..HEADER_BYTES) {
            let mut bytes = [0; HEADER_BYTES];
            let expected = Error::Truncated { need: HEADER_BYTES, have };
            prop_assert_eq!(repr.emit(&mut bytes[..have]), Err(expected));
            prop_assert_eq!(parse(&bytes[..have]), Err(expected));
        }
    }
}
