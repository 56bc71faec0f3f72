//! Scheduler of the queue pairs of an endpoint: FIFO queues of urgent ones (with replies or single
//! retransmissions) and of ready ones, a heap of timers, and a limit of packets in flight.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use transport::QueuePair;
use units::Instant;

/// Scheduling state of a queue pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scheduling {
    is_urgent: bool,
    is_ready: bool,
    /// Its earliest entry among the timers.
    timer: Instant,
    in_flight: u32,
    /// Time of the last update.
    updated: Instant,
    ready_since: Instant,
}

impl Default for Scheduling {
    fn default() -> Self {
        Self {
            is_urgent: false,
            is_ready: false,
            timer: Instant::NEVER,
            in_flight: 0,
            updated: Instant::ZERO,
            ready_since: Instant::ZERO,
        }
    }
}

/// Queue pairs with pending work, by index. A queue pair is served when it is dequeued.
///
/// The number of in-flight packets of all queue pairs is limited. This protects the peer's socket buffer from
/// thousands of queue pairs that each fill their own window.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// Queue pairs with replies or single retransmissions, to which the limit does not apply.
    urgent: VecDeque<usize>,
    /// Queue pairs with packets to send.
    ready: VecDeque<usize>,
    timers: BinaryHeap<Reverse<(Instant, usize)>>,
    in_flight: u64,
    in_flight_max: u64,
}

impl Schedule {
    pub(crate) const fn new(in_flight_max: u32) -> Self {
        Self {
            urgent: VecDeque::new(),
            ready: VecDeque::new(),
            timers: BinaryHeap::new(),
            in_flight: 0,
            in_flight_max: in_flight_max as u64,
        }
    }

    /// Reschedules a queue pair after an event at or before `now`.
    pub(crate) fn update(
        &mut self,
        index: usize,
        scheduling: &mut Scheduling,
        queue_pair: &QueuePair,
        now: Instant,
    ) {
        let in_flight = queue_pair.in_flight_packets();
        self.in_flight = self.in_flight - u64::from(scheduling.in_flight) + u64::from(in_flight);
        scheduling.in_flight = in_flight;
        if queue_pair.has_urgent() {
            if !scheduling.is_urgent {
                scheduling.is_urgent = true;
                self.urgent.push_back(index);
            }
            return;
        }
        let deadline = queue_pair.deadline();
        if deadline <= now {
            if !scheduling.is_ready {
                scheduling.is_ready = true;
                // A deadline after the last update is an expired timer; otherwise it became ready now.
                scheduling.ready_since = if deadline > scheduling.updated { deadline } else { now };
                self.ready.push_back(index);
            }
            // If the limit prevents sending, the retransmission timer is still needed: all packets in flight
            // may be lost.
            self.set_timer(index, scheduling, queue_pair.retransmission_deadline());
        } else {
            self.set_timer(index, scheduling, deadline);
        }
        scheduling.updated = now;
    }

    /// Sets a timer, unless the queue pair has an earlier one.
    fn set_timer(&mut self, index: usize, scheduling: &mut Scheduling, at: Instant) {
        if at < scheduling.timer {
            scheduling.timer = at;
            self.timers.push(Reverse((at, index)));
        }
    }

    /// Number of urgent queue pairs.
    pub(crate) fn urgent(&self) -> usize {
        self.urgent.len()
    }

    /// Dequeues an urgent queue pair.
    pub(crate) fn next_urgent(&mut self) -> Option<usize> {
        self.urgent.pop_front()
    }

    /// Dequeues a queue pair with packets to send, unless the limit is reached.
    pub(crate) fn next_ready(&mut self) -> Option<usize> {
        if self.is_full() { None } else { self.ready.pop_front() }
    }

    /// Whether the limit of in-flight packets is reached.
    pub(crate) const fn is_full(&self) -> bool {
        self.in_flight >= self.in_flight_max
    }

    /// Dequeues an expired timer; the queue pair's deadline may have changed since.
    pub(crate) fn next_expired(&mut self, now: Instant) -> Option<(Instant, usize)> {
        let Reverse((at, _)) = *self.timers.peek()?;
        if at > now {
            return None;
        }
        self.timers.pop().map(|Reverse(timer)| timer)
    }

    /// Time of the next work, if new payload may be sent from `payload_from` on.
    pub(crate) fn deadline(&self, payload_from: Instant) -> Instant {
        if !self.urgent.is_empty() {
            return Instant::ZERO;
        }
        let waits = self.ready.is_empty() || self.is_full();
        let payload = if waits { Instant::NEVER } else { payload_from };
        self.timers.peek().map_or(payload, |Reverse((at, _))| payload.min(*at))
    }
}

impl Scheduling {
    /// Notes that it was dequeued from `urgent`.
    pub(crate) const fn leave_urgent(&mut self) {
        self.is_urgent = false;
    }

    /// Time since which it had packets to send, as of its last update.
    pub(crate) const fn ready_since(&self) -> Instant {
        self.ready_since
    }

    /// Notes that it was dequeued from `ready`.
    pub(crate) const fn leave_ready(&mut self) {
        self.is_ready = false;
    }

    /// Notes that one of its timers was dequeued.
    pub(crate) fn leave_timer(&mut self, at: Instant) {
        if self.timer == at {
            self.timer = Instant::NEVER;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transport::{Config, Controller, Reads, Recovery, Settings};
    use units::Span;
    use wire::Psn;
    use wire::aeth::RnrTimer;
    use wire::bth::Qpn;

    fn queue_pair() -> QueuePair {
        let config = Config {
            mtu_bytes: 1024,
            message_bytes: 1 << 20,
            ack_every: 1,
            window_packets: 4,
            timeout: Span::from_us(100),
            retry_count: 7,
            recovery: Recovery::GoBackN,
        };
        let settings = Settings {
            config,
            number: Qpn::default(),
            peer: Qpn::default(),
            first_psn: Psn::new(0),
            peer_first_psn: Psn::new(0),
            rate: Controller::LINE_RATE,
            cnp_interval: None,
            reads: Reads::NONE,
            memory: None,
            peer_remote_key: 0,
            rnr_timer: RnrTimer::default(),
            rnr_retry_count: 0,
        };
        let mut made = QueuePair::new(&settings).unwrap();
        made.post_write(0, 100_000).unwrap();
        made
    }

    const NOW: Instant = Instant(1_000);

    #[test]
    fn a_queue_pair_waits_once_and_then_for_its_timer() {
        let (mut schedule, mut scheduling, mut pair) =
            (Schedule::new(100), Scheduling::default(), queue_pair());
        assert_eq!(schedule.deadline(Instant::ZERO), Instant::NEVER);
        schedule.update(3, &mut scheduling, &pair, NOW);
        schedule.update(3, &mut scheduling, &pair, NOW);
        assert_eq!(
            (schedule.deadline(Instant::ZERO), schedule.next_ready(), schedule.next_ready()),
            (Instant::ZERO, Some(3), None)
        );
        scheduling.leave_ready();
        while pair.poll_transmit(NOW).is_some() {}
        schedule.update(3, &mut scheduling, &pair, NOW);
        let due = NOW + Span::from_us(100);
        assert_eq!((schedule.next_ready(), schedule.deadline(Instant::ZERO)), (None, due));
        assert_eq!(schedule.next_expired(Instant(due.0 - 1)), None);
        assert_eq!(schedule.next_expired(due), Some((due, 3)));
        scheduling.leave_timer(due);
        pair.on_timeout(due);
        schedule.update(3, &mut scheduling, &pair, due);
        assert_eq!(schedule.next_ready(), Some(3));
    }

    #[test]
    fn together_they_have_no_more_under_way_than_the_limit() {
        let mut schedule = Schedule::new(8);
        let mut pairs: Vec<_> = (0..5).map(|_| (queue_pair(), Scheduling::default())).collect();
        let mut refresh = |schedule: &mut Schedule, index: usize, sends: bool| {
            let (pair, scheduling): &mut (QueuePair, Scheduling) = &mut pairs[index];
            scheduling.leave_ready();
            while sends && pair.poll_transmit(NOW).is_some() {}
            schedule.update(index, scheduling, pair, NOW);
        };
        (0..5).for_each(|index| refresh(&mut schedule, index, false));
        let mut order = Vec::new();
        while let Some(index) = schedule.next_ready() {
            order.push(index);
            refresh(&mut schedule, index, true);
        }
        assert_eq!(order, [0, 1], "four packets each");
        assert_eq!(
            schedule.deadline(Instant::ZERO),
            NOW + Span::from_us(100),
            "nothing to do for those that wait"
        );
    }

    #[test]
    fn the_limit_does_not_stop_a_retransmission_timer() {
        let (mut schedule, mut scheduling, mut pair) =
            (Schedule::new(2), Scheduling::default(), queue_pair());
        for _ in 0..2 {
            assert!(pair.poll_transmit(NOW).is_some());
        }
        schedule.update(3, &mut scheduling, &pair, NOW);
        assert!(schedule.is_full() && pair.deadline() <= NOW, "its window is open, the limit is reached");
        let due = NOW + Span::from_us(100);
        assert_eq!((schedule.next_ready(), schedule.deadline(Instant::ZERO)), (None, due));
        assert_eq!(schedule.next_expired(due), Some((due, 3)));
        scheduling.leave_timer(due);
        pair.on_timeout(due);
        schedule.update(3, &mut scheduling, &pair, due);
        assert_eq!(schedule.next_ready(), Some(3), "it sends again");
    }
}
