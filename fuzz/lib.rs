//! What the fuzz targets share.

use std::fmt::Debug;

/// Checks that a header that parses is emitted as the same bytes, and that it parses to the same again.
///
/// `bytes` may continue after the header, of which the first `length` are emitted.
///
/// # Panics
/// When one of the two does not hold: that is what the fuzzer looks for.
pub fn check_inverse<R: PartialEq + Debug>(
    bytes: &[u8],
    length: usize,
    parse: impl Fn(&[u8]) -> wire::Result<R>,
    emit: impl Fn(&R, &mut [u8]) -> wire::Result<()>,
) {
    let Ok(repr) = parse(bytes) else { return };
    // Not zeros: a byte that emit forgets must show.
    let mut again = vec![0xa5; length];
    emit(&repr, &mut again).expect("a header fits the length it has");
    assert_eq!(again, bytes[..length], "emit(parse(bytes)) is not bytes");
    assert_eq!(parse(&again).as_ref(), Ok(&repr), "parse(emit(repr)) is not repr");
    for short in 0..length {
        let expected = wire::Error::Truncated { need: length, have: short };
        assert_eq!(parse(&bytes[..short]), Err(expected), "a truncated header parses");
    }
}
