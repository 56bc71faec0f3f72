//! Receiver of a TCP connection: reassembly, delayed and selective acknowledgements, echo of marks.

use super::{Acknowledgement, Block, CongestionKind, SackBlocks, TcpConfig};
use units::Instant;

/// Answers to an arriving segment, in this order.
pub type Replies = [Option<Acknowledgement>; 2];

/// Receiver of a connection.
#[derive(Clone, Debug, Default)]
pub struct TcpReceiver {
    /// Offset before which everything has arrived and was delivered.
    next: u64,
    /// Disjoint ranges that arrived out of order, newest first.
    ahead: Vec<Block>,
    /// Segments in order that are not yet acknowledged.
    pending: u32,
    /// Time at which they must be acknowledged.
    deadline: Option<Instant>,
    /// The last segment was marked (RFC 8257, 3.2: DCTCP.CE).
    is_marked: bool,
}

impl TcpReceiver {
    /// Bytes delivered in order.
    #[must_use]
    pub const fn delivered(&self) -> u64 {
        self.next
    }

    /// Time at which [`Self::on_timeout`] is due.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline.unwrap_or(Instant::NEVER)
    }

    /// Processes a segment, marked "congestion experienced" or not.
    pub fn on_segment(
        &mut self,
        config: &TcpConfig,
        now: Instant,
        segment: Block,
        is_marked: bool,
    ) -> Replies {
        let is_marked = is_marked && config.congestion == CongestionKind::Dctcp;
        let has_changed = is_marked != self.is_marked;
        // RFC 8257, 3.2: when marking starts or ends, earlier segments are acknowledged with their own echo,
        // and this segment at once.
        let before = (has_changed && self.pending > 0).then(|| self.acknowledge());
        self.is_marked = is_marked;
        let is_in_order = self.ahead.is_empty() && segment.start == self.next;
        self.take_in(segment);
        // RFC 5681, 4.2: out-of-order segments, segments that fill a hole, and duplicates are acknowledged at
        // once.
        if !is_in_order || has_changed {
            return [before, Some(self.acknowledge())];
        }
        self.pending += 1;
        if self.pending >= config.ack_every {
            return [None, Some(self.acknowledge())];
        }
        self.deadline.get_or_insert(now + config.delayed_ack);
        [None, None]
    }

    /// The delayed acknowledgement, if it is due.
    pub fn on_timeout(&mut self, now: Instant) -> Option<Acknowledgement> {
        (self.deadline() <= now).then(|| self.acknowledge())
    }

    fn acknowledge(&mut self) -> Acknowledgement {
        self.pending = 0;
        self.deadline = None;
        let sack = SackBlocks::of(self.ahead.iter().copied());
        Acknowledgement { offset: self.next, sack, congestion_echo: self.is_marked }
    }

    fn take_in(&mut self, segment: Block) {
        if segment.end <= self.next {
            return;
        }
        if segment.start > self.next {
            self.store(segment);
            return;
        }
        self.next = segment.end;
        while let Some(index) = self.ahead.iter().position(|block| block.start <= self.next) {
            self.next = self.next.max(self.ahead.remove(index).end);
        }
    }

    /// Merges a segment with the ranges that it touches.
    fn store(&mut self, segment: Block) {
        let mut joined = segment;
        self.ahead.retain(|block| {
            let touches = block.start <= joined.end && joined.start <= block.end;
            if touches {
                joined = Block { start: joined.start.min(block.start), end: joined.end.max(block.end) };
            }
            !touches
        });
        self.ahead.insert(0, joined);
    }
}
