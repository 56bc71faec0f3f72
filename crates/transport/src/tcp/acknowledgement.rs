//! What a receiver tells its sender.

/// Blocks in one acknowledgement at most: what fits beside the timestamps option (RFC 2018, 3).
pub const SACK_BLOCKS_MAX: usize = 3;

/// Consecutive bytes of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The first.
    pub start: u64,
    /// One past the last.
    pub end: u64,
}

/// Blocks that arrived ahead of their turn: the one that arrived last comes first (RFC 2018, 4).
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
        for (place, block) in sack.blocks.iter_mut().zip(blocks) {
            *place = block;
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
    /// What arrived beyond it.
    pub sack: SackBlocks,
    /// Congestion experienced is echoed (ECE).
    pub congestion_echo: bool,
}
