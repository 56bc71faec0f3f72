//! IPv4 header. The fuzzer cannot guess a checksum, so the header is also tried with the right one.
#![no_main]

use fabricbench_fuzz::check_inverse;
use libfuzzer_sys::fuzz_target;
use wire::ipv4::{HEADER_BYTES, Packet, Repr};

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    let Ok(packet) = Packet::new(bytes) else { return };
    let mut repaired = bytes.to_vec();
    repaired[10..12].copy_from_slice(&packet.expected_checksum().to_be_bytes());
    check(&repaired);
});

fn check(bytes: &[u8]) {
    check_inverse(bytes, HEADER_BYTES, |bytes| Repr::parse(&Packet::new(bytes)?), Repr::emit);
    let Ok(packet) = Packet::new(bytes) else { return };
    if let Ok(repr) = Repr::parse(&packet) {
        let payload = packet.payload();
        let is_there = bytes.len() >= HEADER_BYTES + usize::from(repr.payload_bytes);
        assert_eq!(payload.is_ok(), is_there);
        assert!(
            payload.is_err() || payload.is_ok_and(|payload| payload.len() == usize::from(repr.payload_bytes))
        );
    }
}
