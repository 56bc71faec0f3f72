//! Virtual output queues (VOQs) of a leaf: packets waiting at ingress, by egress port of the fabric and
//! priority; determines the bytes to request and the packets that granted credits release.
//!
//! Packets are stored in one pool and linked into lists, so that thousands of queues need memory only for
//! their packets. A VOQ requests credits at once while less than one credit is outstanding, and then each
//! time packets for another whole credit have arrived, so that no packet waits for the round trip of earlier
//! ones. It sends whole packets as long as it has credits; the excess of the last packet is deducted from the
//! next credit.

use crate::packet::Priority;
use crate::switch::queue::Stored;
use engine::prefetch::prefetch_ends;
use units::{AttachmentId, LINK_OVERHEAD_BYTES};

/// No packet.
const NONE: u32 = u32::MAX;

/// Credits that a packet uses: its frame with preamble and gap, as on the link of the egress port.
#[inline]
pub(super) const fn credit_cost(frame_bytes: u32) -> u64 {
    (frame_bytes + LINK_OVERHEAD_BYTES) as u64
}

/// One queue.
#[derive(Clone, Copy, Debug)]
struct Voq {
    first: u32,
    last: u32,
    /// Frame bytes queued, and their maximum so far.
    bytes: u64,
    max_bytes: u64,
    /// Bytes received and not requested; bytes requested and not granted.
    unrequested: u64,
    requested: u64,
    /// Credits granted and not used; negative by the excess of the last packet.
    balance: i64,
}

const EMPTY: Voq =
    Voq { first: NONE, last: NONE, bytes: 0, max_bytes: 0, unrequested: 0, requested: 0, balance: 0 };

/// A packet in the pool.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    stored: Stored,
    next: u32,
}

/// All VOQs of a leaf.
#[derive(Debug)]
pub(super) struct Voqs {
    /// By egress port and priority.
    queues: Vec<Voq>,
    pool: Vec<Waiting>,
    /// The first free slot of the pool.
    free: u32,
    packets: u64,
    credit_bytes: u64,
}

impl Voqs {
    /// Queues for `ports` egress ports.
    pub(super) fn new(ports: usize, credit_bytes: u32) -> Self {
        Self {
            queues: vec![EMPTY; ports * Priority::COUNT],
            pool: Vec::new(),
            free: NONE,
            packets: 0,
            credit_bytes: credit_bytes.into(),
        }
    }

    #[inline]
    const fn index(port: AttachmentId, priority: Priority) -> usize {
        port.index() * Priority::COUNT + priority.index()
    }

    #[inline]
    pub(super) fn prefetch_queue(&self, port: AttachmentId, priority: Priority) {
        prefetch_ends(&self.queues, Self::index(port, priority));
    }

    /// Prefetches the first packet of a queue.
    #[inline]
    pub(super) fn prefetch_first(&self, port: AttachmentId, priority: Priority) {
        prefetch_ends(&self.pool, self.queues[Self::index(port, priority)].first as usize);
    }

    /// Frame bytes in a queue.
    #[inline]
    pub(super) fn bytes(&self, port: AttachmentId, priority: Priority) -> u64 {
        self.queues[Self::index(port, priority)].bytes
    }

    /// Maximum length so far of the queues for `port` [frame bytes].
    pub(super) fn max_bytes(&self, port: AttachmentId) -> u64 {
        let first = Self::index(port, Priority(0));
        self.queues[first..first + Priority::COUNT].iter().map(|queue| queue.max_bytes).max().unwrap_or(0)
    }

    /// Number of queued packets.
    pub(super) const fn packets(&self) -> u64 {
        self.packets
    }

    /// Adds a packet; returns the bytes to request, if it is time.
    #[inline]
    pub(super) fn push(&mut self, stored: Stored) -> Option<u64> {
        let slot = self.allocate(Waiting { stored, next: NONE });
        let queue = &mut self.queues[Self::index(stored.packet.destination(), stored.packet.priority())];
        if queue.first == NONE {
            queue.first = slot;
        } else {
            self.pool[queue.last as usize].next = slot;
        }
        queue.last = slot;
        queue.bytes += u64::from(stored.packet.frame_bytes());
        queue.max_bytes = queue.max_bytes.max(queue.bytes);
        queue.unrequested += credit_cost(stored.packet.frame_bytes());
        self.packets += 1;
        let is_time = queue.requested < self.credit_bytes || queue.unrequested >= self.credit_bytes;
        is_time.then(|| queue.request())
    }

    fn allocate(&mut self, waiting: Waiting) -> u32 {
        if self.free == NONE {
            self.pool.push(waiting);
            return (self.pool.len() - 1) as u32;
        }
        let slot = self.free;
        self.free = std::mem::replace(&mut self.pool[slot as usize], waiting).next;
        slot
    }

    /// Adds granted credits; returns the bytes to request, if it is time.
    #[inline]
    pub(super) fn grant(&mut self, port: AttachmentId, priority: Priority, bytes: u64) -> Option<u64> {
        let credit_bytes = self.credit_bytes;
        let queue = &mut self.queues[Self::index(port, priority)];
        debug_assert!(bytes <= queue.requested, "no more is granted than was requested");
        queue.requested -= bytes;
        queue.balance += bytes as i64;
        (queue.unrequested > 0 && queue.requested < credit_bytes).then(|| queue.request())
    }

    /// Removes the next packet, if there are credits left for it.
    #[inline]
    pub(super) fn pop(&mut self, port: AttachmentId, priority: Priority) -> Option<Stored> {
        let queue = &mut self.queues[Self::index(port, priority)];
        if queue.balance <= 0 || queue.first == NONE {
            return None;
        }
        let slot = queue.first;
        let Waiting { stored, next } = self.pool[slot as usize];
        prefetch_ends(&self.pool, next as usize);
        queue.first = next;
        queue.bytes -= u64::from(stored.packet.frame_bytes());
        queue.balance -= credit_cost(stored.packet.frame_bytes()) as i64;
        self.pool[slot as usize].next = std::mem::replace(&mut self.free, slot);
        self.packets -= 1;
        Some(stored)
    }
}

impl Voq {
    fn request(&mut self) -> u64 {
        let bytes = std::mem::take(&mut self.unrequested);
        self.requested += bytes;
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{ConnectionId, Kind, Packet, Path};
    use proptest::prelude::*;
    use transport::Position;
    use wire::Psn;

    const PRIORITY: Priority = Priority(3);

    fn packet(number: u32, port: u32, bytes: u32) -> Stored {
        let path = Path { destination: AttachmentId(port), connection: ConnectionId::rc(0), entropy: 0 };
        let packet = Packet::new(Kind::Data(Position::Only), PRIORITY, Psn::new(number), bytes, path);
        Stored { packet, ingress: 0 }
    }

    #[test]
    fn a_queue_requests_at_once_below_a_credit_then_whole_credits_and_owes_the_excess() {
        let mut voqs = Voqs::new(2, 4_096);
        let port = AttachmentId(1);
        assert_eq!(voqs.push(packet(0, 1, 980)), Some(1_000));
        assert_eq!(voqs.push(packet(1, 1, 980)), Some(1_000), "it does not wait for the first to be granted");
        assert_eq!(voqs.push(packet(2, 1, 4_076)), Some(4_096));
        assert!(voqs.pop(port, PRIORITY).is_none(), "nothing is granted");
        assert_eq!(voqs.grant(port, PRIORITY, 1_001), None);
        assert_eq!(voqs.pop(port, PRIORITY).map(|stored| stored.packet.psn().value()), Some(0));
        assert_eq!(voqs.pop(port, PRIORITY).map(|stored| stored.packet.psn().value()), Some(1));
        assert!(voqs.pop(port, PRIORITY).is_none(), "999 bytes are owed");
        assert_eq!(voqs.push(packet(3, 1, 80)), None);
        assert_eq!(voqs.grant(port, PRIORITY, 1_500), Some(100), "less than a credit is still to be granted");
        assert_eq!((voqs.bytes(port, PRIORITY), voqs.max_bytes(port)), (4_156, 6_036));
    }

    proptest! {
        #[test]
        fn packets_leave_in_order_and_credits_are_used_up(
            packets in prop::collection::vec((0_u32..3, 64_u32..4_000), 1..200),
            credit in 500_u32..9_000,
        ) {
            let mut voqs = Voqs::new(3, credit);
            let mut requested = [0_u64; 3];
            let mut left = vec![Vec::new(); 3];
            for (number, &(port, bytes)) in packets.iter().enumerate() {
                requested[port as usize] += voqs.push(packet(number as u32, port, bytes)).unwrap_or(0);
            }
            for port in 0..3 {
                while requested[port] > 0 {
                    let grant = requested[port].min(credit.into());
                    let id = AttachmentId(port as u32);
                    requested[port] = requested[port] - grant + voqs.grant(id, PRIORITY, grant).unwrap_or(0);
                    while let Some(stored) = voqs.pop(id, PRIORITY) {
                        left[port].push(stored.packet.psn().value());
                    }
                }
            }
            prop_assert_eq!(voqs.packets(), 0);
            prop_assert!(voqs.queues.iter().all(|queue| queue.balance == 0 && queue.bytes == 0));
            prop_assert!(left.iter().all(|numbers| numbers.is_sorted()));
            prop_assert_eq!(left.concat().len(), packets.len());
        }
    }
}
