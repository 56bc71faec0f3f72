//! Failures and repairs during a run, as parameters of its spec: of links, switches and NICs.

use super::NicDirection;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::DURATION_PS_MAX;

/// A failure or repair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FailureSpec {
    /// Frames on the link, and those sent on it later, are lost in both directions.
    LinkDown {
        /// When [ps].
        #[schemars(range(max = DURATION_PS_MAX))]
        at_ps: u64,
        /// The link by its two nodes, such as `leaf0-spine1`: all parallel cables; `leaf0-spine1:0` is the
        /// first.
        link: String,
    },
    /// The link carries frames again.
    LinkUp {
        /// When [ps].
        #[schemars(range(max = DURATION_PS_MAX))]
        at_ps: u64,
        /// The link.
        link: String,
    },
    /// The link changes its rate; transmissions in progress keep the old one.
    LinkRate {
        /// When [ps].
        #[schemars(range(max = DURATION_PS_MAX))]
        at_ps: u64,
        /// The link.
        link: String,
        /// New rate [bit/s].
        rate_bps: u64,
    },
    /// The link corrupts bits of frames at random, in both directions; such frames are dropped on arrival.
    BitErrors {
        /// When [ps].
        #[schemars(range(max = DURATION_PS_MAX))]
        at_ps: u64,
        /// The link.
        link: String,
        /// Bit error rate, errors being independent [10^-18]; at most 10^15. 0 ends errors and losses.
        #[schemars(range(max = 1_000_000_000_000_000_u64))]
        errors_1e18: u64,
    },
    /// The link loses frames of any size independently, in both directions, as with bit errors.
    FrameLoss {
        /// When [ps].
        #[schemars(range(max = DURATION_PS_MAX))]
        at_ps: u64,
        /// The link.
        link: String,
        /// Loss rate of frames [parts per million]; at most half. 0 ends errors and losses.
        #[schemars(range(max = 500_000))]
        lost_ppm: u32,
    },
    /// The NIC of a host works at a fraction of its rate; replaces earlier fractions in both directions.
    NicThroughput {
        /// When [ps].
        #[schemars(range(max = DURATION_PS_MAX))]
        at_ps: u64,
        /// The host.
        host: u32,
        /// Throughput relative to line rate [parts per million]; 10^6 is line rate.
        #[schemars(range(min = 1, max = 1_000_000))]
        throughput_ppm: u32,
        /// Slow direction; the other works at line rate.
        direction: NicDirection,
    },
    /// All links of a switch are down.
    SwitchDown {
        /// When [ps].
        #[schemars(range(max = DURATION_PS_MAX))]
        at_ps: u64,
        /// Its name.
        switch: String,
    },
    /// The links of a switch carry frames again.
    SwitchUp {
        /// When [ps].
        #[schemars(range(max = DURATION_PS_MAX))]
        at_ps: u64,
        /// Its name.
        switch: String,
    },
}

impl FailureSpec {
    /// Time of the event [ps].
    pub const fn at_ps(&self) -> u64 {
        match self {
            Self::LinkDown { at_ps, .. }
            | Self::LinkUp { at_ps, .. }
            | Self::LinkRate { at_ps, .. }
            | Self::BitErrors { at_ps, .. }
            | Self::FrameLoss { at_ps, .. }
            | Self::NicThroughput { at_ps, .. }
            | Self::SwitchDown { at_ps, .. }
            | Self::SwitchUp { at_ps, .. } => *at_ps,
        }
    }
}
