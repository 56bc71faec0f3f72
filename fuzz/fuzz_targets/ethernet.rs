//! Ethernet II header, and frame check sequence.
#![no_main]

use fabricbench_fuzz::check_inverse;
use libfuzzer_sys::fuzz_target;
use wire::ethernet::{FCS_BYTES, Frame, HEADER_BYTES, Repr, check_fcs, emit_fcs};

fuzz_target!(|bytes: &[u8]| {
    check_inverse(bytes, HEADER_BYTES, |bytes| Repr::parse(&Frame::new(bytes)?), Repr::emit);
    if let Ok(frame) = check_fcs(bytes) {
        assert_eq!(frame.len(), bytes.len() - FCS_BYTES);
    }
    let mut with_fcs = [bytes, &[0; FCS_BYTES]].concat();
    emit_fcs(&mut with_fcs, bytes.len()).expect("there is room for the FCS");
    if bytes.len() >= HEADER_BYTES {
        assert_eq!(check_fcs(&with_fcs), Ok(bytes));
    }
});
