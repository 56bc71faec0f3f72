//! The requester against a model of it that counts whole packets and knows no cursor, no queue and no
//! modulus.

use super::poster::Poster;
use fabricbench_transport::{AckOutcome, Config, Recovery, TimeoutOutcome};
use proptest::prelude::*;
use units::{Instant, Span};
use wire::Psn;

/// Something done to a requester.
#[derive(Clone, Copy, Debug)]
enum Action {
    Post { bytes: u64 },
    Transmit { packets: u8 },
    Ack(Target),
    Nak(Target),
    Wait(Span),
}

/// Which PSN a reply names.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// So many packets from the oldest unacknowledged one.
    Near(i32),
    Any(Psn),
}

/// What a requester must look like from outside.
#[derive(Clone, Debug)]
struct Model {
    config: Config,
    initial_psn: Psn,
    /// One past the last packet of every work request that was posted.
    ends: Vec<u64>,
    next: u64,
    unacked: u64,
    sent: u64,
    retries: u32,
    deadline: Instant,
    has_failed: bool,
}

impl Model {
    fn new(config: Config, initial_psn: Psn) -> Self {
        Self {
            config,
            initial_psn,
            ends: Vec::new(),
            next: 0,
            unacked: 0,
            sent: 0,
            retries: 0,
            deadline: Instant::NEVER,
            has_failed: false,
        }
    }

    fn psn_of(&self, packet: u64) -> Psn {
        Psn::new((u64::from(self.initial_psn.value()) + packet) as u32)
    }

    fn psn(&self, target: Target) -> Psn {
        match target {
            Target::Near(packets) => self.psn_of(self.unacked).add(packets as u32),
            Target::Any(psn) => psn,
        }
    }

    fn posted(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    fn completed(&self) -> usize {
        self.ends.iter().filter(|&&end| end <= self.unacked).count()
    }

    fn post(&mut self, bytes: u64) {
        self.ends.push(self.posted() + self.config.packets(bytes));
    }

    fn can_transmit(&self) -> bool {
        let end = self.posted().min(self.unacked + u64::from(self.config.window_packets));
        self.next < end && !self.has_failed
    }

    fn transmit(&mut self, now: Instant) {
        if self.next == self.unacked {
            self.deadline = now + self.config.timeout;
        }
        self.next += 1;
        self.sent = self.sent.max(self.next);
    }

    fn ack(&mut self, now: Instant, psn: Psn) -> AckOutcome {
        let acked = (self.unacked..self.sent).find(|&packet| self.psn_of(packet) == psn);
        acked.map_or_else(AckOutcome::default, |packet| self.progress_to(now, packet + 1))
    }

    fn nak(&mut self, now: Instant, psn: Psn) -> AckOutcome {
        let Some(missing) = (self.unacked..=self.sent).find(|&packet| self.psn_of(packet) == psn) else {
            return AckOutcome::default();
        };
        let outcome = self.progress_to(now, missing);
        if !self.has_failed && self.next > self.unacked {
            self.go_back();
        }
        outcome
    }

    fn progress_to(&mut self, now: Instant, packet: u64) -> AckOutcome {
        if self.has_failed || packet == self.unacked {
            return AckOutcome::default();
        }
        let (before, packets) = (self.completed(), (packet - self.unacked) as u32);
        self.unacked = packet;
        self.next = self.next.max(packet);
        self.retries = 0;
        self.deadline = if self.next > packet { now + self.config.timeout } else { Instant::NEVER };
        AckOutcome { completed: (self.completed() - before) as u32, packets }
    }

    fn go_back(&mut self) {
        self.next = self.unacked;
        self.deadline = Instant::NEVER;
    }

    fn timeout(&mut self, now: Instant) -> TimeoutOutcome {
        if now < self.deadline {
            return TimeoutOutcome::NotDue;
        }
        if self.retries == self.config.retry_count {
            self.has_failed = true;
            self.deadline = Instant::NEVER;
            return TimeoutOutcome::Failed;
        }
        self.retries += 1;
        self.go_back();
        TimeoutOutcome::Resend
    }
}

/// A requester and its model, side by side.
struct Twins {
    requester: Poster,
    model: Model,
    now: Instant,
}

impl Twins {
    fn new(config: Config, initial_psn: Psn) -> Self {
        let requester = Poster::new(initial_psn);
        Self { requester, model: Model::new(config, initial_psn), now: Instant::ZERO }
    }

    fn act(&mut self, action: Action) {
        let config = self.model.config.clone();
        let now = self.now;
        match action {
            Action::Post { bytes } => {
                self.requester.post(&config, bytes);
                self.model.post(bytes);
            }
            Action::Transmit { packets } => (0..packets).for_each(|_| self.transmit(&config)),
            Action::Ack(target) => {
                let psn = self.model.psn(target);
                assert_eq!(self.requester.on_ack(&config, now, psn), self.model.ack(now, psn));
            }
            Action::Nak(target) => {
                let psn = self.model.psn(target);
                assert_eq!(self.requester.on_nak(&config, now, psn), self.model.nak(now, psn));
            }
            Action::Wait(span) => {
                self.now += span;
                assert_eq!(self.requester.on_timeout(&config, self.now), self.model.timeout(self.now));
            }
        }
        self.compare();
    }

    fn transmit(&mut self, config: &Config) {
        let transmit = self.requester.poll_transmit(config, self.now);
        assert_eq!(transmit.is_some(), self.model.can_transmit());
        let Some(transmit) = transmit else { return };
        let packet = self.model.next;
        assert_eq!(transmit.packet.psn, self.model.psn_of(packet));
        assert_eq!(transmit.packet.is_retransmission, packet < self.model.sent);
        let request = self.model.ends.iter().filter(|&&end| end <= packet).count();
        assert_eq!(transmit.packet.work, request - self.model.completed());
        self.model.transmit(self.now);
    }

    fn compare(&self) {
        let (requester, model) = (&self.requester, &self.model);
        assert_eq!(requester.can_transmit(&model.config), model.can_transmit());
        assert_eq!(requester.outstanding_packets(), model.sent - model.unacked);
        assert!(requester.outstanding_packets() <= u64::from(model.config.window_packets));
        assert_eq!(requester.deadline(), model.deadline);
        assert_eq!(requester.is_failed(), model.has_failed);
        // The timer runs exactly while a packet is under way.
        assert_eq!(requester.deadline() == Instant::NEVER, model.next == model.unacked || model.has_failed);
    }
}

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![4 => (-3i32..12).prop_map(Target::Near), 1 => any::<u32>().prop_map(|psn| Target::Any(Psn::new(psn)))]
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        1 => (prop_oneof![1 => Just(0u64), 9 => 1u64..10_000]).prop_map(|bytes| Action::Post { bytes }),
        3 => (1u8..8).prop_map(|packets| Action::Transmit { packets }),
        3 => target().prop_map(Action::Ack),
        1 => target().prop_map(Action::Nak),
        2 => (0u64..1_500_000).prop_map(|ps| Action::Wait(Span(ps))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_requester_does_what_its_model_does(
        actions in prop::collection::vec(action(), 1..120),
        initial_psn in prop_oneof![any::<u32>(), 0xff_fff0u32..=0xff_ffff],
        window_packets in 1u32..16,
        message_bytes in 1u64..3000,
        retry_count in 0u32..5,
    ) {
        let config = Config {
            mtu_bytes: 512,
            // At most a hundred messages for each request.
            message_bytes: message_bytes.max(100),
            ack_every: 1,
            window_packets,
            timeout: Span::from_us(1),
            retry_count,
            recovery: Recovery::GoBackN,
        };
        let mut twins = Twins::new(config, Psn::new(initial_psn));
        actions.into_iter().for_each(|action| twins.act(action));
    }
}
