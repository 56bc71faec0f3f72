//! Packets in flight, retransmission timer and retry counter: the recovery state common to all requesters.

use crate::{Config, TimeoutOutcome};
use units::{Instant, State};
use wire::Psn;

/// Selects the next packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub(crate) enum Mode {
    /// Packets never sent, or everything from the packet that the requester went back to.
    InOrder,
    /// Resends, one by one, before new packets.
    OneByOne,
    /// Nothing: the retries are exhausted.
    Failed,
}

/// Newly acknowledged packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) packets: u32,
    /// More packets than were sent since the requester went back: a late acknowledgement.
    pub(crate) overtook: bool,
}

/// Packets from the oldest unacknowledged one on. Always `ahead <= outstanding`; `ahead < outstanding` while
/// packets are being resent.
#[derive(Clone, Debug, State)]
pub(crate) struct InFlight {
    /// Expiry of the timer; [`Instant::NEVER`] while it is stopped.
    pub(crate) deadline: Instant,
    /// The oldest unacknowledged packet.
    unacked: Psn,
    /// Packets from `unacked` to the next one to send.
    ahead: u32,
    /// Packets from `unacked` to one past the highest ever sent.
    outstanding: u32,
    /// Timeouts since the last progress.
    retries: u16,
    pub(crate) mode: Mode,
    /// The next packet is the first of its message. A field of the requester, stored here to fit into a cache
    /// line.
    pub(crate) starts_message: bool,
}

impl InFlight {
    /// Nothing in flight; the first packet has PSN `initial_psn`.
    pub(crate) const fn new(initial_psn: Psn) -> Self {
        Self {
            deadline: Instant::NEVER,
            unacked: initial_psn,
            ahead: 0,
            outstanding: 0,
            retries: 0,
            mode: Mode::InOrder,
            starts_message: false,
        }
    }

    /// The oldest unacknowledged packet.
    #[inline]
    pub(crate) const fn unacked(&self) -> Psn {
        self.unacked
    }

    /// Packets from the oldest unacknowledged one to the next one to send.
    #[inline]
    pub(crate) const fn ahead(&self) -> u32 {
        self.ahead
    }

    /// Packets from the oldest unacknowledged one to one past the highest ever sent.
    #[inline]
    pub(crate) const fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// The next packet to send.
    #[inline]
    pub(crate) const fn next_psn(&self) -> Psn {
        self.unacked.add(self.ahead)
    }

    /// Whether the next packet was sent before.
    #[inline]
    pub(crate) const fn is_resending(&self) -> bool {
        self.ahead < self.outstanding
    }

    /// Whether the retries are exhausted.
    #[inline]
    pub(crate) fn is_failed(&self) -> bool {
        self.mode == Mode::Failed
    }

    /// Packets from the oldest unacknowledged one to `psn`; negative if `psn` precedes it.
    #[inline]
    pub(crate) fn packets_before(&self, psn: Psn) -> i64 {
        i64::from(psn.distance_from(self.unacked))
    }

    /// Advances by `packets` sent packets. The requester starts the timer.
    #[inline]
    pub(crate) fn advance(&mut self, packets: u32) {
        self.ahead += packets;
        self.outstanding = self.outstanding.max(self.ahead);
    }

    /// Starts the timer at `now`.
    #[inline]
    pub(crate) fn start_timer(&mut self, config: &Config, now: Instant) {
        self.deadline = config.deadline(now);
    }

    /// Acknowledges the `count` oldest packets; `None` if the acknowledgement is stale or exceeds the packets
    /// ever sent.
    #[inline]
    pub(crate) fn acknowledge(&mut self, config: &Config, now: Instant, count: i64) -> Option<Progress> {
        if count <= 0 || count > i64::from(self.outstanding) || self.mode == Mode::Failed {
            return None;
        }
        let packets = count as u32;
        let overtook = packets > self.ahead;
        self.unacked = self.unacked.add(packets);
        self.outstanding -= packets;
        self.ahead = self.ahead.saturating_sub(packets);
        self.retries = 0;
        // IBTA 9.7.6.1.3: progress restarts the timer, and stops it when nothing is in flight.
        self.deadline = if self.ahead == 0 { Instant::NEVER } else { config.deadline(now) };
        Some(Progress { packets, overtook })
    }

    /// Goes back to the packet `ahead` beyond the oldest; stops the timer until that packet is sent.
    #[cold]
    pub(crate) fn go_back(&mut self, ahead: u32) {
        self.ahead = ahead;
        self.deadline = Instant::NEVER;
    }

    /// Fires the timer if it is due at `now`: counts a retry or fails. The requester chooses the packets to
    /// resend.
    pub(crate) fn expire(&mut self, config: &Config, now: Instant) -> TimeoutOutcome {
        if now < self.deadline {
            return TimeoutOutcome::NotDue;
        }
        if self.is_at_last_retry(config) {
            self.mode = Mode::Failed;
            self.deadline = Instant::NEVER;
            return TimeoutOutcome::Failed;
        }
        self.retries += 1;
        TimeoutOutcome::Resend
    }

    /// Whether the next timeout exhausts the retries.
    pub(crate) const fn is_at_last_retry(&self, config: &Config) -> bool {
        self.retries as u32 == config.retry_count
    }
}
