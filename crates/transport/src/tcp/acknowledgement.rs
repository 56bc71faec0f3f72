//! Acknowledgements from a TCP receiver to its sender, with SACK blocks.

/// Maximum of SACK blocks in one acknowledgement: those that fit next to the timestamps option (RFC 2018, 3).
pub const SACK_BLOCKS_MAX: usize = 3;

/// Range of consecutive bytes of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The first byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
}

/// Blocks that arrived out of order, the most recently changed first (RFC 2018, 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [Block; SACK_BLOCKS_MAX],
    count: u8,
}

impl SackBlocks {
    /// The first blocks of `blocks`, as many as fit.
    #[must_use]
    pub fn of(blocks: impl IntoIterator<Item = Block>) -> Self {
        let mut sack = Self::default();
        for (slot, block) in sack.blocks.iter_mut().zip(blocks) {
            *slot = block;
            sack.count += 1;
        }
        sack
    }

    /// The blocks, newest first.
    #[inline]
    #[must_use]
    pub fn as_slice(&self) -> &[Block] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Everything before this offset has arrived.
    pub offset: u64,
    /// Blocks that arrived beyond it.
    pub sack: SackBlocks,
    /// Echo of "congestion experienced" (ECE).
    pub congestion_echo: bool,
}
