//! Sort keys of arriving frames (time and index), and sorting networks for them.
//!
//! Short rows of keys are sorted by a sorting network: the comparisons do not depend on the data, so no
//! branch is mispredicted. Keys are compared as floating-point numbers: a processor computes the smaller and
//! the larger of two in one instruction each, in registers that are otherwise unused. Positive floating-point
//! numbers have the order of their bits.

use units::{Instant, Span};

/// Bits of a key for the index.
const INDEX_BITS: u32 = 32;
/// Added to each time, so that no key is a subnormal number, which processors are slow with.
const BIAS: u64 = 1 << 30;
/// The longest window whose times, with [`BIAS`], are those of positive numbers.
pub(crate) const WINDOW_MAX: Span = Span(1 << 29);

/// Sort key of a frame: picoseconds since the window began, above its index among the arrivals. Frames are
/// received in the order of their ingress ports, so the order of keys is that of (time, ingress port,
/// sequence).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ArrivalKey(u64);

/// Origin of the times in the keys of a window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin(u64);

impl Origin {
    /// Origin of the window that begins at `start`.
    #[inline]
    pub(crate) const fn new(start: Instant) -> Self {
        Self(start.0.wrapping_sub(BIAS))
    }

    /// The origin one picosecond earlier.
    #[inline]
    pub(crate) const fn before(self) -> Self {
        Self(self.0.wrapping_sub(1))
    }

    #[inline]
    const fn until(self, at: Instant) -> u64 {
        at.0.wrapping_sub(self.0)
    }
}

impl ArrivalKey {
    /// Greater than every other key: infinity.
    pub(crate) const LAST: Self = Self(f64::INFINITY.to_bits());

    #[inline]
    pub(crate) const fn new(at: Instant, origin: Origin, index: usize) -> Self {
        Self(origin.until(at) << INDEX_BITS | index as u64)
    }

    /// Arrival time.
    #[inline]
    pub(crate) const fn at(self, origin: Origin) -> Instant {
        Instant(origin.0.wrapping_add(self.0 >> INDEX_BITS))
    }

    /// The key greater than those of all arrivals up to `now`, and of no others. `before` is
    /// [`Origin::before`] of the origin of the window.
    #[inline]
    pub(crate) const fn after(now: Instant, before: Origin) -> Self {
        Self(before.until(now) << INDEX_BITS)
    }

    #[inline]
    pub(crate) const fn index(self) -> usize {
        (self.0 & ((1 << INDEX_BITS) - 1)) as usize
    }

    #[inline]
    const fn number(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// Generates the keys of consecutive frames.
pub(crate) struct ArrivalKeys {
    /// Added to a shifted time, gives the next key.
    next: u64,
}

impl ArrivalKeys {
    /// Starts at index 0.
    #[inline]
    pub(crate) const fn new(origin: Origin) -> Self {
        Self { next: origin.0.wrapping_neg() << INDEX_BITS }
    }

    /// Key of the next frame, which arrives at `at`.
    #[inline]
    pub(crate) const fn next(&mut self, at: Instant) -> ArrivalKey {
        let key = ArrivalKey((at.0 << INDEX_BITS).wrapping_add(self.next));
        self.next += 1;
        key
    }
}

/// Keys sorted by one network.
pub(crate) const BLOCK: usize = 16;

pub(crate) fn sort(keys: &mut [ArrivalKey]) {
    let count = keys.len();
    let mut row = [ArrivalKey::LAST; 2 * BLOCK];
    if let Some(first) = row.get_mut(..count) {
        first.copy_from_slice(keys);
        sort_row(&mut row, count);
        keys.copy_from_slice(&row[..count]);
    } else {
        keys.sort_unstable();
    }
}

/// Sorts the first `count` keys of `row`; the others are scratch space.
#[inline]
pub(crate) fn sort_row(row: &mut [ArrivalKey; 2 * BLOCK], count: usize) {
    match count {
        0 | 1 => {}
        count @ ..=BLOCK => sort_block(row, count),
        count => sort_two_blocks(row, count),
    }
}

/// Sorts the first `count` keys of `row`, at most one block.
#[inline]
fn sort_block(row: &mut [ArrivalKey; 2 * BLOCK], count: usize) {
    row[count..count + BLOCK].fill(ArrivalKey::LAST);
    sort_first(row, count);
}

/// Sorts the first `count` keys of `row`, more than one block.
#[inline(never)]
fn sort_two_blocks(row: &mut [ArrivalKey; 2 * BLOCK], count: usize) {
    row[count..].fill(ArrivalKey::LAST);
    sort_first(row, BLOCK);
    sort_first(&mut row[BLOCK..], count - BLOCK);
    let mut block = [ArrivalKey::LAST; BLOCK + 1];
    block[..BLOCK].copy_from_slice(&row[..BLOCK]);
    // The write index never overtakes the read index. Both blocks end with [`ArrivalKey::LAST`].
    let (mut left, mut right) = (0, BLOCK);
    for index in 0..count {
        let (first, second) = (block[left], row.get(right).copied().unwrap_or(ArrivalKey::LAST));
        let is_left = first < second;
        row[index] = if is_left { first } else { second };
        left += usize::from(is_left);
        right += usize::from(!is_left);
    }
}

/// Sorts the first `count` of `keys`. Enough [`ArrivalKey::LAST`] follow to fill a block.
#[inline]
fn sort_first(keys: &mut [ArrivalKey], count: usize) {
    let Some(block) = keys.first_chunk_mut::<BLOCK>() else { return };
    match count {
        ..=4 => sort_by(block, sort_4),
        5..=8 => sort_by(block, sort_8),
        9..=12 => sort_by(block, sort_12),
        _ => sort_by(block, sort_16),
    }
}

/// Sorts the first words of a block by `network`.
#[inline(always)]
fn sort_by<const COUNT: usize>(block: &mut [ArrivalKey; BLOCK], network: impl Fn(&mut [f64; COUNT])) {
    let Some(first) = block.first_chunk_mut() else { return };
    let mut numbers = first.map(ArrivalKey::number);
    network(&mut numbers);
    *first = numbers.map(|number| ArrivalKey(number.to_bits()));
}

/// Sorts two numbers.
#[inline(always)]
fn compare_two<const COUNT: usize>(numbers: &mut [f64; COUNT], first: usize, second: usize) {
    let (one, other) = (numbers[first], numbers[second]);
    numbers[first] = if one < other { one } else { other };
    numbers[second] = if one < other { other } else { one };
}

/// Sorts pairs of numbers, one pair after the other.
macro_rules! compare {
    ($numbers:ident: $($first:literal $second:literal),*) => {
        $(compare_two($numbers, $first, $second);)*
    };
}

// Batcher's networks: sort two halves, then merge them by sorting even and odd indices, then neighbours.

#[inline(always)]
fn sort_4(numbers: &mut [f64; 4]) {
    compare!(numbers: 0 1, 2 3, 0 2, 1 3, 1 2);
}

#[inline(always)]
fn sort_8(n: &mut [f64; 8]) {
    compare!(n: 0 1, 2 3, 4 5, 6 7, 0 2, 1 3, 4 6, 5 7, 1 2, 5 6);
    compare!(n: 0 4, 1 5, 2 6, 3 7, 2 4, 3 5, 1 2, 3 4, 5 6);
}

/// The network for 16 without the comparisons that the last four, greater than all others, do not need.
#[inline(always)]
fn sort_12(n: &mut [f64; 12]) {
    compare!(n: 0 1, 2 3, 4 5, 6 7, 8 9, 10 11, 0 2, 1 3, 4 6, 5 7, 8 10, 9 11, 1 2, 5 6, 9 10);
    compare!(n: 0 4, 1 5, 2 6, 3 7, 2 4, 3 5, 1 2, 3 4, 5 6);
    compare!(n: 0 8, 1 9, 2 10, 3 11, 4 8, 5 9, 6 10, 7 11, 2 4, 3 5, 6 8, 7 9, 1 2, 3 4, 5 6, 7 8, 9 10);
}

#[inline(always)]
fn sort_16(n: &mut [f64; 16]) {
    compare!(n: 0 1, 2 3, 4 5, 6 7, 8 9, 10 11, 12 13, 14 15);
    compare!(n: 0 2, 1 3, 4 6, 5 7, 8 10, 9 11, 12 14, 13 15, 1 2, 5 6, 9 10, 13 14);
    compare!(n: 0 4, 1 5, 2 6, 3 7, 8 12, 9 13, 10 14, 11 15, 2 4, 3 5, 10 12, 11 13);
    compare!(n: 1 2, 3 4, 5 6, 9 10, 11 12, 13 14);
    compare!(n: 0 8, 1 9, 2 10, 3 11, 4 12, 5 13, 6 14, 7 15, 4 8, 5 9, 6 10, 7 11);
    compare!(n: 2 4, 3 5, 6 8, 7 9, 10 12, 11 13, 1 2, 3 4, 5 6, 7 8, 9 10, 11 12, 13 14);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn turns_are_sorted_by_time_and_place(
            times in prop::collection::vec(prop_oneof![0..20_u64, 0..WINDOW_MAX.0], 0..80),
        ) {
            let start = Instant(77);
            let origin = Origin::new(start);
            let mut keys: Vec<ArrivalKey> =
                times.iter().enumerate().map(|(index, time)| ArrivalKey::new(start + Span(*time), origin, index)).collect();
            let mut expected: Vec<(u64, usize)> = times.into_iter().zip(0..).collect();
            expected.sort_unstable();
            sort(&mut keys);
            let found: Vec<(u64, usize)> =
                keys.iter().map(|key| (key.at(origin).since(start).0, key.index())).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn networks_sort_whatever_the_order() {
        // A network that sorts all zeros and ones sorts everything (Knuth, The Art of Computer Programming 3,
        // 5.3.4, theorem Z).
        for count in 2..=BLOCK {
            for bits in 0..1_u64 << count {
                let key =
                    |index: usize| ArrivalKey::new(Instant(bits >> index & 1), Origin::new(Instant::ZERO), 0);
                let mut row = [ArrivalKey::LAST; 2 * BLOCK];
                (0..count).for_each(|index| row[index] = key(index));
                sort_block(&mut row, count);
                assert!(row.is_sorted() && row[count - 1] < ArrivalKey::LAST, "{bits:b}");
            }
        }
    }
}
