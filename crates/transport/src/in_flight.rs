//! What a requester has in flight, its retransmission timer and its retries: the recovery that all requesters
//! share.

use crate::{Config, TimeoutOutcome};
use units::{Cycle, Instant};
use wire::Psn;

/// What is sent next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// What was never sent, or everything from where the requester went back to.
    InOrder,
    /// First packets that are sent again one by one.
    OneByOne,
    /// Nothing: the retries are used up.
    Failed,
}

/// New packets that were acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) packets: u32,
    /// More than was sent since the requester went back: a late acknowledgement.
    pub(crate) overtook: bool,
}

/// Packets from the oldest that is not acknowledged on. At any time `ahead <= outstanding`; `ahead <
/// outstanding` while what was sent before is sent again.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    /// When the timer expires; [`Instant::NEVER`] while it is stopped.
    pub(crate) deadline: Instant,
    /// The oldest packet that is not acknowledged.
    unacked: Psn,
    /// Packets from that one to the one that is sent next.
    ahead: u32,
    /// The same to one past the highest ever sent.
    outstanding: u32,
    /// Timeouts since the last progress.
    retries: u16,
    pub(crate) mode: Mode,
    /// The next packet is the first of its message. Kept here, as there is room for it in a cache line.
    pub(crate) starts_message: bool,
}

impl InFlight {
    /// Nothing yet; the first packet will carry `initial_psn`.
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

    /// The oldest packet that is not acknowledged.
    #[inline]
    pub(crate) const fn unacked(&self) -> Psn {
        self.unacked
    }

    /// Packets from the oldest that is not acknowledged to the one that is sent next.
    #[inline]
    pub(crate) const fn ahead(&self) -> u32 {
        self.ahead
    }

    /// The same to one past the highest ever sent.
    #[inline]
    pub(crate) const fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// The packet that is sent next.
    #[inline]
    pub(crate) const fn next_psn(&self) -> Psn {
        self.unacked.add(self.ahead)
    }

    /// The packet that is sent next was sent before.
    #[inline]
    pub(crate) const fn is_resending(&self) -> bool {
        self.ahead < self.outstanding
    }

    /// The retries are used up.
    #[inline]
    pub(crate) fn is_failed(&self) -> bool {
        self.mode == Mode::Failed
    }

    /// Packets from the oldest that is not acknowledged to `psn`; negative when `psn` lies before it.
    #[inline]
    pub(crate) fn packets_before(&self, psn: Psn) -> i64 {
        i64::from(psn.distance_from(self.unacked))
    }

    /// So many packets are sent next. Starting the timer is the requester's part.
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

    /// Acknowledges `count` packets from the oldest on; none if that is stale or more than was ever sent.
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
        // IBTA 9.7.6.1.3: progress restarts the timer, and stops it when nothing is left to wait for.
        self.deadline = if self.ahead == 0 { Instant::NEVER } else { config.deadline(now) };
        Some(Progress { packets, overtook })
    }

    /// Sends again from the packet on that is so many beyond the oldest; the timer waits for it to leave.
    #[cold]
    pub(crate) fn go_back(&mut self, ahead: u32) {
        self.ahead = ahead;
        self.deadline = Instant::NEVER;
    }

    /// The timer expires if it is due at `now`: a retry, or the end of them. What is sent again is the
    /// requester's to say.
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

    /// The next timeout finds the retries used up.
    pub(crate) const fn is_at_last_retry(&self, config: &Config) -> bool {
        self.retries as u32 == config.retry_count
    }

    /// See [`Cycle`]. The PSNs move on as the work does: see [`Self::set_unacked`].
    pub(crate) fn visit(&mut self, cycle: &mut Cycle) {
        // What starts a message is where the requester's cursor is.
        let Self { deadline, unacked: _, ahead, outstanding, retries, mode, starts_message: _ } = self;
        // What is sent again is so only until it has caught up.
        cycle.same_list([*ahead, *outstanding].into_iter().map(u64::from));
        cycle.time(deadline);
        cycle.same_list([u64::from(*retries), *mode as u64].into_iter());
    }

    /// What is skipped was acknowledged.
    pub(crate) const fn set_unacked(&mut self, unacked: Psn) {
        self.unacked = unacked;
    }
}
