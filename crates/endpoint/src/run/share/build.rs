//! Builds a [`Share`], the part of a run's jobs that some hosts execute: local transfers, dependencies,
//! phases, queue pairs.

use super::{LocalPair, LocalRank, Order, Share, TransferEnd};
use jobs::{JobTimes, Jobs, PlaceIndices, Progress, ProgressPlan};
use spec::RunSpec;
use std::collections::{BinaryHeap, HashSet, VecDeque};
use std::sync::Arc;
use units::TransferId;

impl Share {
    /// The share of some hosts in the jobs of a spec.
    pub fn new(spec: &RunSpec, jobs: &Arc<Jobs>, hosts: &[u32]) -> Self {
        let hosts: HashSet<u32> = hosts.iter().copied().collect();
        let mut build = Build { jobs, ranks: Vec::new(), outgoing: Vec::new(), inbound: Vec::new() };
        (0..spec.jobs.len()).for_each(|index| build.add_job(spec, index, &hosts));
        build.finish(&hosts)
    }
}

/// A share under construction.
struct Build<'a> {
    jobs: &'a Arc<Jobs>,
    ranks: Vec<LocalRank>,
    outgoing: Vec<TransferEnd>,
    inbound: Vec<TransferEnd>,
}

/// A rank on one of the hosts, under construction.
struct RankPlan {
    progress: ProgressPlan,
    /// First chunks of its transfers.
    outgoing: Vec<u32>,
    inbound: Vec<u32>,
}

impl Build<'_> {
    fn add_job(&mut self, spec: &RunSpec, index: usize, hosts: &HashSet<u32>) {
        let job = &spec.jobs[index];
        if !job.hosts.iter().any(|host| hosts.contains(host)) {
            return;
        }
        let (schedule, parts) = (&self.jobs.schedules[index], self.jobs.parts);
        // Each rank is a place.
        let places: Vec<u32> = (0..job.hosts.len() as u32).collect();
        let indices = PlaceIndices::new(schedule, &places, true);
        let times = JobTimes::new(spec, index as u32).of_real_host();
        let plan = |(&place, host): (&u32, &u32)| {
            let progress = || indices.plan(place, times, parts);
            let plan = || RankPlan { progress: progress(), outgoing: Vec::new(), inbound: Vec::new() };
            hosts.contains(host).then(plan)
        };
        let mut plans: Vec<Option<RankPlan>> = places.iter().zip(&job.hosts).map(plan).collect();
        for (id, transfer) in (0..).map(TransferId).zip(schedule.transfers()) {
            let ends = indices.of(id).expect("transfers are listed");
            let index_of = |id| indices.of(id).expect("transfers are listed").outgoing;
            let chunk = self.jobs.first_chunk(index) + id.0 * parts;
            if let Some(RankPlan { progress, outgoing, .. }) = &mut plans[transfer.src.index()] {
                indices.add_outgoing(progress, schedule, id, ends.outgoing, index_of);
                outgoing.push(chunk);
            }
            if let Some(RankPlan { progress, inbound, .. }) = &mut plans[transfer.dst.index()] {
                indices.add_inbound(progress, schedule, id, ends.inbound, index_of);
                inbound.push(chunk);
            }
        }
        plans.into_iter().flatten().for_each(|plan| self.add_rank(plan));
    }

    fn add_rank(&mut self, RankPlan { progress, outgoing, inbound }: RankPlan) {
        let Self { ranks, outgoing: all_outgoing, inbound: all_inbound, .. } = self;
        let rank = ranks.len() as u32;
        ranks.push(LocalRank {
            progress: Progress::new(progress),
            has_begun: false,
            first_outgoing: all_outgoing.len() as u32,
            first_inbound: all_inbound.len() as u32,
        });
        all_outgoing.extend(outgoing.into_iter().map(|chunk| TransferEnd { rank, chunk }));
        all_inbound.extend(inbound.into_iter().map(|chunk| TransferEnd { rank, chunk }));
    }

    fn finish(self, hosts: &HashSet<u32>) -> Share {
        let Self { jobs, ranks, outgoing, inbound } = self;
        let arriving = part_indices(inbound.iter().map(|end| end.chunk), jobs.parts);
        let leaving = part_indices(outgoing.iter().map(|end| end.chunk), jobs.parts);
        let (order, receivers) = local_pairs(jobs, hosts, &leaving);
        let is_open = |rank: &&LocalRank| !rank.progress.is_background() && !rank.progress.has_ended();
        Share {
            open_ranks: ranks.iter().filter(is_open).count(),
            arrivals: vec![0; arriving.len()],
            due: BinaryHeap::with_capacity(outgoing.len() + ranks.len()),
            posts: VecDeque::with_capacity(leaving.len()),
            jobs: Arc::clone(jobs),
            ranks,
            outgoing,
            inbound,
            order,
            arriving,
            receivers,
            started: Vec::new(),
        }
    }
}

/// Chunks of transfers, ascending, each with its part index: index of the transfer times `parts` plus the
/// part.
fn part_indices(first_chunks: impl Iterator<Item = u32>, parts: u32) -> Vec<(u32, u32)> {
    let mut indices: Vec<(u32, u32)> = (0..)
        .zip(first_chunks)
        .flat_map(|(index, chunk)| (0..parts).map(move |part| (chunk + part, index * parts + part)))
        .collect();
    indices.sort_unstable();
    indices
}

/// Queue pairs with an end on the hosts; `leaving` has the chunks sent from them, with their part indices.
fn local_pairs(jobs: &Jobs, hosts: &HashSet<u32>, leaving: &[(u32, u32)]) -> (Order, Vec<LocalPair>) {
    let (mut order, mut receivers) = (Order::new(leaving.len()), Vec::new());
    jobs.each_queue_pair(|queue_pair| {
        let [begins, ends] = [queue_pair.src_host, queue_pair.dst_host].map(|host| hosts.contains(&host.0));
        if !begins && !ends {
            return;
        }
        let chunks = || jobs.chunks_of(queue_pair.number);
        let bytes = chunks().map(|chunk| jobs.chunk(chunk).bytes);
        let chunk_bytes_max = bytes.max().unwrap_or(0);
        let pair = LocalPair { queue_pair, chunks: chunks().count() as u32, chunk_bytes_max };
        if begins {
            let index = |chunk| leaving.partition_point(|&(each, _)| each < chunk);
            order.add(pair, chunks().map(|chunk| leaving[index(chunk)].1));
        }
        if ends {
            receivers.push(pair);
        }
    });
    (order, receivers)
}
