//! A set of small integers that remembers whether it is empty.

/// Which nodes have work in a window.
#[derive(Clone, Debug, Default)]
pub(crate) struct BitSet {
    words: Vec<u64>,
    any: bool,
}

impl BitSet {
    pub(crate) fn new(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(64)], any: false }
    }

    #[inline]
    pub(crate) fn insert(&mut self, index: u32) {
        self.words[(index >> 6) as usize] |= 1 << (index & 63);
        self.any = true;
    }

    pub(crate) const fn is_empty(&self) -> bool {
        !self.any
    }

    /// Calls `visit` for each member in ascending order and leaves the set empty.
    pub(crate) fn drain(&mut self, mut visit: impl FnMut(u32)) {
        for (index, word) in self.words.iter_mut().enumerate() {
            while *word != 0 {
                let bit = word.trailing_zeros();
                *word &= *word - 1;
                visit(index as u32 * 64 + bit);
            }
        }
        self.any = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drains_in_ascending_order_and_ends_empty() {
        let mut set = BitSet::new(200);
        for index in [199, 0, 64, 63, 64] {
            set.insert(index);
        }
        let mut seen = Vec::new();
        set.drain(|index| seen.push(index));
        assert_eq!(seen, [0, 63, 64, 199]);
        assert!(set.is_empty());
    }
}
