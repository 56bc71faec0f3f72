//! Transfers of a host: tracks their dependencies, determines which may start, and starts and ends the rounds
//! (repetitions) of its job.
//!
//! A job that repeats is a stream of rounds at each rank: the next starts when everything that this rank
//! sends in the current one is acknowledged and everything that it receives in it has arrived. Ranks do not
//! wait for each other beyond that, so data from a faster rank may arrive before its round has started here;
//! it counts from then on. If rounds differ or have barriers between them, they form a cycle of phases, each
//! of which starts and ends like a round; each repetition of the cycle is a pass.
//!
//! Several ranks of a job may be on one host, each a process with its own rounds. A process is busy for a
//! time with each message that it sends or receives (`o_s` and `o_r` of LogGP: Alexandrov et al., 1995), one
//! after the other, and before them with computation and the copy of its own block, if a round starts with
//! these.

mod lists;
mod plan;
mod process;
#[cfg(test)]
mod tests;

pub(crate) use plan::{InboundPlan, JobTimes, OutgoingPlan, PhaseEnd, PlanList, TransfersPlan};
pub(crate) use process::Measured;

use super::ledger::WorkId;
use engine::prefetch::prefetch_whole;
use lists::{Inbound, Outgoing};
use process::Process;
use std::collections::VecDeque;
use std::ops::Range;
use units::{Instant, Span};

/// The transfers of a host.
#[derive(Debug)]
pub(crate) struct Transfers {
    outgoing: Outgoing,
    inbound: Inbound,
    /// Sender and send of each part, transfer by transfer; empty if both have the number of the part.
    parts: Box<[(u32, WorkId)]>,
    /// Parts of each transfer.
    split: u32,
    /// No list is in use, and the software needs no time to receive.
    are_uniform: bool,
    times: JobTimes,
    /// Ends of the phases of a cycle; empty if there is only one.
    phase_ends: Vec<PhaseEnd>,
    /// Post time of each outgoing transfer of open-loop traffic, ascending; empty if dependencies determine
    /// it.
    releases: Vec<Instant>,
    processes: Vec<Process>,
    /// Processes whose phases have ended.
    ended: Vec<u32>,
    /// Ended rounds that were not reported yet, with their durations.
    ended_rounds: Vec<(u32, Span)>,
    /// Inbound transfers that have arrived and wait for processing by the software.
    arrived: VecDeque<u32>,
    /// Scratch space: transfers that may start now.
    pub(super) started: Vec<u32>,
}

impl Transfers {
    /// The transfers of a host, in the first phase.
    pub(super) fn new(plan: TransfersPlan) -> Self {
        let are_numbers =
            plan.parts.iter().zip(0..).all(|(&part, number)| part == (number, WorkId::only_of(number)));
        let (outgoing, inbound) = (Outgoing::new(&plan), Inbound::new(&plan));
        let takes_time = plan.times.receive_overhead > Span::ZERO;
        let mut transfers = Self {
            are_uniform: outgoing.are_uniform()
                && inbound.are_uniform()
                && plan.phase_ends.is_empty()
                && !takes_time,
            outgoing,
            inbound,
            parts: if are_numbers { Box::default() } else { plan.parts.into() },
            split: plan.split,
            times: plan.times,
            phase_ends: plan.phase_ends,
            releases: plan.releases,
            processes: (0..plan.processes).map(|_| Process::default()).collect(),
            ended: Vec::new(),
            ended_rounds: Vec::new(),
            arrived: VecDeque::new(),
            started: Vec::new(),
        };
        for process in 0..plan.processes {
            transfers.begin_phase(process, plan.times.start);
        }
        transfers
    }

    /// Start of the job.
    pub(super) const fn start(&self) -> Instant {
        self.times.start
    }

    /// The host starts later than others, by its clock.
    pub(super) const fn begins_late(&self) -> bool {
        self.times.begins_late
    }

    /// Post time of the first transfer of open-loop traffic.
    pub(super) fn first_release(&self) -> Option<Instant> {
        self.releases.first().copied()
    }

    /// Phases of a cycle.
    fn phases(&self) -> u32 {
        (self.phase_ends.len() as u32).max(1)
    }

    /// Outgoing and inbound transfers of a phase.
    fn of_phase(&self, phase: u32) -> [Range<u32>; 2] {
        if self.phase_ends.is_empty() {
            return [0..self.outgoing.count(), 0..self.inbound.count()];
        }
        let in_cycle = (phase % self.phases()) as usize;
        let first = in_cycle.checked_sub(1).map_or_else(PhaseEnd::default, |before| self.phase_ends[before]);
        let end = self.phase_ends[in_cycle];
        [first.outgoing..end.outgoing, first.inbound..end.inbound]
    }

    /// The phase in which an inbound transfer arrives in pass `pass`, from 0.
    #[inline]
    fn phase_of(&self, inbound: u32, pass: u32) -> u32 {
        if self.phase_ends.is_empty() {
            return pass;
        }
        let phase = self.phase_ends.partition_point(|end| end.inbound <= inbound) as u32;
        pass * self.phases() + phase
    }

    /// Sets the dependencies of every transfer of a rank, at the start of a phase.
    fn arm(&mut self, process: u32) {
        let [sent, received] = self.of_phase(self.processes[process as usize].phase);
        let Self { outgoing, inbound, split, .. } = self;
        if outgoing.are_uniform() && inbound.are_uniform() {
            let transfers = sent.len() + received.len();
            self.processes[process as usize].left = transfers as u64 * u64::from(*split);
            return;
        }
        let mut transfers = 0;
        for index in sent.clone() {
            if outgoing.process_of(index) == process {
                outgoing.arm(index);
                transfers += 1;
            }
        }
        for index in received {
            if inbound.process_of(index) == process {
                inbound.arm(index);
                transfers += 1;
                inbound.successors(index).for_each(|successor| outgoing.wait(successor));
            }
        }
        for index in sent {
            if let Some(next) = outgoing.next(index).filter(|_| outgoing.process_of(index) == process) {
                outgoing.wait(next);
            }
        }
        self.processes[process as usize].left = transfers * u64::from(*split);
    }

    /// Transfers of a rank without dependencies, in the order of the schedule.
    fn initial(&self, process: u32) -> impl Iterator<Item = u32> {
        let [sent, _] = self.of_phase(self.processes[process as usize].phase);
        sent.filter(move |&index| self.waits_for_nothing(index) && self.outgoing.process_of(index) == process)
    }

    /// Starts the current phase of a rank.
    fn begin_phase(&mut self, process: u32, now: Instant) {
        self.arm(process);
        let state = &mut self.processes[process as usize];
        state.phase_start = now;
        if self.times.round_of(state.phase).is_some() {
            self.work_first(process, now);
        }
    }

    /// Ends the current phase of a rank.
    fn end_phase(&mut self, process: u32, now: Instant) {
        if self.times.notes_rounds() {
            let Process { phase, phase_start, .. } = self.processes[process as usize];
            self.ended_rounds.push((phase, now.since(phase_start)));
        }
        let measured = self.measured_until(&self.processes[process as usize], now);
        self.processes[process as usize].measured = measured;
    }

    /// Durations of measured rounds of a rank that ends the current one at `now`.
    fn measured_until(&self, process: &Process, now: Instant) -> Measured {
        let Measured { rounds, sum, open: _ } = process.measured;
        let duration = now.since(process.phase_start);
        match self.times.round_of(process.phase) {
            Some(round) if round >= self.times.warm_up_rounds => {
                Measured { rounds: rounds + 1, sum: sum + duration, open: None }
            }
            _ => process.measured,
        }
    }

    /// Durations of measured rounds at each rank of the host, at the end of a run. In a round whose chunks
    /// are complete, at most the processing of arrived messages is left at a rank; a background job may be
    /// ended within a round.
    pub(crate) fn measured(&self) -> impl Iterator<Item = Measured> {
        self.processes.iter().map(|process| {
            if process.left == 0 {
                return process.measured;
            }
            let duration = process.busy_until.max(process.phase_start).since(process.phase_start);
            let open = self.times.round_of(process.phase).map(|round| (round, duration));
            let ended = if self.is_background() {
                process.measured
            } else {
                self.measured_until(process, process.busy_until)
            };
            Measured { open, ..ended }
        })
    }

    /// A rank computes and copies its own block at the start of a round, if it does either.
    fn work_first(&mut self, process: u32, now: Instant) {
        self.processes[process as usize].work(now, self.times.round_work);
    }

    /// The outgoing transfers of the first phase, in the order of the schedule.
    pub(super) fn of_first_phase(&self) -> Range<u32> {
        let [sent, _] = self.of_phase(0);
        sent
    }

    /// Whether an outgoing transfer may start.
    #[inline]
    pub(super) fn waits_for_nothing(&self, outgoing: u32) -> bool {
        self.outgoing.waits_for(outgoing) == 0
    }

    /// Post time of a transfer that may start now: its rank sends one message after the other.
    #[inline]
    pub(super) fn post_at(&mut self, outgoing: u32, now: Instant) -> Instant {
        let at = now + self.times.overhead;
        if self.times.send_overhead == Span::ZERO && self.times.round_work == Span::ZERO {
            return at;
        }
        let process = self.process_of(outgoing);
        self.processes[process as usize].work(at, self.times.send_overhead)
    }

    /// The rank of a transfer copies for `span` in shared memory, after its earlier copies; returns the end.
    pub(super) fn copy(&mut self, outgoing: u32, now: Instant, span: Span) -> Instant {
        let process = self.process_of(outgoing);
        self.processes[process as usize].copy(now, span)
    }

    /// Removes an inbound transfer that has arrived; returns it with the time at which its rank has processed
    /// it.
    #[inline]
    pub(super) fn next_taken_in(&mut self, now: Instant) -> Option<(Instant, u32)> {
        let inbound = self.arrived.pop_front()?;
        let process = self.inbound.process_of(inbound);
        Some((self.processes[process as usize].work(now, self.times.receive_overhead), inbound))
    }

    /// Post time of the open-loop transfer after `outgoing`.
    pub(super) fn release_after(&self, outgoing: u32) -> Option<Instant> {
        self.releases.get(outgoing as usize + 1).copied()
    }

    /// The rank of an outgoing transfer, among those of the host.
    #[inline]
    pub(super) fn process_of(&self, outgoing: u32) -> u32 {
        self.outgoing.process_of(outgoing)
    }

    /// Prefetches the state for the end of any transfer.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch_whole(&self.processes, 0);
    }

    /// Prefetches the state for the arrival of an inbound transfer.
    #[inline]
    pub(super) fn prefetch_inbound(&self, inbound: usize) {
        self.inbound.prefetch(inbound);
    }

    /// Prefetches the state for the acknowledgement of an outgoing transfer.
    #[inline]
    pub(super) fn prefetch_outgoing(&self, outgoing: usize) {
        self.outgoing.prefetch(outgoing);
    }

    /// The current pass of the rank of an outgoing transfer, from 0.
    #[inline]
    pub(super) fn pass_of(&self, outgoing: u32) -> u32 {
        self.pass_at(self.processes[self.process_of(outgoing) as usize].phase)
    }

    /// The pass that contains a phase.
    #[inline]
    fn pass_at(&self, phase: u32) -> u32 {
        if self.phase_ends.is_empty() { phase } else { phase / self.phases() }
    }

    /// Whether the current phase of a rank is the first of a cycle.
    pub(super) fn begins_cycle(&self, process: u32) -> bool {
        self.processes[process as usize].phase.is_multiple_of(self.phases())
    }

    /// The job, and the round of the current phase of a rank, if it follows a barrier.
    pub(super) fn round_after_barrier(&self, process: u32) -> Option<(u32, u32)> {
        let round = self.times.round_of(self.processes[process as usize].phase);
        round.filter(|_| self.times.has_barriers).map(|round| (self.times.job, round))
    }

    /// The job, and the rounds that ranks have ended, with their durations, if these are reported.
    pub(super) fn take_ended_rounds(&mut self) -> (u32, Vec<(u32, Span)>) {
        (self.times.job, std::mem::take(&mut self.ended_rounds))
    }

    /// Whether the job runs until other jobs end.
    pub(super) const fn is_background(&self) -> bool {
        self.times.phases.is_none()
    }

    /// Whether some rank has ended a phase: see [`Self::next_phase`].
    #[inline]
    pub(super) const fn has_ended_phases(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Starts the next phase of a rank that has ended one, if there is such a rank with more phases; adds
    /// transfers that may start now to `started`. Returns the rank.
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
    pub(super) fn part(&self, part: u32) -> (u32, WorkId) {
        self.parts.get(part as usize).copied().unwrap_or((part, WorkId::only_of(part)))
    }

    /// Counts an inbound transfer that has arrived in pass `pass`, from 0, if no list is in use (so that no
    /// transfer waits for it) and the pass is the current phase; false otherwise.
    #[inline]
    pub(super) fn deliver_uniform(&mut self, pass: u32) -> bool {
        let counts = self.are_uniform && self.processes[0].phase == pass;
        if counts {
            self.count_part(0);
        }
        counts
    }

    /// Counts acknowledged outgoing transfers, if no list is in use (so that no transfer waits for them);
    /// false otherwise.
    #[inline]
    pub(super) fn acknowledge_uniform(&mut self, transfers: usize) -> bool {
        if self.are_uniform {
            (0..transfers).for_each(|_| self.count_part(0));
        }
        self.are_uniform
    }

    /// One part of an inbound transfer has arrived in pass `pass`, from 0; adds transfers that may start now
    /// to `started`, or queues the transfer for processing by the software.
    pub(super) fn deliver_part(&mut self, inbound: u32, pass: u32, started: &mut Vec<u32>) {
        let phase = self.phase_of(inbound, pass);
        let of_rank = self.inbound.process_of(inbound);
        let process = &mut self.processes[of_rank as usize];
        if phase != process.phase {
            debug_assert!(phase > process.phase, "a phase ends when everything has arrived");
            return process.early.entry(phase).or_default().push(inbound);
        }
        if !self.inbound.take_part(inbound) {
            self.count_part(of_rank);
        } else if self.times.receive_overhead > Span::ZERO {
            self.arrived.push_back(inbound);
        } else {
            self.finish_inbound(inbound, started);
        }
    }

    /// The last part of an inbound transfer has arrived and been processed; adds transfers that may start now
    /// to `started`.
    pub(super) fn finish_inbound(&mut self, inbound: u32, started: &mut Vec<u32>) {
        let Self { inbound: transfers, outgoing, .. } = self;
        started.extend(transfers.successors(inbound).filter(|&successor| outgoing.release(successor)));
        self.count_part(self.inbound.process_of(inbound));
    }

    /// One part of an outgoing transfer has been acknowledged; returns a transfer that may start now.
    pub(super) fn acknowledge_part(&mut self, outgoing: u32) -> Option<u32> {
        self.count_part(self.process_of(outgoing));
        if !self.outgoing.take_part(outgoing) {
            return None;
        }
        self.outgoing.next(outgoing).filter(|&next| self.outgoing.release(next))
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
