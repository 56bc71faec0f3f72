//! ACK extended transport header.
#![no_main]

use fabricbench_fuzz::check_inverse;
use libfuzzer_sys::fuzz_target;
use wire::aeth::{HEADER_BYTES, Packet, Repr};
use wire::{Extension, Opcode};

fuzz_target!(|bytes: &[u8]| {
    check_inverse(bytes, HEADER_BYTES, |bytes| Repr::parse(&Packet::new(bytes)?), Repr::emit);
    let parse = |bytes: &[u8]| Extension::parse(Opcode::Acknowledge, bytes);
    check_inverse(bytes, HEADER_BYTES, parse, Extension::emit);
});
