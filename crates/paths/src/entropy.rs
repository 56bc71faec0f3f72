//! Hash of the 5-tuple of queue pairs and TCP connections (CRC or Toeplitz), and the choice among equal-cost
//! next hops by it.

use spec::{EcmpHash, LoadBalancing, RunSpec};
use std::net::{Ipv4Addr, SocketAddrV4};
use topology::Graph;
use units::{AttachmentId, Seed, mix64};

/// UDP destination port of RoCEv2 (IBTA annex A17).
const ROCE_UDP_PORT: u16 = 4791;
/// IP protocol number of UDP.
const IP_PROTOCOL_UDP: u8 = 17;
/// IP protocol number of TCP.
const IP_PROTOCOL_TCP: u8 = 6;

/// Direction of a packet of a queue pair.
#[derive(Clone, Copy, Debug)]
pub enum Direction {
    /// Data.
    Forward,
    /// ACK and NAK.
    Reverse,
}

/// Precomputed 5-tuple hash of a run, for fast hashing of many queue pairs.
///
/// CRC and Toeplitz are affine over bits: for inputs of equal length, a byte at a given position changes the
/// same bits of the hash, whatever the other bytes are. Therefore the change by each byte is computed once,
/// the change by an address once per host port, and the constant part once for all queue pairs.
pub struct PathHash {
    /// Hash of an input with only the fields common to all queue pairs.
    common: u32,
    /// Change by the address of each host port, as source and as destination.
    addresses: Box<[[u32; 2]]>,
    source_port: [Changes; 2],
    /// Change by the destination queue pair number, if it is hashed.
    queue_pair: Option<[Changes; 3]>,
}

/// Change of the hash by each value of a byte at one position.
type Changes = [u32; 256];

/// Size of 5-tuple and destination queue pair number.
const INPUT_BYTES: usize = 16;
const FIVE_TUPLE_BYTES: usize = 13;
/// Offset of the source port.
const SOURCE_PORT: usize = 8;

impl PathHash {
    /// The hash configured in a spec, for the addresses of a graph.
    pub fn new(spec: &RunSpec, graph: &Graph) -> Self {
        let (algorithm, include_qp) = hash_of(spec);
        let bytes = if include_qp { INPUT_BYTES } else { FIVE_TUPLE_BYTES };
        let hash_of = |input: [u8; INPUT_BYTES]| hash(algorithm, &input[..bytes]);
        let zeros = hash_of([0; INPUT_BYTES]);
        let change = |offset: usize, byte: u8| {
            let mut input = [0; INPUT_BYTES];
            input[offset] = byte;
            hash_of(input) ^ zeros
        };
        let changes = |offset| -> Changes { std::array::from_fn(|byte| change(offset, byte as u8)) };
        let of_address: [Changes; 8] = std::array::from_fn(changes);
        let address_at = |offset, ip: Ipv4Addr| {
            let octets = ip.octets().into_iter().zip(&of_address[offset..]);
            octets.fold(0, |hash, (octet, changes)| hash ^ changes[usize::from(octet)])
        };
        let addresses = graph.attachments.iter().map(|port| [address_at(0, port.ip), address_at(4, port.ip)]);
        let mut common = [0; INPUT_BYTES];
        let end = |port| SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port);
        let tuple = five_tuple(end(0), end(ROCE_UDP_PORT), IP_PROTOCOL_UDP);
        common[..FIVE_TUPLE_BYTES].copy_from_slice(&tuple);
        Self {
            common: hash_of(common),
            addresses: addresses.collect(),
            source_port: std::array::from_fn(|byte| changes(SOURCE_PORT + byte)),
            queue_pair: include_qp.then(|| std::array::from_fn(|byte| changes(FIVE_TUPLE_BYTES + byte))),
        }
    }

    /// Hash of the 5-tuple (source and destination address, source and destination port, protocol) of a queue
    /// pair's packets between two host ports, including the destination queue pair number if the spec
    /// configures that.
    #[inline]
    pub fn of(
        &self,
        [source, destination]: [AttachmentId; 2],
        udp_source_port: u16,
        destination_qp: u32,
    ) -> u32 {
        let ends = self.addresses[source.index()][0] ^ self.addresses[destination.index()][1];
        let hash = self.common ^ ends ^ change(&self.source_port, udp_source_port.to_be_bytes());
        match &self.queue_pair {
            None => hash,
            Some(queue_pair) => {
                let [_, number @ ..] = destination_qp.to_be_bytes();
                hash ^ change(queue_pair, number)
            }
        }
    }
}

/// Change of the hash by several bytes.
#[inline]
fn change<const BYTES: usize>(changes: &[Changes; BYTES], bytes: [u8; BYTES]) -> u32 {
    (0..BYTES).fold(0, |hash, offset| hash ^ changes[offset][usize::from(bytes[offset])])
}

/// Hash of the 5-tuple of a TCP connection.
pub fn five_tuple_hash(spec: &RunSpec, source: SocketAddrV4, destination: SocketAddrV4) -> u32 {
    hash(hash_of(spec).0, &five_tuple(source, destination, IP_PROTOCOL_TCP))
}

/// Scales a hash of a packet's 5-tuple to `0..choices`.
#[inline]
pub fn hash_choice(entropy: u32, seed: u64, choices: usize) -> usize {
    let hash = mix64(u64::from(entropy) ^ seed) >> 32;
    ((hash * choices as u64) >> 32) as usize
}

/// Random number that an ECMP switch mixes into every hash.
pub fn ecmp_seed(seed: Seed, switch: u32) -> u64 {
    seed.stream("switch.ecmp", u64::from(switch)).next_u64()
}

/// Encodes the 5-tuple: source and destination address, source and destination port, protocol.
fn five_tuple(source: SocketAddrV4, destination: SocketAddrV4, protocol: u8) -> [u8; FIVE_TUPLE_BYTES] {
    let mut input = [protocol; FIVE_TUPLE_BYTES];
    input[..4].copy_from_slice(&source.ip().octets());
    input[4..8].copy_from_slice(&destination.ip().octets());
    input[8..10].copy_from_slice(&source.port().to_be_bytes());
    input[10..12].copy_from_slice(&destination.port().to_be_bytes());
    input
}

/// Hash algorithm of a spec, and whether it includes the queue pair number.
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

/// Key of the verification suite in Microsoft's RSS specification, the default of NICs and switches.
const TOEPLITZ_KEY: [u8; 40] = [
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0,
    0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42,
    0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
];

/// Toeplitz hash: XOR, over all set bits of the input, of the 32 key bits that start at the bit's position.
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
