//! Whole InfiniBand packet: as it comes, and as the transport packet of one whose length and CRCs are right,
//! which the fuzzer could not guess.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::infiniband::{lrh, vcrc};
use wire::{Error, InfinibandPacket, icrc};

/// Lanes and local identifiers: what precedes the transport packet in an input.
const ROUTE_BYTES: usize = 6;

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    if let Some((route, transport)) = bytes.split_first_chunk::<ROUTE_BYTES>()
        && let Some(packet) = packet_around(*route, transport)
    {
        check(&packet);
    }
});

/// A packet around `transport`, unless that has a length that no packet has.
fn packet_around(route: [u8; ROUTE_BYTES], transport: &[u8]) -> Option<Vec<u8>> {
    let bytes = lrh::HEADER_BYTES + transport.len() + icrc::BYTES;
    let words = u16::try_from(bytes / 4).ok().filter(|words| *words < 0x800 && bytes % 4 == 0)?;
    let [lane, level, destination_high, destination_low, source_high, source_low] = route;
    let mut packet = vec![lane & 0xf0, level & 0xf0 | 2, destination_high, destination_low];
    packet.extend(words.to_be_bytes());
    packet.extend([source_high, source_low]);
    packet.extend(transport);
    let icrc = icrc::of_local_packet(&packet).ok()?;
    packet.extend(icrc.to_le_bytes());
    packet.extend(vcrc::vcrc(&packet).to_le_bytes());
    Some(packet)
}

fn check(bytes: &[u8]) {
    let Ok(packet) = InfinibandPacket::parse(bytes) else { return };
    let mut again = vec![0xa5; packet.packet_bytes()];
    let length = packet.emit(&mut again).expect("a packet fits its own size");
    assert_eq!(again[..length], *bytes, "emit(parse(bytes)) is not bytes");
    assert_eq!(InfinibandPacket::parse(&again), Ok(packet), "parse(emit(packet)) is not packet");
    for short in 0..bytes.len() {
        assert!(matches!(InfinibandPacket::parse(&bytes[..short]), Err(Error::Truncated { .. })));
    }
}
