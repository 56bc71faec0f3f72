//! Priority flow control frame. What is fixed (address, EtherType, opcode, pad) is also given to the fuzzer.
#![no_main]

use fabricbench_fuzz::check_inverse;
use libfuzzer_sys::fuzz_target;
use wire::ethernet::pfc::{DESTINATION, FRAME_BYTES, Frame, Repr};

const CONTROL: [u8; 4] = [0x88, 0x08, 0x01, 0x01];

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    // Source address, enable vector and times are the fuzzer's.
    let Some((source, rest)) = bytes.split_first_chunk::<6>() else { return };
    let Some(vector_and_times) = rest.first_chunk::<18>() else { return };
    let mut frame = [&DESTINATION.0[..], source, &CONTROL, vector_and_times].concat();
    frame.resize(FRAME_BYTES, 0);
    check(&frame);
});

fn check(bytes: &[u8]) {
    check_inverse(bytes, FRAME_BYTES, |bytes| Repr::parse(&Frame::new(bytes)?), Repr::emit);
}
