//! Numbers of which nothing is stored where they follow each other.

use crate::prefetch::prefetch;

/// A number for each item of a list; where each is one more than that before it, the first is stored alone.
#[derive(Debug)]
pub(super) struct Numbers {
    first: u32,
    each: Box<[u32]>,
}

impl Numbers {
    pub(super) fn new(of_each: impl Iterator<Item = u32> + Clone) -> Self {
        let first = of_each.clone().next().unwrap_or(0);
        let follow_each_other = of_each.clone().zip(first..).all(|(number, expected)| number == expected);
        Self { first, each: if follow_each_other { Box::default() } else { of_each.collect() } }
    }

    /// The number of an item.
    #[inline]
    pub(super) fn of(&self, item: u32) -> u32 {
        self.each.get(item as usize).copied().unwrap_or_else(|| self.first + item)
    }

    /// Asks for the number of an item.
    #[inline]
    pub(super) fn prefetch(&self, item: usize) {
        prefetch(&self.each, item);
    }
}

#[cfg(test)]
mod tests {
    use super::Numbers;

    #[test]
    fn what_follows_is_not_stored() {
        for (numbers, is_stored) in [(vec![7, 8, 9], false), (vec![7, 9, 8], true), (vec![], false)] {
            let list = Numbers::new(numbers.iter().copied());
            assert_eq!(!list.each.is_empty(), is_stored);
            (0..).zip(numbers).for_each(|(item, number)| assert_eq!(list.of(item), number));
        }
    }
}
