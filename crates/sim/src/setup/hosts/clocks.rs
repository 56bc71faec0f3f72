//! Clock drift and start offset of each host, given or drawn; converts rates and durations to those of its
//! clock.
//!
//! A host whose clock is fast by n parts in 10^9 has rates higher by that factor: on its links, in the pacing
//! of its NIC and congestion control, and for the traffic it offers. Its offset delays the start of its jobs.
//! Both are drawn from a random stream per host. Switch clocks are exact, and so are times that are not
//! derived from a rate (latencies, overheads, timeouts).

use spec::{ClockSpec, RunSpec};
use units::{HostId, Rate, Seed, Span};

/// Rate of an exact clock [parts per 10^9].
const RIGHT_PPB: u64 = 1_000_000_000;

/// The clock of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostClock {
    /// Delay of the start of its jobs.
    pub(crate) offset: Span,
    rate_ppb: u64,
}

impl HostClock {
    /// The clock of `host`: as given in the spec, or drawn.
    pub(crate) fn of(spec: &RunSpec, host: HostId) -> Self {
        spec.fabric.clocks.as_ref().map_or(Self { offset: Span::ZERO, rate_ppb: RIGHT_PPB }, |clocks| {
            let given = clocks.hosts.iter().find(|given| given.host == host.0);
            match given {
                Some(given) => Self { offset: Span(given.offset_ps), rate_ppb: given.rate_ppb.into() },
                None => Self::drawn(clocks, Seed(spec.seed), host),
            }
        })
    }

    fn drawn(clocks: &ClockSpec, seed: Seed, host: HostId) -> Self {
        let mut stream = seed.stream("host.clock", host.0.into());
        let offset = Span(stream.below(clocks.offset_ps_max + 1));
        let drift_ppb = u64::from(clocks.drift_ppb_max);
        Self { offset, rate_ppb: RIGHT_PPB - drift_ppb + stream.below(2 * drift_ppb + 1) }
    }

    /// Rate that this host has for the nominal `rate`, to the nearest bit/s.
    pub(crate) const fn rate(self, rate: Rate) -> Rate {
        let bps = (rate.bps() as u128 * self.rate_ppb as u128 + RIGHT_PPB as u128 / 2) / RIGHT_PPB as u128;
        if self.is_right() || bps == 0 { rate } else { Rate::from_bps(bps as u64) }
    }

    /// Real duration of `span` measured by this clock.
    pub(crate) const fn span(self, span: Span) -> Span {
        Span((span.0 as u128 * RIGHT_PPB as u128 / self.rate_ppb as u128) as u64)
    }

    /// Whether the clock is exact.
    pub(crate) const fn is_right(self) -> bool {
        self.rate_ppb == RIGHT_PPB
    }
}
