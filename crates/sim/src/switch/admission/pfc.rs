//! Requesting side of PFC at a switch: sends, renews and ends pause frames.
//!
//! For a priority group (ingress port, priority) that requests a pause, the switch sends a frame with the
//! configured quanta at once, again each time half of them have passed, and one with zero quanta (XON) when
//! it has room again (IEEE 802.1Q-2022, clause 36). A switch without XON then sends nothing: the pause ends
//! when the time of its last frame is over. A pause frame is ready for transmission after the response time
//! of the switch.

use super::buffer::SharedBuffer;
use crate::link::delayed::Delayed;
use crate::packet::{Packet, Priority};
use crate::switch::queue::EgressPort;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::{Instant, Rate, Span, State};

/// Parameters of pause frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PausePlan {
    /// Requested pause time [quanta].
    pub(crate) quanta: u16,
    /// Time from crossing a threshold to its pause frame.
    pub(crate) response: Span,
    /// A frame with zero quanta ends a pause; without it the pause ends when its time is over.
    pub(crate) sends_xon: bool,
}

/// The pauses that a switch has requested.
#[derive(Debug, State)]
#[state(after = Self::rebuild_renewals)]
pub(crate) struct PauseRequests {
    #[state(skip)]
    quanta: u16,
    #[state(skip)]
    sends_xon: bool,
    /// Pause frames that are not ready yet, with their ports.
    responses: Delayed<(u16, Packet)>,
    /// Rate of each port.
    #[state(skip)]
    rates: Vec<Rate>,
    /// Renewals as (time, port, priority). An entry is valid only if its time equals that in `due`.
    #[state(skip)]
    renewals: BinaryHeap<Reverse<(Instant, u16, Priority)>>,
    /// When the pause of each priority of each port is renewed; never unless it is requested. Empty until the
    /// first request.
    due: Vec<[Instant; Priority::COUNT]>,
}

impl PauseRequests {
    pub(crate) fn new(plan: PausePlan, rates: Vec<Rate>) -> Self {
        let PausePlan { quanta, response, sends_xon } = plan;
        let responses = Delayed::new(response);
        Self { quanta, sends_xon, responses, rates, renewals: BinaryHeap::new(), due: Vec::new() }
    }

    /// Requests a pause if the group of an arrival needs one and has not requested it; returns whether it
    /// did.
    pub(crate) fn note_arrival(
        &mut self,
        buffer: &SharedBuffer,
        port: u16,
        priority: Priority,
        now: Instant,
        ports: &mut [EgressPort],
    ) -> bool {
        buffer.is_pausing(port, priority) && self.request_once(port, priority, now, ports)
    }

    /// Requests a pause if it is not requested yet; returns whether it did.
    pub(crate) fn request_once(
        &mut self,
        port: u16,
        priority: Priority,
        now: Instant,
        ports: &mut [EgressPort],
    ) -> bool {
        let is_new = self.due(port, priority) == Instant::NEVER;
        if is_new {
            self.request(port, priority, now, ports);
        }
        is_new
    }

    fn request(&mut self, port: u16, priority: Priority, now: Instant, ports: &mut [EgressPort]) {
        self.respond(port, Packet::pause(priority, self.quanta), now, ports);
        // One quantum is 512 bit times: 64 bytes. Half of the pause may pass before it is renewed.
        let half = Span(self.rates[usize::from(port)].span_of(u64::from(self.quanta) * 64).0 / 2);
        self.set_due(port, priority, now + half);
        self.renewals.push(Reverse((now + half, port, priority)));
    }

    fn respond(&mut self, port: u16, pause: Packet, now: Instant, ports: &mut [EgressPort]) {
        if let Some((port, pause)) = self.responses.push(now, (port, pause)) {
            ports[usize::from(port)].send_pause(pause);
        }
    }

    fn due(&self, port: u16, priority: Priority) -> Instant {
        self.due.get(usize::from(port)).map_or(Instant::NEVER, |due| due[priority.index()])
    }

    fn set_due(&mut self, port: u16, priority: Priority, at: Instant) {
        self.due.resize(self.rates.len(), [Instant::NEVER; Priority::COUNT]);
        self.due[usize::from(port)][priority.index()] = at;
    }

    /// Ends a pause by XON, or by not renewing it.
    pub(crate) fn end(&mut self, port: u16, priority: Priority, now: Instant, ports: &mut [EgressPort]) {
        self.set_due(port, priority, Instant::NEVER);
        if self.sends_xon {
            self.respond(port, Packet::pause(priority, 0), now, ports);
        }
    }

    /// Whether there are pause frames that are not ready yet.
    pub(crate) fn is_responding(&self) -> bool {
        self.responses.next_due() != Instant::NEVER
    }

    /// When a pause frame is ready or the next pause is renewed.
    pub(crate) fn next_due(&mut self) -> Instant {
        self.responses.next_due().min(self.next_renewal())
    }

    /// When the next pause is renewed. Discards pauses that have ended.
    fn next_renewal(&mut self) -> Instant {
        while let Some(&Reverse((at, port, priority))) = self.renewals.peek() {
            if self.due(port, priority) == at {
                return at;
            }
            self.renewals.pop();
        }
        Instant::NEVER
    }

    /// Recomputes the renewals from `due`, without those of ended pauses.
    fn rebuild_renewals(&mut self) {
        self.renewals.clear();
        for (port, priorities) in (0..).zip(&self.due) {
            let pausing = priorities.iter().enumerate().filter(|(_, at)| **at != Instant::NEVER);
            self.renewals
                .extend(pausing.map(|(priority, at)| Reverse((*at, port, Priority(priority as u8)))));
        }
    }

    /// Processes the event that is due at `now`; returns its port.
    pub(crate) fn act(&mut self, now: Instant, ports: &mut [EgressPort]) -> u16 {
        if let Some((port, pause)) = self.responses.pop_due(now) {
            ports[usize::from(port)].send_pause(pause);
            return port;
        }
        self.renew(now, ports)
    }

    /// Renews the pause that is due; returns its port.
    fn renew(&mut self, now: Instant, ports: &mut [EgressPort]) -> u16 {
        let Some(Reverse((_, port, priority))) = self.renewals.pop() else { return 0 };
        self.request(port, priority, now, ports);
        port
    }
}

#[cfg(test)]
mod tests {
    use super::super::buffer::{BufferPlan, LosslessPlan};
    use super::*;
    use crate::switch::queue::testing::{idle_port, waiting_pauses};
    use spec::XoffSpec;
    use units::Cycle;

    const LOSSLESS: Priority = Priority(3);

    /// Requests of two ports of 400 Gb/s.
    fn requests(response: Span, sends_xon: bool) -> PauseRequests {
        let plan = PausePlan { quanta: 1_000, response, sends_xon };
        PauseRequests::new(plan, vec![Rate::from_gbps(400); 2])
    }

    /// A buffer whose groups request a pause above 100 bytes, and two ports that request 1,000 quanta.
    fn set_up() -> (SharedBuffer, PauseRequests, [EgressPort; 2]) {
        let lossless = LosslessPlan {
            priorities: LOSSLESS.bit(),
            xoff: XoffSpec::Static { bytes: 100 },
            xon_offset_bytes: 0,
            reserved_bytes: 0,
            headroom_bytes: vec![1_000; 2],
        };
        let plan = BufferPlan {
            size_bytes: 10_000,
            cell_bytes: 1,
            lossy_alpha: None,
            lossless: Some(lossless),
            pools: None,
        };
        let requests = requests(Span::ZERO, true);
        (SharedBuffer::new(plan, 2), requests, [idle_port(), idle_port()])
    }

    #[test]
    fn a_group_asks_once_renews_at_half_time_and_ends_with_zero_quanta() {
        let (mut buffer, mut requests, mut ports) = set_up();
        buffer.admit(1, LOSSLESS, 90, 0);
        assert!(!requests.note_arrival(&buffer, 1, LOSSLESS, Instant(10), &mut ports));
        buffer.admit(1, LOSSLESS, 90, 0);
        assert!(requests.note_arrival(&buffer, 1, LOSSLESS, Instant(20), &mut ports));
        assert!(!requests.note_arrival(&buffer, 1, LOSSLESS, Instant(30), &mut ports));
        // 1,000 quanta of 64 bytes at 20 ps are 1.28 us.
        assert_eq!(requests.next_renewal(), Instant(20 + 640_000));
        assert_eq!(requests.renew(Instant(640_020), &mut ports), 1);
        assert_eq!(requests.next_renewal(), Instant(20 + 2 * 640_000));
        requests.end(1, LOSSLESS, Instant(640_030), &mut ports);
        assert_eq!(requests.next_renewal(), Instant::NEVER);
        assert_eq!(waiting_pauses(&ports[1]), [(3, 1_000), (3, 1_000), (3, 0)]);
        assert!(waiting_pauses(&ports[0]).is_empty());
    }

    #[test]
    fn without_xon_a_pause_is_no_longer_renewed_and_its_time_runs_out() {
        let (mut buffer, _, mut ports) = set_up();
        let mut requests = requests(Span::ZERO, false);
        buffer.admit(1, LOSSLESS, 200, 0);
        requests.note_arrival(&buffer, 1, LOSSLESS, Instant(20), &mut ports);
        requests.end(1, LOSSLESS, Instant(30), &mut ports);
        assert_eq!(requests.next_due(), Instant::NEVER);
        // The group may request a pause again while the peer is still paused.
        assert!(requests.request_once(1, LOSSLESS, Instant(40), &mut ports));
        assert_eq!(waiting_pauses(&ports[1]), [(3, 1_000), (3, 1_000)]);
    }

    #[test]
    fn pause_frames_are_ready_after_the_response_time_in_order() {
        let (mut buffer, _, mut ports) = set_up();
        let mut requests = requests(Span(700_000), true);
        buffer.admit(1, LOSSLESS, 200, 0);
        requests.note_arrival(&buffer, 1, LOSSLESS, Instant(20), &mut ports);
        assert!(waiting_pauses(&ports[1]).is_empty() && requests.is_responding());
        // Renewal counts from the crossing, and the second frame is delayed by the same response time.
        assert_eq!((requests.next_due(), requests.act(Instant(640_020), &mut ports)), (Instant(640_020), 1));
        assert_eq!((requests.next_due(), requests.act(Instant(700_020), &mut ports)), (Instant(700_020), 1));
        assert_eq!(waiting_pauses(&ports[1]), [(3, 1_000)]);
        requests.end(1, LOSSLESS, Instant(700_030), &mut ports);
        for at in [1_340_020, 1_400_030].map(Instant) {
            assert_eq!((requests.next_due(), requests.act(at, &mut ports)), (at, 1));
        }
        assert_eq!(waiting_pauses(&ports[1]), [(3, 1_000), (3, 1_000), (3, 0)]);
        assert!(!requests.is_responding() && requests.next_due() == Instant::NEVER);
    }

    #[test]
    fn a_pause_that_ended_and_began_again_is_renewed_by_its_new_time() {
        let (mut buffer, mut requests, mut ports) = set_up();
        buffer.admit(0, LOSSLESS, 200, 0);
        requests.note_arrival(&buffer, 0, LOSSLESS, Instant(0), &mut ports);
        requests.end(0, LOSSLESS, Instant(1), &mut ports);
        requests.note_arrival(&buffer, 0, LOSSLESS, Instant(500_000), &mut ports);
        assert_eq!(requests.next_renewal(), Instant(1_140_000));
    }

    #[test]
    fn requests_repeat_when_renewals_move_on_with_time() {
        let (mut buffer, mut requests, mut ports) = set_up();
        buffer.admit(0, LOSSLESS, 200, 0);
        requests.note_arrival(&buffer, 0, LOSSLESS, Instant(0), &mut ports);
        let mut cycle = Cycle::record(Instant(0));
        requests.visit(&mut cycle);
        requests.renew(Instant(640_000), &mut ports);
        cycle.compare(Instant(640_000));
        requests.visit(&mut cycle);
        assert!(cycle.room() > 0);
        // Advanced by three more periods, it is renewed that much later.
        assert_eq!(cycle.advance(3), Instant(4 * 640_000));
        requests.visit(&mut cycle);
        assert_eq!(requests.next_renewal(), Instant(5 * 640_000));
        let mut ended = Cycle::record(Instant(0));
        requests.visit(&mut ended);
        requests.end(0, LOSSLESS, Instant(640_001), &mut ports);
        ended.compare(Instant(640_000));
        requests.visit(&mut ended);
        assert_eq!(ended.room(), 0, "a pause has ended");
        assert_eq!(requests.next_renewal(), Instant::NEVER);
    }
}
