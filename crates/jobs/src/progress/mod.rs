//! Progress of one job at one place: which transfers may start, which rank is in which round (repetition of
//! the job).
//!
//! A place is a host of the simulator, a rank of an endpoint, or all hosts of the flow model; it has one or
//! more ranks of the job, each a process. An operation that may start is a transfer to another rank.
//!
//! A transfer may start when all transfers on which it depends have arrived and, if a rank sends one after
//! the other, its predecessor is acknowledged. A job that repeats is a stream of rounds at each rank: the
//! next starts when everything that this rank sends in the current one is acknowledged and everything that it
//! receives in it has arrived. Ranks do not wait for each other beyond that, so data from a faster rank may
//! arrive before its round has started here; it counts from then on. If rounds differ or have barriers
//! between them, they form a cycle of phases, each of which starts and ends like a round; each repetition of
//! the cycle is a pass. A phase in which a rank has nothing to do ends immediately.
//!
//! A process is busy for a time with each message that it sends or receives (`o_s` and `o_r` of LogGP:
//! Alexandrov et al., 1995), one after the other, and before them with computation and the copy of its own
//! block, if a round starts with these.

mod lists;
mod places;
mod plan;
mod process;
#[cfg(test)]
mod tests;

pub use places::PlaceIndices;
pub use plan::{InboundPlan, JobTimes, OutgoingPlan, PhaseEnd, PlanList, ProgressPlan};
pub use process::Measured;

use engine::prefetch::prefetch_whole;
use lists::{Inbound, Outgoing};
use places::blocking_order;
use plan::InboundTimes;
use process::Process;
use spec::SharedMemorySpec;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use units::{Instant, Rate, Span};
use workload::Schedule;

/// Progress of a job at a place.
///
/// Transfers and processes are numbered per place. Constructors: [`new`](Self::new),
/// [`of_schedule`](Self::of_schedule). Inputs: [`deliver_part`](Self::deliver_part),
/// [`finish_inbound`](Self::finish_inbound), [`acknowledge_part`](Self::acknowledge_part), which emit the
/// transfers that may start, and [`next_phase`](Self::next_phase), to be called after them. Times of the
/// software: [`post_at`](Self::post_at), [`next_taken_in`](Self::next_taken_in), [`copy`](Self::copy).
#[derive(Debug)]
pub struct Progress {
    outgoing: Outgoing,
    inbound: Inbound,
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
    /// Number of processes that have not ended their last phase.
    open_processes: u32,
    /// Processes whose phases have ended.
    ended: Vec<u32>,
    /// Ended rounds that were not reported yet, with their durations.
    ended_rounds: Vec<(u32, Span)>,
    /// Inbound transfers that have arrived and wait for processing by the software.
    arrived: VecDeque<u32>,
}

impl Progress {
    /// The progress of the planned transfers, in the first phase.
    #[must_use]
    pub fn new(plan: ProgressPlan) -> Self {
        let (outgoing, inbound) = (Outgoing::new(&plan), Inbound::new(&plan));
        let ProgressPlan { times, processes, split, phase_ends, releases, .. } = plan;
        Self::begin(Self {
            are_uniform: outgoing.are_uniform()
                && inbound.are_uniform()
                && phase_ends.is_empty()
                && times.receive_overhead == Span::ZERO,
            outgoing,
            inbound,
            split,
            times,
            phase_ends,
            releases,
            processes: (0..processes).map(|_| Process::default()).collect(),
            open_processes: 0,
            ended: Vec::new(),
            ended_rounds: Vec::new(),
            arrived: VecDeque::new(),
        })
    }

    /// The progress of one round of a whole job at one place with all its `ranks`: transfers and processes
    /// have the numbers of the schedule. Its [releases](Schedule::releases) are those of the schedule. If
    /// transfers are independent they are not counted, and need no memory: then only the times of the
    /// software are of use.
    #[must_use]
    pub fn of_schedule(schedule: &Arc<Schedule>, ranks: u32, split: u32, times: JobTimes) -> Self {
        let (outgoing, inbound) = match schedule.independent_bytes() {
            Some(_) => (Outgoing::uncounted(schedule), Inbound::uncounted(schedule)),
            None => {
                let next = blocking_order(schedule, ranks as usize);
                (Outgoing::of_schedule(schedule, split, next), Inbound::of_schedule(schedule, split))
            }
        };
        Self::begin(Self {
            outgoing,
            inbound,
            split,
            are_uniform: false,
            times,
            phase_ends: Vec::new(),
            releases: Vec::new(),
            processes: (0..ranks).map(|_| Process::default()).collect(),
            open_processes: 0,
            ended: Vec::new(),
            ended_rounds: Vec::new(),
            arrived: VecDeque::new(),
        })
    }

    /// Starts the first phase of each process.
    fn begin(mut self) -> Self {
        let start = self.times.start;
        self.arm(None, start);
        self.find_idle();
        for process in 0..self.processes.len() as u32 {
            self.begin_phase(process, start);
        }
        let is_open = |process: &&Process| !process.is_idle;
        self.open_processes = self.processes.iter().filter(is_open).count() as u32;
        self
    }

    /// Marks the processes without transfers.
    fn find_idle(&mut self) {
        let Self { outgoing, inbound, processes, phase_ends, .. } = self;
        processes.iter_mut().for_each(|process| process.is_idle = process.left == 0);
        if !phase_ends.is_empty() && processes.iter().any(|process| process.is_idle) {
            let sending = (0..outgoing.count()).map(|index| outgoing.process_of(index));
            let receiving = (0..inbound.count()).map(|index| inbound.process_of(index));
            sending.chain(receiving).for_each(|process| processes[process as usize].is_idle = false);
        }
    }

    /// Moves the start of the job, and the release of its transfers, before anything else.
    pub fn delay_start(&mut self, by: Span) {
        self.times.start += by;
        self.releases.iter_mut().for_each(|release| *release += by);
    }

    /// Index of the job in the run.
    #[must_use]
    pub const fn job(&self) -> u32 {
        self.times.job
    }

    /// Start of the job.
    #[inline]
    #[must_use]
    pub const fn start(&self) -> Instant {
        self.times.start
    }

    /// Whether anything may be due at the start of the job: a transfer, or what has arrived before.
    #[must_use]
    pub fn acts_at_start(&self) -> bool {
        !self.is_released()
            && (self.times.begins_late || self.has_ended_phases() || self.initial().next().is_some())
    }

    /// Indices of the parts of an outgoing transfer.
    #[must_use]
    pub const fn parts(&self, outgoing: u32) -> Range<u32> {
        outgoing * self.split..(outgoing + 1) * self.split
    }

    /// Number of transfers that start here.
    #[must_use]
    pub const fn outgoing_count(&self) -> u32 {
        self.outgoing.count()
    }

    /// Number of transfers that end here.
    #[must_use]
    pub const fn inbound_count(&self) -> u32 {
        self.inbound.count()
    }

    /// Whether transfers are released at given times (open-loop traffic), not by dependencies.
    #[must_use]
    pub const fn is_released(&self) -> bool {
        !self.releases.is_empty()
    }

    /// Release of an outgoing transfer of open-loop traffic; `None` if there is no such transfer.
    #[must_use]
    pub fn release_of(&self, outgoing: u32) -> Option<Instant> {
        self.releases.get(outgoing as usize).copied()
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

    /// Sets the dependencies of every transfer of a rank, at the start of its phase; of all ranks, at the
    /// start of the first.
    fn arm(&mut self, only: Option<u32>, now: Instant) {
        let phase = only.map_or(0, |process| self.processes[process as usize].phase);
        let [sent, received] = self.of_phase(phase);
        let Self { outgoing, inbound, processes, split, .. } = self;
        let (split, parts) = (*split, u64::from(*split));
        if outgoing.are_uniform() && inbound.are_uniform() {
            let left = (sent.len() + received.len()) as u64 * parts;
            return processes.iter_mut().for_each(|process| process.left = left);
        }
        let is_included = |process: u32| only.is_none_or(|only| process == only);
        for index in sent.clone() {
            let process = outgoing.process_of(index);
            if is_included(process) {
                outgoing.arm(index, split);
                outgoing.note_data(index, now);
                processes[process as usize].left += parts;
            }
        }
        for index in received {
            let process = inbound.process_of(index);
            if is_included(process) {
                inbound.arm(index, split);
                processes[process as usize].left += parts;
                inbound.each_successor(index, |successor| outgoing.wait(successor));
            }
        }
        for index in sent {
            if let Some(next) = outgoing.next(index).filter(|_| is_included(outgoing.process_of(index))) {
                outgoing.wait(next);
            }
        }
    }

    /// Transfers of a rank that may start now, in the order of the schedule.
    fn initial_of(&self, process: u32) -> impl Iterator<Item = u32> {
        let [sent, _] = self.of_phase(self.processes[process as usize].phase);
        sent.filter(move |&index| self.waits_for_nothing(index) && self.outgoing.process_of(index) == process)
    }

    /// Starts the current phase of a rank, whose transfers are armed.
    fn begin_phase(&mut self, process: u32, now: Instant) {
        let state = &mut self.processes[process as usize];
        state.phase_start = now;
        if self.times.round_of(state.phase).is_some() {
            state.work(now, self.times.round_work);
        }
        if state.left == 0 && !state.is_idle {
            self.ended.push(process);
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
        let Measured { rounds, sum, .. } = process.measured;
        let duration = now.since(process.phase_start);
        match self.times.round_of(process.phase) {
            Some(round) if round >= self.times.warm_up_rounds => {
                Measured { rounds: rounds + 1, sum: sum + duration, ..Measured::default() }
            }
            _ => process.measured,
        }
    }

    /// Durations of measured rounds at each rank of the host, at the end of a run. In a round whose chunks
    /// are complete, at most the processing of arrived messages is left at a rank; a background job may be
    /// ended within a round.
    pub fn measured(&self) -> impl Iterator<Item = Measured> {
        self.processes.iter().map(|process| {
            let finished_at = process.finished_at;
            if process.left == 0 {
                return Measured { finished_at, ..process.measured };
            }
            let duration = process.ends_at().max(process.phase_start).since(process.phase_start);
            let open = self.times.round_of(process.phase).map(|round| (round, duration));
            let ended = if self.is_background() {
                process.measured
            } else {
                self.measured_until(process, process.ends_at())
            };
            Measured { open, finished_at, ..ended }
        })
    }

    /// The outgoing transfers of the first phase that may start now, in the order of the schedule.
    pub fn initial(&self) -> impl Iterator<Item = u32> {
        let [sent, _] = self.of_phase(0);
        sent.filter(|&outgoing| self.waits_for_nothing(outgoing))
    }

    /// Whether an outgoing transfer may start.
    #[inline]
    pub fn waits_for_nothing(&self, outgoing: u32) -> bool {
        self.outgoing.waits_for(outgoing) == 0
    }

    /// Post time of a transfer that may start now: its rank sends one message after the other.
    #[inline]
    pub fn post_at(&mut self, outgoing: u32, now: Instant) -> Instant {
        let earliest = self.outgoing.earliest(outgoing, now);
        if self.outgoing.is_clearance(outgoing) {
            return earliest;
        }
        let at = earliest + self.times.overhead;
        if self.times.send_overhead == Span::ZERO && self.times.round_work == Span::ZERO {
            return at;
        }
        let process = self.process_of(outgoing);
        self.processes[process as usize].work(at, self.times.send_overhead)
    }

    /// The rank of a transfer copies its bytes in shared memory, after its earlier copies; returns their
    /// arrival.
    pub fn copy(&mut self, outgoing: u32, now: Instant, bytes: u64) -> Instant {
        let process = self.process_of(outgoing);
        let SharedMemorySpec { rate_bps, latency_ps } = self.times.memory;
        self.processes[process as usize].copy(now, Rate::from_bps(rate_bps).span_of(bytes)) + Span(latency_ps)
    }

    /// Removes an inbound transfer that has arrived; returns it with the time at which its rank has processed
    /// it.
    #[inline]
    pub fn next_taken_in(&mut self, now: Instant) -> Option<(Instant, u32)> {
        let inbound = self.arrived.pop_front()?;
        let process = self.inbound.process_of(inbound);
        let InboundTimes { busy, after, is_clearance } = self.inbound.times(inbound);
        let process = &mut self.processes[process as usize];
        let overhead = if is_clearance { Span::ZERO } else { self.times.receive_overhead };
        let taken_in = process.work(now, overhead + busy);
        if after > Span::ZERO {
            process.finish_at(taken_in + after);
        }
        Some((taken_in, inbound))
    }

    /// The rank of an outgoing transfer, among those of the host.
    #[inline]
    pub fn process_of(&self, outgoing: u32) -> u32 {
        self.outgoing.process_of(outgoing)
    }

    /// Prefetches the state for the end of any transfer.
    #[inline]
    pub fn prefetch(&self) {
        prefetch_whole(&self.processes, 0);
    }

    /// Prefetches the state for the arrival of an inbound transfer.
    #[inline]
    pub fn prefetch_inbound(&self, inbound: usize) {
        self.inbound.prefetch(inbound);
    }

    /// Prefetches the state for the acknowledgement of an outgoing transfer.
    #[inline]
    pub fn prefetch_outgoing(&self, outgoing: usize) {
        self.outgoing.prefetch(outgoing);
    }

    /// The current pass of the rank of an outgoing transfer, from 0.
    #[inline]
    pub fn pass_of(&self, outgoing: u32) -> u32 {
        self.pass_at(self.processes[self.process_of(outgoing) as usize].phase)
    }

    /// The pass that contains a phase.
    #[inline]
    fn pass_at(&self, phase: u32) -> u32 {
        if self.phase_ends.is_empty() { phase } else { phase / self.phases() }
    }

    /// Whether the current phase of a rank is the first of a cycle.
    pub fn begins_cycle(&self, process: u32) -> bool {
        self.processes[process as usize].phase.is_multiple_of(self.phases())
    }

    /// The job, and the round of the current phase of a rank, if it follows a barrier.
    pub fn round_after_barrier(&self, process: u32) -> Option<(u32, u32)> {
        let round = self.times.round_of(self.processes[process as usize].phase);
        round.filter(|_| self.times.has_barriers).map(|round| (self.times.job, round))
    }

    /// The job, and the rounds that ranks have ended, with their durations, if these are reported.
    pub fn take_ended_rounds(&mut self) -> (u32, Vec<(u32, Span)>) {
        (self.times.job, std::mem::take(&mut self.ended_rounds))
    }

    /// Whether every rank has ended its last phase; false for a job that runs until other jobs end.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        self.open_processes == 0
    }

    /// How many times an inbound transfer arrives in all phases; 0 if the job runs until other jobs end.
    #[must_use]
    pub fn passes_of(&self, inbound: u32) -> u32 {
        let phases = self.times.phases.unwrap_or(0);
        phases.saturating_sub(self.phase_of(inbound, 0)).div_ceil(self.phases())
    }

    /// Whether the job runs until other jobs end.
    pub const fn is_background(&self) -> bool {
        self.times.phases.is_none()
    }

    /// Whether some rank has ended a phase: see [`Self::next_phase`].
    #[inline]
    pub const fn has_ended_phases(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Starts the next phase of a rank that has ended one, if there is such a rank with more phases; adds
    /// transfers that may start now to `started`. Returns the rank. Data may arrive before the start of the
    /// job, but no phase ends before it.
    pub fn next_phase(&mut self, now: Instant, started: &mut Vec<u32>) -> Option<u32> {
        if now < self.times.start {
            return None;
        }
        let process = loop {
            let process = self.ended.pop()?;
            self.end_phase(process, now);
            let phase = self.processes[process as usize].phase;
            if self.times.phases.is_none_or(|phases| phase + 1 < phases) {
                break process;
            }
            self.open_processes -= 1;
        };
        let state = &mut self.processes[process as usize];
        state.phase += 1;
        let phase = state.phase;
        let early = state.early.remove(&phase).unwrap_or_default();
        let pass = self.pass_at(phase);
        self.arm(Some(process), now);
        self.begin_phase(process, now);
        started.extend(self.initial_of(process));
        for inbound in early {
            self.deliver_part(inbound, pass, started);
        }
        Some(process)
    }

    /// Counts an inbound transfer that has arrived in pass `pass`, from 0, if no list is in use (so that no
    /// transfer waits for it) and the pass is the current phase; false otherwise.
    #[inline]
    pub fn deliver_uniform(&mut self, pass: u32) -> bool {
        let counts = self.are_uniform && self.processes[0].phase == pass;
        if counts {
            self.count_part(0);
        }
        counts
    }

    /// Counts acknowledged outgoing transfers, if no list is in use (so that no transfer waits for them);
    /// false otherwise.
    #[inline]
    pub fn acknowledge_uniform(&mut self, transfers: usize) -> bool {
        if self.are_uniform {
            (0..transfers).for_each(|_| self.count_part(0));
        }
        self.are_uniform
    }

    /// One part of an inbound transfer has arrived in pass `pass`, from 0; adds transfers that may start now
    /// to `started`, or queues the transfer for processing by the software.
    pub fn deliver_part(&mut self, inbound: u32, pass: u32, started: &mut Vec<u32>) {
        let phase = self.phase_of(inbound, pass);
        let of_rank = self.inbound.process_of(inbound);
        let process = &mut self.processes[of_rank as usize];
        if phase != process.phase {
            debug_assert!(phase > process.phase, "a phase ends when everything has arrived");
            return process.early.entry(phase).or_default().push(inbound);
        }
        if !self.inbound.take_part(inbound) {
            self.count_part(of_rank);
        } else if self.takes_time_to_receive() {
            self.arrived.push_back(inbound);
        } else {
            self.release_successors(inbound, started);
            self.count_part(of_rank);
        }
    }

    /// Whether a transfer that has arrived occupies its rank, or any transfer waits for a time after it.
    fn takes_time_to_receive(&self) -> bool {
        self.times.receive_overhead > Span::ZERO || self.inbound.take_time() || self.outgoing.take_time()
    }

    /// The last part of an inbound transfer has arrived and been processed at `now`; adds transfers that may
    /// start now to `started`. Returns the time when the rank has finished with it, if that is later: see
    /// [`Self::end_inbound`].
    pub fn finish_inbound(&mut self, inbound: u32, now: Instant, started: &mut Vec<u32>) -> Option<Instant> {
        let Self { inbound: transfers, outgoing, .. } = self;
        let InboundTimes { after, is_clearance, .. } = transfers.times(inbound);
        if !is_clearance {
            transfers.each_successor(inbound, |successor| outgoing.note_data(successor, now));
        }
        self.release_successors(inbound, started);
        if after > Span::ZERO {
            return Some(now + after);
        }
        self.end_inbound(inbound);
        None
    }

    /// The rank has finished with an inbound transfer.
    pub fn end_inbound(&mut self, inbound: u32) {
        self.count_part(self.inbound.process_of(inbound));
    }

    /// Adds the transfers that may start once an inbound one is there to `started`.
    fn release_successors(&mut self, inbound: u32, started: &mut Vec<u32>) {
        let Self { inbound: transfers, outgoing, .. } = self;
        transfers.each_successor(inbound, |successor| {
            if outgoing.release(successor) {
                started.push(successor);
            }
        });
    }

    /// One part of an outgoing transfer has been acknowledged; returns a transfer that may start now.
    pub fn acknowledge_part(&mut self, outgoing: u32) -> Option<u32> {
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
