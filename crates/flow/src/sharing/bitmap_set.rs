//! Set of small integers that returns the least first: a hierarchical bitmap.

const WORD_BITS: usize = u64::BITS as usize;

/// Numbers below a bound. Level 0 has a bit for each; a bit of each further level is set if the corresponding
/// word of the level below is not zero.
pub(crate) struct BitmapSet {
    levels: Vec<Vec<u64>>,
}

impl BitmapSet {
    /// An empty set for the numbers below `count`.
    pub(crate) fn new(count: usize) -> Self {
        let (mut levels, mut words) = (Vec::new(), count);
        loop {
            words = words.div_ceil(WORD_BITS).max(1);
            levels.push(vec![0; words]);
            if words == 1 {
                return Self { levels };
            }
        }
    }

    pub(crate) fn insert(&mut self, number: u32) {
        let mut index = number as usize;
        for level in &mut self.levels {
            let word = &mut level[index / WORD_BITS];
            let was_empty = *word == 0;
            *word |= 1 << (index % WORD_BITS);
            if !was_empty {
                return;
            }
            index /= WORD_BITS;
        }
    }

    /// Removes the least.
    pub(crate) fn pop(&mut self) -> Option<u32> {
        let mut index = 0;
        for level in self.levels.iter().rev() {
            let word = level[index];
            if word == 0 {
                return None;
            }
            index = index * WORD_BITS + word.trailing_zeros() as usize;
        }
        self.remove(index);
        Some(index as u32)
    }

    fn remove(&mut self, mut index: usize) {
        for level in &mut self.levels {
            let word = &mut level[index / WORD_BITS];
            *word &= !(1 << (index % WORD_BITS));
            if *word != 0 {
                return;
            }
            index /= WORD_BITS;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_a_set(steps in prop::collection::vec(prop::option::of(0..300_000_u32), 0..400)) {
            let (mut marks, mut set) = (BitmapSet::new(300_000), BTreeSet::new());
            for step in steps {
                match step {
                    Some(number) => {
                        marks.insert(number);
                        set.insert(number);
                    }
                    None => prop_assert_eq!(marks.pop(), set.pop_first()),
                }
            }
            set.into_iter().for_each(|number| assert_eq!(marks.pop(), Some(number)));
            prop_assert_eq!(marks.pop(), None);
        }
    }
}
