//! The pair and its event loop.

use super::poster::Poster;
use crate::history::{Frame, History, Step};
use crate::network::{Direction, Network};
use fabricbench_transport::{
    Arrival, Config, Disposition, Placement, Position, Recovery, Reply, Responder, TimeoutOutcome,
};
use std::collections::BTreeMap;
use units::{Instant, Span, Stream};
use wire::Psn;

/// A requester leaves this long between two packets: a full frame at 400 Gb/s, rounded.
pub(crate) const PACKET_TIME: Span = Span(100_000);

/// What will happen.
#[derive(Clone, Copy, Debug)]
enum Event {
    Post(u64),
    Data(Frame),
    Reply(Reply),
    /// A reply that nobody sent.
    ForgeReply,
    /// A data packet that nobody sent.
    ForgeData,
}

/// A requester and a responder with a network between them.
pub(crate) struct Pair<N> {
    config: Config,
    initial_psn: Psn,
    requester: Poster,
    responder: Responder,
    /// Stands for the responder under selective recovery.
    placement: Option<Placement>,
    network: N,
    /// By time, then in the order in which they were scheduled.
    events: BTreeMap<(Instant, u64), Event>,
    scheduled: u64,
    now: Instant,
    /// When the requester may send its next packet.
    port_free: Instant,
    /// Work requests completed.
    completed: usize,
    /// Packets sent for the first time, and accepted, since the beginning.
    sent: u64,
    accepted: u64,
    forger: Stream,
    history: History,
}

impl<N: Network> Pair<N> {
    pub(crate) fn new(config: Config, initial_psn: Psn, network: N) -> Self {
        let placement = match config.recovery {
            Recovery::Selective { ooo_window_packets } => {
                Some(Placement::new(initial_psn, ooo_window_packets))
            }
            Recovery::GoBackN | Recovery::None => None,
        };
        Self {
            config,
            placement,
            initial_psn,
            requester: Poster::new(initial_psn),
            responder: Responder::new(initial_psn),
            network,
            events: BTreeMap::new(),
            scheduled: 0,
            now: Instant::ZERO,
            port_free: Instant::ZERO,
            completed: 0,
            sent: 0,
            accepted: 0,
            forger: units::Seed(0).stream("test.forger", 0),
            history: History::default(),
        }
    }

    /// Posts a work request of `bytes` at `at`.
    pub(crate) fn post_at(&mut self, at: Instant, bytes: u64) {
        self.schedule(at, Event::Post(bytes));
    }

    /// Forges a reply and a data packet at each of `times`, drawn from `forger`.
    pub(crate) fn forge_at(&mut self, times: impl IntoIterator<Item = Instant>, forger: Stream) {
        self.forger = forger;
        for at in times {
            self.schedule(at, Event::ForgeReply);
            self.schedule(at, Event::ForgeData);
        }
    }

    /// Runs until nothing is left to happen, and returns what did.
    ///
    /// # Panics
    /// When that takes more than `steps_max` steps.
    pub(crate) fn run(mut self, steps_max: usize) -> History {
        for _ in 0..steps_max {
            if !self.step() {
                return self.history;
            }
        }
        panic!("still running after {steps_max} steps, at {}", self.now);
    }

    /// Carries out everything that is due next; false when nothing is.
    fn step(&mut self) -> bool {
        let next = self.next_event().min(self.requester.deadline()).min(self.next_send());
        if next == Instant::NEVER {
            return false;
        }
        self.now = next;
        while self.next_event() == next {
            let (_, event) = self.events.pop_first().expect("an event is due");
            self.carry_out(event);
        }
        self.fire_timer();
        if self.next_send() == next {
            self.send();
        }
        true
    }

    fn next_event(&self) -> Instant {
        self.events.first_key_value().map_or(Instant::NEVER, |(&(at, _), _)| at)
    }

    fn next_send(&self) -> Instant {
        if self.requester.can_transmit(&self.config) { self.port_free.max(self.now) } else { Instant::NEVER }
    }

    fn carry_out(&mut self, event: Event) {
        match event {
            Event::Post(bytes) => {
                self.requester.post(&self.config, bytes);
                self.record(Step::Posted(bytes));
            }
            Event::Data(frame) => self.receive(frame),
            Event::Reply(reply) => self.hear(reply),
            Event::ForgeReply => self.forge_reply(),
            Event::ForgeData => self.forge_data(),
        }
    }

    fn receive(&mut self, frame: Frame) {
        let (psn, position) = (frame.transmit.packet.psn, frame.transmit.packet.position);
        let arrival = self.judge(psn, position, frame.transmit.packet.ack_request);
        self.accepted += u64::from(arrival.disposition == Disposition::Accepted);
        self.record(Step::Arrived { frame, arrival });
        self.answer(arrival.reply);
    }

    fn judge(&mut self, psn: Psn, position: Position, ack_request: bool) -> Arrival {
        match &mut self.placement {
            None => self.responder.on_packet(&self.config, psn, position, ack_request),
            Some(placement) => placement.on_packet(&self.config, psn, ack_request),
        }
    }

    fn answer(&mut self, reply: Option<Reply>) {
        if let Some(reply) = reply {
            self.launch(Direction::Reply, Event::Reply(reply));
        }
    }

    fn hear(&mut self, reply: Reply) {
        let outcome = match reply {
            Reply::Ack(psn) => self.requester.on_ack(&self.config, self.now, psn),
            Reply::Nak(psn) => self.requester.on_nak(&self.config, self.now, psn),
            Reply::SelectiveAck { newest, highest } => {
                self.requester.on_selective_ack(&self.config, self.now, newest, highest)
            }
            Reply::SelectiveNak { newest, missing } => {
                self.requester.on_selective_nak(&self.config, self.now, newest, missing)
            }
        };
        self.completed += outcome.completed as usize;
        self.record(Step::Heard { reply, outcome });
    }

    fn fire_timer(&mut self) {
        let deadline = self.requester.deadline();
        match self.requester.on_timeout(&self.config, self.now) {
            TimeoutOutcome::NotDue => assert!(self.now < deadline, "a due timer did not go off"),
            outcome => self.record(Step::Expired(outcome)),
        }
    }

    fn send(&mut self) {
        let transmit = self.requester.poll_transmit(&self.config, self.now);
        let transmit = transmit.expect("a requester that can transmit does");
        self.port_free = self.now + PACKET_TIME;
        self.sent += u64::from(!transmit.packet.is_retransmission);
        let frame = Frame { transmit, request: self.completed + transmit.packet.work };
        self.record(Step::Sent { frame, outstanding: self.requester.outstanding_packets() });
        self.launch(Direction::Data, Event::Data(frame));
    }

    /// An ACK or NAK of anything but the packets outstanding.
    fn forge_reply(&mut self) {
        let outstanding = self.requester.outstanding_packets();
        let unacked = self.initial_psn.add((self.sent - outstanding) as u32);
        let beyond = outstanding as u32 + 1;
        let psn = unacked.add(beyond + self.forger.below(u64::from((1 << 24) - beyond)) as u32);
        let outcome = if self.forger.below(2) == 0 {
            self.requester.on_ack(&self.config, self.now, psn)
        } else {
            self.requester.on_nak(&self.config, self.now, psn)
        };
        self.record(Step::ForgedReply(outcome));
    }

    /// A data packet with any PSN but the one expected.
    fn forge_data(&mut self) {
        let expected = self.initial_psn.add(self.accepted as u32);
        let psn = expected.add(1 + self.forger.below((1 << 24) - 1) as u32);
        let position = Position::new(self.forger.below(2) == 0, self.forger.below(2) == 0);
        let arrival = self.judge(psn, position, position.ends_message());
        self.record(Step::ForgedData(arrival));
        self.answer(arrival.reply);
    }

    fn launch(&mut self, direction: Direction, event: Event) {
        for latency in self.network.carry(self.now, direction).into_iter().flatten() {
            self.schedule(self.now + latency, event);
        }
    }

    fn schedule(&mut self, at: Instant, event: Event) {
        self.events.insert((at, self.scheduled), event);
        self.scheduled += 1;
    }

    fn record(&mut self, step: Step) {
        self.history.record(self.now, step);
    }
}
