//! Jobs of a host: the progress of each job that has ranks on it, and the sends of their outgoing transfers.
//!
//! Senders, receivers and transfers of a host are numbered over all its jobs, job after job. Ranks of
//! different jobs are different processes: they share the NIC, not the software. Nearly all hosts have one
//! job, so the first is stored in place.

use super::ledger::WorkId;
use jobs::{Measured, Progress, ProgressPlan};
use std::ops::Range;
use units::{Instant, Span, State};

/// Parameters of the jobs of a host.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostJobsPlan {
    /// Its jobs, in their order in the run.
    pub(crate) jobs: Vec<ProgressPlan>,
    /// Sender and send of each part, transfer by transfer; empty if both have the number of the part.
    pub(crate) parts: Vec<(u32, WorkId)>,
    /// Receivers of each job.
    pub(crate) receivers: Vec<Range<u32>>,
}

/// The jobs of a host.
#[derive(Debug)]
pub(super) struct HostJobs {
    first: Progress,
    others: Box<[OtherJob]>,
    /// Sender and send of each part, transfer by transfer; empty if both have the number of the part.
    parts: Box<[(u32, WorkId)]>,
    /// Scratch space: transfers that may start now.
    pub(super) started: Vec<u32>,
}

/// A job of a host after the first.
#[derive(Debug)]
struct OtherJob {
    /// Numbers of its first transfers at the host.
    first_outgoing: u32,
    first_inbound: u32,
    progress: Progress,
}

/// Payload that a host with several jobs has received for one of them.
#[derive(Debug, State)]
pub(super) struct JobDelivery {
    #[state(skip)]
    pub(super) job: u32,
    /// Its receivers at the host.
    #[state(skip)]
    pub(super) receivers: Range<u32>,
    /// It runs until other jobs end.
    #[state(skip)]
    pub(super) is_background: bool,
    #[state(count)]
    pub(super) bytes: u64,
}

impl JobDelivery {
    /// Those of the jobs of a host; none of a single job.
    pub(super) fn of(plan: &HostJobsPlan) -> Box<[Self]> {
        let jobs = plan.jobs.iter().zip(&plan.receivers).filter(|_| plan.jobs.len() > 1);
        let delivery = |(progress, receivers): (&ProgressPlan, &Range<u32>)| Self {
            job: progress.times.job,
            receivers: receivers.clone(),
            is_background: progress.times.phases.is_none(),
            bytes: 0,
        };
        jobs.map(delivery).collect()
    }
}

/// A rank on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    /// Index of its job at the host.
    job: usize,
    /// Index among the ranks of the job at the host.
    rank: u32,
}

impl HostJobs {
    pub(super) fn new(plan: HostJobsPlan) -> Self {
        let HostJobsPlan { jobs, parts, .. } = plan;
        let are_numbers =
            parts.iter().zip(0..).all(|(&part, number)| part == (number, WorkId::only_of(number)));
        let (mut first_outgoing, mut first_inbound) = (0, 0);
        let mut all = jobs.into_iter().map(|plan| {
            let job = OtherJob { first_outgoing, first_inbound, progress: Progress::new(plan) };
            first_outgoing += job.progress.outgoing_count();
            first_inbound += job.progress.inbound_count();
            job
        });
        let first = all.next().map_or_else(|| Progress::new(ProgressPlan::default()), |job| job.progress);
        Self {
            first,
            others: all.collect(),
            parts: if are_numbers { Box::default() } else { parts.into() },
            started: Vec::new(),
        }
    }

    /// The progress of each job.
    fn all(&self) -> impl Iterator<Item = &Progress> {
        std::iter::once(&self.first).chain(self.others.iter().map(|job| &job.progress))
    }

    /// The progress of a job, by its index at the host, with the number of its first outgoing transfer.
    #[inline(never)]
    fn at(&self, job: usize) -> (u32, &Progress) {
        match job.checked_sub(1).map(|other| &self.others[other]) {
            None => (0, &self.first),
            Some(other) => (other.first_outgoing, &other.progress),
        }
    }

    /// Index at the host of the job of an outgoing transfer.
    #[inline]
    fn job_of(&self, outgoing: u32) -> usize {
        if self.others.is_empty() { 0 } else { self.job_of_several(outgoing) }
    }

    #[inline(never)]
    fn job_of_several(&self, outgoing: u32) -> usize {
        self.others.partition_point(|job| job.first_outgoing <= outgoing)
    }

    /// The job of an outgoing transfer, and the number of the transfer within the job.
    #[inline]
    fn sending(&self, outgoing: u32) -> (&Progress, u32) {
        if self.others.is_empty() {
            return (&self.first, outgoing);
        }
        let (first, progress) = self.at(self.job_of(outgoing));
        (progress, outgoing - first)
    }

    /// The job of an outgoing transfer, with the number of its first transfer.
    #[inline]
    fn sending_mut(&mut self, outgoing: u32) -> (&mut Progress, u32) {
        match self.job_of(outgoing).checked_sub(1) {
            None => (&mut self.first, 0),
            Some(other) => {
                let other = &mut self.others[other];
                (&mut other.progress, other.first_outgoing)
            }
        }
    }

    /// The job of an inbound transfer, with the numbers of its first transfers: outgoing, inbound.
    #[inline]
    fn receiving_mut(&mut self, inbound: u32) -> (&mut Progress, u32, u32) {
        let index = self.others.partition_point(|job| job.first_inbound <= inbound);
        match index.checked_sub(1) {
            None => (&mut self.first, 0, 0),
            Some(other) => {
                let other = &mut self.others[other];
                (&mut other.progress, other.first_outgoing, other.first_inbound)
            }
        }
    }

    /// Start of each job that has anything to do at its start, by index at the host. Open-loop traffic is
    /// posted one by one instead: see [`Self::first_releases`].
    pub(super) fn starts(&self) -> impl Iterator<Item = (Instant, u32)> {
        (0..).zip(self.all()).filter(|(_, job)| job.acts_at_start()).map(|(index, job)| (job.start(), index))
    }

    /// First transfer of each job with open-loop traffic, with its post time.
    pub(super) fn first_releases(&self) -> impl Iterator<Item = (Instant, u32)> {
        (0..=self.others.len()).filter_map(|job| {
            let (first, progress) = self.at(job);
            progress.release_of(0).map(|at| (at, first))
        })
    }

    /// Transfers of a job that may start with it, by index at the host.
    pub(super) fn initial(&self, job: u32) -> impl Iterator<Item = u32> {
        let (first, progress) = self.at(job as usize);
        progress.initial().map(move |outgoing| first + outgoing)
    }

    /// Whether the job of an outgoing transfer has started here. Data may arrive before.
    #[inline]
    pub(super) fn has_started(&self, outgoing: u32, now: Instant) -> bool {
        now >= self.sending(outgoing).0.start()
    }

    /// Post time of the open-loop transfer after `outgoing`.
    pub(super) fn release_after(&self, outgoing: u32) -> Option<Instant> {
        let (progress, outgoing) = self.sending(outgoing);
        progress.release_of(outgoing + 1)
    }

    /// See [`Progress::post_at`].
    #[inline]
    pub(super) fn post_at(&mut self, outgoing: u32, now: Instant) -> Instant {
        let (progress, first) = self.sending_mut(outgoing);
        progress.post_at(outgoing - first, now)
    }

    /// See [`Progress::copy`].
    pub(super) fn copy(&mut self, outgoing: u32, now: Instant, bytes: u64) -> Instant {
        let (progress, first) = self.sending_mut(outgoing);
        progress.copy(outgoing - first, now, bytes)
    }

    /// See [`Progress::next_taken_in`].
    #[inline]
    pub(super) fn next_taken_in(&mut self, now: Instant) -> Option<(Instant, u32)> {
        let first = self.first.next_taken_in(now);
        if first.is_some() || self.others.is_empty() {
            return first;
        }
        self.others.iter_mut().find_map(|job| {
            let (at, inbound) = job.progress.next_taken_in(now)?;
            Some((at, job.first_inbound + inbound))
        })
    }

    /// The rank of an outgoing transfer.
    pub(super) fn process_of(&self, outgoing: u32) -> Process {
        let (progress, number) = self.sending(outgoing);
        Process { job: self.job_of(outgoing), rank: progress.process_of(number) }
    }

    /// See [`Progress::pass_of`].
    #[inline]
    pub(super) fn pass_of(&self, outgoing: u32) -> u32 {
        let (progress, outgoing) = self.sending(outgoing);
        progress.pass_of(outgoing)
    }

    /// Prefetches the state for the end of any transfer.
    #[inline]
    pub(super) fn prefetch(&self) {
        self.first.prefetch();
    }

    /// Prefetches the state for the arrival of an inbound transfer of the first job.
    #[inline]
    pub(super) fn prefetch_inbound(&self, inbound: usize) {
        self.first.prefetch_inbound(inbound);
    }

    /// Prefetches the state for the acknowledgement of an outgoing transfer of the first job.
    #[inline]
    pub(super) fn prefetch_outgoing(&self, outgoing: usize) {
        self.first.prefetch_outgoing(outgoing);
    }

    /// Indices of the parts of an outgoing transfer; those of all jobs have the same number of parts.
    pub(super) fn parts(&self, outgoing: u32) -> Range<u32> {
        self.first.parts(outgoing)
    }

    /// Sender and send of a part.
    pub(super) fn part(&self, part: u32) -> (u32, WorkId) {
        self.parts.get(part as usize).copied().unwrap_or((part, WorkId::only_of(part)))
    }

    /// See [`Progress::deliver_uniform`].
    #[inline]
    pub(super) fn deliver_uniform(&mut self, pass: u32) -> bool {
        self.others.is_empty() && self.first.deliver_uniform(pass)
    }

    /// See [`Progress::acknowledge_uniform`].
    #[inline]
    pub(super) fn acknowledge_uniform(&mut self, transfers: usize) -> bool {
        self.others.is_empty() && self.first.acknowledge_uniform(transfers)
    }

    /// See [`Progress::deliver_part`].
    #[inline]
    pub(super) fn deliver_part(&mut self, inbound: u32, pass: u32, started: &mut Vec<u32>) {
        if self.others.is_empty() {
            return self.first.deliver_part(inbound, pass, started);
        }
        let (before, (job, first_outgoing, first_inbound)) = (started.len(), self.receiving_mut(inbound));
        job.deliver_part(inbound - first_inbound, pass, started);
        started[before..].iter_mut().for_each(|outgoing| *outgoing += first_outgoing);
    }

    /// See [`Progress::finish_inbound`].
    pub(super) fn finish_inbound(
        &mut self,
        inbound: u32,
        now: Instant,
        started: &mut Vec<u32>,
    ) -> Option<Instant> {
        let (before, (job, first_outgoing, first_inbound)) = (started.len(), self.receiving_mut(inbound));
        let ended = job.finish_inbound(inbound - first_inbound, now, started);
        started[before..].iter_mut().for_each(|outgoing| *outgoing += first_outgoing);
        ended
    }

    /// See [`Progress::end_inbound`].
    pub(super) fn end_inbound(&mut self, inbound: u32) {
        let (job, _, first_inbound) = self.receiving_mut(inbound);
        job.end_inbound(inbound - first_inbound);
    }

    /// See [`Progress::acknowledge_part`].
    #[inline]
    pub(super) fn acknowledge_part(&mut self, outgoing: u32) -> Option<u32> {
        let (progress, first) = self.sending_mut(outgoing);
        progress.acknowledge_part(outgoing - first).map(|next| first + next)
    }

    /// See [`Progress::has_ended_phases`].
    #[inline]
    pub(super) fn has_ended_phases(&self) -> bool {
        self.first.has_ended_phases() || !self.others.is_empty() && self.has_another_ended_phases()
    }

    #[inline(never)]
    fn has_another_ended_phases(&self) -> bool {
        self.others.iter().any(|job| job.progress.has_ended_phases())
    }

    /// See [`Progress::next_phase`].
    pub(super) fn next_phase(&mut self, now: Instant, started: &mut Vec<u32>) -> Option<Process> {
        if let Some(rank) = self.first.next_phase(now, started) {
            return Some(Process { job: 0, rank });
        }
        (1..).zip(&mut self.others).find_map(|(job, OtherJob { first_outgoing, progress, .. })| {
            let before = started.len();
            let rank = progress.next_phase(now, started)?;
            started[before..].iter_mut().for_each(|outgoing| *outgoing += *first_outgoing);
            Some(Process { job, rank })
        })
    }

    /// See [`Progress::begins_cycle`].
    pub(super) fn begins_cycle(&self, process: Process) -> bool {
        self.at(process.job).1.begins_cycle(process.rank)
    }

    /// See [`Progress::round_after_barrier`].
    pub(super) fn round_after_barrier(&self, process: Process) -> Option<(u32, u32)> {
        self.at(process.job).1.round_after_barrier(process.rank)
    }

    /// Calls `visit` with job, round and duration of each round that a rank has ended since the last call.
    pub(super) fn each_ended_round(&mut self, mut visit: impl FnMut(u32, u32, Span)) {
        let others = self.others.iter_mut().map(|job| &mut job.progress);
        for progress in std::iter::once(&mut self.first).chain(others) {
            let (job, ended) = progress.take_ended_rounds();
            ended.into_iter().for_each(|(round, duration)| visit(job, round, duration));
        }
    }

    /// Whether all payload that the host receives is progress of the run: there is one job, which does not
    /// run until other jobs end.
    pub(super) fn have_progress_only(&self) -> bool {
        self.others.is_empty() && !self.first.is_background()
    }

    /// Whether the job of an outgoing transfer runs until other jobs end.
    pub(super) fn is_background(&self, outgoing: u32) -> bool {
        self.sending(outgoing).0.is_background()
    }

    /// See [`Progress::measured`]; of a job of the run.
    pub(super) fn measured(&self, job: u32) -> impl Iterator<Item = Measured> {
        self.all().filter(move |progress| progress.job() == job).flat_map(Progress::measured)
    }
}
