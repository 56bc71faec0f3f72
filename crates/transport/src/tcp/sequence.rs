//! Conversion between sequence numbers of a header and offsets in the stream.

/// The number on the wire of the byte at `offset`, on a connection whose first byte has number `first`.
#[inline]
#[must_use]
pub const fn sequence_number(first: u32, offset: u64) -> u32 {
    first.wrapping_add(offset as u32)
}

/// The offset of sequence number `number` that is nearest to `near` (RFC 9293, 3.4: numbers are compared
/// modulo 2^32). There is no offset before the first byte, so a number from there maps to a byte 2^32 later.
#[inline]
#[must_use]
pub const fn offset_of(first: u32, number: u32, near: u64) -> u64 {
    let distance = number.wrapping_sub(sequence_number(first, near)).cast_signed();
    match near.checked_add_signed(distance as i64) {
        Some(offset) => offset,
        None => number.wrapping_sub(first) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_offset_comes_back_from_its_number(first: u32, near in 0_u64..1 << 40, distance in -(1_i64 << 31)..1 << 31) {
            if let Some(offset) = near.checked_add_signed(distance) {
                prop_assert_eq!(offset_of(first, sequence_number(first, offset), near), offset);
            }
        }
    }
}
