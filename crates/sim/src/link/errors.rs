//! Determines which frames of one direction of a link are corrupted: each bit, or each frame, is hit
//! independently with a fixed probability.
//!
//! The number of bits (or frames) before the next hit is drawn in advance: it is geometric, the integer part
//! of an exponential variate over -ln(1 - p). So no draw is needed for an intact frame. A frame with a wrong
//! bit fails its check sequence and is dropped at its arrival, independent of its kind: payload,
//! acknowledgement or pause. Leaves out bursts of errors, forward error correction, whose frames fail in
//! groups, errors outside the frame (preamble), and that a cut-through switch has forwarded the head of a
//! corrupted frame before it can detect the error.

use paths::Corruption;
use units::{State, Stream};

/// Unit that is hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Bits,
    Frames,
}

/// Error rate of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ErrorRate {
    unit: Unit,
    /// -ln(1 - p), p being the probability that one unit is hit [2^-96]; not 0.
    hazard_2e96: u128,
}

const BITS_SCALE: u128 = 1_000_000_000_000_000_000;
const FRAMES_SCALE: u128 = 1_000_000;

impl ErrorRate {
    /// `None` if nothing is corrupted.
    pub(crate) fn of(corruption: Corruption) -> Option<Self> {
        match corruption {
            Corruption::Bits(errors_1e18) => Self::of_bits(errors_1e18),
            Corruption::Frames(lost_ppm) => Self::of_frames(lost_ppm),
        }
    }

    /// Wrong bits per 10^18; `None` for 0.
    fn of_bits(errors_1e18: u64) -> Option<Self> {
        Self::new(Unit::Bits, u128::from(errors_1e18), BITS_SCALE)
    }

    /// Lost frames per million; `None` for 0.
    fn of_frames(lost_ppm: u32) -> Option<Self> {
        Self::new(Unit::Frames, u128::from(lost_ppm), FRAMES_SCALE)
    }

    /// `part / whole` is at most a half.
    fn new(unit: Unit, part: u128, whole: u128) -> Option<Self> {
        let probability_2e60 = (part << 60) / whole;
        let probability_2e96 = (((part << 60) / whole) << 36) + ((((part << 60) % whole) << 36) / whole);
        // -ln(1 - p) = p (1 + p/2 + p^2/3 + ...).
        let (mut factor_2e60, mut power_2e60, mut term) = (0_u128, 1_u128 << 60, 1);
        while power_2e60 / term > 0 {
            factor_2e60 += power_2e60 / term;
            power_2e60 = (power_2e60 * probability_2e60) >> 60;
            term += 1;
        }
        (part > 0).then_some(Self { unit, hazard_2e96: (probability_2e96 * (factor_2e60 >> 30)) >> 30 })
    }
}

/// Determines which frames of one direction of a link are corrupted.
#[derive(Clone, Debug, State)]
pub(crate) struct LinkErrors {
    stream: Stream,
    #[state(skip)]
    rate: Option<ErrorRate>,
    /// Bits or frames, by the unit of the rate, before the next hit.
    #[state(left = 0)]
    left: u64,
}

impl LinkErrors {
    pub(crate) const fn new(stream: Stream) -> Self {
        Self { stream, rate: None, left: u64::MAX }
    }

    /// Changes the error rate of the link from now on.
    pub(crate) fn set(&mut self, rate: Option<ErrorRate>) {
        if self.rate != rate {
            self.rate = rate;
            self.left = rate.map_or(u64::MAX, |rate| self.draw(rate));
        }
    }

    fn draw(&mut self, rate: ErrorRate) -> u64 {
        // A variate with 64 fractional bits, whose integer part is below 2^6 except in one of 2^92 draws.
        let units = (self.stream.exponential() << 32) / rate.hazard_2e96;
        u64::try_from(units).unwrap_or(u64::MAX)
    }

    /// Whether the next frame, of `frame_bytes`, is hit.
    pub(crate) fn corrupts(&mut self, frame_bytes: u32) -> bool {
        let Some(rate) = self.rate else { return false };
        let units = match rate.unit {
            Unit::Bits => u64::from(frame_bytes) * 8,
            Unit::Frames => 1,
        };
        if self.left >= units {
            self.left -= units;
            return false;
        }
        // Hits behind the frame are independent of those within it: the process is memoryless.
        self.left = self.draw(rate);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Seed;

    fn errors(rate: Option<ErrorRate>, seed: u64) -> LinkErrors {
        let mut errors = LinkErrors::new(Seed(seed).stream("link.errors", 0));
        errors.set(rate);
        errors
    }

    #[test]
    fn the_hazard_is_minus_the_logarithm_of_the_delivered_fraction() {
        let hazard = |rate: Option<ErrorRate>| rate.expect("a rate").hazard_2e96;
        // ln 2 in 2^-32, and p + p^2/2 of one in a million.
        assert!((hazard(ErrorRate::of_frames(500_000)) >> 64).abs_diff(2_977_044_471) < 8);
        let million = hazard(ErrorRate::of_frames(1)) / ((1_u128 << 96) / 1_000_000_000_000_000);
        assert!(million.abs_diff(1_000_000_500) <= 1, "{million}");
        let smallest = hazard(ErrorRate::of_bits(1)).abs_diff((1 << 96) / BITS_SCALE);
        assert!(smallest <= 1 << 8, "{smallest}");
        assert_eq!(ErrorRate::of_bits(0), None);
    }

    /// A frame of n bits is intact with probability (1 - p)^n.
    #[test]
    fn as_many_frames_are_hit_as_their_bits_say() {
        const FRAMES: u64 = 400_000;
        // One bit in 100,000; (1 - 1e-5)^(8 x 4158) = 0.717053 and ^(8 x 66) = 0.994734.
        for (bytes, hit_ppm, margin_ppm) in [(4158, 282_947, 2_900), (66, 5_266, 460)] {
            let mut errors = errors(ErrorRate::of_bits(10_000_000_000_000), u64::from(bytes));
            let hit = (0..FRAMES).filter(|_| errors.corrupts(bytes)).count() as u64;
            // Four standard errors.
            assert!((hit * 1_000_000 / FRAMES).abs_diff(hit_ppm) < margin_ppm, "{hit} of {bytes} bytes");
        }
    }

    #[test]
    fn half_of_the_frames_is_half_of_them_of_any_size() {
        let mut errors = errors(ErrorRate::of_frames(500_000), 5);
        let hit = (0..100_000_u32).filter(|frame| errors.corrupts(64 + frame % 4_000)).count();
        assert!(hit.abs_diff(50_000) < 4 * 158, "{hit}");
    }

    #[test]
    fn a_new_rate_begins_anew_and_none_ends_it() {
        let mut errors = errors(ErrorRate::of_frames(500_000), 6);
        errors.set(None);
        assert!((0..1_000).all(|_| !errors.corrupts(9_000)));
        errors.set(ErrorRate::of_bits(1_000_000_000_000_000));
        assert!(
            (0..1_000).filter(|_| errors.corrupts(9_000)).count() > 990,
            "72,000 bits, one in 1,000 wrong"
        );
    }
}
