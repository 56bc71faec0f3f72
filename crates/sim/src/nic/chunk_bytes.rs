//! How large the chunks of a list are.

/// Payload of each chunk [bytes]; where all have the same, that is stored alone.
#[derive(Debug)]
pub(super) struct ChunkBytes {
    all: u64,
    each: Box<[u64]>,
}

impl ChunkBytes {
    pub(super) fn new(of_each: impl Iterator<Item = u64> + Clone) -> Self {
        let all = of_each.clone().next().unwrap_or(0);
        let are_alike = of_each.clone().all(|bytes| bytes == all);
        Self { all, each: of_each.filter(|_| !are_alike).collect() }
    }

    /// Payload of a chunk.
    #[inline]
    pub(super) fn of(&self, chunk: u32) -> u64 {
        self.each.get(chunk as usize).copied().unwrap_or(self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::ChunkBytes;

    #[test]
    fn what_is_the_same_for_all_is_stored_once() {
        for (bytes, is_stored) in [(vec![7, 7, 7], false), (vec![7, 8, 7], true), (vec![], false)] {
            let chunks = ChunkBytes::new(bytes.iter().copied());
            assert_eq!(!chunks.each.is_empty(), is_stored);
            (0..).zip(bytes).for_each(|(chunk, bytes)| assert_eq!(chunks.of(chunk), bytes));
        }
    }
}
