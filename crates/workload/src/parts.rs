//! Divides data into parts of sizes as equal as possible.

/// Data divided into parts of sizes as equal as possible: the first `bytes mod count` of them have one byte
/// more than the rest, as Open MPI splits a vector for its rings (`COLL_BASE_COMPUTE_BLOCKCOUNT`). With fewer
/// bytes than parts, the last parts are empty.
///
/// An empty part is still sent, as a message without payload: an MPI library sends the envelope of a message
/// of zero elements, and NCCL a write of zero bytes for each step of its rings, as the peer waits for it. Not
/// modelled: elements of more than a byte; a library that reduces 4-byte floats divides between floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    bytes: u64,
    count: u64,
}

impl Parts {
    /// `bytes` divided into `count` parts.
    ///
    /// # Panics
    /// When `count` is 0.
    #[must_use]
    pub const fn new(bytes: u64, count: u64) -> Self {
        assert!(count > 0, "there is at least one part");
        Self { bytes, count }
    }

    /// Size of a part [bytes].
    ///
    /// # Panics
    /// When there is no such part.
    #[must_use]
    pub const fn of(&self, part: u64) -> u64 {
        assert!(part < self.count, "there is such a part");
        self.bytes / self.count + (part < self.bytes % self.count) as u64
    }

    /// Size of `count` parts from `first` on [bytes].
    #[must_use]
    pub fn of_range(&self, first: u64, count: u64) -> u64 {
        self.start(first + count) - self.start(first)
    }

    /// Bytes before a part.
    fn start(&self, part: u64) -> u64 {
        self.bytes / self.count * part + part.min(self.bytes % self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_add_up_and_differ_by_a_byte_at_most(bytes in 0..10_000_u64, count in 1..300_u64) {
            let parts = Parts::new(bytes, count);
            let sizes: Vec<_> = (0..count).map(|part| parts.of(part)).collect();
            prop_assert_eq!(sizes.iter().sum::<u64>(), bytes);
            prop_assert!(sizes.is_sorted_by(|a, b| a >= b) && sizes[0] - sizes[sizes.len() - 1] <= 1);
            for first in 0..count {
                let expected: u64 = sizes[first as usize..].iter().sum();
                prop_assert_eq!(parts.of_range(first, count - first), expected);
            }
        }
    }

    #[test]
    fn the_largest_size_does_not_overflow() {
        let parts = Parts::new(u64::MAX, 3);
        assert_eq!(parts.of_range(0, 3), u64::MAX);
        assert_eq!(parts.of(2), u64::MAX / 3);
    }
}
