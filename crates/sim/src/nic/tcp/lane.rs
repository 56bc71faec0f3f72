//! What waits at a port for TCP: acknowledgements, then the sources round robin by segment.

use crate::packet::Packet;
use engine::Ring;

/// An acknowledgement waiting to be sent, with the sink it comes from.
#[derive(Clone, Copy, Debug)]
pub(in crate::nic) struct TcpAckWaiting {
    pub(in crate::nic) packet: Packet,
    pub(in crate::nic) sink: u32,
}

/// What a port sends next of TCP.
pub(in crate::nic) enum NextTcp {
    Ack(TcpAckWaiting),
    Source(u32),
}

/// TCP at a port. Where both wait, it takes turns with the queue pairs packet by packet.
#[derive(Debug, Default)]
pub(in crate::nic) struct TcpLane {
    acks: Ring<TcpAckWaiting>,
    round: Ring<u32>,
    /// A queue pair was served last.
    pub(in crate::nic) has_turn: bool,
}

impl TcpLane {
    pub(in crate::nic) fn push_ack(&mut self, ack: TcpAckWaiting) {
        self.acks.push_back(ack);
    }

    pub(in crate::nic) fn push_source(&mut self, source: u32) {
        self.round.push_back(source);
    }

    pub(in crate::nic) fn is_empty(&self) -> bool {
        self.acks.is_empty() && self.round.is_empty()
    }

    pub(in crate::nic) fn pop(&mut self) -> Option<NextTcp> {
        self.has_turn = false;
        match self.acks.pop_front() {
            Some(ack) => Some(NextTcp::Ack(ack)),
            None => self.round.pop_front().map(NextTcp::Source),
        }
    }
}
