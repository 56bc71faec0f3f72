//! Integer arithmetic of rates, work (rate times time) and fractions, and changes of a rate.

use crate::sharing::max_min::WHOLE;
use units::Span;

/// Fractional bits of rates: the unit is 2^-16 bit/s.
pub(crate) const RATE_BITS: u32 = 16;
/// Picoseconds per second.
const PS_PER_S: u128 = 1_000_000_000_000;

/// Work to transmit `bytes` [2^-16 bit/s x ps].
pub(crate) fn work_of_bytes(bytes: u64) -> u128 {
    (u128::from(bytes) * 8 * PS_PER_S) << RATE_BITS
}

/// Time for work [2^-16 bit/s x ps] at a rate [2^-16 bit/s], to the nearest picosecond.
pub(crate) fn time_for(work: u128, rate: u64) -> Span {
    let rate = u128::from(rate.max(1));
    Span(u64::try_from((work + rate / 2) / rate).unwrap_or(u64::MAX))
}

/// Bytes transmitted in a time at a rate [2^-16 bit/s].
pub(crate) fn bytes_sent_in(rate: u64, span: Span) -> u64 {
    u64::try_from(u128::from(rate) * u128::from(span.0) / work_of_bytes(1)).unwrap_or(u64::MAX)
}

/// The fraction `weight` / [`WHOLE`] of a rate.
pub(crate) fn fraction_of(rate: u64, weight: u32) -> u64 {
    (u128::from(rate) * u128::from(weight) / u128::from(WHOLE)) as u64
}

/// Change of a rate [2^-16 bit/s].
#[derive(Clone, Copy)]
pub(crate) struct RateChange {
    pub(crate) before: u64,
    pub(crate) after: u64,
}

impl RateChange {
    /// The change of a function of the rate.
    pub(crate) fn map(self, function: impl Fn(u64) -> u64) -> Self {
        Self { before: function(self.before), after: function(self.after) }
    }

    /// A sum of rates after the change of one of them.
    pub(crate) const fn apply_to(self, sum: u64) -> u64 {
        sum - self.before + self.after
    }

    /// Absolute difference.
    pub(crate) const fn size(self) -> u64 {
        self.before.abs_diff(self.after)
    }
}
