//! Queue pairs that send one chunk after the other, with a window of unacknowledged packets.
//!
//! A burst is the part of a chunk that the window has room for. It is acknowledged as a whole, with its last
//! packet. A chunk that is longer than the window is one burst whose packets wait for each other (see
//! [`crate::train::Frames::windowed`]), and the next burst is sent at the rate of the window. A chunk that
//! fits into the window starts as soon as none of its packets has to wait: acknowledgements of the burst
//! before it arrive one by one, at the rate of the slowest link.

use std::collections::VecDeque;
use units::{Instant, Span};

/// The next action of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
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

/// A burst that is not acknowledged yet.
#[derive(Clone, Copy)]
struct Sent {
    slot: u32,
    packets: u64,
    is_longer: bool,
    acknowledged: Option<Instant>,
}

/// A queue pair.
#[derive(Default)]
pub(crate) struct Connection {
    /// Slots of chunks with their remaining packets.
    waiting: VecDeque<(u32, u64)>,
    sent: VecDeque<Sent>,
    outstanding: u64,
    is_sending: bool,
    /// Transmission time of a packet on the slowest link of the path; `None` until it is needed.
    packet_time: Option<Span>,
    /// The opening time that was returned last.
    opens: Option<Instant>,
}

impl Connection {
    pub(crate) fn post(&mut self, slot: u32, packets: u64) {
        self.waiting.push_back((slot, packets));
    }

    /// Returns the next action at `now`, with a window of `window` packets; a returned burst counts as being
    /// sent. `packet_time` returns the transmission time of a packet of a chunk on its slowest link.
    pub(crate) fn next(&mut self, now: Instant, window: u64, packet_time: impl FnOnce(u32) -> Span) -> Next {
        self.forget(now);
        let Some(&mut (slot, ref mut left)) = self.waiting.front_mut().filter(|_| !self.is_sending) else {
            return Next::Nothing;
        };
        let mut room = window.saturating_sub(self.outstanding);
        let mut opens = self.sent.front().and_then(|burst| burst.acknowledged);
        if room < *left
            && *left <= window
            && let Some(burst) = self.sent.front()
            && let Some(at) = burst.acknowledged
        {
            let time = *self.packet_time.get_or_insert_with(|| packet_time(slot));
            let gapless = Instant(at.0.saturating_sub(time.0 * (burst.packets - 1 + room)));
            opens = Some(gapless);
            room = if gapless <= now { *left } else { room };
        }
        if room == 0 {
            let is_told = std::mem::replace(&mut self.opens, opens) == opens;
            return Next::Closed(opens.filter(|_| !is_told));
        }
        let is_paced = self.sent.iter().any(|burst| burst.is_longer);
        let is_longer = *left > window;
        let packets = if is_longer || is_paced { *left } else { room.min(*left) };
        *left -= packets;
        let is_last = *left == 0;
        if is_last {
            self.waiting.pop_front();
        }
        // The last packet of a longer chunk leaves when the window has room for it.
        let counted = if is_longer { window - 1 } else { packets };
        self.outstanding += counted;
        self.is_sending = true;
        self.opens = None;
        self.sent.push_back(Sent { slot, packets: counted, is_longer, acknowledged: None });
        Next::Burst { slot, packets, is_last, is_paced }
    }

    /// Changes the slot of the last burst.
    pub(crate) fn moved(&mut self, slot: u32) {
        if let Some(burst) = self.sent.back_mut() {
            burst.slot = slot;
        }
    }

    /// Records that the last bit of the burst being sent has left.
    pub(crate) const fn has_sent(&mut self) {
        self.is_sending = false;
    }

    /// Records that the burst of a slot will be acknowledged at `at`.
    pub(crate) fn acknowledged(&mut self, slot: u32, at: Instant) {
        let burst = self.sent.iter_mut().find(|burst| burst.slot == slot && burst.acknowledged.is_none());
        if let Some(burst) = burst {
            burst.acknowledged = Some(at);
        }
    }

    /// Whether its state can be discarded.
    pub(crate) fn is_idle(&mut self, now: Instant) -> bool {
        self.forget(now);
        self.waiting.is_empty() && self.sent.is_empty() && !self.is_sending
    }

    /// Removes the oldest bursts that are acknowledged by now.
    fn forget(&mut self, now: Instant) {
        while let Some(burst) = self.sent.front()
            && burst.acknowledged.is_some_and(|at| at <= now)
        {
            self.outstanding -= burst.packets;
            self.sent.pop_front();
        }
    }
}
