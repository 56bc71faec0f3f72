//! Whole RoCEv2 frame: as it comes, and as the transport packet of a frame whose lengths, checksum and ICRC
//! are right, which the fuzzer could not guess.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::{Error, RoceFrame, ethernet, icrc, ipv4, udp};

const UDP_OFFSET: usize = ethernet::HEADER_BYTES + ipv4::HEADER_BYTES;
/// Addresses, traffic class, TTL, identification and source port: what precedes the transport packet in an
/// input.
const NETWORK_BYTES: usize = 26;

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    if let Some((network, transport)) = bytes.split_first_chunk::<NETWORK_BYTES>()
        && let Some(frame) = frame_around(network, transport)
    {
        check(&frame);
    }
});

/// A frame without FCS around `transport`, unless that is too long.
fn frame_around(network: &[u8; NETWORK_BYTES], transport: &[u8]) -> Option<Vec<u8>> {
    let [traffic_class, ttl, id_high, id_low, port_high, port_low, ..] = *network;
    let udp_bytes = u16::try_from(udp::HEADER_BYTES + transport.len() + icrc::BYTES).ok()?;
    let total_bytes = udp_bytes.checked_add(ipv4::HEADER_BYTES as u16)?.to_be_bytes();
    let mut frame = network[6..18].to_vec();
    frame.extend([0x08, 0x00, 0x45, traffic_class, total_bytes[0], total_bytes[1], id_high, id_low]);
    frame.extend([0x40, 0x00, ttl, ipv4::PROTOCOL_UDP, 0, 0]);
    frame.extend(&network[18..]);
    frame.extend([port_high, port_low]);
    frame.extend([udp::ROCE_PORT.to_be_bytes(), udp_bytes.to_be_bytes(), [0, 0]].as_flattened());
    frame.extend(transport);
    let header = ethernet::HEADER_BYTES..UDP_OFFSET;
    let checksum = ipv4::Packet::new(&frame[header]).ok()?.expected_checksum();
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
    let icrc = icrc::icrc(&frame[ethernet::HEADER_BYTES..]).ok()?;
    frame.extend(icrc.to_le_bytes());
    frame.resize(frame.len().max(ethernet::MIN_FRAME_BYTES), 0);
    Some(frame)
}

fn check(bytes: &[u8]) {
    let Ok(frame) = RoceFrame::parse(bytes) else { return };
    let mut again = vec![0xa5; frame.frame_bytes()];
    let length = frame.emit(&mut again).expect("a frame fits its own size");
    assert_eq!(length, bytes.len());
    // The pad to the shortest frame may be anything; a frame is as long as its datagram otherwise.
    let datagram_end = ethernet::HEADER_BYTES + usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    assert_eq!(again[..datagram_end], bytes[..datagram_end], "emit(parse(bytes)) is not bytes");
    assert_eq!(RoceFrame::parse(&again[..length]), Ok(frame), "parse(emit(frame)) is not frame");
    ethernet::emit_fcs(&mut again, length).expect("the size of the frame has room for the FCS");
    assert_eq!(RoceFrame::parse_with_fcs(&again), Ok(frame));
    for short in 0..bytes.len() {
        assert!(matches!(RoceFrame::parse(&bytes[..short]), Err(Error::Truncated { .. })));
    }
}
