//! Posts transfers at a host: starts rounds (repetitions of a job's collective) and the transfers that depend
//! on arrivals and acknowledgements, and posts their chunks (parts of transfers) to the queue pairs.

use super::ledger::WorkIds;
use super::{Host, Timer};
use crate::nic::Context;
use crate::record::Record;
use units::Instant;

impl Host {
    /// Starts the rounds at this host that are due, and the barriers between them.
    #[inline(always)]
    pub(super) fn start_rounds(&mut self, now: Instant, context: &mut Context) {
        if self.jobs.has_ended_phases() {
            self.start_next_rounds(now, context);
        }
    }

    #[inline(never)]
    fn start_next_rounds(&mut self, now: Instant, context: &mut Context) {
        let mut started = std::mem::take(&mut self.jobs.started);
        while let Some(process) = self.jobs.next_phase(now, &mut started) {
            if self.jobs.begins_cycle(process) {
                self.rearm_senders(process);
            }
            if let Some((job, round)) = self.jobs.round_after_barrier(process) {
                context.records.push(Record::RoundStarted { job, round, at: now });
            }
            self.take_in_arrived(now);
            self.start_transfers(started, now, context);
            started = std::mem::take(&mut self.jobs.started);
        }
        self.jobs.started = started;
        self.jobs.each_ended_round(|job, round, duration| {
            context.records.push(Record::RoundEnded { job, round, duration });
        });
    }

    /// Schedules the software's processing of received transfers, one after the other, if it takes time.
    #[inline]
    pub(super) fn take_in_arrived(&mut self, now: Instant) {
        while let Some((at, inbound)) = self.jobs.next_taken_in(now) {
            self.timers.push(at, Timer::Received(inbound));
        }
    }

    /// The software has processed a received transfer: transfers that depend on it may start.
    pub(super) fn take_inbound(&mut self, inbound: u32, now: Instant, context: &mut Context) {
        let mut started = std::mem::take(&mut self.jobs.started);
        if let Some(ended) = self.jobs.finish_inbound(inbound, now, &mut started) {
            self.timers.push(ended, Timer::Finished(inbound));
        }
        self.start_transfers(started, now, context);
        self.start_rounds(now, context);
    }

    /// A rank has finished with a received transfer.
    pub(super) fn end_inbound(&mut self, inbound: u32, now: Instant, context: &mut Context) {
        self.jobs.end_inbound(inbound);
        self.start_rounds(now, context);
    }

    /// Starts `outgoing` transfers and recycles the list.
    #[inline]
    pub(super) fn start_transfers(&mut self, mut outgoing: Vec<u32>, now: Instant, context: &mut Context) {
        for &transfer in &outgoing {
            // Transfers released before the host's start of the job wait for it: see [`Self::start_job`].
            if self.jobs.has_started(transfer, now) {
                self.start_transfer(transfer, now, context);
            }
        }
        outgoing.clear();
        self.jobs.started = outgoing;
    }

    /// Sends were acknowledged: starts transfers that depend on them.
    #[inline]
    pub(super) fn acknowledge(&mut self, sends: WorkIds, now: Instant, context: &mut Context) {
        if !self.jobs.acknowledge_uniform(sends.len()) {
            for send in sends {
                let outgoing = self.sends.outgoing_of(send);
                if let Some(next) = self.jobs.acknowledge_part(outgoing) {
                    self.start_transfer(next, now, context);
                }
            }
        }
        self.start_rounds(now, context);
    }

    /// The dependencies of a transfer have arrived: posts it after the software overheads.
    #[inline(always)]
    pub(super) fn start_transfer(&mut self, outgoing: u32, now: Instant, context: &mut Context) {
        let at = self.jobs.post_at(outgoing, now);
        if at == now {
            self.post_transfer(outgoing, now, context);
        } else {
            self.timers.push(at, Timer::Post(outgoing));
        }
    }

    /// Starts a job, by its index at the host: posts transfers without dependencies.
    pub(super) fn start_job(&mut self, job: u32, now: Instant, context: &mut Context) {
        // A list of its own, which is freed: it may be as long as all others are short.
        let initial: Vec<u32> = self.jobs.initial(job).collect();
        initial.into_iter().for_each(|outgoing| self.start_transfer(outgoing, now, context));
        self.start_rounds(now, context);
    }

    #[inline(never)]
    pub(super) fn post_transfer(&mut self, outgoing: u32, now: Instant, context: &mut Context) {
        for part in self.jobs.parts(outgoing) {
            let (sender, send) = self.jobs.part(part);
            self.sends.make_ready(send);
            self.post_part(sender, outgoing, now, context);
        }
    }
}
