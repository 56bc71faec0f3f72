//! The hash of a queue pair's 5-tuple, which decides its path wherever there are several.

use super::flows::QueuePair;
use spec::{EcmpHash, LoadBalancing, RunSpec};
use std::net::Ipv4Addr;
use topology::Graph;

/// UDP destination port of RoCEv2 (IBTA annex A17).
const ROCE_UDP_PORT: u16 = 4791;
/// IP protocol number of UDP.
const IP_PROTOCOL_UDP: u8 = 17;

/// Which way a packet of a queue pair goes.
#[derive(Clone, Copy)]
pub(crate) enum Direction {
    /// Data.
    Forward,
    /// ACK and NAK.
    Reverse,
}

/// Hash of the 5-tuple (source and destination address, source and destination port, protocol), and of the
/// destination queue pair if the spec says so.
pub(crate) fn entropy(spec: &RunSpec, graph: &Graph, pair: &QueuePair, direction: Direction) -> u32 {
    let ip = |id| -> Ipv4Addr { graph.attachment(id).ip };
    let (source, destination) = match direction {
        Direction::Forward => (ip(pair.src_attachment), ip(pair.dst_attachment)),
        Direction::Reverse => (ip(pair.dst_attachment), ip(pair.src_attachment)),
    };
    let mut input = [0; 16];
    input[..4].copy_from_slice(&source.octets());
    input[4..8].copy_from_slice(&destination.octets());
    input[8..10].copy_from_slice(&pair.udp_source_port.to_be_bytes());
    input[10..12].copy_from_slice(&ROCE_UDP_PORT.to_be_bytes());
    input[12] = IP_PROTOCOL_UDP;
    input[13..].copy_from_slice(&pair.identity.to_be_bytes()[1..]);
    let (hash, include_qp) = match spec.fabric.load_balancing {
        LoadBalancing::Ecmp { hash, include_qp } => (hash, include_qp),
        _ => (EcmpHash::Crc, false),
    };
    let input = if include_qp { &input[..] } else { &input[..13] };
    match hash {
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
