//! InfiniBand flow control packet: as it comes, and with the CRC that the fuzzer could not guess.
#![no_main]

use fabricbench_fuzz::check_inverse;
use libfuzzer_sys::fuzz_target;
use wire::infiniband::flow_control::{PACKET_BYTES, Packet, Repr};
use wire::infiniband::vcrc::vcrc;

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    if let Some(fields) = bytes.first_chunk::<4>() {
        check(&[&fields[..], &vcrc(fields).to_le_bytes()].concat());
    }
});

fn check(bytes: &[u8]) {
    check_inverse(bytes, PACKET_BYTES, |bytes| Repr::parse(&Packet::new(bytes)?), Repr::emit);
}
