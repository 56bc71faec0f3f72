//! Queue pairs that send one chunk (part of a transfer) after the other, with a window of unacknowledged
//! packets.
//!
//! A burst is the part of a chunk that the window has room for. It is acknowledged as a whole, with its last
//! packet. A chunk that is longer than the window is one burst whose packets wait for each other (see
//! [`crate::network::idle_time::Frames::windowed`]), and the next burst is sent at the rate of the window. A
//! chunk that fits into the window starts as soon as none of its packets has to wait: acknowledgements of the
//! burst before it arrive one by one, at the rate of the slowest link.

use std::collections::VecDeque;
use units::{Instant, Span};

/// The next action of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextAction {
    /// There is nothing to send, or a burst is being sent.
    Nothing,
    /// The window is closed until then. `None` if that depends on a burst without a known acknowledgement
    /// time, or if the time has been returned before.
    Closed(Option<Instant>),
    /// This many packets of the chunk in this slot.
    Burst {
        slot: u32,
        packets: u64,
        /// Nothing of the chunk is left after them.
        is_last: bool,
        /// The window opens packet by packet.
        is_paced: bool,
    },
}

/// A chunk with packets to send.
struct WaitingChunk {
    slot: u32,
    remaining: u64,
}

/// A burst that is not acknowledged yet.
#[derive(Clone, Copy)]
struct UnacknowledgedBurst {
    slot: u32,
    packets: u64,
    is_longer: bool,
    acknowledged: Option<Instant>,
}

/// A queue pair.
#[derive(Default)]
pub(crate) struct Connection {
    waiting: VecDeque<WaitingChunk>,
    unacknowledged: VecDeque<UnacknowledgedBurst>,
    outstanding: u64,
    is_sending: bool,
    /// Transmission time of a packet on the slowest link of the path; `None` until it is needed.
    packet_time: Option<Span>,
    /// The opening time that was returned last.
    opens_at: Option<Instant>,
}

impl Connection {
    pub(crate) fn post(&mut self, slot: u32, packets: u64) {
        self.waiting.push_back(WaitingChunk { slot, remaining: packets });
    }

    /// Returns the next action at `now`, with a window of `window` packets; a returned burst counts as being
    /// sent. `packet_time` returns the transmission time of a packet of a chunk on its slowest link.
    pub(crate) fn next(
        &mut self,
        now: Instant,
        window: u64,
        packet_time: impl FnOnce(u32) -> Span,
    ) -> NextAction {
        self.remove_acknowledged(now);
        let Some(&mut WaitingChunk { slot, ref mut remaining }) =
            self.waiting.front_mut().filter(|_| !self.is_sending)
        else {
            return NextAction::Nothing;
        };
        let mut room = window.saturating_sub(self.outstanding);
        let mut opens_at = self.unacknowledged.front().and_then(|burst| burst.acknowledged);
        if room < *remaining
            && *remaining <= window
            && let Some(burst) = self.unacknowledged.front()
            && let Some(at) = burst.acknowledged
        {
            let time = *self.packet_time.get_or_insert_with(|| packet_time(slot));
            let gapless = Instant(at.0.saturating_sub(time.0 * (burst.packets - 1 + room)));
            opens_at = Some(gapless);
            room = if gapless <= now { *remaining } else { room };
        }
        if room == 0 {
            let is_returned_before = std::mem::replace(&mut self.opens_at, opens_at) == opens_at;
            return NextAction::Closed(opens_at.filter(|_| !is_returned_before));
        }
        let is_paced = self.unacknowledged.iter().any(|burst| burst.is_longer);
        let is_longer = *remaining > window;
        let packets = if is_longer || is_paced { *remaining } else { room.min(*remaining) };
        *remaining -= packets;
        let is_last = *remaining == 0;
        if is_last {
            self.waiting.pop_front();
        }
        // The last packet of a longer chunk leaves when the window has room for it.
        let counted = if is_longer { window - 1 } else { packets };
        self.outstanding += counted;
        self.is_sending = true;
        self.opens_at = None;
        self.unacknowledged.push_back(UnacknowledgedBurst {
            slot,
            packets: counted,
            is_longer,
            acknowledged: None,
        });
        NextAction::Burst { slot, packets, is_last, is_paced }
    }

    /// Changes the slot of the last burst.
    pub(crate) fn set_last_slot(&mut self, slot: u32) {
        if let Some(burst) = self.unacknowledged.back_mut() {
            burst.slot = slot;
        }
    }

    /// Records that the last bit of the burst being sent has left.
    pub(crate) const fn burst_sent(&mut self) {
        self.is_sending = false;
    }

    /// Records that the burst of a slot will be acknowledged at `at`.
    pub(crate) fn acknowledged(&mut self, slot: u32, at: Instant) {
        let burst =
            self.unacknowledged.iter_mut().find(|burst| burst.slot == slot && burst.acknowledged.is_none());
        if let Some(burst) = burst {
            burst.acknowledged = Some(at);
        }
    }

    /// Whether its state can be discarded.
    pub(crate) fn is_idle(&mut self, now: Instant) -> bool {
        self.remove_acknowledged(now);
        self.waiting.is_empty() && self.unacknowledged.is_empty() && !self.is_sending
    }

    /// Removes the oldest bursts that are acknowledged by now.
    fn remove_acknowledged(&mut self, now: Instant) {
        while let Some(burst) = self.unacknowledged.front()
            && burst.acknowledged.is_some_and(|at| at <= now)
        {
            self.outstanding -= burst.packets;
            self.unacknowledged.pop_front();
        }
    }
}
