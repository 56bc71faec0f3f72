//! UDP header.
#![no_main]

use fabricbench_fuzz::check_inverse;
use libfuzzer_sys::fuzz_target;
use wire::udp::{HEADER_BYTES, Packet, Repr};

fuzz_target!(|bytes: &[u8]| {
    check_inverse(bytes, HEADER_BYTES, |bytes| Repr::parse(&Packet::new(bytes)?), Repr::emit);
    let Ok(packet) = Packet::new(bytes) else { return };
    if let Ok(payload) = packet.payload() {
        assert_eq!(payload, &bytes[HEADER_BYTES..usize::from(packet.total_bytes())]);
    }
});
