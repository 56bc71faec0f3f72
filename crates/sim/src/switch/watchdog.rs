//! PFC watchdog of the egress queues of a switch, as in SONiC (PFC Watchdog Design): detects storms, drops or
//! sends the frames of queues in a storm, and ends it.
//!
//! A queue that is paused, not empty and has sent nothing for the whole detection time is in a storm. Until
//! no pause has arrived for the restoration time, its pauses are ignored, and its frames, queued and
//! arriving, are dropped or sent regardless. SONiC polls counters; here the times are exact. Leaves out the
//! ingress side, which some chips drop as well, and hosts.

use super::queue::{BufferedFrame, EgressPort};
use crate::packet::Priority;
use spec::WatchdogSpec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::{Instant, Span, State};

/// Beginning or end of a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub(crate) struct StormEvent {
    pub(crate) at: Instant,
    pub(crate) port: u16,
    pub(crate) priority: Priority,
    pub(crate) change: StormChange,
}

/// Change of the state of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, State)]
pub(crate) enum StormChange {
    /// A storm was detected with this many bytes queued.
    Detected { bytes: u64 },
    /// Pauses are obeyed again.
    Restored,
}

/// Result of checking a queue.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) port: u16,
    /// Frames that are lost.
    pub(super) flushed: Vec<BufferedFrame>,
}

/// The watchdog of a switch.
#[derive(Debug, State)]
pub(crate) struct Watchdog {
    #[state(skip)]
    spec: WatchdogSpec,
    /// Time of the next check of each watched queue: one entry per queue.
    due: BinaryHeap<Reverse<(Instant, u16, Priority)>>,
    /// By port; bit `p` is set while the queue of priority `p` is watched.
    watched: Vec<u8>,
    /// When each queue was last paused; valid while it is watched.
    last_pause: Vec<[Instant; Priority::COUNT]>,
    log: Vec<StormEvent>,
}

impl Watchdog {
    pub(super) fn new(spec: WatchdogSpec, ports: usize) -> Self {
        Self {
            spec,
            due: BinaryHeap::new(),
            watched: vec![0; ports],
            last_pause: vec![[Instant::ZERO; Priority::COUNT]; ports],
            log: Vec::new(),
        }
    }

    /// Storms so far, in order of time.
    pub(crate) fn log(&self) -> &[StormEvent] {
        &self.log
    }

    /// Records that a queue was paused, or its pause renewed, at `now`.
    pub(super) fn note_pause(&mut self, port: u16, priority: Priority, now: Instant) {
        self.last_pause[usize::from(port)][priority.index()] = now;
        if self.watched[usize::from(port)] & priority.bit() == 0 {
            self.watched[usize::from(port)] |= priority.bit();
            self.due.push(Reverse((now + Span(self.spec.detection_ps), port, priority)));
        }
    }

    /// Time of the next check.
    pub(super) fn next_due(&self) -> Instant {
        self.due.peek().map_or(Instant::NEVER, |&Reverse((at, ..))| at)
    }

    /// Stops watching all queues; called when none is paused or in a storm.
    pub(super) fn forget(&mut self) {
        self.due.clear();
        self.watched.fill(0);
    }

    /// Checks the queue that is due at `now`: a storm may begin or end.
    pub(super) fn check(&mut self, now: Instant, ports: &mut [EgressPort]) -> Checked {
        let Some(Reverse((_, number, priority))) = self.due.pop() else {
            return Checked { port: 0, flushed: Vec::new() };
        };
        let port = &mut ports[usize::from(number)];
        let (again, flushed) = if port.is_in_storm(priority) {
            (self.check_storm(number, priority, now, port), Vec::new())
        } else {
            self.check_queue(number, priority, now, port)
        };
        match again {
            Some(at) => self.due.push(Reverse((at, number, priority))),
            None => self.watched[usize::from(number)] &= !priority.bit(),
        }
        Checked { port: number, flushed }
    }

    /// Ends a storm once no pause has arrived for the restoration time; otherwise returns the time of the
    /// next check.
    fn check_storm(
        &mut self,
        number: u16,
        priority: Priority,
        now: Instant,
        port: &mut EgressPort,
    ) -> Option<Instant> {
        let end = self.last_pause[usize::from(number)][priority.index()] + Span(self.spec.restoration_ps);
        if end > now {
            return Some(end);
        }
        port.end_storm(priority);
        self.log.push(StormEvent { at: now, port: number, priority, change: StormChange::Restored });
        None
    }

    /// Begins a storm if a queue has been blocked for the detection time. Returns the time of the next check
    /// and the lost frames.
    fn check_queue(
        &mut self,
        number: u16,
        priority: Priority,
        now: Instant,
        port: &mut EgressPort,
    ) -> (Option<Instant>, Vec<BufferedFrame>) {
        if !port.pause().is_paused(priority, now) {
            return (None, Vec::new());
        }
        // An empty queue may fill at any time from now on.
        let storm_at = port.paused_since(priority, now).unwrap_or(now) + Span(self.spec.detection_ps);
        if storm_at > now {
            return (Some(storm_at), Vec::new());
        }
        let bytes = port.queue_bytes(priority);
        self.log.push(StormEvent {
            at: now,
            port: number,
            priority,
            change: StormChange::Detected { bytes },
        });
        let flushed = port.begin_storm(priority, self.spec.action, now);
        let end = self.last_pause[usize::from(number)][priority.index()] + Span(self.spec.restoration_ps);
        (Some(end.max(now)), flushed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::queue::testing::{frame, idle_port};
    use super::*;
    use crate::packet::Packet;
    use spec::StormActionSpec;

    const LOSSLESS: Priority = Priority(3);

    fn watchdog(action: StormActionSpec) -> Watchdog {
        Watchdog::new(WatchdogSpec { detection_ps: 1_000, restoration_ps: 300, action }, 1)
    }

    /// Delivers a pause that lasts far longer than the test.
    fn pause(watchdog: &mut Watchdog, port: &mut EgressPort, at: u64) {
        port.receive_link_control(&Packet::pause(LOSSLESS, u16::MAX).arriving(Instant(at)));
        watchdog.note_pause(0, LOSSLESS, Instant(at));
    }

    #[test]
    fn a_storm_begins_when_frames_have_waited_long_enough_and_ends_when_pauses_stop() {
        let (mut watchdog, mut ports) = (watchdog(StormActionSpec::Drop), [idle_port()]);
        pause(&mut watchdog, &mut ports[0], 100);
        ports[0].enqueue(&mut frame(LOSSLESS, 0, Instant(600)));
        pause(&mut watchdog, &mut ports[0], 700);
        assert_eq!(watchdog.next_due(), Instant(1_100));
        assert!(watchdog.check(Instant(1_100), &mut ports).flushed.is_empty(), "the frame arrived at 600");
        assert_eq!(watchdog.next_due(), Instant(1_600));
        assert_eq!(watchdog.check(Instant(1_600), &mut ports).flushed.len(), 1);
        assert!(ports[0].is_dropping(LOSSLESS) && ports[0].queued_bytes() == 0);
        pause(&mut watchdog, &mut ports[0], 1_700);
        watchdog.check(Instant(1_600), &mut ports);
        assert_eq!(watchdog.next_due(), Instant(2_000), "300 after the last pause");
        watchdog.check(Instant(2_000), &mut ports);
        assert!(!ports[0].is_in_storm(LOSSLESS) && !ports[0].is_dropping(LOSSLESS));
        assert_eq!(watchdog.next_due(), Instant::NEVER);
        let changes: Vec<_> = watchdog.log().iter().map(|event| (event.at.0, event.change)).collect();
        assert_eq!(
            changes,
            [(1_600, StormChange::Detected { bytes: 1_000 }), (2_000, StormChange::Restored)]
        );
        assert_eq!(ports[0].counters().dropped_watchdog.frames, 1);
    }

    #[test]
    fn forwarding_ignores_the_pause_and_drops_nothing() {
        let (mut watchdog, mut ports) = (watchdog(StormActionSpec::Forward), [idle_port()]);
        ports[0].enqueue(&mut frame(LOSSLESS, 0, Instant(50)));
        pause(&mut watchdog, &mut ports[0], 100);
        assert!(ports[0].next_send() > Instant(1_100));
        assert!(watchdog.check(Instant(1_100), &mut ports).flushed.is_empty());
        assert!(ports[0].is_in_storm(LOSSLESS) && !ports[0].is_dropping(LOSSLESS));
        assert!(ports[0].next_send() <= Instant(1_100));
    }

    #[test]
    fn an_empty_queue_and_one_that_is_not_paused_are_left_alone() {
        let (mut watchdog, mut ports) = (watchdog(StormActionSpec::Drop), [idle_port()]);
        pause(&mut watchdog, &mut ports[0], 100);
        watchdog.check(Instant(1_100), &mut ports);
        assert_eq!(watchdog.next_due(), Instant(2_100), "it may fill from now on");
        ports[0].receive_link_control(&Packet::pause(LOSSLESS, 0).arriving(Instant(2_000)));
        watchdog.check(Instant(2_100), &mut ports);
        assert_eq!((watchdog.next_due(), watchdog.log().len()), (Instant::NEVER, 0));
    }
}
