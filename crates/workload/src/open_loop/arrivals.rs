//! Times at which a rank sends its messages in open-loop traffic: Poisson arrivals or constant gaps.
//!
//! Exponential gaps are drawn in integers. Times are accumulated with 20 fractional bits of a picosecond, so
//! rounding causes no drift.

use units::{Span, Stream};

/// Fractional bits of a picosecond in accumulated times.
const FRACTION_BITS: u32 = 20;
/// Picoseconds per second times bits per byte.
const PS_BITS_PER_S: u128 = 8_000_000_000_000;

/// Distribution of the gaps between messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// Exponential: memoryless arrivals.
    Poisson,
    /// Constant, after a random phase per rank, so that ranks do not send in step.
    Constant,
}

/// Open-loop traffic of each sending rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrivals {
    /// Distribution of the gaps.
    pub process: Process,
    /// Mean payload rate of each sending rank [bit/s], 1 or more.
    pub rate_bps: u64,
    /// Time during which messages are offered.
    pub duration: Span,
}

impl Arrivals {
    /// Mean gap between messages of `bytes` [2^-20 ps].
    fn gap(&self, bytes: u64) -> u128 {
        ((u128::from(bytes) * PS_BITS_PER_S) << FRACTION_BITS) / u128::from(self.rate_bps)
    }

    /// Expected number of messages of `bytes` that a rank offers.
    pub(crate) fn expected(&self, bytes: u64) -> u64 {
        let messages = (u128::from(self.duration.0) << FRACTION_BITS) / self.gap(bytes).max(1);
        u64::try_from(messages).unwrap_or(u64::MAX)
    }

    /// Times at which a rank offers its messages of `bytes`, from the start of the job.
    pub(crate) fn times(self, bytes: u64, mut stream: Stream) -> impl Iterator<Item = Span> {
        let gap = self.gap(bytes);
        let mut at = 0_u128;
        let mut is_first = true;
        std::iter::from_fn(move || {
            at += match (self.process, std::mem::take(&mut is_first)) {
                (Process::Poisson, _) => scaled(gap, stream.exponential()),
                (Process::Constant, true) => scaled(gap, u128::from(stream.next_u64())),
                (Process::Constant, false) => gap,
            };
            let time = at >> FRACTION_BITS;
            (time < u128::from(self.duration.0)).then_some(Span(time as u64))
        })
    }
}

/// `gap` times a factor with 64 fractional bits.
const fn scaled(gap: u128, factor: u128) -> u128 {
    // The factor is split into 32 low bits and the rest: each product with a gap below 2^80 fits into 128
    // bits.
    let (high, low) = (factor >> 32, factor & 0xffff_ffff);
    (gap * high + ((gap * low) >> 32)) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Seed;

    fn stream(seed: u64) -> Stream {
        Seed(seed).stream("workload.arrivals", 0)
    }

    #[test]
    fn the_rate_is_the_one_asked_for() {
        let arrivals = Arrivals {
            process: Process::Poisson,
            rate_bps: 100_000_000_000,
            duration: Span::from_us(200_000),
        };
        // 4,096 bytes at 100 Gb/s: a gap of 327.68 ns, 610,351 in 200 ms.
        assert_eq!(arrivals.expected(4096), 610_351);
        let times: Vec<Span> = arrivals.times(4096, stream(2)).collect();
        assert!((times.len() as u64).abs_diff(610_351) < 4 * 782, "{} messages", times.len());
        assert!(times.is_sorted() && times.last() < Some(&arrivals.duration));
    }

    #[test]
    fn constant_gaps_follow_a_random_phase_and_do_not_drift() {
        // 1,000 bytes at 3 Gb/s: a gap of 2,666,666.67 ps.
        let arrivals =
            Arrivals { process: Process::Constant, rate_bps: 3_000_000_000, duration: Span::from_us(80_000) };
        let times: Vec<Span> = arrivals.times(1_000, stream(3)).collect();
        assert_eq!(times.len(), 30_000);
        assert!(times[0] < Span(2_666_667));
        assert!((times[29_999].0 - times[0].0).abs_diff(29_999 * 8_000_000 / 3) <= 1);
        assert_ne!(times[0], arrivals.times(1_000, stream(4)).next().expect("a message"));
    }
}
