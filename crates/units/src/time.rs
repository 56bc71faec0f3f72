//! Simulated time in picoseconds: `Instant`, `Span` and their arithmetic; maximum of times in a run spec.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// Longest time of most parameters of a run spec [ps]: 1,000 s.
pub const DURATION_PS_MAX: u64 = 1_000_000_000_000_000;

/// A point in simulated time: picoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

/// A length of simulated time in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than any event.
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant, or `None` for [`Self::NEVER`].
    #[must_use]
    pub fn if_ever(self) -> Option<Self> {
        (self != Self::NEVER).then_some(self)
    }

    /// The time since `earlier`; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// Zero length.
    pub const ZERO: Self = Self(0);

    /// A span of whole nanoseconds.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * 1_000)
    }

    /// A span of whole microseconds.
    #[must_use]
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000_000)
    }
}

impl Add<Span> for Instant {
    type Output = Self;
    #[inline]
    fn add(self, span: Span) -> Self {
        Self(self.0 + span.0)
    }
}

impl AddAssign<Span> for Instant {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        self.0 += span.0;
    }
}

impl Add for Span {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Span {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, digits, name) = match self.0 {
            0..=999 => return write!(f, "{} ps", self.0),
            1_000..=999_999 => (1_000, 3, "ns"),
            1_000_000..=999_999_999 => (1_000_000, 6, "us"),
            1_000_000_000..=999_999_999_999 => (1_000_000_000, 9, "ms"),
            _ => (1_000_000_000_000, 12, "s"),
        };
        let text = format!("{}.{:0digits$}", self.0 / unit, self.0 % unit);
        write!(f, "{} {name}", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_prints_in_its_natural_unit() {
        assert_eq!(Span(20).to_string(), "20 ps");
        assert_eq!(Span::from_ns(500).to_string(), "500 ns");
        assert_eq!(Span(83_560).to_string(), "83.56 ns");
        assert_eq!(Span(155_325_000_000).to_string(), "155.325 ms");
    }

    #[test]
    fn since_saturates() {
        assert_eq!(Instant(5).since(Instant(9)), Span::ZERO);
    }
}
