//! Parameters of queue pairs: settings common to all of a host, priorities of replies (ACK, CNP), and the
//! path and port of one end of a queue pair.

use crate::packet::{Path, Priority};
use std::sync::Arc;
use transport::{Config, Controller};
use units::Span;
use wire::{Framing, Psn};

/// Parameters common to all queue pairs of a host.
#[derive(Debug)]
pub(crate) struct QueuePairSettings {
    pub(crate) config: Arc<Config>,
    pub(crate) framing: Framing,
    pub(crate) replies: ReplyPriorities,
    /// Minimum interval between congestion notifications; `None` if none are sent.
    pub(crate) cnp_interval: Option<Span>,
    /// Initial rate controller of a sender of each port.
    pub(crate) controllers: Vec<Controller>,
    /// Packets may overtake each other.
    pub(crate) may_reorder: bool,
}

/// Priorities of a responder's packets.
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
    /// Priority of payload.
    pub(crate) priority: Priority,
    pub(crate) is_captured: bool,
    /// The other end is on the same host: its messages bypass the NIC.
    pub(crate) is_local: bool,
}
