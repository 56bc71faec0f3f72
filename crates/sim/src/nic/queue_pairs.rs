//! How the queue pairs of a host are set up.

use crate::packet::{Path, Priority};
use std::sync::Arc;
use transport::{Config, Controller};
use units::Span;
use wire::{Framing, Psn};

/// What all queue pairs of a host have in common.
#[derive(Debug)]
pub(crate) struct QueuePairSettings {
    pub(crate) config: Arc<Config>,
    pub(crate) framing: Framing,
    /// Priority of payload.
    pub(crate) data: Priority,
    pub(crate) replies: ReplyPriorities,
    /// At most one congestion notification in this time; none are sent without it.
    pub(crate) cnp_interval: Option<Span>,
    /// How a sender of each port begins.
    pub(crate) controllers: Vec<Controller>,
    /// Packets may overtake each other.
    pub(crate) may_reorder: bool,
}

/// Priorities of what a responder sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyPriorities {
    pub(crate) ack: Priority,
    pub(crate) cnp: Priority,
}

/// One end of a queue pair: a sender or a receiver.
#[derive(Clone, Debug)]
pub(crate) struct QueuePairEnd {
    pub(crate) queue_pair: u32,
    pub(crate) initial_psn: Psn,
    /// To the other end.
    pub(crate) path: Path,
    pub(crate) port: u16,
    pub(crate) is_captured: bool,
    /// The other end is on the same host: nothing of it meets the NIC.
    pub(crate) is_local: bool,
}
