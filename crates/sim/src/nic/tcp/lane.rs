//! TCP queue of a NIC port: acknowledgements first, then a segment of each source (sending end of a
//! connection) in round-robin order.

use crate::packet::Packet;
use engine::Ring;

/// A queued acknowledgement, with the sink that sends it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpAckWaiting {
    pub(crate) packet: Packet,
    pub(crate) sink: u32,
}

/// The next TCP packet of a port.
pub(crate) enum NextTcp {
    Ack(TcpAckWaiting),
    Source(u32),
}

/// TCP at a port. It alternates with the queue pairs packet by packet if both have packets to send.
#[derive(Debug, Default)]
pub(crate) struct TcpLane {
    acks: Ring<TcpAckWaiting>,
    active: Ring<u32>,
    /// It is served before the next queue pair.
    pub(crate) is_next: bool,
}

impl TcpLane {
    pub(crate) fn push_ack(&mut self, ack: TcpAckWaiting) {
        self.acks.push_back(ack);
    }

    pub(crate) fn push_source(&mut self, source: u32) {
        self.active.push_back(source);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.acks.is_empty() && self.active.is_empty()
    }

    pub(crate) fn pop(&mut self) -> Option<NextTcp> {
        self.is_next = false;
        match self.acks.pop_front() {
            Some(ack) => Some(NextTcp::Ack(ack)),
            None => self.active.pop_front().map(NextTcp::Source),
        }
    }
}
