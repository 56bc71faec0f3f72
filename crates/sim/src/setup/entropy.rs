//! The hash of a queue pair's 5-tuple, which decides its path wherever there are several.

use super::flows::QueuePair;
use spec::{EcmpHash, LoadBalancing, RunSpec};
use std::net::Ipv4Addr;
use topology::Graph;

/// UDP destination port of RoCEv2 (IBTA annex A17).
const ROCE_UDP_PORT: u16 = 4791;
/// IP protocol number of UDP.
const IP_PROTOCOL_UDP: u8 = 17;
/// IP protocol number of TCP.
const IP_PROTOCOL_TCP: u8 = 6;

/// Which way a packet of a queue pair goes.
#[derive(Clone, Copy)]
pub(crate) enum Direction {
    /// Data.
    Forward,
    /// ACK and NAK.
    Reverse,
}

/// The hash of a run, ready for many queue pairs.
///
/// CRC and Toeplitz are affine over bits: a byte at a place changes the hash of an input of given length by the same bits
/// whatever the other bytes are. So what each byte changes is computed once, and what is the same for all queue pairs once
/// for all.
pub(crate) struct PathHash {
    /// Of an input of zeros but for what is the same for all queue pairs.
    common: u32,
    changes: Box<[[u32; 256]; INPUT_BYTES]>,
    include_qp: bool,
}

/// 5-tuple and destination queue pair.
const INPUT_BYTES: usize = 16;
const FIVE_TUPLE_BYTES: usize = 13;

impl PathHash {
    pub(crate) fn new(spec: &RunSpec) -> Self {
        let (algorithm, include_qp) = hash_of(spec);
        let bytes = if include_qp { INPUT_BYTES } else { FIVE_TUPLE_BYTES };
        let zeros = hash(algorithm, &[0; INPUT_BYTES][..bytes]);
        let mut changes = Box::new([[0; 256]; INPUT_BYTES]);
        for (place, of_place) in changes.iter_mut().enumerate().take(bytes) {
            for (byte, change) in (0..=u8::MAX).zip(of_place) {
                let mut input = [0; INPUT_BYTES];
                input[place] = byte;
                *change = hash(algorithm, &input[..bytes]) ^ zeros;
            }
        }
        let mut common = [0; INPUT_BYTES];
        let nowhere = (Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED);
        let tuple = five_tuple(nowhere, (0, ROCE_UDP_PORT), IP_PROTOCOL_UDP);
        common[..FIVE_TUPLE_BYTES].copy_from_slice(&tuple);
        let common = hash(algorithm, &common[..bytes]);
        Self { common, changes, include_qp }
    }

    /// Hash of the 5-tuple (source and destination address, source and destination port, protocol) of what a queue pair
    /// sends, and of the destination queue pair if the spec says so.
    pub(crate) fn of(&self, graph: &Graph, pair: &QueuePair, direction: Direction) -> u32 {
        let ip = |id| -> Ipv4Addr { graph.attachment(id).ip };
        let (source, destination) = match direction {
            Direction::Forward => (ip(pair.src_attachment), ip(pair.dst_attachment)),
            Direction::Reverse => (ip(pair.dst_attachment), ip(pair.src_attachment)),
        };
        let ends = u64::from(u32::from(source)) << 32 | u64::from(u32::from(destination));
        let hash = self.change(0, ends.to_be_bytes()) ^ self.change(8, pair.udp_source_port().to_be_bytes());
        if !self.include_qp {
            return self.common ^ hash;
        }
        let [_, identity @ ..] = pair.identity.to_be_bytes();
        self.common ^ hash ^ self.change(FIVE_TUPLE_BYTES, identity)
    }

    /// What bytes from a place on change.
    #[inline]
    fn change<const BYTES: usize>(&self, place: usize, bytes: [u8; BYTES]) -> u32 {
        let changes = bytes.iter().zip(&self.changes[place..]);
        changes.fold(0, |hash, (byte, of_place)| hash ^ of_place[usize::from(*byte)])
    }
}

/// Hash of the 5-tuple of a TCP connection.
pub(crate) fn five_tuple_hash(spec: &RunSpec, addresses: (Ipv4Addr, Ipv4Addr), ports: (u16, u16)) -> u32 {
    hash(hash_of(spec).0, &five_tuple(addresses, ports, IP_PROTOCOL_TCP))
}

/// Source and destination address, source and destination port, protocol.
fn five_tuple(
    (source, destination): (Ipv4Addr, Ipv4Addr),
    ports: (u16, u16),
    protocol: u8,
) -> [u8; FIVE_TUPLE_BYTES] {
    let mut input = [protocol; FIVE_TUPLE_BYTES];
    input[..4].copy_from_slice(&source.octets());
    input[4..8].copy_from_slice(&destination.octets());
    input[8..10].copy_from_slice(&ports.0.to_be_bytes());
    input[10..12].copy_from_slice(&ports.1.to_be_bytes());
    input
}

/// Which hash, and whether it takes in the queue pair.
const fn hash_of(spec: &RunSpec) -> (EcmpHash, bool) {
    match spec.fabric.load_balancing {
        LoadBalancing::Ecmp { hash, include_qp } => (hash, include_qp),
        _ => (EcmpHash::Crc, false),
    }
}

fn hash(algorithm: EcmpHash, input: &[u8]) -> u32 {
    match algorithm {
        EcmpHash::Crc => crc32fast::hash(input),
        EcmpHash::Toeplitz => toeplitz(input),
    }
}

/// Key of the verification suite of Microsoft's RSS specification, which NICs and switches take as default.
const TOEPLITZ_KEY: [u8; 40] = [
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0,
    0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42,
    0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
];

/// Toeplitz hash: for each bit of the input that is set, the 32 bits of the key that begin there.
fn toeplitz(input: &[u8]) -> u32 {
    let key_window = |bit: usize| {
        let bytes: [u8; 8] = std::array::from_fn(|offset| TOEPLITZ_KEY[bit / 8 + offset]);
        ((u64::from_be_bytes(bytes) << (bit % 8)) >> 32) as u32
    };
    let is_set = |bit: &usize| input[bit / 8] & (0x80 >> (bit % 8)) != 0;
    (0..input.len() * 8).filter(is_set).fold(0, |hash, bit| hash ^ key_window(bit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toeplitz_gives_the_published_hashes() {
        // Verification suite of the RSS specification: 66.9.149.187:2794 to 161.142.100.80:1766, and
        // 199.92.111.2:14230 to 65.69.140.83:4739.
        let first = [66, 9, 149, 187, 161, 142, 100, 80, 0x0a, 0xea, 0x06, 0xe6];
        assert_eq!(toeplitz(&first), 0x51cc_c178);
        let second = [199, 92, 111, 2, 65, 69, 140, 83, 0x37, 0x96, 0x12, 0x83];
        assert_eq!(toeplitz(&second), 0xc626_b0ea);
    }
}
