//! Credit-based flow control at one end of an InfiniBand link (IBTA vol. 1, 7.9): spends and grants credits,
//! and builds and processes flow control packets.
//!
//! Models, for each virtual lane, a sender that spends credits in blocks of 64 bytes and sends nothing
//! without them, and a receiver with a separate buffer, which a packet leaves when its last bit has left the
//! node (at a host, when the host drains it). Credits are granted by flow control packets with FCTBS and
//! FCCL, 12 bits each, which precede data, occupy the link and are processed like any frame; at most one for
//! each lane per update interval, and only if there are new credits to grant. A virtual lane is a priority.
//!
//! Leaves out: the packets that bring a link up (it starts with the whole buffer granted), packets that
//! repeat earlier grants (8 bytes in 65,536 symbol times), and loss: a link with flow control never fails
//! here.

use crate::link::pause::PauseState;
use crate::packet::{Packet, Priority};
use units::{Instant, Span, State};
use wire::infiniband::flow_control::{BLOCK_BYTES, BlockCount};

/// Credit settings of a link; both ends have the same buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CreditPlan {
    /// Receive buffer of each virtual lane [blocks], at most 2048.
    pub(crate) buffer_blocks: u16,
    /// Minimum time between two flow control packets of a lane.
    pub(crate) interval: Span,
}

/// Blocks of a packet.
#[inline]
pub(crate) const fn blocks(frame_bytes: u32) -> u16 {
    frame_bytes.div_ceil(BLOCK_BYTES) as u16
}

/// One virtual lane. Totals count blocks since the start.
#[derive(Clone, Copy, Debug)]
struct Lane {
    /// Sent, and limit of the total that may be sent.
    sent: u64,
    limit: u64,
    /// Received, removed from the buffer, and of the removed those reported to the other end.
    received: u64,
    freed: u64,
    granted: u64,
    /// Earliest time of the next flow control packet.
    next_update: Instant,
}

/// One end of a link.
#[derive(Clone, Debug)]
pub(crate) struct Credits {
    plan: CreditPlan,
    lanes: [Lane; Priority::COUNT],
    /// Bit `p` is set while there are new credits to grant on lane `p`.
    ungranted: u8,
    packets_sent: u64,
    packets_received: u64,
}

impl Credits {
    pub(crate) fn new(plan: CreditPlan) -> Self {
        let lane = Lane {
            sent: 0,
            limit: plan.buffer_blocks.into(),
            received: 0,
            freed: 0,
            granted: 0,
            next_update: Instant::ZERO,
        };
        let lanes = [lane; Priority::COUNT];
        Self { plan, lanes, ungranted: 0, packets_sent: 0, packets_received: 0 }
    }

    /// Flow control packets sent.
    pub(crate) const fn packets_sent(&self) -> u64 {
        self.packets_sent
    }

    /// Flow control packets received.
    pub(crate) const fn packets_received(&self) -> u64 {
        self.packets_received
    }

    const fn lane(&mut self, priority: Priority) -> &mut Lane {
        &mut self.lanes[priority.index()]
    }

    /// Whether there are credits for a frame.
    pub(crate) const fn allow(&self, priority: Priority, frame_bytes: u32) -> bool {
        let lane = &self.lanes[priority.index()];
        lane.sent + blocks(frame_bytes) as u64 <= lane.limit
    }

    /// Spends the credits for a frame to send.
    ///
    /// # Panics
    /// If there are not enough: a bug of the simulator.
    pub(crate) fn spend(&mut self, packet: &Packet) {
        assert!(self.allow(packet.priority(), packet.frame_bytes()), "a packet was sent without credit");
        self.lane(packet.priority()).sent += u64::from(blocks(packet.frame_bytes()));
    }

    /// Adds a frame to the receive buffer.
    ///
    /// # Panics
    /// If the buffer is full, which the credits of the sender exclude.
    pub(crate) fn take_in(&mut self, packet: &Packet) {
        let room = u64::from(self.plan.buffer_blocks);
        let lane = self.lane(packet.priority());
        lane.received += u64::from(blocks(packet.frame_bytes()));
        assert!(lane.received - lane.freed <= room, "a packet found the buffer of its lane full");
    }

    /// A frame has left the receive buffer.
    pub(crate) fn free(&mut self, priority: Priority, frame_bytes: u32) {
        let lane = self.lane(priority);
        lane.freed += u64::from(blocks(frame_bytes));
        debug_assert!(lane.freed <= lane.received, "more left the buffer than was in it");
        self.ungranted |= priority.bit();
    }

    /// Whether frames of a lane are in the receive buffer.
    pub(crate) const fn has_frames(&self, priority: Priority) -> bool {
        let lane = &self.lanes[priority.index()];
        lane.received > lane.freed
    }

    /// Time at which a flow control packet is due; never if there are no new credits to grant.
    pub(crate) fn update_due(&self) -> Instant {
        let waiting = self.lanes.iter().enumerate().filter(|(lane, _)| self.ungranted >> lane & 1 == 1);
        waiting.map(|(_, lane)| lane.next_update).min().unwrap_or(Instant::NEVER)
    }

    /// The flow control packet to send at `now`, if one is due: that of the lowest lane.
    pub(crate) fn next_update(&mut self, now: Instant) -> Option<Packet> {
        if self.ungranted == 0 {
            return None;
        }
        let is_due = |priority: &Priority| {
            self.ungranted & priority.bit() != 0 && self.lanes[priority.index()].next_update <= now
        };
        let priority = (0..8).map(Priority).find(is_due)?;
        let Credits { plan, ungranted, packets_sent, .. } = self;
        *ungranted &= !priority.bit();
        *packets_sent += 1;
        let (interval, room) = (plan.interval, u64::from(plan.buffer_blocks));
        let lane = self.lane(priority);
        lane.granted = lane.freed;
        lane.next_update = now + interval;
        // IBTA vol. 1, 7.9.4.4.2: blocks received plus free blocks; received blocks still in the buffer
        // reduce the latter.
        Some(Packet::credit(priority, BlockCount::of(lane.sent), BlockCount::of(lane.granted + room)))
    }

    /// Processes a flow control packet.
    ///
    /// # Panics
    /// If frames that it counts never arrived: a bug of the simulator.
    pub(crate) fn receive(&mut self, packet: &Packet) {
        let (total_sent, limit) = packet.credit_counts();
        self.packets_received += 1;
        let buffer_blocks = self.plan.buffer_blocks;
        let lane = self.lane(packet.priority());
        let missing = total_sent.ahead_of(BlockCount::of(lane.received));
        assert!(missing <= buffer_blocks, "blocks were lost on a link");
        lane.limit += u64::from(limit.ahead_of(BlockCount::of(lane.limit)));
        debug_assert!(lane.limit - lane.sent <= u64::from(buffer_blocks), "more was granted than there is");
    }
}

/// Blocks `priority` from `since` on if its next frame has no credit at `now`; otherwise unblocks it.
pub(crate) fn block_without_credit(
    credits: &Credits,
    pause: &mut PauseState,
    priority: Priority,
    frame_bytes: Option<u32>,
    now: Instant,
    since: Instant,
) {
    match frame_bytes.filter(|&bytes| !credits.allow(priority, bytes)) {
        Some(_) => pause.block(priority, since),
        None => pause.unblock(priority, now),
    }
}

/// Never repeats: the counts of both ends would have to be compared.
impl State for Credits {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{ConnectionId, Kind, Path};
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use transport::Position;
    use units::AttachmentId;
    use wire::Psn;

    const LANE: Priority = Priority(3);

    fn frame(frame_bytes: u32) -> Packet {
        let path = Path { destination: AttachmentId(0), connection: ConnectionId::rc(0), entropy: 0 };
        Packet::new(Kind::Data(Position::Only), LANE, Psn::new(0), frame_bytes, path)
    }

    fn ends(buffer_blocks: u16) -> (Credits, Credits) {
        let plan = CreditPlan { buffer_blocks, interval: Span(100) };
        (Credits::new(plan), Credits::new(plan))
    }

    #[test]
    fn a_packet_takes_whole_blocks() {
        assert_eq!([1, 64, 65, 4_138].map(blocks), [1, 1, 2, 65]);
    }

    #[test]
    fn credits_run_out_and_are_granted_again_once_the_buffer_is_free_and_the_interval_over() {
        let (mut sender, mut receiver) = ends(130);
        for _ in 0..2 {
            sender.spend(&frame(4_124));
            receiver.take_in(&frame(4_124));
        }
        assert!(!sender.allow(LANE, 1));
        assert_eq!(receiver.update_due(), Instant::NEVER);
        receiver.free(LANE, 4_124);
        assert_eq!(receiver.update_due(), Instant::ZERO);
        let update = receiver.next_update(Instant(7)).unwrap();
        assert!(receiver.next_update(Instant(7)).is_none());
        sender.receive(&update);
        assert!(sender.allow(LANE, 65 * 64) && !sender.allow(LANE, 65 * 64 + 1));
        receiver.free(LANE, 4_124);
        assert_eq!(receiver.update_due(), Instant(107));
        assert!(receiver.next_update(Instant(106)).is_none() && receiver.next_update(Instant(107)).is_some());
        assert_eq!((receiver.packets_sent(), sender.packets_received()), (2, 1));
    }

    #[test]
    #[should_panic(expected = "without credit")]
    fn nothing_is_sent_without_credit() {
        ends(65).0.spend(&frame(65 * 64 + 1));
    }

    proptest! {
        /// Two ends of a link with any delay of packets and grants: blocks sent and not freed never exceed
        /// the buffer, and in the end everything is granted again.
        #[test]
        fn sent_less_freed_never_exceeds_the_buffer(
            buffer_blocks in 65_u16..=2048,
            steps in prop::collection::vec((0_u8..5, 1_u32..4_160), 1..2_000),
        ) {
            let (mut sender, mut receiver) = ends(buffer_blocks);
            let (mut link, mut buffer, mut grants) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
            let mut now = Instant::ZERO;
            let (mut sent, mut freed) = (0_u64, 0_u64);
            let drain = (0..4 * steps.len()).flat_map(|_| [(1, 0), (2, 0), (3, 0), (4, 0)]);
            for (step, bytes) in steps.iter().copied().chain(drain) {
                now += Span(60);
                match step {
                    0 if sender.allow(LANE, bytes) => {
                        sender.spend(&frame(bytes));
                        sent += u64::from(blocks(bytes));
                        link.push_back(bytes);
                    }
                    1 => if let Some(bytes) = link.pop_front() {
                        receiver.take_in(&frame(bytes));
                        buffer.push_back(bytes);
                    },
                    2 => if let Some(bytes) = buffer.pop_front() {
                        receiver.free(LANE, bytes);
                        freed += u64::from(blocks(bytes));
                    },
                    3 => grants.extend(receiver.next_update(now)),
                    _ => if let Some(grant) = grants.pop_front() {
                        sender.receive(&grant);
                    },
                }
                prop_assert!(sent - freed <= u64::from(buffer_blocks));
            }
            prop_assert!(sent == freed && !receiver.has_frames(LANE));
            prop_assert!(sender.allow(LANE, u32::from(buffer_blocks) * 64), "all of it is granted again");
        }
    }
}
