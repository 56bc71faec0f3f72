//! The transfers a host takes part in, which of them wait for which, and the rounds of its job.
//!
//! A job that repeats is a stream of rounds at each rank: the next begins when everything this rank sends in the
//! present one is acknowledged and everything it receives in it has arrived. Ranks do not wait for each other beyond
//! that, so what a rank that is ahead sends may arrive before its round has begun here; it counts from then on.

use std::collections::BTreeMap;
use std::ops::Range;
use units::{Instant, Span};

/// A transfer that starts at this host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outgoing {
    /// What must still happen first: transfers that have not arrived, and the one before it, if its rank has one
    /// transfer under way at a time.
    waits_for: u32,
    /// Its parts, see [`Transfers::part`].
    pub(crate) parts: Range<u32>,
    /// Parts that must still be acknowledged.
    parts_left: u32,
    /// The transfer that waits for its acknowledgement.
    pub(crate) next: Option<u32>,
}

/// A transfer that ends at this host.
#[derive(Clone, Debug)]
pub(crate) struct Inbound {
    /// Parts that must still arrive.
    parts_left: u32,
    /// What waits for it, in [`Transfers::successors`].
    successors: Range<u32>,
}

/// When and how often the job of a host runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JobTimes {
    /// When it starts.
    pub(crate) start: Instant,
    /// Software overhead before each post.
    pub(crate) overhead: Span,
    /// Rounds it runs; without a number, it is the others that end it.
    pub(crate) rounds: Option<u32>,
}

/// The transfers of a host.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    pub(crate) outgoing: Vec<Outgoing>,
    pub(crate) inbound: Vec<Inbound>,
    /// Outgoing transfers that wait for an inbound one.
    successors: Vec<u32>,
    /// Sender and send of each part.
    pub(crate) parts: Vec<(u32, u32)>,
    /// Parts of each transfer.
    pub(crate) split: u32,
    pub(crate) times: JobTimes,
    /// When each outgoing transfer of open-loop traffic is posted, ascending; empty where dependencies decide.
    pub(crate) releases: Vec<Instant>,
    round: u32,
    /// Parts to be acknowledged and to arrive before the round ends.
    left: u64,
    /// Inbound parts of rounds that have not begun, by round.
    early: BTreeMap<u32, Vec<u32>>,
    /// Scratch space: what may start now.
    pub(super) started: Vec<u32>,
}

impl Transfers {
    /// Adds an inbound transfer that `successors` wait for.
    pub(crate) fn push_inbound(&mut self, successors: impl Iterator<Item = u32>) {
        let first = self.successors.len() as u32;
        self.successors.extend(successors);
        let successors = first..self.successors.len() as u32;
        self.inbound.push(Inbound { parts_left: 0, successors });
    }

    /// Makes every transfer wait for what it depends on, as a round begins.
    pub(super) fn arm(&mut self) {
        for outgoing in &mut self.outgoing {
            outgoing.parts_left = self.split;
            outgoing.waits_for = 0;
        }
        for inbound in &mut self.inbound {
            inbound.parts_left = self.split;
        }
        for &successor in &self.successors {
            self.outgoing[successor as usize].waits_for += 1;
        }
        for index in 0..self.outgoing.len() {
            if let Some(next) = self.outgoing[index].next {
                self.outgoing[next as usize].waits_for += 1;
            }
        }
        self.left = (self.outgoing.len() + self.inbound.len()) as u64 * u64::from(self.split);
    }

    /// What waits for nothing, in the order of the schedule.
    pub(super) fn initial(&self) -> impl Iterator<Item = u32> {
        let ready = self.outgoing.iter().enumerate().filter(|(_, outgoing)| outgoing.waits_for == 0);
        ready.map(|(index, _)| index as u32)
    }

    /// When the open-loop transfer after `outgoing` is posted.
    pub(super) fn release_after(&self, outgoing: u32) -> Option<Instant> {
        self.releases.get(outgoing as usize + 1).copied()
    }

    /// The present round, from 0.
    pub(super) const fn round(&self) -> u32 {
        self.round
    }

    /// Whether the job goes on until others end.
    pub(super) const fn is_background(&self) -> bool {
        self.times.rounds.is_none()
    }

    /// Begins the next round if there is one and this one is done; adds what may start now to `started`.
    pub(super) fn next_round(&mut self, started: &mut Vec<u32>) -> bool {
        if self.left > 0 || self.times.rounds.is_some_and(|rounds| self.round + 1 >= rounds) {
            return false;
        }
        self.round += 1;
        self.arm();
        started.extend(self.initial());
        for inbound in self.early.remove(&self.round).unwrap_or_default() {
            self.deliver_part(inbound, self.round, started);
        }
        true
    }

    /// Indices of the parts of an outgoing transfer.
    pub(super) fn parts(&self, outgoing: u32) -> Range<u32> {
        self.outgoing[outgoing as usize].parts.clone()
    }

    /// Sender and send of a part.
    pub(super) fn part(&self, part: u32) -> (u32, u32) {
        self.parts[part as usize]
    }

    /// One part of an inbound transfer of `round` has arrived; adds what may start now to `started`.
    pub(super) fn deliver_part(&mut self, inbound: u32, round: u32, started: &mut Vec<u32>) {
        if round != self.round {
            debug_assert!(round > self.round, "a round ends when everything has arrived");
            return self.early.entry(round).or_default().push(inbound);
        }
        self.left -= 1;
        let transfer = &mut self.inbound[inbound as usize];
        transfer.parts_left -= 1;
        if transfer.parts_left > 0 {
            return;
        }
        for &successor in
            &self.successors[transfer.successors.start as usize..transfer.successors.end as usize]
        {
            let outgoing = &mut self.outgoing[successor as usize];
            outgoing.waits_for -= 1;
            if outgoing.waits_for == 0 {
                started.push(successor);
            }
        }
    }

    /// One part of an outgoing transfer has been acknowledged; returns what may start now.
    pub(super) fn acknowledge_part(&mut self, outgoing: u32) -> Option<u32> {
        self.left -= 1;
        let transfer = &mut self.outgoing[outgoing as usize];
        transfer.parts_left -= 1;
        let next = transfer.next.filter(|_| transfer.parts_left == 0)?;
        let waiting = &mut self.outgoing[next as usize];
        waiting.waits_for -= 1;
        (waiting.waits_for == 0).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring's rank: what it sends second waits for what it receives first.
    fn ring_rank(rounds: Option<u32>) -> Transfers {
        let mut transfers = Transfers { split: 2, ..Transfers::default() };
        transfers.times.rounds = rounds;
        transfers.outgoing = vec![Outgoing::default(); 2];
        transfers.push_inbound([1].into_iter());
        transfers.push_inbound([].into_iter());
        transfers.arm();
        transfers
    }

    fn deliver(transfers: &mut Transfers, inbound: u32, round: u32) -> Vec<u32> {
        let mut started = Vec::new();
        for _ in 0..2 {
            transfers.deliver_part(inbound, round, &mut started);
        }
        started
    }

    fn acknowledge_all(transfers: &mut Transfers) {
        for outgoing in [0, 0, 1, 1] {
            assert_eq!(transfers.acknowledge_part(outgoing), None);
        }
    }

    #[test]
    fn a_round_ends_when_all_is_acknowledged_and_all_has_arrived() {
        let mut transfers = ring_rank(Some(2));
        assert_eq!(deliver(&mut transfers, 0, 0), [1]);
        acknowledge_all(&mut transfers);
        assert!(!transfers.next_round(&mut Vec::new()), "one transfer has not arrived");
        deliver(&mut transfers, 1, 0);
        let mut started = Vec::new();
        assert!(transfers.next_round(&mut started));
        assert_eq!((started, transfers.round()), (vec![0], 1));
    }

    #[test]
    fn what_arrives_before_its_round_counts_when_that_begins() {
        let mut transfers = ring_rank(None);
        assert!(deliver(&mut transfers, 0, 1).is_empty());
        deliver(&mut transfers, 0, 0);
        deliver(&mut transfers, 1, 0);
        acknowledge_all(&mut transfers);
        let mut started = Vec::new();
        assert!(transfers.next_round(&mut started));
        assert_eq!(started, [0, 1]);
    }

    #[test]
    fn after_the_last_round_none_begins() {
        let mut transfers = ring_rank(Some(1));
        deliver(&mut transfers, 0, 0);
        deliver(&mut transfers, 1, 0);
        acknowledge_all(&mut transfers);
        assert!(!transfers.next_round(&mut Vec::new()));
    }
}
