//! Distribution of times in constant memory: a histogram with logarithmic steps, for mean and percentiles.

use units::Span;

/// Steps per octave: a percentile is at most 1/16 too high.
const STEPS_BITS: u32 = 4;
const STEPS: usize = 1 << STEPS_BITS;
/// Octaves above a nanosecond; times longer than about an hour count as that.
const OCTAVES: usize = 42;
const PS_PER_NS: u64 = 1000;

/// Histogram of times with logarithmic steps.
#[derive(Clone, Debug)]
pub struct SpanDistribution {
    counts: Box<[u32]>,
    total: u64,
    sum_ns: u64,
    largest: Span,
}

impl Default for SpanDistribution {
    fn default() -> Self {
        Self { counts: vec![0; OCTAVES * STEPS].into_boxed_slice(), total: 0, sum_ns: 0, largest: Span::ZERO }
    }
}

impl SpanDistribution {
    /// Counts a time.
    #[inline]
    pub fn add(&mut self, span: Span) {
        let ns = span.0 / PS_PER_NS;
        self.counts[step_of(ns)] += 1;
        self.total += 1;
        self.sum_ns += ns;
        self.largest = self.largest.max(span);
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.total += other.total;
        self.sum_ns += other.sum_ns;
        self.largest = self.largest.max(other.largest);
    }

    /// Number of times counted.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Mean; `None` without times.
    #[must_use]
    pub fn mean(&self) -> Option<Span> {
        self.sum_ns.checked_div(self.total).map(Span::from_ns)
    }

    /// The largest time; `None` without times.
    #[must_use]
    pub fn largest(&self) -> Option<Span> {
        (self.total > 0).then_some(self.largest)
    }

    /// Upper end of the step with the given percentile (nearest rank), or the largest time if that is below;
    /// `None` without times.
    #[must_use]
    pub fn percentile(&self, permille: u64) -> Option<Span> {
        let rank = (self.total * permille).div_ceil(1000).max(1);
        let mut seen = 0;
        for (step, &count) in self.counts.iter().enumerate() {
            seen += u64::from(count);
            if seen >= rank {
                return Some(Span::from_ns(end_of(step)).min(self.largest));
            }
        }
        None
    }
}

/// Index of the step of a time.
#[inline]
fn step_of(ns: u64) -> usize {
    if ns < STEPS as u64 {
        return ns as usize;
    }
    let octave = ns.ilog2() - STEPS_BITS + 1;
    let step = (ns >> (octave - 1)) as usize - STEPS;
    (octave as usize * STEPS + step).min(OCTAVES * STEPS - 1)
}

/// The longest time of a step.
const fn end_of(step: usize) -> u64 {
    let (octave, rest) = (step / STEPS, (step % STEPS) as u64);
    if octave == 0 {
        return rest;
    }
    ((STEPS as u64 + rest + 1) << (octave - 1)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_time_is_within_its_step(ns in 0_u64..1 << 40) {
            let step = step_of(ns);
            prop_assert!(ns <= end_of(step));
            prop_assert!(step == 0 || ns > end_of(step - 1));
            prop_assert!(end_of(step) - ns <= ns / STEPS as u64);
        }
    }

    #[test]
    fn percentiles_are_those_of_the_list() {
        let mut distribution = SpanDistribution::default();
        (1..=1000).for_each(|us| distribution.add(Span::from_us(us)));
        let near = |permille, us: u64| {
            let found = distribution.percentile(permille).unwrap();
            (Span::from_us(us)..=Span::from_ns(us * 17_000 / 16)).contains(&found)
        };
        assert!(near(500, 500) && near(990, 990) && near(1, 1));
        assert_eq!(distribution.percentile(1000), Some(Span::from_us(1000)));
        assert_eq!(distribution.mean(), Some(Span::from_ns(500_500)));
        assert_eq!(SpanDistribution::default().percentile(500), None);
    }
}
