//! Encodes the SACK option of a TCP acknowledgement in 63 bits, and decodes it: three blocks, each as length
//! and distance from the next expected segment, in segments.
//!
//! Every segment of the simulator is full, so this is lossless. Windows are at most
//! [`spec::TCP_WINDOW_SEGMENTS_MAX`] long. Of a block longer than 1,023 segments, the last 1,023 are encoded:
//! the rest was acknowledged before, as blocks grow by one segment at a time.

use transport::tcp::{Block, SACK_BLOCKS_MAX, SackBlocks};

const DISTANCE_BITS: u32 = 11;
const LENGTH_BITS: u32 = 10;
const BLOCK_BITS: u32 = DISTANCE_BITS + LENGTH_BITS;
const LENGTH_MAX: u64 = (1 << LENGTH_BITS) - 1;
const DISTANCE_MAX: u64 = (1 << DISTANCE_BITS) - 1;

const _: () = assert!(SACK_BLOCKS_MAX as u32 * BLOCK_BITS <= u64::BITS, "the blocks fit");
const _: () =
    assert!(spec::TCP_WINDOW_SEGMENTS_MAX <= DISTANCE_MAX, "every block of a window is within reach");

/// Encodes the blocks beyond `offset`, of segments of `mss` bytes.
pub(super) fn encode(sack: &SackBlocks, offset: u64, mss: u64) -> u64 {
    let mut digest = 0;
    for (index, block) in sack.as_slice().iter().enumerate() {
        let length = ((block.end - block.start) / mss).min(LENGTH_MAX);
        let distance = (block.end - offset) / mss - length;
        debug_assert!(distance <= DISTANCE_MAX, "a block is within the window");
        digest |= ((distance << LENGTH_BITS) | length) << (index as u32 * BLOCK_BITS);
    }
    digest
}

/// The inverse of [`encode`].
pub(super) fn decode(digest: u64, offset: u64, mss: u64) -> SackBlocks {
    let blocks = (0..SACK_BLOCKS_MAX as u32).map_while(|index| {
        let bits = digest >> (index * BLOCK_BITS);
        let (distance, length) = (bits >> LENGTH_BITS & DISTANCE_MAX, bits & LENGTH_MAX);
        let start = offset + distance * mss;
        (length > 0).then_some(Block { start, end: start + length * mss })
    });
    SackBlocks::of(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_are_restored(
            blocks in prop::collection::vec((1_u64..1_024, 1_u64..=1_023), 0..=3),
            offset in 0_u64..1 << 30,
            mss in 500_u64..9_000,
        ) {
            let offset = offset * mss;
            let block = |&(distance, length): &(u64, u64)| {
                let start = offset + distance * mss;
                Block { start, end: start + length * mss }
            };
            let sack = SackBlocks::of(blocks.iter().map(block));
            prop_assert_eq!(decode(encode(&sack, offset, mss), offset, mss), sack);
        }
    }

    #[test]
    fn a_long_block_is_represented_by_its_end() {
        let sack = SackBlocks::of([Block { start: 1_000, end: 2_001_000 }]);
        let decoded = decode(encode(&sack, 0, 1_000), 0, 1_000);
        assert_eq!(decoded, SackBlocks::of([Block { start: 978_000, end: 2_001_000 }]));
    }
}
