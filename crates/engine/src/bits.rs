//! Bit set of the nodes that are active in a window of simulated time, with a flag for emptiness.

/// Set of the nodes that are active in a window.
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

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        !self.any
    }

    /// Moves the members that are also in `among` to `into`. The sets have the same size.
    pub(crate) fn move_among(&mut self, among: &Self, into: &mut Self) {
        if !self.any {
            return;
        }
        let mut left = 0;
        for ((word, among), into) in self.words.iter_mut().zip(&among.words).zip(&mut into.words) {
            *into |= *word & among;
            *word &= !among;
            left |= *word;
        }
        self.any = left != 0;
        into.any = true;
    }

    /// Calls `visit` for each member in ascending order, and empties the set.
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
    fn members_among_others_move_over() {
        let set = |members: &[u32]| {
            let mut set = BitSet::new(200);
            members.iter().for_each(|&member| set.insert(member));
            set
        };
        let members = |mut set: BitSet| {
            let mut seen = Vec::new();
            set.drain(|index| seen.push(index));
            seen
        };
        let (mut from, mut into) = (set(&[1, 64, 130, 199]), set(&[2, 64]));
        from.move_among(&set(&[64, 130, 131]), &mut into);
        assert!(!from.is_empty() && !into.is_empty());
        assert_eq!((members(from), members(into)), (vec![1, 199], vec![2, 64, 130]));
    }

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
