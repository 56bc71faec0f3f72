//! Recovers the IPv4 identification of received packets, which sockets do not report.

use std::collections::HashMap;
use transport::UdpPath;
use wire::icrc::{self, IdentificationBits};

/// Opens packets with unknown IPv4 identification.
#[derive(Default)]
pub(crate) struct Identifications {
    /// By packet length.
    bits: HashMap<usize, IdentificationBits>,
}

impl Identifications {
    /// Returns the transport packet in a datagram and its identification: `likely`, or the value with which
    /// the ICRC matches. A wrong guess costs 16 of the 32 bits of the ICRC; the frame check sequence and the
    /// UDP checksum still protect against damage in transit.
    pub(crate) fn open<'a>(
        &mut self,
        path: &UdpPath,
        likely: u16,
        datagram: &'a [u8],
    ) -> Option<(&'a [u8], u16)> {
        match path.open(likely, datagram) {
            Ok(packet) => Some((packet, likely)),
            Err(wire::Error::BadIcrc { expected, stored }) => {
                self.search(likely, expected ^ stored, datagram)
            }
            Err(_) => None,
        }
    }

    #[cold]
    fn search<'a>(&mut self, likely: u16, difference: u32, datagram: &'a [u8]) -> Option<(&'a [u8], u16)> {
        let packet_bytes = datagram.len() - icrc::BYTES;
        let bits = self.bits.entry(packet_bytes).or_insert_with(|| IdentificationBits::new(packet_bytes));
        Some((&datagram[..packet_bytes], likely ^ bits.of_difference(difference)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, SocketAddrV4};

    #[test]
    fn any_identification_is_found_and_damage_is_not_taken_for_one() {
        let end = |last| SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, last), 4791);
        let path = UdpPath { source: end(1), destination: end(2) };
        let mut identifications = Identifications::default();
        for identification in [0, 1, 63, 64, 40_000, u16::MAX] {
            let mut datagram = [0x5a; 128];
            path.seal(identification, &mut datagram, 124).unwrap();
            let found = identifications.open(&path, 1, &datagram);
            assert_eq!(found, Some((&datagram[..124], identification)));
            datagram[100] ^= 1;
            assert_eq!(identifications.open(&path, 1, &datagram), None);
        }
    }
}
