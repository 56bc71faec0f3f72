//! Packet sequence numbers of a queue pair: 24-bit numbers that wrap around; `distance_from` orders two of
//! them within a window.

use std::fmt;
use units::{Counter, Cycle, State};

const BITS: u32 = 24;
const MASK: u32 = (1 << BITS) - 1;

/// A 24-bit packet sequence number that wraps from 2^24 - 1 to 0.
///
/// It does not implement `Ord`: which of two numbers is later depends on the window between them; see
/// [`distance_from`](Self::distance_from). IBTA vol. 1, 9.7.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Psn(u32);

impl Psn {
    /// The largest number of unacknowledged packets for which order is defined: half of the number space.
    /// IBTA vol. 1, 9.7.2: the valid region is 2^23 packets.
    pub const WINDOW_MAX: u32 = 1 << (BITS - 1);

    /// The sequence number `value` modulo 2^24.
    #[inline]
    #[must_use]
    pub const fn new(value: u32) -> Self {
        Self(value & MASK)
    }

    /// The number, in 0..2^24.
    #[inline]
    #[must_use]
    pub const fn value(self) -> u32 {
        self.0
    }

    /// The number `n` packets later.
    #[inline]
    #[must_use]
    pub const fn add(self, n: u32) -> Self {
        Self::new(self.0.wrapping_add(n))
    }

    /// Number of packets from `other` to this number, in -2^23..2^23; negative if this number precedes it.
    #[inline]
    #[must_use]
    pub const fn distance_from(self, other: Self) -> i32 {
        // Shifting the difference to the top of the word moves the sign bit of 24 bits to that of 32.
        let difference = self.0.wrapping_sub(other.0) << (u32::BITS - BITS);
        difference.cast_signed() >> (u32::BITS - BITS)
    }
}

impl Counter for Psn {
    #[inline]
    fn update(&mut self, mut next: impl FnMut(u64) -> u64) {
        *self = Self::new(next(self.0.into()) as u32);
    }
}

/// See [`Cycle::count`].
impl State for Psn {
    #[inline]
    fn visit(&mut self, cycle: &mut Cycle) {
        cycle.count(self);
    }
}

impl fmt::Display for Psn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_number_after_the_last_is_zero() {
        assert_eq!(Psn::new(0xff_ffff).add(1), Psn::new(0));
        assert_eq!(Psn::new(0x1ff_ffff), Psn::new(0xff_ffff));
        assert_eq!(Psn::new(5).add(u32::MAX), Psn::new(4));
    }

    #[test]
    fn distance_counts_across_the_wrap_in_both_directions() {
        let last = Psn::new(0xff_ffff);
        assert_eq!(Psn::new(2).distance_from(last), 3);
        assert_eq!(last.distance_from(Psn::new(2)), -3);
        assert_eq!(last.distance_from(last), 0);
    }

    #[test]
    fn half_the_number_space_away_is_before() {
        let start = Psn::new(77);
        assert_eq!(start.add(Psn::WINDOW_MAX - 1).distance_from(start), (1 << 23) - 1);
        assert_eq!(start.add(Psn::WINDOW_MAX).distance_from(start), -(1 << 23));
    }

    proptest! {
        #[test]
        fn distance_is_the_inverse_of_add(start: u32, n in 0..Psn::WINDOW_MAX) {
            let start = Psn::new(start);
            prop_assert_eq!(start.add(n).distance_from(start), n.cast_signed());
            prop_assert_eq!(start.distance_from(start.add(n)), -n.cast_signed());
        }

        #[test]
        fn distance_stays_in_range_and_leads_back(a: u32, b: u32) {
            let (a, b) = (Psn::new(a), Psn::new(b));
            let distance = a.distance_from(b);
            prop_assert!((-(1 << 23)..1 << 23).contains(&distance));
            prop_assert_eq!(b.add(distance.cast_unsigned()), a);
        }
    }
}
