//! Byte stream of a hostile peer of driver `tcp`: a hello, then chunks in segments of a length given by the first
//! byte.
#![no_main]

use endpoint::run::tcp::frames::{Chunks, HELLO_BYTES, Hello, Element};
use libfuzzer_sys::fuzz_target;

/// Chunk 0 has no payload, chunk 1 a byte, and so on; there are 200.
fn planned(chunk: u32) -> Option<u64> {
    (chunk < 200).then_some(chunk.into())
}

fuzz_target!(|bytes: &[u8]| {
    let Some((hello, rest)) = bytes.split_first_chunk::<HELLO_BYTES>() else { return };
    if let Some(parsed) = Hello::parse(hello) {
        assert_eq!(parsed.emit(), *hello, "emit(parse(bytes)) is not bytes");
    }
    let Some((&length, stream)) = rest.split_first() else { return };
    let (mut chunks, mut payload_bytes) = (Chunks::default(), 0);
    for segment in stream.chunks(usize::from(length).max(1)) {
        let taken = chunks.take(segment, planned, |element| match element {
            Element::Payload { offset, bytes } => {
                assert_eq!(offset, payload_bytes, "payload is in order");
                payload_bytes += bytes.len() as u64;
            }
            Element::End { chunk } => {
                assert_eq!(Some(payload_bytes), planned(chunk), "a chunk ends when it is whole");
                payload_bytes = 0;
            }
        });
        if taken.is_err() {
            return;
        }
    }
});
