//! What waits at a port for TCP: acknowledgements, then the sources round robin by segment.

use crate::packet::Packet;
use engine::Ring;

/// An acknowledgement waiting to be sent, with the sink it comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct TcpAckWaiting {
    pub(super) packet: Packet,
    pub(super) sink: u32,
}

/// What a port sends next of TCP.
pub(super) enum NextTcp {
    Ack(TcpAckWaiting),
    Source(u32),
}

/// TCP at a port. Where both wait, it takes turns with the queue pairs packet by packet.
#[derive(Debug, Default)]
pub(super) struct TcpLane {
    acks: Ring<TcpAckWaiting>,
    round: Ring<u32>,
    /// A queue pair was served last.
    pub(super) has_turn: bool,
}

impl TcpLane {
    pub(super) fn push_ack(&mut self, ack: TcpAckWaiting) {
        self.acks.push_back(ack);
    }

    pub(super) fn push_source(&mut self, source: u32) {
        self.round.push_back(source);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.acks.is_empty() && self.round.is_empty()
    }

    pub(super) fn pop(&mut self) -> Option<NextTcp> {
        self.has_turn = false;
        match self.acks.pop_front() {
            Some(ack) => Some(NextTcp::Ack(ack)),
            None => self.round.pop_front().map(NextTcp::Source),
        }
    }
}
