//! Invariant CRC of a RoCEv2 or InfiniBand packet: covers the fields that no switch may change. Also for
//! packets of a UDP socket, whose IPv4 identification is unknown: `IdentificationBits` finds it from the CRC.
//! IBTA vol. 1, 7.8.1 and annex A17.

use crate::bytes::{array, require};
use crate::infiniband::lrh;
use crate::{Error, Result, bth, ipv4, size, udp};
use std::net::SocketAddrV4;

/// Length of the CRC.
pub const BYTES: usize = size::ICRC_BYTES as usize;

/// Length of the IPv4 and UDP headers.
const OUTER_BYTES: usize = ipv4::HEADER_BYTES + udp::HEADER_BYTES;

const HEADERS_BYTES: usize = OUTER_BYTES + bth::HEADER_BYTES;
/// End of the identification in the IPv4 header.
const IDENTIFICATION_END: usize = 6;
/// Replaces the local route header, which a RoCEv2 packet does not have.
const PSEUDO_HEADER: [u8; 8] = [0xff; 8];
/// Header bytes replaced by ones since switches change them, or may: IPv4 traffic class, TTL and checksum,
/// UDP checksum, BTH resv8a.
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
/// payload's padding. It is stored after the packet, least significant byte first.
///
/// # Errors
/// [`Truncated`](crate::Error::Truncated) if the packet is shorter than IPv4, UDP and base transport headers.
pub fn icrc(packet: &[u8]) -> Result<u32> {
    require(packet, HEADERS_BYTES)?;
    Ok(digest(array(packet, 0), &packet[HEADERS_BYTES..]))
}

/// The invariant CRC of a packet between two UDP sockets, which do not expose its IPv4 and UDP headers: these
/// are rebuilt from addresses and identification, with "don't fragment" set. The packet is the concatenation
/// of `parts`; the first part contains the base transport header.
///
/// # Errors
/// [`Truncated`](Error::Truncated) if the first part is shorter than a base transport header,
/// [`Length`](Error::Length) if the parts together are longer than a datagram.
pub fn of_sockets(
    source: &SocketAddrV4,
    destination: &SocketAddrV4,
    identification: u16,
    parts: [&[u8]; 3],
) -> Result<u32> {
    require(parts[0], bth::HEADER_BYTES)?;
    let packet_bytes = parts.iter().map(|part| part.len()).sum::<usize>();
    let max = usize::from(u16::MAX) - OUTER_BYTES - BYTES;
    if packet_bytes > max {
        return Err(Error::Length { field: "datagram", min: bth::HEADER_BYTES, max, found: packet_bytes });
    }
    let udp_bytes = (udp::HEADER_BYTES + packet_bytes + BYTES) as u16;
    let ip_bytes = udp_bytes + ipv4::HEADER_BYTES as u16;
    // Ones replace the local route header and the fields that switches may change.
    let mut bytes = [0xff; PSEUDO_HEADER.len() + HEADERS_BYTES];
    let mut write = |at: usize, part: &[u8]| {
        bytes[PSEUDO_HEADER.len() + at..][..part.len()].copy_from_slice(part);
    };
    write(0, &[0x45]);
    write(2, &ip_bytes.to_be_bytes());
    write(4, &identification.to_be_bytes());
    write(6, &[0x40, 0]);
    write(9, &[ipv4::PROTOCOL_UDP]);
    write(12, &source.ip().octets());
    write(16, &destination.ip().octets());
    write(20, &source.port().to_be_bytes());
    write(22, &destination.port().to_be_bytes());
    write(24, &udp_bytes.to_be_bytes());
    write(OUTER_BYTES, &parts[0][..bth::RESV8A_OFFSET]);
    write(OUTER_BYTES + bth::RESV8A_OFFSET + 1, &parts[0][bth::RESV8A_OFFSET + 1..bth::HEADER_BYTES]);
    let mut crc = crc32fast::Hasher::new();
    crc.update(&bytes);
    crc.update(&parts[0][bth::HEADER_BYTES..]);
    crc.update(parts[1]);
    crc.update(parts[2]);
    Ok(crc.finalize())
}

fn digest(mut headers: [u8; HEADERS_BYTES], rest: &[u8]) -> u32 {
    for at in VARIANT {
        headers[at] = 0xff;
    }
    let mut crc = crc32fast::Hasher::new();
    crc.update(&PSEUDO_HEADER);
    crc.update(&headers);
    crc.update(rest);
    crc.finalize()
}

/// Bits of the identification, and the XOR difference of the ICRC when all of them are flipped. Ordered by
/// the difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Difference {
    icrc: u32,
    identification: u16,
}

/// Effect of the IPv4 identification on the ICRC of packets of one length: a CRC is linear, so each bit that
/// differs changes it by a fixed value.
#[derive(Clone, Copy, Debug)]
pub struct IdentificationBits {
    /// In echelon form: the highest bit of each difference is clear in all later ones.
    differences: [Difference; 16],
}

impl IdentificationBits {
    /// For transport packets of `packet_bytes`, from the base transport header to the end of the padding.
    #[must_use]
    pub fn new(packet_bytes: usize) -> Self {
        let later_bytes = OUTER_BYTES + packet_bytes - IDENTIFICATION_END;
        let crc_of = |identification: u16| {
            let mut crc = crc32fast::Hasher::new();
            crc.update(&identification.to_be_bytes());
            crc.combine(&crc32fast::Hasher::new_with_initial_len(0, later_bytes as u64));
            crc.finalize()
        };
        let mut differences: [Difference; 16] = std::array::from_fn(|bit| Difference {
            icrc: crc_of(1 << bit) ^ crc_of(0),
            identification: 1 << bit,
        });
        for index in 0..differences.len() {
            differences[index..].sort_unstable_by(|one, other| other.cmp(one));
            let pivot = differences[index];
            for row in &mut differences[index + 1..] {
                if row.icrc ^ pivot.icrc < row.icrc {
                    row.icrc ^= pivot.icrc;
                    row.identification ^= pivot.identification;
                }
            }
        }
        Self { differences }
    }

    /// The bits of the identification that explain a difference of ICRCs; `None` if no identification does,
    /// for example if the packet was damaged.
    #[must_use]
    pub fn of_difference(&self, mut icrc: u32) -> Option<u16> {
        let mut identification = 0;
        for pivot in &self.differences {
            if icrc ^ pivot.icrc < icrc {
                icrc ^= pivot.icrc;
                identification ^= pivot.identification;
            }
        }
        (icrc == 0).then_some(identification)
    }
}

/// Bits of the first byte of the local route header that are replaced by ones: the virtual lane.
const VIRTUAL_LANE: u8 = 0xf0;
const LOCAL_HEADERS_BYTES: usize = lrh::HEADER_BYTES + bth::HEADER_BYTES;

/// The invariant CRC of an InfiniBand packet without global route header: everything from the local route
/// header to the end of the payload's padding. It is stored after the packet, least significant byte first.
///
/// # Errors
/// [`Truncated`](crate::Error::Truncated) if the packet is shorter than local route and base transport
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
    fn the_identification_is_found_by_what_it_does_to_the_crc() {
        for packet_bytes in [bth::HEADER_BYTES, 20, 4112, 4128] {
            let bits = IdentificationBits::new(packet_bytes);
            let mut packet: Vec<u8> = (0..OUTER_BYTES + packet_bytes).map(|at| (at * at) as u8).collect();
            let mut with = |identification: u16| {
                packet[IDENTIFICATION_END - 2..IDENTIFICATION_END]
                    .copy_from_slice(&identification.to_be_bytes());
                icrc(&packet).unwrap()
            };
            for identification in [0, 1, 2, 63, 0x8000, 0xabcd, 0xffff] {
                let difference = with(identification) ^ with(7);
                assert_eq!(bits.of_difference(difference), Some(identification ^ 7));
                assert_eq!(bits.of_difference(difference ^ 1), None);
            }
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
