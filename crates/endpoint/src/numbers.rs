//! Queue pairs by number.

/// Queue pair numbers per block.
const BLOCK: usize = 1 << 12;
const NONE: u32 = u32::MAX;

/// Map of 24-bit queue pair numbers to indices: a two-level table, without hashing.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    blocks: Vec<Option<Box<[u32; BLOCK]>>>,
}

impl Numbers {
    /// Index of the queue pair with that number.
    pub(crate) fn place(&self, number: u32) -> Option<usize> {
        let block = self.blocks.get(number as usize / BLOCK)?.as_ref()?;
        let place = block[number as usize % BLOCK];
        (place != NONE).then_some(place as usize)
    }

    /// Assigns an index to a number.
    pub(crate) fn insert(&mut self, number: u32, place: usize) {
        let index = number as usize / BLOCK;
        if self.blocks.len() <= index {
            self.blocks.resize_with(index + 1, || None);
        }
        let block = self.blocks[index].get_or_insert_with(|| Box::new([NONE; BLOCK]));
        block[number as usize % BLOCK] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_a_place_of_its_own() {
        let mut numbers = Numbers::default();
        let known = [2, 3, 4_095, 4_096, 0x12_3456, 0xff_ffff];
        known.iter().enumerate().for_each(|(place, &number)| numbers.insert(number, place));
        for (place, number) in known.into_iter().enumerate() {
            assert_eq!(numbers.place(number), Some(place));
        }
        for unknown in [0, 1, 5, 4_097, 0x12_3457, 0x80_0000, u32::MAX] {
            assert_eq!(numbers.place(unknown), None);
        }
    }
}
