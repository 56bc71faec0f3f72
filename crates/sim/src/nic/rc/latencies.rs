//! Latencies of the packets of the chunk (part of a transfer) that a receiver is receiving: sum, minimum and
//! maximum in 16 bytes; a separate range of those above 4.29 ms.

use units::{Span, State};

/// Sum and range of latencies, in a quarter of a cache line: there is one for each of up to a million open
/// chunks.
#[derive(Clone, Copy, Debug, State)]
pub(crate) struct Latencies {
    #[state(count)]
    pub(crate) sum_ps: u64,
    min_ps: u32,
    max_ps: u32,
}

/// Range of latencies that exceed [`Latencies`]: 4.29 ms and more.
#[derive(Clone, Copy, Debug, State)]
pub(crate) struct LongLatencies {
    min: Span,
    max: Span,
}

impl Latencies {
    pub(crate) const NONE: Self = Self { sum_ps: 0, min_ps: u32::MAX, max_ps: 0 };

    /// Adds a latency; returns false if it exceeds the range.
    #[inline]
    pub(crate) fn add(&mut self, latency: Span) -> bool {
        self.sum_ps += latency.0;
        if latency.0 >= u64::from(u32::MAX) {
            return false;
        }
        let ps = latency.0 as u32;
        self.min_ps = self.min_ps.min(ps);
        self.max_ps = self.max_ps.max(ps);
        true
    }

    /// Smallest and largest latency, including long ones; without any, the largest and the smallest possible.
    pub(crate) fn range(&self, long: LongLatencies) -> (Span, Span) {
        if self.min_ps == u32::MAX {
            return (long.min, long.max);
        }
        (Span(self.min_ps.into()), long.max.max(Span(self.max_ps.into())))
    }
}

impl LongLatencies {
    pub(crate) const NONE: Self = Self { min: Span(u64::MAX), max: Span::ZERO };

    pub(crate) fn add(&mut self, latency: Span) {
        self.min = self.min.min(latency);
        self.max = self.max.max(latency);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_range_is_that_of_all(latencies in prop::collection::vec(0_u64..1 << 33, 1..20)) {
            let (mut short, mut long) = (Latencies::NONE, LongLatencies::NONE);
            for latency in latencies.iter().copied().map(Span) {
                if !short.add(latency) {
                    long.add(latency);
                }
            }
            let (min, max) = (latencies.iter().min().unwrap(), latencies.iter().max().unwrap());
            prop_assert_eq!(short.range(long), (Span(*min), Span(*max)));
            prop_assert_eq!(short.sum_ps, latencies.iter().sum::<u64>());
        }
    }

    #[test]
    fn the_longest_that_has_a_place_leaves_room_for_none() {
        let (mut short, mut long) = (Latencies::NONE, LongLatencies::NONE);
        let limit = Span(u32::MAX.into());
        assert!(short.add(Span(limit.0 - 1)) && !short.add(limit));
        long.add(limit);
        assert_eq!(short.range(long), (Span(limit.0 - 1), limit));
    }
}
