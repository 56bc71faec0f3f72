//! What a hostile peer sends to driver `tcp`: a hello, then chunks in pieces of a length that the first byte says.
#![no_main]

use endpoint::run::tcp::frames::{Chunks, HELLO_BYTES, Hello, Piece};
use libfuzzer_sys::fuzz_target;

/// Chunk 0 has no payload, chunk 1 a byte, and so on; there are 200.
fn planned(chunk: u32) -> Option<u64> {
    (chunk < 200).then_some(chunk.into())
}

fuzz_target!(|bytes: &[u8]| {
    let Some((hello, rest)) = bytes.split_first_chunk::<HELLO_BYTES>() else { return };
    if let Some(said) = Hello::parse(hello) {
        assert_eq!(said.emit(), *hello, "emit(parse(bytes)) is not bytes");
    }
    let Some((&length, stream)) = rest.split_first() else { return };
    let (mut chunks, mut payload_bytes) = (Chunks::default(), 0);
    for piece in stream.chunks(usize::from(length).max(1)) {
        let taken = chunks.take(piece, planned, |piece| match piece {
            Piece::Payload { offset, bytes } => {
                assert_eq!(offset, payload_bytes, "payload is in order");
                payload_bytes += bytes.len() as u64;
            }
            Piece::End { chunk } => {
                assert_eq!(Some(payload_bytes), planned(chunk), "a chunk ends when it is whole");
                payload_bytes = 0;
            }
        });
        if taken.is_err() {
            return;
        }
    }
});
