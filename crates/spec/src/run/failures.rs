//! What fails in the course of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that fails or is repaired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FailureSpec {
    /// Frames on the link, and those sent on it from now on, are lost in both directions.
    LinkDown {
        /// When [ps].
        at_ps: u64,
        /// The link by its two nodes, such as `leaf0-spine1`: all parallel cables; `leaf0-spine1:0` is the first.
        link: String,
    },
    /// The link carries frames again.
    LinkUp {
        /// When [ps].
        at_ps: u64,
        /// The link.
        link: String,
    },
    /// The link changes its rate; frames that have begun keep the rate before.
    LinkRate {
        /// When [ps].
        at_ps: u64,
        /// The link.
        link: String,
        /// Its rate from now on [bit/s].
        rate_bps: u64,
    },
    /// All links of a switch are down.
    SwitchDown {
        /// When [ps].
        at_ps: u64,
        /// Its name.
        switch: String,
    },
    /// The links of a switch carry frames again.
    SwitchUp {
        /// When [ps].
        at_ps: u64,
        /// Its name.
        switch: String,
    },
}

impl FailureSpec {
    /// When it happens [ps].
    #[must_use]
    pub const fn at_ps(&self) -> u64 {
        match self {
            Self::LinkDown { at_ps, .. }
            | Self::LinkUp { at_ps, .. }
            | Self::LinkRate { at_ps, .. }
            | Self::SwitchDown { at_ps, .. }
            | Self::SwitchUp { at_ps, .. } => *at_ps,
        }
    }
}
