//! TCP header with its options.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::net::Ipv4Addr;
use wire::tcp::{HEADER_BYTES, Packet, Repr, checksum};

fuzz_target!(|bytes: &[u8]| {
    let addresses = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let sum = checksum(addresses.0, addresses.1, bytes);
    assert!(sum.is_ok() || bytes.len() < HEADER_BYTES || bytes.len() > usize::from(u16::MAX) - 20);
    let Ok(packet) = Packet::new(bytes) else { return };
    let Ok(repr) = Repr::parse(&packet) else { return };
    let mut again = vec![0xa5; repr.header_bytes()];
    repr.emit(&mut again).expect("a header fits the length it has");
    assert_eq!(again, bytes[..again.len()], "emit(parse(bytes)) is not bytes");
    assert_eq!(Packet::new(&again).and_then(|packet| Repr::parse(&packet)), Ok(repr));
});
