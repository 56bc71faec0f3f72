//! How large the chunks of a list are.

/// Payload of each chunk [bytes]; where all have the same, that is stored alone.
#[derive(Debug)]
pub(super) struct ChunkBytes {
    all: u64,
    each: Box<[u64]>,
}

impl ChunkBytes {
    /// The same for all.
    pub(super) fn same(all: u64) -> Self {
        Self { all, each: Box::default() }
    }

    /// Payload of a chunk.
    #[inline]
    pub(super) fn of(&self, chunk: u32) -> u64 {
        self.each.get(chunk as usize).copied().unwrap_or(self.all)
    }
}

/// The same in the making.
#[derive(Debug, Default)]
pub(super) struct ChunkBytesMaker {
    all: u64,
    each: Vec<u64>,
}

impl ChunkBytesMaker {
    /// Adds the payload of the next chunk.
    #[inline]
    pub(super) fn push(&mut self, chunk: u32, bytes: u64) {
        if !self.each.is_empty() {
            self.each.push(bytes);
        } else if bytes != self.all {
            self.begin(chunk, bytes);
        }
    }

    /// Adds the first payload, or the first that is another.
    #[cold]
    fn begin(&mut self, chunk: u32, bytes: u64) {
        if chunk == 0 {
            self.all = bytes;
            return;
        }
        self.each.resize(chunk as usize, self.all);
        self.each.push(bytes);
    }

    pub(super) fn finish(self) -> ChunkBytes {
        ChunkBytes { all: self.all, each: self.each.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::ChunkBytesMaker;

    #[test]
    fn what_is_the_same_for_all_is_stored_once() {
        for (bytes, is_stored) in [(vec![7, 7, 7], false), (vec![7, 8, 7], true), (vec![], false)] {
            let mut chunks = ChunkBytesMaker::default();
            (0..).zip(&bytes).for_each(|(chunk, &bytes)| chunks.push(chunk, bytes));
            let chunks = chunks.finish();
            assert_eq!(!chunks.each.is_empty(), is_stored);
            (0..).zip(bytes).for_each(|(chunk, bytes)| assert_eq!(chunks.of(chunk), bytes));
        }
    }
}
