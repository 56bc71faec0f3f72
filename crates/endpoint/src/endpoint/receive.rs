//! Receive path of an endpoint: datagrams from the socket to their queue pairs. Recovers the IPv4
//! identification of packets, which the ICRC covers and sockets do not report, and maps queue pair numbers to
//! indices.

use super::Endpoint;
use crate::socket::Datagrams;
use std::collections::HashMap;
use std::{io, mem};
use transport::{Received, UdpPath};
use units::Instant;
use wire::icrc::{self, IdentificationBits};
use wire::ipv4::Ecn;

/// Receive calls before anything is sent, unless work completes before: its owner may have to post receives.
const RECEIVED_AT_ONCE: usize = 16;
/// Queue pair numbers per block.
const BLOCK: usize = 1 << 12;
const NONE: u32 = u32::MAX;

impl Endpoint {
    /// Receives with a limited number of calls; returns the number of packets.
    pub(super) fn receive(&mut self) -> io::Result<usize> {
        let mut inbox = mem::take(&mut self.inbox);
        let received = self.receive_into(&mut inbox);
        self.inbox = inbox;
        received
    }

    fn receive_into(&mut self, inbox: &mut [u8]) -> io::Result<usize> {
        let before = self.received_datagrams;
        for _ in 0..RECEIVED_AT_ONCE {
            let Some(datagrams) = self.sockets[0].receive(inbox)? else { break };
            self.process(&inbox[..datagrams.bytes], &datagrams);
            if !self.completed.is_empty() {
                break;
            }
        }
        Ok((self.received_datagrams - before) as usize)
    }

    /// Processes datagrams that arrived in one call; updates each affected queue pair once.
    fn process(&mut self, bytes: &[u8], datagrams: &Datagrams) {
        let now = self.clock.now();
        // The segments of one send call are numbered from 0 (GSO) and reassembled here in this order (GRO).
        let (mut identification, mut touched) = (0, None);
        for datagram in bytes.chunks(datagrams.segment_bytes.max(1)) {
            self.received_datagrams += 1;
            let Some((index, used)) = self.handle(datagram, identification, datagrams, now) else {
                self.refused_datagrams += 1;
                continue;
            };
            identification = used.wrapping_add(1);
            if let Some(last) = touched.replace(index).filter(|last| *last != index) {
                self.refresh(last, now);
            }
        }
        if let Some(last) = touched {
            self.refresh(last, now);
        }
    }

    /// Passes a datagram to its queue pair; returns the index of the queue pair and the IPv4 identification,
    /// which probably is `likely`. `None` if no queue pair accepts it.
    fn handle(
        &mut self,
        datagram: &[u8],
        likely: u16,
        datagrams: &Datagrams,
        now: Instant,
    ) -> Option<(usize, u16)> {
        let path = UdpPath { source: datagrams.from, destination: self.sockets[0].local() };
        let (packet, identification) = self.identifications.open(&path, likely, datagram)?;
        let packet = Received::decode(packet).ok()?.with_mark(datagrams.ecn == Ecn::CongestionExperienced);
        let index = self.numbers.index(packet.bth().destination_qp.value())?;
        let pair = &mut self.pairs[index];
        // A connection has two ends; packets of other hosts are refused. The source port is the peer's choice
        // (IBTA annex A17.3.1.2).
        if pair.peer.ip() != datagrams.from.ip() {
            return None;
        }
        if let Some(placed) = pair.queue_pair.handle(&packet, now).placed {
            pair.place(placed, packet.payload(), now);
        }
        Some((index, identification))
    }
}

/// Map of 24-bit queue pair numbers to indices: a two-level table, without hashing.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    blocks: Vec<Option<Box<[u32; BLOCK]>>>,
}

impl Numbers {
    /// Index of the queue pair with that number.
    pub(super) fn index(&self, number: u32) -> Option<usize> {
        let block = self.blocks.get(number as usize / BLOCK)?.as_ref()?;
        let index = block[number as usize % BLOCK];
        (index != NONE).then_some(index as usize)
    }

    /// Assigns an index to a number.
    pub(super) fn insert(&mut self, number: u32, index: usize) {
        let block = number as usize / BLOCK;
        if self.blocks.len() <= block {
            self.blocks.resize_with(block + 1, || None);
        }
        let block = self.blocks[block].get_or_insert_with(|| Box::new([NONE; BLOCK]));
        block[number as usize % BLOCK] = index as u32;
    }
}

/// Opens packets with unknown IPv4 identification.
#[derive(Default)]
pub(super) struct Identifications {
    /// By packet length.
    bits: HashMap<usize, IdentificationBits>,
}

impl Identifications {
    /// Returns the transport packet in a datagram and its identification: `likely`, or the value with which
    /// the ICRC matches. A wrong guess costs 16 of the 32 bits of the ICRC; the frame check sequence and the
    /// UDP checksum still protect against damage in transit.
    pub(super) fn open<'a>(
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
    fn each_number_has_a_place_of_its_own() {
        let mut numbers = Numbers::default();
        let known = [2, 3, 4_095, 4_096, 0x12_3456, 0xff_ffff];
        known.iter().enumerate().for_each(|(index, &number)| numbers.insert(number, index));
        for (index, number) in known.into_iter().enumerate() {
            assert_eq!(numbers.index(number), Some(index));
        }
        for unknown in [0, 1, 5, 4_097, 0x12_3457, 0x80_0000, u32::MAX] {
            assert_eq!(numbers.index(unknown), None);
        }
    }

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
