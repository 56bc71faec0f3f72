//! The transfers a host takes part in, which of them wait for which, and the rounds of its job.
//!
//! A job that repeats is a stream of rounds at each rank: the next begins when everything this rank sends in the
//! present one is acknowledged and everything it receives in it has arrived. Ranks do not wait for each other beyond
//! that, so what a rank that is ahead sends may arrive before its round has begun here; it counts from then on. Where rounds
//! differ or have barriers between them, all that is a cycle of phases, of which each begins and ends like a round alone;
//! what comes again in the next cycle is in its next pass.
//!
//! Several ranks of a job may be on one host, each a process with rounds of its own. A process is busy with each message
//! that it sends or takes in for a time (o_s and o_r of LogGP: Alexandrov et al., 1995), one after the other, and before all
//! of them with the copy of its own block, if it makes one.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;
use std::ops::Range;
use units::{Instant, Span};

/// A transfer that starts at this host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outgoing {
    /// What must still happen first: transfers that have not arrived, and the one before it, if its rank has one
    /// transfer under way at a time.
    waits_for: u32,
    /// Parts that must still be acknowledged.
    parts_left: u32,
    /// One past the transfer that waits for its acknowledgement; none if there is none.
    next: Option<NonZeroU32>,
    /// Its rank, among those of the host.
    process: u32,
}

impl Outgoing {
    /// A transfer of a rank that nothing is known of yet.
    pub(crate) fn of(process: u32) -> Self {
        Self { process, ..Self::default() }
    }

    /// The transfer that waits for its acknowledgement.
    #[inline]
    fn next(&self) -> Option<u32> {
        self.next.map(|next| next.get() - 1)
    }

    /// Has the transfer `next` wait for the acknowledgement of this one.
    pub(crate) const fn precede(&mut self, next: u32) {
        self.next = NonZeroU32::new(next + 1);
    }
}

const _: () = assert!(size_of::<Outgoing>() <= 16, "there is one for each of a million chunks");

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

/// One past the last transfers of a phase.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PhaseEnd {
    pub(crate) outgoing: u32,
    pub(crate) inbound: u32,
}

/// What measured rounds took at a rank.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) rounds: u32,
    pub(crate) sum: Span,
}

/// A rank on a host.
#[derive(Debug, Default)]
struct Process {
    /// Phases before the present one, in all cycles.
    phase: u32,
    /// When that began.
    begun: Instant,
    measured: Measured,
    /// Parts to be acknowledged and to arrive before the phase ends.
    left: u64,
    /// Inbound parts of phases that have not begun, by phase.
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
    /// Phases it runs, rounds and barriers between them; without a number, it is the others that end it.
    pub(crate) phases: Option<u32>,
    /// Its number.
    pub(crate) job: u32,
    /// Rounds that are not measured.
    pub(crate) warm_up_rounds: u32,
    /// Every second phase is a barrier.
    pub(crate) has_barriers: bool,
}

impl JobTimes {
    /// The round that a phase is, unless it is a barrier.
    const fn round_of(&self, phase: u32) -> Option<u32> {
        match self.has_barriers {
            false => Some(phase),
            true if phase.is_multiple_of(2) => Some(phase / 2),
            true => None,
        }
    }
}

/// The transfers of a host.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    pub(crate) outgoing: Vec<Outgoing>,
    pub(crate) inbound: Vec<Inbound>,
    /// Outgoing transfers that wait for an inbound one.
    successors: Vec<u32>,
    /// Sender and send of each part, transfer by transfer.
    pub(crate) parts: Vec<(u32, u32)>,
    /// Parts of each transfer.
    pub(crate) split: u32,
    pub(crate) times: JobTimes,
    /// Where the phases of a cycle end; empty where there is one alone.
    pub(crate) phase_ends: Vec<PhaseEnd>,
    /// When each outgoing transfer of open-loop traffic is posted, ascending; empty where dependencies decide.
    pub(crate) releases: Vec<Instant>,
    processes: Vec<Process>,
    /// Processes whose phases are done.
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

    /// Phases of a cycle.
    fn phases(&self) -> u32 {
        (self.phase_ends.len() as u32).max(1)
    }

    /// Outgoing and inbound transfers of a phase.
    fn of_phase(&self, phase: u32) -> [Range<usize>; 2] {
        if self.phase_ends.is_empty() {
            return [0..self.outgoing.len(), 0..self.inbound.len()];
        }
        let place = (phase % self.phases()) as usize;
        let first = place.checked_sub(1).map_or_else(PhaseEnd::default, |before| self.phase_ends[before]);
        let end = self.phase_ends[place];
        [first.outgoing as usize..end.outgoing as usize, first.inbound as usize..end.inbound as usize]
    }

    /// The phase in which an inbound transfer comes for the `pass`-th time, from 0.
    #[inline]
    fn phase_of(&self, inbound: u32, pass: u32) -> u32 {
        if self.phase_ends.is_empty() {
            return pass;
        }
        let place = self.phase_ends.partition_point(|end| end.inbound <= inbound) as u32;
        pass * self.phases() + place
    }

    /// Makes every transfer of a rank wait for what it depends on, as a phase begins.
    fn arm(&mut self, process: u32) {
        let [sent, received] = self.of_phase(self.processes[process as usize].phase);
        let mut left = 0;
        for outgoing in self.outgoing[sent.clone()].iter_mut().filter(|outgoing| outgoing.process == process)
        {
            outgoing.parts_left = self.split;
            outgoing.waits_for = 0;
            left += u64::from(self.split);
        }
        for inbound in self.inbound[received].iter_mut().filter(|inbound| inbound.process == process) {
            inbound.parts_left = self.split;
            left += u64::from(self.split);
            for &successor in
                &self.successors[inbound.successors.start as usize..][..inbound.successors.len()]
            {
                self.outgoing[successor as usize].waits_for += 1;
            }
        }
        for index in sent {
            let outgoing = &self.outgoing[index];
            if let Some(next) = outgoing.next().filter(|_| outgoing.process == process) {
                self.outgoing[next as usize].waits_for += 1;
            }
        }
        self.processes[process as usize].left = left;
    }

    /// What of a rank waits for nothing, in the order of the schedule.
    fn initial(&self, process: u32) -> impl Iterator<Item = u32> {
        let [sent, _] = self.of_phase(self.processes[process as usize].phase);
        let is_ready = move |outgoing: &Outgoing| outgoing.waits_for == 0 && outgoing.process == process;
        sent.filter(move |&index| is_ready(&self.outgoing[index])).map(|index| index as u32)
    }

    /// Begins the first round of every rank.
    pub(super) fn begin(&mut self) {
        for process in 0..self.processes.len() as u32 {
            self.begin_phase(process, self.times.start);
        }
    }

    /// A rank begins its present phase.
    fn begin_phase(&mut self, process: u32, now: Instant) {
        self.arm(process);
        let state = &mut self.processes[process as usize];
        state.begun = now;
        if self.times.round_of(state.phase).is_some() {
            self.copy_own_block(process, now);
        }
    }

    /// A rank is done with its present phase.
    fn end_phase(&mut self, process: u32, now: Instant) {
        let measured = self.measured_until(&self.processes[process as usize], now);
        self.processes[process as usize].measured = measured;
    }

    /// What measured rounds took at a rank that ends the present one at `now`.
    fn measured_until(&self, process: &Process, now: Instant) -> Measured {
        let Measured { rounds, sum } = process.measured;
        match self.times.round_of(process.phase) {
            Some(round) if round >= self.times.warm_up_rounds => {
                Measured { rounds: rounds + 1, sum: sum + now.since(process.begun) }
            }
            _ => process.measured,
        }
    }

    /// What measured rounds took at each rank of the host, at the end of a run. A job that has ended has, at the most, to
    /// take in what has arrived.
    pub(crate) fn measured(&self) -> impl Iterator<Item = Measured> {
        self.processes.iter().map(|process| match process.left {
            1.. if !self.is_background() => self.measured_until(process, process.busy_until),
            _ => process.measured,
        })
    }

    /// A rank copies its own block, if it makes that copy, as a round begins.
    fn copy_own_block(&mut self, process: u32, now: Instant) {
        let busy_until = &mut self.processes[process as usize].busy_until;
        *busy_until = now.max(*busy_until) + self.times.own_copy;
    }

    /// What waits for nothing, in the order of the schedule.
    pub(super) fn first(&self) -> impl Iterator<Item = u32> {
        let [sent, _] = self.of_phase(0);
        sent.filter(|&index| self.outgoing[index].waits_for == 0).map(|index| index as u32)
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

    /// The present cycle of the rank of an outgoing transfer, from 0.
    #[inline]
    pub(super) fn pass_of(&self, outgoing: u32) -> u32 {
        self.pass_at(self.processes[self.process_of(outgoing) as usize].phase)
    }

    /// Cycles before the one that a phase is in.
    #[inline]
    fn pass_at(&self, phase: u32) -> u32 {
        if self.phase_ends.is_empty() { phase } else { phase / self.phases() }
    }

    /// Whether the present phase of a rank is the first of a cycle.
    pub(super) fn begins_cycle(&self, process: u32) -> bool {
        self.processes[process as usize].phase.is_multiple_of(self.phases())
    }

    /// The job, and which round the present phase of a rank is, if it follows a barrier.
    pub(super) fn round_after_barrier(&self, process: u32) -> Option<(u32, u32)> {
        let round = self.times.round_of(self.processes[process as usize].phase);
        round.filter(|_| self.times.has_barriers).map(|round| (self.times.job, round))
    }

    /// Whether the job goes on until others end.
    pub(super) const fn is_background(&self) -> bool {
        self.times.phases.is_none()
    }

    /// Begins the next phase of a rank that is done with one, if there is such a rank and it has more; adds what may
    /// start now to `started`. Returns the rank.
    pub(super) fn next_phase(&mut self, now: Instant, started: &mut Vec<u32>) -> Option<u32> {
        let process = loop {
            let process = self.ended.pop()?;
            self.end_phase(process, now);
            let phase = self.processes[process as usize].phase;
            if self.times.phases.is_none_or(|phases| phase + 1 < phases) {
                break process;
            }
        };
        let state = &mut self.processes[process as usize];
        state.phase += 1;
        let phase = state.phase;
        let early = state.early.remove(&phase).unwrap_or_default();
        let pass = self.pass_at(phase);
        self.begin_phase(process, now);
        started.extend(self.initial(process));
        for inbound in early {
            self.deliver_part(inbound, pass, started);
        }
        Some(process)
    }

    /// Indices of the parts of an outgoing transfer.
    pub(super) fn parts(&self, outgoing: u32) -> Range<u32> {
        outgoing * self.split..(outgoing + 1) * self.split
    }

    /// Sender and send of a part.
    pub(super) fn part(&self, part: u32) -> (u32, u32) {
        self.parts[part as usize]
    }

    /// One part of an inbound transfer has arrived for the `pass`-th time, from 0; adds what may start now to `started`, or
    /// the transfer to those that wait to be taken in.
    pub(super) fn deliver_part(&mut self, inbound: u32, pass: u32, started: &mut Vec<u32>) {
        let phase = self.phase_of(inbound, pass);
        let transfer = &mut self.inbound[inbound as usize];
        let process = &mut self.processes[transfer.process as usize];
        if phase != process.phase {
            debug_assert!(phase > process.phase, "a phase ends when everything has arrived");
            return process.early.entry(phase).or_default().push(inbound);
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
        let next = transfer.next().filter(|_| transfer.parts_left == 0)?;
        let waiting = &mut self.outgoing[next as usize];
        waiting.waits_for -= 1;
        (waiting.waits_for == 0).then_some(next)
    }

    /// A part of a rank's phase is done.
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
        transfers.times.phases = rounds;
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
            transfers.next_phase(Instant::ZERO, &mut Vec::new()),
            None,
            "one transfer has not arrived"
        );
        deliver(&mut transfers, 1, 0);
        let mut started = Vec::new();
        assert_eq!(transfers.next_phase(Instant::ZERO, &mut started), Some(0));
        assert_eq!((started, transfers.pass_of(0)), (vec![0], 1));
    }

    #[test]
    fn what_arrives_before_its_round_counts_when_that_begins() {
        let mut transfers = ring_rank(None);
        assert!(deliver(&mut transfers, 0, 1).is_empty());
        deliver(&mut transfers, 0, 0);
        deliver(&mut transfers, 1, 0);
        acknowledge_all(&mut transfers);
        let mut started = Vec::new();
        assert_eq!(transfers.next_phase(Instant::ZERO, &mut started), Some(0));
        assert_eq!(started, [0, 1]);
    }

    #[test]
    fn after_the_last_round_none_begins() {
        let mut transfers = ring_rank(Some(1));
        deliver(&mut transfers, 0, 0);
        deliver(&mut transfers, 1, 0);
        acknowledge_all(&mut transfers);
        assert_eq!(transfers.next_phase(Instant::ZERO, &mut Vec::new()), None);
    }
}
