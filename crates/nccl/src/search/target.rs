//! Target and budget of one attempt of a search.

use super::graph::Graph;

/// Steps that an attempt has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Budget {
    /// Some steps, or none.
    Left(i32),
    /// The attempt found the most channels and stopped.
    Perfect,
}

impl Budget {
    /// Takes a step, if any is left.
    pub(super) fn take(&mut self) -> bool {
        match self {
            Self::Left(steps) if *steps > 0 => {
                *steps -= 1;
                true
            }
            _ => false,
        }
    }
}

/// Parameters of an attempt: those of the graph to find, and limits of its channels.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// Pattern, speeds and types; the channels and hops are those of the search in progress.
    pub(super) graph: Graph,
    /// Fewest channels of a result.
    pub(super) min_channels: usize,
    /// Most channels.
    pub(super) max_channels: usize,
}
