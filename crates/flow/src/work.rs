//! Rates and amounts of work, as integers.

use units::Span;

/// Fractional bits of rates: the unit is 2^-16 bit/s.
pub(crate) const RATE_BITS: u32 = 16;
/// Picoseconds per second.
const PS_PER_S: u128 = 1_000_000_000_000;

/// Work to transmit `bytes` [2^-16 bit/s x ps].
pub(crate) fn of_bytes(bytes: u64) -> u128 {
    (u128::from(bytes) * 8 * PS_PER_S) << RATE_BITS
}

/// Time for work [2^-16 bit/s x ps] at a rate [2^-16 bit/s], to the nearest picosecond.
pub(crate) fn time_for(work: u128, rate: u64) -> Span {
    let rate = u128::from(rate.max(1));
    Span(u64::try_from((work + rate / 2) / rate).unwrap_or(u64::MAX))
}

/// Bytes transmitted in a time at a rate [2^-16 bit/s].
pub(crate) fn bytes_in(rate: u64, span: Span) -> u64 {
    u64::try_from(u128::from(rate) * u128::from(span.0) / of_bytes(1)).unwrap_or(u64::MAX)
}

/// The fraction `part` / [`crate::WHOLE`] of a rate.
pub(crate) fn part_of(rate: u64, part: u32) -> u64 {
    (u128::from(rate) * u128::from(part) / u128::from(crate::WHOLE)) as u64
}
