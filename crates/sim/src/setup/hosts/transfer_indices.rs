//! Indices of the transfers and ranks of all jobs at their hosts, over all jobs of a host.

use super::queue_pair_indices::{PairsAtHost, QueuePairIndices};
use crate::setup::traffic::flows::Flows;
use jobs::{Chunk, PlaceIndices, split};
use spec::RunSpec;
use std::sync::Arc;
use topology::Graph;
use units::{HostId, TransferId};

/// Indices of all transfers of a run at their hosts.
pub(crate) struct TransferIndices<'a> {
    flows: &'a Flows,
    pairs: Arc<QueuePairIndices>,
    jobs: Vec<PlaceIndices>,
    /// The jobs of each host, ordered by host, then job.
    of_hosts: Vec<(HostId, JobAtHost)>,
}

/// A job at one of its hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct JobAtHost {
    pub(crate) job: u32,
    /// Index of the host among those of the job.
    pub(crate) place: u32,
}

/// Queue pairs of a job at one of its hosts.
#[derive(Clone, Copy)]
pub(crate) struct PairsOfJob<'a> {
    /// Queue pairs that start there.
    pub(crate) from: PairsAtHost<'a>,
    /// Queue pairs that end there.
    pub(crate) to: PairsAtHost<'a>,
}

impl<'a> TransferIndices<'a> {
    pub(crate) fn new(spec: &RunSpec, graph: &Graph, flows: &'a Flows) -> Self {
        const NONE: u32 = u32::MAX;
        let mut place_of_host = vec![NONE; graph.hosts()];
        let mut of_hosts = Vec::new();
        let mut jobs = Vec::with_capacity(spec.jobs.len());
        for ((job, schedule), index) in spec.jobs.iter().zip(&flows.schedules).zip(0..) {
            let mut count = 0;
            let place = |&host: &u32| {
                let place = &mut place_of_host[host as usize];
                if *place == NONE {
                    *place = count;
                    of_hosts.push((HostId(host), JobAtHost { job: index, place: count }));
                    count += 1;
                }
                *place
            };
            let places: Vec<u32> = job.hosts.iter().map(place).collect();
            let are_listed = !flows.has_queue_pairs_of_each_transfer(index as usize);
            jobs.push(PlaceIndices::new(schedule, &places, are_listed));
            job.hosts.iter().for_each(|&host| place_of_host[host as usize] = NONE);
        }
        of_hosts.sort_unstable();
        Self { flows, jobs, pairs: Arc::new(QueuePairIndices::new(spec, flows)), of_hosts }
    }

    /// The jobs of a host, in order.
    pub(crate) fn jobs_of(&self, host: HostId) -> impl ExactSizeIterator<Item = JobAtHost> + Clone + '_ {
        let first = self.of_hosts.partition_point(|&(other, _)| other < host);
        let count = self.of_hosts[first..].partition_point(|&(other, _)| other == host);
        self.of_hosts[first..][..count].iter().map(|&(_, job)| job)
    }

    /// The indices of a job.
    pub(crate) fn job(&self, job: u32) -> &PlaceIndices {
        &self.jobs[job as usize]
    }

    /// Queue pairs of a job at a host; none of a storage job, whose connections are not senders.
    pub(crate) fn pairs_of(&self, spec: &RunSpec, job: u32, host: HostId) -> PairsOfJob<'_> {
        match spec.jobs[job as usize].work.storage() {
            Some(_) => PairsOfJob { from: PairsAtHost::NONE, to: PairsAtHost::NONE },
            None => {
                let (job, pairs) = (job as usize, &self.pairs);
                PairsOfJob { from: pairs.from(job, host), to: pairs.to(job, host) }
            }
        }
    }

    pub(crate) const fn pairs(&self) -> &Arc<QueuePairIndices> {
        &self.pairs
    }

    /// Index of a transfer among those of its job that start at the same host.
    pub(crate) fn outgoing(&self, job: usize, transfer: TransferId) -> u32 {
        self.jobs[job].of(transfer).map_or_else(
            || {
                let pair = self.flows.queue_pair(self.flows.first_queue_pair_of(job, transfer));
                let from = self.pairs.from(job, pair.src_host);
                split(from.index_of(pair.number, self.flows.first_queue_pair(job)), self.flows.parts).0
            },
            |ends| ends.outgoing,
        )
    }

    /// Same, given the index of one of its queue pairs among those of the job there.
    #[inline]
    pub(crate) fn outgoing_of(&self, chunk: &Chunk, sender: u32) -> u32 {
        let ends = self.jobs[chunk.job as usize].of(chunk.transfer);
        ends.map_or_else(|| split(sender, self.flows.parts).0, |ends| ends.outgoing)
    }

    /// Index of a transfer among those of its job that end at the same host; `receiver` is the index of one
    /// of its queue pairs among those of the job there.
    #[inline]
    pub(crate) fn inbound_of(&self, chunk: &Chunk, receiver: u32) -> u32 {
        let ends = self.jobs[chunk.job as usize].of(chunk.transfer);
        ends.map_or_else(|| split(receiver, self.flows.parts).0, |ends| ends.inbound)
    }
}
