//! A requester, and how many bytes the work has that was posted: what its owner is to know.

use fabricbench_transport::{AckOutcome, Config, Position, Requester, TimeoutOutcome, Transmit};
use std::collections::VecDeque;
use units::Instant;
use wire::Psn;

/// A requester with the sizes of its work requests.
pub(crate) struct Poster {
    requester: Requester,
    /// Of those that are not completed, oldest first [bytes].
    work: VecDeque<u64>,
}

impl Poster {
    pub(crate) fn new(initial_psn: Psn) -> Self {
        Self { requester: Requester::new(initial_psn), work: VecDeque::new() }
    }

    pub(crate) fn post(&mut self, config: &Config, bytes: u64) {
        self.requester.post(config, bytes);
        self.work.push_back(bytes);
    }

    pub(crate) fn poll_transmit(&mut self, config: &Config, now: Instant) -> Option<Transmit> {
        let Self { requester, work } = self;
        let packet = requester.poll_transmit(config, now, u32::MAX, |index| work[index])?;
        Some(requester.transmit(config, &packet, |index| work[index]))
    }

    pub(crate) fn on_ack(&mut self, config: &Config, now: Instant, psn: Psn) -> AckOutcome {
        let Self { requester, work } = self;
        let outcome = requester.on_ack(config, now, psn, |index| work[index]);
        self.complete(outcome)
    }

    pub(crate) fn on_nak(&mut self, config: &Config, now: Instant, psn: Psn) -> AckOutcome {
        let Self { requester, work } = self;
        let outcome = requester.on_nak(config, now, psn, |index| work[index]);
        self.complete(outcome)
    }

    pub(crate) fn on_selective_ack(
        &mut self,
        config: &Config,
        now: Instant,
        newest: Psn,
        highest: Psn,
    ) -> AckOutcome {
        let Self { requester, work } = self;
        let outcome = requester.on_selective_ack(config, now, newest, highest, |index| work[index]);
        self.complete(outcome)
    }

    pub(crate) fn on_selective_nak(
        &mut self,
        config: &Config,
        now: Instant,
        newest: Psn,
        missing: Psn,
    ) -> AckOutcome {
        let Self { requester, work } = self;
        let outcome = requester.on_selective_nak(config, now, newest, missing, |index| work[index]);
        self.complete(outcome)
    }

    pub(crate) fn on_timeout(&mut self, config: &Config, now: Instant) -> TimeoutOutcome {
        let Self { requester, work } = self;
        requester.on_timeout(config, now, |index| work[index])
    }

    pub(crate) fn can_transmit(&self, config: &Config) -> bool {
        self.requester.can_transmit(config, u32::MAX)
    }

    pub(crate) fn next_payload(&self, config: &Config) -> Option<(Position, u32)> {
        self.requester.next_payload(config)
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.requester.deadline()
    }

    pub(crate) fn is_failed(&self) -> bool {
        self.requester.is_failed()
    }

    pub(crate) fn outstanding_packets(&self) -> u64 {
        self.requester.outstanding_packets()
    }

    fn complete(&mut self, outcome: AckOutcome) -> AckOutcome {
        self.work.drain(..outcome.completed as usize);
        outcome
    }
}
