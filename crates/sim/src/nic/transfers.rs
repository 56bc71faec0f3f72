//! The transfers a host takes part in, which of them wait for which, and the rounds of its job.
//!
//! A job that repeats is a stream of rounds at each rank: the next begins when everything this rank sends in the
//! present one is acknowledged and everything it receives in it has arrived. Ranks do not wait for each other beyond
//! that, so what a rank that is ahead sends may arrive before its round has begun here; it counts from then on.
//!
//! Several ranks of a job may be on one host, each a process with rounds of its own. A process is busy with each message
//! that it sends or takes in for a time (o_s and o_r of LogGP: Alexandrov et al., 1995), one after the other, and before all
//! of them with the copy of its own block, if it makes one.

use std::collections::{BTreeMap, VecDeque};
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
    /// Its rank, among those of the host.
    process: u32,
}

impl Outgoing {
    /// A transfer of a rank that nothing is known of yet.
    pub(crate) fn of(process: u32) -> Self {
        Self { process, ..Self::default() }
    }
}

/// A transfer that ends at this host.
#[derive(Clone, Debug)]
pub(crate) struct Inbound {
    /// Parts that must still arrive.
    parts_left: u32,
    /// What waits for it, in [`Transfers::successors`].
    successors: Range<u32>,
    /// Its rank, among those of the host.
    process: u32,
}

/// A rank on a host.
#[derive(Debug, Default)]
struct Process {
    round: u32,
    /// Parts to be acknowledged and to arrive before the round ends.
    left: u64,
    /// Inbound parts of rounds that have not begun, by round.
    early: BTreeMap<u32, Vec<u32>>,
    /// When it has sent and taken in what it had to.
    busy_until: Instant,
    /// When it has copied what it had to in shared memory.
    copying_until: Instant,
}

/// When and how often the job of a host runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JobTimes {
    /// When it starts.
    pub(crate) start: Instant,
    /// Software overhead before each post.
    pub(crate) overhead: Span,
    /// Time for which a rank is busy with each message that it sends.
    pub(crate) send_overhead: Span,
    /// Time for which a rank is busy with each message that has arrived.
    pub(crate) receive_overhead: Span,
    /// Time for which a rank copies its own block at the beginning of a round.
    pub(crate) own_copy: Span,
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
    processes: Vec<Process>,
    /// Processes whose rounds are done.
    ended: Vec<u32>,
    /// Inbound transfers that have arrived and wait to be taken in.
    arrived: VecDeque<u32>,
    /// Scratch space: what may start now.
    pub(super) started: Vec<u32>,
}

impl Transfers {
    /// Adds a rank; returns its number on the host.
    pub(crate) fn push_process(&mut self) -> u32 {
        self.processes.push(Process::default());
        self.processes.len() as u32 - 1
    }

    /// Adds an inbound transfer to a rank that `successors` wait for.
    pub(crate) fn push_inbound(&mut self, process: u32, successors: impl Iterator<Item = u32>) {
        let first = self.successors.len() as u32;
        self.successors.extend(successors);
        let successors = first..self.successors.len() as u32;
        self.inbound.push(Inbound { parts_left: 0, successors, process });
    }

    /// Makes every transfer of a rank wait for what it depends on, as a round begins.
    fn arm(&mut self, process: u32) {
        let mut left = 0;
        for outgoing in self.outgoing.iter_mut().filter(|outgoing| outgoing.process == process) {
            outgoing.parts_left = self.split;
            outgoing.waits_for = 0;
            left += u64::from(self.split);
        }
        for inbound in self.inbound.iter_mut().filter(|inbound| inbound.process == process) {
            inbound.parts_left = self.split;
            left += u64::from(self.split);
            for &successor in
                &self.successors[inbound.successors.start as usize..][..inbound.successors.len()]
            {
                self.outgoing[successor as usize].waits_for += 1;
            }
        }
        for index in 0..self.outgoing.len() {
            if let Some(next) = self.outgoing[index].next.filter(|_| self.outgoing[index].process == process)
            {
                self.outgoing[next as usize].waits_for += 1;
            }
        }
        self.processes[process as usize].left = left;
    }

    /// What of a rank waits for nothing, in the order of the schedule.
    fn initial(&self, process: u32) -> impl Iterator<Item = u32> {
        let is_ready = move |outgoing: &Outgoing| outgoing.waits_for == 0 && outgoing.process == process;
        let ready = self.outgoing.iter().enumerate().filter(move |(_, outgoing)| is_ready(outgoing));
        ready.map(|(index, _)| index as u32)
    }

    /// Begins the first round of every rank.
    pub(super) fn begin(&mut self) {
        for process in 0..self.processes.len() as u32 {
            self.arm(process);
            self.copy_own_block(process, self.times.start);
        }
    }

    /// A rank copies its own block, if it makes that copy, as a round begins.
    fn copy_own_block(&mut self, process: u32, now: Instant) {
        let busy_until = &mut self.processes[process as usize].busy_until;
        *busy_until = now.max(*busy_until) + self.times.own_copy;
    }

    /// What waits for nothing, in the order of the schedule.
    pub(super) fn first(&self) -> impl Iterator<Item = u32> {
        let ready = self.outgoing.iter().enumerate().filter(|(_, outgoing)| outgoing.waits_for == 0);
        ready.map(|(index, _)| index as u32)
    }

    /// When a transfer that may start now is posted: its rank sends one message after the other.
    #[inline]
    pub(super) fn post_at(&mut self, outgoing: u32, now: Instant) -> Instant {
        let at = now + self.times.overhead;
        if self.times.send_overhead == Span::ZERO && self.times.own_copy == Span::ZERO {
            return at;
        }
        let process = self.outgoing[outgoing as usize].process;
        let busy_until = &mut self.processes[process as usize].busy_until;
        *busy_until = at.max(*busy_until) + self.times.send_overhead;
        *busy_until
    }

    /// The rank of a transfer copies for `span` in shared memory, after what it has to copy already; returns the end.
    pub(super) fn copy(&mut self, outgoing: u32, now: Instant, span: Span) -> Instant {
        let process = self.outgoing[outgoing as usize].process;
        let copying_until = &mut self.processes[process as usize].copying_until;
        *copying_until = now.max(*copying_until) + span;
        *copying_until
    }

    /// An inbound transfer that has arrived, and when its rank has taken it in.
    #[inline]
    pub(super) fn next_taken_in(&mut self, now: Instant) -> Option<(Instant, u32)> {
        let inbound = self.arrived.pop_front()?;
        let process = self.inbound[inbound as usize].process;
        let busy_until = &mut self.processes[process as usize].busy_until;
        *busy_until = now.max(*busy_until) + self.times.receive_overhead;
        Some((*busy_until, inbound))
    }

    /// When the open-loop transfer after `outgoing` is posted.
    pub(super) fn release_after(&self, outgoing: u32) -> Option<Instant> {
        self.releases.get(outgoing as usize + 1).copied()
    }

    /// The rank of an outgoing transfer, among those of the host.
    #[inline]
    pub(super) fn process_of(&self, outgoing: u32) -> u32 {
        self.outgoing[outgoing as usize].process
    }

    /// The present round of the rank of an outgoing transfer, from 0.
    #[inline]
    pub(super) fn round_of(&self, outgoing: u32) -> u32 {
        self.processes[self.process_of(outgoing) as usize].round
    }

    /// Whether the job goes on until others end.
    pub(super) const fn is_background(&self) -> bool {
        self.times.rounds.is_none()
    }

    /// Begins the next round of a rank that is done with one, if there is such a rank and it has more; adds what may
    /// start now to `started`. Returns the rank.
    pub(super) fn next_round(&mut self, now: Instant, started: &mut Vec<u32>) -> Option<u32> {
        let process = loop {
            let process = self.ended.pop()?;
            let round = self.processes[process as usize].round;
            if self.times.rounds.is_none_or(|rounds| round + 1 < rounds) {
                break process;
            }
        };
        let state = &mut self.processes[process as usize];
        state.round += 1;
        let round = state.round;
        let early = state.early.remove(&round).unwrap_or_default();
        self.arm(process);
        self.copy_own_block(process, now);
        started.extend(self.initial(process));
        for inbound in early {
            self.deliver_part(inbound, round, started);
        }
        Some(process)
    }

    /// Indices of the parts of an outgoing transfer.
    pub(super) fn parts(&self, outgoing: u32) -> Range<u32> {
        self.outgoing[outgoing as usize].parts.clone()
    }

    /// Sender and send of a part.
    pub(super) fn part(&self, part: u32) -> (u32, u32) {
        self.parts[part as usize]
    }

    /// One part of an inbound transfer of `round` has arrived; adds what may start now to `started`, or the transfer to
    /// those that wait to be taken in.
    pub(super) fn deliver_part(&mut self, inbound: u32, round: u32, started: &mut Vec<u32>) {
        let transfer = &mut self.inbound[inbound as usize];
        let process = &mut self.processes[transfer.process as usize];
        if round != process.round {
            debug_assert!(round > process.round, "a round ends when everything has arrived");
            return process.early.entry(round).or_default().push(inbound);
        }
        transfer.parts_left -= 1;
        if transfer.parts_left > 0 {
            self.count_part(self.inbound[inbound as usize].process);
        } else if self.times.receive_overhead > Span::ZERO {
            self.arrived.push_back(inbound);
        } else {
            self.finish_inbound(inbound, started);
        }
    }

    /// The last part of an inbound transfer has arrived, and been taken in; adds what may start now to `started`.
    pub(super) fn finish_inbound(&mut self, inbound: u32, started: &mut Vec<u32>) {
        let transfer = &self.inbound[inbound as usize];
        for &successor in &self.successors[transfer.successors.start as usize..][..transfer.successors.len()]
        {
            let outgoing = &mut self.outgoing[successor as usize];
            outgoing.waits_for -= 1;
            if outgoing.waits_for == 0 {
                started.push(successor);
            }
        }
        self.count_part(transfer.process);
    }

    /// One part of an outgoing transfer has been acknowledged; returns what may start now.
    pub(super) fn acknowledge_part(&mut self, outgoing: u32) -> Option<u32> {
        self.count_part(self.outgoing[outgoing as usize].process);
        let transfer = &mut self.outgoing[outgoing as usize];
        transfer.parts_left -= 1;
        let next = transfer.next.filter(|_| transfer.parts_left == 0)?;
        let waiting = &mut self.outgoing[next as usize];
        waiting.waits_for -= 1;
        (waiting.waits_for == 0).then_some(next)
    }

    /// A part of a rank's round is done.
    #[inline]
    fn count_part(&mut self, process: u32) {
        let left = &mut self.processes[process as usize].left;
        *left -= 1;
        if *left == 0 {
            self.ended.push(process);
        }
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
        let process = transfers.push_process();
        transfers.push_inbound(process, [1].into_iter());
        transfers.push_inbound(process, [].into_iter());
        transfers.begin();
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
        assert_eq!(
            transfers.next_round(Instant::ZERO, &mut Vec::new()),
            None,
            "one transfer has not arrived"
        );
        deliver(&mut transfers, 1, 0);
        let mut started = Vec::new();
        assert_eq!(transfers.next_round(Instant::ZERO, &mut started), Some(0));
        assert_eq!((started, transfers.round_of(0)), (vec![0], 1));
    }

    #[test]
    fn what_arrives_before_its_round_counts_when_that_begins() {
        let mut transfers = ring_rank(None);
        assert!(deliver(&mut transfers, 0, 1).is_empty());
        deliver(&mut transfers, 0, 0);
        deliver(&mut transfers, 1, 0);
        acknowledge_all(&mut transfers);
        let mut started = Vec::new();
        assert_eq!(transfers.next_round(Instant::ZERO, &mut started), Some(0));
        assert_eq!(started, [0, 1]);
    }

    #[test]
    fn after_the_last_round_none_begins() {
        let mut transfers = ring_rank(Some(1));
        deliver(&mut transfers, 0, 0);
        deliver(&mut transfers, 1, 0);
        acknowledge_all(&mut transfers);
        assert_eq!(transfers.next_round(Instant::ZERO, &mut Vec::new()), None);
    }
}
