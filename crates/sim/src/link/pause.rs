//! Pause state of a port: priorities that may not send, because of received PFC pause frames or for lack of
//! credit on an InfiniBand link ([`crate::link::credits`]); counts pauses and the time paused.
//!
//! A pause frame takes effect after the link's propagation and the fixed latency of the receiving node, which
//! represents its response time (IEEE 802.3-2022, 31B.3.7 allows 905 quanta, 1,158 ns, at 400 Gb/s). A frame
//! in transmission is never cut.

use crate::packet::{Packet, Priority};
use units::{Instant, Rate, Span, State};

/// Paused priorities of a port, with the end of each pause.
#[derive(Clone, Debug, State)]
#[repr(C)]
pub(crate) struct PauseState {
    /// Bit `p` is set while priority `p` is paused.
    mask: u8,
    /// Bit `p` is set while pauses of priority `p` are counted, but ignored.
    ignored: u8,
    /// Allocated with the first pause frame: most ports never receive one.
    history: Option<Box<History>>,
    // Needed only with a pause frame.
    #[state(skip)]
    rate: Rate,
}

/// The pauses of a port.
#[derive(Clone, Debug, Default, State)]
struct History {
    until: [Instant; Priority::COUNT],
    since: [Instant; Priority::COUNT],
    /// Pause frames received with quanta other than zero (XOFF), by priority.
    #[state(count)]
    pauses: [u64; Priority::COUNT],
    /// Pause frames received with zero quanta (XON), by priority.
    #[state(count)]
    resumes: [u64; Priority::COUNT],
    #[state(count)]
    paused: [Span; Priority::COUNT],
}

impl PauseState {
    pub(crate) const fn new(rate: Rate) -> Self {
        Self { mask: 0, ignored: 0, rate, history: None }
    }

    /// Whether a pause frame was ever received, or a priority blocked.
    pub(crate) const fn was_blocked(&self) -> bool {
        self.history.is_some()
    }

    /// Pause frames received, including those that end a pause.
    pub(crate) fn frames_received(&self) -> u64 {
        self.pauses_received() + self.resumes_received()
    }

    /// Pause frames of all priorities received with quanta other than zero.
    pub(crate) fn pauses_received(&self) -> u64 {
        self.history.as_ref().map_or(0, |history| history.pauses.iter().sum())
    }

    /// Pause frames of one priority received with quanta other than zero.
    pub(crate) fn pauses_of(&self, priority: Priority) -> u64 {
        self.history.as_ref().map_or(0, |history| history.pauses[priority.index()])
    }

    /// Pause frames of all priorities received with zero quanta.
    pub(crate) fn resumes_received(&self) -> u64 {
        self.history.as_ref().map_or(0, |history| history.resumes.iter().sum())
    }

    /// Pause frames of one priority received with zero quanta.
    pub(crate) fn resumes_of(&self, priority: Priority) -> u64 {
        self.history.as_ref().map_or(0, |history| history.resumes[priority.index()])
    }

    /// Priorities that may not send, as a mask.
    #[inline]
    pub(crate) const fn mask(&self) -> u8 {
        self.mask
    }

    /// Processes a pause frame at `now`.
    pub(crate) fn receive(&mut self, pause: &Packet, now: Instant) {
        self.expire(now);
        let history = self.history.get_or_insert_default();
        let priority = pause.priority();
        if pause.quanta() == 0 {
            history.resumes[priority.index()] += 1;
            self.unblock(priority, now);
            return;
        }
        history.pauses[priority.index()] += 1;
        if self.ignored & priority.bit() != 0 {
            return;
        }
        if self.mask & priority.bit() == 0 {
            self.mask |= priority.bit();
            history.since[priority.index()] = now;
        }
        // One quantum is 512 bit times: 64 bytes.
        history.until[priority.index()] = now + self.rate.span_of(u64::from(pause.quanta()) * 64);
    }

    /// Blocks `priority` from `since` on, until [`Self::unblock`].
    pub(crate) fn block(&mut self, priority: Priority, since: Instant) {
        if self.mask & priority.bit() == 0 {
            self.mask |= priority.bit();
            let history = self.history.get_or_insert_default();
            history.since[priority.index()] = since;
            history.until[priority.index()] = Instant::NEVER;
        }
    }

    /// Whether `priority` may not send at `now`.
    pub(crate) fn is_paused(&self, priority: Priority, now: Instant) -> bool {
        self.mask & priority.bit() != 0 && self.until(priority) > now
    }

    /// Start of the pause of `priority`; valid while it is paused.
    pub(crate) fn since(&self, priority: Priority) -> Instant {
        self.history.as_ref().map_or(Instant::ZERO, |history| history.since[priority.index()])
    }

    /// End of the pause of `priority`, unless it is changed; valid while it is paused.
    fn until(&self, priority: Priority) -> Instant {
        self.history.as_ref().map_or(Instant::ZERO, |history| history.until[priority.index()])
    }

    /// Priorities whose pauses are ignored, as a mask.
    #[inline]
    pub(crate) const fn ignored(&self) -> u8 {
        self.ignored
    }

    /// Ends the pause of `priority` at `now` and ignores further ones until [`Self::obey`].
    pub(crate) fn ignore(&mut self, priority: Priority, now: Instant) {
        self.unblock(priority, now);
        self.ignored |= priority.bit();
    }

    /// Stops ignoring the pauses of `priority`, from the next one on.
    pub(crate) const fn obey(&mut self, priority: Priority) {
        self.ignored &= !priority.bit();
    }

    /// Ends the pauses that expire by `now`.
    #[inline]
    pub(crate) fn expire(&mut self, now: Instant) {
        if self.mask != 0 {
            self.expire_some(now);
        }
    }

    #[cold]
    fn expire_some(&mut self, now: Instant) {
        let mask = self.mask;
        for priority in (0..8).map(Priority).filter(|priority| mask & priority.bit() != 0) {
            let until = self.until(priority);
            if until <= now {
                self.unblock(priority, until);
            }
        }
    }

    pub(crate) fn unblock(&mut self, priority: Priority, now: Instant) {
        if self.mask & priority.bit() != 0
            && let Some(history) = &mut self.history
        {
            self.mask &= !priority.bit();
            let paused = &mut history.paused[priority.index()];
            *paused = *paused + now.since(history.since[priority.index()]);
        }
    }

    /// The first time at which one of the paused priorities in `priorities` may send again, unless it is
    /// changed.
    pub(crate) fn next_expiry(&self, priorities: u8) -> Instant {
        let paused = (0..8).map(Priority).filter(|priority| self.mask & priorities & priority.bit() != 0);
        paused.map(|priority| self.until(priority)).min().unwrap_or(Instant::NEVER)
    }

    /// No pause has ever been received.
    pub(crate) const fn is_untouched(&self) -> bool {
        self.mask == 0 && self.ignored == 0 && self.history.is_none()
    }

    /// Time for which one priority was paused, as of `now`.
    #[inline]
    pub(crate) fn paused_of(&self, priority: Priority, now: Instant) -> Span {
        let ended = self.history.as_ref().map_or(Span::ZERO, |history| history.paused[priority.index()]);
        if self.mask & priority.bit() == 0 {
            return ended;
        }
        ended + now.min(self.until(priority)).since(self.since(priority))
    }

    /// Time spent paused, summed over priorities, as of `now`.
    pub(crate) fn paused_by(&self, now: Instant) -> Span {
        (0..8).fold(Span::ZERO, |sum, priority| sum + self.paused_of(Priority(priority), now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_lasts_its_quanta_unless_it_is_ended_or_renewed() {
        let mut state = PauseState::new(Rate::from_gbps(400));
        state.receive(&Packet::pause(Priority(3), 10), Instant(1_000));
        // 10 quanta of 64 bytes at 20 ps.
        assert_eq!(state.next_expiry(0xff), Instant(1_000 + 12_800));
        state.receive(&Packet::pause(Priority(3), 20), Instant(2_000));
        assert_eq!(state.next_expiry(0xff), Instant(2_000 + 25_600));
        assert_eq!(state.next_expiry(!8), Instant::NEVER);
        state.receive(&Packet::pause(Priority(3), 0), Instant(5_000));
        assert_eq!((state.mask(), state.paused_by(Instant(9_000))), (0, Span(4_000)));
        state.receive(&Packet::pause(Priority(3), 10), Instant(10_000));
        state.expire(Instant(22_799));
        assert_eq!(state.mask(), 8);
        state.expire(Instant(22_800));
        assert_eq!(
            (state.mask(), state.paused_by(Instant(99_000)), state.pauses_received()),
            (0, Span(16_800), 3)
        );
    }

    #[test]
    fn an_ignored_pause_is_counted_and_not_obeyed() {
        let mut state = PauseState::new(Rate::from_gbps(400));
        state.receive(&Packet::pause(Priority(3), 10), Instant(1_000));
        state.ignore(Priority(3), Instant(2_000));
        state.receive(&Packet::pause(Priority(3), 10), Instant(3_000));
        assert_eq!((state.mask(), state.paused_by(Instant(9_000))), (0, Span(1_000)));
        state.obey(Priority(3));
        assert!(!state.is_paused(Priority(3), Instant(4_000)));
        state.receive(&Packet::pause(Priority(3), 10), Instant(5_000));
        assert!(
            state.is_paused(Priority(3), Instant(6_000)) && !state.is_paused(Priority(3), Instant(17_800))
        );
        assert_eq!((state.pauses_received(), state.since(Priority(3))), (3, Instant(5_000)));
    }
}
