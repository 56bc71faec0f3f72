//! Packets to bytes and back; other bytes are errors.

use crate::lab::{End, config, settings};
use fabricbench_transport::{DecodeError, Outgoing, Received, Recovery, UdpPath};
use proptest::prelude::*;
use std::net::{Ipv4Addr, SocketAddrV4};
use units::Instant;
use wire::ethernet::MacAddress;
use wire::frame::Network;
use wire::ipv4::{Dscp, Ecn};
use wire::{Error, RoceFrame};

const PATH: UdpPath = UdpPath {
    source: SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 50_000),
    destination: SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 4791),
};

const IDENTIFICATION: u16 = 5;

/// The packets of a write and of a SEND, and of both with immediate data, with their bytes.
fn packets(bytes: &[u8]) -> Vec<(Outgoing, Vec<u8>)> {
    let mut end = End::new(&settings(0, config(Recovery::GoBackN), 0));
    let sent = &bytes[..bytes.len().min(2_000)];
    end.write(0, bytes);
    end.send(sent);
    end.write_and_tell(0, bytes, 0x0102_0304);
    end.send_and_tell(sent, 0x0506_0708);
    let next = || {
        let packet = end.queue_pair.poll_transmit(Instant::ZERO)?;
        Some((packet, end.payload(&packet).to_vec()))
    };
    std::iter::from_fn(next).collect()
}

fn encode(packet: &Outgoing, payload: &[u8]) -> Vec<u8> {
    let mut buffer = vec![0xee; packet.packet_bytes()];
    assert_eq!(packet.encode(payload, &mut buffer), Ok(buffer.len()));
    buffer
}

/// A packet with its ICRC.
fn sealed(packet: &Outgoing, payload: &[u8]) -> Vec<u8> {
    let mut buffer = [encode(packet, payload), vec![0; 4]].concat();
    assert_eq!(PATH.seal(IDENTIFICATION, &mut buffer, packet.packet_bytes()), Ok(buffer.len()));
    buffer
}

proptest! {
    #[test]
    fn decoding_is_the_inverse_of_encoding(bytes in prop::collection::vec(any::<u8>(), 0..3_000)) {
        for (packet, payload) in packets(&bytes) {
            let encoded = encode(&packet, &payload);
            let decoded = Received::decode(&encoded)?;
            prop_assert_eq!((decoded.bth().opcode, decoded.bth().psn), (packet.bth.opcode, packet.bth.psn));
            prop_assert_eq!(*decoded.extension(), packet.extension);
            prop_assert_eq!(decoded.payload(), payload);
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), marked: bool) {
        let mut end = End::new(&settings(0, config(Recovery::GoBackN), 64));
        if let Ok(packet) = Received::decode(&bytes) {
            end.handle(&packet.with_mark(marked), Instant(5));
        }
        prop_assert!(PATH.open(IDENTIFICATION, &bytes).is_err());
    }

    #[test]
    fn changed_packets_never_panic_and_an_icrc_finds_them(
        bytes in prop::collection::vec(any::<u8>(), 1..600),
        at: prop::sample::Index,
        bit in 0..8_u32,
        length: prop::sample::Index,
    ) {
        for (packet, payload) in packets(&bytes) {
            let sealed = sealed(&packet, &payload);
            prop_assert_eq!(PATH.open(IDENTIFICATION, &sealed)?.len(), packet.packet_bytes());
            let at = at.index(sealed.len());
            let mut changed = sealed.clone();
            changed[at] ^= 1 << bit;
            // The fifth byte of the BTH is for switches to change.
            prop_assert_eq!(PATH.open(IDENTIFICATION, &changed).is_ok(), at == 4);
            let _ = Received::decode(&changed);
            let _ = Received::decode(&sealed[..length.index(sealed.len())]);
        }
    }
}

#[test]
fn a_sealed_packet_is_the_one_that_stands_in_a_whole_frame() {
    let network = Network {
        source_mac: MacAddress([2, 0, 0, 0, 0, 1]),
        destination_mac: MacAddress([2, 0, 0, 0, 0, 2]),
        source_ip: *PATH.source.ip(),
        destination_ip: *PATH.destination.ip(),
        udp_source_port: PATH.source.port(),
        dscp: Dscp::new(26).unwrap(),
        ecn: Ecn::CongestionExperienced,
        ttl: 63,
        identification: IDENTIFICATION,
        dont_fragment: true,
    };
    for (packet, payload) in packets(&[7; 1_001]) {
        let frame = RoceFrame::new(network, packet.bth, packet.extension, &payload).unwrap();
        let mut whole = vec![0; frame.frame_bytes()];
        let frame_bytes = frame.emit(&mut whole).unwrap();
        assert_eq!(sealed(&packet, &payload), &whole[42..frame_bytes]);
    }
}

#[test]
fn what_does_not_fit_is_an_error() {
    let (packet, payload) = packets(&[7; 10]).remove(0);
    let need = packet.packet_bytes();
    assert_eq!(need, 12 + 16 + 12);
    assert_eq!(packet.encode(&payload, &mut [0; 39]), Err(Error::Truncated { need, have: 39 }));
    let length = Error::Length { field: "payload", min: 10, max: 10, found: 9 };
    assert_eq!(packet.encode(&payload[..9], &mut [0; 40]), Err(length));
    let encoded = encode(&packet, &payload);
    let cut = Received::decode(&encoded[..39]);
    assert_eq!(cut, Err(DecodeError::Padding { found: 11, pad: 2 }));
    assert!(matches!(Received::decode(&encoded[..27]), Err(DecodeError::Header(Error::Truncated { .. }))));
    assert_eq!(PATH.seal(0, &mut [0; 43], 40), Err(Error::Truncated { need: 44, have: 43 }));
    assert_eq!(PATH.open(0, &[0; 15]), Err(Error::Truncated { need: 16, have: 15 }));
}
