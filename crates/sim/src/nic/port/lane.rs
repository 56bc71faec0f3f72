//! Lanes of a NIC port: connections of one kind and priority each, apart from those of the port's own
//! priority. A lane sends its replies first, then a packet of each connection in round-robin order; the lanes
//! take turns, packet by packet. Connections that their rate controller delays are in a heap by time.

use super::Control;
use crate::packet::{ConnectionId, ConnectionKind, Priority};
use engine::Ring;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Instant;

/// A lane.
#[derive(Debug)]
pub(super) struct Lane {
    kind: ConnectionKind,
    priority: Priority,
    replies: Ring<Control>,
    /// Connections with packets to send.
    active: Ring<ConnectionId>,
}

/// The next transmission of a lane.
pub(super) enum NextOfLane {
    Reply(Control),
    Connection(ConnectionId),
}

impl Lane {
    fn is_empty(&self) -> bool {
        self.replies.is_empty() && self.active.is_empty()
    }

    /// Whether it has a packet to send, with the priorities in `paused` paused.
    fn is_ready(&self, paused: u8) -> bool {
        !self.is_empty() && self.priority.bit() & paused == 0
    }

    fn pop(&mut self) -> Option<NextOfLane> {
        let reply = self.replies.pop_front().map(NextOfLane::Reply);
        reply.or_else(|| self.active.pop_front().map(NextOfLane::Connection))
    }
}

/// The lanes of a port. They and the payload of queue pairs are served packet by packet in turn.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    /// Connections deferred by their rate controller, with the time at which they may send next.
    deferred: BinaryHeap<Reverse<(Instant, ConnectionId, Priority)>>,
    /// Whose turn it is: 0 for the queue pairs, otherwise 1 + index of a lane.
    turn: usize,
    /// Priority of the connection that was removed last, while it is being served.
    served: Option<Priority>,
}

impl Lanes {
    pub(super) fn push_reply(&mut self, reply: Control) {
        self.lane(reply.connection.kind(), reply.packet.priority()).replies.push_back(reply);
    }

    pub(super) fn push_connection(&mut self, connection: ConnectionId, priority: Priority) {
        self.lane(connection.kind(), priority).active.push_back(connection);
    }

    /// Defers a connection until `ready_at`.
    pub(super) fn defer(&mut self, connection: ConnectionId, priority: Priority, ready_at: Instant) {
        self.deferred.push(Reverse((ready_at, connection, priority)));
    }

    /// Activates the connections that are deferred until `now` or earlier.
    pub(super) fn requeue_ready(&mut self, now: Instant) {
        while let Some(&Reverse((at, connection, priority))) = self.deferred.peek()
            && at <= now
        {
            self.deferred.pop();
            self.push_connection(connection, priority);
        }
    }

    /// The time at which the next deferred connection may send.
    pub(super) fn next_deferred(&self) -> Instant {
        self.deferred.peek().map_or(Instant::NEVER, |&Reverse((at, ..))| at)
    }

    /// The first active connection of each lane, with its priority.
    pub(super) fn first_of_each(&self) -> impl Iterator<Item = (ConnectionId, Priority)> {
        self.lanes.iter().filter_map(|lane| Some((*lane.active.front()?, lane.priority)))
    }

    /// The lane of a kind and priority, created at first use.
    fn lane(&mut self, kind: ConnectionKind, priority: Priority) -> &mut Lane {
        let index = self.lanes.iter().position(|lane| (lane.kind, lane.priority) == (kind, priority));
        let index = index.unwrap_or_else(|| {
            let (replies, active) = (Ring::default(), Ring::default());
            self.lanes.push(Lane { kind, priority, replies, active });
            self.lanes.len() - 1
        });
        &mut self.lanes[index]
    }

    pub(super) fn are_empty(&self) -> bool {
        self.deferred.is_empty() && self.lanes.iter().all(Lane::is_empty)
    }

    /// Whether one has a packet to send, with the priorities in `paused` paused.
    pub(super) fn are_ready(&self, paused: u8) -> bool {
        self.lanes.iter().any(|lane| lane.is_ready(paused))
    }

    /// The priorities for which packets wait, as a mask.
    pub(super) fn waiting(&self) -> u8 {
        let waiting = self.lanes.iter().filter(|lane| !lane.is_empty());
        waiting.fold(0, |mask, lane| mask | lane.priority.bit())
    }

    /// Removes the next packet of a lane if one is to be served, or if no queue pair `has_payload` to send.
    pub(super) fn pop(&mut self, has_payload: bool, paused: u8) -> Option<NextOfLane> {
        if has_payload && self.turn == 0 {
            self.turn = 1;
            return None;
        }
        let first = self.turn.saturating_sub(1);
        let (before, from) = (0..first, first..self.lanes.len());
        let is_ready = |lane: &usize| self.lanes[*lane].is_ready(paused);
        let next = from.into_iter().find(is_ready);
        let next = next.or_else(|| before.into_iter().find(is_ready).filter(|_| !has_payload));
        self.turn = next.filter(|next| next + 1 < self.lanes.len()).map_or(0, |next| next + 2);
        let lane = &mut self.lanes[next?];
        let popped = lane.pop();
        self.served = matches!(popped, Some(NextOfLane::Connection(_))).then_some(lane.priority);
        popped
    }

    /// The priority of the connection being served, if it is of a lane; it has been served then.
    pub(super) const fn take_served(&mut self) -> Option<Priority> {
        self.served.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: ConnectionKind = ConnectionKind::Tcp;

    fn index_of(next: &Option<NextOfLane>) -> Option<u32> {
        match next {
            Some(NextOfLane::Connection(connection)) => Some(connection.index()),
            Some(NextOfLane::Reply(_)) | None => None,
        }
    }

    #[test]
    fn queue_pairs_and_lanes_send_in_turn() {
        let mut lanes = Lanes::default();
        for (index, priority) in [(0, 1), (1, 1), (2, 4), (3, 4)] {
            lanes.push_connection(ConnectionId::new(TCP, index), Priority(priority));
        }
        let turns: Vec<_> = (0..6).map(|_| index_of(&lanes.pop(true, 0))).collect();
        assert_eq!(turns, [None, Some(0), Some(2), None, Some(1), Some(3)]);
        assert!(lanes.are_empty());
    }

    #[test]
    fn a_paused_lane_waits() {
        let mut lanes = Lanes::default();
        let paused = Priority(4).bit();
        lanes.push_connection(ConnectionId::new(TCP, 7), Priority(4));
        assert!(!lanes.are_ready(paused) && lanes.are_ready(0) && lanes.waiting() == paused);
        assert_eq!(index_of(&lanes.pop(false, paused)), None);
        assert_eq!(index_of(&lanes.pop(false, 0)), Some(7));
    }
}
