//! Clocks of hosts, which no two have alike.
//!
//! A host whose clock runs faster by some parts in 10^9 sends that much faster: on its links, where its NIC or
//! congestion control paces it, and where it offers traffic by the clock. Its offset is how much later it begins
//! its jobs. Both are drawn from a stream of their own for each host. Switches keep time, and what is waited
//! for without regard to a rate (latencies, overheads, timeouts) takes what it says.

use spec::{ClockSpec, RunSpec};
use units::{HostId, Rate, Seed, Span};

/// A clock that is right [parts per 10^9].
const RIGHT_PPB: u64 = 1_000_000_000;

/// The clock of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostClock {
    /// It begins its jobs so much later.
    pub(crate) offset: Span,
    rate_ppb: u64,
}

impl HostClock {
    /// The clock of a host.
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

    /// What the host has for a rate, to the nearest bit/s.
    pub(crate) const fn rate(self, rate: Rate) -> Rate {
        let bps = (rate.bps() as u128 * self.rate_ppb as u128 + RIGHT_PPB as u128 / 2) / RIGHT_PPB as u128;
        if self.is_right() || bps == 0 { rate } else { Rate::from_bps(bps as u64) }
    }

    /// How long a time is by the clock of the host.
    pub(crate) const fn span(self, span: Span) -> Span {
        Span((span.0 as u128 * RIGHT_PPB as u128 / self.rate_ppb as u128) as u64)
    }

    /// It is neither fast nor slow.
    pub(crate) const fn is_right(self) -> bool {
        self.rate_ppb == RIGHT_PPB
    }
}
