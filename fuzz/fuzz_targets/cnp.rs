//! Congestion notification packet.
#![no_main]

use fabricbench_fuzz::check_inverse;
use libfuzzer_sys::fuzz_target;
use wire::bth;
use wire::cnp::{HEADER_BYTES, Packet, Repr};

fuzz_target!(|bytes: &[u8]| {
    check_inverse(bytes, HEADER_BYTES, |bytes| Repr::parse(&Packet::new(bytes)?), Repr::emit);
    let Ok(packet) = Packet::new(bytes) else { return };
    if let Ok(repr) = Repr::parse(&packet) {
        let header = bth::Packet::new(bytes).and_then(|packet| bth::Repr::parse(&packet));
        assert_eq!(header, Ok(repr.bth()), "a notification is a BTH with fixed values");
    }
});
