//! Assigns transfers and ranks their indices at their hosts; dependencies between transfers, and ends of
//! phases (rounds of a job, and barriers between them).

use super::queue_pair_indices::{PairsAtHost, QueuePairIndices};
use crate::nic::PhaseEnd;
use crate::setup::traffic::flows::Flows;
use jobs::{Chunk, split};
use spec::{JobSpec, RunSpec};
use std::collections::BTreeSet;
use std::sync::Arc;
use topology::Graph;
use units::{HostId, Rank, TransferId};
use workload::{Message, Schedule};

/// Indices of all transfers of a run at their hosts.
pub(crate) struct TransferIndices<'a> {
    flows: &'a Flows,
    pairs: Arc<QueuePairIndices>,
    jobs: Vec<JobIndices>,
    of_hosts: Vec<HostIndices>,
}

/// Job, ranks and phases of a host.
#[derive(Clone, Default)]
struct HostIndices {
    job: Option<u32>,
    /// Ranks on it.
    processes: u32,
    /// Ends of the phases of its transfers, if there are several phases.
    phase_ends: Vec<PhaseEnd>,
}

/// Traffic in which a host takes part.
#[derive(Clone, Copy)]
pub(crate) struct OfHost<'a> {
    pub(crate) host: HostId,
    pub(crate) job: Option<u32>,
    /// Ranks on it.
    pub(crate) processes: u32,
    /// Ends of the phases of its transfers, if there are several phases.
    pub(crate) phase_ends: &'a [PhaseEnd],
    /// Queue pairs that start there.
    pub(crate) from: PairsAtHost<'a>,
    /// Queue pairs that end there.
    pub(crate) to: PairsAtHost<'a>,
}

/// Indices of the transfers and ranks of a job.
struct JobIndices {
    /// Index of each rank among those of its host.
    processes: Vec<u32>,
    /// Indices of each transfer at its two hosts. Empty if each transfer has queue pairs of its own: then
    /// they follow from those of the queue pairs.
    transfers: Vec<EndIndices>,
    /// By transfer: 1 + index of the transfer that waits for its acknowledgement, 0 if none. Empty if there
    /// is none at all.
    next: Vec<u32>,
}

/// Indices of a transfer at its two hosts.
#[derive(Clone, Copy, Default)]
struct EndIndices {
    outgoing: u32,
    inbound: u32,
}

impl<'a> TransferIndices<'a> {
    pub(crate) fn new(spec: &RunSpec, graph: &Graph, flows: &'a Flows) -> Self {
        let pairs = Arc::new(QueuePairIndices::new(flows, spec.jobs.len()));
        let mut of_hosts = vec![HostIndices::default(); graph.hosts()];
        let jobs = spec.jobs.iter().zip(&flows.schedules).zip(0..);
        let jobs = jobs.map(|((job, schedule), index)| {
            let processes = index_ranks(job, index, &mut of_hosts);
            count_phases(job, schedule, &mut of_hosts);
            JobIndices {
                processes,
                transfers: index_transfers(job, schedule, flows, index),
                next: Vec::new(),
            }
        });
        let mut indices = Self { flows, jobs: jobs.collect(), pairs, of_hosts };
        for (index, job) in spec.jobs.iter().enumerate() {
            indices.jobs[index].next = indices.one_after_another(index, job);
        }
        indices
    }

    /// Traffic in which a host takes part; excludes connections of storage jobs.
    pub(crate) fn of_host(&self, spec: &RunSpec, host: HostId) -> OfHost<'_> {
        let HostIndices { job, processes, phase_ends } = &self.of_hosts[host.index()];
        let sending = job.map(|job| job as usize).filter(|&job| spec.jobs[job].storage.is_none());
        let from = sending.map_or(PairsAtHost::NONE, |job| self.pairs.from(job, host));
        let to = sending.map_or(PairsAtHost::NONE, |job| self.pairs.to(job, host));
        OfHost { host, job: *job, processes: *processes, phase_ends, from, to }
    }

    pub(crate) const fn pairs(&self) -> &Arc<QueuePairIndices> {
        &self.pairs
    }

    /// Index of a transfer among those that start at the same host.
    fn outgoing(&self, job: usize, transfer: TransferId) -> u32 {
        match self.jobs[job].transfers.get(transfer.index()) {
            Some(ends) => ends.outgoing,
            None => {
                let pair = self.flows.queue_pair(self.flows.first_queue_pair_of(job, transfer));
                let from = self.pairs.from(job, pair.src_host);
                split(from.index_of(pair.number, self.flows.first_queue_pair(job)), self.flows.parts).0
            }
        }
    }

    /// Whether each transfer of a job has queue pairs of its own, so that its index follows from theirs.
    #[inline]
    pub(crate) fn are_queue_pairs(&self, job: u32) -> bool {
        self.jobs[job as usize].transfers.is_empty()
    }

    /// Index of a transfer among those that start at the same host; `sender` is the index of one of its queue
    /// pairs there.
    #[inline]
    pub(crate) fn outgoing_of(&self, chunk: &Chunk, sender: u32) -> u32 {
        let indices = &self.jobs[chunk.job as usize].transfers;
        indices
            .get(chunk.transfer.index())
            .map_or_else(|| split(sender, self.flows.parts).0, |ends| ends.outgoing)
    }

    /// Index of a transfer among those that end at the same host; `receiver` is the index of one of its queue
    /// pairs there.
    #[inline]
    pub(crate) fn inbound_of(&self, chunk: &Chunk, receiver: u32) -> u32 {
        let indices = &self.jobs[chunk.job as usize].transfers;
        indices
            .get(chunk.transfer.index())
            .map_or_else(|| split(receiver, self.flows.parts).0, |ends| ends.inbound)
    }

    /// Index of a rank of a job among those of its host.
    #[inline]
    pub(crate) fn process(&self, job: u32, rank: Rank) -> u32 {
        self.jobs[job as usize].processes[rank.index()]
    }

    /// Index of the transfer that waits for the acknowledgement of this one, if any.
    #[inline]
    pub(crate) fn next(&self, chunk: &Chunk) -> Option<u32> {
        self.jobs[chunk.job as usize].next.get(chunk.transfer.index())?.checked_sub(1)
    }

    /// Appends the transfers that wait for this one at its destination to `successors`; returns the index of
    /// the first, and their number.
    #[inline]
    pub(crate) fn add_successors(&self, chunk: &Chunk, successors: &mut Vec<u32>) -> (u32, u32) {
        let job = chunk.job as usize;
        let waiting = self.flows.schedules[job].successors(chunk.transfer);
        if waiting.len() == 0 {
            return (0, 0);
        }
        let range = (successors.len() as u32, waiting.len() as u32);
        successors.extend(waiting.map(|next| self.outgoing(job, next)));
        range
    }

    /// By transfer: 1 + index of the one that waits for its acknowledgement (see [`JobIndices::next`]), if a
    /// rank sends one message after the other. With a handshake the RTS waits for the previous payload, and
    /// the next transfer for this payload. A CTS answers a message of another rank and waits for none.
    fn one_after_another(&self, index: usize, job: &JobSpec) -> Vec<u32> {
        let schedule = &self.flows.schedules[index];
        if !schedule.is_blocking() {
            return Vec::new();
        }
        let mut next = vec![0; schedule.transfers().len()];
        let mut last: Vec<Option<TransferId>> = vec![None; job.hosts.len()];
        let mut phase = 0;
        for (id, transfer) in (0..).map(TransferId).zip(schedule.transfers()) {
            if schedule.phase_of(id) != phase {
                phase = schedule.phase_of(id);
                last.fill(None);
            }
            let last = &mut last[transfer.src.index()];
            let before = match schedule.message(id) {
                Message::Payload => last.replace(id),
                Message::Rts => last.take(),
                Message::Cts | Message::Barrier => None,
            };
            if let Some(before) = before {
                next[before.index()] = self.outgoing(index, id) + 1;
            }
        }
        next
    }
}

/// Assigns the ranks of a job to their hosts; returns their indices there.
fn index_ranks(job: &JobSpec, index: u32, hosts: &mut [HostIndices]) -> Vec<u32> {
    let ends = |&host: &u32| {
        let host = &mut hosts[host as usize];
        host.job = Some(index);
        host.processes += 1;
        host.processes - 1
    };
    job.hosts.iter().map(ends).collect()
}

/// Numbers the transfers of a job at their hosts, unless their indices follow from their queue pairs.
fn index_transfers(job: &JobSpec, schedule: &Schedule, flows: &Flows, index: u32) -> Vec<EndIndices> {
    if flows.has_queue_pairs_of_each_transfer(index as usize) {
        return Vec::new();
    }
    let hosts = job.hosts.iter().max().map_or(0, |&last| last as usize + 1);
    let mut next = vec![EndIndices::default(); hosts];
    let ends = |transfer: workload::Transfer| {
        let [src, dst] = [transfer.src, transfer.dst].map(|rank| job.hosts[rank.index()] as usize);
        let ends = EndIndices { outgoing: next[src].outgoing, inbound: next[dst].inbound };
        next[src].outgoing += 1;
        next[dst].inbound += 1;
        ends
    };
    schedule.transfers().map(ends).collect()
}

/// Appends the phase ends of a job to each of its hosts, if there are several phases.
fn count_phases(job: &JobSpec, schedule: &Schedule, hosts: &mut [HostIndices]) {
    if schedule.phases().len() == 1 {
        return;
    }
    let own: BTreeSet<usize> = job.hosts.iter().map(|&host| host as usize).collect();
    let mut ends = vec![PhaseEnd::default(); hosts.len()];
    for phase in schedule.phases() {
        for transfer in phase.map(|id| schedule.transfer(TransferId(id))) {
            ends[job.hosts[transfer.src.index()] as usize].outgoing += 1;
            ends[job.hosts[transfer.dst.index()] as usize].inbound += 1;
        }
        own.iter().for_each(|&host| hosts[host].phase_ends.push(ends[host]));
    }
}
