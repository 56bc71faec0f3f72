//! Invariant CRC of a RoCEv2 or InfiniBand packet: protects what no switch may change. IBTA vol. 1, 7.8.1 and
//! annex A17.

use crate::bytes::{array, require};
use crate::{Result, bth, ipv4, lrh, size, udp};

/// Length of the CRC.
pub const BYTES: usize = size::ICRC_BYTES as usize;

const HEADERS_BYTES: usize = ipv4::HEADER_BYTES + udp::HEADER_BYTES + bth::HEADER_BYTES;
/// What stands for the local route header that a RoCEv2 packet does not have.
const PSEUDO_HEADER: [u8; 8] = [0xff; 8];
/// Bytes of the headers that count as ones because switches change them, or may: IPv4 traffic class, TTL and
/// checksum, UDP checksum, BTH resv8a.
const VARIANT: [usize; 7] = [
    1,
    8,
    10,
    11,
    ipv4::HEADER_BYTES + 6,
    ipv4::HEADER_BYTES + 7,
    ipv4::HEADER_BYTES + udp::HEADER_BYTES + bth::RESV8A_OFFSET,
];

/// The invariant CRC of `packet`: everything from the IPv4 header (without options) to the end of the
/// payload's padding. It is stored least significant byte first behind the packet.
///
/// # Errors
/// [`Truncated`](crate::Error::Truncated) when the packet is shorter than IPv4, UDP and base transport
/// headers.
pub fn icrc(packet: &[u8]) -> Result<u32> {
    require(packet, HEADERS_BYTES)?;
    let mut headers: [u8; HEADERS_BYTES] = array(packet, 0);
    for at in VARIANT {
        headers[at] = 0xff;
    }
    let mut crc = crc32fast::Hasher::new();
    crc.update(&PSEUDO_HEADER);
    crc.update(&headers);
    crc.update(&packet[HEADERS_BYTES..]);
    Ok(crc.finalize())
}

/// Bits of the first byte of the local route header that count as ones: the virtual lane.
const VIRTUAL_LANE: u8 = 0xf0;
const LOCAL_HEADERS_BYTES: usize = lrh::HEADER_BYTES + bth::HEADER_BYTES;

/// The invariant CRC of an InfiniBand packet without global route header: everything from the local route
/// header to the end of the payload's padding. It is stored least significant byte first behind the packet.
///
/// # Errors
/// [`Truncated`](crate::Error::Truncated) when the packet is shorter than local route and base transport
/// headers.
pub fn of_local_packet(packet: &[u8]) -> Result<u32> {
    require(packet, LOCAL_HEADERS_BYTES)?;
    let mut headers: [u8; LOCAL_HEADERS_BYTES] = array(packet, 0);
    headers[0] |= VIRTUAL_LANE;
    headers[lrh::HEADER_BYTES + bth::RESV8A_OFFSET] = 0xff;
    let mut crc = crc32fast::Hasher::new();
    crc.update(&headers);
    crc.update(&packet[LOCAL_HEADERS_BYTES..]);
    Ok(crc.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn exactly_the_variant_fields_do_not_count() {
        let packet = [0; HEADERS_BYTES + 5];
        let expected = icrc(&packet).unwrap();
        for bit in 0..packet.len() * 8 {
            let mut changed = packet;
            changed[bit / 8] ^= 1 << (bit % 8);
            // Offsets in the standard's figures: traffic class 1, TTL 8, checksum 10-11, UDP checksum 26-27,
            // resv8a 32.
            let variant = [1, 8, 10, 11, 26, 27, 32].contains(&(bit / 8));
            assert_eq!(icrc(&changed).unwrap() == expected, variant, "bit {bit}");
        }
    }

    #[test]
    fn exactly_virtual_lane_and_resv8a_of_a_local_packet_do_not_count() {
        let packet = [0; LOCAL_HEADERS_BYTES + 5];
        let expected = of_local_packet(&packet).unwrap();
        for bit in 0..packet.len() * 8 {
            let mut changed = packet;
            changed[bit / 8] ^= 1 << (bit % 8);
            let variant = (4..8).contains(&bit) || bit / 8 == 12;
            assert_eq!(of_local_packet(&changed).unwrap() == expected, variant, "bit {bit}");
        }
    }

    #[test]
    fn a_packet_without_all_headers_has_no_icrc() {
        for have in 0..HEADERS_BYTES {
            assert_eq!(icrc(&vec![0; have]), Err(Error::Truncated { need: HEADERS_BYTES, have }));
        }
        let need = LOCAL_HEADERS_BYTES;
        for have in 0..need {
            assert_eq!(of_local_packet(&vec![0; have]), Err(Error::Truncated { need, have }));
        }
    }
}
