//! Segments in flight: the scoreboard of RFC 6675, updated incrementally instead of searched.

use super::{Block, SACK_BLOCKS_MAX};
use std::collections::VecDeque;
use units::Instant;

/// A segment is lost when more than this number of segments' worth of bytes beyond it were selectively
/// acknowledged (RFC 6675, 4, `IsLost`: DupThresh - 1).
const LOSS_SEGMENTS: u64 = 2;

/// State of a sent segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In flight, for the first time or resent.
    InFlight,
    /// Considered lost and not resent yet.
    Lost,
    /// Selectively acknowledged.
    Sacked,
}

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    start: u64,
    end: u64,
    at: Instant,
    state: State,
    /// It was resent: it counts as in flight although it was lost, and its round-trip time is ambiguous
    /// (Karn).
    is_retransmitted: bool,
}

impl Sent {
    const fn bytes(&self) -> u64 {
        self.end - self.start
    }
}

/// Effect of an acknowledgement on the scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acked {
    /// Send time of the first segment newly acknowledged in any form, unless one of the removed segments was
    /// resent.
    pub sent_at: Option<Instant>,
    /// Bytes acknowledged.
    pub bytes: u64,
}

/// Segments sent and not acknowledged, oldest first. Indices are counted from the start of the connection
/// unless stated otherwise.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    segments: VecDeque<Sent>,
    /// Segments removed since the start.
    removed: u64,
    /// Bytes in flight (RFC 6675, 4, `pipe`).
    pipe: u64,
    /// Bytes considered lost and not resent yet.
    lost: u64,
    /// No segment before this index waits to be resent.
    next_lost: u64,
    /// Segments before this index were checked for loss.
    checked: u64,
    /// One past the last segment that was selectively acknowledged.
    sacked_until: u64,
    /// Blocks of the last acknowledgement, whose segments need not be checked again.
    last_blocks: [Block; SACK_BLOCKS_MAX],
}

impl Scoreboard {
    /// Bytes in flight.
    #[inline]
    #[must_use]
    pub const fn pipe(&self) -> u64 {
        self.pipe
    }

    /// Bytes considered lost and not resent yet.
    #[inline]
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Whether no segment awaits an acknowledgement.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// A new segment was sent.
    #[inline]
    pub(super) fn send(&mut self, segment: Block, at: Instant) {
        let Block { start, end } = segment;
        self.segments.push_back(Sent { start, end, at, state: State::InFlight, is_retransmitted: false });
        self.pipe += end - start;
    }

    /// The first segment to resend, now marked as in flight.
    pub(super) fn resend(&mut self, at: Instant) -> Option<Block> {
        let index = self.first_lost()?;
        let sent = &mut self.segments[index];
        (sent.state, sent.is_retransmitted, sent.at) = (State::InFlight, true, at);
        self.pipe += sent.bytes();
        self.lost -= sent.bytes();
        Some(Block { start: sent.start, end: sent.end })
    }

    /// Bytes of the first segment to resend.
    pub(super) fn next_resend_bytes(&mut self) -> Option<u64> {
        self.first_lost().map(|index| self.segments[index].bytes())
    }

    fn first_lost(&mut self) -> Option<usize> {
        if self.lost == 0 {
            return None;
        }
        let from = self.next_lost.max(self.removed) - self.removed;
        let index =
            (from as usize..self.segments.len()).find(|&at| self.segments[at].state == State::Lost)?;
        self.next_lost = self.removed + index as u64;
        Some(index)
    }

    /// Removes all segments before `offset`.
    pub(super) fn acknowledge(&mut self, offset: u64) -> Acked {
        let mut acked = Acked { sent_at: None, bytes: 0 };
        let mut is_certain = true;
        while let Some(sent) = self.segments.front().filter(|sent| sent.end <= offset).copied() {
            self.segments.pop_front();
            self.removed += 1;
            acked.bytes += sent.bytes();
            self.subtract(&sent);
            is_certain &= !sent.is_retransmitted;
            if sent.state != State::Sacked {
                acked.sent_at.get_or_insert(sent.at);
            }
        }
        acked.sent_at = acked.sent_at.filter(|_| is_certain);
        acked
    }

    /// Removes `sent` from the byte count of its state.
    const fn subtract(&mut self, sent: &Sent) {
        match sent.state {
            State::InFlight => self.pipe -= sent.bytes(),
            State::Lost => self.lost -= sent.bytes(),
            State::Sacked => {}
        }
    }

    /// Marks the segments in these blocks as selectively acknowledged.
    pub(super) fn mark_sacked(&mut self, blocks: &[Block]) {
        for block in blocks {
            // A block mostly grows at its end: only the new part is scanned.
            let start =
                self.last_blocks.iter().find(|last| last.start == block.start && last.end <= block.end);
            self.mark_block(Block { start: start.map_or(block.start, |last| last.end), end: block.end });
        }
        self.last_blocks = [Block::default(); SACK_BLOCKS_MAX];
        self.last_blocks.iter_mut().zip(blocks).for_each(|(last, block)| *last = *block);
    }

    fn mark_block(&mut self, block: Block) {
        let first = self.segments.partition_point(|sent| sent.start < block.start);
        for index in first..self.segments.len() {
            let sent = self.segments[index];
            if sent.end > block.end {
                break;
            }
            if sent.state != State::Sacked {
                self.subtract(&sent);
                self.segments[index].state = State::Sacked;
                self.sacked_until = self.sacked_until.max(self.removed + index as u64 + 1);
            }
        }
    }

    /// Marks segments as lost that precede selectively acknowledged bytes by enough (RFC 6675, 4, `IsLost`).
    pub(super) fn detect_losses(&mut self, mss: u64) {
        if self.sacked_until <= self.removed {
            return;
        }
        let mut beyond = 0;
        let mut edge = (self.sacked_until - self.removed) as usize;
        while edge > 0 && beyond <= LOSS_SEGMENTS * mss {
            edge -= 1;
            let sent = &self.segments[edge];
            beyond += if sent.state == State::Sacked { sent.bytes() } else { 0 };
        }
        if beyond > LOSS_SEGMENTS * mss {
            let from = self.checked.max(self.removed) - self.removed;
            (from as usize..edge).for_each(|index| self.lose(index));
            self.checked = self.checked.max(self.removed + edge as u64);
        }
    }

    /// After a timeout every segment not acknowledged in any form is lost, resent or not.
    pub(super) fn lose_all(&mut self) {
        (0..self.segments.len()).for_each(|index| self.lose(index));
        self.next_lost = self.removed;
    }

    fn lose(&mut self, index: usize) {
        let sent = &mut self.segments[index];
        if sent.state == State::InFlight {
            sent.state = State::Lost;
            self.pipe -= sent.bytes();
            self.lost += sent.bytes();
            self.next_lost = self.next_lost.min(self.removed + index as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 100;

    fn sent(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        for segment in 0..segments {
            board.send(block(segment, segment + 1), Instant(segment));
        }
        board
    }

    fn block(start: u64, end: u64) -> Block {
        Block { start: start * MSS, end: end * MSS }
    }

    #[test]
    fn a_segment_is_lost_once_three_beyond_it_have_arrived() {
        let mut board = sent(10);
        board.mark_sacked(&[block(1, 3)]);
        board.detect_losses(MSS);
        assert_eq!((board.pipe(), board.lost()), (8 * MSS, 0));
        board.mark_sacked(&[block(1, 4)]);
        board.detect_losses(MSS);
        assert_eq!((board.pipe(), board.lost()), (6 * MSS, MSS));
        assert_eq!(board.resend(Instant(20)), Some(block(0, 1)));
        assert_eq!((board.pipe(), board.lost()), (7 * MSS, 0));
        assert_eq!(board.resend(Instant(20)), None);
    }

    #[test]
    fn what_was_sent_again_is_not_judged_again() {
        let mut board = sent(10);
        board.mark_sacked(&[block(1, 4)]);
        board.detect_losses(MSS);
        board.resend(Instant(20));
        board.mark_sacked(&[block(1, 8)]);
        board.detect_losses(MSS);
        assert_eq!((board.pipe(), board.lost()), (3 * MSS, 0));
    }

    #[test]
    fn an_acknowledgement_of_what_was_sent_twice_measures_nothing() {
        let mut board = sent(6);
        board.mark_sacked(&[block(1, 4)]);
        board.detect_losses(MSS);
        board.resend(Instant(20));
        assert_eq!(board.acknowledge(4 * MSS), Acked { sent_at: None, bytes: 4 * MSS });
        assert_eq!(board.acknowledge(6 * MSS), Acked { sent_at: Some(Instant(4)), bytes: 2 * MSS });
        assert!(board.is_empty());
        assert_eq!((board.pipe(), board.lost()), (0, 0));
    }

    #[test]
    fn a_timeout_loses_everything_but_what_was_sacked() {
        let mut board = sent(5);
        board.mark_sacked(&[block(2, 3)]);
        board.lose_all();
        assert_eq!((board.pipe(), board.lost()), (0, 4 * MSS));
        let again: Vec<_> = std::iter::from_fn(|| board.resend(Instant(9))).collect();
        assert_eq!(again, [block(0, 1), block(1, 2), block(3, 4), block(4, 5)]);
    }
}
