//! Tests of the IPv4 header: fields, errors, checksum.

use super::*;
use crate::testing;
use proptest::prelude::*;

/// An example used in many texts on the checksum: 0xb861 over these fields.
const KNOWN: [u8; HEADER_BYTES] = [
    0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0,
    0xa8, 0x00, 0xc7,
];

fn parse(header: &[u8]) -> Result<Repr> {
    Repr::parse(&Packet::new(header)?)
}

/// `KNOWN` with the byte at `at` replaced and the checksum corrected.
fn with_byte(at: usize, value: u8) -> [u8; HEADER_BYTES] {
    let mut header = KNOWN;
    header[at] = value;
    let checksum = header_checksum(&header).to_be_bytes();
    header[10..12].copy_from_slice(&checksum);
    header
}

#[test]
fn a_known_header_parses_to_its_fields_and_back() {
    let repr = parse(&KNOWN).unwrap();
    assert_eq!(repr.source, Ipv4Addr::new(192, 168, 0, 1));
    assert_eq!(repr.destination, Ipv4Addr::new(192, 168, 0, 199));
    assert_eq!((repr.protocol, repr.ttl, repr.payload_bytes), (PROTOCOL_UDP, 64, 95));
    assert!(repr.dont_fragment);
    let mut bytes = [0; HEADER_BYTES];
    repr.emit(&mut bytes).unwrap();
    assert_eq!(bytes, KNOWN);
}

#[test]
fn traffic_class_is_dscp_then_ecn() {
    let repr = parse(&with_byte(1, 26 << 2 | 3)).unwrap();
    assert_eq!((repr.dscp.value(), repr.ecn), (26, Ecn::CongestionExperienced));
}

#[test]
fn every_single_bit_error_is_rejected() {
    for bit in 0..HEADER_BYTES * 8 {
        let mut header = KNOWN;
        header[bit / 8] ^= 1 << (bit % 8);
        assert!(parse(&header).is_err(), "bit {bit}");
    }
}

#[test]
fn what_is_not_supported_is_rejected_by_name() {
    assert_eq!(parse(&with_byte(0, 0x65)), Err(Error::IpVersion(6)));
    assert_eq!(parse(&with_byte(0, 0x46)), Err(Error::Ipv4Options { header_bytes: 24 }));
    assert_eq!(parse(&with_byte(0, 0x44)), Err(Error::Ipv4Options { header_bytes: 16 }));
    assert_eq!(parse(&with_byte(6, 0x60)), Err(Error::Fragment { offset_bytes: 0, more_fragments: true }));
    assert_eq!(parse(&with_byte(7, 0x02)), Err(Error::Fragment { offset_bytes: 16, more_fragments: false }));
    assert!(matches!(parse(&with_byte(6, 0xc0)), Err(Error::Reserved { .. })));
    assert!(matches!(parse(&with_byte(3, 19)), Err(Error::Length { found: 19, .. })));
}

#[test]
fn the_payload_is_as_long_as_the_header_says() {
    let mut bytes = [7; 140];
    bytes[..HEADER_BYTES].copy_from_slice(&KNOWN);
    assert_eq!(Packet::new(&bytes).unwrap().payload().unwrap(), [7; 95]);
    let short = Packet::new(&bytes[..114]).unwrap();
    assert_eq!(short.payload(), Err(Error::Truncated { need: 115, have: 114 }));
}

#[test]
fn a_payload_beyond_the_length_field_is_not_emitted() {
    let repr = Repr { payload_bytes: PAYLOAD_BYTES_MAX as u16 + 1, ..parse(&KNOWN).unwrap() };
    assert!(matches!(repr.emit(&mut [0; HEADER_BYTES]), Err(Error::Length { found: 65_536, .. })));
}

proptest! {
    #[test]
    fn parse_is_the_inverse_of_emit(repr in testing::ipv4()) {
        let mut bytes = [0xee; HEADER_BYTES];
        repr.emit(&mut bytes)?;
        prop_assert_eq!(parse(&bytes)?, repr);
    }

    #[test]
    fn emit_is_the_inverse_of_parse(mut header: [u8; HEADER_BYTES], fragments in 0..8_u8) {
        header[0] = VERSION_AND_LENGTH;
        (header[6], header[7]) = (fragments << 5, 0);
        let checksum = header_checksum(&header).to_be_bytes();
        header[10..12].copy_from_slice(&checksum);
        if let Ok(repr) = parse(&header) {
            let mut again = [0; HEADER_BYTES];
            repr.emit(&mut again)?;
            prop_assert_eq!(again, header);
        }
    }

    #[test]
    fn short_buffers_are_errors(repr in testing::ipv4(), have in 0..HEADER_BYTES) {
        let mut bytes = [0; HEADER_BYTES];
        prop_assert_eq!(repr.emit(&mut bytes[..have]), Err(Error::Truncated { need: HEADER_BYTES, have }));
        prop_assert_eq!(parse(&bytes[..have]), Err(Error::Truncated { need: HEADER_BYTES, have }));
    }
}
