//! RDMA extended transport header, by itself and in every packet that has one.
#![no_main]

use fabricbench_fuzz::check_inverse;
use libfuzzer_sys::fuzz_target;
use wire::reth::{HEADER_BYTES, Packet, Repr};
use wire::{Extension, Opcode, size};

fuzz_target!(|bytes: &[u8]| {
    let parse = |bytes: &[u8]| Packet::new(bytes).map(|packet| Repr::parse(&packet));
    check_inverse(bytes, HEADER_BYTES, parse, Repr::emit);
    for opcode in Opcode::ALL.into_iter().filter(|opcode| opcode.has_reth() || opcode.has_immediate()) {
        let length = size::extension_bytes(opcode) as usize;
        check_inverse(bytes, length, |bytes| Extension::parse(opcode, bytes), Extension::emit);
    }
});
