//! Estimator of the TCP round-trip time, its distribution, and the retransmission timeout (RFC 6298).

use super::{SpanDistribution, TcpConfig};
use units::Span;

/// Gains of the smoothed time, 1/8, and of its variation, 1/4 (RFC 6298, 2.3), as shifts.
const SMOOTHING_SHIFT: u32 = 3;
const VARIATION_SHIFT: u32 = 2;
/// Variations added to the smoothed time for the timeout (RFC 6298, 2.3: K).
const VARIATIONS: u64 = 4;

/// Estimator of the round-trip time of a connection.
#[derive(Clone, Debug, Default)]
pub struct RttEstimator {
    /// Smoothed time and its variation, once measured.
    estimate: Option<(Span, Span)>,
    /// Doublings of the timeout since the last measurement.
    doublings: u32,
    distribution: SpanDistribution,
}

impl RttEstimator {
    /// A segment sent only once was acknowledged after `sample`.
    pub(super) fn measure(&mut self, sample: Span) {
        let (smoothed, variation) = match self.estimate {
            None => (sample, Span(sample.0 / 2)),
            Some((smoothed, variation)) => {
                let error = smoothed.0.abs_diff(sample.0);
                (
                    Span(smoothed.0 - (smoothed.0 >> SMOOTHING_SHIFT) + (sample.0 >> SMOOTHING_SHIFT)),
                    Span(variation.0 - (variation.0 >> VARIATION_SHIFT) + (error >> VARIATION_SHIFT)),
                )
            }
        };
        self.estimate = Some((smoothed, variation));
        self.doublings = 0;
        self.distribution.add(smoothed);
    }

    /// The timer expired (RFC 6298, 5.5).
    pub(super) const fn back_off(&mut self) {
        self.doublings += 1;
    }

    /// The smoothed round-trip time; 0 before the first measurement.
    #[must_use]
    pub fn smoothed(&self) -> Span {
        self.estimate.map_or(Span::ZERO, |(smoothed, _)| smoothed)
    }

    /// Distribution of the smoothed round-trip time after each measurement.
    #[must_use]
    pub const fn distribution(&self) -> &SpanDistribution {
        &self.distribution
    }

    /// The current retransmission timeout.
    #[must_use]
    pub fn timeout(&self, config: &TcpConfig) -> Span {
        let base = self
            .estimate
            .map_or(config.rto_initial, |(smoothed, variation)| Span(smoothed.0 + VARIATIONS * variation.0));
        let base = base.clamp(config.rto_min, config.rto_max);
        Span(base.0.saturating_mul(1 << self.doublings.min(31))).min(config.rto_max)
    }
}
