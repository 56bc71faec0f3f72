//! Numbers of which nothing is stored where they follow each other.

use engine::prefetch::prefetch;

/// A number for each item of a list; where each is one more than that before it, the first is stored alone.
#[derive(Debug)]
pub(super) struct Numbers {
    first: u32,
    each: Box<[u32]>,
}

impl Numbers {
    /// Those of a whole list.
    pub(super) fn of_all(numbers: impl Iterator<Item = u32> + Clone) -> Self {
        let first = numbers.clone().next().unwrap_or(0);
        let follow = numbers.clone().zip(first..).all(|(number, expected)| number == expected);
        Self { first, each: if follow { Box::default() } else { numbers.collect() } }
    }

    /// The numbers from `first` on.
    pub(super) fn from(first: u32) -> Self {
        Self { first, each: Box::default() }
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

/// The same in the making.
#[derive(Debug, Default)]
pub(super) struct NumbersMaker {
    first: u32,
    each: Vec<u32>,
}

impl NumbersMaker {
    /// Adds the number of the next item.
    #[inline]
    pub(super) fn push(&mut self, item: u32, number: u32) {
        if !self.each.is_empty() {
            self.each.push(number);
        } else if number != self.first + item {
            self.begin(item, number);
        }
    }

    /// Adds the first number, or the first that does not follow.
    #[cold]
    fn begin(&mut self, item: u32, number: u32) {
        if item == 0 {
            self.first = number;
            return;
        }
        self.each.extend(self.first..self.first + item);
        self.each.push(number);
    }

    pub(super) fn finish(self) -> Numbers {
        Numbers { first: self.first, each: self.each.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Numbers, NumbersMaker};

    #[test]
    fn what_follows_is_not_stored() {
        for (numbers, is_stored) in [(vec![7, 8, 9], false), (vec![7, 9, 8], true), (vec![], false)] {
            let mut list = NumbersMaker::default();
            (0..).zip(&numbers).for_each(|(item, &number)| list.push(item, number));
            let list = list.finish();
            let at_once = Numbers::of_all(numbers.iter().copied());
            for list in [list, at_once] {
                assert_eq!(!list.each.is_empty(), is_stored);
                (0..).zip(&numbers).for_each(|(item, &number)| assert_eq!(list.of(item), number));
            }
        }
    }
}
