//! Bit rates of links and ports; time that bytes or a frame take at a rate, in fixed point; `Carry` adds up
//! the truncated fractions of a picosecond.

use crate::{Instant, Span, State};
use std::fmt;

/// Fractional bits of the fixed-point picoseconds per byte.
const FRACTION_BITS: u32 = 20;
/// Picoseconds per second times bits per byte.
const PS_BITS_PER_S: u128 = 8_000_000_000_000;

/// Fastest rate of links and of offered traffic in a run spec [bit/s].
pub const RATE_BPS_MAX: u64 = 100_000_000_000_000;

/// A bit rate. One byte at 400 Gb/s takes exactly 20 ps; rates that do not divide 8e12 are stored with a
/// precision of 2^-20 ps per byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct Rate {
    bits_per_second: u64,
    byte_time: ByteTime,
}

/// The time of one byte at a rate: picoseconds with [`FRACTION_BITS`] fractional bits, rounded to nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub struct ByteTime(u64);

impl Rate {
    /// A rate in bit/s.
    ///
    /// # Panics
    /// If `bits_per_second` is zero: a link without a rate has no serialisation time.
    #[must_use]
    pub const fn from_bps(bits_per_second: u64) -> Self {
        assert!(bits_per_second > 0, "a rate must be positive");
        let rate = bits_per_second as u128;
        let ps_per_byte = ((PS_BITS_PER_S << FRACTION_BITS) + rate / 2) / rate;
        Self { bits_per_second, byte_time: ByteTime(ps_per_byte as u64) }
    }

    /// A rate in Gb/s (1e9 bit/s).
    #[must_use]
    pub const fn from_gbps(gbps: u64) -> Self {
        Self::from_bps(gbps * 1_000_000_000)
    }

    /// The rate in bit/s.
    #[must_use]
    pub const fn bps(self) -> u64 {
        self.bits_per_second
    }

    /// The rate times `ppm` parts per million, rounded down to whole bit/s and at least 1 bit/s.
    #[must_use]
    pub const fn scaled(self, ppm: u32) -> Self {
        let bits_per_second = (self.bits_per_second as u128 * ppm as u128 / 1_000_000) as u64;
        Self::from_bps(if bits_per_second == 0 { 1 } else { bits_per_second })
    }

    /// The time of one byte.
    #[inline]
    #[must_use]
    pub const fn byte_time(self) -> ByteTime {
        self.byte_time
    }

    /// See [`ByteTime::span_of`].
    #[inline]
    #[must_use]
    pub const fn span_of(self, bytes: u64) -> Span {
        self.byte_time.span_of(bytes)
    }

    /// See [`ByteTime::frame_span`].
    #[inline]
    #[must_use]
    pub const fn frame_span(self, frame_bytes: u32, overhead_bytes: u32) -> Span {
        self.byte_time.frame_span(frame_bytes, overhead_bytes)
    }

    /// See [`ByteTime::frame_end`].
    #[inline]
    #[must_use]
    pub fn frame_end(self, start: Instant, frame_bytes: u32, overhead_bytes: u32) -> Instant {
        self.byte_time.frame_end(start, frame_bytes, overhead_bytes)
    }
}

impl ByteTime {
    /// The time that `bytes` occupy the link, without per-frame overhead. Exact up to 2^43 bytes at 400 Gb/s.
    #[inline]
    #[must_use]
    pub const fn span_of(self, bytes: u64) -> Span {
        Span(((bytes as u128 * self.0 as u128) >> FRACTION_BITS) as u64)
    }

    /// The time that a frame of `frame_bytes` occupies the link, including `overhead_bytes` of the link such
    /// as preamble and gap.
    #[inline]
    #[must_use]
    pub const fn frame_span(self, frame_bytes: u32, overhead_bytes: u32) -> Span {
        // 64 bits suffice: a frame is under 2^16 bytes and the slowest rate of interest is 1 Mb/s.
        Span(((frame_bytes + overhead_bytes) as u64 * self.0) >> FRACTION_BITS)
    }

    /// Time at which a frame that starts at `start` has left the port, including the overhead of the link.
    #[inline]
    #[must_use]
    pub fn frame_end(self, start: Instant, frame_bytes: u32, overhead_bytes: u32) -> Instant {
        start + self.frame_span(frame_bytes, overhead_bytes)
    }

    /// The largest number of bytes whose [`Self::frame_span`] is less than `span`.
    #[inline]
    #[must_use]
    pub const fn bytes_within(self, span: Span) -> u64 {
        debug_assert!(span.0 < 1 << (u64::BITS - FRACTION_BITS), "the time of a frame");
        (span.0 << FRACTION_BITS).saturating_sub(1) / self.0
    }
}

/// Accumulates the fractions of a picosecond that [`ByteTime::frame_span`] truncates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, State)]
pub struct Carry(u64);

impl Carry {
    /// Correction of the time of a frame of `bytes`, including the overhead of the link: at times a
    /// picosecond.
    pub const fn next(&mut self, byte_time: ByteTime, bytes: u32) -> Span {
        const MASK: u64 = (1 << FRACTION_BITS) - 1;
        self.0 += (bytes as u64 * byte_time.0) & MASK;
        let whole = self.0 >> FRACTION_BITS;
        self.0 &= MASK;
        Span(whole)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (digits, name) = match self.bits_per_second {
            1_000_000_000.. => (9, "Gb/s"),
            _ => (6, "Mb/s"),
        };
        let unit = 10_u64.pow(digits);
        let (whole, rest) = (self.bits_per_second / unit, self.bits_per_second % unit);
        let rest = format!(".{rest:0width$}", width = digits as usize);
        write!(f, "{whole}{} {name}", rest.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_values_of_the_common_rates() {
        assert_eq!(Rate::from_gbps(400).span_of(1), Span(20));
        assert_eq!(Rate::from_gbps(800).span_of(1), Span(10));
        assert_eq!(Rate::from_gbps(100).span_of(1), Span(80));
        assert_eq!(Rate::from_gbps(400).frame_span(4096 + 62, 20), Span(83_560));
    }

    #[test]
    fn bytes_that_have_left_are_those_of_shorter_frames() {
        for rate in [1_000_000, 10_000_000_000, 399_999_999_999, 800_000_000_000].map(Rate::from_bps) {
            for bytes in [1, 2, 63, 256, 4_178, 16_383] {
                let end = rate.frame_span(bytes, 0);
                let within = |span| rate.byte_time().bytes_within(span);
                assert_eq!(within(Span(end.0 + 1)), bytes.into(), "{bytes} at {rate}");
                assert_eq!(within(end), u64::from(bytes) - 1, "the last leaves then");
            }
        }
        assert_eq!(Rate::from_gbps(400).byte_time().bytes_within(Span::ZERO), 0);
    }

    #[test]
    fn a_rate_is_told_whole() {
        let told = [400_000_000_000, 2_500_000_000, 50_000_000_001, 100_000]
            .map(|bps| Rate::from_bps(bps).to_string());
        assert_eq!(told, ["400 Gb/s", "2.5 Gb/s", "50.000000001 Gb/s", "0.1 Mb/s"]);
    }

    #[test]
    fn a_part_of_a_rate_is_rounded_down_and_never_nothing() {
        assert_eq!(Rate::from_gbps(400).scaled(1_030_000), Rate::from_gbps(412));
        assert_eq!(Rate::from_bps(2_999_999).scaled(500_000), Rate::from_bps(1_499_999));
        assert_eq!(Rate::from_bps(999_999).scaled(1), Rate::from_bps(1));
    }

    #[test]
    fn frames_one_after_the_other_take_what_their_bytes_take_together() {
        let byte_time = Rate::from_bps(100_001_234_567).byte_time();
        let mut carry = Carry::default();
        let each = |_| byte_time.frame_span(4_158, 20).0 + carry.next(byte_time, 4_178).0;
        assert_eq!((0..100_000).map(each).sum::<u64>(), byte_time.span_of(417_800_000).0);
    }

    #[test]
    fn a_rate_that_does_not_divide_is_kept_to_a_millionth_of_a_picosecond_per_byte() {
        let third = Rate::from_gbps(3);
        assert_eq!(third.span_of(3_000_000_000).0.abs_diff(8_000_000_000_000) / 1000, 0);
    }
}
