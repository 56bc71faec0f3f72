//! InfiniBand local route header.
#![no_main]

use fabricbench_fuzz::check_inverse;
use libfuzzer_sys::fuzz_target;
use wire::infiniband::lrh::{HEADER_BYTES, Packet, Repr};

fuzz_target!(|bytes: &[u8]| {
    check_inverse(bytes, HEADER_BYTES, |bytes| Repr::parse(&Packet::new(bytes)?), Repr::emit);
});
